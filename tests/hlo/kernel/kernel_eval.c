// SPDX-License-Identifier: Apache-2.0
// Groups: the invocations of a workgroup are coroutines that give way at barriers and subgroup operations until all
// have come there.
// Values are arrays of lanes; integers sign-extended in 64 bits (i1: 0 or 1), floats as doubles rounded to their type
// after each op.
#include "tests/hlo/kernel/kernel_eval.h"

#include <math.h>
#include <stdio.h>
#include <ucontext.h>

#include "hlo/literal.h"

typedef union lane {
  int64_t i;
  double f;
} lane;

enum { GROUP_STACK = 256 << 10 };

typedef struct machine machine;

typedef struct group {  // the invocations of one workgroup
  machine *members;
  int n, subgroup;
  int64_t number;
  ucontext_t scheduler;
} group;

struct machine {
  const kernel *k;
  group *group;  // NULL: a core kernel
  ucontext_t context;
  void *stack;
  bool done;
  const kernel_instr *waits;  // at this barrier or subgroup operation
  lane exchange[64];          // what it gives the others of its subgroup
  void *const *params;
  void **arrays;
  lane **values;  // by id
  int64_t item;
  const char *error;
};

static const char *failure(const char *format, long long a, long long b) {
  char *text = malloc(200);
  snprintf(text, 200, format, a, b);
  return text;
}

static int bits_of(kernel_type t) {
  return kernel_scalar_table[t.scalar].bits;
}

static int64_t wrap(kernel_type t, int64_t x) {
  int bits = bits_of(t);
  if (bits == 1) return x & 1;
  return bits >= 64 ? x : (int64_t)((uint64_t)x << (64 - bits)) >> (64 - bits);
}

static uint64_t zext(kernel_type t, int64_t x) {
  int bits = bits_of(t);
  return bits >= 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << bits) - 1);
}

static double round_to(kernel_type t, double x) {
  if (t.scalar == KERNEL_F64) return x;
  if (t.scalar == KERNEL_F32) return (float)x;
  uint8_t bytes[8];
  hlo_element_set_f64(kernel_scalar_table[t.scalar].dtype, bytes, 0, 0, x);
  return hlo_element_get_f64(kernel_scalar_table[t.scalar].dtype, bytes, 0, 0);
}

static void to_bytes(kernel_scalar s, void *data, int64_t at, lane v) {
  hlo_dtype t = kernel_scalar_table[s].dtype;
  if (kernel_scalar_table[s].is_float)
    hlo_element_set_f64(t, data, at, 0, v.f);
  else
    hlo_element_set_i64(t, data, at, v.i);
}

static lane from_bytes(kernel_scalar s, const void *data, int64_t at) {
  hlo_dtype t = kernel_scalar_table[s].dtype;
  lane v;
  if (kernel_scalar_table[s].is_float)
    v.f = hlo_element_get_f64(t, data, at, 0);
  else
    v.i = hlo_element_get_i64(t, data, at);
  return v;
}

