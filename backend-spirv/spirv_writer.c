// SPDX-License-Identifier: Apache-2.0
// The sections of a module and the interning of types and constants. See spirv_writer.h.
#include "backend-spirv/spirv_writer.h"

#include "base/half.h"

enum { VERSION_1_3 = 0x00010300, GENERATOR = 0 };  // no registered generator number

void spirv_writer_init(spirv_writer *w) {
  *w = (spirv_writer){.next_id = 1};
  w->main = spirv_writer_id(w);
  w->glsl = spirv_writer_id(w);
}

void spirv_writer_deinit(spirv_writer *w) {
  vec_deinit(&w->capabilities);
  vec_deinit(&w->extensions);
  vec_deinit(&w->modes);
  vec_deinit(&w->decorations);
  vec_deinit(&w->globals);
  vec_deinit(&w->locals);
  vec_deinit(&w->body);
  vec_deinit(&w->keys);
  vec_deinit(&w->interface);
  u64map_deinit(&w->interned);
  u64map_deinit(&w->seen);
}

// --- words ---------------------------------------------------------------------------------------

static void put(spirv_words *s, uint32_t word) {
  vec_push(NULL, s, word);
}

static void put_head(spirv_words *s, SpvOp op, int words) {
  put(s, (uint32_t)words << SpvWordCountShift | (uint32_t)op);
}

static void put_all(spirv_words *s, int n, const uint32_t *words) {
  vec_append(NULL, s, words, n);
}

static int string_words(const char *text) {
  return (int)(strlen(text) / 4 + 1);
}

static void put_string(spirv_words *s, const char *text) {
  size_t len = strlen(text);
  for (size_t i = 0; i <= len; i += 4) {
    uint32_t word = 0;
    for (size_t c = i; c < i + 4 && c < len; c++) word |= (uint32_t)(unsigned char)text[c] << (8 * (c - i));
    put(s, word);
  }
}

static bool first_time(spirv_writer *w, uint64_t key) {
  uint64_t old;
  if (u64map_get(&w->seen, key, &old)) return false;
  u64map_put(NULL, &w->seen, key, 1);
  return true;
}

void spirv_writer_capability(spirv_writer *w, SpvCapability c) {
  if (!first_time(w, (uint64_t)c)) return;
  put_head(&w->capabilities, SpvOpCapability, 2);
  put(&w->capabilities, c);
}

void spirv_writer_extension(spirv_writer *w, const char *name) {
  if (!first_time(w, hash_bytes(name, strlen(name), 1) | (uint64_t)1 << 63)) return;
  put_head(&w->extensions, SpvOpExtension, 1 + string_words(name));
  put_string(&w->extensions, name);
}

void spirv_writer_mode(spirv_writer *w, SpvExecutionMode mode, int n, const uint32_t *operands) {
  put_head(&w->modes, SpvOpExecutionMode, 3 + n);
  put(&w->modes, w->main);
  put(&w->modes, mode);
  put_all(&w->modes, n, operands);
}

void spirv_writer_decorate(spirv_writer *w, spirv_id target, SpvDecoration d, int n, const uint32_t *operands) {
  put_head(&w->decorations, SpvOpDecorate, 3 + n);
  put(&w->decorations, target);
  put(&w->decorations, d);
  put_all(&w->decorations, n, operands);
}

void spirv_writer_decorate_member(spirv_writer *w, spirv_id type, uint32_t member, SpvDecoration d, int n,
                                  const uint32_t *operands) {
  put_head(&w->decorations, SpvOpMemberDecorate, 4 + n);
  put(&w->decorations, type);
  put(&w->decorations, member);
  put(&w->decorations, d);
  put_all(&w->decorations, n, operands);
}

// --- interning -----------------------------------------------------------------------------------

// The id of the global instruction with these words (op, result type or 0, salt, operands); *is_new tells whether the
// caller has to write it. Salt keeps apart what differs only in decorations.
static spirv_id intern(spirv_writer *w, SpvOp op, spirv_id type, uint32_t salt, int n, const uint32_t *operands,
                       bool *is_new) {
  int at = w->keys.len;
  put(&w->keys, (uint32_t)(n + 3));
  put(&w->keys, op);
  put(&w->keys, type);
  put(&w->keys, salt);
  put_all(&w->keys, n, operands);
  size_t bytes = sizeof(uint32_t) * (size_t)(n + 4);
  for (uint64_t key = hash_bytes(&w->keys.data[at], bytes, 7);; key++) {
    uint64_t found;
    if (!u64map_get(&w->interned, key, &found)) {
      spirv_id id = spirv_writer_id(w);
      u64map_put(NULL, &w->interned, key, (uint64_t)at << 32 | id);
      *is_new = true;
      return id;
    }
    if (!memcmp(&w->keys.data[found >> 32], &w->keys.data[at],
                w->keys.data[found >> 32] == (uint32_t)(n + 3) ? bytes : 4)) {
      w->keys.len = at;
      *is_new = false;
      return (spirv_id)found;
    }
  }
}

