// SPDX-License-Identifier: Apache-2.0
// The frame of a module: parameters, arrays, the grid's folding, execution modes; and the helpers that all handlers
// share.
#include "backend-spirv/spirv_emit_internal.h"

void spirv_emit_fail(spirv_emitter *e, const char *format, ...) {
  if (e->status) return;
  va_list args;
  va_start(args, format);
  e->status = lemnos_status_makev(LEMNOS_UNIMPLEMENTED, format, args);
  va_end(args);
}

// --- types and constants -------------------------------------------------------------------------

spirv_id spirv_emit_scalar_type(spirv_emitter *e, kernel_scalar s) {
  int bits = kernel_scalar_table[s].bits;
  switch (s) {
    case KERNEL_I1: return spirv_type_bool(&e->w);
    case KERNEL_I8:
    case KERNEL_I16:
    case KERNEL_I32:
    case KERNEL_I64: return spirv_type_int(&e->w, bits);
    case KERNEL_F16:
    case KERNEL_F32:
    case KERNEL_F64: e->uses_float[bits == 16 ? 0 : bits == 32 ? 1 : 2] = true; return spirv_type_float(&e->w, bits);
    default:
      spirv_emit_fail(e, "no SPIR-V for values of type %s", kernel_scalar_table[s].name);
      return spirv_type_int(&e->w, 32);
  }
}

spirv_id spirv_emit_type(spirv_emitter *e, kernel_type t) {
  if (t.lanes > 4) spirv_emit_fail(e, "no SPIR-V for vectors of %d lanes", t.lanes);
  return spirv_type_vector(&e->w, spirv_emit_scalar_type(e, (kernel_scalar)t.scalar), t.lanes);
}

static spirv_id splat_constant(spirv_emitter *e, kernel_type t, spirv_id scalar) {
  if (t.lanes == 1) return scalar;
  spirv_id parts[4] = {scalar, scalar, scalar, scalar};
  if (t.lanes > 4) return spirv_emit_type(e, t);  // fails
  return spirv_const_composite(&e->w, spirv_emit_type(e, t), t.lanes, parts);
}

spirv_id spirv_emit_int(spirv_emitter *e, kernel_type t, int64_t x) {
  spirv_id scalar = t.scalar == KERNEL_I1 ? spirv_const_bool(&e->w, x & 1) : spirv_const_int(&e->w, spirv_bits(t), x);
  return splat_constant(e, t, scalar);
}

spirv_id spirv_emit_float(spirv_emitter *e, kernel_type t, double x) {
  spirv_emit_scalar_type(e, (kernel_scalar)t.scalar);
  return splat_constant(e, t, spirv_const_float(&e->w, spirv_bits(t), x));
}

// --- operations ----------------------------------------------------------------------------------

spirv_id spirv_u1(spirv_emitter *e, SpvOp op, kernel_type result, spirv_id a) {
  return spirv_op(&e->w, op, spirv_emit_type(e, result), 1, &a);
}

spirv_id spirv_u2(spirv_emitter *e, SpvOp op, kernel_type result, spirv_id a, spirv_id b) {
  uint32_t words[] = {a, b};
  return spirv_op(&e->w, op, spirv_emit_type(e, result), 2, words);
}

spirv_id spirv_select(spirv_emitter *e, kernel_type t, spirv_id cond, spirv_id a, spirv_id b) {
  uint32_t words[] = {cond, a, b};
  return spirv_op(&e->w, SpvOpSelect, spirv_emit_type(e, t), 3, words);
}

spirv_id spirv_math1(spirv_emitter *e, enum GLSLstd450 inst, kernel_type t, spirv_id a) {
  return spirv_glsl(&e->w, inst, spirv_emit_type(e, t), 1, &a);
}

spirv_id spirv_math2(spirv_emitter *e, enum GLSLstd450 inst, kernel_type t, spirv_id a, spirv_id b) {
  spirv_id operands[] = {a, b};
  return spirv_glsl(&e->w, inst, spirv_emit_type(e, t), 2, operands);
}

spirv_id spirv_gather(spirv_emitter *e, kernel_type vector, const spirv_id *lanes) {
  if (vector.lanes == 1) return lanes[0];
  return spirv_op(&e->w, SpvOpCompositeConstruct, spirv_emit_type(e, vector), vector.lanes, lanes);
}

