func.func public @main(%a0: tensor<3xi8>) -> (tensor<3xi8>) {
  %v1 = "stablehlo.concatenate"(%a0) <{dimension = 0 : i64}> : (tensor<3xi8>) -> (tensor<3xi8>)
  "func.return"(%v1) : (tensor<3xi8>) -> ()
}
