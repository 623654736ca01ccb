// SPDX-License-Identifier: Apache-2.0
// lemnos check: self-checking modules.
//
// Files are dealt to worker threads; each worker collects a file's lines and counts, and whatever is complete is
// printed in the order of the command line, so that the output does not depend on timing. With --isolate workers are
// processes: one that dies (a broken invariant, a crash of a driver) costs the file it was at, which counts as failed,
// and a new one goes on.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontend/import.h"
#include "runtime/cli/cli.h"

typedef struct check_options {
  const char *device;
  int64_t jobs;
  double timeout;
  int64_t max_memory;
  bool verbose, quiet, silent, any_arguments, isolate;
} check_options;

typedef struct file_result {
  strbuf text;
  int passed, failed, skipped;
  bool done;
} file_result;

typedef struct check_state {
  const check_options *options;
  const cli_program *program;
  lemnos_context *context;
  lemnos_device *device;
  const cli_strings *files;
  file_result *results;
  cli_interrupt *interrupt;
  atomic_int next;
  pthread_mutex_t lock;
  int printed, n_done;
  bool broken_pipe;
  cli_progress *progress;
  bool one_at_a_time;  // then the progress line also says what the run is at
  bool watched;        // one function at a time runs in this process, and only a file's end ends with the process
} check_state;

// --- one function --------------------------------------------------------------------------------

// "file.mlir (part 3) @name"
typedef struct place {
  const char *file;
  strv entry;
} place;

static void report(check_state *s, file_result *r, place at, lemnos_status status) {
  lemnos_status_code code = lemnos_status_get_code(status);
  const char *word = !status ? "PASS" : code == LEMNOS_UNIMPLEMENTED ? "SKIP" : "FAIL";
  r->passed += word[0] == 'P';
  r->skipped += word[0] == 'S';
  r->failed += word[0] == 'F';
  bool shown = word[0] == 'F' || s->options->verbose || (word[0] == 'S' && !s->options->quiet);
  if (shown) {
    strbuf_printf(&r->text, "%s %s", word, at.file);
    if (at.entry.len) strbuf_printf(&r->text, " @" STRV_FMT, STRV_ARG(at.entry));
    char *why = status ? cli_plain(lemnos_status_message(status)) : NULL;
    if (why) strbuf_printf(&r->text, ": %s", why);
    free(why);
    strbuf_append_char(&r->text, '\n');
  }
  lemnos_status_free(status);
}

// Values for a main that takes arguments (--any-arguments): dynamic dimensions 8, integer scalars 8, else small
// numbers.
static lemnos_status make_up(const hlo_shape *s, interp_array *a) {
  *a = (interp_array){.dtype = s->dtype, .rank = s->rank};
  if (s->dtype == HLO_TOKEN) return LEMNOS_SUCCESS;
  for (int d = 0; d < s->rank; d++)
    a->dims[d] =
        s->dims[d] == HLO_DYNAMIC ? (s->bounds && s->bounds[d] > 0 && s->bounds[d] < 8 ? s->bounds[d] : 8) : s->dims[d];
  LEMNOS_TRY(array_allocate(a));
  int64_t n = array_elements(a);
  for (int64_t i = 0; i < n; i++) {
    if (hlo_dtype_is_integer(s->dtype) || s->dtype == HLO_PRED)
      hlo_element_set_i64(s->dtype, a->data, i, s->rank ? i % 3 : 8);
    else
      hlo_element_set_f64(s->dtype, a->data, i, 0, 0.25 * (double)(i % 17) - 1);
    if (hlo_dtype_is_complex(s->dtype)) hlo_element_set_f64(s->dtype, a->data, i, 1, 0.5);
  }
  return LEMNOS_SUCCESS;
}

