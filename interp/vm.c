// SPDX-License-Identifier: Apache-2.0
// The virtual machine: frames of registers, counted buffers with a cache of released ones, and the run loop.
//
// A buffer's count is the number of registers (and of the caller's hands) that hold it; when an operand dies at an
// instruction and its count is one, an instruction that can work in place takes the buffer over. Memory in use is
// counted; the cache never lets use plus cache grow beyond the peak of use, so it costs no memory of its own.
#include "interp/grid.h"

#define MAX_BYTES ((int64_t)1 << 46)

int64_t interp_count(const interp_array *a) {
  if (a->dtype == HLO_TOKEN) return 0;
  int64_t n = 1;
  for (int d = 0; d < a->rank; d++) n *= a->dims[d];
  return n;
}

void interp_strides(const interp_array *a, int64_t *strides) {
  int64_t s = 1;
  for (int d = a->rank - 1; d >= 0; d--) {
    strides[d] = s;
    s *= a->dims[d];
  }
}

// --- buffers -------------------------------------------------------------------------------------

static interp_buffer *new_header(interp_ctx *cx) {
  interp_buffer *b = cx->shared->spare;
  if (b)
    cx->shared->spare = b->next;
  else
    b = heap_alloc(sizeof *b);
  *b = (interp_buffer){.refs = 1};
  return b;
}

static void drop_header(interp_ctx *cx, interp_buffer *b) {
  b->next = cx->shared->spare;
  cx->shared->spare = b;
}

// Keeps no more than `limit` bytes of a list; *kept counts them.
static void list_trim(interp_ctx *cx, interp_buffer **p, int64_t limit, int64_t *kept) {
  int count = 0;
  while (*p) {
    interp_buffer *b = *p;
    if (*kept + (int64_t)b->bytes > limit || count >= 64) {
      *p = b->next;
      cx->shared->cached_bytes -= (int64_t)b->bytes;
      heap_aligned_free(b->data);
      drop_header(cx, b);
    } else {
      *kept += (int64_t)b->bytes;
      count++;
      p = &b->next;
    }
  }
}

static void cache_trim(interp_ctx *cx, int64_t limit) {
  int64_t kept = 0;
  for (int k = 0; k < INTERP_SMALL_BUFFERS; k++) list_trim(cx, &cx->shared->small[k], limit, &kept);
  list_trim(cx, &cx->shared->cache, limit, &kept);
}

// The list that released buffers of this size are in.
static inline interp_buffer **list_of(interp_shared *shared, size_t bytes) {
  return bytes <= 64 * INTERP_SMALL_BUFFERS ? &shared->small[bytes / 64 - 1] : &shared->cache;
}

static inline void buffer_release(interp_ctx *cx, interp_buffer *b) {
  interp_shared *shared = cx->shared;
  if (--b->refs > 0) return;
  if (!b->owned) return drop_header(cx, b);
  interp_buffer **list = list_of(shared, b->bytes);
  shared->live_bytes -= (int64_t)b->bytes;
  shared->cached_bytes += (int64_t)b->bytes;
  b->next = *list;
  *list = b;
  if (LEMNOS_UNLIKELY(shared->live_bytes + shared->cached_bytes > shared->peak_bytes))
    cache_trim(cx, shared->peak_bytes - shared->live_bytes);
}

static inline interp_buffer *cache_find(interp_ctx *cx, size_t bytes) {
  int tries = 0;
  if (bytes <= 64 * INTERP_SMALL_BUFFERS) {
    interp_buffer **list = list_of(cx->shared, bytes), *b = *list;
    if (!b) return NULL;
    *list = b->next;
    cx->shared->cached_bytes -= (int64_t)b->bytes;
    b->refs = 1;
    return b;
  }
  for (interp_buffer **p = &cx->shared->cache; *p && tries < 32; p = &(*p)->next, tries++) {
    interp_buffer *b = *p;
    if (b->bytes < bytes || b->bytes > bytes + (bytes < 65536 ? bytes / 2 : bytes / 16)) continue;
    *p = b->next;
    cx->shared->cached_bytes -= (int64_t)b->bytes;
    b->refs = 1;
    return b;
  }
  return NULL;
}

