// SPDX-License-Identifier: Apache-2.0
// What the files of the command-line tool share.
//
//   main ── options (arguments) ── cmd_*  ── session (context, module, device, executable, buffers)
//                                    ├── inputs ── npz, npy, safetensors, recipes (json)
//                                    ├── compare (--expect), print
//                                    └── interrupt (Ctrl-C), progress (the line on a terminal)
//
// Arrays on the host are interp_array with `data` from heap_try_alloc_aligned. A command function returns the exit
// code; nothing below it calls exit. No global state: what a signal changes lives in main's frame.
#ifndef RUNTIME_CLI_CLI_H
#define RUNTIME_CLI_CLI_H

#include <stdatomic.h>

#include "runtime/internal.h"

// --- exit codes (documented by `lemnos --help`) --------------------------------------------------

enum {
  CLI_OK = 0,
  CLI_NO = 1,             // a check failed, a result is not what was expected
  CLI_USAGE = 2,          // the command line is wrong
  CLI_BAD_INPUT = 3,      // a file is missing, malformed or does not fit the program; unknown device
  CLI_UNIMPLEMENTED = 4,  // refused by name
  CLI_TROUBLE = 5,        // memory, full disk, device lost, an internal error
  CLI_TIMEOUT = 124,
  CLI_INTERRUPTED = 130,
  CLI_GO_ON = -1,  // of cli_parse: no exit
};

// --- Ctrl-C (interrupt.c) ------------------------------------------------------------------------

typedef enum cli_phase {
  CLI_PHASE_IDLE,   // nothing to clean up: a signal ends the process at once
  CLI_PHASE_RUN,    // the first signal sets `cancelled`, the second ends the process
  CLI_PHASE_WRITE,  // files are being written: as RUN, so that nothing is left half-written
} cli_phase;

typedef struct cli_interrupt {
  volatile int cancelled;  // read by runs
  atomic_int phase, n_signals;
  _Atomic double deadline;  // io_seconds() value after which the process ends (cli_watch); 0: none
  atomic_bool watched;      // the thread for it is there
} cli_interrupt;

// Takes SIGINT and SIGTERM (unless they are ignored) to a thread of their own. Call before other threads are made.
void cli_interrupt_start(cli_interrupt *x);
void cli_interrupt_phase(cli_interrupt *x, cli_phase phase);
// From now on the process ends with CLI_TIMEOUT and one line when `seconds` have passed: for what no flag can stop, a
// long compilation or a kernel that does not come back. Replaces the limit before it; 0 takes it away.
void cli_watch(cli_interrupt *x, double seconds);
// For what keeps the limit by itself, where it can: a second later. 0: no limit. The next call starts again.
void cli_watch_run(cli_interrupt *x, double timeout);

// --- progress (progress.c) -----------------------------------------------------------------------

// One line on a terminal's standard error, rewritten in place by a thread, from a second after the start until the
// command is done. Where standard error is no terminal nothing is shown and no thread is made.
typedef struct cli_progress cli_progress;
cli_progress *cli_progress_start(bool quiet);  // NULL if there is no line; all functions take NULL
void cli_progress_stop(cli_progress *p);       // erases the line
// Erases the line until the next tick; call before standard output or error is written.
void cli_progress_hide(cli_progress *p);
// What goes on: "compiling". Replaces all that was said before. done of total with total > 0 is shown and, with
// `estimate`, gives the time that is left; item, which may be NULL, is what is being done, and stays the caller's.
void cli_progress_phase(cli_progress *p, const char *phase);
void cli_progress_count(cli_progress *p, const char *unit, int64_t done, int64_t total, bool estimate,
                        const char *item);
// For lemnos_execute_options.progress, `user` being the cli_progress.
void cli_progress_run(void *user, const lemnos_progress *run);

// --- arguments (options.c) -----------------------------------------------------------------------

typedef struct cli_strings {
  const char **data;
  int len, cap;
} cli_strings;

typedef enum cli_option_kind { CLI_FLAG, CLI_STRING, CLI_STRINGS, CLI_INT, CLI_REAL, CLI_BYTES } cli_option_kind;

typedef struct cli_option {
  const char *name;      // "--device"; NULL ends the table
  cli_option_kind kind;  // what `out` points to: bool, const char *, cli_strings, int64_t, double, int64_t
  void *out;
  const char *value;  // how help names the value; NULL for flags
  const char *help;
} cli_option;

typedef struct cli_command {
  const char *name;
  const char *synopsis;                                         // "MODULE [options]"
  const char *summary;                                          // one line
  const char *details;                                          // paragraphs for `lemnos NAME --help`; may be NULL
  int (*run)(int argc, char **argv, cli_interrupt *interrupt);  // argv[0] is the first argument behind the name
} cli_command;

