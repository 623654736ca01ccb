// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: on every file of some folders, then on random changes of them.
//
//   smoke_TARGET [--seconds S] [--seed N] FOLDER|FILE...
//
// A change is one to eight of: a bit flipped, a byte set, a range removed, doubled, moved, taken from another seed, or
// a number in the text replaced; in targets with a mutator of their own (FUZZ_HAS_MUTATOR) every other one is of that.
// Runs of one seed number are the same on every machine, apart from where time ends them. With $FUZZ_KEEP set each
// changed input is first written to smoke_TARGET.last, to look at a crash.
#include <dirent.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

enum { MAX_SEEDS = 1000, MAX_SIZE = 1 << 16 };

typedef struct seed {
  char *data;
  size_t size;
} seed;

typedef struct corpus {
  seed seeds[MAX_SEEDS];
  int n;
} corpus;

// LLVMFuzzerMutate has no argument for it.
static struct {
  corpus corpus;
  uint64_t random;
} state = {.random = 1};

static void add_file(corpus *c, const char *path) {
  seed s;
  if (c->n < MAX_SEEDS && fuzz_ok(io_read_file(path, &s.data, &s.size))) c->seeds[c->n++] = s;
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_path(corpus *c, const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return;
  if (!S_ISDIR(st.st_mode)) {
    add_file(c, path);
    return;
  }
  struct dirent **names;
  int n = scandir(path, &names, NULL, by_name);
  for (int i = 0; i < n; i++) {
    char file[4096];
    if (names[i]->d_name[0] != '.') {
      snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
      add_file(c, file);
    }
    free(names[i]);
  }
  if (n >= 0) free(names);
}

// Puts `n` bytes of `from` in place of the `cut` bytes at `at`.
static size_t splice(uint8_t *data, size_t size, size_t at, size_t cut, const void *from, size_t n) {
  if (size - cut + n > MAX_SIZE) return size;
  memmove(data + at + n, data + at + cut, size - at - cut);
  memcpy(data + at, from, n);
  return size - cut + n;
}

static size_t change_number(uint64_t *random, uint8_t *data, size_t size) {
  static const char *const numbers[] = {
      "0",     "1",   "-1", "2", "7", "255", "65536", "2147483648", "9223372036854775807", "-9223372036854775808",
      "1e400", "nan", "?",  "33"};
  size_t at = fuzz_below(random, size), end;
  while (at < size && (data[at] < '0' || data[at] > '9')) at++;
  for (end = at; end < size && data[end] >= '0' && data[end] <= '9'; end++) continue;
  const char *n = numbers[fuzz_below(random, sizeof numbers / sizeof *numbers)];
  return at < size ? splice(data, size, at, end - at, n, strlen(n)) : size;
}

static size_t mutate(uint64_t *random, const corpus *c, uint8_t *data, size_t size) {
  static uint8_t piece[MAX_SIZE];
  size_t at = fuzz_below(random, size), n = fuzz_below(random, size - at < 64 ? size - at : 64) + 1;
  if (!size) return 0;
  switch (fuzz_below(random, 7)) {
    case 0: data[at] ^= (uint8_t)(1u << fuzz_below(random, 8)); return size;
    case 1: data[at] = (uint8_t)fuzz_random(random); return size;
    case 2: return splice(data, size, at, n, "", 0);
    case 3: memcpy(piece, data + at, n); return splice(data, size, at, 0, piece, n);
    case 4: memcpy(piece, data + at, n); return splice(data, size, fuzz_below(random, size), 0, piece, n);
    case 5: {
      const seed *s = &c->seeds[fuzz_below(random, (size_t)c->n)];
      size_t from = fuzz_below(random, s->size), len = fuzz_below(random, s->size - from < 200 ? s->size - from : 200);
      return splice(data, size, at, 0, s->data + from, len);
    }
    default: return change_number(random, data, size);
  }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size) {
  size_t n = mutate(&state.random, &state.corpus, data, size);
  return n < max_size ? n : max_size;
}

// One changed input from seed s.
static size_t change(uint8_t *data, const seed *s) {
  size_t size = s->size < MAX_SIZE ? s->size : MAX_SIZE;
  if (size) memcpy(data, s->data, size);
  for (size_t n = 1 + fuzz_below(&state.random, 8); n > 0; n--) {
#ifdef FUZZ_HAS_MUTATOR
    if (fuzz_below(&state.random, 2)) {
      size = LLVMFuzzerCustomMutator(data, size, MAX_SIZE, (unsigned)fuzz_random(&state.random));
      continue;
    }
#endif
    size = LLVMFuzzerMutate(data, size, MAX_SIZE);
  }
  return size;
}

static void keep(const char *program, const uint8_t *data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s.last", program);
  lemnos_status_free(io_write_file(path, data, size));
}

int main(int argc, char **argv) {
  static uint8_t data[MAX_SIZE];
  const corpus *c = &state.corpus;
  double seconds = 3;
  uint64_t runs = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
      seconds = atof(argv[++i]);
    else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
      state.random = strtoull(argv[++i], NULL, 10);
    else
      add_path(&state.corpus, argv[i]);
  }
  if (!c->n) {
    fprintf(stderr, "%s: no seeds found\n", argv[0]);
    return 1;
  }
  LLVMFuzzerTestOneInput(data, 0);
  for (int i = 0; i < c->n; i++) LLVMFuzzerTestOneInput((const uint8_t *)c->seeds[i].data, c->seeds[i].size);
  double end = io_seconds() + seconds;
  bool keeping = getenv("FUZZ_KEEP") != NULL;
  for (; io_seconds() < end; runs++) {
    size_t size = change(data, &c->seeds[fuzz_below(&state.random, (size_t)c->n)]);
    if (keeping) keep(argv[0], data, size);
    LLVMFuzzerTestOneInput(data, size);
  }
  printf("%d seeds, %llu changed inputs\n", c->n, (unsigned long long)runs);
  for (int i = 0; i < c->n; i++) heap_aligned_free(c->seeds[i].data);
  return 0;
}
