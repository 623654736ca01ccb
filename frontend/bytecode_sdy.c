// SPDX-License-Identifier: Apache-2.0
// Shardy attributes. Nothing computes with them, so they become opaque attributes with the text that the sdy dialect
// prints, as if they had been parsed. Attributes that only occur inside others (axes, dimensions, factors) have just
// their inner text.
#include "frontend/bytecode.h"

// Finishes an attribute; frees the buffer.
static const mlir_attr *text_attr(bc_reader *r, strbuf *b) {
  const mlir_attr *a = bc_stop(r) ? NULL : bc_new_string(r, MLIR_ATTR_OPAQUE, arena_strv(r->arena, strbuf_view(b)));
  strbuf_deinit(b);
  return a;
}

// A sharding or mesh inside another attribute loses its "#sdy.sharding" or "#sdy.".
static void append_attr(strbuf *b, const mlir_attr *a) {
  if (!a) return;
  strv text = a->string;
  if (a->kind == MLIR_ATTR_SYMBOL) strbuf_append_char(b, '@');
  if (a->kind == MLIR_ATTR_STRING) strbuf_append_char(b, '"');
  if (strv_starts_with(text, STRV("#sdy.sharding<")))
    text = strv_drop(text, sizeof "#sdy.sharding" - 1);
  else if (strv_starts_with(text, STRV("#sdy.")))
    text = strv_drop(text, sizeof "#sdy." - 1);
  strbuf_append(b, text);
  if (a->kind == MLIR_ATTR_STRING) strbuf_append_char(b, '"');
}

// The attributes of a list between the two texts. An empty list appends nothing if skip_empty.
static void append_list(bc_reader *r, bc_cursor *c, strbuf *b, const char *open, const char *close, bool skip_empty) {
  int32_t n = 0;
  const mlir_attr **list = bc_attr_list(r, c, &n);
  if (r->failed || (n == 0 && skip_empty)) return;
  strbuf_append_cstr(b, open);
  for (int32_t i = 0; i < n && b->len / 256 <= r->size; i++) {
    if (i > 0) strbuf_append_cstr(b, ", ");
    append_attr(b, list[i]);
  }
  strbuf_append_cstr(b, close);
}

static void append_factor(strbuf *b, int64_t n) {
  if (n >= 0 && n < 18)
    strbuf_append_char(b, (char)('i' + n));
  else
    strbuf_printf(b, "z_%lld", (long long)n - 17);
}

static void append_factor_set(bc_reader *r, bc_cursor *c, strbuf *b, const char *name) {
  int32_t n = 0;
  const int64_t *list = bc_svarint_list(r, c, &n);
  if (r->failed || n == 0) return;
  strbuf_printf(b, " %s={", name);
  for (int32_t i = 0; i < n; i++) {
    if (i > 0) strbuf_append_cstr(b, ", ");
    append_factor(b, list[i]);
  }
  strbuf_append_char(b, '}');
}

static void append_mesh(bc_reader *r, bc_cursor *c, strbuf *b) {
  append_list(r, c, b, "#sdy.mesh<[", "]", false);
  int32_t n = 0;
  const int64_t *ids = bc_svarint_list(r, c, &n);
  if (r->failed) return;
  for (int32_t i = 0; i < n; i++) strbuf_printf(b, "%s%lld", i == 0 ? ", device_ids=[" : ", ", (long long)ids[i]);
  strbuf_append_cstr(b, n > 0 ? "]>" : ">");
}

static void append_dimension(bc_reader *r, bc_cursor *c, strbuf *b) {
  append_list(r, c, b, "{", "", false);
  bool any = b->len > 1, has_priority = false;
  bool closed = bc_byte(r, c);
  uint64_t priority = bc_flagged(r, c, &has_priority);
  if (!closed) strbuf_append_cstr(b, any ? ", ?" : "?");
  strbuf_append_char(b, '}');
  if (has_priority) strbuf_printf(b, "p%llu", (unsigned long long)priority);
}