static int64_t integer_op(machine *m, kernel_op op, kernel_type t, int64_t x, int64_t y) {
  uint64_t ux = zext(t, x), uy = zext(t, y);
  int bits = bits_of(t);
  switch (op) {
    case KERNEL_OP_ADD: return (int64_t)((uint64_t)x + (uint64_t)y);
    case KERNEL_OP_SUB: return (int64_t)((uint64_t)x - (uint64_t)y);
    case KERNEL_OP_MUL: return (int64_t)((uint64_t)x * (uint64_t)y);
    case KERNEL_OP_MULHI_U: return (int64_t)(uint64_t)(((unsigned __int128)ux * uy) >> bits);
    case KERNEL_OP_DIV_S:
    case KERNEL_OP_REM_S:
    case KERNEL_OP_DIV_U:
    case KERNEL_OP_REM_U:
      if (y == 0 || (y == -1 && x == wrap(t, (int64_t)(UINT64_C(1) << (bits - 1))) &&
                     (op == KERNEL_OP_DIV_S || op == KERNEL_OP_REM_S))) {
        m->error = "undefined division";
        return 0;
      }
      if (op == KERNEL_OP_DIV_S) return x / y;
      if (op == KERNEL_OP_REM_S) return x % y;
      return (int64_t)(op == KERNEL_OP_DIV_U ? ux / uy : ux % uy);
    case KERNEL_OP_MIN_S: return x < y ? x : y;
    case KERNEL_OP_MAX_S: return x > y ? x : y;
    case KERNEL_OP_MIN_U: return ux < uy ? x : y;
    case KERNEL_OP_MAX_U: return ux > uy ? x : y;
    case KERNEL_OP_AND: return x & y;
    case KERNEL_OP_OR: return x | y;
    case KERNEL_OP_XOR: return x ^ y;
    case KERNEL_OP_SHL:
    case KERNEL_OP_SHR_S:
    case KERNEL_OP_SHR_U:
      if (uy >= (uint64_t)bits) {
        m->error = failure("undefined shift by %lld of %lld bits", (long long)y, bits);
        return 0;
      }
      return op == KERNEL_OP_SHL ? (int64_t)(ux << uy) : op == KERNEL_OP_SHR_S ? x >> uy : (int64_t)(ux >> uy);
    case KERNEL_OP_EQ: return x == y;
    case KERNEL_OP_NE: return x != y;
    case KERNEL_OP_LT_S: return x < y;
    case KERNEL_OP_LE_S: return x <= y;
    case KERNEL_OP_LT_U: return ux < uy;
    case KERNEL_OP_LE_U: return ux <= uy;
    default: m->error = failure("integer op %lld", op, 0); return 0;
  }
}

static double float_min(double x, double y, bool max) {
  if (isnan(x) || isnan(y)) return NAN;
  if (x == y) return (signbit(x) != 0) != max ? x : y;
  return (x < y) != max ? x : y;
}

static double float_op(machine *m, kernel_op op, double x, double y, double z) {
  switch (op) {
    case KERNEL_OP_ADD: return x + y;
    case KERNEL_OP_SUB: return x - y;
    case KERNEL_OP_MUL: return x * y;
    case KERNEL_OP_DIV: return x / y;
    case KERNEL_OP_NEG: return -x;
    case KERNEL_OP_FMA: return fma(x, y, z);
    case KERNEL_OP_ABS: return fabs(x);
    case KERNEL_OP_COPYSIGN: return copysign(x, y);
    case KERNEL_OP_SQRT: return sqrt(x);
    case KERNEL_OP_FLOOR: return floor(x);
    case KERNEL_OP_CEIL: return ceil(x);
    case KERNEL_OP_TRUNC: return trunc(x);
    case KERNEL_OP_ROUND_EVEN: return rint(x);
    case KERNEL_OP_MIN:
    case KERNEL_OP_MIN_NUM: return float_min(x, y, false);
    case KERNEL_OP_MAX:
    case KERNEL_OP_MAX_NUM: return float_min(x, y, true);
    case KERNEL_OP_EXP: return exp(x);
    case KERNEL_OP_EXPM1: return expm1(x);
    case KERNEL_OP_LOG: return log(x);
    case KERNEL_OP_LOG1P: return log1p(x);
    case KERNEL_OP_SIN: return sin(x);
    case KERNEL_OP_COS: return cos(x);
    case KERNEL_OP_TAN: return tan(x);
    case KERNEL_OP_TANH: return tanh(x);
    case KERNEL_OP_ATAN2: return atan2(x, y);
    case KERNEL_OP_POW: return pow(x, y);
    case KERNEL_OP_RSQRT: return 1 / sqrt(x);
    case KERNEL_OP_CBRT: return cbrt(x);
    case KERNEL_OP_ERF: return erf(x);
    case KERNEL_OP_ERFC: return erfc(x);
    case KERNEL_OP_REM: return fmod(x, y);
    case KERNEL_OP_LOGISTIC: return 1 / (1 + exp(-x));
    default: m->error = failure("float op %lld", op, 0); return 0;
  }
}

