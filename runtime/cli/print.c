// SPDX-License-Identifier: Apache-2.0
// Arrays as NumPy shows them: brackets by dimension, columns aligned, more than 1,000 elements shortened to the first
// and last three of each dimension. Numbers are the shortest that read back to the same value.
#include "runtime/cli/cli.h"

enum { SHOWN_WHOLE = 1000, EDGE = 3, LINE = 100 };

typedef struct printer {
  strbuf *out;
  const interp_array *a;
  bool shorten;
  int width;
  int64_t stride[INTERP_MAX_RANK];
} printer;

void print_index(strbuf *out, const interp_array *a, int64_t i) {
  int64_t index[INTERP_MAX_RANK];
  for (int d = a->rank - 1; d >= 0; d--) {
    index[d] = a->dims[d] ? i % a->dims[d] : 0;
    if (a->dims[d]) i /= a->dims[d];
  }
  strbuf_append_char(out, '[');
  for (int d = 0; d < a->rank; d++) strbuf_printf(out, "%s%lld", d ? ", " : "", (long long)index[d]);
  strbuf_append_char(out, ']');
}

// The index that follows k in dimension d, jumping over the middle.
static int64_t next_shown(const printer *p, int d, int64_t k) {
  int64_t n = p->a->dims[d];
  return p->shorten && n > 2 * EDGE && k == EDGE - 1 ? n - EDGE : k + 1;
}

static int element_width(const printer *p, int64_t at) {
  strbuf b = {0};
  hlo_element_print(&b, p->a->dtype, p->a->data, at);
  int n = (int)b.len;
  strbuf_deinit(&b);
  return n;
}

static void find_width(printer *p, int d, int64_t at) {
  if (d == p->a->rank) {
    int n = element_width(p, at);
    if (n > p->width) p->width = n;
    return;
  }
  for (int64_t k = 0; k < p->a->dims[d]; k = next_shown(p, d, k)) find_width(p, d + 1, at + k * p->stride[d]);
}

static int print_element(printer *p, int64_t at) {
  strbuf b = {0};
  hlo_element_print(&b, p->a->dtype, p->a->data, at);
  strbuf_printf(p->out, "%*s", p->width, b.data);
  strbuf_deinit(&b);
  return p->width;
}

static void print_row(printer *p, int d, int64_t at) {
  int column = d + 1;
  for (int64_t k = 0, last = -1; k < p->a->dims[d]; last = k, k = next_shown(p, d, k)) {
    if (k != last + 1) {
      strbuf_append_cstr(p->out, " ...");
      column += 4;
    }
    if (k && column + p->width + 1 > LINE) {
      strbuf_printf(p->out, "\n%*s", d + 1, "");
      column = d + 1;
    } else if (k) {
      strbuf_append_char(p->out, ' ');
      column++;
    }
    column += print_element(p, at + k);
  }
}

static void print_dim(printer *p, int d, int64_t at) {
  strbuf_append_char(p->out, '[');
  if (d == p->a->rank - 1) {
    print_row(p, d, at);
  } else {
    int blank = p->a->rank - 1 - d;  // lines between two entries
    for (int64_t k = 0, last = -1; k < p->a->dims[d]; last = k, k = next_shown(p, d, k)) {
      if (k) {
        for (int i = 0; i < blank; i++) strbuf_append_char(p->out, '\n');
        strbuf_printf(p->out, "%*s", d + 1, "");
      }
      if (k != last + 1) strbuf_printf(p->out, "...\n%*s", d + 1, "");
      print_dim(p, d + 1, at + k * p->stride[d]);
    }
  }
  strbuf_append_char(p->out, ']');
}

void print_array(strbuf *out, const interp_array *a, bool full) {
  printer p = {.out = out, .a = a, .shorten = !full && array_elements(a) > SHOWN_WHOLE};
  int64_t step = 1;
  for (int d = a->rank - 1; d >= 0; d--) p.stride[d] = step, step *= a->dims[d];
  if (a->dtype == HLO_TOKEN) {
    strbuf_append_cstr(out, "token");
  } else if (a->rank == 0) {
    print_element(&p, 0);
  } else if (array_elements(a) == 0) {
    strbuf_append_cstr(out, "[]");
  } else {
    find_width(&p, 0, 0);
    print_dim(&p, 0, 0);
  }
  strbuf_append_char(out, '\n');
}
