// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and termination: signals are blocked in every thread and taken by one that waits for them, so that what
// happens on a signal is ordinary code (no handler, no global).
//
// While a program runs, the first signal asks it to stop (the run ends with CANCELLED), a second one ends the process.
// While files are written they are finished first. At all other times the process ends at once.
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