// A failure that does not know which instruction it happened in: run_insn adds that.
static lemnos_status unplaced(interp_ctx *cx, lemnos_status s) {
  cx->shared->unplaced = true;
  return s;
}

static LEMNOS_NOINLINE lemnos_status over_limit(interp_ctx *cx, int64_t bytes) {
  return unplaced(
      cx, lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "%lld bytes in use and %lld more needed, above the limit of %lld",
                             (long long)cx->shared->live_bytes, (long long)bytes, (long long)cx->options->max_bytes));
}

static LEMNOS_NOINLINE lemnos_status no_memory(interp_ctx *cx, int64_t bytes) {
  return unplaced(cx, lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for %lld bytes", (long long)bytes));
}

// As value_alloc, for a number of bytes that is a multiple of 64.
static lemnos_status alloc_bytes(interp_ctx *cx, interp_value *v, int64_t bytes) {
  interp_buffer *b = cache_find(cx, (size_t)bytes);
  if (!b) {
    int64_t limit = cx->options->max_bytes;
    if (limit && cx->shared->live_bytes + bytes > limit) return over_limit(cx, bytes);
    if (limit && cx->shared->live_bytes + cx->shared->cached_bytes + bytes > limit)
      cache_trim(cx, limit - cx->shared->live_bytes - bytes);
    void *data = heap_try_alloc_aligned((size_t)bytes);
    if (!data && cx->shared->cached_bytes) {
      cache_trim(cx, 0);
      data = heap_try_alloc_aligned((size_t)bytes);
    }
    if (!data) return no_memory(cx, bytes);
    b = new_header(cx);
    b->data = data;
    b->bytes = (size_t)bytes;
    b->owned = true;
  }
  cx->shared->live_bytes += (int64_t)b->bytes;
  if (cx->shared->live_bytes > cx->shared->peak_bytes) cx->shared->peak_bytes = cx->shared->live_bytes;
  if (cx->shared->cached_bytes && cx->shared->live_bytes + cx->shared->cached_bytes > cx->shared->peak_bytes)
    cache_trim(cx, cx->shared->peak_bytes - cx->shared->live_bytes);
  v->buf = b;
  v->a.data = b->data;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_value_alloc(interp_ctx *cx, interp_value *v) {
  int64_t bytes = hlo_dtype_bytes(v->a.dtype);
  for (int d = 0; d < v->a.rank; d++)
    if (__builtin_mul_overflow(bytes, v->a.dims[d], &bytes) || bytes > MAX_BYTES || bytes < 0)
      return unplaced(cx, lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "an array is too large for this machine"));
  return alloc_bytes(cx, v, bytes < 64 ? 64 : (bytes + 63) & ~(int64_t)63);
}

static inline void release(interp_ctx *cx, interp_value *v) {
  if (v->buf) buffer_release(cx, v->buf);
  v->buf = NULL;
  v->a.data = NULL;
}

void interp_value_release(interp_ctx *cx, interp_value *v) {
  release(cx, v);
}

void interp_take_arg(const interp_call *c, int k, interp_value *to) {
  interp_value *from = interp_arg_value(c, k);
  if (c->in->dies[k])
    interp_value_move(to, from);
  else
    interp_value_share(to, from);
}

lemnos_status interp_value_borrow(interp_ctx *cx, interp_value *v, const void *data) {
  interp_buffer *b = new_header(cx);  // not owned: never written in place, never freed
  b->data = (void *)data;
  v->buf = b;
  v->a.data = b->data;
  return LEMNOS_SUCCESS;
}

// --- scratch -------------------------------------------------------------------------------------

void *interp_scratch(interp_ctx *cx, size_t bytes) {
  interp_shared *shared = cx->shared;
  int64_t limit = cx->options->max_bytes;
  bool fits = bytes <= (size_t)MAX_BYTES && !(limit && shared->live_bytes + (int64_t)bytes > limit);
  if (fits && limit && shared->live_bytes + shared->cached_bytes + (int64_t)bytes > limit)
    cache_trim(cx, limit - shared->live_bytes - (int64_t)bytes);
  char *data = fits ? heap_try_alloc_aligned(bytes + 64) : NULL;
  if (!data) {
    shared->refused_bytes = bytes > (size_t)MAX_BYTES ? MAX_BYTES : (int64_t)bytes;
    return NULL;
  }
  interp_scratch_block *b = (interp_scratch_block *)data;
  b->next = cx->scratch;
  b->bytes = bytes;
  cx->scratch = b;
  shared->live_bytes += (int64_t)bytes;
  if (shared->live_bytes > shared->peak_bytes) shared->peak_bytes = shared->live_bytes;
  return data + 64;
}

lemnos_status interp_scratch_failed(const interp_call *c) {
  const interp_shared *shared = c->cx->shared;
  int64_t limit = c->cx->options->max_bytes, bytes = shared->refused_bytes;
  return limit && shared->live_bytes + bytes > limit ? over_limit(c->cx, bytes) : no_memory(c->cx, bytes);
}

static void scratch_reset(interp_ctx *cx, interp_scratch_block *mark) {
  while (cx->scratch != mark) {
    interp_scratch_block *b = cx->scratch;
    cx->scratch = b->next;
    cx->shared->live_bytes -= (int64_t)b->bytes;
    heap_aligned_free(b);
  }
}

// --- threads -------------------------------------------------------------------------------------

typedef struct range_job {
  interp_range_fn fn;
  void *ctx;
  int64_t n, grain;
  bool by_chunk;  // fewer chunks than threads: a chunk is its own worker, whichever thread takes it
} range_job;

static void run_range(void *ctx, int64_t index, int thread) {
  range_job *j = ctx;
  int64_t begin = index * j->grain, end = begin + j->grain;
  j->fn(j->ctx, begin, end < j->n ? end : j->n, j->by_chunk ? (int)index : thread);
}

int interp_workers(const interp_ctx *cx, int64_t n, int64_t grain) {
  if (!cx->pool || n <= grain) return 1;
  int64_t chunks = grain < 1 ? n : (n + grain - 1) / grain;
  return chunks < cx->n_threads ? (int)chunks : cx->n_threads;
}

char **interp_worker_blocks(interp_ctx *cx, int n, size_t bytes) {
  size_t first = interp_align((size_t)n * sizeof(char *)), step = interp_align(bytes);
  if (bytes > (size_t)MAX_BYTES) return interp_scratch(cx, bytes);  // refuses
  char *base = interp_scratch(cx, first + (size_t)n * step), **blocks = (char **)base;
  for (int k = 0; base && k < n; k++) blocks[k] = base + first + (size_t)k * step;
  return blocks;
}

void interp_parallel(interp_ctx *cx, int64_t n, int64_t grain, interp_range_fn fn, void *ctx) {
  if (grain < 1) grain = 1;
  if (n <= 0) return;
  if (!cx->pool || n <= grain) {
    for (int64_t b = 0; b < n; b += grain) fn(ctx, b, b + grain < n ? b + grain : n, 0);
    return;
  }
  int64_t chunks = (n + grain - 1) / grain;
  range_job j = {.fn = fn, .ctx = ctx, .n = n, .grain = grain, .by_chunk = chunks < cx->n_threads};
  thread_pool_run(cx->pool, chunks, run_range, &j);
}

// --- the run loop --------------------------------------------------------------------------------

lemnos_status interp_poll(interp_ctx *cx) {
  if (cx->options->cancel && *cx->options->cancel)
    return unplaced(cx, lemnos_status_make(LEMNOS_CANCELLED, "the run was cancelled"));
  if (cx->options->deadline > 0 && io_seconds() > cx->options->deadline)
    return unplaced(cx, lemnos_status_make(LEMNOS_CANCELLED, "the run took longer than its time limit"));
  return LEMNOS_SUCCESS;
}

lemnos_status interp_frame_init(interp_ctx *cx, interp_frame *f, const interp_code *code) {
  f->code = code;
  f->has_kept = false;
  f->regs = calloc((size_t)code->n_regs + 1, sizeof *f->regs);
  if (!f->regs) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "interpreter: no memory for a frame");
  return LEMNOS_SUCCESS;
}

