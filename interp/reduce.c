// SPDX-License-Identifier: Apache-2.0
// reduce, map and scan.
//
// reduce folds in row-major order of the reduced dimensions, starting from the init value, for a block of outputs at a
// time (lanes): the k-th elements of all outputs of the block are gathered, then folded in one typed loop. Few outputs
// over many elements: the range is cut into a number of consecutive chunks fixed by its size, which are the lanes, and
// the chunks are then folded in order (the specification leaves the association open; the order stays, but for
// commutative operations over contiguous elements, whose lanes are interleaved).
#include "interp/interp_internal.h"

#define CHUNKED_MIN 8192
#define CHUNKS 256

typedef struct reduce_job {
  const interp_fold *f;
  interp_ctx *cx;
  int n_kept, n_reduced;
  int64_t kept_dims[INTERP_MAX_RANK], kept_strides[INTERP_MAX_RANK];
  int64_t reduced_dims[INTERP_MAX_RANK], reduced_strides[INTERP_MAX_RANK];
  int64_t outputs, count;
  interp_fold_arrays a;
  int64_t lanes;          // at most INTERP_LANES
  char **scratch;         // per worker
  lemnos_status *status;  // per worker, first failure
} reduce_job;

static int64_t offset_of(int64_t index, int n, const int64_t *dims, const int64_t *strides) {
  int64_t at = 0;
  for (int d = n - 1; d >= 0; d--) {
    at += index % dims[d] * strides[d];
    index /= dims[d];
  }
  return at;
}

// A worker's scratch: the fold's lanes, its initial values (16 bytes each) and their addresses, then offsets.
static size_t scratch_bytes(const interp_fold *f, int64_t n) {
  return interp_fold_lanes_bytes(f, n) + (size_t)f->n * (16 + sizeof(void *)) + (size_t)n * sizeof(int64_t);
}

typedef struct lanes {
  interp_fold_lanes f;
  char *totals;
  void **total_at;
  int64_t *offsets;
} lanes;

static lanes lanes_at(const interp_fold *f, char *scratch, int64_t n) {
  lanes l = {.f = interp_fold_lanes_at(f, scratch, n), .totals = scratch + interp_fold_lanes_bytes(f, n)};
  l.total_at = (void **)(l.totals + (size_t)f->n * 16);
  l.offsets = (int64_t *)(l.total_at + f->n);
  for (int k = 0; k < f->n; k++) l.total_at[k] = l.totals + 16 * k;
  return l;
}

// offsets evenly spaced? Then *stride is the spacing.
static bool even(const int64_t *offsets, int64_t n, int64_t *stride) {
  *stride = n > 1 ? offsets[1] - offsets[0] : 1;
  for (int64_t k = 2; k < n; k++)
    if (offsets[k] - offsets[k - 1] != *stride) return false;
  return true;
}

static void gather(const int64_t *offsets, int64_t n, bool is_even, int64_t stride, int bytes, const char *in,
                   char *out) {
  if (is_even) return interp_copy_line(n, bytes, out, 1, in + offsets[0] * bytes, stride);
  switch (bytes) {
    case 1:
      for (int64_t k = 0; k < n; k++) out[k] = in[offsets[k]];
      break;
    case 4:
      for (int64_t k = 0; k < n; k++) memcpy(out + 4 * k, in + 4 * offsets[k], 4);
      break;
    default:
      for (int64_t k = 0; k < n; k++) memcpy(out + bytes * k, in + bytes * offsets[k], (size_t)bytes);
      break;
  }
}

