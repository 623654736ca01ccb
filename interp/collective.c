// SPDX-License-Identifier: Apache-2.0
// Collectives: who belongs together, and what each member gets.
//
// A member takes a seat in the meeting of its process group, with its operands and room for its results, and waits; the
// last to come computes everybody's results, one by one in the order of the group, so that who was last does not
// matter. Reductions go through the group in order: ((x0 + x1) + x2) + ..., with the precision rules of reduce.
// async_start takes the seat, async_done waits.
#include "interp/grid.h"

typedef enum grouping {
  CROSS_REPLICA,                // ids are replicas, a group for each partition
  CROSS_PARTITION,              // ids are partitions, a group for each replica
  CROSS_REPLICA_AND_PARTITION,  // ids are replicas, all partitions of them
  FLATTENED_IDS,                // ids are replica * n_partitions + partition
} grouping;

typedef struct collective {
  grouping grouping;
  int64_t channel;
  const hlo_groups *groups;  // NULL: pairs
  const hlo_pairs *pairs;
  bool dynamic_root, zeros_outside;
  interp_fold **folds;  // reductions: per result
  interp_cvt *widen;    // reductions: operand to the computation's type
} collective;

typedef struct group {
  int32_t n, *members;  // n 0: this process is in none
} group;

// --- process groups ------------------------------------------------------------------------------

static int32_t number_of(const interp_device *d, grouping how, int64_t id, int partition) {
  switch (how) {
    case CROSS_REPLICA: return (int32_t)id * d->grid->n_partitions + d->partition_id;
    case CROSS_PARTITION: return d->replica_id * d->grid->n_partitions + (int32_t)id;
    case CROSS_REPLICA_AND_PARTITION: return (int32_t)id * d->grid->n_partitions + partition;
    case FLATTENED_IDS: break;
  }
  return (int32_t)id;
}

static int64_t id_limit(const interp_grid *g, grouping how) {
  return how == FLATTENED_IDS ? g->n : how == CROSS_PARTITION ? g->n_partitions : g->n_replicas;
}

static int64_t own_id(const interp_device *d, grouping how) {
  return how == FLATTENED_IDS ? d->index : how == CROSS_PARTITION ? d->partition_id : d->replica_id;
}

static lemnos_status check_id(const interp_call *c, grouping how, int64_t id) {
  static const char *const what[] = {"replica", "partition", "replica", "process"};
  const interp_grid *g = c->cx->device->grid;
  if (id >= 0 && id < id_limit(g, how)) return LEMNOS_SUCCESS;
  return interp_error(c, LEMNOS_INVALID_ARGUMENT, "%s %lld is in the process group, but there are %d x %d processes",
                      what[how], (long long)id, g->n_replicas, g->n_partitions);
}

// The group of the n ids (those that are not negative).
static lemnos_status make_group(interp_call *c, grouping how, int n, const int64_t *ids, group *out) {
  const interp_device *d = c->cx->device;
  int parts = how == CROSS_REPLICA_AND_PARTITION ? d->grid->n_partitions : 1;
  size_t bytes = sizeof(int32_t) * (size_t)n * (size_t)parts + 16;
  out->members = interp_scratch(c->cx, bytes);
  if (!out->members) return interp_scratch_failed(c);
  for (int p = 0; p < parts; p++)
    for (int k = 0; k < n; k++) {
      if (ids[k] < 0) continue;
      LEMNOS_TRY(check_id(c, how, ids[k]));
      out->members[out->n++] = number_of(d, how, ids[k], p);
    }
  return LEMNOS_SUCCESS;
}

// No groups: all processes that the grouping can connect are one.
static lemnos_status everybody(interp_call *c, grouping how, group *out) {
  int64_t n = id_limit(c->cx->device->grid, how), *ids = interp_scratch(c->cx, sizeof *ids * (size_t)n);
  if (!ids) return interp_scratch_failed(c);
  for (int64_t k = 0; k < n; k++) ids[k] = k;
  return make_group(c, how, (int)n, ids, out);
}

