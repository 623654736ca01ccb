func.func public @main(%a0: tensor<3xi8>, %a1: tensor<2xi8>, %a2: tensor<i8>) -> (tensor<3xi8>) {
  %v1 = "stablehlo.select_and_scatter"(%a0, %a1, %a2) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, padding = dense<[[1, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%x0: tensor<i8>, %x1: tensor<i8>):
    %y = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<i8>, tensor<i8>) -> tensor<i1>
    "stablehlo.return"(%y) : (tensor<i1>) -> ()
  }, {
  ^bb0(%x0: tensor<i8>, %x1: tensor<i8>):
    %y = "stablehlo.add"(%x0, %x1) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%y) : (tensor<i8>) -> ()
  }) : (tensor<3xi8>, tensor<2xi8>, tensor<i8>) -> (tensor<3xi8>)
  "func.return"(%v1) : (tensor<3xi8>) -> ()
}
