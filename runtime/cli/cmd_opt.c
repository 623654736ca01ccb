// SPDX-License-Identifier: Apache-2.0
// lemnos opt: a module after passes, and everything that is made from it, as text.
#include <stdlib.h>
#include <string.h>

#include "frontend/import.h"
#include "hlo/kernel/lower.h"
#include "hlo/opt/pass.h"
#include "runtime/cli/cli.h"

typedef enum emit_form {
  EMIT_HLO,
  EMIT_STABLEHLO,
  EMIT_INTERP,
  EMIT_PLAN,
  EMIT_KERNEL,
  EMIT_LLVM,
  EMIT_SPIRV,
  EMIT_ASM,
  EMIT_STATS,
  EMIT_COUNT
} emit_form;

static const char *const form_names[EMIT_COUNT] = {"hlo",  "stablehlo", "interp", "plan", "kernel",
                                                   "llvm", "spirv",     "asm",    "stats"};

typedef struct opt_options {
  const char *module, *entry, *passes, *dump_after, *target, *emit, *output, *kernel;
  cli_strings input;
  int64_t bisect, literal_limit;
  double timeout;
  bool verify_each, round_trip_each, time_passes, list, locations;
  emit_form form;
} opt_options;

typedef struct opt_state {
  const opt_options *o;
  lemnos_context *context;
  lemnos_module *module;
  arena *arena;
  hlo_module *hlo;
  hlo_target target;
  bool has_target;
  const lemnos_backend *backend;
  backend_state *backend_state;
  strbuf out;
} opt_state;

static bool needs_target(emit_form f) {
  return f >= EMIT_PLAN;
}

static lemnos_status find_target(opt_state *s) {
  const char *spec = s->o->target;
  if (!spec && !needs_target(s->o->form)) return LEMNOS_SUCCESS;
  if (!spec) spec = getenv("LEMNOS_DEVICE");
  if (!spec || !*spec) spec = s->o->form == EMIT_SPIRV ? "vulkan:0" : "cpu";
  LEMNOS_TRY(registry_target(&s->context->registry, spec, &s->target, &s->backend, &s->backend_state));
  s->has_target = true;
  bool spirv = strcmp(s->backend->name, "spirv") == 0;
  if ((s->o->form == EMIT_LLVM && spirv) || (s->o->form == EMIT_SPIRV && !spirv))
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "--emit=%s: code for the target %s is made by the backend '%s'",
                              s->o->emit, spec, s->backend->name);
  return LEMNOS_SUCCESS;
}

// Concrete argument types of --input (values are of no interest here), for modules with dynamic shapes.
static lemnos_status refine(opt_state *s) {
  int n = module_param_leaves(s->hlo);
  const hlo_shape **shapes = ARENA_ARRAY(s->arena, const hlo_shape *, n + 1);
  for (int i = 0; i < n; i++) shapes[i] = module_param_leaf(s->hlo, i);
  if (s->o->input.len) {
    cli_inputs in = {.input = s->o->input, .seed = 1};
    interp_array *args;
    LEMNOS_TRY(inputs_load(&in, s->module, &n, &args));
    for (int i = 0; i < n; i++)
      if (!hlo_shape_is_static(shapes[i]))
        shapes[i] = hlo_shape_with_dims(s->hlo->shapes, shapes[i], args[i].rank, args[i].dims);
    arrays_free(n, args);
  }
  diag_sink sink;
  diag_sink_init(&sink, s->arena);
  lemnos_status status = import_refine(s->hlo, n, shapes, &sink);
  diag_sink_deinit(&sink);
  return status;
}

static lemnos_status run_passes(opt_state *s) {
  const opt_options *o = s->o;
  // What the interpreter and StableHLO text show is the module as imported, unless passes are asked for.
  if (!o->passes && (o->form == EMIT_INTERP || o->form == EMIT_STABLEHLO)) return LEMNOS_SUCCESS;
  if (o->passes && strcmp(o->passes, "none") == 0) return LEMNOS_SUCCESS;
  strbuf dump = {0};
  hlo_pipeline_options p = {.passes = strv_from_cstr(o->passes),
                            .dump_after = strv_from_cstr(o->dump_after),
                            .dump = &dump,
                            .opt_bisect_limit = o->bisect,
                            .verify_each = o->verify_each,
                            .round_trip_each = o->round_trip_each,
                            .time_passes = o->time_passes,
                            .target = s->has_target ? &s->target : NULL,
                            .can_fuse = kernel_can_fuse_elementwise};
  lemnos_status status = hlo_run_pipeline(s->hlo, &p);
  strbuf_append(&s->out, strbuf_view(&dump));  // of use when the pipeline failed, too
  strbuf_deinit(&dump);
  return status;
}

