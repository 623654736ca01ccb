func.func @main() -> tensor<f32> {
  %x = stablehlo.constant dense<2.0> : tensor<f32>
  %r:2 = "interpreter.run_parallel"(%x, %x) {programs = [[@one], [@one]]} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  "interpreter.print"(%r#0) : (tensor<f32>) -> ()
  return %r#1 : tensor<f32>
}
func.func @one(%x: tensor<f32>) -> tensor<f32> {
  %r = "stablehlo.all_reduce"(%x) ({ ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %q = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %q : tensor<f32> }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