static int64_t float_compare(kernel_op op, double x, double y) {
  switch (op) {
    case KERNEL_OP_EQ: return x == y;
    case KERNEL_OP_NE: return !(x == y);
    case KERNEL_OP_LT: return x < y;
    default: return x <= y;
  }
}

static int64_t to_int(kernel_type t, double x, bool is_signed) {
  int bits = bits_of(t);
  if (isnan(x)) return 0;
  x = trunc(x);
  double low = is_signed ? -ldexp(1, bits - 1) : 0, high = is_signed ? ldexp(1, bits - 1) : ldexp(1, bits);
  if (x < low) x = low;
  if (x >= high) return wrap(t, is_signed ? (int64_t)((UINT64_C(1) << (bits - 1)) - 1) : -1);
  return wrap(t, is_signed ? (int64_t)x : (int64_t)(uint64_t)x);
}

static lane convert(machine *m, kernel_op op, kernel_type from, kernel_type to, lane x) {
  lane r = {0};
  switch (op) {
    case KERNEL_OP_TRUNCATE: r.i = wrap(to, x.i); break;
    case KERNEL_OP_EXTEND_S: r.i = bits_of(from) == 1 ? -x.i : x.i; break;
    case KERNEL_OP_EXTEND_U: r.i = wrap(to, (int64_t)zext(from, x.i)); break;
    case KERNEL_OP_FLOAT_CONVERT: r.f = round_to(to, x.f); break;
    case KERNEL_OP_FROM_INT_S: r.f = to.scalar == KERNEL_F32 ? (double)(float)x.i : round_to(to, (double)x.i); break;
    case KERNEL_OP_FROM_INT_U:
      r.f = to.scalar == KERNEL_F32 ? (double)(float)zext(from, x.i) : round_to(to, (double)zext(from, x.i));
      break;
    case KERNEL_OP_TO_INT_S: r.i = to_int(to, x.f, true); break;
    case KERNEL_OP_TO_INT_U: r.i = to_int(to, x.f, false); break;
    default: m->error = failure("conversion %lld", op, 0);
  }
  return r;
}

static lane *result(machine *m, const kernel_value *v) {
  if (!m->values[v->id]) m->values[v->id] = malloc(sizeof(lane) * v->type.lanes);
  return m->values[v->id];
}

static void *memory(machine *m, kernel_mem mem, kernel_scalar *s, int64_t *n) {
  if (mem.space == KERNEL_PARAM) {
    *s = m->k->params[mem.index].elem, *n = m->k->params[mem.index].n_elems;
    return m->params[mem.index];
  }
  *s = m->k->arrays.data[mem.index].elem, *n = m->k->arrays.data[mem.index].n_elems;
  return m->arrays[mem.index];
}

static void access_memory(machine *m, const kernel_instr *i) {
  bool store = i->op == KERNEL_OP_STORE;
  kernel_scalar s;
  int64_t n;
  void *data = memory(m, i->mem, &s, &n);
  const kernel_value *ix = i->operands[0], *value = store ? i->operands[1] : &i->results[0];
  const kernel_value *mask = i->n_operands == (store ? 3 : 2) ? i->operands[i->n_operands - 1] : NULL;
  const lane *index = m->values[ix->id];
  lane *v = store ? m->values[value->id] : result(m, value);
  if (i->mem.space == KERNEL_PARAM && store && m->k->params[i->mem.index].readonly)
    m->error = "store to a readonly parameter";
  if (ix->type.lanes == 1 && i->align > 1 && index->i % i->align)
    m->error = failure("index %lld is not aligned to %lld", index->i, i->align);
  for (int l = 0; l < value->type.lanes && !m->error; l++) {
    if (mask && !m->values[mask->id][mask->type.lanes == 1 ? 0 : l].i) {
      if (!store) v[l] = (lane){0};
      continue;
    }
    int64_t at = ix->type.lanes == 1 ? index->i + l : index[l].i;
    if (at < 0 || at >= n) {
      m->error = failure("access to element %lld of %lld", (long long)at, (long long)n);
      return;
    }
    if (store)
      to_bytes(s, data, at, v[l]);
    else
      v[l] = from_bytes(s, data, at);
  }
}

