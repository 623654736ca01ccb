// SPDX-License-Identifier: Apache-2.0
// Status records: one heap block with the code and, behind it, the message.
//
// The out-of-memory record is a constant; it is told apart by its address and never freed.
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lemnos_status_record {
  lemnos_status_code code;
  const char *message;  // in the same block, or static
};

static const struct lemnos_status_record out_of_memory_record = {LEMNOS_OUT_OF_MEMORY, "out of memory"};

static lemnos_status out_of_memory(void) {
  return (lemnos_status)&out_of_memory_record;
}

// "prefix" then ": " then "rest", the last two only if rest is given.
static lemnos_status make(lemnos_status_code code, const char *rest, const char *format, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(NULL, 0, format, args);
  if (n < 0) n = 0;
  size_t rest_size = rest ? strlen(rest) + 2 : 0;
  struct lemnos_status_record *r = malloc(sizeof *r + (size_t)n + rest_size + 1);
  if (r) {
    char *text = (char *)(r + 1);
    text[0] = 0;
    vsnprintf(text, (size_t)n + 1, format, again);
    if (rest) {
      memcpy(text + n, ": ", 2);
      memcpy(text + n + 2, rest, rest_size - 2);
      text[(size_t)n + rest_size] = 0;
    }
    r->code = code;
    r->message = text;
  }
  va_end(again);
  return r ? r : out_of_memory();
}

lemnos_status lemnos_status_makev(lemnos_status_code code, const char *format, va_list args) {
  return make(code, NULL, format, args);
}

lemnos_status lemnos_status_make(lemnos_status_code code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lemnos_status s = make(code, NULL, format, args);
  va_end(args);
  return s;
}

lemnos_status lemnos_status_annotate(lemnos_status status, const char *format, ...) {
  if (!status) return status;
  va_list args;
  va_start(args, format);
  lemnos_status longer = make(status->code, status->message, format, args);
  va_end(args);
  if (longer == out_of_memory()) return status;  // no memory for the context: the failure itself matters more
  lemnos_status_free(status);
  return longer;
}

lemnos_status_code lemnos_status_get_code(lemnos_status status) {
  return status ? status->code : LEMNOS_OK;
}

const char *lemnos_status_message(lemnos_status status) {
  return status ? status->message : "ok";
}

const char *lemnos_status_code_text(lemnos_status_code code) {
  switch (code) {
#define S(name, value, text) \
  case LEMNOS_##name:        \
    return text;
#include "base/status_codes.def"
#undef S
  }
  return "unknown status";
}

void lemnos_status_free(lemnos_status status) {
  if (status && status != out_of_memory()) free(status);
}

void lemnos_panic(const char *file, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fflush(stdout);
  fprintf(stderr, "lemnos: internal error at %s:%d: ", file, line);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  abort();
}