static lemnos_status run_module(check_state *s, lemnos_module *m) {
  cli_program program = {.timeout = s->options->timeout,
                         .max_memory = s->options->max_memory,
                         .verify_each = s->program->verify_each,
                         .keep_constants = true};
  cli_session x = {.context = s->context,
                   .device = s->device,
                   .module = m,
                   .n_args = module_param_leaves(m->hlo),
                   .progress = s->one_at_a_time ? s->progress : NULL};
  if (x.n_args && !s->options->any_arguments)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                              "it takes %d argument%s: not a self-checking function (--any-arguments makes values up)",
                              x.n_args, x.n_args == 1 ? "" : "s");
  x.args = heap_alloc(sizeof *x.args * (size_t)(x.n_args + 1));
  lemnos_status status = LEMNOS_SUCCESS;
  for (int i = 0; !status && i < x.n_args; i++) status = make_up(module_param_leaf(m->hlo, i), &x.args[i]);
  if (!status) status = session_compile(&x, &program);
  if (!status) status = session_upload(&x, false);
  if (!status) {
    lemnos_buffer **results = heap_alloc(sizeof *results * (size_t)(x.n_results + 1));
    status = session_run(&x, &program, true, s->interrupt, results);
    session_free_results(&x, results);
    free(results);
  }
  for (int i = 0; x.buffers && i < x.n_args; i++) lemnos_buffer_free(x.buffers[i]);
  free(x.buffers);
  lemnos_executable_free(x.executable);
  arrays_free(x.n_args, x.args);
  return status;
}

static lemnos_status check_hlo(check_state *s, arena *a, hlo_module *hlo) {
  lemnos_module m = {.context = s->context, .arena = a, .hlo = hlo};
  if (s->watched) cli_watch_run(s->interrupt, 2 * s->options->timeout);  // compilation has as long as the run
  lemnos_status status = run_module(s, &m);
  if (s->watched) cli_watch(s->interrupt, 0);
  return status;
}

static lemnos_status check_entry(check_state *s, const mlir_module *mlir, strv entry) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  hlo_module *hlo = NULL;
  lemnos_status status = import_module(mlir, &(import_options){.entry = entry}, a, &sink, &hlo);
  if (!status) status = check_hlo(s, a, hlo);
  diag_sink_deinit(&sink);
  arena_destroy(a);
  return status;
}

// --- one module ----------------------------------------------------------------------------------

static void check_module(check_state *s, file_result *r, const char *file, strv text) {
  arena *a = arena_create();
  diag_sink sink;
  diag_sink_init(&sink, a);
  place at = {.file = file};
  mlir_module *mlir = NULL;
  strv *entries = NULL;
  int n = 0;
  lemnos_status status;
  if (!mlir_is_bytecode(text.data, text.len) && import_is_hlo_text(text)) {
    hlo_module *hlo = NULL;
    status = import_program(a, strv_from_cstr(file), text.data, text.len, NULL, &sink, &hlo);
    if (!status) status = check_hlo(s, a, hlo);
    report(s, r, at, status);
  } else {
    if (mlir_is_bytecode(text.data, text.len))
      status = mlir_read_bytecode(a, strv_from_cstr(file), text.data, text.len, &sink, &mlir);
    else
      status = mlir_parse_text(a, strv_from_cstr(file), text, &sink, &mlir);
    if (!status) status = import_list_entries(mlir, a, &entries, &n);
    if (!status && n == 0)
      status = lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "no main, and no function without arguments");
    if (status) report(s, r, at, status);
    for (int i = 0; i < n && !s->interrupt->cancelled; i++) {
      at.entry = entries[i];
      report(s, r, at, check_entry(s, mlir, entries[i]));
    }
  }
  diag_sink_deinit(&sink);
  arena_destroy(a);
}

static bool has_code(strv s) {
  while (s.len) {
    strv line;
    strv_split(s, '\n', &line, &s);
    line = strv_trim(line);
    if (line.len && !strv_starts_with(line, STRV("//"))) return true;
  }
  return false;
}

