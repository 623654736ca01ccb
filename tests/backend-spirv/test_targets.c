// SPDX-License-Identifier: Apache-2.0
// Targets and texts: what a description says, RADV's null hardware as a target, SPIR-V text, statistics of a real GPU's
// compiler.
#include "tests/backend-spirv/spirv_test.h"

static const lemnos_backend *const B = &lemnos_backend_spirv;

START_TEST(descriptions) {
  rig r;
  if (!rig_open(&r)) return;
  for (int i = 0; i < r.n; i++) {
    const hlo_target *t = &r.infos[i].target;
    hlo_target again;
    char spec[32];
    snprintf(spec, sizeof spec, "vulkan:%d", i);
    ck_assert_str_eq(t->spec, spec);
    ASSERT_OK(B->target_parse(r.state, strv_from_cstr(spec), &again));
    ck_assert_int_eq(memcmp(&again, t, sizeof again), 0);
    ck_assert(t->max_workgroup >= 128 && t->shared_bytes >= 16384 && t->max_buffers >= 4);
    ck_assert(t->max_groups[0] >= 65535 && t->max_storage_range >= 1 << 27);
    // The two software drivers, as their makers describe them.
    if (strstr(t->name, "llvmpipe")) {
      ck_assert(t->cls == HLO_TARGET_CPU_LIKE && t->f16 && t->f64 && t->i8 && t->i16 && t->i64 && t->storage_8);
      ck_assert(!t->fused_fma && t->subnormals_f32 && t->subgroup > 0);
      ck_assert_int_eq(t->max_storage_range, INT64_MAX);
    }
    if (strstr(t->name, "SwiftShader")) {
      ck_assert(t->cls == HLO_TARGET_CPU_LIKE && !t->f16 && !t->f64 && !t->i8 && !t->i16 && !t->i64 && !t->storage_16);
      ck_assert(!t->subnormals_f32 && t->shuffle_is_broadcast);
      ck_assert_int_eq(t->subgroup, 4);
    }
  }
  hlo_target t;
  ASSERT_FAILS(B->target_parse(r.state, STRV("vulkan:77"), &t), LEMNOS_NOT_FOUND, "vulkan:77");
  ASSERT_FAILS(B->target_parse(r.state, STRV("vulkan:x"), &t), LEMNOS_NOT_FOUND, "vulkan:x");
  ASSERT_FAILS(B->target_parse(r.state, STRV("cpu"), &t), LEMNOS_NOT_FOUND, "cpu");
  rig_close(&r);
}
END_TEST

