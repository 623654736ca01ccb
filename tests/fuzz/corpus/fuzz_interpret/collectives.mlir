module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
func.func @main(%x: tensor<2x2xf32>) -> tensor<2x2xf32> {
  %r = "stablehlo.all_reduce"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32> }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %g = "stablehlo.all_gather"(%r) {all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<4x2xf32>
  %s = "stablehlo.reduce_scatter"(%g) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32> }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4x2xf32>) -> tensor<2x2xf32>
  %p = "stablehlo.collective_permute"(%s) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %t = "stablehlo.all_to_all"(%p) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<2x2xf32>) -> tensor<1x4xf32>
  %c = "stablehlo.collective_broadcast"(%t) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %y = stablehlo.reshape %c : (tensor<1x4xf32>) -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}
}
