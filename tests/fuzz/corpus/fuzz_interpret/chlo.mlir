func.func @main(%x: tensor<3xf32>, %i: tensor<3xi32>) -> tensor<3xf32> {
  %a = chlo.mulhi %i, %i : tensor<3xi32>, tensor<3xi32> -> tensor<3xi32>
  %b = chlo.zeta %x, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %c = chlo.polygamma %b, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %d = chlo.next_after %c, %x : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %e = chlo.erf_inv %d : tensor<3xf32> -> tensor<3xf32>
  %g = "chlo.constant_like"(%e) {value = 1.5 : f32} : (tensor<3xf32>) -> tensor<3xf32>
  %h = chlo.bessel_i1e %g : tensor<3xf32> -> tensor<3xf32>
  return %h : tensor<3xf32>
}
