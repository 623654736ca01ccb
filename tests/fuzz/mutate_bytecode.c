// SPDX-License-Identifier: Apache-2.0
// A mutator of MLIR bytecode that keeps the container whole: changed strings, attributes, property records and
// operations get their sizes and offsets right again, so that what is tried is the reading of what is inside.
//
// The file is cut into sections; one of them is changed in a way that fits it, and the file is put together again. One
// change in four is libFuzzer's own, on the whole file; so are all of what does not look like bytecode.
#include "tests/fuzz/fuzz.h"

enum { MAX_SECTIONS = 16, MAX_RECORDS = 2048, MAX_FILE = 1 << 16 };
enum {
  SECTION_STRING,
  SECTION_DIALECT,
  SECTION_ATTR_TYPE,
  SECTION_ATTR_TYPE_OFFSET,
  SECTION_IR,
  SECTION_PROPERTIES = 8
};

typedef struct bytes {
  const uint8_t *data;
  size_t size;
} bytes;

typedef struct section {
  uint8_t id;  // with the alignment flag, 0x80
  uint64_t align;
  bytes body;
} section;

typedef struct file {
  bytes head;  // magic, version, producer
  section sections[MAX_SECTIONS];
  int n;
} file;

typedef struct writer {
  uint8_t *data;
  size_t size, max;
  bool full;
} writer;

// --- reading and writing -------------------------------------------------------------------------

static bool read_varint(bytes b, size_t *at, uint64_t *out) {
  if (*at >= b.size) return false;
  uint8_t first = b.data[*at];
  int more = 0;
  while (more < 8 && !(first >> more & 1)) more++;
  if (b.size - *at <= (size_t)more) return false;
  uint64_t v = 0;
  if (more == 8) {
    memcpy(&v, b.data + *at + 1, 8);
  } else {
    memcpy(&v, b.data + *at, (size_t)more + 1);
    v >>= more + 1;
  }
  *at += (size_t)more + 1;
  *out = v;
  return true;
}

static void put(writer *w, const void *data, size_t size) {
  if (w->full || size > w->max - w->size) {
    w->full = true;
    return;
  }
  if (size) memcpy(w->data + w->size, data, size);
  w->size += size;
}

static void put_byte(writer *w, uint8_t b) {
  put(w, &b, 1);
}

static void put_varint(writer *w, uint64_t v) {
  int more = 0;
  while (more < 8 && v >> (7 * (more + 1))) more++;
  uint8_t b[9] = {0};
  if (more == 8) {
    memcpy(b + 1, &v, 8);
  } else {
    v = (v << 1 | 1) << more;
    memcpy(b, &v, 8);
  }
  put(w, b, (size_t)more + 1);
}

static bool cut(bytes b, file *f) {
  size_t at = 4;
  uint64_t version, size;
  *f = (file){0};
  if (b.size < 8 || memcmp(b.data, "ML\xEFR", 4) || !read_varint(b, &at, &version)) return false;
  const uint8_t *end = memchr(b.data + at, 0, b.size - at);
  if (!end) return false;
  at = (size_t)(end - b.data) + 1;
  f->head = (bytes){b.data, at};
  while (at < b.size && f->n < MAX_SECTIONS) {
    section *s = &f->sections[f->n];
    s->id = b.data[at++];
    s->align = 1;
    if (!read_varint(b, &at, &size)) return false;
    if (s->id & 0x80) {
      if (!read_varint(b, &at, &s->align) || !s->align || s->align > 4096) return false;
      at = (at + s->align - 1) / s->align * s->align;
    }
    if (at > b.size || size > b.size - at) return false;
    s->body = (bytes){b.data + at, size};
    at += size;
    f->n++;
  }
  return f->n > 0;
}

static size_t put_together(const file *f, uint8_t *out, size_t max) {
  writer w = {.data = out, .max = max};
  put(&w, f->head.data, f->head.size);
  for (int i = 0; i < f->n; i++) {
    const section *s = &f->sections[i];
    put_byte(&w, s->id);
    put_varint(&w, s->body.size);
    if (s->id & 0x80) {
      put_varint(&w, s->align);
      while (!w.full && w.size % s->align) put_byte(&w, 0xCB);
    }
    put(&w, s->body.data, s->body.size);
  }
  return w.full ? 0 : w.size;
}

static section *find(file *f, int id) {
  for (int i = 0; i < f->n; i++)
    if ((f->sections[i].id & 0x7F) == id) return &f->sections[i];
  return NULL;
}

// --- changes within a section --------------------------------------------------------------------

typedef struct change {
  uint64_t random;
  file f;
  uint8_t rooms[3][MAX_FILE];  // of new section bodies
} change;