void interp_frame_deinit(interp_ctx *cx, interp_frame *f) {
  if (!f->regs) return;
  for (int k = 0; k < f->code->n_regs; k++) interp_value_release(cx, &f->regs[k]);
  free(f->regs);
  f->regs = NULL;
}

static bool steal(interp_call *c, int k, int arg, const interp_array *want) {
  interp_value *from = interp_arg_value(c, arg);
  if (!c->in->dies[arg] || !from->buf || from->buf->refs != 1 || !from->buf->owned) return false;
  if (interp_bytes(want) != interp_bytes(&from->a)) return false;
  interp_value *to = interp_result_value(c, k);
  to->buf = from->buf;
  to->buf->refs++;  // the argument stays readable until the instruction ends
  to->a.data = to->buf->data;
  return true;
}

static bool take_over(interp_call *c, int k, const interp_array *want) {
  const interp_insn *in = c->in;
  if (in->in_place[k] >= 0) return steal(c, k, in->in_place[k], want);
  for (int a = 0; a < in->n_args; a++)
    if (hlo_dtype_bytes(in->arg_types[a].dtype) == hlo_dtype_bytes(want->dtype) && steal(c, k, a, want)) return true;
  return false;
}

static lemnos_status allocate_results(interp_call *c) {
  const interp_insn *in = c->in;
  if (in->flags & INTERP_DYNAMIC) LEMNOS_TRY(interp_infer_dims(c));
  for (int k = 0; k < in->n_results; k++) {
    interp_value *v = interp_result_value(c, k);
    const interp_type *t = &in->result_types[k];
    if (!(in->flags & INTERP_DYNAMIC))
      interp_array_set_type(&v->a, t->dtype, t->rank, t->dims);
    else
      v->a.dtype = t->dtype;
    if (t->dtype == HLO_TOKEN) continue;
    if (in->in_place[k] != -1 && take_over(c, k, &v->a)) continue;
    LEMNOS_TRY(interp_value_alloc(c->cx, v));
  }
  return LEMNOS_SUCCESS;
}

