// SPDX-License-Identifier: Apache-2.0
// Attributes that say nothing: those that hold their default value.
//
// A portable artifact spells out every attribute, text leaves most defaults out, and some producers write them all the
// same. Removing them on both sides makes one program of them. What is a default is StableHLO's own choice, the one its
// conversion from VHLO makes.
#ifndef FRONTEND_DEFAULTS_H
#define FRONTEND_DEFAULTS_H

#include "frontend/mlir.h"

// True if attribute `name` of operation `op_name` ("stablehlo.compare") has the meaning of an absent one.
// custom_call's operand_layouts and result_layouts are only dropped together: mlir_attrs_drop_defaults sees to that.
bool mlir_attr_is_default(strv op_name, strv name, const mlir_attr *value);
// Drops such attributes from `attrs`, and returns how many are left.
int mlir_attrs_drop_defaults(strv op_name, mlir_named_attr *attrs, int n);
// The same for every operation of a module.
void mlir_module_drop_defaults(mlir_module *m);

#endif
