// SPDX-License-Identifier: Apache-2.0
// The command-line tool: finds the command and runs it.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "runtime/cli/cli.h"

const cli_command cli_commands[] = {
    {"run", "MODULE [options]", "Runs a program (MLIR text, MLIR bytecode or HLO text) on a device",
     "Prints the results, unless --outputs or --expect is given.\n"
     "Files name arguments arg0, arg1, ... and results out0, out1, ... What .npy cannot name is kept as unsigned bits "
     "of\n"
     "the same width (bf16, f8, f6, f4), as int8 (i4, i2) or as uint8 (ui4, ui2).\n\n"
     "  lemnos run model.mlir --inputs in.npz --expect expected.npz --device=vulkan:0\n"
     "  lemnos run add.mlir --input 2x2xf32=1,2,3,4 --input 2x2xf32=random",
     cmd_run},
    {"check", "FILE... [options]", "Runs self-checking modules (operations check.* and custom calls of that name)",
     "A file may hold several modules separated by lines `// -----`. Of each, main is run, or, without one, every "
     "function\n"
     "that takes no arguments. An operation that is refused by name counts as skipped. The last line is\n"
     "`N passed, N failed, N skipped`.",
     cmd_check},
    {"devices", "[options]", "Lists the devices of this machine, and why absent ones are absent", NULL, cmd_devices},
    {"opt", "MODULE [options]", "Prints the module after passes, or what is made from it",
     "The form (--emit) is one of\n"
     "  hlo        HLO text (default)          stablehlo  StableHLO text\n"
     "  interp     the interpreter's bytecode  plan       steps, launches and memory on the target\n"
     "  kernel     kernel IR of each distinct kernel of the plan\n"
     "  llvm       LLVM IR of each kernel      spirv      SPIR-V of each kernel\n"
     "  asm        machine code of each kernel stats      what the driver reports of each kernel",
     cmd_opt},
    {"bench", "MODULE [options]", "Measures a program: compile time, run time, rates, memory", NULL, cmd_bench},
    {"demo", "[DIR] [options]", "Classifies images with a trained network on every device and prints one table",
     "DIR (default examples/digits_cnn) holds module.mlir, inputs.npz or inputs.json, and labels.npy.", cmd_demo},
    {NULL, NULL, NULL, NULL, NULL},
};

const cli_command *cli_find_command(const char *name) {
  for (const cli_command *c = cli_commands; c->name; c++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

static void print_usage(FILE *f) {
  fprintf(f,
          "Usage: lemnos COMMAND ...\n\nCompiles StableHLO programs and runs them on whatever the machine "
          "has.\n\nCommands:\n");
  for (const cli_command *c = cli_commands; c->name; c++) fprintf(f, "  %-9s %s\n", c->name, c->summary);
  fprintf(f,
          "\nlemnos COMMAND --help explains a command, lemnos --version prints the version.\n"
          "\nWhile run, check and bench work for more than a second on a terminal, a line says what they are at "
          "(--quiet: none).\n"
          "\nEnvironment: LEMNOS_DEVICE (the device when --device is not given), LEMNOS_SAFETENSORS (weights of "
          "inputs.json),\nTERM (dumb: no progress line), NO_COLOR (nothing bold in it).\n"
          "\nExit codes:\n"
          "  0    all went well\n"
          "  1    a check failed, or a result is not the expected one\n"
          "  2    the command line is wrong\n"
          "  3    bad input: a missing or malformed file, a wrong shape or type, an unknown device\n"
          "  4    the program uses something that is refused by name\n"
          "  5    trouble: out of memory, full disk, lost device, missing library, internal error\n"
          "  124  --timeout was reached\n"
          "  130  interrupted (Ctrl-C)\n");
}

static int unknown_command(const char *name) {
  strv_near near = {.wanted = strv_from_cstr(name)};
  for (const cli_command *c = cli_commands; c->name; c++) strv_near_try(&near, strv_from_cstr(c->name));
  return cli_usage_error(NULL, "unknown command '%s'%s" STRV_FMT "%s", name, near.best.len ? ", did you mean " : "",
                         STRV_ARG(near.best), near.best.len ? "?" : "");
}

int main(int argc, char **argv) {
  cli_interrupt interrupt = {0};
#ifdef M_TRIM_THRESHOLD
  // Memory that a run gives back serves the next one: returning it to the system costs a page fault for each page
  // again.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
  if (argc < 2) {
    print_usage(stderr);
    return CLI_USAGE;
  }
  const char *name = argv[1];
  if (strcmp(name, "--version") == 0) {
    lemnos_status status = cli_put(STRV("lemnos " LEMNOS_VERSION_STRING "\n"));
    return status ? cli_fail("--version", status, NULL) : CLI_OK;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    if (argc > 2) {
      if (!cli_find_command(argv[2])) return unknown_command(argv[2]);
      char *help[] = {"--help"};
      return cli_find_command(argv[2])->run(1, help, &interrupt);
    }
    print_usage(stdout);
    return fflush(stdout) == 0 ? CLI_OK : CLI_TROUBLE;
  }
  const cli_command *c = cli_find_command(name);
  if (!c) return unknown_command(name);
  // Not returned: the threads that look at `interrupt` go on until the process ends, so it has to live as long.
  exit(c->run(argc - 2, argv + 2, &interrupt));
}