static void atomic(machine *m, const kernel_instr *i) {
  kernel_scalar s;
  int64_t n, at = m->values[i->operands[0]->id]->i;
  void *data = memory(m, i->mem, &s, &n);
  if (at < 0 || at >= n) {
    m->error = failure("atomic access to element %lld of %lld", (long long)at, (long long)n);
    return;
  }
  lane old = from_bytes(s, data, at), x = *m->values[i->operands[1]->id], now = old;
  switch (i->op) {
    case KERNEL_OP_ATOMIC_ADD: now.i = wrap(i->results[0].type, old.i + x.i); break;
    case KERNEL_OP_ATOMIC_MIN_S: now.i = old.i < x.i ? old.i : x.i; break;
    case KERNEL_OP_ATOMIC_MAX_S: now.i = old.i > x.i ? old.i : x.i; break;
    default:
      if (old.i == x.i) now = *m->values[i->operands[2]->id];
  }
  to_bytes(s, data, at, now);
  *result(m, &i->results[0]) = old;
}

static void bitcast(machine *m, const kernel_instr *i) {
  kernel_type from = i->operands[0]->type, to = i->results[0].type;
  uint8_t bytes[1024];
  const lane *x = m->values[i->operands[0]->id];
  lane *r = result(m, &i->results[0]);
  for (int l = 0; l < from.lanes; l++) to_bytes((kernel_scalar)from.scalar, bytes, l, x[l]);
  for (int l = 0; l < to.lanes; l++) r[l] = from_bytes((kernel_scalar)to.scalar, bytes, l);
}

static void reduce_lanes(machine *m, const kernel_instr *i) {
  static const kernel_op ops[] = {KERNEL_OP_ADD, KERNEL_OP_MUL, KERNEL_OP_MIN, KERNEL_OP_MAX,
                                  KERNEL_OP_AND, KERNEL_OP_OR,  KERNEL_OP_XOR};
  kernel_op op = ops[i->op - KERNEL_OP_REDUCE_ADD];
  kernel_type t = i->operands[0]->type;
  lane v[64];
  memcpy(v, m->values[i->operands[0]->id], sizeof(lane) * t.lanes);
  bool is_float = kernel_scalar_table[t.scalar].is_float;
  if (!is_float && op == KERNEL_OP_MIN) op = i->imm.i ? KERNEL_OP_MIN_U : KERNEL_OP_MIN_S;
  if (!is_float && op == KERNEL_OP_MAX) op = i->imm.i ? KERNEL_OP_MAX_U : KERNEL_OP_MAX_S;
  for (int n = t.lanes / 2; n; n /= 2)
    for (int l = 0; l < n; l++) {
      if (is_float)
        v[l].f = round_to(t, float_op(m, op, v[l].f, v[l + n].f, 0));
      else
        v[l].i = wrap(t, integer_op(m, op, t, v[l].i, v[l + n].i));
    }
  *result(m, &i->results[0]) = v[0];
}

static void tile(machine *m, const kernel_instr *i) {
  const kernel_tile *t = i->imm.tile;
  int64_t a = m->values[i->operands[0]->id]->i, b = m->values[i->operands[1]->id]->i,
          n = m->values[i->operands[2]->id]->i;
  kernel_scalar sa, sb;
  int64_t na, nb;
  void *da = memory(m, t->a, &sa, &na), *db = memory(m, t->b, &sb, &nb);
  for (int r = 0; r < i->n_results; r++)
    memcpy(result(m, &i->results[r]), m->values[i->operands[3 + r]->id], sizeof(lane) * (size_t)t->lanes);
  for (int64_t k = 0; k < n; k++)
    for (int row = 0; row < t->m; row++)
      for (int v = 0; v < t->nv; v++) {
        lane *acc = m->values[i->results[row * t->nv + v].id];
        int64_t pa = a + row * t->a_stride_m + k * t->a_stride_k;
        for (int l = 0; l < t->lanes; l++) {
          int64_t pb = b + k * t->b_stride_k + v * t->lanes + l;
          if (pa < 0 || pa >= na || pb < 0 || pb >= nb) {
            m->error = failure("tile element a %lld, b %lld", (long long)pa, (long long)pb);
            return;
          }
          double x = from_bytes(sa, da, pa).f, y = from_bytes(sb, db, pb).f;
          acc[l].f = t->lanes && i->results[0].type.scalar == KERNEL_F64
                         ? fma(x, y, acc[l].f)
                         : (double)fmaf((float)x, (float)y, (float)acc[l].f);
        }
      }
}