extern const cli_command cli_commands[];  // ends with a NULL name
const cli_command *cli_find_command(const char *name);

// Fills in options and positional arguments (both may be mixed; "--" ends options). --help prints and gives CLI_OK; an
// error is printed and gives CLI_USAGE; else CLI_GO_ON. `positional` and CLI_STRINGS are heap vectors of argv's own
// strings.
int cli_parse(const char *command, int argc, char **argv, const cli_option *options, cli_strings *positional);
int cli_usage_error(const char *command, const char *format, ...) LEMNOS_PRINTF(2, 3);
// A copy in which every control character but line feed and tab is '?': what a file holds must not steer the terminal.
// NULL:
// no memory.
char *cli_plain(const char *text);
// Prints the failure, frees it, gives the exit code that fits.
int cli_fail(const char *command, lemnos_status status, const cli_interrupt *interrupt);
// Writes text to standard output and reports what could not be written (a full disk, a closed pipe).
LEMNOS_NODISCARD lemnos_status cli_put(strv text);

// --- JSON (json.c) -------------------------------------------------------------------------------

typedef enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT } json_kind;
typedef struct json_value {
  json_kind kind;
  bool boolean;
  double number;
  bool is_integer;  // `integer` is exact, modulo 2^64
  uint64_t integer;
  strv string;               // unescaped
  int n;                     // items or members
  struct json_value *items;  // of an array, or the members' values
  strv *keys;                // of an object
} json_value;

// Strict RFC 8259; depth limited. The value lives in `a`.
LEMNOS_NODISCARD lemnos_status json_parse(arena *a, const char *name, strv text, json_value **out);
const json_value *json_get(const json_value *object, const char *key);  // NULL if absent or no object
// Members of a wanted kind; false if absent or of another kind.
bool json_get_number(const json_value *object, const char *key, double *out);
bool json_get_integer(const json_value *object, const char *key, int64_t *out);
bool json_get_string(const json_value *object, const char *key, strv *out);
void json_print_string(strbuf *out, strv s);

// --- npy and npz (npy.c, npz.c) ------------------------------------------------------------------

// Decodes a .npy file. want: HLO_DTYPE_COUNT takes the file's own type; otherwise types that .npy cannot name are taken
// from the unsigned bits of the same width (bf16, f8, f6, f4) or from int8/uint8 (i2, i4, ui2, ui4), and a file that
// holds another type is refused. `name` is for messages.
LEMNOS_NODISCARD lemnos_status npy_read(const char *name, strv bytes, hlo_dtype want, interp_array *out);
// Header of a .npy file for `a` (padded to 64); data follows as it lies in memory.
void npy_header(strbuf *out, const interp_array *a);
LEMNOS_NODISCARD lemnos_status npy_write_file(const char *path, const interp_array *a);

typedef struct npz_entry {
  strv name;      // without ".npy"
  strv raw;       // compressed or stored bytes
  uint64_t size;  // uncompressed
  uint32_t crc;
  int method;  // 0 stored, 8 deflated
} npz_entry;
typedef struct npz {
  arena *arena;
  char *bytes;
  const char *path;
  VEC(npz_entry) entries;
} npz;
LEMNOS_NODISCARD lemnos_status npz_open(const char *path, npz *out);
// The same from memory (as heap_try_alloc_aligned gives it), which is taken over, on failure too.
LEMNOS_NODISCARD lemnos_status npz_open_bytes(const char *path, char *bytes, size_t size, npz *out);
void npz_close(npz *z);
const npz_entry *npz_find(const npz *z, strv name);
LEMNOS_NODISCARD lemnos_status npz_read(const npz *z, const npz_entry *e, hlo_dtype want, interp_array *out);
// Stored, zip64 where needed, atomically.
LEMNOS_NODISCARD lemnos_status npz_write_file(const char *path, int n, const strv *names, const interp_array *arrays);
uint32_t crc32_of(uint32_t crc, const void *data, size_t size);  // start with 0

// --- inputs (inputs.c, recipes.c, safetensors.c) -------------------------------------------------

typedef struct cli_inputs {
  const char *inputs;       // --inputs: .npz, .json, folder, "random", "zeros", "ones"; NULL
  cli_strings input;        // --input
  const char *safetensors;  // --safetensors or LEMNOS_SAFETENSORS; NULL
  int64_t seed;
  bool per_process;  // argN@P is the argument of process P; else there is no such thing
  int process;       // whose arguments
} cli_inputs;

