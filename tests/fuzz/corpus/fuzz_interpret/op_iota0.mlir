func.func public @main() -> (tensor<1xi2>) {
  %v1 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> (tensor<1xi2>)
  "func.return"(%v1) : (tensor<1xi2>) -> ()
}
