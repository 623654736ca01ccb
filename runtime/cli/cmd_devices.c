// SPDX-License-Identifier: Apache-2.0
// lemnos devices: what is here, what it can do, what is missing and why.
#include <stdlib.h>

#include "runtime/cli/cli.h"

static void print_text(strbuf *out, const lemnos_device_info *d, int n, const char *absent) {
  for (int i = 0; i < n; i++) {
    strbuf_printf(out, "%-12s %s, %s\n", d[i].id, d[i].name, d[i].kind);
    if (d[i].compile_only) strbuf_printf(out, "%13scompiles only: runs no programs\n", "");
    strbuf_printf(out, "%13s%s", "", d[i].driver);
    if (d[i].memory_bytes) strbuf_printf(out, "; %.1f GiB", (double)d[i].memory_bytes / (1 << 30));
    strbuf_printf(out, "\n%13s%s\n", "", d[i].capabilities);
  }
  if (*absent) strbuf_printf(out, "\nNot here:\n");
  strv rest = strv_from_cstr(absent), line;
  while (rest.len) {
    strv_split(rest, '\n', &line, &rest);
    if (line.len) strbuf_printf(out, "  " STRV_FMT "\n", STRV_ARG(line));
  }
}

static void print_member(strbuf *out, const char *key, const char *value) {
  strbuf_printf(out, "%s\"%s\": ", *key == 'i' ? "" : ", ", key);
  json_print_string(out, strv_from_cstr(value));
}

static void print_json(strbuf *out, const lemnos_device_info *d, int n, const char *absent) {
  strbuf_append_cstr(out, "{\"devices\": [");
  for (int i = 0; i < n; i++) {
    strbuf_append_cstr(out, i ? ", {" : "{");
    print_member(out, "id", d[i].id);
    print_member(out, "kind", d[i].kind);
    print_member(out, "name", d[i].name);
    print_member(out, "driver", d[i].driver);
    print_member(out, "capabilities", d[i].capabilities);
    strbuf_printf(out, ", \"memory_bytes\": %lld, \"compile_only\": %s}", (long long)d[i].memory_bytes,
                  d[i].compile_only ? "true" : "false");
  }
  strbuf_append_cstr(out, "], \"absent\": [");
  strv rest = strv_from_cstr(absent), line;
  bool first = true;
  while (rest.len) {
    strv_split(rest, '\n', &line, &rest);
    if (!line.len) continue;
    strbuf_append_cstr(out, first ? "" : ", ");
    first = false;
    json_print_string(out, line);
  }
  strbuf_append_cstr(out, "]}\n");
}

int cmd_devices(int argc, char **argv, cli_interrupt *interrupt) {
  (void)interrupt;
  bool json = false;
  const cli_option options[] = {{"--json", CLI_FLAG, &json, NULL, "one JSON object"}, {0}};
  cli_strings rest = {0};
  int code = cli_parse("devices", argc, argv, options, &rest);
  if (code == CLI_GO_ON && rest.len) code = cli_usage_error("devices", "unexpected argument '%s'", rest.data[0]);
  vec_deinit(&rest);
  if (code != CLI_GO_ON) return code;
  lemnos_context *c;
  lemnos_status status = lemnos_context_create(&(lemnos_context_options){.threads = 1}, &c);
  if (status) return cli_fail("devices", status, NULL);
  lemnos_device_info *infos;
  int32_t n;
  char *absent;
  status = lemnos_devices(c, &infos, &n, &absent);
  if (!status) {
    strbuf out = {0};
    if (json)
      print_json(&out, infos, n, absent);
    else
      print_text(&out, infos, n, absent);
    free(infos);
    free(absent);
    status = cli_put(strbuf_view(&out));
    strbuf_deinit(&out);
  }
  lemnos_context_free(c);
  return status ? cli_fail("devices", status, NULL) : CLI_OK;
}