// out = sum over 64 of a[item, k] * b[k], vec4 loads, unrolled by four: enough to look at.
static kernel *dot_kernel(arena *a, int workgroup) {
  kernel_param params[] = {param_of(KERNEL_F32, 1 << 16, true), param_of(KERNEL_F32, 64, true),
                           param_of(KERNEL_F32, 1024, false)};
  kernel *k = kernel_create(a, STRV("dot"), 3, params, 1024, workgroup, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  val item = kernel_item(&b), base = kernel_bin(&b, KERNEL_OP_MUL, item, kernel_index(&b, 64));
  val zero = kernel_splat(&b, kernel_float(&b, KERNEL_F32, 0), 4);
  kernel_for f = kernel_for_begin(&b, kernel_index(&b, 0), kernel_index(&b, 64), kernel_index(&b, 4), 1, &zero);
  val x = kernel_load(&b, kernel_param_mem(0), kernel_bin(&b, KERNEL_OP_ADD, base, f.iv), 4, 4, NULL);
  val y = kernel_load(&b, kernel_param_mem(1), f.iv, 4, 4, NULL), next = kernel_fma(&b, x, y, f.args[0]);
  kernel_for_end(&b, &f, &next);
  val sum = kernel_reduce(&b, KERNEL_OP_REDUCE_ADD, f.results[0]);
  if (workgroup) {
    kernel_mem tile = kernel_array_mem(k, kernel_add_array(k, KERNEL_SHARED, KERNEL_F32, 1, workgroup));
    kernel_type i32 = kernel_type_make(KERNEL_I32, 1);
    val local = &kernel_emit(&b, KERNEL_OP_LOCAL_ID, 1, &i32, 0, NULL)->results[0];
    kernel_store(&b, tile, local, sum, 1, NULL);
    kernel_emit(&b, KERNEL_OP_BARRIER, 0, NULL, 0, NULL);
    sum = kernel_load(&b, tile, kernel_bin(&b, KERNEL_OP_XOR, local, kernel_index(&b, 1)), 1, 1, NULL);
  }
  kernel_store(&b, kernel_param_mem(2), item, sum, 1, NULL);
  return k;
}

// The number behind a statistic's name.
static long statistic(const char *text, const char *name) {
  const char *at = strstr(text, name);
  ck_assert_msg(at != NULL, "no '%s' in: %s", name, text);
  return strtol(at + strlen(name), NULL, 10);
}

START_TEST(radv) {
  rig r;
  if (!rig_open_at(&r, NULL)) return;
  const char *const families[] = {"radv:navi21", "radv:vega10", "radv:gfx1100", "radv:polaris10"};
  for (int f = 0; f < 4; f++) {
    hlo_target t, again;
    lemnos_status status = B->target_parse(r.state, strv_from_cstr(families[f]), &t);
    if (lemnos_status_get_code(status) == LEMNOS_UNAVAILABLE) {
      printf("skipped: %s\n", lemnos_status_message(status));
      lemnos_status_free(status);
      break;
    }
    ASSERT_OK(status);
    ASSERT_OK(B->target_parse(r.state, strv_from_cstr(families[f]), &again));
    ck_assert_str_eq(t.spec, families[f]);
    ck_assert(t.cls == HLO_TARGET_GPU && t.group_ops && t.subgroup == 64 && t.f64 && t.i64 && t.fused_fma);
    ck_assert_int_eq(t.f16, f != 3);  // Polaris has no f16 arithmetic
    for (int w = 0; w <= 64; w += 64) {
      arena *a = arena_create();
      kernel *k = dot_kernel(a, w);
      strbuf text = {0};
      backend_code code;
      ASSERT_OK(B->compile(r.state, &t, &k, 1, NULL, &code));
      validate_code(&code, families[f]);
      backend_code_deinit(&code);
      ASSERT_OK(B->emit_text(r.state, &t, k, BACKEND_EMIT_STATS, &text));
      if (w == 0) printf("%s", text.data);
      ck_assert_int_eq(statistic(text.data, "Spilled VGPRs"), 0);
      ck_assert_int_eq(statistic(text.data, "Spilled SGPRs"), 0);
      ck_assert(statistic(text.data, "VGPRs") > 0 && statistic(text.data, "Code size") > 0);
      strbuf_clear(&text);
      ASSERT_OK(B->emit_text(r.state, &t, k, BACKEND_EMIT_ASM, &text));
      bool wide = strstr(text.data, "buffer_load_dwordx4") || strstr(text.data, "buffer_load_b128");
      ck_assert_msg(wide, "vec4 loads do not stay wide: %s", text.data);
      ck_assert_ptr_null(strstr(text.data, "v_lshrrev"));  // exact division of indices leaves no shifts
      ck_assert_ptr_nonnull(strstr(text.data, w ? "s_endpgm" : "v_"));
      strbuf_deinit(&text);
      arena_destroy(a);
    }
  }
  hlo_target t;
  ASSERT_FAILS(B->target_parse(r.state, STRV("radv:voodoo2"), &t), LEMNOS_NOT_FOUND, "VOODOO2");
  rig_close(&r);
}
END_TEST

START_TEST(text) {
  rig r;
  if (!rig_open_at(&r, NULL)) return;
  arena *a = arena_create();
  kernel *k = dot_kernel(a, 0);
  // not here: minimum limits
  hlo_target t = {.cls = HLO_TARGET_GPU, .spec = "vulkan:1000", .max_workgroup = 128, .elementwise_workgroup = 64};
  strbuf out = {0};
  ASSERT_OK(B->emit_text(r.state, &t, k, BACKEND_EMIT_IR, &out));
  const char *const parts[] = {"; kernel dot: 16 x 1 x 1 workgroups of 64\n",
                               "OpEntryPoint 5 %1 \"main\"",
                               "OpMemoryModel 0 1",
                               "OpLoopMerge",
                               "OpPhi",
                               "OpFunctionEnd"};
  for (size_t p = 0; p < sizeof parts / sizeof parts[0]; p++)
    ck_assert_msg(strstr(out.data, parts[p]) != NULL, "no '%s' in %s", parts[p], out.data);
  ck_assert_ptr_null(strstr(out.data, "Op#"));  // every instruction has a name
  uint32_t broken[] = {SpvMagicNumber, 0x10300, 0, 10, 0, 99u << 16 | SpvOpNop};
  ASSERT_FAILS(spirv_disassemble(broken, 6, &out), LEMNOS_INVALID_ARGUMENT, "malformed");
  ASSERT_FAILS(spirv_disassemble(broken + 1, 5, &out), LEMNOS_INVALID_ARGUMENT, "not a SPIR-V");
  ASSERT_FAILS(B->emit_text(r.state, &t, k, BACKEND_EMIT_STATS, &out), LEMNOS_NOT_FOUND, "vulkan:1000");
  strbuf_deinit(&out);
  arena_destroy(a);
  rig_close(&r);
}
END_TEST

// Everything that is refused is refused by name, and what is made for nobody in particular keeps to Vulkan's guaranteed
// limits.
START_TEST(refused) {
  arena *a = arena_create();
  spirv_caps caps = spirv_caps_minimum();
  spirv_kernel_info info;
  spirv_words words = {0};
  hlo_target t = {.cls = HLO_TARGET_GPU, .max_workgroup = 128, .elementwise_workgroup = 256, .shared_bytes = 16384};
  kernel_param big = param_of(KERNEL_F32, (int64_t)1 << 26, true);
  kernel *k = kernel_create(a, STRV("k"), 1, &big, 64, 0, KERNEL_I32);
  ASSERT_FAILS(spirv_emit_kernel(k, &t, &caps, &info, &words), LEMNOS_UNIMPLEMENTED,
               "binds at most 4 buffers of 134217728 bytes");
  kernel_param five[5] = {big, big, big, big, big};
  for (int i = 0; i < 5; i++) five[i].n_elems = 4;
  ASSERT_FAILS(spirv_emit_kernel(kernel_create(a, STRV("k"), 5, five, 64, 0, KERNEL_I32), &t, &caps, &info, &words),
               LEMNOS_UNIMPLEMENTED, "at most 4 buffers");
  ASSERT_FAILS(
      spirv_emit_kernel(kernel_create(a, STRV("k"), 0, NULL, 1024, 1024, KERNEL_I32), &t, &caps, &info, &words),
      LEMNOS_UNIMPLEMENTED, "a workgroup of 1024");
  k = kernel_create(a, STRV("k"), 0, NULL, 64, 64, KERNEL_I32);
  kernel_add_array(k, KERNEL_SHARED, KERNEL_F32, 4, 5000);
  ASSERT_FAILS(spirv_emit_kernel(k, &t, &caps, &info, &words), LEMNOS_UNIMPLEMENTED, "20000 bytes of shared arrays");
  k = kernel_create(a, STRV("k"), 0, NULL, 64, 0, KERNEL_I32);
  kernel_builder b = kernel_builder_create(k);
  kernel_un(&b, KERNEL_OP_EXP, kernel_float(&b, KERNEL_F32, 1));
  ASSERT_FAILS(spirv_emit_kernel(k, &t, &caps, &info, &words), LEMNOS_UNIMPLEMENTED, "exp: not expanded");
  k = kernel_create(a, STRV("k"), 0, NULL, 64, 0, KERNEL_I32);
  b = kernel_builder_create(k);
  kernel_un(&b, KERNEL_OP_NEG, kernel_float(&b, KERNEL_BF16, 1));
  ASSERT_FAILS(spirv_emit_kernel(k, &t, &caps, &info, &words), LEMNOS_UNIMPLEMENTED, "bf16");
  vec_deinit(&words);
  arena_destroy(a);
}
END_TEST

HARNESS_MAIN("backend_spirv_targets", descriptions, radv, text, refused)
