// Letters of one operand only are summed before the product; only the result is rounded. Values worked out by hand.

// Sums over a: (2^24 + 1, -2^24), of which f32 has no 2^24 + 1.
func.func @summed_before_the_product() {
  %x = stablehlo.constant dense<[[16777216.0, -16777216.0], [1.0, 0.0]]> : tensor<2x2xf32>
  %y = stablehlo.constant dense<[1.0, 1.0]> : tensor<2xf32>
  %0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->"}> : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<f32>
  check.expect_eq_const %0, dense<1.0> : tensor<f32>
  %1 = "stablehlo.einsum"(%y, %x) <{einsum_config = "c,cb->b"}> : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[16777216.0, -16777216.0]> : tensor<2xf32>
  %2 = "stablehlo.einsum"(%y, %x) <{einsum_config = "b,ab->"}> : (tensor<2xf32>, tensor<2x2xf32>) -> tensor<f32>
  check.expect_eq_const %2, dense<1.0> : tensor<f32>
  return
}

// Both operands have such letters: (256 + 1 + 1) (1 + 2^-7) = 260.015625 in bf16, whose steps are 2 there.
func.func @bf16() {
  %x = stablehlo.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %y = stablehlo.constant dense<[1.0, 0.0078125]> : tensor<2xbf16>
  %0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "a,b->"}> : (tensor<3xbf16>, tensor<2xbf16>) -> tensor<bf16>
  check.expect_eq_const %0, dense<260.0> : tensor<bf16>
  %z = stablehlo.constant dense<[[256.0, 1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0, 256.0]]> : tensor<2x5xbf16>
  %1 = "stablehlo.unary_einsum"(%z) <{einsum_config = "ab->a"}> : (tensor<2x5xbf16>) -> tensor<2xbf16>
  check.expect_eq_const %1, dense<260.0> : tensor<2xbf16>
  return
}

// (2^24 + 1 + i) (1) + (-2^24) (1) = 1 + i
func.func @complex() {
  %x = stablehlo.constant dense<[[(16777216.0, 0.0), (-16777216.0, 0.0)], [(1.0, 1.0), (0.0, 0.0)]]> : tensor<2x2xcomplex<f32>>
  %y = stablehlo.constant dense<[(1.0, 0.0), (1.0, 0.0)]> : tensor<2xcomplex<f32>>
  %0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->"}> : (tensor<2x2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<complex<f32>>
  check.expect_eq_const %0, dense<(1.0, 1.0)> : tensor<complex<f32>>
  return
}

// (100 + 100) 2, in the result's type; in i8 it would wrap.
func.func @wider_integers() {
  %x = stablehlo.constant dense<[[100], [100]]> : tensor<2x1xi8>
  %y = stablehlo.constant dense<[2]> : tensor<1xi8>
  %0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->"}> : (tensor<2x1xi8>, tensor<1xi8>) -> tensor<i32>
  check.expect_eq_const %0, dense<400> : tensor<i32>
  %1 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->"}> : (tensor<2x1xi8>, tensor<1xi8>) -> tensor<i8>
  check.expect_eq_const %1, dense<-112> : tensor<i8>
  return
}
