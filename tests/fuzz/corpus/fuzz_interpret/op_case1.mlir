func.func public @main(%a0: tensor<3xf64>, %a1: tensor<i32>) -> (tensor<3xf64>) {
  %v1 = "stablehlo.case"(%a1) ({
    %y0 = "stablehlo.negate"(%a0) : (tensor<3xf64>) -> tensor<3xf64>
    "stablehlo.return"(%y0) : (tensor<3xf64>) -> ()
  }, {
    %y1 = "stablehlo.reshape"(%a0) : (tensor<3xf64>) -> tensor<3xf64>
    "stablehlo.return"(%y1) : (tensor<3xf64>) -> ()
  }, {
    %y2 = "stablehlo.optimization_barrier"(%a0) : (tensor<3xf64>) -> tensor<3xf64>
    "stablehlo.return"(%y2) : (tensor<3xf64>) -> ()
  }) : (tensor<i32>) -> (tensor<3xf64>)
  "func.return"(%v1) : (tensor<3xf64>) -> ()
}
