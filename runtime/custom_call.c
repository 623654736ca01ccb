// SPDX-License-Identifier: Apache-2.0
// Custom calls that the embedder implements: the context keeps them, every run hands them to the interpreter, which
// calls them in a run of its own or in a host step of a device's plan.
#include <stdlib.h>
#include <string.h>

#include "runtime/internal.h"

typedef struct custom_call {
  lemnos_custom_call_fn fn;
  void *user;
  char target[];
} custom_call;

static char *copy_text(strv s) {
  char *p = heap_alloc(s.len + 1);
  if (s.len) memcpy(p, s.data, s.len);
  p[s.len] = 0;
  return p;
}

// Arrays in public form, tokens left out; their number.
static int32_t public_arrays(int n, const interp_array *from, lemnos_array *to) {
  int32_t count = 0;
  for (int k = 0; k < n; k++)
    if (from[k].dtype != HLO_TOKEN) array_from_interp(&from[k], &to[count++]);
  return count;
}

static lemnos_status call(void *user, const hlo_instr *i, int n_args, const interp_array *args, int n_results,
                          interp_array *results) {
  const custom_call *cc = user;
  const hlo_dict *d = &HLO_ATTRS(i, custom_call)->attributes;
  lemnos_array *arrays = heap_alloc(sizeof *arrays * (size_t)(n_args + n_results + 1));
  char **texts = heap_alloc(sizeof *texts * (size_t)(2 * d->n + 1));
  for (int k = 0; k < d->n; k++) {
    texts[k] = copy_text(d->entries[k].name);
    texts[d->n + k] = copy_text(d->entries[k].value);
  }
  lemnos_custom_call out = {.target = cc->target,
                            .n_attributes = d->n,
                            .attribute_names = (const char *const *)texts,
                            .attribute_values = (const char *const *)(texts + d->n),
                            .args = arrays,
                            .results = arrays + n_args,
                            .n_args = public_arrays(n_args, args, arrays),
                            .n_results = public_arrays(n_results, results, arrays + n_args)};
  const char *why = cc->fn(cc->user, &out);
  lemnos_status status = why ? host_failed(i, why) : LEMNOS_SUCCESS;
  for (int k = 0; k < 2 * d->n; k++) free(texts[k]);
  free(texts);
  free(arrays);
  return status;
}

lemnos_status lemnos_custom_call_register(lemnos_context *c, const char *target, lemnos_custom_call_fn fn, void *user) {
  if (!target || !*target || !fn)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "a custom call needs a target and a function");
  if (interp_custom_call_is_built_in(strv_from_cstr(target)))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "custom call target '%s' is built in", target);
  for (int k = 0; k < c->custom_calls.len; k++) {
    interp_custom_call *known = &c->custom_calls.data[k];
    if (strcmp(known->target, target)) continue;
    custom_call *cc = known->user;
    cc->fn = fn;
    cc->user = user;
    return LEMNOS_SUCCESS;
  }
  size_t size = strlen(target) + 1;
  custom_call *cc = heap_alloc(sizeof *cc + size);
  cc->fn = fn;
  cc->user = user;
  memcpy(cc->target, target, size);
  vec_push(NULL, &c->custom_calls, ((interp_custom_call){.target = cc->target, .fn = call, .user = cc}));
  return LEMNOS_SUCCESS;
}

void custom_calls_deinit(lemnos_context *c) {
  for (int k = 0; k < c->custom_calls.len; k++) free(c->custom_calls.data[k].user);
  vec_deinit(&c->custom_calls);
}
