func.func public @main() -> (tensor<3xf8E5M2>) {
  %v1 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> (tensor<3xf8E5M2>)
  "func.return"(%v1) : (tensor<3xf8E5M2>) -> ()
}
