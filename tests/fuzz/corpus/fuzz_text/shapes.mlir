func.func @main(%x: tensor<2x3xi8>, %p: tensor<i8>) -> (tensor<3x5xi8>, tensor<6xui4>, tensor<1xf16>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %1 = stablehlo.pad %0, %p, low = [0, 1], high = [0, 1], interior = [0, 1] : (tensor<3x2xi8>, tensor<i8>) -> tensor<3x5xi8>
  %2 = stablehlo.reshape %x : (tensor<2x3xi8>) -> tensor<6xi8>
  %3 = stablehlo.convert %2 : (tensor<6xi8>) -> tensor<6xui4>
  %4 = stablehlo.slice %2 [1:5:2] : (tensor<6xi8>) -> tensor<2xi8>
  %5 = stablehlo.bitcast_convert %4 : (tensor<2xi8>) -> tensor<f16>
  %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f16>) -> tensor<1xf16>
  %7 = stablehlo.concatenate %6, %6, dim = 0 : (tensor<1xf16>, tensor<1xf16>) -> tensor<2xf16>
  %8 = stablehlo.reverse %7, dims = [0] : tensor<2xf16>
  return %1, %3, %6 : tensor<3x5xi8>, tensor<6xui4>, tensor<1xf16>
}