spirv_id spirv_splat(spirv_emitter *e, kernel_type t, spirv_id scalar) {
  spirv_id lanes[4] = {scalar, scalar, scalar, scalar};
  if (t.lanes > 4) return spirv_emit_type(e, t);  // fails
  return spirv_gather(e, t, lanes);
}

spirv_id spirv_extract(spirv_emitter *e, kernel_type vector, spirv_id v, int lane) {
  if (vector.lanes == 1) return v;
  uint32_t words[] = {v, (uint32_t)lane};
  return spirv_op(&e->w, SpvOpCompositeExtract, spirv_emit_type(e, spirv_scalar_of(vector)), 2, words);
}

void spirv_exact(spirv_emitter *e, spirv_id result) {
  spirv_writer_decorate(&e->w, result, SpvDecorationNoContraction, 0, NULL);
}

// --- parameters ----------------------------------------------------------------------------------

spirv_caps spirv_caps_minimum(void) {
  return (spirv_caps){.descriptor_range = (int64_t)1 << 27,
                      .descriptors = 4,
                      .descriptor_align = 256,
                      .push_bytes = 128,
                      .max_local_x = 128};
}

// Which parameters are bound and which addressed, and where the push constants lie.
static void plan_params(spirv_emitter *e) {
  const kernel *k = e->k;
  spirv_kernel_info *info = e->info;
  if (k->n_params > SPIRV_MAX_PARAMS) return spirv_emit_fail(e, "more than %d parameters", SPIRV_MAX_PARAMS);
  info->n_params = (uint32_t)k->n_params;
  for (int p = 0; p < k->n_params; p++) {
    const kernel_param *q = &k->params[p];
    spirv_param_info *i = &info->params[p];
    i->elem_bytes = kernel_scalar_table[q->elem].bytes;
    i->written = !q->readonly;
    i->addressed =
        q->n_elems > e->caps->descriptor_range / i->elem_bytes || (int)info->n_bindings >= e->caps->descriptors;
    if (i->addressed && !e->caps->physical_storage)
      return spirv_emit_fail(e, "parameter %d: %lld bytes, and the device binds at most %d buffers of %lld bytes", p,
                             (long long)q->n_elems * i->elem_bytes, e->caps->descriptors,
                             (long long)e->caps->descriptor_range);
    i->binding = i->addressed ? -1 : (int16_t)info->n_bindings++;
    if (i->addressed) i->push_offset = (uint16_t)info->push_bytes, info->push_bytes += 8;
    i->offset_pushed = !i->addressed && q->align % e->caps->descriptor_align != 0;
  }
  for (int p = 0; p < k->n_params; p++)
    if (info->params[p].offset_pushed) info->params[p].push_offset = (uint16_t)info->push_bytes, info->push_bytes += 4;
  if ((int)info->push_bytes > e->caps->push_bytes)
    spirv_emit_fail(e, "%u bytes of push constants for addresses and offsets, the device has %d", info->push_bytes,
                    e->caps->push_bytes);
}

static void declare_push_constants(spirv_emitter *e) {
  spirv_id members[SPIRV_MAX_PARAMS];
  uint32_t offsets[SPIRV_MAX_PARAMS], n = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int p = 0; p < e->k->n_params; p++) {
      const spirv_param_info *i = &e->info->params[p];
      if (!(pass ? i->offset_pushed : i->addressed)) continue;
      if (!pass) {
        spirv_id elem = spirv_emit_scalar_type(e, e->k->params[p].elem);
        spirv_id block = spirv_type_buffer(&e->w, elem, i->elem_bytes);
        e->push_types[p] = spirv_type_pointer(&e->w, SpvStorageClassPhysicalStorageBuffer, block);
        e->w.physical = true;
      }
      e->push_members[p] = spirv_const_u32(&e->w, n);
      members[n] = pass ? spirv_type_int(&e->w, 32) : e->push_types[p];
      offsets[n++] = i->push_offset;
    }
  if (!n) return;
  spirv_id block = spirv_type_struct(&e->w, (int)n, members);
  spirv_writer_decorate(&e->w, block, SpvDecorationBlock, 0, NULL);
  for (uint32_t m = 0; m < n; m++) spirv_writer_decorate_member(&e->w, block, m, SpvDecorationOffset, 1, &offsets[m]);
  e->push = spirv_variable(&e->w, SpvStorageClassPushConstant, block);
  if (!e->w.physical) return;
  spirv_writer_capability(&e->w, SpvCapabilityPhysicalStorageBufferAddresses);
  spirv_writer_extension(&e->w, "SPV_KHR_physical_storage_buffer");
}