// One array per argument of the module, in order; data is the caller's to free with heap_aligned_free.
LEMNOS_NODISCARD lemnos_status inputs_load(const cli_inputs *in, const lemnos_module *m, int *out_n,
                                           interp_array **out);
void arrays_free(int n, interp_array *arrays);                   // data and the list
LEMNOS_NODISCARD lemnos_status array_allocate(interp_array *a);  // data for type and dims
int64_t array_elements(const interp_array *a);
uint64_t splitmix64(uint64_t seed, uint64_t index);  // output `index`, from 0

// An argument by its recipe in inputs.json. folder: where the file lies.
typedef struct safetensors safetensors;
LEMNOS_NODISCARD lemnos_status recipe_make(const json_value *recipe, int index, const npz *stored, safetensors **files,
                                           const char *folder, const char *override, interp_array *out);
LEMNOS_NODISCARD lemnos_status safetensors_open(const char *path, safetensors **out);
void safetensors_close(safetensors *s);
LEMNOS_NODISCARD lemnos_status safetensors_read(const safetensors *s, strv tensor, interp_array *out);

// --- results (compare.c, print.c) ----------------------------------------------------------------

typedef struct cli_expect {
  const char *expected;  // .npz or folder
  const char *meta;      // meta.json, NULL: the one beside `expected` if there is one, "" none
  double rtol, atol;     // < 0: meta's, else the defaults of the type
  int n_results;         // of one process, when there are several; else 0
} cli_expect;

// out3, or, with n_results of each process, out3@1
#define CLI_RESULT_NAME 48
void result_name(char *out, int index, int n_results);

typedef struct compare_report {
  double max_abs, max_rel;  // over finite elements
  int64_t differing;        // elements beyond the tolerance
  int64_t elements, compared;
  int64_t first;  // index of the first beyond the tolerance, -1
  double used;    // largest error as a share of what is allowed
  double rtol, atol;
  bool passed;
} compare_report;
void compare_default_tolerance(hlo_dtype t, double *rtol, double *atol);
// golden: the same array, or flat[::stride] of it.
void compare_arrays(const interp_array *actual, const interp_array *golden, int64_t stride, double rtol, double atol,
                    int64_t may_differ, compare_report *out);
// Compares all results; one line per output to `text`. CHECK_FAILED if something differs.
LEMNOS_NODISCARD lemnos_status compare_results(const cli_expect *e, int n, const interp_array *results, strbuf *text);

void print_array(strbuf *out, const interp_array *a, bool full);
void print_index(strbuf *out, const interp_array *a, int64_t i);  // [1, 2]

// --- the host's end of a run (feeds.c) -----------------------------------------------------------

typedef struct cli_feeds cli_feeds;
// infeed: an .npz, or NULL; outfeed: whether what the program gives is kept. per_process: by process, NAME@P. Prints go
// to stderr.
LEMNOS_NODISCARD lemnos_status feeds_open(const char *infeed, bool outfeed, bool per_process, const lemnos_module *m,
                                          cli_feeds **out);
const lemnos_host *feeds_host(cli_feeds *f);
void feeds_hide(cli_feeds *f, cli_progress *p);  // the line that makes way for what the program prints
LEMNOS_NODISCARD lemnos_status feeds_write(const cli_feeds *f, const char *path);
void feeds_close(cli_feeds *f);

// --- one program on one device (session.c) -------------------------------------------------------

typedef struct cli_program {  // options shared by run and bench
  const char *module, *entry, *device, *cache_dir;
  cli_inputs in;
  int64_t threads, max_memory, opt_bisect_limit;
  double timeout;
  bool no_cache, verify_each, keep_constants;
} cli_program;
#define CLI_PROGRAM_INIT \
  { .in.seed = 1, .opt_bisect_limit = 0 }
#define CLI_DEVICE_OPTIONS(p)                                                                                          \
  {"--device", CLI_STRING, &(p)->device, "ID", "cpu, vulkan:1, interp, ...; else $LEMNOS_DEVICE, else the best here"}, \
      {"--threads", CLI_INT, &(p)->threads, "N", "host threads (default: all CPUs this process may use)"},             \
      {"--cache-dir", CLI_STRING, &(p)->cache_dir, "DIR", "where compiled code of drivers is kept"}, {                 \
    "--no-cache", CLI_FLAG, &(p)->no_cache, NULL, "keep no compiled code"                                              \
  }
