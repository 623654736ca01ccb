func.func public @main(%a0: tensor<3xf64>, %a1: tensor<i32>, %a2: tensor<i32>) -> (tensor<i32>, tensor<3xf64>) {
  %v1 = stablehlo.constant dense<1> : tensor<i32>
  %v2:2 = "stablehlo.while"(%a2, %a0) ({
  ^bb0(%i: tensor<i32>, %s: tensor<3xf64>):
    %c = "stablehlo.compare"(%i, %a1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %s: tensor<3xf64>):
    %j = "stablehlo.add"(%i, %v1) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %u = "stablehlo.add"(%s, %a0) : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>
    "stablehlo.return"(%j, %u) : (tensor<i32>, tensor<3xf64>) -> ()
  }) : (tensor<i32>, tensor<3xf64>) -> (tensor<i32>, tensor<3xf64>)
  "func.return"(%v2#0, %v2#1) : (tensor<i32>, tensor<3xf64>) -> ()
}
