// SPDX-License-Identifier: Apache-2.0
// Contexts, devices and modules of the public API.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "runtime/internal.h"

// --- context -------------------------------------------------------------------------------------

static char *default_cache_dir(void) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  strbuf b = {0};
  if (xdg && *xdg)
    strbuf_printf(&b, "%s/lemnos", xdg);
  else if (home && *home)
    strbuf_printf(&b, "%s/.cache/lemnos", home);
  return b.data;
}

lemnos_status lemnos_context_create(const lemnos_context_options *options, lemnos_context **out) {
  lemnos_context_options none = {0};
  if (!options) options = &none;
  thread_pool *pool;
  LEMNOS_TRY(thread_pool_create(options->threads, &pool));
  lemnos_context *c = heap_alloc(sizeof *c);
  c->pool = pool;
  c->threads = thread_pool_size(pool);
  char *dir = NULL;
  if (!options->cache_dir) dir = default_cache_dir();
  registry_init(&c->registry, options->cache_dir && *options->cache_dir ? options->cache_dir : dir);
  free(dir);
  *out = c;
  return LEMNOS_SUCCESS;
}

void lemnos_context_free(lemnos_context *c) {
  if (!c) return;
  registry_deinit(&c->registry);
  thread_pool_destroy(c->pool);
  custom_calls_deinit(c);
  free(c);
}

// --- devices -------------------------------------------------------------------------------------

static const char *kind_name(backend_device_kind kind) {
  switch (kind) {
    case BACKEND_DISCRETE_GPU: return "discrete GPU";
    case BACKEND_INTEGRATED_GPU: return "integrated GPU";
    case BACKEND_CPU: return "CPU";
    case BACKEND_SOFTWARE_GPU: return "software GPU";
    case BACKEND_OTHER: return "other";
    case BACKEND_INTERPRETER: return "interpreter";
  }
  return "?";
}

static void describe_target(const registry_entry *e, char *out, size_t room) {
  strbuf b = {0};
  const hlo_target *t = &e->info.target;
  if (!e->backend) {
    strbuf_append_cstr(&b, "every operation and type; the reference");
  } else {
    if (t->f64) strbuf_append_cstr(&b, "f64 ");
    if (t->f16) strbuf_append_cstr(&b, "f16 ");
    if (t->i64) strbuf_append_cstr(&b, "i64 ");
    if (t->i16) strbuf_append_cstr(&b, "i16 ");
    if (t->i8) strbuf_append_cstr(&b, "i8 ");
    if (t->storage_16) strbuf_append_cstr(&b, "storage16 ");
    if (t->storage_8) strbuf_append_cstr(&b, "storage8 ");
    if (t->fused_fma) strbuf_append_cstr(&b, "fma ");
    if (t->cls == HLO_TARGET_CPU)
      strbuf_printf(&b, "vectors %d bytes x %d, %d threads, L2 %lld KiB", t->vector_bytes, t->vector_registers,
                    t->threads, (long long)t->l2_bytes >> 10);
    else
      strbuf_printf(&b, "subgroup %d, workgroup %d, shared %lld KiB, %d buffers", t->subgroup, t->max_workgroup,
                    (long long)t->shared_bytes >> 10, t->max_buffers);
    if (t->max_storage_range && t->max_storage_range != INT64_MAX)
      strbuf_printf(&b, " of up to %lld MiB", (long long)t->max_storage_range >> 20);
  }
  snprintf(out, room, "%s", b.data ? b.data : "");
  strbuf_deinit(&b);
}

lemnos_status lemnos_devices(lemnos_context *c, lemnos_device_info **out_infos, int32_t *out_n, char **out_absent) {
  registry *r = &c->registry;
  LEMNOS_TRY(registry_enumerate(r));
  lemnos_device_info *infos = heap_alloc(sizeof *infos * (size_t)r->n_entries);
  for (int i = 0; i < r->n_entries; i++) {
    const registry_entry *e = &r->entries[i];
    lemnos_device_info *o = &infos[i];
    snprintf(o->id, sizeof o->id, "%s", e->id);
    snprintf(o->kind, sizeof o->kind, "%s", kind_name(e->info.kind));
    snprintf(o->name, sizeof o->name, "%s", e->info.name);
    snprintf(o->driver, sizeof o->driver, "%s", e->info.driver);
    o->memory_bytes = e->info.memory_bytes;
    o->compile_only = e->info.compile_only;
    describe_target(e, o->capabilities, sizeof o->capabilities);
  }
  *out_infos = infos;
  *out_n = r->n_entries;
  if (out_absent) {
    strbuf copy = {0};
    strbuf_append(&copy, strbuf_view(&r->absent));
    strbuf_append_cstr(&copy, "");
    *out_absent = copy.data ? copy.data : heap_alloc(1);
  }
  return LEMNOS_SUCCESS;
}