static LEMNOS_NOINLINE lemnos_status placed(interp_ctx *cx, const interp_insn *in, lemnos_status s) {
  if (!cx->shared->unplaced) return s;
  cx->shared->unplaced = false;
  return interp_place(in->src, s);
}

// With the one element of scalar operands spread.
static LEMNOS_NOINLINE void run_spread(const interp_small *s, int n_args, const void **args, void *out) {
  _Alignas(64) char spread[3][INTERP_SMALL * 16];
  for (int k = 0; k < n_args; k++) {
    if (!s->is_scalar[k]) continue;
    interp_fill(spread[k], args[k], s->bytes[k], s->n);
    args[k] = spread[k];
  }
  s->fn(&s->param, s->n, args, out);
}

// An elementwise instruction of few elements. Takes over the buffer of an operand that dies, if it can.
static inline lemnos_status run_small(interp_ctx *cx, interp_value *regs, const interp_insn *in) {
  const interp_small *s = in->small;
  const interp_type *t = &in->result_types[0];
  interp_value *to = &regs[in->results[0]];
  const void *args[3];
  for (int k = 0; k < in->n_args; k++) {
    interp_value *from = &regs[in->args[k]];
    args[k] = from->a.data;
    if (!in->dies[k] || !s->fits[k] || to->buf || from->buf->refs != 1 || !from->buf->owned) continue;
    to->buf = from->buf;
    from->buf = NULL;
  }
  interp_array_set_type(&to->a, t->dtype, t->rank, t->dims);
  if (to->buf) {
    to->a.data = to->buf->data;
  } else {
    lemnos_status status = alloc_bytes(cx, to, s->result_bytes);
    if (LEMNOS_UNLIKELY(status != LEMNOS_SUCCESS)) return placed(cx, in, status);
  }
  if (s->any_scalar)
    run_spread(s, in->n_args, args, to->a.data);
  else
    s->fn(&s->param, s->n, args, to->a.data);
  return LEMNOS_SUCCESS;
}

