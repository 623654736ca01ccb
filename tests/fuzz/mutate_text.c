// SPDX-License-Identifier: Apache-2.0
// A mutator of programs as text (MLIR or HLO text) by tokens and lines, so that changed programs often still parse:
// names become other names of the same program, operations and types others of the op table, an element type or a
// number changes everywhere it stands, lines and brackets are doubled, moved, removed, or come from another seed. One
// change in four is libFuzzer's own, on bytes; what is not text (bytecode) is left to it altogether.
#include "hlo/hlo.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_TOKENS = 4096, MAX_LINES = 1024, MAX_TEXT = 1 << 16 };

typedef enum token_kind {
  TOKEN_WORD,    // add, stablehlo.add, get-tuple-element, f32
  TOKEN_NAME,    // %x, @main, ^bb0, #loc1, !quant.uniform
  TOKEN_NUMBER,  // 12, 0x7F, 1.5e-3
  TOKEN_STRING,
  TOKEN_PUNCT,
} token_kind;

typedef struct range {
  size_t at, len;
} range;

typedef struct token {
  range r;
  token_kind kind;
} token;

typedef struct text {
  uint8_t *data;
  size_t size, max;
  uint64_t *random;
  token tokens[MAX_TOKENS];
  range lines[MAX_LINES];
  int n_tokens, n_lines;
} text;

// --- taking apart --------------------------------------------------------------------------------

static bool is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}
static bool is_alpha(uint8_t c) {
  return (c | 32) >= 'a' && (c | 32) <= 'z';
}
static bool is_word(uint8_t c) {
  return is_alpha(c) || is_digit(c) || c == '_' || c == '.' || c == '$';
}

static size_t word_end(const uint8_t *d, size_t i, size_t n) {
  while (i < n && (is_word(d[i]) || (d[i] == '-' && i + 1 < n && is_alpha(d[i + 1])))) i++;
  return i;
}

static size_t number_end(const uint8_t *d, size_t i, size_t n) {
  if (i + 2 < n && d[i] == '0' && d[i + 1] == 'x' && !is_alpha(d[i + 2])) i += 2;
  while (i < n && (is_digit(d[i]) || d[i] == '.')) i++;
  if (i + 2 < n && (d[i] | 32) == 'e' && (is_digit(d[i + 1]) || is_digit(d[i + 2])))
    for (i += 2; i < n && is_digit(d[i]);) i++;
  return i;
}

static size_t string_end(const uint8_t *d, size_t i, size_t n) {
  for (i++; i < n && d[i] != '"' && d[i] != '\n'; i++) i += d[i] == '\\' && i + 1 < n;
  return i < n ? i + 1 : n;
}

static void take_apart(text *t) {
  const uint8_t *d = t->data;
  size_t n = t->size, start = 0;
  bool after_number = false;
  t->n_tokens = t->n_lines = 0;
  for (size_t i = 0; i < n && t->n_tokens < MAX_TOKENS;) {
    token k = {.r.at = i, .kind = TOKEN_PUNCT};
    size_t end = i + 1;
    if (d[i] == '"')
      k.kind = TOKEN_STRING, end = string_end(d, i, n);
    else if (strchr("%@^#!", d[i]) && d[i])
      k.kind = TOKEN_NAME, end = word_end(d, i + 1, n);
    else if (is_digit(d[i]))
      k.kind = TOKEN_NUMBER, end = number_end(d, i, n);
    else if (after_number && d[i] == 'x')
      end = i + 1;  // 2x3xf32
    else if (is_alpha(d[i]))
      k.kind = TOKEN_WORD, end = word_end(d, i, n);
    after_number = k.kind == TOKEN_NUMBER || (d[i] == '?' && end == i + 1);
    k.r.len = end - i;
    if (d[i] > ' ') t->tokens[t->n_tokens++] = k;
    i = end;
  }
  for (size_t i = 0; i <= n && t->n_lines < MAX_LINES; i++) {
    if (i < n && d[i] != '\n') continue;
    size_t end = i < n ? i + 1 : n;
    if (end > start) t->lines[t->n_lines++] = (range){start, end - start};
    start = end;
  }
}

// --- what to put in ------------------------------------------------------------------------------

static strv any_operation(uint64_t *random, bool mlir) {
  for (int tries = 0; tries < 8; tries++) {
    const hlo_op_info *op = &hlo_op_table[fuzz_below(random, HLO_OP_COUNT)];
    const char *name = mlir ? op->stablehlo_name : op->text_name;
    if (*name) return strv_from_cstr(name);
  }
  return mlir ? STRV("stablehlo.add") : STRV("add");
}

static strv any_type(uint64_t *random, bool mlir) {
  const hlo_dtype_info *d = &hlo_dtype_table[fuzz_below(random, HLO_DTYPE_COUNT)];
  return strv_from_cstr(mlir ? d->stablehlo_name : d->hlo_name);
}

