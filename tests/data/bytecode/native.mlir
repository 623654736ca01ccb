#map = affine_map<(d0) -> (d0)>
module {
  func.func @main() -> (tensor<4xf32>, tensor<3xi1>, tensor<2xi4>, tensor<3xui8>) {
    %cst = stablehlo.constant dense_resource<r1> : tensor<4xf32>
    %c = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %c_0 = stablehlo.constant dense<[-2, 7]> : tensor<2xi4>
    %c_1 = stablehlo.constant dense_resource<r2> : tensor<3xui8>
    %0 = chlo.erf %cst : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.broadcast_compare %cst, %cst {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %values, %indices = chlo.top_k(%cst, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %cst_2 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-0.000000e+00)]> : tensor<2xcomplex<f32>>
    %cst_3 = stablehlo.constant dense<> : tensor<0x3xbf16>
    %c_4 = stablehlo.constant dense<-1> : tensor<5xi2>
    %c_5 = stablehlo.constant dense<true> : tensor<20xi1>
    return %0, %c, %c_0, %c_1 : tensor<4xf32>, tensor<3xi1>, tensor<2xi4>, tensor<3xui8>
  }
  func.func private @decl(tensor<?x4xf32, #stablehlo.bounds<8, ?>>, !stablehlo.token, tuple<tensor<f32>, tensor<i1>>, tensor<*xf32>, complex<f32>, index, vector<4xf32>, memref<4xf32>) attributes {a = 1.500000e+00 : f16, b = [1 : i8, -1 : si8, 255 : ui8], c = @x::@y, d = f32, e, f = array<i32: 1, -2>, g = array<i1: true, false>, h = array<f32>, i = dense<[1, 2]> : vector<2xi64>, j = #map, k = true, l = 7 : index, m = {x = "s"}, n = "q"}
}

{-#
  dialect_resources: {
    builtin: {
      r1: "0x040000000000803F0000004000004040000080C0",
      r2: "0x01000000FF0203"
    }
  }
#-}