// Calls check_module for each part between lines "// -----". A part is preceded by as many line feeds as there are
// lines before it, so that messages give the file's own line numbers.
static void check_parts(check_state *s, file_result *r, const char *file, strv text) {
  size_t begin = 0, lines = 0, begin_lines = 0;
  for (size_t at = 0; at <= text.len; lines++) {
    size_t end = at;
    while (end < text.len && text.data[end] != '\n') end++;
    bool last = end >= text.len;
    strv line = strv_trim((strv){text.data + at, end - at});
    bool split = strv_eq(line, STRV("// -----"));
    if (split || last) {
      strv part = {text.data + begin, (split ? at : text.len) - begin};
      if (has_code(part)) {
        char *copy = heap_alloc(begin_lines + part.len + 1);
        memset(copy, '\n', begin_lines);
        memcpy(copy + begin_lines, part.data, part.len);
        check_module(s, r, file, (strv){copy, begin_lines + part.len});
        free(copy);
      }
      begin = end + 1;
      begin_lines = lines + 1;
    }
    at = end + 1;
  }
}

static void check_file(check_state *s, int index) {
  const char *path = s->files->data[index];
  file_result *r = &s->results[index];
  char *bytes = NULL;
  size_t size = 0;
  strv text;
  lemnos_status status = io_read_file(path, &bytes, &size);
  if (status)
    report(s, r, (place){.file = path}, status);
  else if (mlir_is_bytecode(bytes, size))
    check_module(s, r, path, (strv){bytes, size});
  else if ((status = import_find_text(strv_from_cstr(path), bytes, size, &text)))
    report(s, r, (place){.file = path}, status);
  else
    check_parts(s, r, path, text);
  heap_aligned_free(bytes);
}

// --- all files -----------------------------------------------------------------------------------

// The file that has been waited for longest is named.
static void say_progress(const check_state *s) {
  const char *file = s->printed < s->files->len ? s->files->data[s->printed] : NULL;
  cli_progress_count(s->progress, "files", s->n_done, s->files->len, false, file);
}

// Prints what is complete, in order. Lock held if there are threads.
static void file_is_done(check_state *s, int index) {
  s->results[index].done = true;
  s->n_done++;
  if (s->results[s->printed].done) cli_progress_hide(s->progress);
  for (; s->printed < s->files->len && s->results[s->printed].done; s->printed++) {
    lemnos_status status = cli_put(strbuf_view(&s->results[s->printed].text));
    s->broken_pipe |= status != NULL;
    lemnos_status_free(status);
    strbuf_deinit(&s->results[s->printed].text);
  }
  say_progress(s);
}

static void *worker(void *p) {
  check_state *s = p;
  for (;;) {
    int i = atomic_fetch_add(&s->next, 1);
    if (i >= s->files->len || s->interrupt->cancelled) return NULL;
    check_file(s, i);
    pthread_mutex_lock(&s->lock);
    file_is_done(s, i);
    pthread_mutex_unlock(&s->lock);
  }
}

static void run_workers(check_state *s, int n) {
  pthread_t *threads = heap_alloc(sizeof *threads * (size_t)n);
  int made = 0;
  while (made < n - 1 && pthread_create(&threads[made], NULL, worker, s) == 0) made++;
  worker(s);
  for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
  free(threads);
}

// --- processes (--isolate) -----------------------------------------------------------------------

// A child takes files by number from one pipe and answers on another: a message, then its text. The parent keeps one
// file with each child, so it knows what a child that dies was at.
typedef struct message {
  int32_t file, passed, failed, skipped;
  uint64_t n_text;
} message;

typedef struct child {
  pid_t pid;  // 0: none
  int to, from;
  int file;  // being checked, -1: none
} child;

