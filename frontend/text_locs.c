// SPDX-License-Identifier: Apache-2.0
// Locations of the MLIR text parser: loc("file":1:2), ranges, loc("name"(child)), callsite, fused, unknown, aliases.
//
// Printed modules define their location aliases at the end of the file; a use of one that is not known yet is noted
// as a fixup and filled in last. Inside alias definitions every name must be defined already, so that no location can
// contain itself. The depth of a chain of aliases is limited, as whoever walks locations recurses.
#include <string.h>

#include "frontend/text_internal.h"

// Every parse function stores the location in *slot (NULL: unknown) and its depth in *depth.
static bool parse_inner(text_parser *p, const loc **slot, int *depth);

static bool check_depth(text_parser *p, int depth) {
  if (depth <= TEXT_MAX_LOC_DEPTH) return true;
  return text_error(p, p->tok.start, "location is nested more than %d levels deep", TEXT_MAX_LOC_DEPTH);
}

static bool parse_alias(text_parser *p, const loc **slot, int *depth) {
  strv name = text_token_name(p);
  text_alias *alias = strmap_get(&p->attr_aliases, name);
  if (alias) {
    if (!alias->attr || alias->attr->kind != MLIR_ATTR_LOCATION) return text_expected(p, "a location");
    *slot = alias->attr->loc;
    *depth = alias->height;
    if (p->in_alias) p->weight += alias->weight;
  } else if (p->in_alias) {
    return text_expected(p, "a location alias that is defined above");
  } else {
    loc_fixup f = {slot, name, p->tok.start};
    vec_push(p->scratch, &p->loc_fixups, f);
    *depth = 1;
  }
  text_advance(p);
  return true;
}

// :line:col, with an optional end: "to :col" or "to line:col"
static bool parse_position(text_parser *p, loc *l) {
  int64_t line = 0, col = 0, ignored = 0;
  if (!text_expect(p, TOK_COLON, "':'") || !text_parse_integer(p, &line)) return false;
  if (text_accept(p, TOK_COLON) && !text_parse_integer(p, &col)) return false;
  if (line < 0 || line > INT32_MAX || col < 0 || col > INT32_MAX)
    return text_error(p, p->prev_end, "line or column is out of range");
  l->line = (int32_t)line;
  l->col = (int32_t)col;
  if (!text_accept_keyword(p, "to")) return true;
  if (p->tok.kind == TOK_INT && !text_parse_integer(p, &ignored)) return false;
  return text_expect(p, TOK_COLON, "':'") && text_parse_integer(p, &ignored);
}

static bool parse_file_or_name(text_parser *p, const loc **slot, int *depth) {
  loc *l = ARENA_NEW(p->arena, loc);
  if (!text_parse_string(p, &l->name)) return false;
  *slot = l;
  *depth = 1;
  if (p->tok.kind == TOK_COLON) {
    l->kind = LOC_FILE;
    l->name = text_intern(p, l->name);
    return parse_position(p, l);
  }
  l->kind = LOC_NAME;
  if (!text_accept(p, TOK_LPAREN)) return true;
  int child = 0;
  if (!parse_inner(p, &l->child, &child)) return false;
  *depth = child + 1;
  return text_expect(p, TOK_RPAREN, "')' after the location's child");
}

static bool parse_callsite(text_parser *p, const loc **slot, int *depth) {
  loc *l = ARENA_NEW(p->arena, loc);
  l->kind = LOC_CALLSITE;
  *slot = l;
  int callee = 0, caller = 0;
  if (!text_expect(p, TOK_LPAREN, "'('") || !parse_inner(p, &l->child, &callee)) return false;
  if (!text_expect_keyword(p, "at") || !parse_inner(p, &l->caller, &caller)) return false;
  *depth = (callee > caller ? callee : caller) + 1;
  return text_expect(p, TOK_RPAREN, "')'");
}

static bool parse_fused(text_parser *p, const loc **slot, int *depth) {
  if (text_accept(p, TOK_LESS)) {  // metadata, any attribute; dropped
    if (!text_parse_attr(p) || !text_expect(p, TOK_GREATER, "'>'")) return false;
  }
  if (!text_expect(p, TOK_LSQUARE, "'['")) return false;
  // Fixups point into the final array, so its size is counted first on a copy of the lexer's state.
  text_lexer lex = p->lex;
  token tok = p->tok;
  int n = 1, level = 0;
  for (; p->tok.kind != TOK_EOF; text_advance(p)) {
    token t = p->tok;
    if (level == 0 && t.kind == TOK_RSQUARE) break;
    if (level == 0 && t.kind == TOK_COMMA) n++;
    if (t.kind == TOK_LSQUARE || t.kind == TOK_LPAREN) level++;
    if (level > TEXT_MAX_DEPTH) break;  // refused below; every level counting to the end would take quadratic time
    if (t.kind == TOK_RSQUARE || t.kind == TOK_RPAREN) level--;
  }
  p->lex = lex;
  p->tok = tok;
  loc *l = ARENA_NEW(p->arena, loc);
  const loc **items = ARENA_ARRAY(p->arena, const loc *, n);
  l->kind = LOC_FUSED;
  l->fused = items;
  *slot = l;
  *depth = 1;
  for (int i = 0; i < n && p->tok.kind != TOK_RSQUARE; i++) {
    int d = 0;
    if (!parse_inner(p, &items[i], &d)) return false;
    l->n_fused = i + 1;
    if (d + 1 > *depth) *depth = d + 1;
    if (!text_accept(p, TOK_COMMA)) break;
  }
  return text_expect(p, TOK_RSQUARE, "',' or ']' in the fused location");
}

static bool parse_inner(text_parser *p, const loc **slot, int *depth) {
  if (!text_enter(p)) return false;
  *slot = NULL;
  *depth = 1;
  bool ok;
  if (p->tok.kind == TOK_HASH) {
    ok = parse_alias(p, slot, depth);
  } else if (p->tok.kind == TOK_STRING) {
    ok = parse_file_or_name(p, slot, depth);
  } else if (text_accept_keyword(p, "unknown")) {
    ok = true;
  } else if (text_accept_keyword(p, "callsite")) {
    ok = parse_callsite(p, slot, depth);
  } else if (text_accept_keyword(p, "fused")) {
    ok = parse_fused(p, slot, depth);
  } else if (text_accept_keyword(p, "loc")) {
    ok = text_expect(p, TOK_LPAREN, "'('") && parse_inner(p, slot, depth) && text_expect(p, TOK_RPAREN, "')'");
  } else {
    ok = text_expected(p, "a location");
  }
  if (!ok || !check_depth(p, *depth)) return false;
  text_leave(p);
  return true;
}

bool text_parse_loc(text_parser *p, const loc **slot) {
  int depth = 0;
  if (!text_expect_keyword(p, "loc") || !text_expect(p, TOK_LPAREN, "'(' after 'loc'")) return false;
  if (!parse_inner(p, slot, &depth)) return false;
  if (p->depth + depth > p->peak) p->peak = p->depth + depth;
  return text_expect(p, TOK_RPAREN, "')' at the end of the location");
}

void text_resolve_locs(text_parser *p) {
  for (int i = 0; i < p->loc_fixups.len; i++) {
    loc_fixup *f = &p->loc_fixups.data[i];
    text_alias *alias = strmap_get(&p->attr_aliases, f->name);
    if (!alias || !alias->attr || alias->attr->kind != MLIR_ATTR_LOCATION)
      text_error(p, f->at, "location alias '#" STRV_FMT "' is not defined", STRV_ARG(f->name));
    else
      *f->slot = alias->attr->loc;
  }
}
