// SPDX-License-Identifier: Apache-2.0
// HLO text: canonical texts print as they were read, XLA's spellings are understood, errors have their place, and
// instructions of every op with random attributes survive print -> parse -> print.
#include "hlo/hlo.h"
#include "tests/harness.h"

static hlo_module *parse(arena *a, const char *text) {
  hlo_module *m = NULL;
  ASSERT_OK(hlo_parse(a, STRV("t.hlo"), strv_from_cstr(text), NULL, &m));
  return m;
}

static char *print(arena *a, const hlo_module *m, bool locations) {
  hlo_print_options options = {.locations = locations};
  strbuf text = {0};
  hlo_print_module(&text, m, locations ? &options : NULL);
  char *copy = (char *)arena_strv(a, strbuf_view(&text)).data;
  strbuf_deinit(&text);
  return copy;
}

// The text is canonical: it prints as it was read; a clone prints alike.
static void check_canonical(const char *text) {
  arena *a = arena_create();
  hlo_module *m = parse(a, text);
  ck_assert_str_eq(print(a, m, false), text);
  arena *b = arena_create();
  hlo_module *copy = hlo_module_clone(m, b);
  ck_assert_str_eq(print(b, copy, false), text);
  const char *why = "";
  ck_assert_msg(hlo_module_equal(m, copy, &why), "clone differs: %s", why);
  arena_destroy(a);
  ck_assert_str_eq(print(b, copy, false), text);  // needs nothing of the original
  arena_destroy(b);
}

// Reads text, and compares what is printed with `expected`, which must be canonical.
static void check_reads_as(const char *text, const char *expected) {
  arena *a = arena_create();
  ck_assert_str_eq(print(a, parse(a, text), false), expected);
  arena_destroy(a);
  check_canonical(expected);
}

START_TEST(canonical_control) {
  check_canonical(
      "HloModule m, entry_computation_layout={(f32[2,3]{1,0}, s32[])->(f32[2,3]{1,0}, (s32[], f32[]))}, "
      "input_output_alias={ {0}: (0, {}, may-alias), {1,1}: (1, {}, may-alias) }, buffer_donor={ (0, {}), (1, {}) }, "
      "replica_count=2, num_partitions=4\n"
      "\n"
      "%sum (a: f32[], b: f32[]) -> f32[] {\n"
      "  %a = f32[] parameter(0)\n"
      "  %b = f32[] parameter(1)\n"
      "  ROOT %add.3 = f32[] add(%a, %b)\n"
      "}\n"
      "\n"
      "%cond (p: (s32[], f32[2]{0})) -> pred[] {\n"
      "  %p = (s32[], f32[2]{0}) parameter(0)\n"
      "  %i = s32[] get-tuple-element(%p), index=0\n"
      "  %ten = s32[] constant(10)\n"
      "  ROOT %less = pred[] compare(%i, %ten), direction=LT\n"
      "}\n"
      "\n"
      "%body (q: (s32[], f32[2]{0})) -> (s32[], f32[2]{0}) {\n"
      "  ROOT %q = (s32[], f32[2]{0}) parameter(0)\n"
      "}\n"
      "\n"
      "%fused (x: f32[2,3]{1,0}) -> f32[2,3]{1,0} {\n"
      "  %x = f32[2,3]{1,0} parameter(0)\n"
      "  ROOT %neg = f32[2,3]{1,0} negate(%x)\n"
      "}\n"
      "\n"
      "%ge (l: f32[], r: f32[]) -> pred[] {\n"
      "  %l = f32[] parameter(0)\n"
      "  %r = f32[] parameter(1)\n"
      "  ROOT %c = pred[] compare(%l, %r), direction=GE, type=TOTALORDER\n"
      "}\n"
      "\n"
      "ENTRY %main (arg0: f32[2,3]{1,0}, arg1: s32[]) -> (f32[2,3]{1,0}, (s32[], f32[])) {\n"
      "  %arg0 = f32[2,3]{1,0} parameter(0)\n"
      "  %arg1 = s32[] parameter(1)\n"
      "  %zero = f32[] constant(0)\n"
      "  %fusion = f32[2,3]{1,0} fusion(%arg0), kind=kLoop, calls=%fused\n"
      "  %reduce = f32[2]{0} reduce(%fusion, %zero), dimensions={1}, to_apply=%sum\n"
      "  %init = (s32[], f32[2]{0}) tuple(%arg1, %reduce)\n"
      "  %loop = (s32[], f32[2]{0}) while(%init), known_trip_count=10, condition=%cond, body=%body\n"
      "  %yes = pred[] constant(true)\n"
      "  %either = (s32[], f32[2]{0}) conditional(%yes, %loop, %init), true_computation=%body, "
      "false_computation=%body\n"
      "  %one_of = (s32[], f32[2]{0}) conditional(%arg1, %loop, %init, %loop), branch_computations={%body, %body, "
      "%body}\n"
      "  %pool = f32[2,3]{1,0} reduce-window(%arg0, %zero), window={size=2x3 stride=1x2 pad=1_0x-1_2 lhs_dilate=1x2 "
      "rhs_dilate=2x1}, to_apply=%sum\n"
      "  %back = f32[2,3]{1,0} select-and-scatter(%arg0, %pool, %zero), window={size=1x1}, select=%ge, scatter=%sum\n"
      "  %ordered = f32[2,3]{1,0} sort(%back), dimensions={1}, is_stable=true, to_apply=%ge\n"
      "  %all = f32[2,3]{1,0} all-reduce(%ordered), replica_groups={{0,1},{2}}, channel_id=1, to_apply=%sum\n"
      "  %called = f32[2,3]{1,0} custom-call(%all), custom_call_target=\"a \\\"b\\\"\\n\", "
      "output_to_operand_aliasing={{0}: (0, {}), {3}: (1, {2})}, mhlo_attributes={\"backend_config\"=\"x\", "
      "\"mhlo.y\"=mlir\"{a = 1 : i32}\"}, called_computations={%sum, %ge}\n"
      "  %pair = (s32[], f32[]) tuple(%arg1, %zero)\n"
      "  ROOT %out = (f32[2,3]{1,0}, (s32[], f32[])) tuple(%called, %pair)\n"
      "}\n");
}
END_TEST

