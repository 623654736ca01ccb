// SPDX-License-Identifier: Apache-2.0
// The pipeline from what lowering builds to what code generators accept, in plain sight.
#include "hlo/kernel/kernel.h"

lemnos_status kernel_finish(kernel *k, const hlo_target *t) {
#ifdef LEMNOS_VERIFY_KERNELS
  LEMNOS_TRY(lemnos_status_annotate(kernel_verify(k, NULL), "kernel as lowered"));
#endif
  kernel_pass_dce(k);
  kernel_pass_expand_tiles(k, t);
  kernel_pass_expand_math(k, t);
  kernel_pass_cse(k);
  LEMNOS_TRY(kernel_pass_legalize(k, t));
  kernel_pass_simplify(k);
  kernel_pass_cse(k);
  kernel_pass_addresses(k, t);
  kernel_pass_licm(k);
  kernel_pass_cse(k);
  kernel_pass_dce(k);
  return kernel_verify(k, t);
}
