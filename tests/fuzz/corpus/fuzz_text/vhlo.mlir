module {
  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<4x?x!vhlo.f32_v1, #vhlo.type_extensions_v1<bounds = [?, 5]>>, %arg1: !vhlo.tensor_v1<2x3x!vhlo.bf16_v1>, %arg2: !vhlo.tensor_v1<3x2x!vhlo.bf16_v1>) -> (!vhlo.tensor_v1<!vhlo.bool_v1>, !vhlo.tensor_v1<2x2x!vhlo.f32_v1>) {
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>>}> : () -> !vhlo.tensor_v1<2x!vhlo.f32_v1>
    %1 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0.000000e+00> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %2 = "vhlo.dot_general_v2"(%arg1, %arg2) <{accumulation_type = #vhlo.type_v1<!vhlo.none_v1>, allow_imprecise_accumulation = #vhlo.type_v1<!vhlo.none_v1>, lhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, lhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>, num_primitive_operations = #vhlo.type_v1<!vhlo.none_v1>, precision_config = #vhlo.array_v1<[#vhlo<precision_v1 HIGHEST>, #vhlo<precision_v1 DEFAULT>]>, rhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, rhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>}> : (!vhlo.tensor_v1<2x3x!vhlo.bf16_v1>, !vhlo.tensor_v1<3x2x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<2x2x!vhlo.f32_v1>
    %3 = "vhlo.reduce_v1"(%0, %1) <{dimensions = #vhlo.tensor_v1<dense<0> : tensor<1xi64>>}> ({
    ^bb0(%arg3: !vhlo.tensor_v1<!vhlo.f32_v1>, %arg4: !vhlo.tensor_v1<!vhlo.f32_v1>):
      %7 = "vhlo.add_v1"(%arg3, %arg4) : (!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.f32_v1>
      "vhlo.return_v1"(%7) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()
    }) : (!vhlo.tensor_v1<2x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %4 = "vhlo.compare_v1"(%3, %1) <{compare_type = #vhlo<comparison_type_v1 NOTYPE>, comparison_direction = #vhlo<comparison_direction_v1 GT>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.bool_v1>
    %5 = "vhlo.call_v1"(%4) <{callee = #vhlo.string_v1<"f">}> : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> !vhlo.tensor_v1<!vhlo.bool_v1>
    %6:2 = "vhlo.custom_call_v1"(%5) <{api_version = #vhlo<api_version_v1 API_VERSION_TYPED_FFI>, backend_config = #vhlo.dict_v1<{#vhlo.string_v1<"a"> = #vhlo.integer_v1<1 : i32>}>, call_target_name = #vhlo.string_v1<"foo">, called_computations = #vhlo.array_v1<[]>, has_side_effect = #vhlo.bool_v1<false>, operand_layouts = #vhlo.array_v1<[]>, output_operand_aliases = #vhlo.array_v1<[]>, result_layouts = #vhlo.array_v1<[]>}> : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> (!vhlo.tensor_v1<!vhlo.bool_v1>, !vhlo.token_v1)
    "vhlo.return_v1"(%6#0, %2) : (!vhlo.tensor_v1<!vhlo.bool_v1>, !vhlo.tensor_v1<2x2x!vhlo.f32_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"">}
  vhlo.func_v1 @f(%arg0: !vhlo.tensor_v1<!vhlo.bool_v1>) -> (!vhlo.tensor_v1<!vhlo.bool_v1>) {
    "vhlo.return_v1"(%arg0) : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"private">}
}