static void load_offsets(spirv_emitter *e) {
  kernel_type word = kernel_type_make(KERNEL_I32, 1), index = kernel_type_make(e->k->index, 1);
  for (int p = 0; p < e->k->n_params; p++) {
    if (!e->info->params[p].offset_pushed) continue;
    uint32_t chain[] = {e->push, e->push_members[p]};
    spirv_id type = spirv_type_pointer(&e->w, SpvStorageClassPushConstant, spirv_emit_type(e, word));
    spirv_id v = spirv_u1(e, SpvOpLoad, word, spirv_op(&e->w, SpvOpAccessChain, type, 2, chain));
    e->params[p].offset = index.scalar == KERNEL_I64 ? spirv_u1(e, SpvOpUConvert, index, v) : v;
  }
}

static void declare_arrays(spirv_emitter *e) {
  int64_t shared = 0;
  e->arrays = heap_alloc(sizeof *e->arrays * (size_t)(e->k->arrays.len + 1));
  for (int a = 0; a < e->k->arrays.len; a++) {
    const kernel_array *q = &e->k->arrays.data[a];
    int lanes = q->lanes < 1 ? 1 : q->lanes;
    if (lanes > 4) return spirv_emit_fail(e, "no SPIR-V for arrays of %d lanes", lanes);
    int64_t n = (q->n_elems + lanes - 1) / lanes, bytes = n * lanes * kernel_scalar_table[q->elem].bytes;
    if (n < 1) n = 1;
    if (q->space == KERNEL_SHARED)
      shared += (bytes + 15) & ~(int64_t)15;
    else if (bytes > 1 << 20)
      return spirv_emit_fail(e, "a private array of %lld bytes", (long long)bytes);
    if (shared > e->t->shared_bytes)
      return spirv_emit_fail(e, "%lld bytes of shared arrays, the device has %lld", (long long)shared,
                             (long long)e->t->shared_bytes);
    spirv_id elem = spirv_type_vector(&e->w, spirv_emit_scalar_type(e, q->elem), lanes);
    e->arrays[a] = spirv_variable(&e->w, q->space == KERNEL_SHARED ? SpvStorageClassWorkgroup : SpvStorageClassFunction,
                                  spirv_type_array(&e->w, elem, (uint32_t)n));
  }
}

// --- the grid ------------------------------------------------------------------------------------

// Invocations a workgroup for a kernel without groups of its own.
static uint32_t choose_local(const hlo_target *t, int64_t grid) {
  int64_t local = t->elementwise_workgroup > 0 ? t->elementwise_workgroup : 64;
  if (t->max_workgroup > 0 && local > t->max_workgroup) local = t->max_workgroup;
  int64_t least = t->subgroup > 0 ? t->subgroup : 1;
  // A software driver deals out whole workgroups to its threads: small grids are cut finer.
  int64_t want = t->cls == HLO_TARGET_CPU_LIKE ? 2 * (t->threads > 0 ? t->threads : 2) : 1;
  while (local / 2 >= least && grid < local * want) local /= 2;
  return (uint32_t)local;
}

// groups -> x * y * z >= groups with each in its limit, exact where a small y or z divides. False: too many.
static bool fold(int64_t groups, const int64_t limit[3], uint32_t out[3]) {
  if (groups <= limit[0]) {
    out[0] = (uint32_t)groups, out[1] = out[2] = 1;
    return true;
  }
  int64_t y = (groups + limit[0] - 1) / limit[0];
  for (int64_t exact = y; exact < y + 64 && exact <= limit[1]; exact++)
    if (groups % exact == 0) {
      out[0] = (uint32_t)(groups / exact), out[1] = (uint32_t)exact, out[2] = 1;
      return true;
    }
  int64_t z = (y + limit[1] - 1) / limit[1];
  y = (y + z - 1) / z;
  int64_t x = (groups + y * z - 1) / (y * z);
  out[0] = (uint32_t)x, out[1] = (uint32_t)y, out[2] = (uint32_t)z;
  return z <= limit[2];
}

