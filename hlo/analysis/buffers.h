// SPDX-License-Identifier: Apache-2.0
// Buffer assignment: where every array of a scheduled module lives.
//
// Needs: the module after copy insertion and scheduling: the order of instructions is the order of execution; while,
// conditional are the only calls that are not fusions or small bodies (reduce, sort, scatter, map: not executed as
// computations here).
// One arena holds all temporaries of the entry and of every called while/conditional computation; an offset is reused
// when live ranges (in the flattened execution order) do not overlap. Values that must share a buffer:
//   get_tuple_element, tuple, bitcast, optimization_barrier: their operand's; while: init leaf = condition and body
//   parameter leaf = body root
//   leaf = result leaf; conditional: branch root leaf = result leaf (branch parameter leaf = operand leaf); in-place
//   ops (IN_PLACE fusion,
//   dynamic_update_slice, scatter whose operand dies there; elementwise ops and loop fusions MAY share with a dying
//   operand of equal size
//   when every operand element is read at the index written); entry root leaf with a donated parameter.
#ifndef HLO_ANALYSIS_BUFFERS_H
#define HLO_ANALYSIS_BUFFERS_H

#include "hlo/hlo.h"

typedef enum hlo_buffer_kind {
  HLO_BUFFER_NONE,      // token, or never materialised
  HLO_BUFFER_ARENA,     // offset in the arena
  HLO_BUFFER_PARAM,     // leaf `index` of the entry's parameters (counted over all of them)
  HLO_BUFFER_RESULT,    // leaf `index` of the entry's root: written straight into the result
  HLO_BUFFER_CONSTANT,  // constants[index]
} hlo_buffer_kind;

typedef struct hlo_buffer {
  hlo_buffer_kind kind;
  int32_t index;
  int64_t offset;  // ARENA: multiple of 256
  int64_t size;    // bytes of the array, unpadded; the room is padded to 4
} hlo_buffer;

typedef struct hlo_buffer_assignment {
  arena *arena;
  // [instr->id][leaf]; NULL for instructions that own no buffers (inside fusions, reduce bodies)
  hlo_buffer **of;
  int32_t n_instrs;
  int64_t arena_bytes;  // size of the arena; `peak live` is what a perfect packing would take
  int64_t peak_live_bytes;
  const hlo_literal **constants;
  int32_t n_constants;
  int32_t *result_alias;        // per result leaf: the parameter leaf whose buffer it is (donated), or -1
  int32_t n_results, n_params;  // leaves
} hlo_buffer_assignment;

// In-place facts for lowering: the operand leaf whose buffer result leaf `leaf` of `i` shares, or -1.
int hlo_buffer_shared_operand(const hlo_buffer_assignment *ba, const hlo_instr *i, int leaf);
LEMNOS_NODISCARD lemnos_status hlo_assign_buffers(const hlo_module *m, arena *a, hlo_buffer_assignment **out);
// Checks that no two values that are live at once overlap (debug, tests).
LEMNOS_NODISCARD lemnos_status hlo_buffers_verify(const hlo_module *m, const hlo_buffer_assignment *ba);
void hlo_buffers_print(strbuf *out, const hlo_module *m, const hlo_buffer_assignment *ba);

#endif
