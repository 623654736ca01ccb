func.func public @main(%a0: tensor<i1>, %a1: tensor<i1>) -> (tensor<i1>) {
  %v1 = "stablehlo.dynamic_update_slice"(%a0, %a1) : (tensor<i1>, tensor<i1>) -> (tensor<i1>)
  "func.return"(%v1) : (tensor<i1>) -> ()
}