START_TEST(canonical_data) {
  check_canonical(
      "HloModule d, entry_computation_layout={(f32[4,8,5]{1,2,0})->f32[4,8]{1,0}}\n"
      "\n"
      "ENTRY %e (p: f32[4,8,5]{1,2,0}) -> f32[4,8]{1,0} {\n"
      "  %p = f32[4,8,5]{1,2,0} parameter(0)\n"
      "  %grid = f32[2,2]{1,0} constant({ {1, 2.5}, {-0, nan(0x1)} })\n"
      "  %cube = s4[2,1,2]{2,1,0} constant({ { {1, -8} }, { {7, 0} } })\n"
      "  %flags = pred[3]{0} constant({true, false, true})\n"
      "  %cplx = c64[2]{0} constant({(1, -2), (inf, -nan)})\n"
      "  %many = bf16[1000,1000]{1,0} constant(splat 1.5)\n"
      "  %none = f64[2,0,3]{2,1,0} constant({})\n"
      "  %bytes = u64[1]{0} constant({18446744073709551615})\n"
      "  %tok = token[] create-token()\n"
      "  %dyn = f32[?,<=8]{1,0} custom-call(%p), custom_call_target=\"f\"\n"
      "  %quant = s8[2,3]{1,0}!quant(f32,-128:127,{0.5:3}) uniform-quantize(%grid)\n"
      "  %axis = u8[2,3]{1,0}!quant(bf16,0:200,axis=0,{0.5:3,1e-30:0}) uniform-quantize(%grid)\n"
      "  %sl = f32[2,2,1]{2,1,0} slice(%p), slice={[0:4:2], [1:3], [4:5]}\n"
      "  %pd = f32[4,8,5]{2,1,0} pad(%sl, %grid), padding=0_1x2_-3_1x0_0\n"
      "  %dot = f32[4,8,8]{2,1,0} dot(%p, %p), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, "
      "rhs_contracting_dims={2}, operand_precision={highest,default}\n"
      "  %conv = f32[4,3,1]{2,1,0} convolution(%p, %p), window={size=3 pad=1_1 rhs_reversal=1}, "
      "dim_labels=b0f_0io->b0f, feature_group_count=2\n"
      "  %ga = f32[1,8,5]{2,1,0} gather(%p, %cube), offset_dims={1,2}, collapsed_slice_dims={0}, start_index_map={0}, "
      "index_vector_dim=1, slice_sizes={1,8,5}, indices_are_sorted=true\n"
      "  %it = s32[3,4]{1,0} iota(), iota_dimension=1\n"
      "  %rs = f32[4]{0} rng(%grid, %grid, %it), distribution=rng_uniform\n"
      "  %rb = (u64[2]{0}, u32[8]{0}) rng-bit-generator(%bytes), algorithm=rng_three_fry\n"
      "  %ft = c64[5]{0} fft(%grid), fft_type=RFFT, fft_length={8}\n"
      "  %ts = f32[2,2]{1,0} triangular-solve(%grid, %grid), left_side=true, lower=false, unit_diagonal=false, "
      "transpose_a=ADJOINT\n"
      "  %bn = f32[2,2]{1,0} batch-norm-inference(%grid, %grid, %grid, %grid, %grid), epsilon=0.001, feature_index=1\n"
      "  %cp = f32[2,2]{1,0} collective-permute(%grid), source_target_pairs={{0,1},{1,0}}\n"
      "  %eq = () check-expect-eq-const(%flags), value=pred[3]{0} {true, true, false}\n"
      "  ROOT %t = f32[4,8]{1,0} reshape(%p)\n"
      "}\n");
}
END_TEST