static lemnos_status emit_interp(opt_state *s) {
  interp_program *p;
  LEMNOS_TRY(interp_compile(s->hlo, &p));
  interp_program_disassemble(p, &s->out);
  interp_program_destroy(p);
  return LEMNOS_SUCCESS;
}

static bool wanted_kernel(const opt_options *o, int number, const kernel *k) {
  int64_t n;
  if (!o->kernel) return true;
  return strv_parse_i64(strv_from_cstr(o->kernel), &n) ? n == number : strv_eq_cstr(k->name, o->kernel);
}

static lemnos_status emit_kernels(opt_state *s, const plan *p) {
  int shown = 0;
  for (int i = 0; i < p->n_kernels; i++) {
    const kernel *k = p->kernels[i];
    if (!wanted_kernel(s->o, i, k)) continue;
    shown++;
    strbuf_printf(&s->out, "%s kernel %d " STRV_FMT "\n",
                  s->o->form == EMIT_LLVM || s->o->form == EMIT_SPIRV ? ";" : "//", i, STRV_ARG(k->name));
    if (s->o->form == EMIT_KERNEL) {
      kernel_print(&s->out, k);
    } else {
      backend_emit what = s->o->form == EMIT_ASM     ? BACKEND_EMIT_ASM
                          : s->o->form == EMIT_STATS ? BACKEND_EMIT_STATS
                                                     : BACKEND_EMIT_IR;
      LEMNOS_TRY(lemnos_status_annotate(s->backend->emit_text(s->backend_state, &s->target, k, what, &s->out),
                                        "kernel %d " STRV_FMT, i, STRV_ARG(k->name)));
    }
    strbuf_append_char(&s->out, '\n');
  }
  if (s->o->kernel && !shown)
    return lemnos_status_make(LEMNOS_NOT_FOUND, "the plan has %d kernels, none of them is '%s'", p->n_kernels,
                              s->o->kernel);
  return LEMNOS_SUCCESS;
}

static lemnos_status emit_planned(opt_state *s) {
  for (int c = 0; c < s->hlo->n_computations; c++)
    HLO_FOR_EACH (i, s->hlo->computations[c])
      if (!hlo_shape_is_static(i->shape))
        return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                                  "'" STRV_FMT
                                  "' has a dynamic shape: such a program runs whole in the interpreter (name concrete "
                                  "types by --input=2x3xf32=zeros)",
                                  STRV_ARG(i->name));
  hlo_buffer_assignment *buffers;
  LEMNOS_TRY(hlo_assign_buffers(s->hlo, s->arena, &buffers));
  if (s->o->verify_each) LEMNOS_TRY(hlo_buffers_verify(s->hlo, buffers));
  plan *p = NULL;
  LEMNOS_TRY(plan_build(s->arena, s->hlo, buffers, &s->target, &p));
  lemnos_status status = LEMNOS_SUCCESS;
  if (s->o->form == EMIT_PLAN)
    plan_print(&s->out, p);
  else
    status = emit_kernels(s, p);
  plan_deinit(p);
  return status;
}

static lemnos_status emit(opt_state *s) {
  switch (s->o->form) {
    case EMIT_HLO:
      hlo_print_module(&s->out, s->hlo,
                       &(hlo_print_options){.locations = s->o->locations, .literal_limit = s->o->literal_limit});
      return LEMNOS_SUCCESS;
    case EMIT_STABLEHLO: export_stablehlo(&s->out, s->hlo); return LEMNOS_SUCCESS;
    case EMIT_INTERP: return emit_interp(s);
    case EMIT_PLAN:
    case EMIT_KERNEL:
    case EMIT_LLVM:
    case EMIT_SPIRV:
    case EMIT_ASM:
    case EMIT_STATS: return emit_planned(s);
    case EMIT_COUNT: break;
  }
  return lemnos_status_make(LEMNOS_INTERNAL, "no such form");
}

static lemnos_status opt(opt_state *s) {
  LEMNOS_TRY(lemnos_context_create(NULL, &s->context));
  LEMNOS_TRY(session_load_module(s->context, s->o->module, s->o->entry, &s->module));
  s->arena = s->module->arena;
  s->hlo = s->module->hlo;
  LEMNOS_TRY(find_target(s));
  LEMNOS_TRY(refine(s));
  LEMNOS_TRY(run_passes(s));
  return emit(s);
}