static bool read_all(int fd, void *data, size_t n) {
  for (char *p = data; n;) {
    ssize_t got = read(fd, p, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    p += got;
    n -= (size_t)got;
  }
  return true;
}

static bool write_all(int fd, const void *data, size_t n) {
  for (const char *p = data; n;) {
    ssize_t put = write(fd, p, n);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    p += put;
    n -= (size_t)put;
  }
  return true;
}

static lemnos_status open_device(check_state *s, const cli_program *p) {
  LEMNOS_TRY(session_context(p, &s->context));
  return lemnos_device_open(s->context, s->options->device, &s->device);
}

// The life of a child; it ends without cleaning up.
static void child_main(check_state *s, const cli_program *p, int in, int out) {
  s->watched = true;
  lemnos_status failure = open_device(s, p);
  int32_t index;
  while (read_all(in, &index, sizeof index)) {
    file_result *r = &s->results[index];
    if (failure) {
      r->failed = 1;
      strbuf_printf(&r->text, "FAIL %s: %s\n", s->files->data[index], lemnos_status_message(failure));
    } else {
      check_file(s, index);
    }
    message m = {.file = index, .passed = r->passed, .failed = r->failed, .skipped = r->skipped, .n_text = r->text.len};
    if (!write_all(out, &m, sizeof m) || !write_all(out, r->text.data, r->text.len)) break;
    strbuf_deinit(&r->text);
  }
  _exit(0);
}

static bool child_start(check_state *s, const cli_program *p, child *children, int n, child *c) {
  int to[2], from[2];
  if (pipe(to) != 0) return false;
  if (pipe(from) != 0) return close(to[0]), close(to[1]), false;
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    for (int i = 0; i < n; i++)
      if (children[i].pid) close(children[i].to), close(children[i].from);
    close(to[1]);
    close(from[0]);
    child_main(s, p, to[0], from[1]);
  }
  close(to[0]);
  close(from[1]);
  if (pid < 0) return close(to[1]), close(from[0]), false;
  *c = (child){.pid = pid, .to = to[1], .from = from[0], .file = -1};
  return true;
}

// Ends a child and gives its exit status.
static int child_stop(child *c) {
  int status = 0;
  close(c->to);
  close(c->from);
  while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {
  }
  c->pid = 0;
  return status;
}

static void child_answered(check_state *s, child *c) {
  message m;
  file_result *r = &s->results[c->file];
  bool whole = read_all(c->from, &m, sizeof m);
  if (whole && m.n_text) {
    char *text = heap_alloc(m.n_text);
    whole = read_all(c->from, text, m.n_text);
    if (whole) strbuf_append(&r->text, (strv){text, m.n_text});
    free(text);
  }
  if (whole) {
    r->passed = m.passed, r->failed = m.failed, r->skipped = m.skipped;
  } else {
    int status = child_stop(c);
    r->failed = 1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_TIMEOUT)
      strbuf_printf(&r->text, "FAIL %s: stopped: the time limit has passed\n", s->files->data[c->file]);
    else
      strbuf_printf(&r->text, "FAIL %s: the process died (%s %d)\n", s->files->data[c->file],
                    WIFSIGNALED(status) ? "signal" : "exit code",
                    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  }
  file_is_done(s, c->file);
  c->file = -1;
}

static lemnos_status run_processes(check_state *s, const cli_program *p, int n) {
  child *children = heap_alloc(sizeof *children * (size_t)n);
  struct pollfd *polls = heap_alloc(sizeof *polls * (size_t)n);
  int next = 0, busy = 0;
  lemnos_status status = LEMNOS_SUCCESS;
  signal(SIGPIPE, SIG_IGN);  // a child may be gone when it is given a file
  for (int i = 0; i < n; i++) children[i].file = -1;
  while (!status && (next < s->files->len || busy)) {
    for (int i = 0; i < n && next < s->files->len; i++) {
      child *c = &children[i];
      if (c->file >= 0) continue;
      if (!c->pid && !child_start(s, p, children, n, c)) {
        status = lemnos_status_make(LEMNOS_UNAVAILABLE, "no process could be made");
        break;
      }
      int32_t index = c->file = next++;
      busy++;
      (void)write_all(c->to, &index, sizeof index);  // a child that is gone is found by the poll
    }
    for (int i = 0; i < n; i++)
      polls[i] = (struct pollfd){.fd = children[i].file >= 0 ? children[i].from : -1, .events = POLLIN};
    if (poll(polls, (nfds_t)n, -1) < 0) continue;
    for (int i = 0; i < n; i++)
      if (polls[i].revents) child_answered(s, &children[i]), busy--;
  }
  for (int i = 0; i < n; i++)
    if (children[i].pid) (void)child_stop(&children[i]);
  free(polls);
  free(children);
  return status;
}

// --- the command ---------------------------------------------------------------------------------

