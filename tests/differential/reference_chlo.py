# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: CHLO. The oracles take its operations through chlo-legalize-to-stablehlo, whose formulas are
polynomials in the operand's type or in f32: they are as exact as their `ulps` below, not more."""

import itertools

import numpy as np

from reference_program import *  # noqa: F403
from reference_elementwise import free
from reference_formulas import FUNCTIONS, by_formula, neighbour, total_key

SMALL = FLOATS + TINY
EDGES = {"acos": 1, "asin": 1, "atanh": 1, "erf_inv": 1}  # functions with a bounded domain
ROOTS = {"lgamma", "digamma", "polygamma", "zeta"}  # near their roots the error is absolute


def arguments(rng, op, kind, shape):
    """Values in the domain for the most part."""
    x = values(rng, kind, shape, pick(rng, ["any", "plain"]))
    if op not in EDGES or kind in COMPLEX:
        return x
    with np.errstate(all="ignore"):
        inside = np.tanh(x.astype(np.float64)).astype(x.dtype)
    return np.where(values(rng, "i1", shape) | values(rng, "i1", shape), inside, x).astype(x.dtype).reshape(shape)


def unary(rng):
    functions = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "tan"]
    for op, kind in itertools.product(functions + ["bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma"], SMALL):
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("chlo unary", op, ulps=4 * free(kind))
            case.roots = op in ROOTS
            x = arguments(rng, op, kind, shape)
            by_formula(case, op, kind, x)
            yield case.done(case.emit("chlo." + op, [case.arg(x)], tensor(shape, kind)))
    for op, kind in itertools.product(functions + ["_asin_acos_kernel"], COMPLEX):
        case = Program("chlo complex", op, ulps=free(kind))
        yield case.done(case.emit("chlo." + op, [case.arg(values(rng, kind, (9,), "plain"))], tensor((9,), kind)))
    for op, kind in itertools.product(["conj", "square"], SMALL + COMPLEX):
        shape = pick(rng, SHAPES)
        case = Program("chlo unary", op, ulps=0 if op == "conj" or kind not in COMPLEX else 4)
        x = values(rng, kind, shape, "plain" if kind in COMPLEX and op == "square" else "any")
        by_formula(case, op, kind, x)
        yield case.done(case.emit("chlo." + op, [case.arg(x)], tensor(shape, kind)))
    for op, kind in itertools.product(["is_inf", "is_neg_inf", "is_pos_inf"], SMALL):
        x = values(rng, kind, (17,))
        wide = x.astype(np.float64)
        right = {"is_inf": np.isinf(wide), "is_neg_inf": np.isneginf(wide), "is_pos_inf": np.isposinf(wide)}[op]
        case = Program("chlo unary", op, expected=[right], avoid=("reference", "xla") if kind in TINY else ())
        yield case.done(case.emit("chlo." + op, [case.arg(x)], tensor((17,), "i1")))


def binary(rng):
    for kind in ["bf16", "f16", "f32", "f64"] + F8 + TINY:
        case = Program("chlo binary", "next_after", avoid=("reference", "xla") if kind in TINY else ())
        x = values(rng, kind, (15,))
        y = np.where(rng.integers(0, 4, 15) == 0, x, values(rng, kind, (15,))).astype(x.dtype)
        with np.errstate(all="ignore"):
            case.expected = [neighbour(x, y)]
        yield case.done(case.emit("chlo.next_after", [case.arg(x), case.arg(y)], tensor((15,), kind)))
    for op, kind in itertools.product(["polygamma", "zeta"], SMALL):
        case = Program("chlo binary", op, ulps=8 * free(kind))
        case.roots = True
        x = rng.integers(1 if op == "polygamma" else 2, 6, (9,)).astype(KINDS[kind].dtype)
        y = np.abs(values(rng, kind, (9,), "plain").astype(np.float64) + 0.25).astype(KINDS[kind].dtype)
        by_formula(case, op, kind, x, y)
        yield case.done(case.emit("chlo." + op, [case.arg(x), case.arg(y)], tensor((9,), kind)))
    for kind in INTEGERS:
        x, y = values(rng, kind, (17,)), values(rng, kind, (17,))
        product = (x.astype(object) * y.astype(object)) >> KINDS[kind].bits
        case = Program(
            "chlo binary", "mulhi", expected=[product.astype(np.uint64 if kind == "ui64" else np.int64).astype(x.dtype)]
        )
        yield case.done(case.emit("chlo.mulhi", [case.arg(x), case.arg(y)], tensor((17,), kind)))


