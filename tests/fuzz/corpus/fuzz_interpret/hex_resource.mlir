module {
  func.func @main() -> (tensor<2xi16>, tensor<4xf32>) {
    %0 = stablehlo.constant dense<"0x01000200"> : tensor<2xi16>
    %1 = stablehlo.constant dense_resource<blob> : tensor<4xf32>
    return %0, %1 : tensor<2xi16>, tensor<4xf32>
  }
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
