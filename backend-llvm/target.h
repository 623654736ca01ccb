// SPDX-License-Identifier: Apache-2.0
// CPU target descriptions.
#ifndef BACKEND_LLVM_TARGET_H
#define BACKEND_LLVM_TARGET_H

#include "hlo/target.h"

void llvm_target_host(int threads, hlo_target *out);  // threads 0: all usable
LEMNOS_NODISCARD lemnos_status llvm_target_parse(strv spec, hlo_target *out);

#endif
