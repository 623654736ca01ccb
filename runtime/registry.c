// SPDX-License-Identifier: Apache-2.0
// The device registry: backends, their devices, the order of preference, and names.
//
// Backends are opened when first asked for; enumerating all of them is what `lemnos devices` does. `cpu` and `interp`
// are found without opening a Vulkan loader. Order: discrete GPU, integrated GPU, CPU, software GPU, others,
// interpreter.
#include <stdio.h>
#include <stdlib.h>

#include "runtime/internal.h"

void registry_init(registry *r, const char *cache_dir) {
  memset(r, 0, sizeof *r);
  pthread_mutex_init(&r->lock, NULL);
  for (int i = 0; lemnos_backend_list[i] && r->n_backends < REGISTRY_MAX_BACKENDS; i++)
    r->backends[r->n_backends++] = lemnos_backend_list[i];
  if (cache_dir) {
    r->cache_dir = heap_alloc(strlen(cache_dir) + 1);
    strcpy(r->cache_dir, cache_dir);
  }
}

void registry_deinit(registry *r) {
  for (int i = 0; i < r->n_backends; i++)
    if (r->states[i]) r->backends[i]->close(r->states[i]);
  strbuf_deinit(&r->absent);
  free(r->cache_dir);
  pthread_mutex_destroy(&r->lock);
}

// Opens backend b once; false (and a line in absent) if it cannot be. Lock held.
static bool open_backend(registry *r, int b) {
  if (!r->opened[b]) {
    r->opened[b] = true;
    lemnos_status s = r->backends[b]->open(r->cache_dir, &r->states[b]);
    if (s) {
      r->states[b] = NULL;
      strbuf_printf(&r->absent, "%s: %s\n", r->backends[b]->device_prefix, lemnos_status_message(s));
      lemnos_status_free(s);
    }
  }
  return r->states[b] != NULL;
}

static void add_entry(registry *r, registry_entry e) {
  if (r->n_entries == REGISTRY_MAX_DEVICES) return;
  int at = r->n_entries++;
  // Stable insertion by kind; compile-only devices go behind everything that runs.
  int rank = e.info.compile_only * 100 + (int)e.info.kind;
  while (at > 0 && r->entries[at - 1].info.compile_only * 100 + (int)r->entries[at - 1].info.kind > rank) {
    r->entries[at] = r->entries[at - 1];
    at--;
  }
  r->entries[at] = e;
}

static void enumerate_backend(registry *r, int b) {
  backend_device_info *infos = heap_alloc(sizeof *infos * REGISTRY_MAX_DEVICES);
  int n = 0;
  lemnos_status s = r->backends[b]->enumerate(r->states[b], REGISTRY_MAX_DEVICES, infos, &n, &r->absent);
  if (s) {
    strbuf_printf(&r->absent, "%s: %s\n", r->backends[b]->device_prefix, lemnos_status_message(s));
    lemnos_status_free(s);
    n = 0;
  }
  for (int i = 0; i < n; i++) {
    registry_entry e = {.backend = r->backends[b], .state = r->states[b], .ordinal = i, .info = infos[i]};
    snprintf(e.id, sizeof e.id, "%s:%d", r->backends[b]->device_prefix, i);
    add_entry(r, e);
  }
  free(infos);
}

static registry_entry interpreter_entry(void) {
  registry_entry e = {.ordinal = 0};
  strcpy(e.id, "interp");
  strcpy(e.info.name, "bytecode interpreter");
  strcpy(e.info.driver, "Lemnos " LEMNOS_VERSION_STRING);
  e.info.kind = BACKEND_INTERPRETER;
  e.info.memory_bytes = 0;
  return e;
}

static void enumerate_locked(registry *r) {
  if (r->enumerated) return;
  r->n_entries = 0;
  for (int b = 0; b < r->n_backends; b++)
    if (open_backend(r, b)) enumerate_backend(r, b);
  add_entry(r, interpreter_entry());
  r->enumerated = true;
}

lemnos_status registry_enumerate(registry *r) {
  pthread_mutex_lock(&r->lock);
  enumerate_locked(r);
  pthread_mutex_unlock(&r->lock);
  return LEMNOS_SUCCESS;
}

static bool prefix_matches(strv id, const char *prefix) {
  strv head, rest;
  strv_split(id, ':', &head, &rest);
  return strv_eq_cstr(head, prefix);
}