static lemnos_status find_group(interp_call *c, const collective *v, group *out) {
  const interp_device *d = c->cx->device;
  const hlo_groups *g = v->groups;
  int64_t own = own_id(d, v->grouping);
  if (g->rows == 0 && !v->zeros_outside) return everybody(c, v->grouping, out);
  for (int r = 0; r < g->rows; r++)
    for (int k = 0; k < g->cols; k++)
      if (g->data[r * g->cols + k] == own)
        return make_group(c, v->grouping, g->cols, g->data + (int64_t)r * g->cols, out);
  if (v->zeros_outside) return LEMNOS_SUCCESS;
  return interp_error(c, LEMNOS_INVALID_ARGUMENT, "process (%d, %d) of %d x %d is in none of the process groups",
                      d->replica_id, d->partition_id, d->grid->n_replicas, d->grid->n_partitions);
}

// Of source-target pairs: all that are connected with this process, which so wait for no one they do not depend on.
static lemnos_status find_connected(interp_call *c, const collective *v, group *out) {
  const interp_device *d = c->cx->device;
  const hlo_pairs *p = v->pairs;
  int64_t limit = id_limit(d->grid, v->grouping), n = 0;
  uint8_t *in = interp_scratch(c->cx, (size_t)limit);
  int64_t *ids = interp_scratch(c->cx, sizeof *ids * (size_t)limit);
  if (!in || !ids) return interp_scratch_failed(c);
  memset(in, 0, (size_t)limit);
  for (int k = 0; k < 2 * p->n; k++) {
    LEMNOS_TRY(check_id(c, v->grouping, p->data[k]));
    if (p->data[k] == own_id(d, v->grouping)) in[p->data[k]] = 1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < p->n; k++) {
      int64_t s = p->data[2 * k], t = p->data[2 * k + 1];
      if (in[s] == in[t]) continue;
      in[s] = in[t] = 1;
      changed = true;
    }
  }
  for (int64_t k = 0; k < limit; k++)
    if (in[k]) ids[n++] = k;
  return n ? make_group(c, v->grouping, (int)n, ids, out) : LEMNOS_SUCCESS;
}

// --- results of the whole group ------------------------------------------------------------------

typedef struct gathering {
  interp_ctx *cx;  // of the one who computes
  int32_t n;
  interp_call *seats;
} gathering;

static const collective *seat_aux(const gathering *g, int seat) {
  return g->seats[seat].in->aux;
}

static size_t bytes_of(const interp_array *a) {
  return (size_t)interp_bytes(a);
}

static bool same_array_type(const interp_array *a, const interp_array *b) {
  return a->dtype == b->dtype && a->rank == b->rank && !memcmp(a->dims, b->dims, sizeof *a->dims * (size_t)a->rank);
}

// Copies a box of `in` (dims) from element offset `from` to element offset `to` of out.
static void copy_part(const gathering *g, const interp_array *in, int64_t from, const int64_t *dims, interp_array *out,
                      int64_t to) {
  int64_t in_strides[INTERP_MAX_RANK], out_strides[INTERP_MAX_RANK];
  int bytes = hlo_dtype_bytes(in->dtype);
  for (int d = 0; d < in->rank; d++)
    if (dims[d] == 0) return;
  interp_strides(in, in_strides);
  interp_strides(out, out_strides);
  interp_copy p;
  interp_copy_plan(&p, bytes, in->rank, dims, out_strides, in_strides);
  interp_copy_run_parallel(g->cx, &p, (char *)out->data + to * bytes, (const char *)in->data + from * bytes);
}

// Room for a result that has none yet: where all members get the same, one buffer is enough.
static lemnos_status make_room(const interp_call *c, int k) {
  interp_value *v = interp_result_value(c, k);
  return v->buf ? LEMNOS_SUCCESS : interp_value_alloc(c->cx, v);
}

static void copy_result(const interp_call *to, const interp_call *from, int k) {
  interp_value *v = interp_result_value(to, k);
  if (v->buf)
    memcpy(v->a.data, interp_result(from, k)->data, bytes_of(&v->a));
  else
    interp_value_share(v, interp_result_value(from, k));
}