static lemnos_status write_output(const opt_state *s) {
  if (s->o->output) return io_write_file(s->o->output, s->out.data ? s->out.data : "", s->out.len);
  return cli_put(strbuf_view(&s->out));
}

static int list_passes(void) {
  strbuf b = {0};
  strbuf_printf(&b, "default = %s\n\n", hlo_default_pipeline);
  for (int i = 0; i < hlo_pass_count; i++)
    strbuf_printf(&b, "%-32s %s%s\n", hlo_pass_table[i].name, hlo_pass_table[i].summary,
                  hlo_pass_table[i].needs_target ? " (needs a target)" : "");
  lemnos_status status = cli_put(strbuf_view(&b));
  strbuf_deinit(&b);
  return status ? cli_fail("opt", status, NULL) : CLI_OK;
}

static int find_form(opt_options *o) {
  for (int i = 0; i < EMIT_COUNT; i++)
    if (strcmp(o->emit, form_names[i]) == 0) {
      o->form = (emit_form)i;
      return CLI_GO_ON;
    }
  return cli_usage_error("opt", "--emit=%s: expected hlo, stablehlo, interp, plan, kernel, llvm, spirv, asm or stats",
                         o->emit);
}

int cmd_opt(int argc, char **argv, cli_interrupt *interrupt) {
  opt_options o = {.emit = "hlo", .bisect = -1};
  const cli_option options[] = {
      {"--passes", CLI_STRING, &o.passes, "LIST",
       "passes in order, comma-separated; fix(a,b) repeats a,b until nothing changes; default stands for the default "
       "pipeline; none for no pass"},
      {"--list-passes", CLI_FLAG, &o.list, NULL, "print the passes and the default pipeline"},
      {"--target", CLI_STRING, &o.target, "TARGET",
       "cpu, cpu:avx2, vulkan:0, radv:navi21, ...; without one only what no target needs is run (forms that need one "
       "take $LEMNOS_DEVICE, else cpu)"},
      {"--emit", CLI_STRING, &o.emit, "FORM", "hlo, stablehlo, interp, plan, kernel, llvm, spirv, asm, stats"},
      {"--kernel", CLI_STRING, &o.kernel, "N|NAME", "only this kernel"},
      {"--dump-after", CLI_STRING, &o.dump_after, "NAME|all", "print the module after this pass, or after each, first"},
      {"--opt-bisect-limit", CLI_INT, &o.bisect, "N", "let only the first N rewrites happen"},
      {"--verify-each", CLI_FLAG, &o.verify_each, NULL, "verify the module after every pass"},
      {"--round-trip-each", CLI_FLAG, &o.round_trip_each, NULL, "print, parse and compare after every pass"},
      {"--time-passes", CLI_FLAG, &o.time_passes, NULL, "print the time of each pass, first"},
      {"--entry", CLI_STRING, &o.entry, "NAME", "function to be the entry (default main)"},
      {"--input", CLI_STRINGS, &o.input, "[argN=]SPEC",
       "the type of an argument, for modules with dynamic shapes: 2x3xf32=zeros (see lemnos run --help)"},
      {"--locations", CLI_FLAG, &o.locations, NULL, "HLO text with source locations"},
      {"--literal-limit", CLI_INT, &o.literal_limit, "N",
       "HLO text: shorten constants of more than N elements (such text cannot be parsed)"},
      {"--timeout", CLI_REAL, &o.timeout, "SECONDS", "limit of the time of all of it"},
      {"-o", CLI_STRING, &o.output, "FILE", "write to FILE"},
      {0}};
  cli_strings files = {0};
  int code = cli_parse("opt", argc, argv, options, &files);
  if (code == CLI_GO_ON) code = find_form(&o);
  if (code == CLI_GO_ON && o.list) code = list_passes();
  if (code == CLI_GO_ON && files.len != 1)
    code = cli_usage_error("opt", files.len ? "one module, please" : "no module is given");
  if (code == CLI_GO_ON) {
    o.module = files.data[0];
    opt_state s = {.o = &o};
    cli_watch(interrupt, o.timeout);
    lemnos_status status = opt(&s);
    cli_watch(interrupt, 0);
    // What was printed before a failure (dumps) helps to find it.
    lemnos_status put = status && !s.out.len ? LEMNOS_SUCCESS : write_output(&s);
    if (status)
      lemnos_status_free(put);
    else
      status = put;
    strbuf_deinit(&s.out);
    lemnos_module_free(s.module);
    lemnos_context_free(s.context);
    code = status ? cli_fail("opt", status, NULL) : CLI_OK;
  }
  vec_deinit(&files);
  vec_deinit(&o.input);
  return code;
}
