#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs for eight devices, made with JAX, run by Lemnos in one process and compared with JAX's own results.

    parallel.py LEMNOS [--device ID]... [--only TEXT] [--keep FOLDER]

Each case is a function of global arrays: shard_map over one or two mesh axes with collectives inside, pmap, jit with
shardings. JAX runs it on eight host devices; Lemnos runs the lowered module's text and its portable artifact (some also
as GSPMD marks instead of Shardy). The programs for several devices in LEMNOS_SHARED/pjrt/programs that have no stored
outputs are compiled by jaxlib for that many devices and compared likewise. Integers, booleans and what only moves data
must agree bit for bit, other floats within a few roundings. Needs jax; without it the test is skipped (77).
"""
import argparse
import functools
import json
import os
import re
import sys
import tempfile

from xla_dumps import has_cpu, integers, jax, jnp, lax, ml_dtypes, normal, np, run, stored  # noqa: E402 (exits 77)

from jax import export  # noqa: E402
from jax._src import compiler, xla_bridge  # noqa: E402
from jax._src.interpreters import mlir  # noqa: E402
from jax._src.sharding_impls import GSPMDSharding  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from jaxlib import _jax  # noqa: E402
from jaxlib.mlir.dialects import stablehlo  # noqa: E402

DEVICES = np.array(jax.devices())
LINE = Mesh(DEVICES, ("i", ))
GRID = Mesh(DEVICES.reshape(2, 4), ("x", "y"))
CUBE = Mesh(DEVICES.reshape(2, 2, 2), ("a", "b", "c"))
MIXED = Mesh(DEVICES[[3, 1, 7, 0, 6, 2, 5, 4]].reshape(2, 4), ("x", "y"))
SHARED = os.environ.get("LEMNOS_SHARED") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "shared")
CASES = []  # (name, function, arguments, whether floats must agree bit for bit, whether GSPMD is tried too)


def add(name, function, *args, exact=False, gspmd=False):
    CASES.append((name, function, [np.asarray(a) for a in args], exact, gspmd))


def mapped(name, body, in_specs, out_specs, *args, mesh=LINE, exact=False, gspmd=False, **more):
    add(name, jax.shard_map(body, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False, **more), *args,
        exact=exact, gspmd=gspmd)


def add_line():
    i, whole = P("i"), P()
    for dtype in (np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.complex64, np.complex128):
        mapped(f"psum_{np.dtype(dtype).name}", lambda x: lax.psum(x, "i"), i, whole, normal(16, 3, dtype=dtype),
               gspmd=dtype == np.float32)
    for dtype in (np.int8, np.uint16, np.int32, np.uint64):
        mapped(f"reduce_{np.dtype(dtype).name}", lambda x: (lax.psum(x, "i"), lax.pmax(x, "i"), lax.pmin(x, "i")), i,
               whole, integers(16, 3, dtype=dtype, low=0, high=100))
    mapped("pmean", lambda x: lax.pmean(x, "i"), i, whole, normal(8, 5))
    mapped("pmax_pmin", lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i")), i, whole, normal(24), exact=True)
    mapped("bool_any", lambda x: lax.psum(x.astype(jnp.int32), "i") > 4, i, whole, normal(8, 6) > 0)
    mapped("gather_tiled", lambda x: lax.all_gather(x, "i", axis=1, tiled=True), i, i, normal(16, 2), exact=True,
           gspmd=True)
    mapped("gather_untiled", lambda x: lax.all_gather(x, "i"), i, i, normal(16, 2), exact=True)
    mapped("gather_bool", lambda x: lax.all_gather(x, "i", tiled=True), i, whole, normal(16, 2) > 0, exact=True)
    mapped("scatter_tiled", lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), i, i, normal(8, 16))
    mapped("scatter_untiled", lambda x: lax.psum_scatter(x, "i", scatter_dimension=1), i, i, normal(16, 8))
    mapped("scatter_i32", lambda x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True), i, i,
           integers(64, 8, low=-9, high=9))
    mapped("rotate", lambda x: lax.ppermute(x, "i", [(k, (k + 3) % 8) for k in range(8)]), i, i, normal(8, 4),
           exact=True, gspmd=True)
    mapped("permute_some", lambda x: lax.ppermute(x, "i", [(0, 1), (1, 5), (7, 0)]), i, i, normal(8, 4), exact=True)
    mapped("pshuffle", lambda x: lax.pshuffle(x, "i", [7, 6, 5, 4, 3, 2, 1, 0]), i, i, integers(8, 2), exact=True)
    mapped("all_to_all_tiled", lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), i, i, normal(16, 8), exact=True)
    mapped("all_to_all_untiled", lambda x: lax.all_to_all(x, "i", 1, 0), i, i, normal(8, 8, 3), exact=True)
    mapped("axis_index", lambda x: x + lax.axis_index("i").astype(jnp.float32), i, i, normal(8, 2), exact=True)
    mapped("groups", lambda x: lax.psum(x, "i", axis_index_groups=[[0, 3, 5, 6], [1, 2, 4, 7]]), i, i, normal(8, 2))
    mapped("group_gather", lambda x: lax.all_gather(x, "i", axis_index_groups=[[4, 0], [1, 3], [2, 7], [6, 5]]), i, i,
           normal(8, 2), exact=True)
    mapped("replicated_operand", lambda x, w: x @ w, (i, whole), i, normal(16, 5), normal(5, 3))
    mapped("last_dimension", lambda x: jnp.flip(x, 1), P(None, "i"), P(None, "i"), normal(3, 24), exact=True)
    mapped("contraction", lambda x, w: lax.psum(x @ w, "i"), (P(None, "i"), i), whole, normal(6, 32), normal(32, 4),
           gspmd=True)
    mapped("several", lambda x, y: (x + 1, lax.psum(y, "i"), x * y), (i, i), (i, whole, i), normal(8, 2), normal(8, 2))


def add_grid():
    xy = P("x", "y")
    mapped("grid_psum", lambda v: (lax.psum(v, "x"), lax.psum(v, "y"), lax.psum(v, ("x", "y"))), xy,
           (P(None, "y"), P("x"), P()), normal(4, 8), mesh=GRID)
    mapped("grid_matmul", lambda v, w: lax.psum(v @ w, "y"), (xy, P("y")), P("x"), normal(8, 16), normal(16, 4),
           mesh=GRID, gspmd=True)
    mapped("grid_transpose", lambda v: v.T, xy, P("y", "x"), normal(4, 12), mesh=GRID, exact=True, gspmd=True)
    mapped("grid_both_axes", lambda v: v * 2, P(("x", "y")), P(("x", "y")), normal(16, 3), mesh=GRID, exact=True)
    mapped("grid_axes_swapped", lambda v: v + lax.axis_index("y").astype(v.dtype), P(("y", "x")), P(("x", "y")),
           normal(16, 3), mesh=GRID, exact=True)
    mapped("grid_axis_index", lambda v: v + 10 * lax.axis_index("x") + lax.axis_index("y"), xy, xy,
           np.zeros((2, 4), np.int32), mesh=GRID, exact=True, gspmd=True)
    mapped("grid_gather_scatter", lambda v: lax.psum_scatter(lax.all_gather(v, "x", tiled=True), "y", tiled=True), xy,
           P(("x", "y")), normal(8, 4), mesh=GRID)
    mapped("grid_all_to_all", lambda v: lax.all_to_all(v, "y", 0, 1, tiled=True), xy, xy, normal(16, 8), mesh=GRID,
           exact=True)
    mapped("grid_joint_gather", lambda v: lax.all_gather(v, ("y", "x"), tiled=True), xy, P(), normal(4, 4), mesh=GRID,
           exact=True)
    mapped("device_order", lambda v: v * 10 + lax.axis_index("y").astype(v.dtype), xy, xy,
           np.arange(32, dtype=np.float32).reshape(4, 8), mesh=MIXED, exact=True, gspmd=True)
    mapped("cube", lambda v: lax.psum(lax.ppermute(v, "b", [(0, 1), (1, 0)]), "c"), P("a", "b", "c"), P("a", "b"),
           normal(4, 4, 4), mesh=CUBE)
    for dtype in (ml_dtypes.bfloat16, np.int16, np.complex64):
        mapped(f"grid_{np.dtype(dtype).name}", lambda v: lax.psum(lax.all_gather(v, "x", tiled=True), "y"), xy, P(),
               normal(4, 8, dtype=dtype) if dtype != np.int16 else integers(4, 8, dtype=dtype, low=-99, high=99),
               mesh=GRID)
    # Only some axes are manual: the body sees the whole along the others.
    mapped("partly_manual", lambda v: lax.psum(v, "x") * v.shape[1], P("x"), P(), normal(4, 8), mesh=GRID,
           axis_names={"x"}, gspmd=True)
    mapped("partly_manual_index", lambda v: v + lax.axis_index("y").astype(v.dtype), P(None, "y"), P(None, "y"),
           normal(4, 8), mesh=GRID, axis_names={"y"}, exact=True)

    def nested(v):
        inner = jax.shard_map(lambda w: w - lax.pmax(w, "y"), in_specs=P(None, "y"), out_specs=P(None, "y"),
                              axis_names={"y"}, check_vma=False)
        return lax.psum(inner(v) * 2, "x")

    mapped("nested", nested, P("x"), P(), normal(4, 8), mesh=GRID, axis_names={"x"}, gspmd=True)


def add_control():
    i = P("i")

    def scan(x):
        around = [(k, (k + 1) % 8) for k in range(8)]
        return lax.scan(lambda c, t: (lax.ppermute(c, "i", around) + t, lax.psum(c, "i")), x,
                        jnp.arange(5, dtype=x.dtype))

    mapped("scan", scan, i, (i, P()), normal(8, 3))
    mapped("loop", lambda x: lax.fori_loop(0, 4, lambda _, c: lax.pmean(c, "i") * 0.5 + c, x), i, i, normal(8, 3))
    mapped("while", lambda x: lax.while_loop(lambda c: lax.pmax(jnp.max(c), "i") < 50, lambda c: c * 2 + 1, x), i, i,
           integers(16, 3, low=0, high=5))
    # The branch differs from device to device; the collective comes after it.
    mapped("branches", lambda x: lax.psum(lax.cond(lax.axis_index("i") % 2 == 0, lambda v: v * 3, lambda v: v - 1, x),
                                          "i"), i, P(), normal(8, 3))
    mapped("inner_jit", lambda x: jax.jit(lambda v: lax.psum(jnp.sin(v), "i"))(x) + jax.jit(jnp.cos)(x), i, i,
           normal(8, 3))
    mapped("grad", jax.grad(lambda x: jnp.sum(lax.psum(x * x, "i") * x)), i, i, normal(8, 3))
    mapped("sort_rows", lambda x: jnp.sort(lax.all_gather(x, "i", tiled=True), 0), i, P(), normal(16, 2), exact=True)

    def around(x, w):
        body = jax.shard_map(lambda a, b: lax.psum(a @ b, "y"), mesh=GRID, in_specs=(P("x", "y"), P("y")),
                             out_specs=P("x"), check_vma=False)
        y = jnp.tanh(body(x, w))
        return jnp.sum(body(jnp.concatenate([y, y], 1) @ jnp.ones((8, 16), y.dtype), w), 1)

    add("around", around, normal(8, 16), normal(16, 4))

    def in_scan(x):
        step = jax.shard_map(lambda a: a - lax.pmean(a, "i"), mesh=LINE, in_specs=P("i"), out_specs=P("i"),
                             check_vma=False)
        return lax.scan(lambda c, _: (step(c) * 1.5, jnp.max(c)), x, None, length=4)

    add("in_scan", in_scan, normal(16, 2))
    add("vmap", jax.vmap(
        jax.shard_map(lambda a: lax.psum(a, "i"), mesh=LINE, in_specs=i, out_specs=P(), check_vma=False)), normal(3, 8))
    add("nothing_manual", lambda x: lax.with_sharding_constraint(x @ x.T, NamedSharding(GRID, P("x", "y"))),
        normal(8, 4), gspmd=True)
    sharded = functools.partial(jax.jit, in_shardings=NamedSharding(GRID, P("x")),
                                out_shardings=NamedSharding(GRID, P(None, "y")))
    add("jit_shardings", sharded(lambda x: jnp.cumsum(x, 0) * 2), normal(8, 4), gspmd=True)
    add("pmap", jax.pmap(lambda x: lax.psum(x, "p") - x, axis_name="p"), normal(8, 3))
    add("pmap_index", jax.pmap(lambda x: x * lax.axis_index("p"), axis_name="p"), integers(8, 3))


def modules(function, args, gspmd):
    """(what, file name, bytes) of the forms in which Lemnos gets the program."""
    jitted = function if hasattr(function, "lower") else jax.jit(function)
    yield "text", "program.mlir", jitted.lower(*args).as_text().encode()
    try:
        yield "artifact", "program.mlir.bc", export.export(jitted)(*args).mlir_module_serialized
    except (ValueError, TypeError) as error:  # pmap is not exported
        if "pmap" not in str(error) and "jit" not in str(error):
            raise
    if not gspmd:
        return
    jax.config.update("jax_use_shardy_partitioner", False)
    try:
        jax.clear_caches()
        yield "GSPMD text", "gspmd.mlir", jax.jit(function).lower(*args).as_text().encode()
    finally:
        jax.config.update("jax_use_shardy_partitioner", True)
        jax.clear_caches()


def random_argument(text):
    """A value of a type like tensor<2x3xbf16>."""
    dims, element = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", text).groups()
    shape = [int(d) for d in dims.split("x") if d]
    if element == "i1":
        return np.asarray(normal(*shape) > 0)
    if element.startswith(("i", "ui")):
        return np.asarray(integers(*shape, dtype=element.replace("ui", "uint").replace("i", "int", element[0] == "i"),
                                   low=0, high=99))
    names = {"f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "complex<f32>": np.complex64}
    return np.asarray(normal(*shape, dtype=names[element]))


def run_artifact(data, n_devices, args, result_types):
    """The results of an artifact that jaxlib compiles for n_devices."""
    compile_options = compiler.get_compile_options(num_replicas=1, num_partitions=n_devices,
                                                   device_assignment=np.arange(n_devices).reshape(1, n_devices))
    build = compile_options.executable_build_options
    build.use_spmd_partitioning = True
    context = mlir.make_ir_context()
    module = stablehlo.deserialize_portable_artifact(context, data)
    build.use_shardy_partitioner = b"sdy" in data
    devices = _jax.DeviceList(tuple(jax.devices()[:n_devices]))
    executable = xla_bridge.get_backend("cpu").compile_and_load(module, executable_devices=devices,
                                                                compile_options=compile_options)
    given = [
        jax.device_put(a, GSPMDSharding(tuple(devices), s))
        for a, s in zip(args, executable.get_parameter_shardings() or [])
    ]
    results = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    whole = []
    for parts, sharding, text in zip(results, executable.get_output_shardings(), result_types):
        shape = tuple(int(d) for d in re.findall(r"(\d+)x", text))
        if "unreduced" in str(sharding).lower():
            # Every device has an addend.
            assert parts[0].shape == shape, sharding
            whole.append(np.sum([np.asarray(part) for part in parts], 0, dtype=parts[0].dtype))
            continue
        tiles = GSPMDSharding(tuple(devices), sharding)
        whole.append(np.asarray(jax.make_array_from_single_device_arrays(shape, tiles, parts)))
    return whole


def stored_programs(folder):
    """(name, path, bytes, number of devices, types of arguments, of results) of programs without stored outputs."""
    index = os.path.join(folder, "index.json")
    if not os.path.exists(index):
        print(f"parallel: {index} is not there: the stored programs are left out")
        return
    with open(index, encoding="utf-8") as file:
        programs = json.load(file)["programs"]
    for p in programs:
        if p["num_partitions"] > 1 and not p.get("npz"):
            path = os.path.join(folder, p["file"])
            with open(path, "rb") as file:
                yield p["file"], path, file.read(), p["num_partitions"], p["args"], p["results"]


def compare(lemnos, devices, name, module, folder, expected, exact, counts):
    for device in devices:
        verdict, reason = run(lemnos, device, module, folder, expected, exact, 1)
        counts[verdict] += 1
        if verdict != "passed":
            print(f"{name} on {device}: {verdict}: {reason}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lemnos")
    parser.add_argument("--device", action="append", help="default: interp, and cpu where there is one")
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--keep", help="keep programs and arrays in this folder")
    options = parser.parse_args()
    for group in (add_line, add_grid, add_control):
        group()
    devices = options.device or ["interp"] + ["cpu"] * has_cpu(options.lemnos)
    counts = {"passed": 0, "FAILED": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for name, function, args, exact, gspmd in CASES:
            if options.only not in name:
                continue
            folder = os.path.join(options.keep or scratch, name)
            os.makedirs(folder, exist_ok=True)
            jitted = function if hasattr(function, "lower") else jax.jit(function)
            expected = [np.asarray(r) for r in jax.tree.leaves(jitted(*args))]
            np.savez(os.path.join(folder, "in.npz"), **{f"arg{k}": stored(a) for k, a in enumerate(args)})
            for what, file_name, data in modules(function, args, gspmd):
                module = os.path.join(folder, file_name)
                with open(module, "wb") as file:
                    file.write(data)
                compare(options.lemnos, devices, f"{name} ({what})", module, folder, expected, exact, counts)
        programs = stored_programs(os.path.join(SHARED, "pjrt", "programs"))
        for name, path, data, n_devices, types, result_types in programs:
            if options.only not in name:
                continue
            folder = os.path.join(options.keep or scratch, name)
            os.makedirs(folder, exist_ok=True)
            args = [random_argument(t) for t in types]
            if args:
                np.savez(os.path.join(folder, "in.npz"), **{f"arg{k}": stored(a) for k, a in enumerate(args)})
            try:
                expected = run_artifact(data, n_devices, args, result_types)
            except jax.errors.JaxRuntimeError as error:
                counts["skipped"] += len(devices)
                print(f"{name}: skipped: jaxlib: {' '.join(str(error).split())[:300]}", flush=True)
                continue
            compare(options.lemnos, devices, name, path, folder, expected, False, counts)
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
