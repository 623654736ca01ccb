func.func public @main(%a0: tensor<i4>, %a1: tensor<i4>) -> (tensor<i4>) {
  %v1 = "stablehlo.reduce"(%a0, %a1) <{dimensions = array<i64>}> ({
  ^bb0(%x0: tensor<i4>, %x1: tensor<i4>):
    %y = "stablehlo.or"(%x0, %x1) : (tensor<i4>, tensor<i4>) -> tensor<i4>
    "stablehlo.return"(%y) : (tensor<i4>) -> ()
  }) : (tensor<i4>, tensor<i4>) -> (tensor<i4>)
  "func.return"(%v1) : (tensor<i4>) -> ()
}
