// SPDX-License-Identifier: Apache-2.0
// Structural equality of modules, for tests and for checking that text round trips. Shapes of two modules are interned
// in two tables; each shape of b is looked up in a's once per instruction, after which equality is pointer equality.
#include "hlo/hlo.h"

static bool differ(const char **why, const char *text) {
  if (why) *why = text;
  return false;
}

static bool instr_equal(hlo_shape_table *shapes, const hlo_instr *a, const hlo_instr *b, const char **why) {
  if (a->op != b->op) return differ(why, "operation");
  if (!strv_eq(a->name, b->name)) return differ(why, "name of an instruction");
  if (a->shape != hlo_shape_intern(shapes, b->shape)) return differ(why, "shape");
  if (a->n_operands != b->n_operands) return differ(why, "number of operands");
  for (int k = 0; k < a->n_operands; k++)
    if (!strv_eq(a->operands[k]->name, b->operands[k]->name)) return differ(why, "operand");
  if (a->n_called != b->n_called) return differ(why, "number of called computations");
  for (int k = 0; k < a->n_called; k++)
    if (!strv_eq(a->called[k]->name, b->called[k]->name)) return differ(why, "called computation");
  if (!hlo_attrs_equal((hlo_attr_list)hlo_op_table[a->op].attrs, a->attrs, b->attrs)) return differ(why, "attributes");
  return true;
}

static bool computation_equal(hlo_shape_table *shapes, const hlo_computation *a, const hlo_computation *b,
                              const char **why) {
  if (!strv_eq(a->name, b->name)) return differ(why, "name of a computation");
  if (a->n_params != b->n_params) return differ(why, "number of parameters");
  const hlo_instr *x = a->first, *y = b->first;
  for (; x && y; x = x->next, y = y->next) {
    if (!instr_equal(shapes, x, y, why)) return false;
    if ((x == a->root) != (y == b->root)) return differ(why, "root");
  }
  return x || y ? differ(why, "number of instructions") : true;
}

static bool donations_equal(const hlo_module *a, const hlo_module *b) {
  int n = a->entry ? a->entry->n_params : 0;
  for (int k = 0; k < n; k++)
    if ((a->param_donated && a->param_donated[k]) != (b->param_donated && b->param_donated[k])) return false;
  return true;
}

bool hlo_module_equal(const hlo_module *a, const hlo_module *b, const char **why) {
  if (!strv_eq(a->name, b->name)) return differ(why, "name of the module");
  if (a->n_computations != b->n_computations) return differ(why, "number of computations");
  for (int k = 0; k < a->n_computations; k++) {
    if (!computation_equal(a->shapes, a->computations[k], b->computations[k], why)) return false;
    if ((a->computations[k] == a->entry) != (b->computations[k] == b->entry)) return differ(why, "entry");
  }
  if (a->n_aliases != b->n_aliases) return differ(why, "number of aliases");
  for (int k = 0; k < a->n_aliases; k++)
    if (a->aliases[k].result != b->aliases[k].result || a->aliases[k].param != b->aliases[k].param)
      return differ(why, "alias");
  if (!donations_equal(a, b)) return differ(why, "donated parameter");
  if (a->n_replicas != b->n_replicas || a->n_partitions != b->n_partitions)
    return differ(why, "replicas or partitions");
  return true;
}