static lemnos_status reduce_block(const reduce_job *j, int64_t begin, int64_t n, char *scratch) {
  const interp_fold *f = j->f;
  lanes l = lanes_at(f, scratch, j->lanes);
  char one[16];
  for (int64_t k = 0; k < n; k++) l.offsets[k] = offset_of(begin + k, j->n_kept, j->kept_dims, j->kept_strides);
  int64_t stride;
  bool is_even = even(l.offsets, n, &stride);
  for (int k = 0; k < f->n; k++) {
    interp_fold_widen(f, k, 1, j->a.init[k], one);
    interp_fill(l.f.acc[k], one, hlo_dtype_bytes(f->acc_types[k]), n);
  }
  int64_t index[INTERP_MAX_RANK] = {0}, at = 0;
  for (int64_t r = 0; r < j->count; r++) {
    const void **x = l.f.at;
    for (int k = 0; k < f->n; k++) {
      const char *base = j->a.in[k] + at * j->a.bytes[k];
      if (is_even && stride == 1) {
        x[k] = base + l.offsets[0] * j->a.bytes[k];
      } else {
        gather(l.offsets, n, is_even, stride, j->a.bytes[k], base, l.f.x[k]);
        x[k] = l.f.x[k];
      }
    }
    LEMNOS_TRY(interp_fold_step(f, j->cx, l.f.fold, n, x, (void *const *)l.f.acc));
    for (int d = j->n_reduced - 1; d >= 0; d--) {
      at += j->reduced_strides[d];
      if (++index[d] < j->reduced_dims[d]) break;
      at -= index[d] * j->reduced_strides[d];
      index[d] = 0;
    }
  }
  for (int k = 0; k < f->n; k++) interp_fold_narrow(f, k, n, l.f.acc[k], j->a.out[k] + begin * j->a.bytes[k]);
  return LEMNOS_SUCCESS;
}

// One output: lane i folds elements [i * size, (i + 1) * size) of the range, without the init value.
static lemnos_status reduce_chunked(const reduce_job *j, int64_t output, char *scratch) {
  const interp_fold *f = j->f;
  lanes l = lanes_at(f, scratch, j->lanes);
  int64_t base = offset_of(output, j->n_kept, j->kept_dims, j->kept_strides);
  int64_t n = CHUNKS, size = j->count / n, rest = j->count - size * n;
  bool linear = j->n_reduced == 1;
  // Contiguous elements under a commutative operation: lane i may as well take every n-th element.
  bool across = linear && j->reduced_strides[0] == 1 && f->fn && hlo_op_has(f->op, HLO_TRAIT_C);
  const void **x = l.f.at;
  for (int64_t r = 0; r < size && across; r++) {
    x[0] = j->a.in[0] + (base + r * n) * j->a.bytes[0];
    if (r == 0)
      interp_fold_widen(f, 0, n, x[0], l.f.acc[0]);
    else
      LEMNOS_TRY(interp_fold_step(f, j->cx, l.f.fold, n, x, (void *const *)l.f.acc));
  }
  for (int64_t r = 0; r < size && !across; r++) {
    for (int64_t k = 0; k < n; k++) {
      int64_t e = k * size + r;
      l.offsets[k] =
          base + (linear ? e * j->reduced_strides[0] : offset_of(e, j->n_reduced, j->reduced_dims, j->reduced_strides));
    }
    for (int k = 0; k < f->n; k++) {
      gather(l.offsets, n, linear, linear ? size * j->reduced_strides[0] : 0, j->a.bytes[k], j->a.in[k], l.f.x[k]);
      if (r == 0) interp_fold_widen(f, k, n, l.f.x[k], l.f.acc[k]);
      x[k] = l.f.x[k];
    }
    if (r > 0) LEMNOS_TRY(interp_fold_step(f, j->cx, l.f.fold, n, x, (void *const *)l.f.acc));
  }
  // The lanes in order, behind the init value. acc of a wide fold is f64: fold those with the wide loop itself.
  for (int k = 0; k < f->n; k++) interp_fold_widen(f, k, 1, j->a.init[k], l.total_at[k]);
  interp_fold plain = *f;
  plain.wide = false;
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < f->n; k++) x[k] = l.f.acc[k] + i * hlo_dtype_bytes(f->acc_types[k]);
    LEMNOS_TRY(interp_fold_step(&plain, j->cx, l.f.fold, 1, x, l.total_at));
  }
  for (int64_t e = j->count - rest; e < j->count; e++) {
    int64_t at = base + offset_of(e, j->n_reduced, j->reduced_dims, j->reduced_strides);
    for (int k = 0; k < f->n; k++) x[k] = j->a.in[k] + at * j->a.bytes[k];
    LEMNOS_TRY(interp_fold_step(f, j->cx, l.f.fold, 1, x, l.total_at));
  }
  for (int k = 0; k < f->n; k++) interp_fold_narrow(f, k, 1, l.total_at[k], j->a.out[k] + output * j->a.bytes[k]);
  return LEMNOS_SUCCESS;
}

