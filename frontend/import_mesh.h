// SPDX-License-Identifier: Apache-2.0
// Private to import*.c: meshes, and where the parts of a tensor lie on a mesh's devices.
//
// A placement says for every device which part of each dimension it holds: a coordinate below counts[d]. Devices whose
// `rest` differs have nothing to do with each other (axes that the placement does not use, or that are not manual);
// those that have equal coordinates and equal rest do not exist. It is made from sdy.sharding or from mhlo.sharding.
#ifndef FRONTEND_IMPORT_MESH_H
#define FRONTEND_IMPORT_MESH_H

#include "frontend/import_internal.h"

enum { IMPORT_MESH_AXES = 64, IMPORT_MAX_DEVICES = 1 << 20, IMPORT_MAX_GRID = 1024 };

typedef struct import_mesh {
  struct {
    strv name;
    int64_t size;
  } axes[IMPORT_MESH_AXES];
  int n;
  int64_t devices;
  hlo_i64s ids;  // empty: 0, 1, ... by position, row-major by the axes
} import_mesh;

typedef struct import_placement {
  int32_t n_devices, rank;
  int64_t *counts;  // rank + 1; the last one counts the addends of an unreduced tensor
  int64_t *coords;  // per device, rank + 1
  int64_t *rest;    // per device
} import_placement;

typedef VEC(strv) import_names;

// A mesh by its text (#sdy.mesh<["x"=2], device_ids=[..]>), as a struct or dictionary, or by symbol.
bool import_mesh_read(import_ctx *c, const mlir_attr *a, import_mesh *out);
// The operation sdy.mesh of that name, or the module's frontend attribute xla.sdy.meshes; false if there is none. out
// may be NULL.
bool import_mesh_find(import_ctx *c, strv symbol, import_mesh *out);
int import_mesh_axis(const import_mesh *m, strv name);  // -1: none

// The shardings of #sdy.sharding_per_value<[<...>, ...]> or of one #sdy.sharding<...>, each as its text between < and
// >.
bool import_shardings(import_ctx *c, strv text, import_names *out);
// {"x", "y"}
bool import_axis_names(import_ctx *c, strv text, import_names *out);
strv import_unescaped(import_ctx *c, strv text);  // without backslashes
// A sharding's mesh.
bool import_sharding_mesh(import_ctx *c, strv text, import_mesh *out);
// Where a sharding puts a tensor of that rank, as far as the axes in `manual` say. False: malformed, *why says how.
bool import_sharding_placement(import_ctx *c, strv text, const import_names *manual, int rank, import_placement *out,
                               const char **why);
// The same of XLA's own notation ({devices=[2,1]<=[2]}) for n_devices. Replicated if it says nothing about places.
bool import_xla_placement(import_ctx *c, strv text, int n_devices, int rank, import_placement *out, const char **why);

#endif