// What XLA's printer writes and ours does not.
START_TEST(foreign_spellings) {
  check_reads_as(
      "HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8,4]{1,0})->f32[8]{0}}, "
      "allow_spmd_sharding_propagation_to_parameters={true}, frontend_attributes={fingerprint=\"}{\"}\n"
      "\n"
      "FileNames\n1 \"a.py\"\n\nStackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\n"
      "region_0.1 { // short signature\n"
      "  p0 = f32[] parameter(0), metadata={op_name=\"x\"}\n"
      "  p1 = f32[] parameter(1)\n"
      "  ROOT r = f32[] maximum(f32[] p0, f32[] p1)\n"
      "}\n"
      "ENTRY %main.5 (Arg_0.1: f32[8,4]) -> f32[8] {\n"
      "  %p0 = f32[8,4]{1,0:T(8,128)S(1)} parameter(0), sharding={devices=[2,1]<=[2]}, "
      "frontend_attributes={a=\"b,}\"}\n"
      "  %c = f32[] constant(-inf), metadata={op_type=\"max\" source_file=\"a.py\" source_line=3}\n"
      "  %k = pred[2]{0} constant({1,\n0})\n"
      "  %g = f32[8,4]{1,0} all-gather(f32[8,4]{1,0} %p0), replica_groups=[2,2]<=[2,2]T(1,0), dimensions={0}\n"
      "  %a = f32[8,4]{1,0} all-to-all(%g), replica_groups={{0,1}}, dimensions={1}\n"
      "  %cc = f32[8,4]{1,0} custom-call(%a, /*index=1*/%c), custom_call_target=\"t\", "
      "operand_layout_constraints={f32[8,4]{1,0}, f32[]}, api_version=API_VERSION_TYPED_FFI, backend_config={\"n\": "
      "[1]}\n"
      "  ROOT %reduce.1 = f32[8]{0} reduce(f32[8,4]{1,0} %cc, f32[] %c), dimensions={1}, to_apply=%region_0.1, "
      "backend_config={\"outer_dimension_partitions\":[\"2\"]}\n"
      "}, execution_thread=\"main\"\n",
      "HloModule jit_f, entry_computation_layout={(f32[8,4]{1,0})->f32[8]{0}}\n"
      "\n"
      "%region_0.1 (p0: f32[], p1: f32[]) -> f32[] {\n"
      "  %p0 = f32[] parameter(0)\n"
      "  %p1 = f32[] parameter(1)\n"
      "  ROOT %r = f32[] maximum(%p0, %p1)\n"
      "}\n"
      "\n"
      "ENTRY %main.5 (p0.1: f32[8,4]{1,0}) -> f32[8]{0} {\n"
      "  %p0.1 = f32[8,4]{1,0} parameter(0)\n"
      "  %c = f32[] constant(-inf)\n"
      "  %k = pred[2]{0} constant({true, false})\n"
      "  %g = f32[8,4]{1,0} all-gather(%p0.1), dimensions={0}, replica_groups={{0,2},{1,3}}\n"
      "  %a = f32[8,4]{1,0} all-to-all(%g), split_dimension=1, concat_dimension=1, split_count=2, "
      "replica_groups={{0,1}}\n"
      "  %cc = f32[8,4]{1,0} custom-call(%a, %c), custom_call_target=\"t\", api_version=4, "
      "mhlo_attributes={\"backend_config\"=\"{\\\"n\\\": [1]}\"}\n"
      "  ROOT %reduce.1 = f32[8]{0} reduce(%cc, %c), dimensions={1}, to_apply=%region_0.1\n"
      "}\n");
}
END_TEST