static void lanewise(machine *m, const kernel_instr *i) {
  kernel_type t = i->results[0].type, from = i->n_operands ? i->operands[0]->type : t;
  const lane *x = i->n_operands > 0 ? m->values[i->operands[0]->id] : NULL;
  const lane *y = i->n_operands > 1 ? m->values[i->operands[1]->id] : NULL;
  const lane *z = i->n_operands > 2 ? m->values[i->operands[2]->id] : NULL;
  lane *r = result(m, &i->results[0]);
  bool is_float = kernel_scalar_table[from.scalar].is_float;
  kernel_op_class cls = (kernel_op_class)kernel_op_table[i->op].cls;
  for (int l = 0; l < t.lanes; l++) {
    if (i->op == KERNEL_OP_SELECT) {
      r[l] = x[i->operands[0]->type.lanes == 1 ? 0 : l].i ? y[l] : z[l];
    } else if (cls == KERNEL_CLASS_CONV) {
      r[l] = convert(m, i->op, from, t, x[l]);
    } else if (cls == KERNEL_CLASS_CMP) {
      r[l].i = is_float ? float_compare(i->op, x[l].f, y[l].f) : integer_op(m, i->op, from, x[l].i, y[l].i);
    } else if (is_float && i->op == KERNEL_OP_FMA && t.scalar == KERNEL_F32) {
      r[l].f = fmaf((float)x[l].f, (float)y[l].f, (float)z[l].f);
    } else if (is_float) {
      r[l].f = round_to(t, float_op(m, i->op, x[l].f, y ? y[l].f : 0, z ? z[l].f : 0));
    } else if (i->op == KERNEL_OP_NEG) {
      r[l].i = wrap(t, (int64_t)(0 - (uint64_t)x[l].i));
    } else if (i->op == KERNEL_OP_NOT) {
      r[l].i = wrap(t, ~x[l].i);
    } else if (i->op == KERNEL_OP_POPCNT) {
      r[l].i = __builtin_popcountll(zext(t, x[l].i));
    } else if (i->op == KERNEL_OP_CLZ) {
      uint64_t u = zext(t, x[l].i);
      r[l].i = u ? __builtin_clzll(u) - (64 - bits_of(t)) : bits_of(t);
    } else {
      r[l].i = wrap(t, integer_op(m, i->op, t, x[l].i, y[l].i));
    }
  }
}

static void run_block(machine *m, const kernel_block *b);

static void copy_values(machine *m, const kernel_value *to, kernel_value *const *from, int n) {
  lane *temp[256];
  for (int v = 0; v < n; v++) {
    size_t bytes = sizeof(lane) * from[v]->type.lanes;
    temp[v] = memcpy(malloc(bytes), m->values[from[v]->id], bytes);
  }
  for (int v = 0; v < n; v++) {
    memcpy(result(m, &to[v]), temp[v], sizeof(lane) * to[v].type.lanes);
    free(temp[v]);
  }
}

