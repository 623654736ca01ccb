func.func public @main(%a0: tensor<3xi8>, %a1: tensor<i32>) -> (tensor<3xi8>) {
  %v1 = "stablehlo.case"(%a1) ({
    %y0 = "stablehlo.negate"(%a0) : (tensor<3xi8>) -> tensor<3xi8>
    "stablehlo.return"(%y0) : (tensor<3xi8>) -> ()
  }, {
    %y1 = "stablehlo.reshape"(%a0) : (tensor<3xi8>) -> tensor<3xi8>
    "stablehlo.return"(%y1) : (tensor<3xi8>) -> ()
  }, {
    %y2 = "stablehlo.optimization_barrier"(%a0) : (tensor<3xi8>) -> tensor<3xi8>
    "stablehlo.return"(%y2) : (tensor<3xi8>) -> ()
  }) : (tensor<i32>) -> (tensor<3xi8>)
  "func.return"(%v1) : (tensor<3xi8>) -> ()
}