BROADCAST = [
    ("add", ["i1"] + INTEGERS + SMALL + COMPLEX),
    ("subtract", INTEGERS + SMALL + COMPLEX),
    ("multiply", ["i1"] + INTEGERS + SMALL + COMPLEX),
    ("divide", INTEGERS + SMALL + COMPLEX),
    ("remainder", INTEGERS + SMALL + COMPLEX),
    ("power", INTEGERS + SMALL + COMPLEX),
    ("maximum", ["i1"] + INTEGERS + SMALL + COMPLEX),
    ("minimum", ["i1"] + INTEGERS + SMALL + COMPLEX),
    ("atan2", SMALL + COMPLEX),
    ("next_after", ["bf16", "f16", "f32", "f64"] + F8 + TINY),
    ("polygamma", SMALL),
    ("zeta", SMALL),
    ("and", ["i1"] + INTEGERS),
    ("or", ["i1"] + INTEGERS),
    ("xor", ["i1"] + INTEGERS),
    ("shift_left", INTEGERS),
    ("shift_right_arithmetic", INTEGERS),
    ("shift_right_logical", INTEGERS),
    ("complex", ["f32", "f64"]),
    ("compare", ["i1"] + INTEGERS + SMALL + COMPLEX),
]


def broadcast(rng):
    """Operands of different ranks and with dimensions of 1."""
    for op, kinds in BROADCAST:
        for kind in kinds:
            rank, full = int(rng.integers(0, 4)), None
            full = random_shape(rng, 3, 1, 4)
            a = tuple(1 if rng.integers(0, 3) == 0 else d for d in full)
            b = tuple(1 if rng.integers(0, 3) == 0 else d for d in full)[3 - rank :]
            result = np.broadcast_shapes(a, b)
            loose = (
                op in ("power", "atan2", "polygamma", "zeta")
                or kind in COMPLEX
                and op in ("divide", "multiply", "remainder")
            )
            case = Program("chlo broadcast", op, ulps=8 * free(kind) if loose and not KINDS[kind].integer else 0)
            case.roots = op in ROOTS
            how = "plain" if kind in COMPLEX else "any"
            x, y = values(rng, kind, a, how), values(rng, kind, b, "small" if op == "power" else how)
            if op in ("divide", "remainder") and KINDS[kind].integer:
                y = np.where(y == 0, np.ones_like(y), y).astype(y.dtype).reshape(b)
            if op in ("polygamma", "zeta"):
                x = rng.integers(2, 6, a).astype(x.dtype)
                y = np.abs(values(rng, kind, b, "plain").astype(np.float64) + 0.25).astype(y.dtype)
            if op == "next_after":
                with np.errstate(all="ignore"):
                    case.expected = [neighbour(*np.broadcast_arrays(x, y))]
                case.avoid = ("reference", "xla") if kind in TINY else ()
            elif op in FUNCTIONS and not KINDS[kind].integer:
                by_formula(case, op, kind, *np.broadcast_arrays(x, y))
            target, attributes = kind, []
            if op == "compare":
                target = "i1"
                attributes.append(
                    "comparison_direction = #chlo<comparison_direction %s>"
                    % pick(rng, ["EQ", "NE"] if kind in COMPLEX else ["EQ", "NE", "LT", "LE", "GT", "GE"])
                )
            if op == "complex":
                target = "complex<%s>" % kind
            if rank < 3:
                attributes.append("broadcast_dimensions = %s" % array_text(range(3 - rank, 3)))
            yield case.done(
                case.emit(
                    "chlo.broadcast_" + op, [case.arg(x), case.arg(y)], tensor(result, target), ", ".join(attributes)
                )
            )
    for kind in EVERY:
        shape = random_shape(rng, 2, 1, 4)
        p, x = values(rng, "i1", pick(rng, [(), shape])), values(rng, kind, pick(rng, [(), shape]))
        y = values(rng, kind, shape)
        case = Program("chlo broadcast", "broadcast_select", expected=[np.where(p, x, y).astype(y.dtype)])
        operands = [case.arg(v) for v in (p, x, y)]
        yield case.done(case.emit("chlo.broadcast_select", operands, tensor(shape, kind)))


def constants(rng):
    for kind in EVERY:
        text = "true" if kind == "i1" else "1" if KINDS[kind].integer else "2.0"
        number = {"true": True, "1": 1, "2.0": 2.0}[text]
        typed = (
            "%s : %s" % (text, kind)
            if kind not in COMPLEX
            else "#complex.number<:%s 2.0, 0.0> : %s" % (KINDS[kind].part, kind)
        )
        text = text if kind not in COMPLEX else "(2.0, 0.0)"
        full = np.full((2, 3), number).astype(KINDS[kind].dtype)
        case = Program("chlo constant", "constant", expected=[full])
        yield case.done(
            case.emit(
                "chlo.constant", [], tensor((2, 3), kind), "value = dense<%s> : %s" % (text, tensor((2, 3), kind))
            )
        )
        case = Program("chlo constant", "constant_like", expected=[full])
        x = case.arg(values(rng, kind, (2, 3)))
        typed = typed.replace("true : i1", "true")
        yield case.done(case.emit("chlo.constant_like", [x], tensor((2, 3), kind), "value = %s" % typed))