// A keyword of an enumeration, the key of an attribute, or a word of the syntax.
static strv any_word(uint64_t *random) {
  // clang-format off
  static const char *const words[] = {
#define ROW(kind, field, text_key, stablehlo_name, required, default_value) text_key, stablehlo_name,
#define LIST(list) HLO_ATTRS_##list(ROW)
      HLO_ATTR_LISTS(LIST)
#undef LIST
#undef ROW
#define VALUE(KIND, NAME) #NAME,
#define ENUM(kind) HLO_ENUM_##kind(VALUE)
          HLO_ENUMS(ENUM)
#undef ENUM
#undef VALUE
              "dense",
      "array",
      "tensor",
      "tuple",
      "loc",
      "true",
      "false",
      "unit",
      "unknown",
      "fused",
      "callsite",
      "private",
      "cond",
      "do",
      "across",
      "contracting_dims",
      "batching_dims",
      "dims",
      "sizes",
      "window",
      "stride",
      "rhs_dilate",
      "to_apply",
      "ROOT",
      "ENTRY",
      "dense_resource",
      "affine_map",
      "#stablehlo.bounds<3, ?>",
      "!quant.uniform<i8:f32, 0.5:3>",
      "!quant.uniform<i8:f32:0, {0.5, 0.25}>",
      "!stablehlo.token",
      "!stablehlo.future<tensor<2xf32>>",
      "inf",
      "-inf",
      "nan",
      "sparse",
  };
  // clang-format on
  return strv_from_cstr(words[fuzz_below(random, sizeof words / sizeof *words)]);
}

static strv any_number(uint64_t *random) {
  static const char *const numbers[] = {
      "0",
      "1",
      "-1",
      "2",
      "3",
      "4",
      "5",
      "7",
      "8",
      "32",
      "33",
      "64",
      "127",
      "128",
      "255",
      "256",
      "65536",
      "?",
      "1.0",
      "0.5",
      "-0.0",
      "1e400",
      "1e-400",
      "nan",
      "2147483647",
      "2147483648",
      "4294967295",
      "1099511627776",
      "9223372036854775807",
      "9223372036854775808",
      "-9223372036854775808",
      "18446744073709551615",
      "0x7FC00000",
      "0xFF",
  };
  size_t some = fuzz_below(random, 2) ? 9 : sizeof numbers / sizeof *numbers;  // small ones keep programs valid
  return strv_from_cstr(numbers[fuzz_below(random, some)]);
}

// --- changes -------------------------------------------------------------------------------------

// Puts `with` in place of a range; false if there is no room.
static bool replace(text *t, range r, strv with) {
  uint8_t piece[4096];
  if (with.len > sizeof piece || t->size - r.len + with.len > t->max) return false;
  if (with.len) memcpy(piece, with.data, with.len);  // it may lie within the text
  memmove(t->data + r.at + with.len, t->data + r.at + r.len, t->size - r.at - r.len);
  if (with.len) memcpy(t->data + r.at, piece, with.len);
  t->size += with.len - r.len;
  return true;
}

static strv view(const text *t, range r) {
  return (strv){(const char *)t->data + r.at, r.len};
}

static const token *any_token(text *t) {
  return &t->tokens[fuzz_below(t->random, (size_t)t->n_tokens)];
}

static const token *any_token_of(text *t, token_kind kind) {
  for (int tries = 0; tries < 32; tries++) {
    const token *k = any_token(t);
    if (k->kind == kind) return k;
  }
  return any_token(t);
}

static bool is_operation(strv s) {
  hlo_op op;
  return hlo_op_from_stablehlo(s, &op) || hlo_op_from_text(s, &op);
}

static bool is_type(strv s) {
  for (int k = 0; k < HLO_DTYPE_COUNT; k++)
    if (strv_eq_cstr(s, hlo_dtype_table[k].stablehlo_name) || strv_eq_cstr(s, hlo_dtype_table[k].hlo_name)) return true;
  return false;
}

static bool is_mlir(const text *t) {
  for (int k = 0; k < t->n_tokens && k < 8; k++)
    if (strv_eq_cstr(view(t, t->tokens[k].r), "HloModule")) return false;
  return true;
}

// Something that may stand where the token stands.
static strv other(text *t, const token *k) {
  strv s = view(t, k->r);
  if (k->kind == TOKEN_NUMBER) return any_number(t->random);
  if (k->kind == TOKEN_WORD && is_type(s)) return any_type(t->random, is_mlir(t));
  if (k->kind == TOKEN_WORD && is_operation(s)) return any_operation(t->random, is_mlir(t));
  if (k->kind == TOKEN_WORD) return any_word(t->random);
  return view(t, any_token_of(t, k->kind)->r);
}

// Every token that reads like k becomes `with`: types and sizes stay consistent.
static void replace_all(text *t, const token *k, strv with) {
  char old[256], new[256];
  strv s = view(t, k->r);
  if (s.len > sizeof old || with.len > sizeof new) return;
  memcpy(old, s.data, s.len);
  memcpy(new, with.data, with.len);
  s.data = old;
  with.data = new;
  for (int i = t->n_tokens - 1; i >= 0; i--)  // from the back, so that the ranges before it still hold
    if (strv_eq(view(t, t->tokens[i].r), s) && !replace(t, t->tokens[i].r, with)) return;
}