static void control(machine *m, const kernel_instr *i) {
  kernel_value **operands = i->operands;
  if (i->op == KERNEL_OP_IF) {
    const kernel_block *b = i->blocks[m->values[operands[0]->id]->i ? 0 : 1];
    run_block(m, b);
    if (!m->error) copy_values(m, i->results, b->last->operands, i->n_results);
    return;
  }
  if (i->op == KERNEL_OP_FOR) {
    const kernel_block *b = i->blocks[0];
    int64_t lo = m->values[operands[0]->id]->i, hi = m->values[operands[1]->id]->i,
            step = m->values[operands[2]->id]->i;
    copy_values(m, i->results, operands + 3, i->n_results);
    kernel_value *carried[256];
    for (int r = 0; r < i->n_results; r++) carried[r] = &i->results[r];
    for (int64_t iv = lo; iv < hi && !m->error; iv += step) {
      result(m, &b->args[0])->i = iv;
      copy_values(m, b->args + 1, carried, i->n_results);
      run_block(m, b);
      if (!m->error) copy_values(m, i->results, b->last->operands, i->n_results);
    }
    return;
  }
  kernel_value *carried[256];
  for (int r = 0; r < i->n_results; r++) carried[r] = &i->results[r];
  copy_values(m, i->results, operands, i->n_results);
  for (int64_t turns = 0; !m->error; turns++) {
    if (turns > 100000000) m->error = "a while loop without end";
    copy_values(m, i->blocks[0]->args, carried, i->n_results);
    run_block(m, i->blocks[0]);
    if (m->error || !m->values[i->blocks[0]->last->operands[0]->id]->i) return;
    copy_values(m, i->blocks[1]->args, carried, i->n_results);
    run_block(m, i->blocks[1]);
    if (!m->error) copy_values(m, i->results, i->blocks[1]->last->operands, i->n_results);
  }
}

static void vector(machine *m, const kernel_instr *i) {
  lane *r = result(m, &i->results[0]);
  int n = i->results[0].type.lanes;
  const lane *x = i->n_operands ? m->values[i->operands[0]->id] : NULL;
  switch (i->op) {
    case KERNEL_OP_SPLAT:
      for (int l = 0; l < n; l++) r[l] = x[0];
      return;
    case KERNEL_OP_BUILD:
      for (int l = 0; l < n; l++) r[l] = m->values[i->operands[l]->id][0];
      return;
    case KERNEL_OP_LANES:
      for (int l = 0; l < n; l++) r[l].i = l;
      return;
    case KERNEL_OP_EXTRACT:
      for (int l = 0; l < n; l++) r[l] = x[i->imm.i + l];
      return;
    case KERNEL_OP_INSERT:
      memcpy(r, x, sizeof(lane) * (size_t)n);
      r[i->imm.i] = m->values[i->operands[1]->id][0];
      return;
    case KERNEL_OP_SHUFFLE: {
      int w = i->operands[0]->type.lanes;
      const lane *y = m->values[i->operands[1]->id];
      for (int l = 0; l < n; l++) r[l] = i->imm.list[l] < w ? x[i->imm.list[l]] : y[i->imm.list[l] - w];
      return;
    }
    default: reduce_lanes(m, i);
  }
}

// --- groups --------------------------------------------------------------------------------------

static void give_way(machine *m, const kernel_instr *i) {
  m->waits = i;
  swapcontext(&m->context, &m->group->scheduler);
}

static double combine_float(machine *m, kernel_op op, double x, double y) {
  return float_op(m,
                  op == KERNEL_OP_SUBGROUP_ADD   ? KERNEL_OP_ADD
                  : op == KERNEL_OP_SUBGROUP_MIN ? KERNEL_OP_MIN
                                                 : KERNEL_OP_MAX,
                  x, y, 0);
}

