// SPDX-License-Identifier: Apache-2.0
// Fusion: elementwise and data-moving instructions become part of the kernel that uses their results.
//
// 1. Regions. Each dot_general and convolution, then each reduce, claims the elementwise instructions behind it, as
// long as only
//    one value leaves the region (also through reshapes: the region is then computed with the hero's dimensions).
// 2. Groups. Backwards over the instructions: one that somebody still needs becomes a group's root, with its region if
// it is one's.
//    Producers join the group, latest first: those used by nobody else; those that cost nothing (broadcasts, iota,
//    constants, slices); those whose recomputation by every user moves fewer bytes than storing them. Each member
//    carries the list of indices that it is evaluated at, so that code growth (copies) and repeated evaluation (volume)
//    are known and bounded. The group becomes a fusion at once, so that an instruction reached later has no uses left
//    if all its users took it in.
// Nothing but slices is fused into operands of dot_general, nothing into those of convolution or into the array that
// dynamic_update_slice and scatter update (which stays a parameter with one use, as in-place computation needs). Needs:
// inlined calls, no dead code. Leaves: fusions of kinds LOOP, INPUT (reduce), OUTPUT (dot, convolution), IN_PLACE.
#include "hlo/opt/opt_fusion_internal.h"

enum { MAX_INDICES = 8, MAX_EPILOGUE = 32, TINY = 1024, MAX_DUPLICATE_WEIGHT = 4, MAX_DUPLICATED = 16 };

typedef struct region {
  hlo_instr *hero, *root;
  fusion_list members;  // execution order, hero first
  bool reshaped;
} region;

typedef struct member {
  hlo_instr *i;
  int n;  // indices
  uint64_t index[MAX_INDICES];
  double volume[MAX_INDICES];  // evaluations at that index
  bool shared;                 // also computed elsewhere
} member;

typedef struct fuser {
  hlo_pass_ctx *ctx;
  arena *scratch;
  hlo_computation *c;
  int n_ids;           // of instructions that stood here before the pass
  u64map regions;      // root -> region *
  region **region_of;  // [id]: claimed by
  // the group being made
  region *region;
  hlo_instr *root;
  member *members;  // latest first
  int n_members;
  int32_t *group_of, *seen_in;  // [id]: number of the group it is a member, a candidate of
  int32_t group;
  int32_t *counted, count;  // [id]: when it was counted last
  fusion_list candidates;
  double extra;  // lane operations spent on repeated evaluation
  int duplicated, weight, copies;
} fuser;

static bool known(const fuser *f, const hlo_instr *i) {
  return i->id < f->n_ids;
}
static bool in_group(const fuser *f, const hlo_instr *i) {
  return known(f, i) && f->group_of[i->id] == f->group;
}
static bool is_claimed(const fuser *f, const hlo_instr *i) {
  return known(f, i) && f->region_of[i->id];
}
static bool is_loop_op(const fuser *f, const hlo_instr *i) {
  return known(f, i) && fusion_is_loop_op(f->ctx, i);
}

// --- regions -------------------------------------------------------------------------------------

typedef struct grower {
  fuser *f;
  region *r;
  fusion_list list;
  bitset in;
} grower;

static bool uses_region(const grower *g, const hlo_instr *i) {
  for (int o = 0; o < i->n_operands; o++)
    if (known(g->f, i->operands[o]) && bitset_get(&g->in, i->operands[o]->id)) return true;
  return false;
}

// Operands at other dimensions than the result's are scalars only.
static bool may_extend(const grower *g, const hlo_instr *i) {
  const fuser *f = g->f;
  if (!is_loop_op(f, i) || is_claimed(f, i)) return false;
  if (fusion_is_reshape(i)) return true;
  if (!hlo_op_has(i->op, HLO_TRAIT_E)) return false;
  int64_t n = hlo_shape_elements(g->r->hero->shape);
  for (int o = 0; o < i->n_operands; o++) {
    bool inside = known(f, i->operands[o]) && bitset_get(&g->in, i->operands[o]->id);
    if (inside && !hlo_shape_same_dims(i->operands[o]->shape, i->shape)) return false;
  }
  return hlo_shape_elements(i->shape) == n && !i->shape->layout;
}

