func.func public @main(%a0: tensor<1x3xf64>, %a1: tensor<1x3xf64>) -> (tensor<1x3xf64>) {
  %v1 = "stablehlo.map"(%a0, %a1) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    %y = "stablehlo.subtract"(%x1, %x0) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%y) : (tensor<f64>) -> ()
  }) : (tensor<1x3xf64>, tensor<1x3xf64>) -> (tensor<1x3xf64>)
  "func.return"(%v1) : (tensor<1x3xf64>) -> ()
}