START_TEST(locations) {
  arena *a = arena_create();
  const char *text =
      "HloModule m, entry_computation_layout={()->f32[]}\n\nENTRY %e () -> f32[] {\n"
      "  %c = f32[] constant(1), metadata={op_name=\"jit(f)/one\" source_file=\"m.mlir\" source_line=3 "
      "source_column=7}\n"
      "  ROOT %d = f32[] negate(%c), metadata={source_file=\"m.mlir\" source_line=4}\n}\n";
  hlo_module *m = parse(a, text);
  ck_assert_str_eq(print(a, m, true), text);
  m = parse(a, "HloModule m\nENTRY e {\n  ROOT c = f32[] constant(1)\n}");
  ck_assert_int_eq(m->entry->root->loc->line, 3);
  ck_assert_int_eq(m->entry->root->loc->col, 8);
  arena_destroy(a);
}
END_TEST

// Each line is wrapped in a computation with %x: f32[2,3] and %s: f32[] and must fail with the message at the column.
typedef struct bad_line {
  const char *line, *message;
  int col;
  lemnos_status_code code;
} bad_line;

START_TEST(bad_lines) {
  static const bad_line cases[] = {
      {"%y = f32[2] frobnicate(%x)", "unknown operation 'frobnicate'", 15, LEMNOS_UNIMPLEMENTED},
      {"%y = f32[2] negate(%q)", "'%q' is not defined here", 23, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] negate(%x, %x)", "negate takes 1 operands, here are 2", 15, LEMNOS_INVALID_ARGUMENT},
      {"%y = f33[2] negate(%x)", "unknown element type 'f33'", 8, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[-2] negate(%x)", "cannot be negative", 12, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2,3]{0} negate(%x)", "a layout must name each dimension", 17, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2,3]{0,0} negate(%x)", "a layout must name each dimension", 19, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] negate(%x), wrong=3", "negate has no attribute 'wrong'", 27, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] negate(f32[3]{0} %x)", "'%x' has the shape f32[2,3]{1,0}", 22, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] transpose(%x)", "transpose needs the attribute 'dimensions'", 15, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] constant({1})", "has 2 elements, here are only 1", 26, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[1] constant({1, 2})", "has only 1 elements", 26, LEMNOS_INVALID_ARGUMENT},
      {"%y = s8[1] constant({128})", "'128' is not a value of s8", 24, LEMNOS_INVALID_ARGUMENT},
      {"%y = u8[1] constant({-1})", "'-1' is not a value of u8", 24, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] constant({...})", "were left out", 25, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[99999999] constant({1})", "too short", 31, LEMNOS_INVALID_ARGUMENT},
      {"%y = token[] constant(1)", "constants of token shape are not supported", 25, LEMNOS_UNIMPLEMENTED},
      {"%y = f32[2] reduce(%x, %s), dimensions={0}", "reduce calls 1 computation, here are 0", 15,
       LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] reduce(%x, %s), dimensions={0}, to_apply=%no", "computation '%no' is not defined", 57,
       LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] reduce(%x, %s), dimensions={99999999999999999999}", "does not fit in 64 bits", 43,
       LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] compare(%x, %x), direction=XX", "unknown value 'XX'", 42, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] negate(%x", "expected ')' after the operands, found '%'", 3, LEMNOS_INVALID_ARGUMENT},
      {"%x = f32[2] negate(%x)", "'%x' is already defined", 3, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] parameter(0)", "parameter 0 is there already", 25, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] parameter(7)", "parameter 2 of '%e' is missing", 1, LEMNOS_INVALID_ARGUMENT},
      {"%y f32[2] negate(%x)", "expected '=' after the name of an instruction, found 'f32'", 6,
       LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] custom-call(%x), custom_call_target=\"abc", "does not end on its line", 51,
       LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] convolution(%x, %x), dim_labels=b0f_0io->b1f", "labels must name", 57, LEMNOS_INVALID_ARGUMENT},
      {"%y = f32[2] fusion(%x), kind=kLoop, calls=%e", "calls itself", 1, LEMNOS_INVALID_ARGUMENT},
      {"$ = f32[2] negate(%x)", "expected the name of an instruction", 3, LEMNOS_INVALID_ARGUMENT},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    arena *a = arena_create();
    char *text =
        arena_printf(a,
                     "HloModule m\nENTRY %%e {\n  %%x = f32[2,3]{1,0} parameter(0)\n  %%s = f32[] parameter(1)\n"
                     "  %s\n  %%z = f32[2,3]{1,0} negate(%%x)\n}\n",
                     cases[k].line);
    diag_sink sink;
    diag_sink_init(&sink, a);
    hlo_module *m = NULL;
    ASSERT_FAILS(hlo_parse(a, STRV("t.hlo"), strv_from_cstr(text), &sink, &m), cases[k].code, cases[k].message);
    ck_assert_ptr_null(m);
    ck_assert_msg(sink.items[0].loc->col == cases[k].col, "%s: column %d", cases[k].line, sink.items[0].loc->col);
    strbuf all = {0};
    diag_print(&sink, &all);
    ck_assert_msg(sink.n_errors == 1, "%s", all.data);
    strbuf_deinit(&all);
    diag_sink_deinit(&sink);
    arena_destroy(a);
  }
}
END_TEST

