#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""StableHLO programs whose sizes are decided by data, so that no refinement makes them static, against NumPy.

    dynamic_programs.py LIBLEMNOS_SO [--list] [--only TEXT] [--device ID]...

Each program is a body of StableHLO text with its arguments, result types and what NumPy gives for the same arguments; it
runs on the interpreter and the CPU device (which leaves it to the interpreter) several times, with other sizes. The
prefix() of an array, x[:n] with n an argument, makes most of them dynamic. Needs NumPy and ml_dtypes; without them the
test is skipped (77).
"""
import argparse
import os
import sys

import lemnos_library

try:
    import ml_dtypes  # noqa: F401, what lemnos_library needs
    import numpy as np
except ImportError as error:
    print(f"dynamic_programs: skipped: {error}")
    sys.exit(77)

CASES = []  # (name, parameters, result types, body, runs of arguments, NumPy function)
F = np.float32


def ints(*values):
    return np.array(values, np.int32)


def floats(*shape):
    """The same small numbers for the same shape: sums of them are exact."""
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 11 - 5).astype(F).reshape(shape)


def add(name, parameters, results, body, runs, function):
    CASES.append((name, parameters, results, body, runs, function))


def prefix(out, x, n, of="8xf32", to="?xf32"):
    """Text: out = the first n of x along its first dimension; n is a tensor of a start index for every dimension."""
    rank = of.count("x")
    zero = f"%{out}_0 = stablehlo.constant dense<0> : tensor<{rank}xi32>"
    one = f"%{out}_1 = stablehlo.constant dense<1> : tensor<{rank}xi32>"
    return (f"{zero}\n{one}\n%{out} = stablehlo.real_dynamic_slice %{x}, %{out}_0, %{n}, %{out}_1 : (tensor<{of}>, "
            f"tensor<{rank}xi32>, tensor<{rank}xi32>, tensor<{rank}xi32>) -> tensor<{to}>\n")


X = "%x: tensor<8xf32>, %n: tensor<1xi32>"
SIZES = [(floats(8), ints(k)) for k in (0, 1, 5, 8)]
SOME = SIZES[1:]
M = "%x: tensor<5x3xf32>, %n: tensor<2xi32>"
ROWS = [(floats(5, 3), ints(k, 3)) for k in (1, 4, 5)]


def rows(out):
    return prefix(out, "x", "n", "5x3xf32", "?x3xf32")


def add_sizes():
    add(
        "slice", "%x: tensor<8xf32>, %s: tensor<1xi32>, %l: tensor<1xi32>, %t: tensor<1xi32>", "tensor<?xf32>",
        "%r = stablehlo.real_dynamic_slice %x, %s, %l, %t : (tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
        [(floats(8), ints(a), ints(b), ints(c)) for a, b, c in ((0, 8, 1), (1, 7, 2), (3, 3, 1), (2, 8, 3))],
        lambda x, s, l, t: x[s[0]:l[0]:t[0]])
    add(
        "slice_of_size", "%x: tensor<8xf32>, %s: tensor<1xi32>", "tensor<?xf32>",
        "%n = stablehlo.constant dense<3> : tensor<1xi32>\n%t = stablehlo.constant dense<1> : tensor<1xi32>\n"
        "%l = stablehlo.add %s, %n : tensor<1xi32>\n%r = stablehlo.real_dynamic_slice %x, %s, %l, %t : "
        "(tensor<8xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
        [(floats(8), ints(k)) for k in (0, 2, 5)], lambda x, s: x[s[0]:s[0] + 3])
    add(
        "slice_2d", "%x: tensor<4x5xf32>, %s: tensor<2xi64>, %l: tensor<2xi64>", "tensor<?x?xf32>",
        "%t = stablehlo.constant dense<1> : tensor<2xi64>\n"
        "%r = stablehlo.real_dynamic_slice %x, %s, %l, %t : (tensor<4x5xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>",
        [(floats(4, 5), np.array(a), np.array(b)) for a, b in (((0, 0), (4, 5)), ((1, 2), (3, 3)), ((2, 0), (2, 5)))],
        lambda x, s, l: x[s[0]:l[0], s[1]:l[1]])
    add("reshape", "%x: tensor<12xf32>, %s: tensor<2xi32>", "tensor<?x?xf32>",
        "%r = stablehlo.dynamic_reshape %x, %s : (tensor<12xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
        [(floats(12), ints(*s)) for s in ((3, 4), (12, 1), (2, 6))], lambda x, s: x.reshape(s))
    add(
        "reshape_of_count", X, "tensor<?x1xf32>",
        prefix("y", "x", "n") + "%one = stablehlo.constant dense<1> : tensor<1xi32>\n"
        "%s = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>\n%t = stablehlo.reshape %s : (tensor<i32>) -> tensor<1xi32>\n"
        "%u = stablehlo.concatenate %t, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>\n"
        "%r = stablehlo.dynamic_reshape %y, %u : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x1xf32>", SIZES,
        lambda x, n: x[:n[0], None])
    add("iota", "%s: tensor<2xi32>", "tensor<?x?xi32>",
        "%r = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>",
        [(ints(*s),) for s in ((2, 5), (1, 1), (3, 0))], lambda s: np.broadcast_to(np.arange(s[1], dtype=np.int32), s))
    add(
        "iota_of_count", "%m: tensor<6xi1>", "tensor<?xf32>",
        "%z = stablehlo.constant dense<0> : tensor<i32>\n%c = stablehlo.convert %m : (tensor<6xi1>) -> tensor<6xi32>\n"
        "%k = stablehlo.reduce(%c init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6xi32>, tensor<i32>) -> tensor<i32>\n"
        "%s = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>\n%r = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>",
        [(np.array(m, bool),) for m in ([1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6)], lambda m: np.arange(m.sum(), dtype=F))
    add(
        "broadcast", "%x: tensor<3xf32>, %s: tensor<2xi32>", "tensor<?x?xf32>",
        "%r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x?xf32>",
        [(floats(3), ints(*s)) for s in ((2, 3), (5, 3), (0, 3))], lambda x, s: np.broadcast_to(x, s))
    add(
        "broadcast_one", "%x: tensor<1x3xf32>, %s: tensor<2xi64>", "tensor<?x?xf32>",
        "%r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0, 1] : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>",
        [(floats(1, 3), np.array(s)) for s in ((4, 3), (1, 3))], lambda x, s: np.broadcast_to(x, s))
    add(
        "pad", "%x: tensor<4xf32>, %l: tensor<1xi32>, %h: tensor<1xi32>, %i: tensor<1xi32>", "tensor<?xf32>",
        "%z = stablehlo.constant dense<9.0> : tensor<f32>\n%r = stablehlo.dynamic_pad %x, %z, %l, %h, %i : (tensor<4xf32>, tensor<f32>, "
        "tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
        [(floats(4), ints(a), ints(b), ints(c)) for a, b, c in ((1, 2, 0), (0, 0, 1), (-1, 2, 2), (-2, -2, 0))], pad)
    add(
        "gather", "%x: tensor<6x4xf32>, %i: tensor<3xi32>, %s: tensor<2xi32>", "tensor<3x?xf32>",
        "%r = \"stablehlo.dynamic_gather\"(%x, %i, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
        "start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false} : (tensor<6x4xf32>, tensor<3xi32>, tensor<2xi32>) -> tensor<3x?xf32>",
        [(floats(6, 4), ints(5, 0, 2), ints(1, k)) for k in (1, 3, 4)], lambda x, i, s: x[i, :s[1]])
    add(
        "conv", "%x: tensor<1x5x1xf32>, %k: tensor<3x1x1xf32>, %p: tensor<1x2xi32>", "tensor<1x?x1xf32>",
        "%r = \"stablehlo.dynamic_conv\"(%x, %k, %p) {window_strides = array<i64: 1>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, "
        "feature_group_count = 1 : i64, batch_group_count = 1 : i64} : (tensor<1x5x1xf32>, tensor<3x1x1xf32>, tensor<1x2xi32>) -> tensor<1x?x1xf32>",
        [(floats(1, 5, 1), floats(3, 1, 1), ints(*p).reshape(1, 2)) for p in ((0, 0), (1, 1), (2, 0), (-1, 3))], lambda
        x, k, p: np.correlate(np.pad(x[0, max(0, -p[0, 0]):, 0], np.maximum(p[0], 0)), k[:, 0, 0])[None, :, None])
    add(
        "set_size", "%x: tensor<6xf32>, %n: tensor<i32>", "tensor<f32>, tensor<i32>",
        "%y = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<6>>\n"
        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "%r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : (tensor<?xf32, #stablehlo.bounds<6>>, tensor<f32>) -> tensor<f32>\n"
        "%s = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32, #stablehlo.bounds<6>>) -> tensor<i32>",
        [(floats(6), np.int32(k)) for k in (0, 2, 6)], lambda x, n: (x[:n].sum(dtype=F), n))
    CASES[-1] = CASES[-1] + ("%r, %s",)
    add(
        "set_size_sort", "%x: tensor<6xf32>, %n: tensor<i32>", "tensor<?xf32, #stablehlo.bounds<6>>",
        "%y = stablehlo.set_dimension_size %x, %n, dim = 0 : (tensor<6xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<6>>\n"
        "%r = \"stablehlo.sort\"(%y) ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n}) {dimension = 0 : i64} : (tensor<?xf32, #stablehlo.bounds<6>>) -> tensor<?xf32, #stablehlo.bounds<6>>",
        [(floats(6), np.int32(k)) for k in (1, 4, 6)], lambda x, n: np.sort(x[:n]))


def pad(x, low, high, interior):
    low, high, interior = int(low[0]), int(high[0]), int(interior[0])
    spread = np.full((len(x) - 1) * (interior + 1) + 1, F(9))
    spread[::interior + 1] = x
    spread = np.concatenate([np.full(max(low, 0), F(9)), spread, np.full(max(high, 0), F(9))])
    return spread[max(0, -low):len(spread) - max(0, -high)]


def add_operations():
    d = "tensor<?xf32>"
    for name, text, function in (
        ("add", f"%r = stablehlo.add %y, %y : {d}", lambda y: y + y),
        ("negate", f"%r = stablehlo.negate %y : {d}", lambda y: -y),
        ("compare", f"%r = stablehlo.compare GT, %y, %y : ({d}, {d}) -> tensor<?xi1>", lambda y: y > y),
        ("convert", f"%r = stablehlo.convert %y : ({d}) -> tensor<?xi32>", lambda y: y.astype(np.int32)),
        ("reverse", f"%r = stablehlo.reverse %y, dims = [0] : {d}", lambda y: y[::-1]),
        ("concatenate", f"%r = stablehlo.concatenate %y, %x, %y, dim = 0 : ({d}, tensor<8xf32>, {d}) -> {d}", None),
        ("pad_static",
         f"%z = stablehlo.constant dense<1.0> : tensor<f32>\n%r = stablehlo.pad %y, %z, low = [1], high = [2], interior = [0] : ({d}, tensor<f32>) -> {d}",
         lambda y: np.pad(y, (1, 2), constant_values=F(1))),
        ("clamp",
         f"%a = stablehlo.constant dense<-1.0> : tensor<f32>\n%b = stablehlo.constant dense<2.0> : tensor<f32>\n"
         f"%r = stablehlo.clamp %a, %y, %b : (tensor<f32>, {d}, tensor<f32>) -> {d}", lambda y: np.clip(y, -1, 2)),
        ("sum",
         f"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : ({d}, tensor<f32>) -> tensor<f32>",
         lambda y: y.sum(dtype=F)),
        ("dot", f"%r = stablehlo.dot_general %y, %y, contracting_dims = [0] x [0] : ({d}, {d}) -> tensor<f32>",
         lambda y: (y * y).sum(dtype=F)),
        ("outer", f"%r = stablehlo.dot_general %y, %y, contracting_dims = [] x [] : ({d}, {d}) -> tensor<?x?xf32>",
         lambda y: np.outer(y, y) + F(0)),  # sums start at +0
        ("window",
         f"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%r = \"stablehlo.reduce_window\"(%y, %z) ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n"
         "%c = stablehlo.add %a, %b : tensor<f32>\nstablehlo.return %c : tensor<f32>\n}) {window_dimensions = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} "
         f": ({d}, tensor<f32>) -> {d}",
         lambda y: np.array([y[max(0, i - 2):i + 1].sum(dtype=F) for i in range(len(y))], F)),
        ("map_bits", f"%r = stablehlo.bitcast_convert %y : ({d}) -> tensor<?xi32>", lambda y: y.view(np.int32))):
        result = {
            "compare": "tensor<?xi1>",
            "convert": "tensor<?xi32>",
            "map_bits": "tensor<?xi32>",
            "sum": "tensor<f32>",
            "dot": "tensor<f32>",
            "outer": "tensor<?x?xf32>"
        }
        call = function and (lambda x, n, f=function: f(x[:n[0]]))
        add("prefix_" + name, X, result.get(name, d),
            prefix("y", "x", "n") + text, SIZES if name not in ("map_bits",) else SOME, call or
            (lambda x, n: np.concatenate([x[:n[0]], x, x[:n[0]]])))
    e = "tensor<?x3xf32>"
    for name, result, text, function in (
        ("transpose", "tensor<3x?xf32>", f"%r = stablehlo.transpose %y, dims = [1, 0] : ({e}) -> tensor<3x?xf32>",
         lambda y: y.T),
        ("matmul", "tensor<?x?xf32>", f"%t = stablehlo.transpose %y, dims = [1, 0] : ({e}) -> tensor<3x?xf32>\n"
         f"%r = stablehlo.dot_general %y, %t, contracting_dims = [1] x [0] : ({e}, tensor<3x?xf32>) -> tensor<?x?xf32>",
         lambda y: y @ y.T),
        ("einsum", "tensor<?x?xf32>",
         f"%r = \"stablehlo.einsum\"(%y, %y) {{einsum_config = \"ab,cb->ac\"}} : ({e}, {e}) -> tensor<?x?xf32>",
         lambda y: np.einsum("ab,cb->ac", y, y)),
        ("einsum_sum", "tensor<3xf32>",
         f"%r = \"stablehlo.einsum\"(%y, %y) {{einsum_config = \"ab,ab->b\"}} : ({e}, {e}) -> tensor<3xf32>",
         lambda y: np.einsum("ab,ab->b", y, y)),
        # a is summed before the product, and only the result is rounded
        ("einsum_summed", "tensor<?xf32>",
         f"%a = stablehlo.abs %y : {e}\n%s = stablehlo.sqrt %a : {e}\n"
         f"%r = \"stablehlo.einsum\"(%s, %s) {{einsum_config = \"ab,cb->c\"}} : ({e}, {e}) -> tensor<?xf32>",
         lambda y: np.einsum("ab,cb->c", *[np.sqrt(np.abs(y)).astype(float)] * 2).astype(F)),
        ("unary_einsum", "tensor<3x?xf32>",
         f"%r = \"stablehlo.unary_einsum\"(%y) {{einsum_config = \"ab->ba\"}} : ({e}) -> tensor<3x?xf32>",
         lambda y: y.T), ("unary_einsum_sum", "tensor<?xf32>",
                          f"%r = \"stablehlo.unary_einsum\"(%y) {{einsum_config = \"ab->a\"}} : ({e}) -> tensor<?xf32>",
                          lambda y: y.sum(1)),
        ("column_sums", "tensor<3xf32>",
         f"%z = stablehlo.constant dense<0.0> : tensor<f32>\n%r = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [0] : ({e}, tensor<f32>) -> tensor<3xf32>",
         lambda y: y.sum(0)), ("negate", e, f"%r = stablehlo.negate %y : {e}", lambda y: -y)):
        add("rows_" + name, M, result, rows("y") + text, ROWS, lambda x, n, f=function: f(x[:n[0]]))
    add(
        "chlo_broadcast_add", X, "tensor<?xf32>",
        prefix("y", "x", "n") + "%c = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "%r = chlo.broadcast_add %y, %c : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>", SIZES,
        lambda x, n: x[:n[0]] + 2)
    add(
        "chlo_broadcast_rows", M, "tensor<?x3xf32>",
        rows("y") + "%c = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
        "%r = chlo.broadcast_multiply %y, %c : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>", ROWS,
        lambda x, n: x[:n[0]] * F([1, 2, 3]))
    add("top_k", X, "tensor<1xf32>, tensor<1xi32>",
        prefix("y", "x", "n") + "%r, %s = chlo.top_k(%y, k = 1) : tensor<?xf32> -> (tensor<1xf32>, tensor<1xi32>)",
        SOME, lambda x, n: (x[:n[0]].max(keepdims=True), np.argmax(x[:n[0]], keepdims=True).astype(np.int32)))
    CASES[-1] = CASES[-1] + ("%r, %s",)


def add_control():
    add(
        "while_grows", "%x: tensor<2xf32>, %n: tensor<i32>", "tensor<?xf32>",
        "%z = stablehlo.constant dense<0> : tensor<i32>\n%o = stablehlo.constant dense<1> : tensor<i32>\n%two = stablehlo.constant dense<2> : tensor<1xi32>\n"
        "%s = stablehlo.dynamic_reshape %x, %two : (tensor<2xf32>, tensor<1xi32>) -> tensor<?xf32>\n"
        "%w:2 = stablehlo.while(%i = %z, %a = %s) : tensor<i32>, tensor<?xf32>\ncond {\n%c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "stablehlo.return %c : tensor<i1>\n} do {\n%j = stablehlo.add %i, %o : tensor<i32>\n"
        "%b = stablehlo.concatenate %a, %x, dim = 0 : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>\nstablehlo.return %j, %b : tensor<i32>, tensor<?xf32>\n}\n"
        "%r = stablehlo.negate %w#1 : tensor<?xf32>", [(floats(2), np.int32(k)) for k in (0, 1, 5)],
        lambda x, n: -np.tile(x, n + 1))
    add(
        "case_sizes", X + ", %p: tensor<i32>", "tensor<?xf32>",
        prefix("y", "x", "n") +
        "%r = \"stablehlo.case\"(%p) ({\n%a = stablehlo.concatenate %y, %y, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>\nstablehlo.return %a : tensor<?xf32>\n}, {\n"
        "%b = stablehlo.negate %y : tensor<?xf32>\nstablehlo.return %b : tensor<?xf32>\n}) : (tensor<i32>) -> tensor<?xf32>",
        [(floats(8), ints(k), np.int32(p)) for k in (0, 3) for p in (0, 1)], lambda x, n, p: -x[:n[0]]
        if p else np.tile(x[:n[0]], 2))
    add(
        "case_of_static", "%x: tensor<4xf32>, %p: tensor<i32>", "tensor<?xf32>",
        "%four = stablehlo.constant dense<4> : tensor<1xi32>\n"
        "%r = \"stablehlo.case\"(%p) ({\n%a = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>\nstablehlo.return %a : tensor<?xf32>\n}, {\n"
        "%b = stablehlo.dynamic_reshape %x, %four : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>\nstablehlo.return %b : tensor<?xf32>\n}) : (tensor<i32>) -> tensor<?xf32>",
        [(floats(4), np.int32(p)) for p in (0, 1)], lambda x, p: x if p else np.tile(x, 2))
    add("call", X, "tensor<?xf32>",
        prefix("y", "x", "n") + "%r = func.call @twice(%y) : (tensor<?xf32>) -> tensor<?xf32>", SIZES,
        lambda x, n: x[:n[0]] * 2)


HELPERS = """func.func private @twice(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--device", action="append", help="default: interp, and cpu:0 where there is one")
    options = parser.parse_args()
    for group in (add_sizes, add_operations, add_control):
        group()
    cases = [case for case in CASES if options.only in case[0]]
    if options.list:
        print("\n".join(case[0] for case in cases))
        return 0
    if os.environ.get("LEMNOS_SANITIZE"):
        print("dynamic_programs: skipped: a sanitized library cannot be loaded into Python")
        return 77
    path = os.path.abspath(options.library)
    devices = options.device or ["interp"] + [d for d, _ in lemnos_library.Library(path).devices() if d == "cpu:0"]
    worker, passed, failed = lemnos_library.Worker(path), 0, 0
    for name, parameters, types, body, runs, function, *names in cases:
        text = (
            f"func.func @main({parameters}) -> ({types}) {{\n{body}\nreturn {names[0] if names else '%r'} : {types}\n}}\n"
            + (HELPERS if "@twice" in body else ""))
        for arrays in runs:
            arrays = [np.asarray(a) for a in arrays]
            expected = function(*(a if a.ndim else a[()] for a in arrays))
            expected = [np.asarray(e) for e in (expected if isinstance(expected, tuple) else (expected,))]
            for device in devices:
                try:
                    results = worker.run(text, device, arrays)
                    reasons = [lemnos_library.differ(a, e, exact=True) for a, e in zip(results, expected)]
                    reason = next((r for r in reasons if r), None if len(results) == len(expected) else "other results")
                except lemnos_library.LemnosError as e:
                    reason = " ".join(str(e).split())[:500]
                passed, failed = passed + (not reason), failed + bool(reason)
                if reason:
                    print(f"{name} {[a.tolist() for a in arrays if a.dtype.kind == 'i']} on {device}: FAILED: {reason}",
                          flush=True)
    worker.stop()
    print(f"{len(cases)} programs: {passed} runs passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
