// SPDX-License-Identifier: Apache-2.0
// From a module to an executable on one device: clone, refine for the arguments' shapes, optimize, assign buffers,
// plan, generate code, load. The interpreter takes the module as imported; so does any device for what stays dynamic.
#include <stdlib.h>

#include "frontend/import.h"
#include "hlo/kernel/lower.h"
#include "hlo/opt/pass.h"
#include "runtime/internal.h"

static lemnos_status refine(hlo_module *m, const lemnos_array *args, arena *a) {
  int n = module_param_leaves(m);
  const hlo_shape **shapes = ARENA_ARRAY(a, const hlo_shape *, n + 1);
  for (int i = 0; i < n; i++) {
    const hlo_shape *declared = module_param_leaf(m, i);
    shapes[i] = declared;
    if (!args || hlo_shape_is_token(declared)) continue;
    interp_array x;
    LEMNOS_TRY(lemnos_status_annotate(array_to_interp(&args[i], &x), "argument %d", i));
    LEMNOS_TRY(array_check(declared, &x, i));
    if (!hlo_shape_is_static(declared)) shapes[i] = hlo_shape_with_dims(m->shapes, declared, x.rank, x.dims);
  }
  diag_sink sink;
  diag_sink_init(&sink, a);
  lemnos_status status = import_refine(m, n, shapes, &sink);
  diag_sink_deinit(&sink);
  return status;
}

// A dynamic shape anywhere that would run: the kernel path has no answer to it.
static bool is_static_module(const hlo_module *m) {
  for (int c = 0; c < m->n_computations; c++)
    HLO_FOR_EACH (i, m->computations[c])
      if (!hlo_shape_is_static(i->shape)) return false;
  return true;
}

// Operations by which processes meet, or that need the run as a whole: feeds, channels, StableHLO's interpreter
// dialect.
// What a manual computation calls runs on a grid of its own: the call is a host step.
static bool needs_processes(const hlo_module *m, const hlo_computation *c, uint8_t *seen) {
  if (seen[c->id]) return false;
  seen[c->id] = 1;
  HLO_FOR_EACH (i, c) {
    uint8_t family = hlo_op_table[i->op].family;
    if (family == HLO_FAMILY_COLLECTIVE && (m->n_replicas > 1 || m->n_partitions > 1)) return true;
    if (family == HLO_FAMILY_HOST && i->op != HLO_OP_AFTER_ALL && i->op != HLO_OP_CREATE_TOKEN) return true;
    if (i->op == HLO_OP_CUSTOM_CALL) {
      strv target = HLO_ATTRS(i, custom_call)->target;
      if (strv_eq_cstr(target, "sdy.manual_computation")) continue;
      if (strv_starts_with(target, STRV("interpreter.")) || strv_eq_cstr(target, "check.expect_serialized_eq"))
        return true;
    }
    for (int k = 0; k < i->n_called; k++)
      if (needs_processes(m, i->called[k], seen)) return true;
  }
  return false;
}

static lemnos_status compile_interpreted(lemnos_executable *e, const char *reason) {
  e->whole_reason = reason;
  return interp_compile(e->module, &e->program);
}

// A constant of one value is uploaded in pieces: host memory never holds it whole.
static lemnos_status upload_splat(lemnos_executable *e, const hlo_literal *l, int64_t at) {
  const lemnos_backend *b = e->device->entry.backend;
  enum { PIECE = 1 << 20 };  // a multiple of every element's size
  int64_t bytes = hlo_shape_bytes(l->shape), size = hlo_dtype_bytes(l->shape->dtype),
          room = bytes < PIECE ? bytes : PIECE;
  char *piece = heap_alloc((size_t)room + 1);
  for (int64_t k = 0; k < room; k += size) memcpy(piece + k, l->data, (size_t)size);
  lemnos_status status = LEMNOS_SUCCESS;
  for (int64_t k = 0; k < bytes && !status; k += room)
    status = b->upload(e->device->device, e->constants, at + k, piece, bytes - k < room ? bytes - k : room);
  free(piece);
  return status;
}

static lemnos_status upload_constants(lemnos_executable *e, int64_t max_bytes) {
  const plan *p = e->plan;
  const lemnos_backend *b = e->device->entry.backend;
  if (!p->constant_bytes) return LEMNOS_SUCCESS;
  if (max_bytes && p->constant_bytes > max_bytes)
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "the program's constants need %lld bytes, the limit is %lld",
                              (long long)p->constant_bytes, (long long)max_bytes);
  LEMNOS_TRY(b->alloc(e->device->device, p->constant_bytes, &e->constants));
  for (int c = 0; c < p->n_constants; c++) {
    const hlo_literal *l = p->constants[c];
    int64_t bytes = hlo_shape_bytes(l->shape), at = p->constant_offsets[c];
    if (!bytes) continue;
    LEMNOS_TRY(l->splat ? upload_splat(e, l, at) : b->upload(e->device->device, e->constants, at, l->data, bytes));
  }
  return LEMNOS_SUCCESS;
}