static lemnos_status not_found(registry *r, const char *id) {
  enumerate_locked(r);
  strbuf list = {0};
  for (int i = 0; i < r->n_entries; i++)
    strbuf_printf(&list, "%s%s (%s)", i ? ", " : "", r->entries[i].id, r->entries[i].info.name);
  if (r->absent.len) strbuf_printf(&list, "; absent: %s", r->absent.data);
  while (list.len && list.data[list.len - 1] == '\n') list.data[--list.len] = 0;
  lemnos_status s = lemnos_status_make(LEMNOS_NOT_FOUND, "no device '%s' here; there are: %s", id, list.data);
  strbuf_deinit(&list);
  return s;
}

// A CPU as if it had less: "cpu:avx2", "cpu:sse". Tests force code for other machines this way.
static bool find_reduced(registry *r, strv want, registry_entry *out) {
  for (int i = 0; i < r->n_entries; i++) {
    const registry_entry *e = &r->entries[i];
    if (e->info.kind != BACKEND_CPU || e->ordinal != 0 || !e->backend ||
        !prefix_matches(want, e->backend->device_prefix))
      continue;
    hlo_target t;
    lemnos_status s = e->backend->target_parse(e->state, want, &t);
    bool ok = !s && t.vector_bytes <= e->info.target.vector_bytes;
    lemnos_status_free(s);
    if (!ok) continue;
    *out = *e;
    out->info.target = t;
    snprintf(out->id, sizeof out->id, STRV_FMT, STRV_ARG(want));
    return true;
  }
  return false;
}

static lemnos_status find_locked(registry *r, const char *id, registry_entry *out) {
  if (!id || !*id) {  // the most preferred
    enumerate_locked(r);
    *out = r->entries[0];
    return LEMNOS_SUCCESS;
  }
  strv want = strv_from_cstr(id);
  if (!r->enumerated && !prefix_matches(want, "interp")) {
    // Open only the backend that the name can mean.
    bool known = false;
    for (int b = 0; b < r->n_backends; b++) known |= prefix_matches(want, r->backends[b]->device_prefix);
    if (!known) return not_found(r, id);
  }
  if (!r->enumerated) {
    r->n_entries = 0;
    for (int b = 0; b < r->n_backends; b++)
      if (prefix_matches(want, r->backends[b]->device_prefix) && open_backend(r, b)) enumerate_backend(r, b);
    add_entry(r, interpreter_entry());
  }
  for (int i = 0; i < r->n_entries; i++) {
    const registry_entry *e = &r->entries[i];
    strv bare = strv_from_cstr(e->id);
    if (strv_eq(bare, want) || (e->ordinal == 0 && prefix_matches(bare, id))) {
      *out = *e;
      return LEMNOS_SUCCESS;
    }
  }
  if (find_reduced(r, want, out)) return LEMNOS_SUCCESS;
  return not_found(r, id);
}

lemnos_status registry_find(registry *r, const char *id, registry_entry *out) {
  if (!id || !*id) id = getenv("LEMNOS_DEVICE");
  pthread_mutex_lock(&r->lock);
  lemnos_status s = find_locked(r, id, out);
  pthread_mutex_unlock(&r->lock);
  return s;
}

lemnos_status registry_target(registry *r, const char *spec, hlo_target *out, const lemnos_backend **out_backend,
                              backend_state **out_state) {
  pthread_mutex_lock(&r->lock);
  strbuf why = {0};
  for (int b = 0; b < r->n_backends; b++) {
    if (!open_backend(r, b)) continue;
    lemnos_status s = r->backends[b]->target_parse(r->states[b], strv_from_cstr(spec), out);
    if (!s) {
      *out_backend = r->backends[b];
      *out_state = r->states[b];
      pthread_mutex_unlock(&r->lock);
      strbuf_deinit(&why);
      return LEMNOS_SUCCESS;
    }
    if (lemnos_status_get_code(s) != LEMNOS_NOT_FOUND)
      strbuf_printf(&why, "; %s: %s", r->backends[b]->name, lemnos_status_message(s));
    lemnos_status_free(s);
  }
  if (r->absent.len) strbuf_printf(&why, "; absent: %s", r->absent.data);
  lemnos_status s =
      lemnos_status_make(LEMNOS_NOT_FOUND, "no backend knows the target '%s'%s", spec, why.data ? why.data : "");
  strbuf_deinit(&why);
  pthread_mutex_unlock(&r->lock);
  return s;
}
