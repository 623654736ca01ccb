func.func public @main(%a0: tensor<2xf16>, %a1: tensor<2xi32>) -> (tensor<2xf16>, tensor<2xi32>) {
  %v1:2 = "stablehlo.sort"(%a0, %a1) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x0: tensor<f16>, %x1: tensor<f16>, %x2: tensor<i32>, %x3: tensor<i32>):
    %y = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction GT>, compare_type = #stablehlo<comparison_type TOTALORDER>}> : (tensor<f16>, tensor<f16>) -> tensor<i1>
    "stablehlo.return"(%y) : (tensor<i1>) -> ()
  }) : (tensor<2xf16>, tensor<2xi32>) -> (tensor<2xf16>, tensor<2xi32>)
  "func.return"(%v1#0, %v1#1) : (tensor<2xf16>, tensor<2xi32>) -> ()
}
