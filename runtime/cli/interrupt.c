// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and termination: signals are blocked in every thread and taken by one that waits for them, so that what
// happens on a signal is ordinary code (no handler, no global).
//
// While a program runs, the first signal asks it to stop (the run ends with CANCELLED), a second one ends the process.
// While files are written they are finished first. At all other times the process ends at once.
//
// Time limits that runs keep by themselves (they look at a clock between steps) are backed by a second thread, which
// ends the process when compilation or a single kernel takes too long.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/cli/cli.h"

static void watched_signals(sigset_t *set) {
  const int wanted[] = {SIGINT, SIGTERM};
  sigemptyset(set);
  for (int i = 0; i < 2; i++) {
    struct sigaction now;
    if (sigaction(wanted[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(set, wanted[i]);
  }
}

static void *wait_for_signals(void *p) {
  cli_interrupt *x = p;
  sigset_t set;
  watched_signals(&set);
  for (;;) {
    int number = 0;
    if (sigwait(&set, &number) != 0) return NULL;
    x->cancelled = 1;
    int before = atomic_fetch_add(&x->n_signals, 1);
    if (atomic_load(&x->phase) != CLI_PHASE_IDLE && before == 0) continue;
    static const char text[] = "\nlemnos: interrupted\n";
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    (void)n;
    _exit(number == SIGINT ? CLI_INTERRUPTED : 128 + number);
  }
}

void cli_interrupt_start(cli_interrupt *x) {
  sigset_t set;
  watched_signals(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  pthread_t thread;
  if (pthread_create(&thread, NULL, wait_for_signals, x) == 0)
    pthread_detach(thread);
  else
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);  // the default action is better than none
}

void cli_interrupt_phase(cli_interrupt *x, cli_phase phase) {
  atomic_store(&x->phase, phase);
}

enum { WATCH_MICROSECONDS = 50000 };

static void *watch(void *p) {
  cli_interrupt *x = p;
  for (;;) {
    usleep(WATCH_MICROSECONDS);
    double deadline = atomic_load(&x->deadline);
    if (deadline <= 0 || io_seconds() < deadline || atomic_load(&x->phase) == CLI_PHASE_WRITE) continue;
    static const char text[] = "\nlemnos: stopped: the time limit has passed\n";
    int skip = !isatty(STDERR_FILENO);  // a line of its own below the progress line
    ssize_t n = write(STDERR_FILENO, text + skip, sizeof text - 1 - (size_t)skip);
    (void)n;
    _exit(CLI_TIMEOUT);
  }
}

void cli_watch_run(cli_interrupt *x, double timeout) {
  cli_watch(x, timeout > 0 ? timeout + 1 : 0);
}

void cli_watch(cli_interrupt *x, double seconds) {
  atomic_store(&x->deadline, seconds > 0 ? io_seconds() + seconds : 0);
  if (seconds <= 0 || atomic_exchange(&x->watched, true)) return;
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch, x) == 0) pthread_detach(thread);
}