static int summarize(check_state *s) {
  int passed = 0, failed = 0, skipped = 0;
  for (int i = 0; i < s->files->len; i++) {
    passed += s->results[i].passed;
    failed += s->results[i].failed;
    skipped += s->results[i].skipped;
    strbuf_deinit(&s->results[i].text);
  }
  printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  bool written = fflush(stdout) == 0 && !s->broken_pipe;
  return s->interrupt->cancelled ? CLI_INTERRUPTED : failed ? CLI_NO : written ? CLI_OK : CLI_TROUBLE;
}

static int check(const check_options *o, const cli_program *program, const cli_strings *files,
                 cli_interrupt *interrupt) {
  int jobs = o->jobs > 0 ? (int)(o->jobs < 1024 ? o->jobs : 1024) : thread_usable_cpus();
  if (jobs > files->len) jobs = files->len;
  cli_program p = *program;
  if (jobs > 1 && !p.threads) p.threads = 1;  // parallel by file
  check_state s = {.options = o, .program = program, .files = files, .interrupt = interrupt};
  s.results = heap_alloc(sizeof *s.results * (size_t)files->len);
  lemnos_status status;
  s.one_at_a_time = jobs == 1 && !o->isolate;
  if (o->isolate) {
    s.progress = cli_progress_start(o->silent);
    cli_progress_phase(s.progress, "checking");
    say_progress(&s);
    status = run_processes(&s, &p, jobs);
  } else {
    cli_interrupt_start(interrupt);  // before other threads
    s.progress = cli_progress_start(o->silent);
    status = open_device(&s, &p);
    if (!status) {
      pthread_mutex_init(&s.lock, NULL);
      s.watched = s.one_at_a_time;
      cli_interrupt_phase(interrupt, CLI_PHASE_RUN);
      cli_progress_phase(s.progress, "checking");
      say_progress(&s);
      run_workers(&s, jobs);
      cli_interrupt_phase(interrupt, CLI_PHASE_IDLE);
      pthread_mutex_destroy(&s.lock);
    }
  }
  cli_progress_stop(s.progress);
  int code = status ? cli_fail("check", status, interrupt) : summarize(&s);
  free(s.results);
  lemnos_device_free(s.device);
  lemnos_context_free(s.context);
  return code;
}

int cmd_check(int argc, char **argv, cli_interrupt *interrupt) {
  cli_program program = {0};
  check_options o = {.timeout = 0};
  const cli_option options[] = {
      CLI_DEVICE_OPTIONS(&program),
      {"--jobs", CLI_INT, &o.jobs, "N", "files at once (default: all CPUs this process may use)"},
      {"--isolate", CLI_FLAG, &o.isolate, NULL, "check in processes of their own: a crash costs one file, not all"},
      {"--timeout", CLI_REAL, &o.timeout, "SECONDS",
       "limit of the time of one function; of several files each has a process then"},
      {"--max-memory", CLI_BYTES, &o.max_memory, "SIZE", "limit of a function's memory: 512M, 2G"},
      {"--any-arguments", CLI_FLAG, &o.any_arguments, NULL,
       "run a main that takes arguments with made-up values; it passes if it runs"},
      {"--verify-each", CLI_FLAG, &program.verify_each, NULL, "verify the module after every pass"},
      {"-v", CLI_FLAG, &o.verbose, NULL, "a line for each function that passes, too"},
      {"-q", CLI_FLAG, &o.quiet, NULL, "no lines for skipped functions"},
      {"--quiet", CLI_FLAG, &o.silent, NULL, "as -q, and no progress line on a terminal"},
      {0}};
  cli_strings files = {0};
  int code = cli_parse("check", argc, argv, options, &files);
  if (code == CLI_GO_ON && !files.len) code = cli_usage_error("check", "no file is given");
  if (code == CLI_GO_ON) {
    o.device = program.device;
    o.quiet |= o.silent;
    o.isolate |= o.timeout > 0 && files.len > 1;  // compilation and kernels end with their process only
    code = check(&o, &program, &files, interrupt);
  }
  vec_deinit(&files);
  return code;
}
