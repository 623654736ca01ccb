func.func public @main(%a0: tensor<i8>, %a1: tensor<i8>, %a2: tensor<i1>) -> (tensor<i8>) {
  %v1 = "stablehlo.if"(%a2) ({
    %y0 = "stablehlo.add"(%a0, %a1) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%y0) : (tensor<i8>) -> ()
  }, {
    %y1 = "stablehlo.subtract"(%a0, %a1) : (tensor<i8>, tensor<i8>) -> tensor<i8>
    "stablehlo.return"(%y1) : (tensor<i8>) -> ()
  }) : (tensor<i1>) -> (tensor<i8>)
  "func.return"(%v1) : (tensor<i8>) -> ()
}
