func.func public @main(%a0: tensor<1x2xi8>, %a1: tensor<1x2xi8>) -> (tensor<1x2xi8>) {
  %v1 = "stablehlo.map"(%a0, %a1) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x0: tensor<i8>, %x1: tensor<i8>):
    %y = "stablehlo.subtract"(%x1, %x0) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%y) : (tensor<i8>) -> ()
  }) : (tensor<1x2xi8>, tensor<1x2xi8>) -> (tensor<1x2xi8>)
  "func.return"(%v1) : (tensor<1x2xi8>) -> ()
}
