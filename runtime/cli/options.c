// SPDX-License-Identifier: Apache-2.0
// The command line: options by table, help from the same table, failures to exit codes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

int cli_usage_error(const char *command, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "lemnos%s%s: error: ", command ? " " : "", command ? command : "");
  vfprintf(stderr, format, args);
  fprintf(stderr, " (see lemnos%s%s --help)\n", command ? " " : "", command ? command : "");
  va_end(args);
  return CLI_USAGE;
}

static int exit_code(lemnos_status status, const cli_interrupt *interrupt) {
  switch (lemnos_status_get_code(status)) {
    case LEMNOS_OK: return CLI_OK;
    case LEMNOS_CHECK_FAILED: return CLI_NO;
    case LEMNOS_INVALID_ARGUMENT:
    case LEMNOS_NOT_FOUND:
    case LEMNOS_DATA_LOSS: return CLI_BAD_INPUT;
    case LEMNOS_UNIMPLEMENTED: return CLI_UNIMPLEMENTED;
    case LEMNOS_CANCELLED: return interrupt && interrupt->cancelled ? CLI_INTERRUPTED : CLI_TIMEOUT;
    case LEMNOS_OUT_OF_MEMORY:
    case LEMNOS_IO_ERROR:
    case LEMNOS_FAILED_PRECONDITION:
    case LEMNOS_INTERNAL:
    case LEMNOS_UNAVAILABLE: break;
  }
  return CLI_TROUBLE;
}

char *cli_plain(const char *text) {
  char *copy = strdup(text);
  for (char *c = copy; c && *c; c++)
    if (((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f) *c = '?';
  return copy;
}

int cli_fail(const char *command, lemnos_status status, const cli_interrupt *interrupt) {
  int code = exit_code(status, interrupt);
  char *plain = cli_plain(lemnos_status_message(status));
  const char *text = plain ? plain : "no memory";
  if (strncmp(text, "error: ", 7) == 0) text += 7;  // a message without a place
  fflush(stdout);
  size_t line = strcspn(text, "\n");
  const char *found = strstr(text, ": error: ");
  if (code == CLI_INTERRUPTED)
    fprintf(stderr, "lemnos %s: interrupted\n", command);
  else if (code == CLI_TIMEOUT)
    fprintf(stderr, "lemnos %s: stopped: %s\n", command, text);
  else if (found && (size_t)(found - text) < line)
    fprintf(stderr, "%s\n", text);  // FILE:LINE:COL: error: ...
  else
    fprintf(stderr, "lemnos %s: error: %s\n", command, text);
  free(plain);
  lemnos_status_free(status);
  return code;
}

lemnos_status cli_put(strv text) {
  if ((text.len && fwrite(text.data, 1, text.len, stdout) != text.len) || fflush(stdout) != 0)
    return lemnos_status_make(LEMNOS_IO_ERROR, "cannot write to standard output");
  return LEMNOS_SUCCESS;
}

// --- help ----------------------------------------------------------------------------------------

// `text` in lines of at most 110 columns, all but the first indented.
static void print_wrapped(const char *text, int column, int indent) {
  const char *word = text;
  for (bool first = true; *word; first = false) {
    int n = (int)strcspn(word, " ");
    if (!first && column + n + 1 > 110) {
      printf("\n%*s", indent, "");
      column = indent;
    } else if (!first) {
      putchar(' ');
      column++;
    }
    printf("%.*s", n, word);
    column += n;
    word += n;
    while (*word == ' ') word++;
  }
  putchar('\n');
}

static void print_help(const cli_command *c, const cli_option *options) {
  printf("Usage: lemnos %s %s\n\n%s.\n", c->name, c->synopsis, c->summary);
  if (c->details) printf("\n%s\n", c->details);
  printf("\nOptions:\n");
  for (const cli_option *o = options; o->name; o++) {
    int n = printf("  %s%s%s", o->name, o->value ? "=" : "", o->value ? o->value : "");
    printf("%*s", n < 30 ? 30 - n : 1, "");
    print_wrapped(o->help, n < 30 ? 30 : n + 1, 30);
  }
  printf("  %-28s%s\n", "--help", "this text");
}

// --- parsing -------------------------------------------------------------------------------------

static bool parse_bytes(const char *s, int64_t *out) {
  size_t n = strlen(s);
  int shift = 0;
  while (n && (s[n - 1] == 'B' || s[n - 1] == 'b' || s[n - 1] == 'i')) n--;
  if (n) {
    const char *units = "kmgt", *p = strchr(units, s[n - 1] | 32);
    if (p && *p) shift = 10 * (int)(p - units + 1), n--;
  }
  double x;
  if (!strv_parse_f64((strv){s, n}, &x) || !(x > 0) || x > (double)(INT64_MAX >> shift)) return false;
  *out = (int64_t)(x * (double)(INT64_C(1) << shift));
  return true;
}

static bool store(const cli_option *o, const char *value) {
  switch (o->kind) {
    case CLI_FLAG: *(bool *)o->out = true; return true;
    case CLI_STRING: *(const char **)o->out = value; return true;
    case CLI_STRINGS: vec_push(NULL, (cli_strings *)o->out, value); return true;
    case CLI_INT: return strv_parse_i64(strv_from_cstr(value), o->out);
    case CLI_REAL: return strv_parse_f64(strv_from_cstr(value), o->out) && *(double *)o->out >= 0;
    case CLI_BYTES: return parse_bytes(value, o->out);
  }
  return false;
}

static const cli_option *find_option(const cli_option *options, const char *text, size_t n) {
  for (const cli_option *o = options; o->name; o++)
    if (strlen(o->name) == n && memcmp(o->name, text, n) == 0) return o;
  return NULL;
}

static int unknown_option(const char *command, const cli_option *options, strv name) {
  strv_near near = {.wanted = name};
  for (const cli_option *o = options; o->name; o++) strv_near_try(&near, strv_from_cstr(o->name));
  return cli_usage_error(command, "unknown option " STRV_FMT "%s" STRV_FMT "%s", STRV_ARG(name),
                         near.best.len ? ", did you mean " : "", STRV_ARG(near.best), near.best.len ? "?" : "");
}

int cli_parse(const char *command, int argc, char **argv, const cli_option *options, cli_strings *positional) {
  bool only_files = false;
  for (int i = 0; i < argc; i++) {
    const char *arg = argv[i];
    if (only_files || arg[0] != '-' || !arg[1]) {
      vec_push(NULL, positional, arg);
      continue;
    }
    if (strcmp(arg, "--") == 0) {
      only_files = true;
      continue;
    }
    if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
      print_help(cli_find_command(command), options);
      return CLI_OK;
    }
    size_t n = arg[1] == '-' ? strcspn(arg, "=") : strlen(arg);
    const cli_option *o = find_option(options, arg, n);
    if (!o) return unknown_option(command, options, (strv){arg, n});
    const char *value = arg[n] == '=' ? arg + n + 1 : NULL;
    if (o->kind == CLI_FLAG && value) return cli_usage_error(command, "%s takes no value", o->name);
    if (o->kind != CLI_FLAG && !value) {
      if (i + 1 >= argc) return cli_usage_error(command, "%s needs a value: %s=%s", o->name, o->name, o->value);
      value = argv[++i];
    }
    if (!store(o, value)) return cli_usage_error(command, "%s=%s: expected %s", o->name, value, o->value);
  }
  return CLI_GO_ON;
}