// The one member whose value is used outside; NULL if there are several.
static hlo_instr *only_result(const grower *g) {
  hlo_instr *result = NULL;
  for (int n = 0; n < g->list.len; n++) {
    hlo_instr *m = g->list.data[n];
    bool outside = m == g->f->c->root;
    for (int u = 0; u < m->n_uses && !outside; u++)
      outside = !known(g->f, m->uses[u].user) || !bitset_get(&g->in, m->uses[u].user->id);
    if (!outside) continue;
    if (result) return NULL;
    result = m;
  }
  return result;
}

static void claim(grower *g, int n, hlo_instr *root) {
  region *r = g->r;
  const hlo_shape *dims = r->hero->shape;
  r->root = root;
  for (int k = 0; k < n; k++) {
    hlo_instr *m = g->list.data[k];
    vec_push(g->f->scratch, &r->members, m);
    g->f->region_of[m->id] = r;
    r->reshaped |= hlo_shape_is_array(dims) && !hlo_shape_same_dims(m->shape, dims);
  }
  ptrmap_put(g->f->scratch, &g->f->regions, root, r);
}

static int64_t last_use(const hlo_instr *i) {
  int64_t last = -1;
  for (int u = 0; u < i->n_uses; u++)
    if (i->uses[u].user->scratch > last) last = i->uses[u].user->scratch;
  return last;
}

static void grow_region(fuser *f, hlo_instr *hero) {
  region *r = ARENA_NEW(f->scratch, region);
  *r = (region){.hero = hero};
  grower g = {.f = f, .r = r, .in = bitset_create(f->scratch, f->n_ids)};
  vec_push(f->scratch, &g.list, hero);
  bitset_set(&g.in, hero->id);
  int best = 1;
  int64_t reach = last_use(hero);
  hlo_instr *best_root = hero;
  bool array = hlo_shape_is_array(hero->shape) && !hero->shape->layout && fusion_fits(f->ctx, hero);
  for (hlo_instr *i = hero->next; array && i && i->scratch <= reach && g.list.len <= MAX_EPILOGUE; i = i->next) {
    if (!uses_region(&g, i) || !may_extend(&g, i)) continue;
    if (last_use(i) > reach) reach = last_use(i);
    vec_push(f->scratch, &g.list, i);
    bitset_set(&g.in, i->id);
    hlo_instr *result = only_result(&g);
    if (result != i || fusion_is_reshape(i)) continue;
    best = g.list.len;
    best_root = i;
  }
  claim(&g, best, best_root);
}

// --- where values may go -------------------------------------------------------------------------

// Number of arrays that i updates in place (its first operands); 0 for others.
static int n_updated(const hlo_instr *i) {
  if (i->op == HLO_OP_DYNAMIC_UPDATE_SLICE) return 1;
  return i->op == HLO_OP_SCATTER ? (i->n_operands - 1) / 2 : 0;
}

// A window of rows: read where it lies by the CPU's dot schedules instead of being copied.
static bool is_window(const hlo_instr *p) {
  if (p->op == HLO_OP_DYNAMIC_SLICE || fusion_is_reshape(p)) return true;
  if (p->op != HLO_OP_SLICE) return false;
  hlo_slice s = HLO_ATTRS(p, slice)->slice;
  for (int d = 0; d < s.n; d++)
    if (s.stride[d] != 1) return false;
  return true;
}

// May operand o of i be computed inside i's kernel?
static bool slot_is_open(const fuser *f, const hlo_instr *i, int o) {
  switch (i->op) {
    case HLO_OP_DOT_GENERAL:
      return f->ctx->target && f->ctx->target->cls == HLO_TARGET_CPU && is_window(i->operands[o]);
    case HLO_OP_CONVOLUTION: return false;
    case HLO_OP_REDUCE: return true;
    default: return o >= n_updated(i);
  }
}

static bool takes_producers(const fuser *f, const hlo_instr *i) {
  if (!known(f, i)) return false;
  if (i->op == HLO_OP_REDUCE || i->op == HLO_OP_DOT_GENERAL || n_updated(i))
    return fusion_is_hero(i) || hlo_shape_is_static(i->shape);
  return fusion_is_loop_op(f->ctx, i) && !fusion_is_reshape(i);
}

static const hlo_instr *through_reshapes(const hlo_instr *i) {
  while (fusion_is_reshape(i)) i = i->operands[0];
  return i;
}

// Reads what the root updates in place: then it must have been read before.
static bool reads_updated(const fuser *f, const hlo_instr *i) {
  for (int t = 0; t < n_updated(f->root); t++)
    for (int o = 0; o < i->n_operands; o++)
      if (through_reshapes(i->operands[o]) == through_reshapes(f->root->operands[t])) return true;
  return false;
}