START_TEST(several_errors) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *m = NULL;
  const char *text =
      "HloModule m\n%c {\n  %p = q[] parameter(0)\n  ROOT %n = f32[] negate(%p)\n}\nENTRY %e {\n  %a = f32[] "
      "wrong()\n  %b = f32[] add(%a, %a)\n  %d = f32[] add(%a)\n  %f = f32[] add(%a, %g)\n";
  lemnos_status status = hlo_parse(a, STRV("t.hlo"), strv_from_cstr(text), &sink, &m);
  ck_assert_int_eq(lemnos_status_get_code(status), LEMNOS_INVALID_ARGUMENT);
  lemnos_status_free(status);
  strbuf out = {0};
  diag_print(&sink, &out);
  ck_assert_msg(sink.n_errors == 4, "%s",
                out.data);  // q, wrong, g, no closing brace; what uses a broken instruction is silent
  static const int lines[] = {3, 7, 10, 6};
  for (int k = 0; k < 4; k++) ck_assert_int_eq(sink.items[k].loc->line, lines[k]);
  ck_assert_msg(strstr(out.data, "t.hlo:3:8: error: unknown element type 'q'\n"), "%s", out.data);
  strbuf_deinit(&out);
  diag_sink_deinit(&sink);
  static const char *const whole[] = {
      "",
      "HloModule",
      "HloModule m",
      "HloModule m, a",
      "HloModule m\nENTRY",
      "HloModule m\n}",
      "HloModule m\nENTRY e {}",
      "HloModule m\n\n$$$$",
      "HloModule m\ne {\n%",
      "HloModule m, input_output_alias={ {0}: (9, {}) }\nENTRY e {\n c = f32[] constant(1)\n}"};
  for (size_t k = 0; k < sizeof whole / sizeof whole[0]; k++) {
    status = hlo_parse(a, STRV("t.hlo"), strv_from_cstr(whole[k]), NULL, &m);
    ck_assert_msg(status != NULL, "'%s' was accepted", whole[k]);
    lemnos_status_free(status);
  }
  arena_destroy(a);
}
END_TEST

// --- random instructions -------------------------------------------------------------------------

typedef struct maker {
  arena *arena;
  hlo_module *module;
  uint64_t state;
} maker;

static uint64_t next(maker *r) {
  return r->state = hash_u64(r->state, 77);
}
static int64_t below(maker *r, int64_t n) {
  return (int64_t)(next(r) % (uint64_t)n);
}
static int64_t number(maker *r) {
  return below(r, 5) ? below(r, 20) : (int64_t)next(r) >> below(r, 60);
}

static hlo_i64s ints(maker *r) {
  int n = (int)below(r, 4);
  int64_t *data = ARENA_ARRAY(r->arena, int64_t, n);
  for (int i = 0; i < n; i++) data[i] = number(r);
  return (hlo_i64s){data, n};
}

// A random permutation of 0..n-1.
static int64_t *permutation(maker *r, int n) {
  int64_t *p = ARENA_ARRAY(r->arena, int64_t, n + 1);
  for (int i = 0; i < n; i++) {
    int k = (int)below(r, i + 1);
    p[i] = p[k];
    p[k] = i;
  }
  return p;
}

static strv string(maker *r) {
  int n = (int)below(r, 12);
  char *s = arena_alloc(r->arena, (size_t)n + 1);
  for (int i = 0; i < n; i++) s[i] = (char)next(r);
  return (strv){s, (size_t)n};
}

static const hlo_shape *random_array(maker *r, bool is_static) {
  int64_t dims[4], bounds[4];
  int32_t layout[4];
  hlo_shape s = {.dtype = (hlo_dtype)below(r, HLO_TOKEN), .rank = (int32_t)below(r, 5), .dims = dims};
  const int64_t *order = permutation(r, s.rank);
  for (int i = 0; i < s.rank; i++) {
    dims[i] = below(r, 4);
    bounds[i] = HLO_DYNAMIC;
    layout[i] = (int32_t)order[i];
    if (is_static || below(r, 4)) continue;
    dims[i] = HLO_DYNAMIC;
    if (below(r, 2)) bounds[i] = below(r, 9), s.bounds = bounds;
  }
  if (!is_static && below(r, 2)) s.layout = layout;
  double scales[4] = {0.1, 1e-300, 3, 0.007812500001};
  int64_t zeros[4] = {0, -128, 5, 1};
  hlo_quant q = {.expressed = HLO_F32,
                 .storage_min = -7,
                 .storage_max = 100,
                 .axis = -1,
                 .n_scales = 1,
                 .scales = scales,
                 .zero_points = zeros};
  if (s.rank && dims[0] > 0 && below(r, 2)) q.axis = 0, q.n_scales = (int32_t)dims[0];
  if (!is_static && hlo_dtype_is_integer(s.dtype) && below(r, 2)) s.quant = &q;
  return hlo_shape_intern(r->module->shapes, &s);
}

