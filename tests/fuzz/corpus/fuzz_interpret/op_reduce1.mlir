func.func public @main(%a0: tensor<1x0xi64>, %a1: tensor<i64>) -> (tensor<1x0xi64>) {
  %v1 = "stablehlo.reduce"(%a0, %a1) <{dimensions = array<i64>}> ({
  ^bb0(%x0: tensor<i64>, %x1: tensor<i64>):
    %y = "stablehlo.and"(%x0, %x1) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%y) : (tensor<i64>) -> ()
  }) : (tensor<1x0xi64>, tensor<i64>) -> (tensor<1x0xi64>)
  "func.return"(%v1) : (tensor<1x0xi64>) -> ()
}