static inline lemnos_status run_insn(interp_ctx *cx, interp_value *regs, const interp_insn *in) {
  if (in->small) return run_small(cx, regs, in);
  interp_call call = {.cx = cx, .in = in, .regs = regs};
  interp_scratch_block *mark = cx->scratch;
  lemnos_status s = in->flags & INTERP_SELF_ALLOC ? LEMNOS_SUCCESS : allocate_results(&call);
  if (LEMNOS_LIKELY(!s)) s = in->fn(&call);
  scratch_reset(cx, mark);
  return LEMNOS_UNLIKELY(s != LEMNOS_SUCCESS) ? placed(cx, in, s) : LEMNOS_SUCCESS;
}

static lemnos_status run_profiled(interp_ctx *cx, interp_value *regs, const interp_insn *in) {
  interp_profile_row *row = interp_profile_row_of(cx->options->profile, in->src);
  double outer = cx->inner_seconds, start = io_seconds();
  cx->inner_seconds = 0;
  lemnos_status s = run_insn(cx, regs, in);
  double total = io_seconds() - start;
  row->calls++;
  row->seconds += total - cx->inner_seconds;
  row->total_seconds += total;
  cx->inner_seconds = outer + total;
  return s;
}

static inline lemnos_status run_code(interp_ctx *cx, interp_frame *f) {
  const interp_code *code = f->code;
  interp_value *regs = f->regs;
  bool profile = cx->options->profile != NULL, counting = cx->counting;
  interp_progress *progress = cx->options->progress;
  const interp_insn *end = code->insns + code->n_insns;
  for (const interp_insn *in = code->insns + (f->has_kept ? code->n_kept : 0); in < end; in++) {
    LEMNOS_TRY(interp_poll_often(cx));
    if (progress) {
      interp_progress_now(progress, in->src);
      cx->counting = counting && (in->fn == interp_run_call || in->src->op == HLO_OP_WHILE);
    }
    LEMNOS_TRY(profile ? run_profiled(cx, regs, in) : run_insn(cx, regs, in));
    if (progress && counting) interp_progress_step(&progress->done);
    for (int k = 0; k < in->n_drops; k++) release(cx, &regs[in->drops[k]]);
  }
  f->has_kept = code->n_kept > 0;
  cx->counting = counting;
  return LEMNOS_SUCCESS;
}

lemnos_status interp_frame_step(interp_ctx *cx, interp_frame *f) {
  return run_code(cx, f);
}

lemnos_status interp_frame_run(interp_ctx *cx, interp_frame *f, interp_value *args, interp_value *results) {
  const interp_code *code = f->code;
  if (++cx->depth > INTERP_MAX_DEPTH)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "interpreter: calls nested too deep");
  for (int k = 0; k < code->n_params; k++) {
    if (code->param_regs[k] >= 0)
      interp_value_move(&f->regs[code->param_regs[k]], &args[k]);
    else
      interp_value_release(cx, &args[k]);
  }
  lemnos_status s = run_code(cx, f);
  cx->depth--;
  if (s) {
    for (int k = 0; k < code->n_regs; k++) interp_value_release(cx, &f->regs[k]);
    f->has_kept = false;
    return s;
  }
  for (int k = 0; k < code->n_results; k++) {
    interp_value *from = &f->regs[code->result_regs[k]];
    if (code->result_shared[k])
      interp_value_share(&results[k], from);
    else
      interp_value_move(&results[k], from);
  }
  return LEMNOS_SUCCESS;
}

// --- the entry -----------------------------------------------------------------------------------

static lemnos_status check_arg(const interp_type *t, int k, const interp_array *a) {
  bool ok = a->dtype == t->dtype && a->rank == t->rank;
  for (int d = 0; ok && d < t->rank; d++) {
    int64_t bound = t->shape->bounds ? t->shape->bounds[d] : HLO_DYNAMIC;
    ok = t->dims[d] >= 0 ? a->dims[d] == t->dims[d] : a->dims[d] >= 0 && (bound < 0 || a->dims[d] <= bound);
  }
  if (ok && t->dtype != HLO_TOKEN && !a->data && interp_count(a) > 0)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d has no data", k);
  if (ok) return LEMNOS_SUCCESS;
  strbuf want = {0}, got = {0};
  hlo_shape_print(&want, t->shape);
  strbuf_append_cstr(&got, a->dtype < HLO_DTYPE_COUNT ? hlo_dtype_table[a->dtype].hlo_name : "?");
  for (int d = 0; d < a->rank && d < INTERP_MAX_RANK; d++)
    strbuf_printf(&got, "%s%lld", d ? "," : "[", (long long)a->dims[d]);
  strbuf_append_cstr(&got, a->rank ? "]" : "[]");
  lemnos_status s =
      lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "argument %d: expected %s, found %s", k, want.data, got.data);
  strbuf_deinit(&want);
  strbuf_deinit(&got);
  return s;
}