static void reduce_range(void *ctx, int64_t begin, int64_t end, int worker) {
  reduce_job *j = ctx;
  for (int64_t at = begin; at < end && !j->status[worker]; at += j->lanes)
    j->status[worker] = reduce_block(j, at, end - at < j->lanes ? end - at : j->lanes, j->scratch[worker]);
}

// Drops dimensions of size 1 and merges neighbours that are contiguous.
static int coalesce(int n, int64_t *dims, int64_t *strides) {
  int r = 0;
  for (int d = 0; d < n; d++) {
    if (dims[d] == 1) continue;
    if (r > 0 && strides[r - 1] == strides[d] * dims[d]) {
      dims[r - 1] *= dims[d];
      strides[r - 1] = strides[d];
    } else {
      dims[r] = dims[d];
      strides[r++] = strides[d];
    }
  }
  return r;
}

static lemnos_status run_reduce(interp_call *c) {
  const interp_fold *f = c->in->aux;
  reduce_job j = {.cx = c->cx, .outputs = 1, .count = 1};
  const interp_array *first = interp_arg(c, 0);
  hlo_i64s dims = HLO_ATTRS(c->in->src, dimensions)->dimensions;
  int64_t strides[INTERP_MAX_RANK];
  interp_strides(first, strides);
  for (int d = 0; d < first->rank; d++) {
    bool reduced = hlo_i64s_contains(dims, d);
    int at = reduced ? j.n_reduced++ : j.n_kept++;
    (reduced ? j.reduced_dims : j.kept_dims)[at] = first->dims[d];
    (reduced ? j.reduced_strides : j.kept_strides)[at] = strides[d];
    *(reduced ? &j.count : &j.outputs) *= first->dims[d];
  }
  if (j.outputs == 0) return LEMNOS_SUCCESS;
  j.f = f = interp_fold_for(f, j.count);
  if (j.count) j.n_reduced = coalesce(j.n_reduced, j.reduced_dims, j.reduced_strides);
  j.n_kept = coalesce(j.n_kept, j.kept_dims, j.kept_strides);
  if (!interp_fold_arrays_init(c, f, &j.a)) return interp_scratch_failed(c);
  bool parallel = !f->region || interp_region_is_lanes(f->region);
  bool chunked = j.outputs <= 16 && j.count >= CHUNKED_MIN && parallel;
  int64_t grain = INTERP_GRAIN / (j.count + 1) + 1;
  if (grain > 64) grain = (grain + INTERP_LANES - 1) / INTERP_LANES * INTERP_LANES;
  if (!parallel || !c->cx->pool || chunked) grain = j.outputs;
  j.lanes = grain < j.outputs ? grain : j.outputs;
  if (j.lanes > INTERP_LANES) j.lanes = INTERP_LANES;
  if (chunked) j.lanes = CHUNKS;
  int workers = interp_workers(c->cx, j.outputs, grain);
  j.status = interp_scratch(c->cx, sizeof *j.status * (size_t)workers);
  j.scratch = interp_worker_blocks(c->cx, workers, scratch_bytes(f, j.lanes));
  if (!j.status || !j.scratch) return interp_scratch_failed(c);
  for (int t = 0; t < workers; t++) j.status[t] = LEMNOS_SUCCESS;
  if (chunked) {
    for (int64_t o = 0; o < j.outputs; o++) LEMNOS_TRY(reduce_chunked(&j, o, j.scratch[0]));
    return LEMNOS_SUCCESS;
  }
  interp_parallel(c->cx, j.outputs, grain, reduce_range, &j);
  lemnos_status s = LEMNOS_SUCCESS;
  for (int t = 0; t < workers; t++) {
    if (!s)
      s = j.status[t];
    else
      lemnos_status_free(j.status[t]);
  }
  return s;
}

static lemnos_status compile_reduce(interp_compiler *c, interp_insn *in) {
  int n = in->n_args / 2;
  interp_fold *f;
  LEMNOS_TRY(interp_fold_compile(c, in->src->called[0], n, in->arg_types, &f));
  in->aux = f;
  in->fn = run_reduce;
  return LEMNOS_SUCCESS;
}