static void count_steps(const plan_list *l, lemnos_executable_stats *s) {
  for (int i = 0; i < l->n; i++) {
    const plan_step *p = &l->steps[i];
    s->n_launches += p->kind == PLAN_LAUNCH;
    s->n_host_steps += p->kind == PLAN_HOST;
    if (p->kind == PLAN_WHILE) {
      count_steps(&p->loop.cond, s);
      count_steps(&p->loop.body, s);
    }
    for (int b = 0; p->kind == PLAN_CONDITIONAL && b < p->conditional.n_branches; b++)
      count_steps(&p->conditional.branches[b], s);
  }
}

static void fill_stats(lemnos_executable *e) {
  const plan *p = e->plan;
  lemnos_executable_stats *s = &e->stats;
  if (!p) return;
  s->temp_bytes = p->arena_bytes;
  s->scratch_bytes = p->scratch_bytes;
  s->constant_bytes = p->constant_bytes;
  s->n_kernels = p->n_kernels;
  count_steps(&p->main, s);
  int64_t io = 0;
  for (int i = 0; i < p->n_params; i++) io += hlo_shape_bytes(p->params[i].shape);
  for (int i = 0; i < p->n_results; i++)
    if (p->results[i].alias < 0) io += hlo_shape_bytes(p->results[i].shape);
  s->peak_bytes = io + p->arena_bytes + p->constant_bytes;
}

static lemnos_status compile_planned(lemnos_executable *e, const lemnos_compile_options *options) {
  const registry_entry *entry = &e->device->entry;
  const hlo_target *target = &entry->info.target;
  hlo_pipeline_options pipeline = {.opt_bisect_limit = options->opt_bisect_limit > 0 ? options->opt_bisect_limit : -1,
                                   .fold_budget = options->keep_constants ? -1 : 0,
                                   .verify_each = options->verify_each,
                                   .target = target,
                                   .can_fuse = kernel_can_fuse_elementwise};
  LEMNOS_TRY(hlo_run_pipeline(e->module, &pipeline));
  hlo_buffer_assignment *buffers;
  LEMNOS_TRY(hlo_assign_buffers(e->module, e->arena, &buffers));
  if (options->verify_each) LEMNOS_TRY(hlo_buffers_verify(e->module, buffers));
  LEMNOS_TRY(plan_build(e->arena, e->module, buffers, target, &e->plan));
  const plan *p = e->plan;
  if (p->n_kernels) {
    backend_code code;
    LEMNOS_TRY(
        entry->backend->compile(entry->state, target, p->kernels, p->n_kernels, e->device->context->pool, &code));
    lemnos_status status = entry->backend->load(e->device->device, &code, p->kernels, p->n_kernels, &e->code);
    backend_code_deinit(&code);
    LEMNOS_TRY(status);
  }
  return upload_constants(e, options->max_bytes);
}

lemnos_status lemnos_compile(lemnos_module *m, lemnos_device *d, const lemnos_compile_options *options,
                             lemnos_executable **out) {
  lemnos_compile_options none = {0};
  if (!options) options = &none;
  double start = io_seconds();
  lemnos_executable *e = heap_alloc(sizeof *e);
  atomic_init(&e->refs, 1);
  pthread_mutex_init(&e->lock, NULL);
  e->device = d;
  device_retain(d);
  e->arena = arena_create();
  e->module = hlo_module_clone(m->hlo, e->arena);
  lemnos_status status = refine(e->module, options->args, e->arena);
  if (!status) {
    if (!d->entry.backend)
      status = compile_interpreted(e, NULL);
    else if (!is_static_module(e->module))
      status = compile_interpreted(e, "shapes stay dynamic");
    else if (needs_processes(e->module, e->module->entry,
                             ARENA_ARRAY(e->arena, uint8_t, e->module->next_computation_id)))
      status = compile_interpreted(e, "it is for several processes");
    else
      status = compile_planned(e, options);
  }
  if (status) {
    executable_release(e);
    return status;
  }
  e->n_params = module_param_leaves(e->module);
  e->n_results = hlo_shape_leaves(e->module->entry->root->shape);
  fill_stats(e);
  e->stats.compile_seconds = io_seconds() - start;
  *out = e;
  return LEMNOS_SUCCESS;
}

void lemnos_executable_free(lemnos_executable *e) {
  executable_release(e);
}
void lemnos_executable_get_stats(const lemnos_executable *e, lemnos_executable_stats *out) {
  *out = e->stats;
}

char *lemnos_executable_explain(const lemnos_executable *e) {
  strbuf b = {0};
  if (e->program)
    strbuf_printf(&b, "the whole program runs in the interpreter%s%s\n", e->whole_reason ? ": " : "",
                  e->whole_reason ? e->whole_reason : "");
  else
    plan_print(&b, e->plan);
  return b.data;
}