// --- indices -------------------------------------------------------------------------------------

enum { SCALAR_INDEX = 2 };

static member *member_of(fuser *f, const hlo_instr *i) {
  for (int n = 0; n < f->n_members; n++)
    if (f->members[n].i == i) return &f->members[n];
  return NULL;
}

static double ratio(const hlo_shape *a, const hlo_shape *b) {
  int64_t n = hlo_shape_elements(b);
  return n ? (double)hlo_shape_elements(a) / (double)n : 0;
}

// On a CPU, what does not vary along a row is computed once a row.
static double broadcast_volume(const fuser *f, const hlo_instr *i, double volume) {
  if (f->ctx->target && f->ctx->target->cls != HLO_TARGET_CPU) return volume;
  for (int d = i->shape->rank - 1; d >= 0; d--) {
    if (hlo_i64s_contains(HLO_ATTRS(i, broadcast)->dimensions, d) && i->shape->dims[d] != 1) break;
    if (i->shape->dims[d]) volume /= (double)i->shape->dims[d];
  }
  return volume;
}

// Operand o of a member evaluated at (x, volume): at which index, how often.
static void operand_index(const fuser *f, const hlo_instr *i, int o, uint64_t x, double volume, uint64_t *y,
                          double *v) {
  const hlo_shape *in = i->operands[o]->shape;
  uint64_t derived = hash_u64((uint64_t)i->id, hash_u64(x, (uint64_t)o + 3));
  *y = derived, *v = volume;
  if (in->rank == 0) {
    *y = SCALAR_INDEX, *v = 1;
    return;
  }
  switch (i->op) {
    case HLO_OP_BROADCAST_IN_DIM: *v = broadcast_volume(f, i, volume); return;
    case HLO_OP_PAD:
    case HLO_OP_CONCATENATE: *v = volume * ratio(in, i->shape); return;
    case HLO_OP_DYNAMIC_UPDATE_SLICE: *v = (double)hlo_shape_elements(i->operands[1]->shape); return;
    case HLO_OP_SCATTER: *v = (double)hlo_shape_elements(i->operands[i->n_operands - 1]->shape); return;
    case HLO_OP_REDUCE:
    case HLO_OP_DOT_GENERAL: *v = (double)hlo_shape_elements(in); return;
    case HLO_OP_COPY: *y = x; return;
    default: break;
  }
  if (!hlo_op_has(i->op, HLO_TRAIT_E)) return;
  bool retyped = f->region && f->region->reshaped && f->region_of[i->id] == f->region;
  *y = retyped && !is_claimed(f, i->operands[o]) ? hash_u64((uint64_t)i->operands[o]->id, x) : x;
}

static void add_index(member *m, uint64_t x, double volume) {
  for (int n = 0; n < m->n; n++)
    if (m->index[n] == x) return;
  if (m->n < MAX_INDICES) m->index[m->n] = x, m->volume[m->n] = volume;
  m->n++;  // MAX_INDICES + 1: too many
}

// From the members that use it. False: too many.
static bool find_indices(fuser *f, member *m) {
  m->n = 0;
  for (int u = 0; u < m->i->n_uses; u++) {
    hlo_use use = m->i->uses[u];
    if (!in_group(f, use.user)) continue;
    const member *user = member_of(f, use.user);
    for (int k = 0; k < user->n; k++) {
      uint64_t y;
      double v;
      operand_index(f, user->i, use.operand, user->index[k], user->volume[k], &y, &v);
      add_index(m, y, v);
      if (m->n > MAX_INDICES) return false;
    }
  }
  return true;
}

// --- which producers -----------------------------------------------------------------------------

// Costs no more to compute than to read.
static bool is_free(const hlo_instr *p) {
  switch (p->op) {
    case HLO_OP_CONSTANT:
    case HLO_OP_IOTA:
    case HLO_OP_BROADCAST_IN_DIM:
    case HLO_OP_RESHAPE:
    case HLO_OP_BITCAST:
    case HLO_OP_SLICE:
    case HLO_OP_DYNAMIC_SLICE: return true;
    case HLO_OP_CONVERT: return hlo_dtype_bytes(p->operands[0]->shape->dtype) <= hlo_dtype_bytes(p->shape->dtype);
    default: return p->n_operands && fusion_elements(p->shape) <= 1 && fusion_weight(p) <= MAX_DUPLICATE_WEIGHT;
  }
}

