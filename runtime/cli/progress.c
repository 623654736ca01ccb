// SPDX-License-Identifier: Apache-2.0
// The progress line of long commands.
//
// Commands, and the callback of lemnos_execute, only say what goes on; a thread composes the line ten times a second
// and writes it to standard error: "running 12 s, about 18 s left, 3/7 instructions, 12,345/30,000 iterations, now
// dot". The line is cut to the terminal's width, so that a carriage return and "erase line" are enough to take it back.
// Time left is given only where equal pieces are counted: iterations of a loop, runs of a benchmark.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

#define SILENT_SECONDS 1.0
#define TICK_NANOSECONDS 100000000

struct cli_progress {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool over, drawn, colour;
  double start;
  // what goes on
  const char *phase;
  double since;  // start of the phase
  const char *unit, *item;
  int64_t done, total;
  bool estimate;
  bool running;  // `run` is valid
  lemnos_progress run;
};

// --- the text ------------------------------------------------------------------------------------

static void print_grouped(strbuf *out, int64_t n) {
  char digits[24];
  int len = snprintf(digits, sizeof digits, "%lld", (long long)n);
  for (int i = 0; i < len; i++) {
    if (i && (len - i) % 3 == 0) strbuf_append_char(out, ',');
    strbuf_append_char(out, digits[i]);
  }
}

static void print_seconds(strbuf *out, double s) {
  if (s < 100)
    strbuf_printf(out, "%.*f s", s < 10 ? 1 : 0, s);
  else if (s < 6000)
    strbuf_printf(out, "%d:%02d min", (int)(s / 60), (int)s % 60);
  else
    strbuf_printf(out, "%.1f h", s / 3600);
}

static void print_count(strbuf *out, const char *unit, int64_t done, int64_t total) {
  strbuf_append_cstr(out, ", ");
  print_grouped(out, done);
  if (total > 0) {
    strbuf_append_char(out, '/');
    print_grouped(out, total);
  }
  strbuf_printf(out, " %s", unit);
}

// An estimate needs a few pieces, and some time, to stand on.
static void print_left(strbuf *out, double seconds, int64_t done, int64_t total, const char *of) {
  if (total <= 0 || done < 3 || done >= total || seconds < 0.5) return;
  strbuf_append_cstr(out, ", about ");
  print_seconds(out, seconds / (double)done * (double)(total - done));
  strbuf_printf(out, " left%s", of);
}

static void print_run(strbuf *out, const lemnos_progress *r) {
  if (r->total > 1 || !r->loop_total) print_count(out, "instructions", r->done, r->total);
  if (r->loop_total) print_count(out, "iterations", r->loop_done, r->loop_total);
  strbuf_printf(out, ", now %s", r->op ? r->op : "waiting for the device");
}

// What matters most comes first: the end may be cut off.
static void compose(const cli_progress *p, strbuf *out) {
  double now = io_seconds();
  strbuf_append_char(out, ' ');
  print_seconds(out, now - p->start);
  if (p->total > 0 && p->estimate) print_left(out, now - p->since, p->done, p->total, "");
  if (p->running && p->total <= 0)
    print_left(out, p->run.loop_seconds, p->run.loop_done, p->run.loop_total,
               p->run.total > p->run.done + 1 ? " in this loop" : "");
  if (p->total > 0) print_count(out, p->unit, p->done, p->total);
  if (p->item) strbuf_printf(out, ", %s", p->item);
  if (p->running) print_run(out, &p->run);
}

// --- the line ------------------------------------------------------------------------------------

static void put(const char *text, size_t n) {
  ssize_t written = write(STDERR_FILENO, text, n);
  (void)written;  // a terminal that is gone: nothing to be done
}

static void erase(cli_progress *p) {
  if (!p->drawn) return;
  put("\r\033[K", 4);
  p->drawn = false;
}

static void draw(cli_progress *p) {
  struct winsize size = {0};
  int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  strbuf text = {0}, line = {0};
  compose(p, &text);
  for (size_t i = 0; i < text.len; i++)  // names of files
    if (text.data[i] < ' ' || text.data[i] > '~') text.data[i] = '?';
  size_t room = (size_t)columns - 1, phase = strlen(p->phase);
  if (phase > room) phase = room;
  if (text.len > room - phase) text.len = room - phase;
  strbuf_append_cstr(&line, p->colour ? "\r\033[1m" : "\r");
  strbuf_append(&line, (strv){p->phase, phase});
  if (p->colour) strbuf_append_cstr(&line, "\033[0m");
  strbuf_append(&line, strbuf_view(&text));
  strbuf_append_cstr(&line, "\033[K");
  put(line.data, line.len);
  p->drawn = true;
  strbuf_deinit(&text);
  strbuf_deinit(&line);
}

static void *tick(void *ctx) {
  cli_progress *p = ctx;
  pthread_mutex_lock(&p->lock);
  while (!p->over) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_NANOSECONDS;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&p->wake, &p->lock, &until);
    if (!p->over && io_seconds() - p->start >= SILENT_SECONDS) draw(p);
  }
  erase(p);
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

// --- what commands say ---------------------------------------------------------------------------

static bool set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value;
}

cli_progress *cli_progress_start(bool quiet) {
  const char *term = getenv("TERM");
  if (quiet || !isatty(STDERR_FILENO) || !term || !*term || strcmp(term, "dumb") == 0) return NULL;
  cli_progress *p = heap_alloc(sizeof *p);
  p->start = p->since = io_seconds();
  p->phase = "starting";
  p->colour = !set("NO_COLOR");
  pthread_condattr_t clock;
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&p->wake, &clock);
  pthread_condattr_destroy(&clock);
  pthread_mutex_init(&p->lock, NULL);
  if (pthread_create(&p->thread, NULL, tick, p) == 0) return p;
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  free(p);
  return NULL;
}

void cli_progress_stop(cli_progress *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->over = true;
  pthread_cond_signal(&p->wake);
  pthread_mutex_unlock(&p->lock);
  pthread_join(p->thread, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  free(p);
}

void cli_progress_hide(cli_progress *p) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  erase(p);
  pthread_mutex_unlock(&p->lock);
}

void cli_progress_phase(cli_progress *p, const char *phase) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->phase = phase;
  p->since = io_seconds();
  p->total = 0;
  p->item = NULL;
  p->running = false;
  pthread_mutex_unlock(&p->lock);
}

void cli_progress_count(cli_progress *p, const char *unit, int64_t done, int64_t total, bool estimate,
                        const char *item) {
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->unit = unit;
  p->done = done;
  p->total = total;
  p->estimate = estimate;
  p->item = item;
  p->running = false;  // of the piece before
  pthread_mutex_unlock(&p->lock);
}

void cli_progress_run(void *user, const lemnos_progress *run) {
  cli_progress *p = user;
  pthread_mutex_lock(&p->lock);
  p->run = *run;
  p->running = true;
  pthread_mutex_unlock(&p->lock);
}