static const hlo_shape *random_shape(maker *r, int depth) {
  if (depth == 3 || below(r, 4)) return below(r, 20) ? random_array(r, false) : hlo_shape_token(r->module->shapes);
  const hlo_shape *elements[3];
  int n = (int)below(r, 4);
  for (int i = 0; i < n; i++) elements[i] = random_shape(r, depth + 1);
  return hlo_shape_tuple(r->module->shapes, n, elements);
}

// Any bits that the type's memory form allows.
static void random_element(maker *r, hlo_dtype t, char *data) {
  uint64_t bits[2] = {next(r), next(r)};
  if (!below(r, 4)) bits[0] |= UINT64_C(0x7f800000) | UINT64_C(0x7ff) << 52 | 0x7c00;  // more NaNs
  memcpy(data, bits, (size_t)hlo_dtype_bytes(t));
  if (hlo_dtype_is_integer(t) || t == HLO_PRED)
    hlo_element_set_i64(t, data, 0, (int64_t)(t == HLO_PRED ? bits[0] & 1 : bits[0]));
  else if (hlo_dtype_table[t].bits < 8)
    data[0] = (char)(bits[0] & ((1u << hlo_dtype_table[t].bits) - 1));
}

static const hlo_literal *random_literal(maker *r, const hlo_shape *s) {
  size_t size = (size_t)hlo_dtype_bytes(s->dtype);
  char element[16];
  if (!below(r, 4)) {
    random_element(r, s->dtype, element);
    return hlo_literal_splat(r->arena, s, element);
  }
  hlo_literal *l;
  ASSERT_OK(hlo_literal_create(r->arena, s, &l));
  int64_t n = hlo_shape_elements(s);
  for (int64_t i = 0; i < n; i++) random_element(r, s->dtype, (char *)l->data + (size_t)i * size);
  return l;
}

static void random_lists(maker *r, hlo_attr_kind kind, void *field) {
  int n = (int)below(r, 4);
  if (kind == HLO_ATTR_KIND_window) {
    hlo_window_dim *d = ARENA_ARRAY(r->arena, hlo_window_dim, n);
    for (int i = 0; i < n; i++)
      d[i] = (hlo_window_dim){number(r),       1 + below(r, 2), number(r),       below(r, 2),
                              1 + below(r, 2), 1 + below(r, 2), below(r, 2) != 0};
    *(hlo_window *)field = (hlo_window){d, n};
  } else if (kind == HLO_ATTR_KIND_padding) {
    hlo_padding_dim *d = ARENA_ARRAY(r->arena, hlo_padding_dim, n);
    for (int i = 0; i < n; i++) d[i] = (hlo_padding_dim){number(r), number(r), below(r, 2)};
    *(hlo_padding *)field = (hlo_padding){d, n};
  } else if (kind == HLO_ATTR_KIND_slice) {
    int64_t *d = ARENA_ARRAY(r->arena, int64_t, 3 * n);
    for (int i = 0; i < 3 * n; i++) d[i] = number(r);
    *(hlo_slice *)field = (hlo_slice){d, d + n, d + 2 * n, n};
  } else if (kind == HLO_ATTR_KIND_precisions) {
    hlo_precision *d = ARENA_ARRAY(r->arena, hlo_precision, n);
    for (int i = 0; i < n; i++) d[i] = (hlo_precision)below(r, 3);
    *(hlo_precisions *)field = (hlo_precisions){d, n};
  } else if (kind == HLO_ATTR_KIND_groups) {
    int cols = (int)below(r, 4);
    int64_t *d = ARENA_ARRAY(r->arena, int64_t, n * cols);
    for (int i = 0; i < n * cols; i++) d[i] = below(r, 4) - 1;
    *(hlo_groups *)field = (hlo_groups){d, n, n ? cols : 0};
  } else if (kind == HLO_ATTR_KIND_pairs) {
    int64_t *d = ARENA_ARRAY(r->arena, int64_t, 2 * n);
    for (int i = 0; i < 2 * n; i++) d[i] = below(r, 100);
    *(hlo_pairs *)field = (hlo_pairs){d, n};
  } else if (kind == HLO_ATTR_KIND_dict) {
    hlo_dict_entry *d = ARENA_ARRAY(r->arena, hlo_dict_entry, n);
    for (int i = 0; i < n; i++) d[i] = (hlo_dict_entry){string(r), string(r), below(r, 2) != 0};
    *(hlo_dict *)field = (hlo_dict){d, n};
  }
}