static spirv_id global(spirv_writer *w, SpvOp op, spirv_id type, uint32_t salt, int n, const uint32_t *operands,
                       bool *out_new) {
  bool is_new;
  spirv_id id = intern(w, op, type, salt, n, operands, &is_new);
  if (is_new) {
    put_head(&w->globals, op, n + (type ? 3 : 2));
    if (type) put(&w->globals, type);
    put(&w->globals, id);
    put_all(&w->globals, n, operands);
  }
  if (out_new) *out_new = is_new;
  return id;
}

// --- types ---------------------------------------------------------------------------------------

spirv_id spirv_type_void(spirv_writer *w) {
  return global(w, SpvOpTypeVoid, 0, 0, 0, NULL, NULL);
}
spirv_id spirv_type_bool(spirv_writer *w) {
  return global(w, SpvOpTypeBool, 0, 0, 0, NULL, NULL);
}

spirv_id spirv_type_int(spirv_writer *w, int bits) {
  if (bits == 8) spirv_writer_capability(w, SpvCapabilityInt8);
  if (bits == 16) spirv_writer_capability(w, SpvCapabilityInt16);
  if (bits == 64) spirv_writer_capability(w, SpvCapabilityInt64);
  uint32_t operands[] = {(uint32_t)bits, 0};
  return global(w, SpvOpTypeInt, 0, 0, 2, operands, NULL);
}

spirv_id spirv_type_float(spirv_writer *w, int bits) {
  if (bits == 16) spirv_writer_capability(w, SpvCapabilityFloat16);
  if (bits == 64) spirv_writer_capability(w, SpvCapabilityFloat64);
  uint32_t operands[] = {(uint32_t)bits};
  return global(w, SpvOpTypeFloat, 0, 0, 1, operands, NULL);
}

spirv_id spirv_type_vector(spirv_writer *w, spirv_id elem, int lanes) {
  if (lanes == 1) return elem;
  uint32_t operands[] = {elem, (uint32_t)lanes};
  return global(w, SpvOpTypeVector, 0, 0, 2, operands, NULL);
}

spirv_id spirv_type_pointer(spirv_writer *w, SpvStorageClass c, spirv_id to) {
  uint32_t operands[] = {c, to};
  return global(w, SpvOpTypePointer, 0, 0, 2, operands, NULL);
}

spirv_id spirv_type_array(spirv_writer *w, spirv_id elem, uint32_t n) {
  uint32_t operands[] = {elem, spirv_const_u32(w, n)};
  return global(w, SpvOpTypeArray, 0, 0, 2, operands, NULL);
}

spirv_id spirv_type_buffer(spirv_writer *w, spirv_id elem, uint32_t stride) {
  bool is_new;
  spirv_id array = global(w, SpvOpTypeRuntimeArray, 0, stride, 1, &elem, &is_new);
  if (is_new) spirv_writer_decorate(w, array, SpvDecorationArrayStride, 1, &stride);
  spirv_id block = global(w, SpvOpTypeStruct, 0, 1, 1, &array, &is_new);
  if (is_new) {
    uint32_t zero = 0;
    spirv_writer_decorate(w, block, SpvDecorationBlock, 0, NULL);
    spirv_writer_decorate_member(w, block, 0, SpvDecorationOffset, 1, &zero);
  }
  return block;
}

spirv_id spirv_type_struct(spirv_writer *w, int n, const spirv_id *members) {
  spirv_id id = spirv_writer_id(w);
  put_head(&w->globals, SpvOpTypeStruct, 2 + n);
  put(&w->globals, id);
  put_all(&w->globals, n, members);
  return id;
}

// --- constants -----------------------------------------------------------------------------------

spirv_id spirv_const_bool(spirv_writer *w, bool x) {
  return global(w, x ? SpvOpConstantTrue : SpvOpConstantFalse, spirv_type_bool(w), 0, 0, NULL, NULL);
}

spirv_id spirv_const_int(spirv_writer *w, int bits, int64_t x) {
  // signedness 0: high bits are zero
  uint64_t u = bits >= 64 ? (uint64_t)x : (uint64_t)x & (((uint64_t)1 << bits) - 1);
  uint32_t words[] = {(uint32_t)u, (uint32_t)(u >> 32)};
  return global(w, SpvOpConstant, spirv_type_int(w, bits), 0, bits > 32 ? 2 : 1, words, NULL);
}