// Bytes of the operands of p that the group does not read yet (or compute).
static double new_bytes(const fuser *f, const hlo_instr *p) {
  double sum = 0;
  for (int o = 0; o < p->n_operands; o++) {
    const hlo_instr *x = p->operands[o];
    bool have = in_group(f, x) || hlo_is_constant(x);
    for (int u = 0; u < x->n_uses && !have; u++) have = in_group(f, x->uses[u].user);
    if (!have) sum += (double)fusion_bytes(x->op == HLO_OP_BROADCAST_IN_DIM ? x->operands[0]->shape : x->shape);
  }
  return sum;
}

static bool shared_by_user(fuser *f, const hlo_instr *p) {
  for (int u = 0; u < p->n_uses; u++)
    if (in_group(f, p->uses[u].user) && member_of(f, p->uses[u].user)->shared) return true;
  return false;
}

// p has other users than the group: is it better computed by each of them?
static bool worth_duplicating(fuser *f, const hlo_instr *p, const member *m, bool shared_user) {
  if (is_free(p)) return true;
  int others = shared_user;
  for (int u = 0; u < p->n_uses; u++) {
    hlo_use use = p->uses[u];
    if (in_group(f, use.user)) continue;
    if (!takes_producers(f, use.user) || !slot_is_open(f, use.user, use.operand)) return false;
    others++;
  }
  int w = fusion_weight(p);
  double volume = 0;
  for (int n = 0; n < m->n; n++) volume += m->volume[n];
  double in = new_bytes(f, p), out = (double)fusion_bytes(p->shape);
  double before = in + out * (2 + others), after = in * (1 + others);
  if (hlo_shape_elements(p->shape) <= TINY && w <= 2 * MAX_DUPLICATED && others <= 2) return true;
  if (w > MAX_DUPLICATE_WEIGHT || f->duplicated + w > MAX_DUPLICATED) return false;
  return after <= before && volume * w <= 2 * out + fusion_launch_cost(f->ctx->target);
}

static bool fits_target(fuser *f, const hlo_instr *p) {
  int limit = fusion_max_operands(f->ctx->target, hlo_shape_leaves(f->root->shape)), n = 0;
  f->count++;
  for (int k = -1; k < f->n_members; k++) {
    const hlo_instr *i = k < 0 ? p : f->members[k].i;
    for (int o = 0; o < i->n_operands; o++) {
      const hlo_instr *x = i->operands[o];
      if (x == p || !known(f, x) || in_group(f, x) || f->counted[x->id] == f->count) continue;
      f->counted[x->id] = f->count;
      if (hlo_is_constant(x) && is_loop_op(f, x)) continue;
      n += hlo_shape_leaves(x->shape);
    }
  }
  return n <= limit;
}

static bool repeats_too_much(fuser *f, const hlo_instr *p, const member *m) {
  double volume = 0, n = (double)hlo_shape_elements(p->shape);
  for (int k = 0; k < m->n; k++) volume += m->volume[k];
  int w = fusion_weight(p), arrays = 0;
  for (int o = 0; o < p->n_operands; o++) arrays += p->operands[o]->shape->rank > 0;
  if (volume <= n * 1.01 || p->n_operands == 0) return false;
  double extra = (volume - n) * (w + (arrays > 1 ? arrays - 1 : 0));
  if (f->extra + extra > fusion_launch_cost(f->ctx->target) + 2 * n) return true;
  f->extra += extra;
  return false;
}

// Reading across rows is slow unless the rows stay in cache.
static bool breaks_rows(const fuser *f, const hlo_instr *p) {
  const int64_t small = 64 << 10;
  if (fusion_moves_minor(p) && hlo_shape_bytes(p->shape) > small) return true;
  if (fusion_weight(p) == 0 && p->n_operands <= 1) return false;
  for (int u = 0; u < p->n_uses; u++)
    if (in_group(f, p->uses[u].user) && fusion_moves_minor(p->uses[u].user) && hlo_shape_bytes(p->shape) > small)
      return true;
  return false;
}

// Only windows stand between an operand of dot_general and the arrays it reads.
static bool feeds_dot(const fuser *f, const hlo_instr *p) {
  for (int u = 0; u < p->n_uses; u++) {
    const hlo_instr *user = p->uses[u].user;
    if (!in_group(f, user)) continue;
    if (user->op == HLO_OP_DOT_GENERAL) return true;
    if (is_window(user) && p->shape->rank > 0 && !is_claimed(f, user) && feeds_dot(f, user)) return true;
  }
  return false;
}

