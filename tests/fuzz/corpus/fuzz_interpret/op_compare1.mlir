func.func public @main(%a0: tensor<5xf8E5M2>, %a1: tensor<5xf8E5M2>) -> (tensor<5xi1>) {
  %v1 = "stablehlo.compare"(%a0, %a1) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<5xf8E5M2>, tensor<5xf8E5M2>) -> (tensor<5xi1>)
  "func.return"(%v1) : (tensor<5xi1>) -> ()
}
