sdy.mesh @m = <["x"=2, "y"=2], device_ids=[2, 0, 3, 1]>
func.func @main(%x: tensor<4xf32> {sdy.sharding = #sdy.sharding<@m, [{"x", ?}p1]>}) -> (tensor<4xf32>, tensor<1xf32>) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@m, [{"y", "x":(1)2}], replicated={}>] out_shardings=[<@m, [{"x", "y"}]>, <@m, [{}], unreduced={"y"}>] manual_axes={"x", "y"} (%y: tensor<1xf32>) {
    %id = stablehlo.partition_id : tensor<ui32>
    %p = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
    %q = stablehlo.reshape %p : (tensor<f32>) -> tensor<1xf32>
    %1 = stablehlo.add %q, %y : tensor<1xf32>
    %2 = "stablehlo.all_reduce"(%1) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids} : (tensor<1xf32>) -> tensor<1xf32>
    sdy.return %1, %2 : tensor<1xf32>, tensor<1xf32>
  } : (tensor<4xf32>) -> (tensor<4xf32>, tensor<1xf32>)
  %3 = sdy.sharding_constraint %0#0 <@m, [{"x"}]> : tensor<4xf32>
  return %3, %0#1 : tensor<4xf32>, tensor<1xf32>
}