static void append_sharding(bc_reader *r, bc_cursor *c, strbuf *b, uint64_t code) {
  strbuf_append_cstr(b, "#sdy.sharding<");
  append_attr(b, bc_attr_ref(r, c));
  append_list(r, c, b, ", [", "]", false);
  append_list(r, c, b, ", replicated={", "}", true);
  if (code != 6) append_list(r, c, b, ", unreduced={", "}", true);
  if (code == 17) strbuf_printf(b, ", reduction=%lld", (long long)bc_svarint(r, c));
  strbuf_append_char(b, '>');
}

static void append_rule(bc_reader *r, bc_cursor *c, strbuf *b) {
  int32_t n = 0;
  const int64_t *sizes = bc_svarint_list(r, c, &n);
  append_list(r, c, b, "#sdy.op_sharding_rule<(", ")", false);
  append_list(r, c, b, "->(", ") {", false);
  for (int32_t i = 0; i < n && !r->failed; i++) {
    if (i > 0) strbuf_append_cstr(b, ", ");
    append_factor(b, i);
    strbuf_printf(b, "=%lld", (long long)sizes[i]);
  }
  strbuf_append_char(b, '}');
  append_factor_set(r, c, b, "reduction");
  append_factor_set(r, c, b, "need_replication");
  append_factor_set(r, c, b, "permutation");
  append_factor_set(r, c, b, "blocked_propagation");
  strbuf_append_cstr(b, bc_byte(r, c) ? ", custom>" : ">");
}

static void append_axis(bc_reader *r, bc_cursor *c, strbuf *b, bool is_mesh_axis) {
  strbuf_append_char(b, '"');
  strbuf_append(b, bc_string(r, c));
  strbuf_append_char(b, '"');
  if (is_mesh_axis)
    strbuf_printf(b, "=%lld", (long long)bc_svarint(r, c));
  else
    append_attr(b, bc_opt_attr_ref(r, c));
}

static void append_sub_axis(bc_reader *r, bc_cursor *c, strbuf *b) {
  long long pre_size = bc_svarint(r, c), size = bc_svarint(r, c);
  strbuf_printf(b, ":(%lld)%lld", pre_size, size);
}

static void append_factors(bc_reader *r, bc_cursor *c, strbuf *b) {
  int32_t n = 0;
  const int64_t *list = bc_svarint_list(r, c, &n);
  for (int32_t i = 0; i < n && !r->failed; i++) append_factor(b, list[i]);
}

static void append_all_to_all(bc_reader *r, bc_cursor *c, strbuf *b) {
  append_list(r, c, b, "{", "}", false);
  long long from = bc_svarint(r, c), to = bc_svarint(r, c);
  strbuf_printf(b, ": %lld->%lld", from, to);
}

const mlir_attr *bc_sdy_attr(bc_reader *r, bc_cursor *c) {
  size_t pos = c->pos;
  uint64_t code = bc_varint(r, c);
  strbuf b = {0};
  switch (code) {
    case 0: append_list(r, c, &b, "#sdy<manual_axes{", "}>", false); break;
    case 1:
    case 4: append_axis(r, c, &b, code == 1); break;
    case 2: append_mesh(r, c, &b); break;
    case 3: append_sub_axis(r, c, &b); break;
    case 5: append_dimension(r, c, &b); break;
    case 6:
    case 15:
    case 17: append_sharding(r, c, &b, code); break;
    case 7:
    case 16: append_list(r, c, &b, "#sdy.sharding_per_value<[", "]>", false); break;
    case 8: append_factors(r, c, &b); break;
    case 9: append_list(r, c, &b, "[", "]", false); break;
    case 10: append_rule(r, c, &b); break;
    case 11: append_list(r, c, &b, "{", "}", false); break;
    case 12:
    case 14: append_list(r, c, &b, "[", "]", false); break;
    case 13: append_all_to_all(r, c, &b); break;
    default: bc_unimplemented(r, pos, "sdy attribute code %llu is not known", (unsigned long long)code); break;
  }
  r->text_bytes += b.len;
  if (r->text_bytes / 256 > r->size) bc_fail(r, pos, "the text of the sdy attributes is too long");
  return text_attr(r, &b);
}