static bool accept(fuser *f, hlo_instr *p, member *m) {
  *m = (member){.i = p};
  if (!is_loop_op(f, p) || is_claimed(f, p) || f->n_members >= FUSION_MAX_MEMBERS || reads_updated(f, p)) return false;
  bool elsewhere = p == f->c->root;
  for (int u = 0; u < p->n_uses; u++) {
    hlo_use use = p->uses[u];
    if (!in_group(f, use.user))
      elsewhere = true;
    else if (!slot_is_open(f, use.user, use.operand))
      return false;
  }
  if (f->region && f->region->hero->op == HLO_OP_DOT_GENERAL && feeds_dot(f, p) && !is_window(p)) return false;
  if (!find_indices(f, m) || breaks_rows(f, p)) return false;
  if (p->op == HLO_OP_CONCATENATE && (p->n_operands > 8 || m->n > 1)) return false;
  if (f->copies + m->n > FUSION_MAX_COPIES || f->weight + m->n * fusion_weight(p) > FUSION_MAX_WEIGHT) return false;
  bool shared_user = shared_by_user(f, p);
  m->shared = elsewhere || shared_user;
  if (p == f->c->root && !is_free(p)) return false;
  if (m->shared && !worth_duplicating(f, p, m, shared_user)) return false;
  return fits_target(f, p) && !repeats_too_much(f, p, m);
}

// --- groups --------------------------------------------------------------------------------------

static void add_candidates(fuser *f, hlo_instr *i) {
  for (int o = 0; o < i->n_operands; o++) {
    hlo_instr *x = i->operands[o];
    if (!known(f, x) || in_group(f, x) || f->seen_in[x->id] == f->group) continue;
    f->seen_in[x->id] = f->group;
    vec_push(f->scratch, &f->candidates, x);
  }
}

static void add_member(fuser *f, const member *m) {
  int at = f->n_members++;
  for (; at > 0 && f->members[at - 1].i->scratch < m->i->scratch; at--) f->members[at] = f->members[at - 1];
  f->members[at] = *m;
  f->group_of[m->i->id] = f->group;
  f->copies += m->n;
  f->weight += m->n * fusion_weight(m->i);
  if (m->shared) f->duplicated += fusion_weight(m->i);
}

static hlo_instr *next_candidate(fuser *f) {
  int best = -1;
  for (int n = 0; n < f->candidates.len; n++)
    if (best < 0 || f->candidates.data[n]->scratch > f->candidates.data[best]->scratch) best = n;
  if (best < 0) return NULL;
  hlo_instr *i = f->candidates.data[best];
  f->candidates.data[best] = vec_last(&f->candidates);
  f->candidates.len--;
  return i;
}

static void start_group(fuser *f, hlo_instr *root) {
  f->group++;
  f->root = root;
  f->region = ptrmap_get(&f->regions, root);
  f->n_members = f->duplicated = f->weight = f->copies = 0;
  f->extra = 0;
  f->candidates.len = 0;
  member m = {.i = root, .n = 1, .index = {1}, .volume = {(double)fusion_elements(root->shape)}};
  add_member(f, &m);
  for (int n = f->region ? f->region->members.len - 1 : -1; n >= 0; n--) {
    m = (member){.i = f->region->members.data[n]};
    if (m.i == root) continue;
    find_indices(f, &m);
    if (m.n > MAX_INDICES) m.n = MAX_INDICES;
    add_member(f, &m);
  }
  for (int n = 0; n < f->n_members; n++) add_candidates(f, f->members[n].i);
}

// Reshapes of what is not in the group are free outside it, and only cost index arithmetic inside.
static void drop_leaf_reshapes(fuser *f) {
  for (int n = f->n_members - 1; n >= 0; n--) {
    hlo_instr *i = f->members[n].i;
    if (i == f->root || !fusion_is_reshape(i) || in_group(f, i->operands[0]) || is_claimed(f, i)) continue;
    f->group_of[i->id] = 0;
    memmove(f->members + n, f->members + n + 1, sizeof *f->members * (size_t)(f->n_members - n - 1));
    f->n_members--;
  }
}

static hlo_fusion_kind kind_of(const fuser *f) {
  if (n_updated(f->root)) return HLO_FUSION_KIND_IN_PLACE;
  if (!f->region) return HLO_FUSION_KIND_LOOP;
  return f->region->hero->op == HLO_OP_REDUCE ? HLO_FUSION_KIND_INPUT : HLO_FUSION_KIND_OUTPUT;
}

