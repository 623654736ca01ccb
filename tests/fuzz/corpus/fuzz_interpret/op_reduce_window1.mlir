func.func public @main(%a0: tensor<3x3xf64>, %a1: tensor<f64>) -> (tensor<6x0xf64>) {
  %v1 = "stablehlo.reduce_window"(%a0, %a1) <{window_dimensions = array<i64: 2, 3>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 2, 2>, window_dilations = array<i64: 1, 2>, padding = dense<[[2, 0], [0, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    %y = "stablehlo.add"(%x0, %x1) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%y) : (tensor<f64>) -> ()
  }) : (tensor<3x3xf64>, tensor<f64>) -> (tensor<6x0xf64>)
  "func.return"(%v1) : (tensor<6x0xf64>) -> ()
}