lemnos_status lemnos_device_open(lemnos_context *c, const char *id, lemnos_device **out) {
  registry_entry e;
  LEMNOS_TRY(registry_find(&c->registry, id, &e));
  if (e.info.compile_only)
    return lemnos_status_make(LEMNOS_FAILED_PRECONDITION, "device %s (%s) compiles but does not run programs", e.id,
                              e.info.name);
  backend_device *device = NULL;
  if (e.backend) LEMNOS_TRY(e.backend->device_open(e.state, e.ordinal, c->threads, &device));
  lemnos_device *d = heap_alloc(sizeof *d);
  atomic_init(&d->refs, 1);
  d->context = c;
  d->entry = e;
  d->device = device;
  *out = d;
  return LEMNOS_SUCCESS;
}

void device_retain(lemnos_device *d) {
  atomic_fetch_add(&d->refs, 1);
}
void device_release(lemnos_device *d) {
  if (!d || atomic_fetch_sub(&d->refs, 1) != 1) return;
  if (d->device) d->entry.backend->device_close(d->device);
  free(d);
}
void lemnos_device_free(lemnos_device *d) {
  device_release(d);
}
const char *lemnos_device_id(const lemnos_device *d) {
  return d->entry.id;
}
const char *lemnos_device_name(const lemnos_device *d) {
  return d->entry.info.name;
}

// --- modules -------------------------------------------------------------------------------------

// Takes `bytes`.
static lemnos_status load(lemnos_context *c, const char *name, char *bytes, size_t size, const char *entry,
                          lemnos_module **out) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  import_options options = {.entry = strv_from_cstr(entry)};
  hlo_module *hlo = NULL;
  lemnos_status status = import_program(a, strv_from_cstr(name), bytes, size, &options, &sink, &hlo);
  if (!status) status = hlo_verify(hlo, &sink);
  diag_sink_deinit(&sink);
  if (status) {
    arena_destroy(a);
    heap_aligned_free(bytes);
    bool placed = strncmp(lemnos_status_message(status), "error: ", 7) != 0;
    return placed ? status : lemnos_status_annotate(status, "%s", name);
  }
  lemnos_module *m = heap_alloc(sizeof *m);
  *m = (lemnos_module){.context = c, .arena = a, .bytes = bytes, .hlo = hlo};
  *out = m;
  return LEMNOS_SUCCESS;
}

lemnos_status lemnos_module_load(lemnos_context *c, const char *name, const void *data, size_t size, const char *entry,
                                 lemnos_module **out) {
  char *bytes = heap_try_alloc_aligned(size + 1);
  if (!bytes) return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory for a module of %zu bytes", size);
  memcpy(bytes, data, size);
  bytes[size] = 0;
  return load(c, name, bytes, size, entry, out);
}

lemnos_status lemnos_module_load_file(lemnos_context *c, const char *path, lemnos_module **out) {
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  return load(c, path, bytes, size, NULL, out);
}

void lemnos_module_free(lemnos_module *m) {
  if (!m) return;
  arena_destroy(m->arena);
  heap_aligned_free(m->bytes);
  free(m);
}

int32_t lemnos_module_n_args(const lemnos_module *m) {
  return module_param_leaves(m->hlo);
}
int32_t lemnos_module_n_results(const lemnos_module *m) {
  return hlo_shape_leaves(m->hlo->entry->root->shape);
}

lemnos_status lemnos_module_arg(const lemnos_module *m, int32_t i, lemnos_array *out) {
  if (i < 0 || i >= lemnos_module_n_args(m))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program has %d arguments, there is no argument %d",
                              lemnos_module_n_args(m), i);
  array_from_shape(module_param_leaf(m->hlo, i), out);
  return LEMNOS_SUCCESS;
}

lemnos_status lemnos_module_result(const lemnos_module *m, int32_t i, lemnos_array *out) {
  if (i < 0 || i >= lemnos_module_n_results(m))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "the program has %d results, there is no result %d",
                              lemnos_module_n_results(m), i);
  array_from_shape(hlo_shape_leaf(m->hlo->entry->root->shape, i), out);
  return LEMNOS_SUCCESS;
}