static lemnos_status hand_out(interp_ctx *cx, interp_value *v, interp_array *out) {
  void *room = out->data;
  interp_array_set_type(out, v->a.dtype, v->a.rank, v->a.dims);
  if (v->a.dtype == HLO_TOKEN) return out->data = NULL, LEMNOS_SUCCESS;
  size_t bytes = (size_t)interp_bytes(&v->a);
  if (room) {
    memcpy(room, v->a.data, bytes);
    out->data = room;
    return LEMNOS_SUCCESS;
  }
  if (v->buf->owned && v->buf->refs == 1) {
    out->data = v->buf->data;
    cx->shared->live_bytes -= (int64_t)v->buf->bytes;
    drop_header(cx, v->buf);
    v->buf = NULL;
    return LEMNOS_SUCCESS;
  }
  out->data = heap_try_alloc_aligned(bytes ? bytes : 1);
  if (!out->data) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "interpreter: no memory for a result");
  memcpy(out->data, v->a.data, bytes);
  return LEMNOS_SUCCESS;
}

static void shared_deinit(interp_ctx *cx) {
  for (int k = 0; k < cx->shared->probes.len; k++) interp_value_release(cx, &cx->shared->probes.data[k].value);
  vec_deinit(&cx->shared->probes);
  cache_trim(cx, -1);
  while (cx->shared->spare) {
    interp_buffer *b = cx->shared->spare;
    cx->shared->spare = b->next;
    free(b);
  }
}

static lemnos_status hand_out_all(interp_ctx *cx, int n, interp_value *values, interp_array *results) {
  bool *fresh = heap_alloc((size_t)n + 1);
  lemnos_status s = LEMNOS_SUCCESS;
  for (int k = 0; k < n && !s; k++) {
    fresh[k] = results[k].data == NULL;
    s = hand_out(cx, &values[k], &results[k]);
    if (!s) continue;
    for (int j = 0; j <= k; j++) {
      if (fresh[j] && j < k) heap_aligned_free(results[j].data);
      if (fresh[j]) results[j].data = NULL;
    }
  }
  free(fresh);
  return s;
}

// Borrows the arguments, runs every process, hands out the results.
static lemnos_status run_processes(interp_ctx *cx, int32_t n_replicas, int32_t n_partitions,
                                   const interp_code *const *codes, int n_args, const interp_array *args, int n_results,
                                   interp_array *results) {
  interp_value *in = calloc((size_t)n_args + 1, sizeof *in), *out = calloc((size_t)n_results + 1, sizeof *out);
  lemnos_status status;
  if (!in || !out) {
    status = lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "interpreter: no memory for a frame");
    goto done;
  }
  for (int k = 0; k < n_args; k++) {
    interp_array_set_type(&in[k].a, args[k].dtype, args[k].rank, args[k].dims);
    if (args[k].dtype != HLO_TOKEN) LEMNOS_TRY_GOTO(interp_value_borrow(cx, &in[k], args[k].data));
  }
  LEMNOS_TRY_GOTO(interp_grid_run(cx, n_replicas, n_partitions, codes, in, out, NULL));
  status = hand_out_all(cx, n_results, out, results);
done:
  for (int k = 0; in && k < n_args; k++) interp_value_release(cx, &in[k]);
  for (int k = 0; out && k < n_results; k++) interp_value_release(cx, &out[k]);
  free(in);
  free(out);
  return status;
}

