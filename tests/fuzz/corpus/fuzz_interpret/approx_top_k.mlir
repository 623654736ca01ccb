func.func @main(%x: tensor<4xf32>) -> tensor<2xi32> {
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %z = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %n = stablehlo.constant dense<-1> : tensor<i32>
  %t:2 = stablehlo.custom_call @ApproxTopK(%x, %i, %z, %n) {called_computations = [@cmp], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.95 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %t#1 : tensor<2xi32>
}
func.func private @cmp(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
  %c = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %c : tensor<i1>
}
