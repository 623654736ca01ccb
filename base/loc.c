// SPDX-License-Identifier: Apache-2.0
// Printing of source locations.
#include "base/loc.h"

const loc *loc_file(const loc *l) {
  if (!l) return NULL;
  const loc *found = NULL;
  switch (l->kind) {
    case LOC_FILE: return l;
    case LOC_NAME: return loc_file(l->child);
    case LOC_CALLSITE: found = loc_file(l->child); return found ? found : loc_file(l->caller);
    case LOC_FUSED:
      for (int32_t i = 0; i < l->n_fused && !found; i++) found = loc_file(l->fused[i]);
      return found;
  }
  return NULL;
}

// The first name inside l, or the empty view.
static strv first_name(const loc *l) {
  strv name = {0};
  if (!l) return name;
  if (l->kind == LOC_NAME && l->name.len) return l->name;
  if (l->kind == LOC_NAME) return first_name(l->child);
  if (l->kind == LOC_CALLSITE) {
    name = first_name(l->child);
    return name.len ? name : first_name(l->caller);
  }
  if (l->kind == LOC_FUSED) {
    for (int32_t i = 0; i < l->n_fused && !name.len; i++) name = first_name(l->fused[i]);
  }
  return name;
}

void loc_print(strbuf *out, const loc *l) {
  const loc *file = loc_file(l);
  if (file) {
    strbuf_append(out, file->name);
    if (file->line > 0) strbuf_printf(out, ":%d", (int)file->line);
    if (file->line > 0 && file->col > 0) strbuf_printf(out, ":%d", (int)file->col);
    return;
  }
  strv name = first_name(l);
  strbuf_append(out, name.len ? name : STRV("unknown location"));
}