static void random_dnums(maker *r, hlo_attr_kind kind, void *field) {
  if (kind == HLO_ATTR_KIND_dot_dnums) {
    *(hlo_dot_dnums *)field = (hlo_dot_dnums){ints(r), ints(r), ints(r), ints(r)};
  } else if (kind == HLO_ATTR_KIND_gather_dnums) {
    *(hlo_gather_dnums *)field = (hlo_gather_dnums){ints(r), ints(r), ints(r), ints(r), ints(r), number(r)};
  } else if (kind == HLO_ATTR_KIND_scatter_dnums) {
    *(hlo_scatter_dnums *)field = (hlo_scatter_dnums){ints(r), ints(r), ints(r), ints(r), ints(r), number(r)};
  } else if (kind == HLO_ATTR_KIND_conv_dnums) {
    int n = (int)below(r, 4) ? (int)below(r, 4) : (int)below(r, 36);
    int64_t *x = permutation(r, n + 2), *y = permutation(r, n + 2), *z = permutation(r, n + 2);
    *(hlo_conv_dnums *)field = (hlo_conv_dnums){x[0], x[1], {x + 2, n}, y[0], y[1], {y + 2, n}, z[0], z[1], {z + 2, n}};
  }
}

static void random_attr(maker *r, const hlo_attr_desc *d, void *field) {
  int value = 0;
  switch (d->kind) {
    case HLO_ATTR_KIND_i64: *(int64_t *)field = number(r); break;
    case HLO_ATTR_KIND_f64: random_element(r, HLO_F64, field); break;
    case HLO_ATTR_KIND_flag: *(bool *)field = below(r, 2) != 0; break;
    case HLO_ATTR_KIND_string: *(strv *)field = string(r); break;
    case HLO_ATTR_KIND_literal: *(const hlo_literal **)field = random_literal(r, random_array(r, true)); break;
    case HLO_ATTR_KIND_i64s:
      *(hlo_i64s *)field = ints(r);
      if (!strcmp(d->text_key, "output_to_operand_aliasing")) {
        int64_t *x = ARENA_ARRAY(r->arena, int64_t, 6);
        for (int i = 0; i < 6; i++) x[i] = below(r, 4) - (i % 3 == 2);
        *(hlo_i64s *)field = (hlo_i64s){x, below(r, 2) ? 6 : 0};
      }
      break;
    default:
      random_lists(r, d->kind, field);
      random_dnums(r, d->kind, field);
      if (!hlo_enum_name(d->kind, 0)) break;
      do value = (int)below(r, 8);
      while (!hlo_enum_name(d->kind, value));
#define CASE(kind_) \
  if (d->kind == HLO_ATTR_KIND_##kind_) *(hlo_attr_##kind_ *)field = (hlo_attr_##kind_)value;
      HLO_ENUMS(CASE)
#undef CASE
  }
}

static hlo_instr *random_instr(maker *r, hlo_computation *c, hlo_op op, hlo_computation *callee) {
  const hlo_op_info *info = &hlo_op_table[op];
  hlo_instr *operands[6];
  hlo_computation *called[3] = {callee, callee, callee};
  int n = info->min_operands + (info->max_operands < 0 ? (int)below(r, 3) : 0);
  for (int i = 0; i < n; i++) {
    operands[i] = c->first;
    for (int64_t steps = below(r, 9); steps && operands[i]->next; steps--) operands[i] = operands[i]->next;
  }
  const hlo_attr_list_info *list = &hlo_attr_list_table[info->attrs];
  char *attrs = hlo_attrs_create(r->arena, (hlo_attr_list)info->attrs);
  for (int i = 0; i < list->n; i++) random_attr(r, &list->descs[i], attrs + list->descs[i].offset);
  const hlo_shape *shape =
      op == HLO_OP_CONSTANT ? ((hlo_attrs_constant *)(void *)attrs)->value->shape : random_shape(r, 0);
  int n_called = info->n_called < 0 ? (int)below(r, 4) : info->n_called;
  return hlo_instr_create(c, NULL, op, shape, n, operands, n_called, called, attrs, NULL, string(r));
}

// Shows the place where two texts part: whole modules are too long for Check's messages.
static void check_same_text(const char *x, const char *y) {
  int at = 0, from = 0;
  for (; x[at] && x[at] == y[at]; at++)
    if (x[at] == '\n') from = at + 1;
  if (x[at] || y[at]) ck_abort_msg("at %d:\n%.500s\n%.500s", at - from, x + from, y + from);
}

START_TEST(every_op) {
  for (int round = 0; round < 60; round++) {
    arena *a = arena_create();
    maker r = {a, hlo_module_create(a, STRV("random")), (uint64_t)round};
    hlo_computation *callee = hlo_computation_create(r.module, STRV("callee"));
    hlo_computation *c = hlo_computation_create(r.module, STRV("main"));
    callee->root = random_instr(&r, callee, HLO_OP_CREATE_TOKEN, NULL);
    r.module->entry = c;
    hlo_instr *p = random_instr(&r, c, HLO_OP_CREATE_TOKEN, NULL);
    for (int op = 0; op < HLO_OP_COUNT; op++)
      if (op != HLO_OP_PARAMETER) p = random_instr(&r, c, (hlo_op)op, callee);
    c->root = p;
    char *text = print(a, r.module, false);
    hlo_module *again = parse(a, text);
    const char *why = "";
    check_same_text(print(a, again, false), text);
    ck_assert_msg(hlo_module_equal(r.module, again, &why), "differs: %s", why);
    arena *b = arena_create();
    hlo_module *copy = hlo_module_clone(again, b);
    ck_assert_msg(hlo_module_equal(r.module, copy, &why), "clone differs: %s", why);
    for (hlo_instr *x = c->first, *y = copy->entry->first; x; x = x->next, y = y->next) {
      hlo_attr_list list = (hlo_attr_list)hlo_op_table[x->op].attrs;
      ASSERT_QUICK(hlo_attrs_hash(list, x->attrs) == hlo_attrs_hash(list, y->attrs));
    }
    arena_destroy(b);
    arena_destroy(a);
  }
}
END_TEST

// Damaged texts must end in a status, whatever it is.
START_TEST(damaged) {
  static const char base[] =
      "HloModule m, input_output_alias={ {0}: (0, {}, may-alias) }\n%f (a: f32[]) -> f32[] {\n  ROOT %a = f32[] "
      "parameter(0)\n}\nENTRY %e (x: f32[2,3]) -> f32[2,3] {\n  %x = f32[2,3]{1,0} parameter(0)\n  %c = c64[1,2]{1,0} "
      "constant({ {(1, nan(0x1)), (2, -inf)} })\n  %w = f32[2,3]{1,0} convolution(%x, %x), window={size=3x3 "
      "pad=1_1x0_2}, "
      "dim_labels=b01f_01io->b01f, metadata={op_name=\"a\\n\" source_line=3}\n  %g = f32[2,3]{1,0} all-gather(%x), "
      "replica_groups=[2,4]<=[4,2]T(1,0), dimensions={0}\n  %q = s8[2,3]{1,0}!quant(f32,-128:127,axis=0,{0.5:3,1:0}) "
      "uniform-quantize(%x)\n  ROOT %s = f32[1,3]{1,0} slice(%x), slice={[0:1:1], [0:3]}\n}\n";
  maker r = {.state = 1};
  for (int k = 0; k < 20000; k++) {
    char text[sizeof base];
    memcpy(text, base, sizeof base);
    size_t len = sizeof base - 1;
    for (int64_t edits = 1 + below(&r, 3); edits; edits--) {
      size_t at = (size_t)below(&r, (int64_t)len);
      switch (below(&r, 3)) {
        case 0: text[at] = "{}()[],=%-0<\"!?\n"[below(&r, 16)]; break;
        case 1: memmove(text + at, text + at + 1, len - at - 1), len--; break;
        default: len = below(&r, 8) ? len : at + 1; break;
      }
    }
    arena *a = arena_create();
    hlo_module *m;
    char *exact = memcpy(heap_alloc(len), text, len);  // so that a sanitizer sees a read behind the end
    lemnos_status status = hlo_parse(a, STRV("t"), (strv){exact, len}, NULL, &m);
    if (!status) (void)print(a, m, true);
    free(exact);
    lemnos_status_free(status);
    arena_destroy(a);
  }
}
END_TEST

HARNESS_MAIN("hlo_text", canonical_control, canonical_data, foreign_spellings, locations, bad_lines, several_errors,
             every_op, damaged)
