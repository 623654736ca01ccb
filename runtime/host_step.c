// SPDX-License-Identifier: Apache-2.0
// Host steps: one instruction that a device cannot run, wrapped as a module of its own for the interpreter.
#include "runtime/internal.h"

hlo_module *host_step_module(arena *a, const hlo_instr *i) {
  hlo_module *m = hlo_module_create(a, i->name);
  hlo_computation *entry = hlo_computation_create(m, STRV("main"));
  m->entry = entry;
  hlo_instr **operands = ARENA_ARRAY(a, hlo_instr *, i->n_operands + 1);
  for (int o = 0; o < i->n_operands; o++) {
    // Shapes are interned per module: intern the operand's in the new one.
    const hlo_shape *shape = hlo_shape_intern(m->shapes, i->operands[o]->shape);
    hlo_attrs_parameter *attrs = hlo_attrs_create(a, HLO_ATTR_LIST_parameter);
    attrs->number = o;
    operands[o] = hlo_instr_create(entry, NULL, HLO_OP_PARAMETER, shape, 0, NULL, 0, NULL, attrs, i->loc, STRV("p"));
  }
  hlo_computation **called = ARENA_ARRAY(a, hlo_computation *, i->n_called + 1);
  for (int c = 0; c < i->n_called; c++) called[c] = hlo_computation_clone(i->called[c], m);
  void *attrs = i->attrs ? hlo_attrs_clone(a, hlo_op_table[i->op].attrs, i->attrs) : NULL;
  entry->root = hlo_instr_create(entry, NULL, i->op, hlo_shape_intern(m->shapes, i->shape), i->n_operands, operands,
                                 i->n_called, called, attrs, i->loc, i->name);
  return m;
}