static void subgroup_op(machine *m, const kernel_instr *i) {
  kernel_type t = i->results[0].type;
  int size = m->group->subgroup, local = (int)(m - m->group->members), mine = local % size;
  const machine *first = m - mine;
  if (i->op == KERNEL_OP_SUBGROUP_LANE) {
    result(m, &i->results[0])->i = mine;
    return;
  }
  memcpy(m->exchange, m->values[i->operands[0]->id], sizeof(lane) * t.lanes);
  give_way(m, i);
  int other = i->op == KERNEL_OP_SUBGROUP_SHUFFLE       ? (int)m->values[i->operands[1]->id]->i
              : i->op == KERNEL_OP_SUBGROUP_SHUFFLE_XOR ? mine ^ (int)i->imm.i
                                                        : (int)i->imm.i;
  lane v[64];
  if (i->op == KERNEL_OP_SUBGROUP_SHUFFLE || i->op == KERNEL_OP_SUBGROUP_SHUFFLE_XOR ||
      i->op == KERNEL_OP_SUBGROUP_BROADCAST) {
    if (other < 0 || other >= size)
      m->error = failure("subgroup lane %lld of %lld", other, size);
    else
      memcpy(v, first[other].exchange, sizeof v);
  } else {
    memcpy(v, first[0].exchange, sizeof v);
    for (int o = 1; o < size; o++)
      for (int l = 0; l < t.lanes; l++) {
        if (kernel_scalar_table[t.scalar].is_float)
          v[l].f = round_to(t, combine_float(m, i->op, v[l].f, first[o].exchange[l].f));
        else
          v[l].i = wrap(t, integer_op(m,
                                      i->op == KERNEL_OP_SUBGROUP_ADD   ? KERNEL_OP_ADD
                                      : i->op == KERNEL_OP_SUBGROUP_MIN ? KERNEL_OP_MIN_S
                                                                        : KERNEL_OP_MAX_S,
                                      t, v[l].i, first[o].exchange[l].i));
      }
  }
  give_way(m, i);  // nobody overwrites what others still read
  memcpy(result(m, &i->results[0]), v, sizeof(lane) * t.lanes);
}

static void group_op(machine *m, const kernel_instr *i) {
  if (!m->group) {
    m->error = "group operation in a core kernel";
    return;
  }
  switch (i->op) {
    case KERNEL_OP_LOCAL_ID: result(m, &i->results[0])->i = m - m->group->members; return;
    case KERNEL_OP_GROUP_ID: result(m, &i->results[0])->i = m->group->number; return;
    case KERNEL_OP_BARRIER: give_way(m, i); return;
    default: subgroup_op(m, i);
  }
}

static void run_instr(machine *m, const kernel_instr *i) {
  switch (kernel_op_table[i->op].cls) {
    case KERNEL_CLASS_CONST: {
      lane *r = result(m, &i->results[0]);
      bool is_float = kernel_scalar_table[i->results[0].type.scalar].is_float;
      for (int l = 0; l < i->results[0].type.lanes; l++) {
        if (is_float)
          r[l].f = i->imm.f;
        else
          r[l].i = i->imm.i;
      }
      return;
    }
    case KERNEL_CLASS_ID:
      result(m, &i->results[0])->i = i->op == KERNEL_OP_ITEM ? m->item : m->k->params[i->imm.i].n_elems;
      return;
    case KERNEL_CLASS_VEC: vector(m, i); return;
    case KERNEL_CLASS_MEM:
      if (i->op == KERNEL_OP_LOAD || i->op == KERNEL_OP_STORE)
        access_memory(m, i);
      else
        atomic(m, i);
      return;
    case KERNEL_CLASS_CTRL:
      if (i->op != KERNEL_OP_YIELD) control(m, i);
      return;
    case KERNEL_CLASS_GROUP: group_op(m, i); return;
    case KERNEL_CLASS_TILE: tile(m, i); return;
    case KERNEL_CLASS_CONV:
      if (i->op == KERNEL_OP_BITCAST) {
        bitcast(m, i);
        return;
      }
      lanewise(m, i);
      return;
    default: lanewise(m, i);
  }
}

static void run_block(machine *m, const kernel_block *b) {
  for (const kernel_instr *i = b->first; i && !m->error; i = i->next) run_instr(m, i);
}

static size_t array_bytes(const kernel *k, int a) {
  return (size_t)k->arrays.data[a].n_elems * kernel_scalar_table[k->arrays.data[a].elem].bytes;
}

static void machine_init(machine *m, const kernel *k, void *const *params) {
  *m = (machine){.k = k, .params = params};
  m->values = calloc((size_t)k->next_id + 1, sizeof *m->values);
  m->arrays = calloc((size_t)k->arrays.len + 1, sizeof *m->arrays);
  for (int a = 0; a < k->arrays.len; a++) m->arrays[a] = malloc(array_bytes(k, a) + 1);
}

static void machine_deinit(machine *m) {
  for (int v = 0; v < m->k->next_id; v++) free(m->values[v]);
  for (int a = 0; a < m->k->arrays.len; a++) free(m->arrays[a]);
  free(m->values);
  free(m->arrays);
}