// --- map -----------------------------------------------------------------------------------------

static lemnos_status run_map(interp_call *c) {
  const interp_region *r = c->in->aux;
  int64_t total = interp_count(interp_result(c, 0));
  size_t bytes = interp_region_scratch(r, total < INTERP_LANES ? total : INTERP_LANES);
  void *scratch = interp_scratch(c->cx, bytes);
  const void **in = interp_scratch(c->cx, (size_t)c->in->n_args * sizeof *in);
  void **out = interp_scratch(c->cx, (size_t)c->in->n_results * sizeof *out);
  if (!scratch || !in || !out) return interp_scratch_failed(c);
  for (int64_t at = 0; at < total; at += INTERP_LANES) {
    int64_t n = total - at < INTERP_LANES ? total - at : INTERP_LANES;
    for (int k = 0; k < c->in->n_args; k++)
      in[k] = (char *)interp_arg(c, k)->data + at * hlo_dtype_bytes(interp_arg(c, k)->dtype);
    for (int k = 0; k < c->in->n_results; k++)
      out[k] = (char *)interp_result(c, k)->data + at * hlo_dtype_bytes(interp_result(c, k)->dtype);
    LEMNOS_TRY(interp_region_run(r, c->cx, scratch, n, in, out));
  }
  return LEMNOS_SUCCESS;
}

// --- scan ----------------------------------------------------------------------------------------

// Room for outputs whose sizes the first step tells (no step: the type); later steps have to give the same.
static lemnos_status scan_room(interp_call *c, bool first, int64_t steps, int n_out, const interp_value *slices) {
  int64_t dim = HLO_ATTRS(c->in->src, scan)->dimension;
  for (int k = 0; k < n_out; k++) {
    interp_value *out = interp_result_value(c, k);
    const interp_type *t = &c->in->result_types[k];
    int64_t dims[INTERP_MAX_RANK];
    for (int d = 0, at = 0; d < t->rank; d++) {
      dims[d] = d == dim ? steps : slices ? slices[k].a.dims[at++] : t->dims[d];
      if (dims[d] < 0) return interp_error(c, LEMNOS_UNIMPLEMENTED, "no steps, and a result of unknown size");
      if ((t->dims[d] >= 0 && dims[d] != t->dims[d]) || (!first && dims[d] != out->a.dims[d]))
        return interp_error(c, LEMNOS_INVALID_ARGUMENT, "dimension %d of result %d has size %lld, expected %lld", d, k,
                            (long long)dims[d], (long long)(first ? t->dims[d] : out->a.dims[d]));
    }
    if (!first) continue;
    interp_array_set_type(&out->a, t->dtype, t->rank, dims);
    LEMNOS_TRY(interp_value_alloc(c->cx, out));
  }
  return LEMNOS_SUCCESS;
}

