// SPDX-License-Identifier: Apache-2.0
// Umbrella of base/: what every other folder may use.
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include "base/arena.h"
#include "base/attr.h"
#include "base/bitset.h"
#include "base/diag.h"
#include "base/half.h"
#include "base/io.h"
#include "base/loc.h"
#include "base/map.h"
#include "base/status.h"
#include "base/strv.h"
#include "base/thread_pool.h"
#include "base/vec.h"

#endif
