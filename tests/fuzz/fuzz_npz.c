// SPDX-License-Identifier: Apache-2.0
// Arrays from untrusted files: the bytes as .npz archive, every entry decoded, and as a single .npy file.
#include "runtime/cli/cli.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *bytes = heap_try_alloc_aligned(size + 1);
  if (!bytes) abort();
  if (size) memcpy(bytes, data, size);
  bytes[size] = 0;
  interp_array array;
  static const hlo_dtype wanted[] = {HLO_DTYPE_COUNT, HLO_F32, HLO_BF16, HLO_S4, HLO_PRED};
  hlo_dtype want = wanted[size % (sizeof wanted / sizeof *wanted)];
  if (fuzz_ok(npy_read("fuzz.npy", (strv){bytes, size}, want, &array))) heap_aligned_free(array.data);
  npz z;
  if (fuzz_ok(npz_open_bytes("fuzz.npz", bytes, size, &z))) {
    npz_find(&z, STRV("arg0"));
    for (int i = 0; i < z.entries.len && i < 64; i++)
      if (fuzz_ok(npz_read(&z, &z.entries.data[i], want, &array))) heap_aligned_free(array.data);
    npz_close(&z);
  }
  return 0;
}