lemnos_status interp_run_parallel(const interp_program *const *programs, int32_t n_replicas, int32_t n_partitions,
                                  const interp_run_options *options, int n_args, const interp_array *args,
                                  int n_results, interp_array *results) {
  static const interp_run_options defaults = {0};
  if (!options) options = &defaults;
  if (n_replicas < 1 || n_partitions < 1 || n_replicas > INT32_MAX / n_partitions)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "a grid of %d x %d processes", n_replicas, n_partitions);
  int n = n_replicas * n_partitions, at = 0, want_args = 0, want_results = 0;
  interp_shared shared = {0};
  for (int d = 0; d < n; d++) {
    want_args += programs[d]->entry->n_params;
    want_results += programs[d]->entry->n_results;
    shared.keep_probes |= programs[d]->keeps_probes;
  }
  if (n_args != want_args || n_results != want_results)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                              "the program takes %d arguments and gives %d results, found %d and %d", want_args,
                              want_results, n_args, n_results);
  for (int d = 0; d < n; at += programs[d++]->entry->n_params)
    for (int k = 0; k < programs[d]->entry->n_params; k++)
      LEMNOS_TRY(check_arg(&programs[d]->entry->param_types[k], at + k, &args[at + k]));
  interp_ctx cx = {.options = options, .pool = options->pool, .shared = &shared};
  if (options->drawn) cx.drawn = *options->drawn;
  cx.n_threads = cx.pool ? thread_pool_size(cx.pool) : 1;
  if (cx.n_threads < 2) cx.pool = NULL;
  cx.counting = options->progress != NULL;
  if (cx.counting) interp_progress_set(&options->progress->total, interp_progress_count(programs[0]->entry));
  const interp_code **codes = heap_alloc(sizeof(void *) * (size_t)n);
  for (int d = 0; d < n; d++) codes[d] = programs[d]->entry;
  lemnos_status status = run_processes(&cx, n_replicas, n_partitions, codes, n_args, args, n_results, results);
  free(codes);
  if (options->peak_bytes) *options->peak_bytes = shared.peak_bytes;
  if (options->drawn) *options->drawn = cx.drawn;
  shared_deinit(&cx);
  return status;
}

bool interp_program_is_parallel(const interp_program *p) {
  return p->meets && (p->module->n_replicas > 1 || p->module->n_partitions > 1);
}

// Every process gets the same arguments; of the results, the first one's are kept.
static lemnos_status run_copies(const interp_program *p, const interp_run_options *options, int n_args,
                                const interp_array *args, int n_results, interp_array *results) {
  int64_t n = (int64_t)p->module->n_replicas * p->module->n_partitions;
  if (n > INTERP_MAX_DEVICES)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED, "interpreter: a grid of %d x %d processes, limit %d",
                              p->module->n_replicas, p->module->n_partitions, INTERP_MAX_DEVICES);
  const interp_program **programs = heap_alloc(sizeof(void *) * (size_t)n);
  interp_array *all_args = heap_alloc(sizeof *args * ((size_t)(n * n_args) + 1));
  interp_array *all_results = heap_alloc(sizeof *results * ((size_t)(n * n_results) + 1));
  for (int64_t d = 0; d < n; d++) {
    programs[d] = p;
    if (n_args) memcpy(all_args + d * n_args, args, sizeof *args * (size_t)n_args);
  }
  if (n_results) memcpy(all_results, results, sizeof *results * (size_t)n_results);
  lemnos_status s = interp_run_parallel(programs, p->module->n_replicas, p->module->n_partitions, options,
                                        (int)n * n_args, all_args, (int)n * n_results, all_results);
  if (!s && n_results) memcpy(results, all_results, sizeof *results * (size_t)n_results);
  for (int64_t k = n_results; k < n * n_results && !s; k++) heap_aligned_free(all_results[k].data);
  free(programs);
  free(all_args);
  free(all_results);
  return s;
}

lemnos_status interp_run(const interp_program *p, const interp_run_options *options, int n_args,
                         const interp_array *args, int n_results, interp_array *results) {
  if (n_args != p->entry->n_params || n_results != p->entry->n_results)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT,
                              "the program takes %d arguments and gives %d results, found %d and %d",
                              p->entry->n_params, p->entry->n_results, n_args, n_results);
  if (interp_program_is_parallel(p)) return run_copies(p, options, n_args, args, n_results, results);
  return interp_run_parallel(&p, 1, 1, options, n_args, args, n_results, results);
}