def top_k(rng):
    for kind in INTEGERS + SMALL:
        for _ in range(2):
            shape = random_shape(rng, int(rng.integers(1, 4)), 1, 7)
            k = int(rng.integers(0, shape[-1] + 1))
            case = Program("chlo top_k", "top_k")
            x = values(rng, kind, shape)
            key = x.astype(object) if KINDS[kind].integer else total_key(x)
            order = np.argsort(-key, axis=-1, kind="stable")[..., :k]
            case.expected = [np.take_along_axis(x, order, -1), order.astype(np.int32)]
            target = list(shape[:-1]) + [k]
            yield case.done(
                case.emit(
                    "chlo.top_k", [case.arg(x)], [tensor(target, kind), tensor(target, "i32")], "k = %d : i64" % k
                )
            )


def matmul(x, y, kind):
    """A product that is exact: small numbers."""
    kind = KINDS[kind]
    if kind.name == "i1":
        return np.matmul(x.astype(int), y.astype(int)) > 0
    if kind.complex:
        return np.matmul(x, y) + 0  # the sum starts from +0
    if kind.integer:
        return np.matmul(x.astype(np.int64), y.astype(np.int64)).astype(kind.dtype)
    return np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(kind.dtype)


def ragged_dot(rng):
    """[m,k] x [g,k,n] by rows; [m,k] x [k,n] by columns, a result for each group; [b,m,k] x [b,k,n] by batches."""
    for kind, mode in itertools.product([k for k in EVERY if k != "f8E8M0FNU"], (1, 2, 3)):
        m, k, n, groups = (int(d) for d in rng.integers(1, 5, 4))
        along = (m, k, n)[mode - 1] if mode < 3 else m
        cuts = sorted(int(c) for c in rng.integers(0, along + 1, groups))
        sizes = np.diff([0] + cuts).astype(pick(rng, [np.int32, np.int64]))
        head, result = {1: (), 2: (), 3: (m,)}[mode], {1: (m, n), 2: (groups, m, n), 3: (m, 2, n)}[mode]
        x = sparse(rng, kind, head + ((2, k) if mode == 3 else (m, k)))
        y = sparse(rng, kind, ((groups, k, n) if mode == 1 else head + (k, n)))
        # with a ragged batch every batch belongs to a group or to none, and is a product all the same
        right = np.zeros(result, KINDS[kind].dtype) if mode < 3 else matmul(x, y, kind)
        for g in range(groups):
            low, high = ([0] + cuts)[g], cuts[g]
            if mode == 1:
                right[low:high] = matmul(x[low:high], y[g], kind)
            elif mode == 2:
                right[g] = matmul(x[:, low:high], y[low:high], kind)
        b = int(mode == 3)
        numbers = (
            "lhs_batching_dimensions = %s, rhs_batching_dimensions = %s, lhs_contracting_dimensions = [%d], "
            "rhs_contracting_dimensions = [%d], lhs_ragged_dimensions = [%d], rhs_group_dimensions = %s"
            % ([0] * b, [0] * b, 1 + b, 1 if mode == 1 else b, {1: 0, 2: 1, 3: 0}[mode], [0] if mode == 1 else [])
        )
        case = Program("chlo ragged_dot", "ragged_dot", expected=[right], note="mode %d" % mode)
        operands = [case.arg(x), case.arg(y), case.arg(sizes)]
        yield case.done(
            case.emit(
                "chlo.ragged_dot",
                operands,
                tensor(result, kind),
                "ragged_dot_dimension_numbers = #chlo.ragged_dot<%s>" % numbers,
            )
        )


def scan(rng):
    """Running sums along a dimension, forwards and backwards."""
    for kind, back in itertools.product([k for k in EVERY if k != "f8E8M0FNU"], (False, True)):
        shape = random_shape(rng, 2, 1, 5)
        axis = int(rng.integers(0, 2))
        x, start = sparse(rng, kind, shape), np.zeros(shape[1 - axis], KINDS[kind].dtype)
        if kind == "i1":
            total = np.logical_or.accumulate(np.flip(x, axis) if back else x, axis)
        else:
            wide = x if kind in COMPLEX else x.astype(np.int64 if KINDS[kind].integer else np.float64)
            total = np.cumsum(np.flip(wide, axis) if back else wide, axis).astype(x.dtype)
        last = np.take(total, -1, axis)
        case = Program("chlo scan", "scan", expected=[np.flip(total, axis) if back else total, last])
        a, i, t = case.arg(x), case.arg(start), tensor(start.shape, kind)
        case.used.append(("chlo.scan", [kind, kind], [kind, kind]))
        case.lines.append(
            "  %%v1:2 = chlo.scan(%s) inits(%s) dimension=%d%s {\n  ^bb0(%%x0: %s, %%x1: %s):\n"
            "    %%y = stablehlo.add %%x0, %%x1 : %s\n    stablehlo.return %%y, %%y : %s, %s\n  } : (%s, %s) -> (%s, %s)"
            % (
                a,
                i,
                axis,
                " attributes {is_reverse = true}" if back else "",
                t,
                t,
                t,
                t,
                t,
                case.types[a],
                t,
                case.types[a],
                t,
            )
        )
        case.types.update({"%v1#0": case.types[a], "%v1#1": t})
        yield case.done(["%v1#0", "%v1#1"])


GENERATORS = [unary, binary, broadcast, constants, top_k, ragged_dot, scan]