static lemnos_status gather_all(const gathering *g, int k) {
  int64_t dim = HLO_ATTRS(g->seats[0].in->src, all_gather)->dimension, strides[INTERP_MAX_RANK];
  interp_array *first = interp_result(&g->seats[0], k);
  LEMNOS_TRY(make_room(&g->seats[0], k));
  interp_strides(first, strides);
  for (int s = 0; s < g->n; s++) {
    const interp_array *in = interp_arg(&g->seats[s], k);
    copy_part(g, in, 0, in->dims, first, s * in->dims[dim] * strides[dim]);
  }
  for (int r = 1; r < g->n; r++) copy_result(&g->seats[r], &g->seats[0], k);
  return LEMNOS_SUCCESS;
}

static void exchange_all(const gathering *g, int k) {
  const hlo_attrs_all_to_all *a = HLO_ATTRS(g->seats[0].in->src, all_to_all);
  int64_t split = a->split_dimension, concat = a->concat_dimension;
  for (int r = 0; r < g->n; r++) {
    interp_array *out = interp_result(&g->seats[r], k);
    for (int s = 0; s < g->n; s++) {
      const interp_array *in = interp_arg(&g->seats[s], k);
      int64_t dims[INTERP_MAX_RANK], in_strides[INTERP_MAX_RANK], out_strides[INTERP_MAX_RANK];
      memcpy(dims, in->dims, sizeof dims);
      dims[split] /= g->n;
      interp_strides(in, in_strides);
      interp_strides(out, out_strides);
      copy_part(g, in, r * dims[split] * in_strides[split], dims, out, s * dims[concat] * out_strides[concat]);
    }
  }
}