spirv_id spirv_const_u32(spirv_writer *w, uint32_t x) {
  return spirv_const_int(w, 32, (int64_t)x);
}

spirv_id spirv_const_float(spirv_writer *w, int bits, double x) {
  uint64_t u = 0;
  if (bits == 64) {
    memcpy(&u, &x, 8);
  } else if (bits == 32) {
    float f = (float)x;
    memcpy(&u, &f, 4);
  } else {
    u = f16_from_f64(x);
  }
  uint32_t words[] = {(uint32_t)u, (uint32_t)(u >> 32)};
  return global(w, SpvOpConstant, spirv_type_float(w, bits), 0, bits > 32 ? 2 : 1, words, NULL);
}

spirv_id spirv_const_composite(spirv_writer *w, spirv_id type, int n, const spirv_id *parts) {
  return global(w, SpvOpConstantComposite, type, 0, n, parts, NULL);
}

// --- variables and instructions ------------------------------------------------------------------

spirv_id spirv_variable(spirv_writer *w, SpvStorageClass c, spirv_id type) {
  spirv_id pointer = spirv_type_pointer(w, c, type), id = spirv_writer_id(w);
  spirv_words *s = c == SpvStorageClassFunction ? &w->locals : &w->globals;
  put_head(s, SpvOpVariable, 4);
  put(s, pointer);
  put(s, id);
  put(s, c);
  if (c == SpvStorageClassInput) put(&w->interface, id);
  return id;
}

void spirv_op_into(spirv_writer *w, SpvOp op, spirv_id type, spirv_id result, int n, const uint32_t *operands) {
  put_head(&w->body, op, 3 + n);
  put(&w->body, type);
  put(&w->body, result);
  put_all(&w->body, n, operands);
}

spirv_id spirv_op(spirv_writer *w, SpvOp op, spirv_id type, int n, const uint32_t *operands) {
  spirv_id id = spirv_writer_id(w);
  spirv_op_into(w, op, type, id, n, operands);
  return id;
}

void spirv_op_void(spirv_writer *w, SpvOp op, int n, const uint32_t *operands) {
  put_head(&w->body, op, 1 + n);
  put_all(&w->body, n, operands);
}

spirv_id spirv_glsl(spirv_writer *w, enum GLSLstd450 inst, spirv_id type, int n, const spirv_id *operands) {
  uint32_t words[8] = {w->glsl, inst};
  LEMNOS_ASSERT(n <= 6);
  memcpy(words + 2, operands, sizeof *operands * (size_t)n);
  return spirv_op(w, SpvOpExtInst, type, n + 2, words);
}

void spirv_label(spirv_writer *w, spirv_id label) {
  spirv_op_void(w, SpvOpLabel, 1, &label);
}

// --- the module ----------------------------------------------------------------------------------

static void put_head_sections(spirv_writer *w, spirv_words *out) {
  put_all(out, w->capabilities.len, w->capabilities.data);
  put_all(out, w->extensions.len, w->extensions.data);
  put_head(out, SpvOpExtInstImport, 2 + string_words("GLSL.std.450"));
  put(out, w->glsl);
  put_string(out, "GLSL.std.450");
  put_head(out, SpvOpMemoryModel, 3);
  put(out, w->physical ? SpvAddressingModelPhysicalStorageBuffer64 : SpvAddressingModelLogical);
  put(out, SpvMemoryModelGLSL450);
  put_head(out, SpvOpEntryPoint, 3 + string_words("main") + w->interface.len);
  put(out, SpvExecutionModelGLCompute);
  put(out, w->main);
  put_string(out, "main");
  put_all(out, w->interface.len, w->interface.data);
  put_all(out, w->modes.len, w->modes.data);
  put_all(out, w->decorations.len, w->decorations.data);
}

void spirv_writer_finish(spirv_writer *w, spirv_words *out) {
  spirv_id void_type = spirv_type_void(w), function_type = global(w, SpvOpTypeFunction, 0, 0, 1, &void_type, NULL);
  spirv_id entry = spirv_writer_id(w);
  const uint32_t head[] = {SpvMagicNumber, VERSION_1_3, GENERATOR, w->next_id, 0};
  put_all(out, 5, head);
  put_head_sections(w, out);
  put_all(out, w->globals.len, w->globals.data);
  put_head(out, SpvOpFunction, 5);
  put(out, void_type);
  put(out, w->main);
  put(out, SpvFunctionControlMaskNone);
  put(out, function_type);
  put_head(out, SpvOpLabel, 2);
  put(out, entry);
  put_all(out, w->locals.len, w->locals.data);
  put_all(out, w->body.len, w->body.data);
  put_head(out, SpvOpFunctionEnd, 1);
}
