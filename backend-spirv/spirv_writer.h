// SPDX-License-Identifier: Apache-2.0
// A writer of SPIR-V modules: one word buffer per section, types and constants interned by their words, typed emit
// functions.
//
// Instructions may be written in any order that suits the caller; spirv_writer_finish puts the sections together in the
// order that the specification asks for. A module has one function, `main`, of type void(). Ids are plain 32-bit
// numbers, 0 is none.
// Integer types are all declared without sign (signedness 0): operations say how they read their operands.
#ifndef BACKEND_SPIRV_SPIRV_WRITER_H
#define BACKEND_SPIRV_SPIRV_WRITER_H

#include <spirv/unified1/GLSL.std.450.h>
#include <spirv/unified1/spirv.h>

#include "base/base.h"

typedef uint32_t spirv_id;
typedef VEC(uint32_t) spirv_words;

typedef struct spirv_writer {
  spirv_words capabilities, extensions, modes, decorations, globals, locals, body;
  spirv_words keys;       // words of interned objects, back to back: n, word...
  u64map interned;        // hash of a key -> its place in keys << 32 | id
  u64map seen;            // capabilities and extension strings already declared
  spirv_words interface;  // input and output variables
  spirv_id next_id;
  spirv_id main, glsl;
  bool physical;  // physical 64-bit addressing
} spirv_writer;

void spirv_writer_init(spirv_writer *w);
void spirv_writer_deinit(spirv_writer *w);
static inline spirv_id spirv_writer_id(spirv_writer *w) {
  return w->next_id++;
}

// --- module level. Declaring twice is fine.
void spirv_writer_capability(spirv_writer *w, SpvCapability c);
void spirv_writer_extension(spirv_writer *w, const char *name);
void spirv_writer_mode(spirv_writer *w, SpvExecutionMode mode, int n, const uint32_t *operands);
void spirv_writer_decorate(spirv_writer *w, spirv_id target, SpvDecoration d, int n, const uint32_t *operands);
void spirv_writer_decorate_member(spirv_writer *w, spirv_id type, uint32_t member, SpvDecoration d, int n,
                                  const uint32_t *operands);

// --- types
spirv_id spirv_type_void(spirv_writer *w);
spirv_id spirv_type_bool(spirv_writer *w);
spirv_id spirv_type_int(spirv_writer *w, int bits);
spirv_id spirv_type_float(spirv_writer *w, int bits);
spirv_id spirv_type_vector(spirv_writer *w, spirv_id elem, int lanes);  // elem itself for one lane
spirv_id spirv_type_pointer(spirv_writer *w, SpvStorageClass c, spirv_id to);
spirv_id spirv_type_array(spirv_writer *w, spirv_id elem, uint32_t n);
// struct { elem data[]; } with the array's stride, decorated as a block: what a storage buffer holds.
spirv_id spirv_type_buffer(spirv_writer *w, spirv_id elem, uint32_t stride);
// A fresh struct (not interned), without decorations.
spirv_id spirv_type_struct(spirv_writer *w, int n, const spirv_id *members);

// --- constants
spirv_id spirv_const_bool(spirv_writer *w, bool x);
spirv_id spirv_const_int(spirv_writer *w, int bits, int64_t x);
spirv_id spirv_const_u32(spirv_writer *w, uint32_t x);
spirv_id spirv_const_float(spirv_writer *w, int bits, double x);
spirv_id spirv_const_composite(spirv_writer *w, spirv_id type, int n, const spirv_id *parts);

// --- variables
// Input: also listed in the interface. Function variables go to the head of main.
spirv_id spirv_variable(spirv_writer *w, SpvStorageClass c, spirv_id type);

// --- instructions of main
spirv_id spirv_op(spirv_writer *w, SpvOp op, spirv_id type, int n, const uint32_t *operands);
void spirv_op_void(spirv_writer *w, SpvOp op, int n, const uint32_t *operands);
void spirv_op_into(spirv_writer *w, SpvOp op, spirv_id type, spirv_id result, int n, const uint32_t *operands);
spirv_id spirv_glsl(spirv_writer *w, enum GLSLstd450 inst, spirv_id type, int n, const spirv_id *operands);
void spirv_label(spirv_writer *w, spirv_id label);

// The whole module, version 1.3, entry point `main`. words: appended on the heap (vec_deinit).
void spirv_writer_finish(spirv_writer *w, spirv_words *out);

#endif