// Some bytes of a record: a small number in place of a byte that is a whole varint, another byte, or libFuzzer's
// change.
static size_t change_bytes(change *c, uint8_t *data, size_t size, size_t max) {
  size_t at = fuzz_below(&c->random, size);
  if (!size || !fuzz_below(&c->random, 4)) return LLVMFuzzerMutate(data, size, max);
  if (fuzz_below(&c->random, 8))
    data[at] = (uint8_t)(fuzz_below(&c->random, fuzz_below(&c->random, 3) ? 12 : 128) << 1 | 1);
  else
    data[at] = (uint8_t)fuzz_random(&c->random);
  return size;
}

// Records of given sizes back to back: one is changed, or becomes a copy of another, into rooms[0].
static bool change_record(change *c, bytes all, size_t *sizes, int n) {
  size_t start = 0, before = 0, from = 0;
  if (!n) return false;
  int k = (int)fuzz_below(&c->random, (size_t)n), other = (int)fuzz_below(&c->random, (size_t)n);
  for (int i = 0; i < n; i++) {
    if (i == k) start = before;
    if (i == other) from = before;
    before += sizes[i];
  }
  if (before > all.size) return false;
  uint8_t *out = c->rooms[0], record[1024];
  size_t size = sizes[k], tail = all.size - start - size;
  if (fuzz_below(&c->random, 3)) {
    if (size > sizeof record / 2) return false;
    memcpy(record, all.data + start, size);
    size = change_bytes(c, record, size, sizeof record);
  } else {
    if (sizes[other] > sizeof record) return false;
    size = sizes[other];
    memcpy(record, all.data + from, size);
  }
  if (start + size + tail > MAX_FILE) return false;
  memcpy(out, all.data, start);
  memcpy(out + start, record, size);
  memcpy(out + start + size, all.data + start + sizes[k], tail);
  sizes[k] = size;
  return true;
}

static size_t total(const size_t *sizes, int n) {
  size_t sum = 0;
  for (int i = 0; i < n; i++) sum += sizes[i];
  return sum;
}

// An attribute or type, and its size in the offset section.
static bool change_attr(change *c) {
  static size_t sizes[MAX_RECORDS];
  static uint8_t custom[MAX_RECORDS];
  section *data = find(&c->f, SECTION_ATTR_TYPE), *offsets = find(&c->f, SECTION_ATTR_TYPE_OFFSET);
  if (!data || !offsets) return false;
  size_t at = 0;
  uint64_t n_attrs, n_types, dialect, count, size;
  int n = 0;
  bytes o = offsets->body;
  if (!read_varint(o, &at, &n_attrs) || !read_varint(o, &at, &n_types)) return false;
  size_t groups = at;
  while (at < o.size) {
    if (!read_varint(o, &at, &dialect) || !read_varint(o, &at, &count)) return false;
    for (; count > 0; count--) {
      if (n == MAX_RECORDS || !read_varint(o, &at, &size) || size >> 1 > MAX_FILE) return false;
      sizes[n] = size >> 1;
      custom[n++] = size & 1;
    }
  }
  if (total(sizes, n) != data->body.size || !change_record(c, data->body, sizes, n)) return false;
  writer w = {.data = c->rooms[1], .max = MAX_FILE};
  put_varint(&w, n_attrs);
  put_varint(&w, n_types);
  for (at = groups, n = 0; at < o.size;) {
    if (!read_varint(o, &at, &dialect) || !read_varint(o, &at, &count)) return false;
    put_varint(&w, dialect);
    put_varint(&w, count);
    for (; count > 0; count--, n++) {
      if (!read_varint(o, &at, &size)) return false;
      put_varint(&w, (uint64_t)sizes[n] << 1 | custom[n]);
    }
  }
  data->body = (bytes){c->rooms[0], total(sizes, n)};
  offsets->body = (bytes){c->rooms[1], w.size};
  return !w.full;
}

// A record of properties: count, then each with its size in front.
static bool change_properties(change *c) {
  static size_t sizes[MAX_RECORDS];
  section *s = find(&c->f, SECTION_PROPERTIES);
  size_t at = 0;
  uint64_t n, size;
  if (!s || !read_varint(s->body, &at, &n) || !n || n > MAX_RECORDS) return false;
  writer flat = {.data = c->rooms[2], .max = MAX_FILE};
  for (uint64_t i = 0; i < n; i++) {
    if (!read_varint(s->body, &at, &size) || size > s->body.size - at) return false;
    put(&flat, s->body.data + at, size);
    sizes[i] = size;
    at += size;
  }
  if (flat.full || !change_record(c, (bytes){flat.data, flat.size}, sizes, (int)n)) return false;
  writer w = {.data = c->rooms[1], .max = MAX_FILE};
  put_varint(&w, n);
  for (uint64_t i = 0, from = 0; i < n; from += sizes[i++]) {
    put_varint(&w, sizes[i]);
    put(&w, c->rooms[0] + from, sizes[i]);
  }
  s->body = (bytes){c->rooms[1], w.size};
  return !w.full;
}

