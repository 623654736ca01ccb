func.func public @main(%a0: tensor<6xi2>, %a1: tensor<6xi32>) -> (tensor<6xi2>, tensor<6xi32>) {
  %v1:2 = "stablehlo.sort"(%a0, %a1) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<i2>, %x1: tensor<i2>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i2>, tensor<i2>) -> tensor<i1>
    "stablehlo.return"(%y) : (tensor<i1>) -> ()
  }) : (tensor<6xi2>, tensor<6xi32>) -> (tensor<6xi2>, tensor<6xi32>)
  "func.return"(%v1#0, %v1#1) : (tensor<6xi2>, tensor<6xi32>) -> ()
}