// Operands: inputs.., carries..; body(slices.., carries..) -> (output slices.., carries..); results: outputs.., final
// carries... Slices lack the scan dimension.
static lemnos_status run_scan(interp_call *c) {
  const hlo_attrs_scan *a = HLO_ATTRS(c->in->src, scan);
  const interp_code *body = c->in->subs[0];
  int n_carry = (int)a->n_carries, n_in = c->in->n_args - n_carry, n_out = c->in->n_results - n_carry;
  int64_t dim = a->dimension, steps = n_in ? interp_arg(c, 0)->dims[dim] : 0;
  bool self_alloc = (c->in->flags & INTERP_SELF_ALLOC) != 0;
  interp_frame f = {0};
  size_t room = (size_t)(c->in->n_args + c->in->n_results) * sizeof(interp_value);
  interp_value *args = interp_scratch(c->cx, room), *results = args + c->in->n_args;
  if (!args) return interp_scratch_failed(c);
  memset(args, 0, room);
  lemnos_status s = interp_frame_init(c->cx, &f, body);
  for (int k = 0; k < n_carry; k++) interp_value_share(&args[n_in + k], interp_arg_value(c, n_in + k));
  for (int64_t t = 0; t < steps && !s; t++) {
    int64_t step = a->is_reverse ? steps - 1 - t : t;
    for (int k = 0; k < n_in && !s; k++) {
      const interp_array *in = interp_arg(c, k);
      int64_t start[INTERP_MAX_RANK] = {0}, box[INTERP_MAX_RANK];
      memcpy(box, in->dims, sizeof box);
      start[dim] = step;
      box[dim] = 1;
      if (in->dims[dim] != steps) {
        s = interp_error(c, LEMNOS_INVALID_ARGUMENT, "operands of %lld and %lld steps", (long long)steps,
                         (long long)in->dims[dim]);
        break;
      }
      args[k].a.dtype = in->dtype;
      args[k].a.rank = 0;
      for (int d = 0; d < in->rank; d++)
        if (d != dim) args[k].a.dims[args[k].a.rank++] = in->dims[d];
      s = interp_value_alloc(c->cx, &args[k]);
      if (!s) interp_copy_box(c->cx, in, start, box, args[k].a.data);
    }
    if (!s) s = interp_frame_run(c->cx, &f, args, results);
    if (!s && self_alloc) s = scan_room(c, t == 0, steps, n_out, results);
    for (int k = 0; k < n_out && !s; k++) {
      interp_array *out = interp_result(c, k);
      int64_t os[INTERP_MAX_RANK], is[INTERP_MAX_RANK], dims[INTERP_MAX_RANK], at = 1;
      interp_strides(out, os);
      memcpy(dims, out->dims, sizeof dims);
      dims[dim] = 1;
      for (int d = out->rank - 1; d >= 0; d--) is[d] = at, at *= dims[d];
      interp_copy p;
      interp_copy_plan(&p, hlo_dtype_bytes(out->dtype), out->rank, dims, os, is);
      interp_copy_run(&p, (char *)out->data + step * os[dim] * p.element_bytes, results[k].a.data);
    }
    for (int k = 0; k < n_out; k++) interp_value_release(c->cx, &results[k]);
    for (int k = 0; k < n_carry && !s; k++) interp_value_move(&args[n_in + k], &results[n_out + k]);
  }
  if (!s && self_alloc && steps == 0) s = scan_room(c, true, 0, n_out, NULL);
  for (int k = 0; k < n_carry && !s && self_alloc; k++)
    interp_value_share(interp_result_value(c, n_out + k), &args[n_in + k]);
  for (int k = 0; k < n_carry && !s && !self_alloc; k++)
    memcpy(interp_result(c, n_out + k)->data, args[n_in + k].a.data, (size_t)interp_bytes(interp_result(c, n_out + k)));
  for (int k = 0; k < n_in + n_carry; k++) interp_value_release(c->cx, &args[k]);
  interp_frame_deinit(c->cx, &f);
  return s;
}

static lemnos_status compile_scan(interp_compiler *c, interp_insn *in) {
  const hlo_attrs_scan *a = HLO_ATTRS(in->src, scan);
  const interp_code *body;
  if (a->n_carries < 0 || a->n_carries > in->n_results || a->n_carries > in->n_args)
    return interp_refuse(in->src, "%lld carries of %d operands", (long long)a->n_carries, in->n_args);
  LEMNOS_TRY(interp_compile_computation(c, in->src->called[0], &body));
  for (int k = 0; k < in->n_args - (int)a->n_carries; k++)
    if (body->param_types[k].rank != in->arg_types[k].rank - 1)
      return interp_refuse(in->src, "a body over slices with the scan dimension");
  interp_insn_set_subs(c, in, 1, &body);
  if (in->flags & INTERP_DYNAMIC) in->flags |= INTERP_SELF_ALLOC;
  in->fn = run_scan;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_reduce(interp_compiler *c, interp_insn *in) {
  switch (in->src->op) {
    case HLO_OP_REDUCE: return compile_reduce(c, in);
    case HLO_OP_SCAN: return compile_scan(c, in);
    case HLO_OP_MAP: {
      interp_region *r;
      LEMNOS_TRY(interp_region_compile(c, in->src->called[0], &r));
      in->aux = r;
      in->fn = run_map;
      return LEMNOS_SUCCESS;
    }
    default: return interp_refuse(in->src, "operation is not supported");
  }
}