// The dialect section's own strings are found by number, so that a string may change its length freely.
static bool change_string(change *c) {
  static size_t sizes[MAX_RECORDS];
  section *s = find(&c->f, SECTION_STRING);
  size_t at = 0;
  uint64_t n, size;
  if (!s || !read_varint(s->body, &at, &n) || !n || n > MAX_RECORDS) return false;
  for (uint64_t i = n; i > 0; i--) {  // lengths come last first
    if (!read_varint(s->body, &at, &size) || size > MAX_FILE) return false;
    sizes[i - 1] = size;
  }
  bytes all = {s->body.data + at, s->body.size - at};
  if (total(sizes, (int)n) != all.size || !change_record(c, all, sizes, (int)n)) return false;
  writer w = {.data = c->rooms[1], .max = MAX_FILE};
  put_varint(&w, n);
  for (uint64_t i = n; i > 0; i--) put_varint(&w, sizes[i - 1]);
  put(&w, c->rooms[0], total(sizes, (int)n));
  s->body = (bytes){c->rooms[1], w.size};
  return !w.full;
}

// Operations: numbers change in place (names, types, operands, counts); where the length changes, the sections that
// enclose the place (regions that were set apart, behind the byte 4) would be too short, so those get the difference.
static bool change_ir(change *c) {
  section *s = find(&c->f, SECTION_IR);
  if (!s || s->body.size < 8 || s->body.size > MAX_FILE / 2) return false;
  uint8_t *out = c->rooms[0];
  size_t size = s->body.size, at = fuzz_below(&c->random, size), n = 1 + fuzz_below(&c->random, 12);
  memcpy(out, s->body.data, size);
  if (fuzz_below(&c->random, 4)) {
    for (size_t k = 1 + fuzz_below(&c->random, 3); k > 0; k--) {
      at = fuzz_below(&c->random, size);
      if (out[at] & 1) out[at] = (uint8_t)(fuzz_below(&c->random, fuzz_below(&c->random, 4) ? 16 : 128) << 1 | 1);
    }
    s->body = (bytes){out, size};
    return true;
  }
  if (n > size - at) n = size - at;
  bool more = fuzz_below(&c->random, 2);
  size_t from = fuzz_below(&c->random, size - n + 1);
  writer w = {.data = c->rooms[1], .max = MAX_FILE};
  for (size_t i = 0; i < size; i++) {
    size_t next = i + 1;
    uint64_t length;
    if (i == at && more) put(&w, out + from, n);
    if (i >= at && i < at + n && !more) continue;
    put_byte(&w, out[i]);
    if (out[i] == 4 && read_varint(s->body, &next, &length) && next <= at && at - next < length &&
        length <= size - next) {
      put_varint(&w, more ? length + n : length > n ? length - n : 0);
      i = next - 1;
    }
  }
  s->body = (bytes){c->rooms[1], w.size};
  return !w.full;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  static change c;
  static uint8_t copy[MAX_FILE];
  c.random = seed;
  if (size > sizeof copy || !fuzz_below(&c.random, 4)) return LLVMFuzzerMutate(data, size, max_size);
  memcpy(copy, data, size);
  if (!cut((bytes){copy, size}, &c.f)) return LLVMFuzzerMutate(data, size, max_size);
  bool ok;
  switch (fuzz_below(&c.random, 8)) {
    case 0: ok = change_string(&c); break;
    case 1:
    case 2: ok = change_properties(&c); break;
    case 3:
    case 4:
    case 5: ok = change_ir(&c); break;
    default: ok = change_attr(&c); break;
  }
  size_t n = ok ? put_together(&c.f, data, max_size) : 0;
  if (n) return n;
  memcpy(data, copy, size);
  return LLVMFuzzerMutate(data, size, max_size);
}

// One section of the second file in place of the same one of the first.
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2, uint8_t *out,
                                 size_t max_size, unsigned seed) {
  static file a, b;
  uint64_t random = seed;
  if (cut((bytes){data1, size1}, &a) && cut((bytes){data2, size2}, &b)) {
    const section *from = &b.sections[fuzz_below(&random, (size_t)b.n)];
    section *to = find(&a, from->id & 0x7F);
    if (to) to->body = from->body;
    size_t n = put_together(&a, out, max_size);
    if (n) return n;
  }
  size_t n = size1 < max_size ? size1 : max_size;
  memcpy(out, data1, n);
  return n;
}
