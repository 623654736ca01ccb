func.func public @main(%a0: tensor<i4>, %a1: tensor<i4>) -> (tensor<i1>) {
  %v1 = "stablehlo.compare"(%a0, %a1) <{comparison_direction = #stablehlo<comparison_direction LE>, compare_type = #stablehlo<comparison_type SIGNED>}> : (tensor<i4>, tensor<i4>) -> (tensor<i1>)
  "func.return"(%v1) : (tensor<i1>) -> ()
}
