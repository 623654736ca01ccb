module attributes {mhlo.num_partitions = 4 : i32} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{devices=[4,1]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<4xf32>) -> tensor<4xf32>
  %y = stablehlo.custom_call @SPMDFullToShardShape(%s) {mhlo.sharding = "{manual}"} : (tensor<4xf32>) -> tensor<1xf32>
  %r = stablehlo.negate %y : tensor<1xf32>
  %o = stablehlo.custom_call @SPMDShardToFullShape(%r) {mhlo.sharding = "{devices=[4]3,1,0,2}"} : (tensor<1xf32>) -> tensor<4xf32>
  return %o : tensor<4xf32>
}
}
