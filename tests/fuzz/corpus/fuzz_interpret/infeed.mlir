func.func @main() -> tensor<2xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %r:2 = "stablehlo.infeed"(%t) {infeed_config = "x"} : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
  %o = "stablehlo.outfeed"(%r#0, %r#1) {outfeed_config = ""} : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
  return %r#0 : tensor<2xf32>
}