// Elements of the reduction of everybody's operand k, as seat `by` computes it.
static lemnos_status reduce_all(const gathering *g, int by, int k, void *out) {
  const collective *v = seat_aux(g, by);
  const interp_fold *f = interp_fold_for(v->folds[k], g->n);
  const interp_cvt *widen = &v->widen[k];
  int64_t n = interp_count(interp_arg(&g->seats[0], k));
  int from = hlo_dtype_bytes(interp_arg(&g->seats[0], k)->dtype), to = hlo_dtype_bytes(f->types[0]);
  int64_t block = n < INTERP_LANES ? n : INTERP_LANES;
  size_t lane = interp_align(16 * (size_t)block), bytes = interp_fold_scratch(f, block) + 2 * lane;
  char *acc = interp_scratch(g->cx, bytes), *converted = acc + lane, *scratch = acc + 2 * lane;
  if (!acc) return interp_scratch_failed(&g->seats[by]);
  for (int64_t at = 0; at < n; at += block) {
    int64_t lanes = n - at < block ? n - at : block;
    for (int s = 0; s < g->n; s++) {
      const void *x = (const char *)interp_arg(&g->seats[s], k)->data + at * from;
      if (widen->fn) {
        interp_cvt_run(widen, lanes, x, converted);
        x = converted;
      }
      if (s == 0)
        interp_fold_widen(f, 0, lanes, x, acc);
      else
        LEMNOS_TRY(interp_fold_step(f, g->cx, scratch, lanes, &x, (void *const[]){acc}));
    }
    interp_fold_narrow(f, 0, lanes, acc, (char *)out + at * to);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status all_reduce(const gathering *g, int k) {
  for (int r = 0; r < g->n; r++) {
    if (r > 0 && g->seats[r].in == g->seats[r - 1].in) {
      copy_result(&g->seats[r], &g->seats[r - 1], k);
      continue;
    }
    LEMNOS_TRY(make_room(&g->seats[r], k));
    LEMNOS_TRY(reduce_all(g, r, k, interp_result(&g->seats[r], k)->data));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status reduce_scatter(const gathering *g) {
  interp_array whole = *interp_arg(&g->seats[0], 0);
  int64_t dim = HLO_ATTRS(g->seats[0].in->src, reduce_scatter)->dimension, strides[INTERP_MAX_RANK];
  whole.dtype = interp_result(&g->seats[0], 0)->dtype;
  whole.data = interp_scratch(g->cx, bytes_of(&whole));
  if (!whole.data) return interp_scratch_failed(&g->seats[0]);
  interp_strides(&whole, strides);
  for (int r = 0; r < g->n; r++) {
    interp_array *out = interp_result(&g->seats[r], 0);
    if (r == 0 || g->seats[r].in != g->seats[r - 1].in) LEMNOS_TRY(reduce_all(g, r, 0, whole.data));
    copy_part(g, &whole, r * out->dims[dim] * strides[dim], out->dims, out, 0);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status root_of(const gathering *g, int seat, int k, int *out) {
  const interp_call *c = &g->seats[seat];
  *out = 0;
  if (!seat_aux(g, seat)->dynamic_root) return LEMNOS_SUCCESS;
  int64_t root = interp_index_get(interp_arg(c, c->in->n_args - 1), k);
  if (root < 0 || root >= g->n)
    return interp_error(c, LEMNOS_INVALID_ARGUMENT, "root %lld of a process group of %d", (long long)root, g->n);
  *out = (int)root;
  return LEMNOS_SUCCESS;
}

static void fill_zeros(const interp_call *c, int k) {
  interp_array *out = interp_result(c, k);
  const hlo_quant *q = c->in->result_types[k].shape->quant;
  char zero[16] = {0};
  if (q) hlo_element_set_i64(out->dtype, zero, 0, q->zero_points[0]);
  interp_fill(out->data, zero, hlo_dtype_bytes(out->dtype), interp_count(out));
}

static lemnos_status broadcast(const gathering *g, int k) {
  for (int r = 0; r < g->n; r++) {
    int root;
    interp_array *out = interp_result(&g->seats[r], k);
    LEMNOS_TRY(root_of(g, r, k, &root));
    memcpy(out->data, interp_arg(&g->seats[root], k)->data, bytes_of(out));
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status reduce_to_root(const gathering *g, int k) {
  for (int r = 0; r < g->n; r++) {
    int root;
    LEMNOS_TRY(root_of(g, r, k, &root));
    if (root == r)
      LEMNOS_TRY(reduce_all(g, r, k, interp_result(&g->seats[r], k)->data));
    else
      fill_zeros(&g->seats[r], k);
  }
  return LEMNOS_SUCCESS;
}

static void permute(const gathering *g, int k) {
  for (int r = 0; r < g->n; r++) {
    const interp_call *c = &g->seats[r];
    const collective *v = c->in->aux;
    int64_t source = -1;
    for (int p = 0; p < v->pairs->n; p++)
      if (v->pairs->data[2 * p + 1] == own_id(c->cx->device, v->grouping)) source = v->pairs->data[2 * p];
    int from = 0;
    while (source >= 0 && from < g->n && own_id(g->seats[from].cx->device, v->grouping) != source) from++;
    if (source < 0 || from == g->n)
      fill_zeros(c, k);
    else
      memcpy(interp_result(c, k)->data, interp_arg(&g->seats[from], k)->data, bytes_of(interp_result(c, k)));
  }
}

static lemnos_status compute(const gathering *g) {
  const interp_insn *first = g->seats[0].in;
  for (int s = 1; s < g->n; s++) {
    const interp_call *c = &g->seats[s];
    bool ok = c->in->n_args == first->n_args && c->in->n_results == first->n_results;
    for (int k = 0; ok && k < first->n_args; k++) ok = same_array_type(interp_arg(c, k), interp_arg(&g->seats[0], k));
    for (int k = 0; ok && k < first->n_results; k++)
      ok = same_array_type(interp_result(c, k), interp_result(&g->seats[0], k));
    if (!ok) return interp_error(c, LEMNOS_INVALID_ARGUMENT, "processes of one group have values of different types");
  }
  if (first->src->op == HLO_OP_REDUCE_SCATTER) return reduce_scatter(g);
  for (int k = 0; k < first->n_results; k++) {
    switch (first->src->op) {
      case HLO_OP_ALL_GATHER: LEMNOS_TRY(gather_all(g, k)); break;
      case HLO_OP_ALL_TO_ALL: exchange_all(g, k); break;
      case HLO_OP_ALL_REDUCE: LEMNOS_TRY(all_reduce(g, k)); break;
      case HLO_OP_COLLECTIVE_REDUCE: LEMNOS_TRY(reduce_to_root(g, k)); break;
      case HLO_OP_COLLECTIVE_BROADCAST: LEMNOS_TRY(broadcast(g, k)); break;
      default: permute(g, k); break;
    }
  }
  return LEMNOS_SUCCESS;
}

// --- one process's part --------------------------------------------------------------------------

// Result k in a group of n, of the type that follows from the operand; room for it if asked.
static lemnos_status allocate_result(interp_call *c, int k, int n, bool room) {
  const interp_array *in = interp_arg(c, k);
  const interp_type *t = &c->in->result_types[k];
  interp_value *v = interp_result_value(c, k);
  const hlo_instr *i = c->in->src;
  interp_array_set_type(&v->a, t->dtype, in->rank, in->dims);
  int64_t split = -1, joined = -1;
  if (i->op == HLO_OP_ALL_GATHER) joined = HLO_ATTRS(i, all_gather)->dimension;
  if (i->op == HLO_OP_REDUCE_SCATTER) split = HLO_ATTRS(i, reduce_scatter)->dimension;
  if (i->op == HLO_OP_ALL_TO_ALL) {
    split = HLO_ATTRS(i, all_to_all)->split_dimension;
    joined = HLO_ATTRS(i, all_to_all)->concat_dimension;
  }
  if (split >= 0) {
    if (v->a.dims[split] % n)
      return interp_error(c, LEMNOS_INVALID_ARGUMENT, "dimension %lld of size %lld cannot be split among %d",
                          (long long)split, (long long)v->a.dims[split], n);
    v->a.dims[split] /= n;
  }
  if (joined >= 0 && __builtin_mul_overflow(v->a.dims[joined], (int64_t)n, &v->a.dims[joined]))
    return interp_error(c, LEMNOS_INVALID_ARGUMENT, "the result is too large");
  for (int d = 0; d < t->rank; d++)
    if (t->dims[d] >= 0 && t->dims[d] != v->a.dims[d])
      return interp_error(c, LEMNOS_INVALID_ARGUMENT,
                          "a process group of %d gives dimension %d the size %lld, expected %lld", n, d,
                          (long long)v->a.dims[d], (long long)t->dims[d]);
  return room ? interp_value_alloc(c->cx, v) : LEMNOS_SUCCESS;
}

// Takes part; *out is the meeting to wait for, or NULL if the results are there. room_now: the results' buffers are
// needed before the meeting is over.
static lemnos_status begin(interp_call *c, bool room_now, interp_meeting **out) {
  const collective *v = c->in->aux;
  group g = {0};
  *out = NULL;
  LEMNOS_TRY(v->groups ? find_group(c, v, &g) : find_connected(c, v, &g));
  bool room = room_now || g.n < 2 || (c->in->src->op != HLO_OP_ALL_GATHER && c->in->src->op != HLO_OP_ALL_REDUCE);
  for (int k = 0; k < c->in->n_results; k++) LEMNOS_TRY(allocate_result(c, k, g.n ? g.n : 1, room));
  for (int k = 0; k < c->in->n_results && g.n == 0; k++) fill_zeros(c, k);
  if (g.n == 0) return LEMNOS_SUCCESS;
  if (g.n == 1) return compute(&(gathering){.cx = c->cx, .n = 1, .seats = c});
  bool full;
  interp_meeting *m = interp_grid_meet(c, v->channel, g.n, g.members, &full);
  *out = m;
  if (!full) return LEMNOS_SUCCESS;
  LEMNOS_TRY(compute(&(gathering){.cx = c->cx, .n = m->n, .seats = m->seats}));
  m->complete = true;
  return LEMNOS_SUCCESS;
}

static lemnos_status finish(interp_device *d, interp_meeting *m, const interp_insn *at) {
  LEMNOS_TRY(interp_grid_wait(d, &m->complete, at));
  interp_grid_leave(d->grid, m);
  return LEMNOS_SUCCESS;
}

static lemnos_status run_collective(interp_call *c) {
  interp_meeting *m;
  LEMNOS_TRY(begin(c, false, &m));
  return m ? finish(c->cx->device, m, c->in) : LEMNOS_SUCCESS;
}

static lemnos_status run_id(interp_call *c) {
  const interp_device *d = c->cx->device;
  interp_array *out = interp_result(c, 0);
  bool partition = c->in->src->op == HLO_OP_PARTITION_ID;
  const interp_run_options *o = c->cx->options;
  int32_t replica_id = d->grid->n > 1 ? d->replica_id : o->replica_id;
  int32_t partition_id = d->grid->n > 1 ? d->partition_id : o->partition_id;
  hlo_element_set_i64(out->dtype, out->data, 0, partition ? partition_id : replica_id);
  return LEMNOS_SUCCESS;
}

// --- asynchronous --------------------------------------------------------------------------------

lemnos_status interp_pending_finish(interp_device *d, interp_pending *p) {
  interp_meeting *m = p->meeting;
  p->meeting = NULL;
  return m ? finish(d, m, &p->frame.code->insns[0]) : LEMNOS_SUCCESS;
}

static lemnos_status run_async_start(interp_call *c) {
  const interp_code *code = c->in->subs[0];
  interp_device *d = c->cx->device;
  interp_pending *p = heap_alloc(sizeof *p);
  p->next = d->pending;
  d->pending = p;  // freed with the device if anything fails
  LEMNOS_TRY(interp_frame_init(c->cx, &p->frame, code));
  for (int k = 0; k < code->n_params; k++)
    if (code->param_regs[k] >= 0) interp_value_share(&p->frame.regs[code->param_regs[k]], interp_arg_value(c, k));
  interp_call inner = {.cx = c->cx, .in = &code->insns[0], .regs = p->frame.regs};
  LEMNOS_TRY(begin(&inner, true, &p->meeting));
  for (int k = 0; k < code->n_results; k++)
    interp_value_share(interp_result_value(c, k), &p->frame.regs[code->result_regs[k]]);
  return LEMNOS_SUCCESS;
}

// A future is its results' buffers, which lead to what was started.
static lemnos_status run_async_done(interp_call *c) {
  interp_device *d = c->cx->device;
  for (interp_pending **at = &d->pending, *p; c->in->n_args && (p = *at); at = &p->next) {
    const interp_code *code = p->frame.code;
    if (!p->frame.regs || p->frame.regs[code->result_regs[0]].buf != interp_arg_value(c, 0)->buf) continue;
    LEMNOS_TRY(interp_pending_finish(d, p));
    *at = p->next;
    interp_frame_deinit(c->cx, &p->frame);
    free(p);
    break;
  }
  for (int k = 0; k < c->in->n_results; k++) interp_take_arg(c, k, interp_result_value(c, k));
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_async(interp_compiler *c, interp_insn *in) {
  const interp_code *code;
  in->flags |= INTERP_SELF_ALLOC;
  if (in->src->op == HLO_OP_ASYNC_DONE) {
    if (in->n_args != in->n_results) return interp_refuse(in->src, "results that are not the future's");
    return in->fn = run_async_done, LEMNOS_SUCCESS;
  }
  LEMNOS_TRY(interp_compile_computation(c, in->src->called[0], &code));
  interp_insn_set_subs(c, in, 1, &code);
  if (code->n_params != in->n_args || code->n_results != in->n_results)
    return interp_refuse(in->src, "a body of another type");
  // Only a collective has anything to wait for.
  bool collective = code->n_insns == 1 && code->insns[0].fn == run_collective;
  in->fn = collective ? run_async_start : interp_run_call;
  return LEMNOS_SUCCESS;
}

// --- compiling -----------------------------------------------------------------------------------

static grouping grouping_of(int64_t channel, bool global, grouping with_channel) {
  return global ? FLATTENED_IDS : channel > 0 ? with_channel : CROSS_REPLICA;
}

static lemnos_status compile_folds(interp_compiler *c, interp_insn *in, collective *v) {
  v->folds = ARENA_ARRAY(c->a, interp_fold *, in->n_results + 1);
  v->widen = ARENA_ARRAY(c->a, interp_cvt, in->n_results + 1);
  const hlo_shape *from = in->src->called[0]->params[0]->shape;
  for (int k = 0; k < in->n_results; k++) {
    interp_type t = in->result_types[k];
    if (t.dtype != from->dtype)
      return interp_refuse(in->src, "a computation whose result is not of its operands' type");
    LEMNOS_TRY(interp_fold_compile(c, in->src->called[0], 1, &t, &v->folds[k]));
    if (in->arg_types[k].dtype != t.dtype &&
        (in->arg_types[k].shape->quant || !interp_cvt_init(&v->widen[k], in->arg_types[k].dtype, t.dtype)))
      return interp_refuse(in->src, "operands of another type than the computation's");
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status compile_groups(interp_compiler *c, interp_insn *in, collective *v) {
  const hlo_instr *i = in->src;
  switch (i->op) {
    case HLO_OP_ALL_GATHER: {
      const hlo_attrs_all_gather *a = HLO_ATTRS(i, all_gather);
      v->groups = &a->replica_groups, v->channel = a->channel_id;
      v->grouping = grouping_of(a->channel_id, a->use_global_device_ids, CROSS_REPLICA_AND_PARTITION);
      return LEMNOS_SUCCESS;
    }
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_COLLECTIVE_REDUCE: {
      const hlo_attrs_all_reduce *a = HLO_ATTRS(i, all_reduce);
      bool to_root = i->op == HLO_OP_COLLECTIVE_REDUCE;
      v->groups = &a->replica_groups, v->channel = a->channel_id;
      v->grouping =
          grouping_of(a->channel_id, a->use_global_device_ids, to_root ? CROSS_PARTITION : CROSS_REPLICA_AND_PARTITION);
      v->dynamic_root = to_root && a->has_dynamic_root;
      v->zeros_outside = to_root;
      return compile_folds(c, in, v);
    }
    case HLO_OP_REDUCE_SCATTER: {
      const hlo_attrs_reduce_scatter *a = HLO_ATTRS(i, reduce_scatter);
      v->groups = &a->replica_groups, v->channel = a->channel_id;
      v->grouping = grouping_of(a->channel_id, a->use_global_device_ids, CROSS_REPLICA_AND_PARTITION);
      return compile_folds(c, in, v);
    }
    case HLO_OP_ALL_TO_ALL:
      v->groups = &HLO_ATTRS(i, all_to_all)->replica_groups;
      v->channel = HLO_ATTRS(i, all_to_all)->channel_id;
      break;
    case HLO_OP_COLLECTIVE_BROADCAST:
      v->groups = &HLO_ATTRS(i, collective_broadcast)->replica_groups;
      v->channel = HLO_ATTRS(i, collective_broadcast)->channel_id;
      v->dynamic_root = HLO_ATTRS(i, collective_broadcast)->has_dynamic_root;
      v->zeros_outside = true;
      break;
    default:
      v->pairs = &HLO_ATTRS(i, collective_permute)->source_target_pairs;
      v->channel = HLO_ATTRS(i, collective_permute)->channel_id;
      break;
  }
  v->grouping = grouping_of(v->channel, false, CROSS_PARTITION);
  return LEMNOS_SUCCESS;
}

lemnos_status interp_compile_collective(interp_compiler *c, interp_insn *in) {
  collective *v;
  c->meets = true;
  switch (in->src->op) {
    case HLO_OP_ALL_GATHER:
    case HLO_OP_ALL_REDUCE:
    case HLO_OP_COLLECTIVE_REDUCE:
    case HLO_OP_REDUCE_SCATTER:
    case HLO_OP_ALL_TO_ALL:
    case HLO_OP_COLLECTIVE_BROADCAST:
    case HLO_OP_COLLECTIVE_PERMUTE:
      in->aux = v = ARENA_NEW(c->a, collective);
      in->flags |= INTERP_SELF_ALLOC;
      in->fn = run_collective;
      for (int k = 0; k < in->n_results; k++)
        if (in->result_types[k].dtype == HLO_TOKEN || k >= in->n_args || in->arg_types[k].dtype == HLO_TOKEN)
          return interp_refuse(in->src, "tokens");
      return compile_groups(c, in, v);
    case HLO_OP_PARTITION_ID:
    case HLO_OP_REPLICA_ID: in->fn = run_id; return LEMNOS_SUCCESS;
    case HLO_OP_ASYNC_START:
    case HLO_OP_ASYNC_DONE: return compile_async(c, in);
    default: return interp_refuse(in->src, "operation is not supported");
  }
}
