func.func public @main(%a0: tensor<3x3xf64>, %a1: tensor<2x2xf64>, %a2: tensor<f64>) -> (tensor<3x3xf64>) {
  %v1 = "stablehlo.select_and_scatter"(%a0, %a1, %a2) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 2, 2>, padding = dense<[[0, 0], [0, 1]]> : tensor<2x2xi64>}> ({
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    %y = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<f64>, tensor<f64>) -> tensor<i1>
    "stablehlo.return"(%y) : (tensor<i1>) -> ()
  }, {
  ^bb0(%x0: tensor<f64>, %x1: tensor<f64>):
    %y = "stablehlo.add"(%x0, %x1) : (tensor<f64>, tensor<f64>) -> tensor<f64>
    "stablehlo.return"(%y) : (tensor<f64>) -> ()
  }) : (tensor<3x3xf64>, tensor<2x2xf64>, tensor<f64>) -> (tensor<3x3xf64>)
  "func.return"(%v1) : (tensor<3x3xf64>) -> ()
}