// From an opening bracket to its partner, both included; length 0 if there is none.
static range bracket(text *t) {
  for (int tries = 0; tries < 32; tries++) {
    const token *k = any_token(t);
    if (!strchr("([{<", t->data[k->r.at])) continue;
    int depth = 0;
    for (const token *e = k; e < t->tokens + t->n_tokens; e++) {
      uint8_t c = t->data[e->r.at];
      if (e->kind != TOKEN_PUNCT || (c == '>' && t->data[e->r.at - 1] == '-')) continue;
      depth += strchr("([{<", c) != NULL;
      depth -= strchr(")]}>", c) != NULL;
      if (depth == 0) return (range){k->r.at, e->r.at + 1 - k->r.at};
    }
  }
  return (range){0, 0};
}

static range any_line(text *t) {
  return t->lines[fuzz_below(t->random, (size_t)t->n_lines)];
}

// A line once more, behind itself or elsewhere, with the value that it defines under a new name.
static void double_line(text *t) {
  range from = any_line(t), to = fuzz_below(t->random, 2) ? from : any_line(t);
  uint8_t line[1024];
  if (from.len + 2 > sizeof line) return;
  memcpy(line, t->data + from.at, from.len);
  size_t n = from.len, at = 0;
  while (at < n && line[at] == ' ') at++;
  if (at < n && line[at] == '%') {
    at = word_end(line, at + 1, n);
    memmove(line + at + 2, line + at, n - at);
    line[at] = '_';
    line[at + 1] = (uint8_t)('a' + fuzz_below(t->random, 26));
    n += 2;
  }
  replace(t, (range){to.at + to.len, 0}, (strv){(char *)line, n});
}

// A token many times over: nesting, long lists.
static void repeat(text *t) {
  char many[2048];
  strv s = view(t, any_token(t)->r);
  size_t n = 0, times = (size_t)1 << fuzz_below(t->random, 10), at = (size_t)(s.data - (const char *)t->data);
  for (; times && n + s.len <= sizeof many; times--, n += s.len) memcpy(many + n, s.data, s.len);
  replace(t, (range){at, 0}, (strv){many, n});
}

static void change(text *t) {
  const token *k = any_token(t);
  switch (fuzz_below(t->random, 12)) {
    case 0:
    case 1: replace(t, k->r, view(t, any_token_of(t, k->kind)->r)); return;
    case 2:
    case 3: replace(t, k->r, other(t, k)); return;
    case 4: replace_all(t, k, other(t, k)); return;
    case 5:
      k = any_token_of(t, TOKEN_NUMBER);
      replace_all(t, k, other(t, k));
      return;
    case 6:
      k = any_token_of(t, TOKEN_WORD);
      replace(t, k->r, other(t, k));
      return;
    case 7: replace(t, fuzz_below(t->random, 4) ? k->r : any_line(t), STRV("")); return;
    case 8: double_line(t); return;
    case 9: {
      range from = bracket(t), to = bracket(t);
      replace(t, to, view(t, from));
      return;
    }
    case 10: replace(t, (range){k->r.at, 0}, view(t, any_token(t)->r)); return;
    default: fuzz_below(t->random, 4) ? (void)replace(t, any_line(t), view(t, any_line(t))) : repeat(t); return;
  }
}

static bool open_text(text *t, uint8_t *data, size_t size, size_t max, uint64_t *random) {
  if (!size || size > max || memchr(data, 0, size) || (size > 3 && !memcmp(data, "ML\xEFR", 4))) return false;
  t->data = data;
  t->size = size;
  t->max = max;
  t->random = random;
  take_apart(t);
  return t->n_tokens > 0 && t->n_lines > 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static text t;
  uint64_t random = seed;
  if (!fuzz_below(&random, 4) || !open_text(&t, data, size, max_size, &random))
    return LLVMFuzzerMutate(data, size, max_size);
  for (size_t n = 1 + fuzz_below(&random, 4); n > 0 && t.n_tokens && t.n_lines; n--) {
    change(&t);
    take_apart(&t);
  }
  return t.size;
}

// The first program with a line, a bracket or a token of the second in it.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_size, unsigned seed) {
  static text a, b;
  static uint8_t other_text[MAX_TEXT];
  uint64_t random = seed;
  size_t n = size1 < max_size ? size1 : max_size;
  memcpy(out, data1, n);
  if (size2 > sizeof other_text) return n;
  memcpy(other_text, data2, size2);
  if (!open_text(&a, out, n, max_size, &random) || !open_text(&b, other_text, size2, size2, &random)) return n;
  range to = any_line(&a), from = any_line(&b);
  switch (fuzz_below(&random, 3)) {
    case 0:
      if (fuzz_below(&random, 2)) to.len = 0;  // in front of it, else in its place
      break;
    case 1:
      to = bracket(&a);
      from = bracket(&b);
      break;
    default: {
      const token *k = any_token(&a);
      to = k->r;
      from = any_token_of(&b, k->kind)->r;
    }
  }
  replace(&a, to, view(&b, from));
  return a.size;
}
