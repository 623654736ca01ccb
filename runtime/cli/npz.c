// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz files: zip archives of .npy files.
//
// Read from the central directory at the end: stored entries, deflated ones (through zlib, if it was there when Lemnos
// was built), zip64. Offsets and sizes are checked against the file, contents against their CRC-32. Written stored,
// with zip64 records where a size or an offset needs them, whole or not at all.
#include <stdlib.h>
#include <string.h>

#include "runtime/cli/cli.h"

#ifdef LEMNOS_HAVE_ZLIB
#include <zlib.h>
#endif

uint32_t crc32_of(uint32_t crc, const void *data, size_t size) {
  // Four bits at a time: 64 bytes of table, no state. Slicing by 8 would be quicker; archives here are small.
  static const uint32_t table[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                     0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                     0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  const unsigned char *p = data;
#ifdef LEMNOS_HAVE_ZLIB
  while (size) {
    uInt n = size < 1u << 30 ? (uInt)size : 1u << 30;
    crc = (uint32_t)crc32(crc, p, n);
    p += n;
    size -= n;
  }
  (void)table;
  return crc;
#else
  crc = ~crc;
  for (size_t i = 0; i < size; i++) {
    crc ^= p[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
#endif
}

// --- little-endian fields ------------------------------------------------------------------------

static uint64_t get(const char *p, int n) {
  uint64_t v = 0;
  for (int i = n - 1; i >= 0; i--) v = v << 8 | (unsigned char)p[i];
  return v;
}

static void put(strbuf *b, uint64_t v, int n) {
  for (int i = 0; i < n; i++, v >>= 8) strbuf_append_char(b, (char)(v & 255));
}

// --- reading -------------------------------------------------------------------------------------

static lemnos_status corrupt(const char *path, const char *what) {
  return lemnos_status_make(LEMNOS_DATA_LOSS, "%s: not a .npz archive that can be read: %s", path, what);
}

// Where the central directory is.
static lemnos_status find_directory(const char *path, strv f, uint64_t *out_at, uint64_t *out_n) {
  if (f.len < 22) return corrupt(path, "it is too short");
  size_t lowest = f.len > 22 + 65535 ? f.len - 22 - 65535 : 0;
  for (size_t at = f.len - 22;; at--) {
    if (memcmp(f.data + at, "PK\5\6", 4) == 0 && at + 22 + get(f.data + at + 20, 2) == f.len) {
      *out_n = get(f.data + at + 10, 2);
      *out_at = get(f.data + at + 16, 4);
      if (at >= 20 && memcmp(f.data + at - 20, "PK\6\7", 4) == 0) {  // zip64
        uint64_t end = get(f.data + at - 20 + 8, 8);
        if (end > f.len || f.len - end < 56 || memcmp(f.data + end, "PK\6\6", 4) != 0)
          return corrupt(path, "its zip64 record is damaged");
        *out_n = get(f.data + end + 32, 8);
        *out_at = get(f.data + end + 48, 8);
      }
      return *out_at > f.len ? corrupt(path, "its directory lies outside the file") : LEMNOS_SUCCESS;
    }
    if (at == lowest) return corrupt(path, "it has no directory at its end");
  }
}

// 64-bit sizes from the extra field with tag 1, in the order of the fields that are all ones.
static bool read_zip64_extra(strv extra, uint64_t *size, uint64_t *packed, uint64_t *offset) {
  while (extra.len >= 4) {
    uint64_t tag = get(extra.data, 2), n = get(extra.data + 2, 2);
    if (n > extra.len - 4) return false;
    if (tag == 1) {
      const char *p = extra.data + 4;
      uint64_t *fields[] = {size, packed, offset};
      for (int i = 0; i < 3; i++) {
        if (*fields[i] != 0xffffffff) continue;
        if (n < 8) return false;
        *fields[i] = get(p, 8);
        p += 8;
        n -= 8;
      }
      return true;
    }
    extra = strv_drop(extra, 4 + n);
  }
  return true;
}

// One record of the directory at *at, which moves on.
static lemnos_status read_record(npz *z, strv f, uint64_t *at) {
  if (*at > f.len || f.len - *at < 46 || memcmp(f.data + *at, "PK\1\2", 4) != 0)
    return corrupt(z->path, "its directory is damaged");
  const char *p = f.data + *at;
  uint64_t flags = get(p + 8, 2), method = get(p + 10, 2), packed = get(p + 20, 4), size = get(p + 24, 4);
  uint64_t n_name = get(p + 28, 2), n_extra = get(p + 30, 2), n_comment = get(p + 32, 2), offset = get(p + 42, 4);
  if (f.len - *at - 46 < n_name + n_extra + n_comment) return corrupt(z->path, "its directory is damaged");
  strv name = {p + 46, n_name};
  if (!read_zip64_extra((strv){p + 46 + n_name, n_extra}, &size, &packed, &offset))
    return corrupt(z->path, "its zip64 fields are damaged");
  *at += 46 + n_name + n_extra + n_comment;
  if (flags & 1)
    return lemnos_status_make(LEMNOS_INVALID_ARGUMENT, "%s: '" STRV_FMT "' is encrypted", z->path, STRV_ARG(name));
  if (offset > f.len || f.len - offset < 30 || memcmp(f.data + offset, "PK\3\4", 4) != 0)
    return corrupt(z->path, "an entry lies outside the file");
  uint64_t skip = 30 + get(f.data + offset + 26, 2) + get(f.data + offset + 28, 2);
  if (f.len - offset < skip || f.len - offset - skip < packed) return corrupt(z->path, "an entry is cut short");
  if (method == 0 && packed != size) return corrupt(z->path, "the sizes of an entry contradict each other");
  npz_entry e = {.name = name,
                 .raw = {f.data + offset + skip, packed},
                 .size = size,
                 .crc = (uint32_t)get(p + 16, 4),
                 .method = (int)method};
  if (strv_ends_with(e.name, STRV(".npy"))) e.name.len -= 4;
  vec_push(z->arena, &z->entries, e);
  return LEMNOS_SUCCESS;
}

lemnos_status npz_open(const char *path, npz *out) {
  char *bytes;
  size_t size;
  LEMNOS_TRY(io_read_file(path, &bytes, &size));
  return npz_open_bytes(path, bytes, size, out);
}

lemnos_status npz_open_bytes(const char *path, char *bytes, size_t size, npz *out) {
  npz z = {.path = path, .bytes = bytes, .arena = arena_create()};
  strv f = {bytes, size};
  uint64_t at = 0, n = 0;
  lemnos_status status = find_directory(path, f, &at, &n);
  for (uint64_t i = 0; !status && i < n; i++) status = read_record(&z, f, &at);
  if (status)
    npz_close(&z);
  else
    *out = z;
  return status;
}

void npz_close(npz *z) {
  arena_destroy(z->arena);
  heap_aligned_free(z->bytes);
  memset(z, 0, sizeof *z);
}

const npz_entry *npz_find(const npz *z, strv name) {
  for (int i = 0; i < z->entries.len; i++)
    if (strv_eq(z->entries.data[i].name, name)) return &z->entries.data[i];
  return NULL;
}

#ifdef LEMNOS_HAVE_ZLIB
// Inflates a raw deflate stream that gives exactly `size` bytes.
static bool inflate_raw(strv in, char *out, uint64_t size) {
  z_stream s = {0};
  if (inflateInit2(&s, -15) != Z_OK) return false;
  uint64_t in_left = in.len, out_left = size;
  s.next_in = (Bytef *)(uintptr_t)in.data;
  s.next_out = (Bytef *)out;
  int rc = Z_OK;
  while (rc == Z_OK) {
    uInt give = in_left < 1u << 30 ? (uInt)in_left : 1u << 30, room = out_left < 1u << 30 ? (uInt)out_left : 1u << 30;
    s.avail_in = give;
    s.avail_out = room;
    rc = inflate(&s, Z_NO_FLUSH);
    in_left -= give - s.avail_in;
    out_left -= room - s.avail_out;
    if (rc == Z_OK && give == s.avail_in && room == s.avail_out) break;  // no progress
  }
  inflateEnd(&s);
  return rc == Z_STREAM_END && out_left == 0;
}
#endif

// The entry's bytes: *owned is to be freed if not NULL.
static lemnos_status unpack(const npz *z, const npz_entry *e, strv *out, char **owned) {
  *owned = NULL;
  if (e->method == 0) {
    *out = e->raw;
    return LEMNOS_SUCCESS;
  }
  if (e->method != 8)
    return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                              "%s: '" STRV_FMT "' is compressed by method %d (stored and deflated entries can be read)",
                              z->path, STRV_ARG(e->name), e->method);
#ifdef LEMNOS_HAVE_ZLIB
  if (e->size / 1100 > e->raw.len + 1) return corrupt(z->path, "the sizes of an entry contradict each other");
  if (!(*owned = heap_try_alloc_aligned(e->size + 1)))
    return lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "%s: no memory to unpack '" STRV_FMT "'", z->path,
                              STRV_ARG(e->name));
  if (!inflate_raw(e->raw, *owned, e->size)) {
    heap_aligned_free(*owned);
    return corrupt(z->path, "a compressed entry is damaged");
  }
  *out = (strv){*owned, e->size};
  return LEMNOS_SUCCESS;
#else
  return lemnos_status_make(LEMNOS_UNIMPLEMENTED,
                            "%s is compressed, and this Lemnos was built without zlib: save it with numpy.savez",
                            z->path);
#endif
}

lemnos_status npz_read(const npz *z, const npz_entry *e, hlo_dtype want, interp_array *out) {
  strv bytes;
  char *owned;
  LEMNOS_TRY(unpack(z, e, &bytes, &owned));
  strbuf name = {0};
  strbuf_printf(&name, "%s[" STRV_FMT "]", z->path, STRV_ARG(e->name));
  lemnos_status status = LEMNOS_SUCCESS;
  if (crc32_of(0, bytes.data, bytes.len) != e->crc)
    status = lemnos_status_make(LEMNOS_DATA_LOSS, "%s: the checksum is wrong", name.data);
  if (!status) status = npy_read(name.data, bytes, want, out);
  strbuf_deinit(&name);
  heap_aligned_free(owned);
  return status;
}

// --- writing -------------------------------------------------------------------------------------

typedef struct part {
  strbuf before;  // local header, .npy header
  uint64_t offset, size;
  uint32_t crc;
  const void *data;
  size_t n_data;
} part;

// The 20 bytes that local and central headers share, from "version needed" on to the CRC, sizes as 32 bits.
static void put_common(strbuf *b, const part *p, size_t n_name, size_t n_extra, bool big) {
  put(b, big ? 45 : 20, 2);
  put(b, 0, 2);     // flags
  put(b, 0, 2);     // stored
  put(b, 0, 2);     // time
  put(b, 0x21, 2);  // 1 January 1980: equal contents give equal files
  put(b, p->crc, 4);
  put(b, big ? 0xffffffff : p->size, 4);
  put(b, big ? 0xffffffff : p->size, 4);
  put(b, n_name, 2);
  put(b, n_extra, 2);
}

static uint64_t make_part(part *p, strv name, const interp_array *a, uint64_t offset) {
  strbuf npy = {0};
  npy_header(&npy, a);
  p->data = a->data;
  p->n_data = (size_t)interp_array_bytes(a);
  p->size = npy.len + p->n_data;
  p->offset = offset;
  p->crc = crc32_of(crc32_of(0, npy.data, npy.len), p->data, p->n_data);
  bool big = p->size >= 0xffffffff;
  strbuf *b = &p->before;
  strbuf_append(b, STRV("PK\3\4"));
  put_common(b, p, name.len + 4, big ? 20 : 0, big);
  strbuf_append(b, name);
  strbuf_append_cstr(b, ".npy");
  if (big) {
    put(b, 1, 2);
    put(b, 16, 2);
    put(b, p->size, 8);
    put(b, p->size, 8);
  }
  strbuf_append(b, strbuf_view(&npy));
  strbuf_deinit(&npy);
  return offset + b->len + p->n_data;
}

static void put_record(strbuf *b, const part *p, strv name) {
  bool big = p->size >= 0xffffffff || p->offset >= 0xffffffff;
  strbuf_append(b, STRV("PK\1\2"));
  put(b, big ? 45 : 20, 2);
  put_common(b, p, name.len + 4, big ? 28 : 0, big);
  put(b, 0, 2);  // comment
  put(b, 0, 2);  // disk
  put(b, 0, 2);
  put(b, 0, 4);
  put(b, big ? 0xffffffff : p->offset, 4);
  strbuf_append(b, name);
  strbuf_append_cstr(b, ".npy");
  if (!big) return;
  put(b, 1, 2);
  put(b, 24, 2);
  put(b, p->size, 8);
  put(b, p->size, 8);
  put(b, p->offset, 8);
}

static void put_end(strbuf *b, uint64_t n, uint64_t at, uint64_t size) {
  bool big = n >= 0xffff || at >= 0xffffffff || size >= 0xffffffff;
  if (big) {
    strbuf_append(b, STRV("PK\6\6"));
    put(b, 44, 8);
    put(b, 45, 2);
    put(b, 45, 2);
    put(b, 0, 8);
    put(b, n, 8);
    put(b, n, 8);
    put(b, size, 8);
    put(b, at, 8);
    strbuf_append(b, STRV("PK\6\7"));
    put(b, 0, 4);
    put(b, at + size, 8);
    put(b, 1, 4);
  }
  strbuf_append(b, STRV("PK\5\6"));
  put(b, 0, 4);
  put(b, big ? 0xffff : n, 2);
  put(b, big ? 0xffff : n, 2);
  put(b, big ? 0xffffffff : size, 4);
  put(b, big ? 0xffffffff : at, 4);
  put(b, 0, 2);
}

lemnos_status npz_write_file(const char *path, int n, const strv *names, const interp_array *arrays) {
  part *parts = heap_alloc(sizeof *parts * (size_t)(n + 1));
  strbuf directory = {0};
  uint64_t at = 0;
  for (int i = 0; i < n; i++) at = make_part(&parts[i], names[i], &arrays[i], at);
  for (int i = 0; i < n; i++) put_record(&directory, &parts[i], names[i]);
  put_end(&directory, (uint64_t)n, at, directory.len);
  lemnos_status status = LEMNOS_SUCCESS;
  char *all = heap_try_alloc_aligned(at + directory.len), *p = all;
  if (!all) status = lemnos_status_make(LEMNOS_OUT_OF_MEMORY, "no memory to write '%s'", path);
  for (int i = 0; i < n; i++) {
    if (all) {
      memcpy(p, parts[i].before.data, parts[i].before.len);
      p += parts[i].before.len;
      if (parts[i].n_data) memcpy(p, parts[i].data, parts[i].n_data);
      p += parts[i].n_data;
    }
    strbuf_deinit(&parts[i].before);
  }
  if (all) memcpy(p, directory.data, directory.len);
  if (!status) status = io_write_file(path, all, at + directory.len);
  heap_aligned_free(all);
  strbuf_deinit(&directory);
  free(parts);
  return status;
}