static void plan_grid(spirv_emitter *e, bool *inexact) {
  const kernel *k = e->k;
  spirv_kernel_info *info = e->info;
  int64_t limit[3];
  for (int d = 0; d < 3; d++) limit[d] = e->t->max_groups[d] > 0 ? e->t->max_groups[d] : 65535;
  info->local = k->workgroup ? (uint32_t)k->workgroup : choose_local(e->t, k->grid);
  if (e->caps->max_local_x > 0 && (int64_t)info->local > e->caps->max_local_x) {
    if (k->workgroup)
      return spirv_emit_fail(e, "a workgroup of %u, the device takes %d", info->local, e->caps->max_local_x);
    info->local = (uint32_t)e->caps->max_local_x;
  }
  int64_t groups = k->grid / info->local + (k->grid % info->local != 0);
  if (!fold(groups, limit, info->groups))
    return spirv_emit_fail(e, "a grid of %lld items in workgroups of %u is more than the device launches at once",
                           (long long)k->grid, info->local);
  *inexact = (int64_t)info->groups[0] * info->groups[1] * info->groups[2] * info->local != k->grid;
}

static spirv_id builtin(spirv_emitter *e, SpvBuiltIn which, spirv_id type) {
  spirv_id v = spirv_variable(&e->w, SpvStorageClassInput, type);
  uint32_t word = which;
  spirv_writer_decorate(&e->w, v, SpvDecorationBuiltIn, 1, &word);
  return spirv_op(&e->w, SpvOpLoad, type, 1, &v);
}

// item = (z * ny + y) * nx + x workgroups, times the local size, plus the local index; all in the index type.
static void emit_item(spirv_emitter *e) {
  kernel_type index = kernel_type_make(e->k->index, 1), words = kernel_type_make(KERNEL_I32, 4);
  words.lanes = 3;
  spirv_id type3 = spirv_type_vector(&e->w, spirv_type_int(&e->w, 32), 3);
  spirv_id group = builtin(e, SpvBuiltInWorkgroupId, type3), local = builtin(e, SpvBuiltInLocalInvocationId, type3);
  spirv_id id[3];
  for (int d = 0; d < 3; d++) {
    id[d] = e->info->groups[d] > 1 || d == 0 ? spirv_extract(e, words, group, d) : 0;
    if (id[d] && index.scalar == KERNEL_I64) id[d] = spirv_u1(e, SpvOpUConvert, index, id[d]);
  }
  spirv_id g = id[2];
  if (id[1])
    g = g ? spirv_u2(e, SpvOpIAdd, index,
                     spirv_u2(e, SpvOpIMul, index, g, spirv_emit_int(e, index, e->info->groups[1])), id[1])
          : id[1];
  e->group = g ? spirv_u2(e, SpvOpIAdd, index,
                          spirv_u2(e, SpvOpIMul, index, g, spirv_emit_int(e, index, e->info->groups[0])), id[0])
               : id[0];
  e->local = spirv_extract(e, words, local, 0);
  if (index.scalar == KERNEL_I64) e->local = spirv_u1(e, SpvOpUConvert, index, e->local);
  spirv_id base = spirv_u2(e, SpvOpIMul, index, e->group, spirv_emit_int(e, index, e->info->local));
  e->item = spirv_u2(e, SpvOpIAdd, index, base, e->local);
}

// --- execution modes -----------------------------------------------------------------------------

static void float_mode(spirv_emitter *e, SpvExecutionMode mode, SpvCapability cap, const bool allowed[3],
                       bool independent) {
  bool all = true;
  for (int f = 0; f < 3; f++) all &= allowed[f] || !e->uses_float[f];
  if (!independent && !all) return;  // one setting for all widths, or none
  for (int f = 0; f < 3; f++) {
    if (!e->uses_float[f] || !allowed[f]) continue;
    uint32_t width = 16u << f;
    spirv_writer_capability(&e->w, cap);
    spirv_writer_extension(&e->w, "SPV_KHR_float_controls");
    spirv_writer_mode(&e->w, mode, 1, &width);
  }
}