static void make_fusion(fuser *f) {
  hlo_instr **members = ARENA_ARRAY(f->scratch, hlo_instr *, f->n_members);
  for (int n = 0; n < f->n_members; n++) members[n] = f->members[f->n_members - 1 - n].i;
  fusion_spec spec = {.members = members, .n = f->n_members, .root = f->root, .kind = kind_of(f)};
  bitset retyped = bitset_create(f->scratch, f->n_ids);
  if (f->region && f->region->reshaped) {
    spec.dims = f->region->hero->shape;
    spec.retyped = &retyped;
    for (int n = 0; n < f->region->members.len; n++) bitset_set(&retyped, f->region->members.data[n]->id);
  }
  hlo_instr *fusion = fusion_create(f->scratch, &spec, f->root), *result = fusion;
  fusion->scratch = f->root->scratch;
  if (fusion->shape != f->root->shape) {
    hlo_builder b = hlo_builder_before(f->root);
    result = hlo_build(&b, HLO_OP_BITCAST, f->root->shape, 1, &fusion, 0, NULL, NULL);
    result->scratch = f->root->scratch;
  }
  hlo_instr_replace_uses(f->root, result);
  hlo_instr_remove(f->root);
}

// An operand that the root updates must not be anything else to it.
static bool updates_cleanly(const hlo_instr *root) {
  for (int t = 0; t < n_updated(root); t++)
    for (int o = 0; o < root->n_operands; o++)
      if (o != t && through_reshapes(root->operands[o]) == through_reshapes(root->operands[t])) return false;
  return true;
}

static bool fuse_at(fuser *f, hlo_instr *root) {
  bool is_root = ptrmap_get(&f->regions, root) || (takes_producers(f, root) && !is_claimed(f, root));
  if (!is_root || hlo_is_constant(root) || !updates_cleanly(root) || !fusion_fits(f->ctx, root)) return false;
  start_group(f, root);
  if (f->region && !fusion_fits(f->ctx, f->region->hero)) return false;
  for (hlo_instr *p; (p = next_candidate(f));) {
    member m;
    if (!accept(f, p, &m)) continue;
    add_member(f, &m);
    add_candidates(f, p);
  }
  drop_leaf_reshapes(f);
  if (f->n_members < 2 || !hlo_opt_allowed(f->ctx)) return false;
  make_fusion(f);
  return true;
}

static bool fuse_computation(hlo_pass_ctx *ctx, hlo_computation *c) {
  fuser f = {.ctx = ctx, .scratch = ctx->scratch, .c = c, .n_ids = c->module->next_id};
  f.region_of = ARENA_ARRAY(f.scratch, region *, f.n_ids + 1);
  f.group_of = ARENA_ARRAY(f.scratch, int32_t, f.n_ids + 1);
  f.seen_in = ARENA_ARRAY(f.scratch, int32_t, f.n_ids + 1);
  f.counted = ARENA_ARRAY(f.scratch, int32_t, f.n_ids + 1);
  f.members = ARENA_ARRAY(f.scratch, member, FUSION_MAX_MEMBERS + MAX_EPILOGUE + 2);
  int64_t position = 0;
  HLO_FOR_EACH (i, c) i->scratch = position++;
  HLO_FOR_EACH (i, c)
    if (fusion_is_hero(i) && i->op != HLO_OP_REDUCE) grow_region(&f, i);
  HLO_FOR_EACH (i, c)
    if (i->op == HLO_OP_REDUCE && fusion_is_hero(i)) grow_region(&f, i);
  bool changed = false;
  for (hlo_instr *i = c->last, *prev; i; i = prev) {
    prev = i->prev;
    if (hlo_opt_is_removable(i)) {
      hlo_instr_remove(i);
      changed = true;
    } else {
      changed |= fuse_at(&f, i);
    }
  }
  return changed;
}

lemnos_status hlo_opt_instruction_fusion(hlo_pass_ctx *ctx, hlo_module *m, bool *changed) {
  fusion_computations list = fusion_executed(ctx->scratch, m);
  for (int n = 0; n < list.len; n++) *changed |= fuse_computation(ctx, list.data[n]);
  if (*changed) fusion_order_computations(ctx->scratch, m);
  return LEMNOS_SUCCESS;
}