static void clear_arrays(machine *m, bool shared_too) {  // arrays are not initialised: make it show
  for (int a = 0; a < m->k->arrays.len; a++)
    if (shared_too || m->k->arrays.data[a].space == KERNEL_PRIVATE) memset(m->arrays[a], 0xCD, array_bytes(m->k, a));
}

static const char *eval_core(const kernel *k, void *const *params) {
  machine m;
  machine_init(&m, k, params);
  for (m.item = 0; m.item < k->grid && !m.error; m.item++) {
    clear_arrays(&m, true);
    run_block(&m, k->body);
  }
  machine_deinit(&m);
  return m.error;
}

static void invocation(unsigned low, unsigned high) {
  machine *m = (machine *)(uintptr_t)((uint64_t)low | (uint64_t)high << 32);
  run_block(m, m->k->body);
  m->done = true;
  swapcontext(&m->context, &m->group->scheduler);
}

static void prepare_invocation(machine *m) {
  uintptr_t p = (uintptr_t)m;
  m->done = false;
  getcontext(&m->context);
  m->context.uc_stack = (stack_t){.ss_sp = m->stack, .ss_size = GROUP_STACK};
  m->context.uc_link = NULL;
  makecontext(&m->context, (void (*)(void))invocation, 2, (unsigned)p, (unsigned)((uint64_t)p >> 32));
}

// Lets every invocation run to its next meeting point, until all are done.
static const char *run_group(group *g) {
  for (;;) {
    int done = 0;
    const kernel_instr *meet = NULL;
    for (int i = 0; i < g->n; i++) {
      machine *m = &g->members[i];
      if (!m->done) swapcontext(&g->scheduler, &m->context);
      if (m->error) return m->error;
      done += m->done;
      if (m->done) continue;
      if (meet && meet != m->waits && meet->op == KERNEL_OP_BARRIER)
        return "invocations of a workgroup wait at different barriers";
      if (!meet) meet = m->waits;
    }
    if (done == g->n) return NULL;
    if (done && meet && meet->op == KERNEL_OP_BARRIER) return "a barrier that not all invocations reach";
  }
}

static const char *eval_groups(const kernel *k, void *const *params, int subgroup) {
  group g = {.n = k->workgroup, .subgroup = subgroup};
  const char *error = NULL;
  g.members = calloc((size_t)g.n, sizeof *g.members);
  for (int i = 0; i < g.n; i++) {
    machine_init(&g.members[i], k, params);
    g.members[i].group = &g;
    g.members[i].stack = malloc(GROUP_STACK);
    for (int a = 0; a < k->arrays.len; a++) {
      if (k->arrays.data[a].space != KERNEL_SHARED || i == 0) continue;
      free(g.members[i].arrays[a]);
      g.members[i].arrays[a] = g.members[0].arrays[a];
    }
  }
  for (g.number = 0; g.number < k->grid / k->workgroup && !error; g.number++) {
    for (int i = 0; i < g.n; i++) {
      machine *m = &g.members[i];
      clear_arrays(m, i == 0);
      m->item = g.number * k->workgroup + i;
      prepare_invocation(m);
    }
    error = run_group(&g);
  }
  for (int i = 0; i < g.n; i++) {
    for (int a = 0; a < k->arrays.len; a++)
      if (k->arrays.data[a].space == KERNEL_SHARED && i) g.members[i].arrays[a] = NULL;
    machine_deinit(&g.members[i]);
    free(g.members[i].stack);
  }
  free(g.members);
  return error;
}

const char *kernel_eval(const kernel *k, void *const *params) {
  return kernel_eval_subgroup(k, params, 4);
}

const char *kernel_eval_subgroup(const kernel *k, void *const *params, int subgroup) {
  if (k->workgroup == 0) return eval_core(k, params);
  if (k->workgroup % subgroup) return failure("a workgroup of %lld with subgroups of %lld", k->workgroup, subgroup);
  return eval_groups(k, params, subgroup);
}