static void execution_modes(spirv_emitter *e) {
  uint32_t size[] = {e->info->local, 1, 1};
  spirv_writer_mode(&e->w, SpvExecutionModeLocalSize, 3, size);
  const spirv_caps *c = e->caps;
  if (!c->float_controls) return;
  float_mode(e, SpvExecutionModeSignedZeroInfNanPreserve, SpvCapabilitySignedZeroInfNanPreserve, c->preserve_inf_nan,
             true);
  float_mode(e, SpvExecutionModeDenormPreserve, SpvCapabilityDenormPreserve, c->preserve_denorms,
             c->denorm_independent);
  float_mode(e, SpvExecutionModeRoundingModeRTE, SpvCapabilityRoundingModeRTE, c->round_even, c->rounding_independent);
}

// --- the kernel ----------------------------------------------------------------------------------

static void emit_body(spirv_emitter *e, bool inexact) {
  emit_item(e);
  load_offsets(e);
  if (!inexact) {
    spirv_emit_block(e, e->k->body);
  } else {
    kernel_type index = kernel_type_make(e->k->index, 1), cond = kernel_type_make(KERNEL_I1, 1);
    spirv_id inside = spirv_writer_id(&e->w), merge = spirv_writer_id(&e->w);
    uint32_t words[] = {merge, SpvSelectionControlMaskNone};
    // Group kernels test the group: the test is uniform, so that barriers stay legal.
    int64_t bound = e->k->workgroup ? e->k->grid / e->k->workgroup : e->k->grid;
    spirv_id test =
        spirv_u2(e, SpvOpULessThan, cond, e->k->workgroup ? e->group : e->item, spirv_emit_int(e, index, bound));
    spirv_op_void(&e->w, SpvOpSelectionMerge, 2, words);
    spirv_branch_if(e, test, inside, merge);
    spirv_begin_block(e, inside);
    spirv_emit_block(e, e->k->body);
    spirv_branch(e, merge);
    spirv_begin_block(e, merge);
  }
  spirv_op_void(&e->w, SpvOpReturn, 0, NULL);
}

static void emit_all(spirv_emitter *e) {
  bool inexact = false;
  plan_params(e);
  if (!e->status) plan_grid(e, &inexact);
  if (e->status) return;
  spirv_writer_capability(&e->w, SpvCapabilityShader);
  // The entry block opens main: its label is written by the writer, local variables stand at its head.
  spirv_id start = spirv_writer_id(&e->w);
  declare_push_constants(e);
  declare_arrays(e);
  spirv_branch(e, start);
  spirv_begin_block(e, start);
  if (!e->status) emit_body(e, inexact);
  if (e->uses_subgroup) e->info->subgroup = (uint32_t)e->t->subgroup;
  execution_modes(e);
}

lemnos_status spirv_emit_kernel(const kernel *k, const hlo_target *t, const spirv_caps *caps, spirv_kernel_info *info,
                                spirv_words *words) {
  *info = (spirv_kernel_info){0};
  spirv_emitter *e = heap_alloc(sizeof *e);
  *e = (spirv_emitter){.k = k, .t = t, .caps = caps, .info = info};
  e->values = heap_alloc(sizeof *e->values * ((size_t)k->next_id + 1));
  for (int q = 0; q < SPIRV_LANES_LOG2_MAX; q++)
    e->quotients[q] = heap_alloc(sizeof *e->values * ((size_t)k->next_id + 1));
  spirv_writer_init(&e->w);
  emit_all(e);
  if (!e->status) spirv_writer_finish(&e->w, words);
  lemnos_status status = e->status;
  spirv_writer_deinit(&e->w);
  free(e->values);
  for (int q = 0; q < SPIRV_LANES_LOG2_MAX; q++) free(e->quotients[q]);
  vec_deinit(&e->quotient_log);
  free(e->arrays);
  free(e);
  return lemnos_status_annotate(status, "kernel " STRV_FMT, STRV_ARG(k->name));
}