#define CLI_PROGRAM_OPTIONS(p)                                                                                         \
  CLI_DEVICE_OPTIONS(p), {"--entry", CLI_STRING, &(p)->entry, "NAME", "function to run (default main)"},               \
      {"--inputs", CLI_STRING, &(p)->in.inputs, "SOURCE",                                                              \
       "arguments: an .npz with arg0, arg1, ...; an inputs.json with recipes; a folder with one of them; random, "     \
       "zeros or ones"},                                                                                               \
      {"--input", CLI_STRINGS, &(p)->in.input, "[argN=]SPEC",                                                          \
       "one argument (repeat, in order): a.npy; 2x3xf32=1,2,...; 2x3xf32=0 (all alike); 4xf32=random, =zeros, =ones, " \
       "=iota; random alone takes the declared type"},                                                                 \
      {"--seed", CLI_INT, &(p)->in.seed, "N", "of random arguments (default 1)"},                                      \
      {"--safetensors", CLI_STRING, &(p)->in.safetensors, "FILE",                                                      \
       "the file for arguments whose recipe is `safetensors` (else $LEMNOS_SAFETENSORS)"},                             \
      {"--max-memory", CLI_BYTES, &(p)->max_memory, "SIZE", "limit of a run's memory: 512M, 2G"},                      \
      {"--timeout", CLI_REAL, &(p)->timeout, "SECONDS", "limit of the time of a run, and of compiling it"},            \
      {"--opt-bisect-limit", CLI_INT, &(p)->opt_bisect_limit, "N", "let only the first N rewrites happen"}, {          \
    "--verify-each", CLI_FLAG, &(p)->verify_each, NULL, "verify the module after every pass"                           \
  }

typedef struct cli_session {
  lemnos_context *context;
  lemnos_device *device;
  lemnos_module *module;
  lemnos_executable *executable;
  interp_array *args;  // host copies
  int n_args, n_results;
  lemnos_buffer **buffers;  // arguments on the device; NULL for tokens
  double import_seconds;
  const lemnos_host *host;  // of runs; NULL: none
  cli_progress *progress;   // of the command; NULL: none
} cli_session;

LEMNOS_NODISCARD lemnos_status session_context(const cli_program *p, lemnos_context **out);
LEMNOS_NODISCARD lemnos_status session_load_module(lemnos_context *c, const char *path, const char *entry,
                                                   lemnos_module **out);
// Everything up to a compiled program with its arguments on the device.
LEMNOS_NODISCARD lemnos_status session_open(const cli_program *p, cli_session *s);
// module, device, args are there
LEMNOS_NODISCARD lemnos_status session_compile(cli_session *s, const cli_program *p);
// Unless the arguments are to be kept, each one's host memory becomes the device's or is freed when that has its copy.
LEMNOS_NODISCARD lemnos_status session_upload(cli_session *s, bool keep);
// The same with arguments for every process of the module; n_args and n_results are of one.
LEMNOS_NODISCARD lemnos_status session_open_processes(const cli_program *p, cli_session *s, int *out_n);
LEMNOS_NODISCARD lemnos_status session_run_processes(cli_session *s, const cli_program *p, int n,
                                                     cli_interrupt *interrupt, interp_array **out);
// One run; results (n_results of them) are new buffers.
LEMNOS_NODISCARD lemnos_status session_run(cli_session *s, const cli_program *p, bool donate, cli_interrupt *interrupt,
                                           lemnos_buffer **results);
// The results as arrays; their buffers are freed one by one as they are read.
LEMNOS_NODISCARD lemnos_status session_read(cli_session *s, lemnos_buffer **results, interp_array **out);
void session_free_results(cli_session *s, lemnos_buffer **results);  // the buffers; NULLs too
void session_close(cli_session *s);

// The frame of commands that take one program: parses options and the one module (exit codes as of cli_parse), ...
int cli_parse_program(const char *command, int argc, char **argv, const cli_option *options, cli_program *p);
// ... and calls fn with an empty session, which is closed afterwards; gives the exit code.
typedef lemnos_status (*cli_session_fn)(void *options, cli_session *s, cli_interrupt *interrupt);
int cli_with_session(const char *command, bool quiet, cli_session_fn fn, void *options, cli_interrupt *interrupt);
void cli_session_quiet(cli_session *s);  // ends the progress line: results are written now

// Work a program does, from its instructions; loops of unknown count once.
typedef struct cli_cost {
  double flops, bytes;  // bytes: arguments and results
} cli_cost;
cli_cost module_cost(const hlo_module *m);

int cmd_run(int argc, char **argv, cli_interrupt *interrupt);
int cmd_check(int argc, char **argv, cli_interrupt *interrupt);
int cmd_devices(int argc, char **argv, cli_interrupt *interrupt);
int cmd_opt(int argc, char **argv, cli_interrupt *interrupt);
int cmd_bench(int argc, char **argv, cli_interrupt *interrupt);
int cmd_demo(int argc, char **argv, cli_interrupt *interrupt);

#endif
