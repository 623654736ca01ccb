# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: tuples, composites, custom calls, legacy operations, bounded dimensions, corners of integers."""

import itertools

import numpy as np

from reference_program import *  # noqa: F403


def tuples(rng):
    for kind in EVERY:
        x, y = values(rng, kind, (2, 3)), values(rng, "i32", (4,))
        case = Program("tuple", "tuple", expected=[y, x])
        a, b = case.arg(x), case.arg(y)
        t = "tuple<%s, tuple<%s>, !stablehlo.token>" % (type_text(x), type_text(y))
        inner = case.emit("tuple", [b], "tuple<%s>" % type_text(y))
        token = case.emit("after_all", [], "!stablehlo.token")
        outer = case.emit("tuple", [a, inner, token], t)
        back = case.emit("get_tuple_element", [outer], "tuple<%s>" % type_text(y), "index = 1 : i32")
        last = case.emit("get_tuple_element", [outer], "!stablehlo.token", "index = 2 : i32")
        case.emit("after_all", [last, token], "!stablehlo.token")
        yield case.done(
            [
                case.emit("get_tuple_element", [back], type_text(y), "index = 0 : i32"),
                case.emit("get_tuple_element", [outer], type_text(x), "index = 0 : i32"),
            ]
        )
        case = Program("optimization_barrier", "optimization_barrier", expected=[x, y])
        yield case.done(case.emit("optimization_barrier", [case.arg(x), case.arg(y)], [type_text(x), type_text(y)]))


def composites(rng):
    for kind in EVERY:
        t = tensor((2, 3), kind)
        case = Program("composite", "composite")
        case.functions.append(
            "func.func private @helper(%%x: %s, %%y: %s) -> %s {\n  %%0 = \"stablehlo.reverse\"(%%x) <{dimensions "
            "= array<i64: 1>}> : (%s) -> %s\n  %%1 = \"stablehlo.maximum\"(%%0, %%y) : (%s, %s) -> %s\n  "
            "\"func.return\"(%%1) : (%s) -> ()\n}\n" % ((t,) * 9)
        )
        operands = [case.arg(values(rng, kind, (2, 3), "plain")) for _ in range(2)]
        yield case.done(
            case.emit(
                "composite",
                operands,
                t,
                "name = \"test.reversed_maximum\", composite_attributes = {n = 1 : i64}, "
                "decomposition = @helper, version = 1 : i32",
            )
        )
    for kind in EVERY:
        x = values(rng, kind, (3, 4))
        case = Program("custom_call", "custom_call", expected=[x], avoid=("reference",))
        yield case.done(
            case.emit(
                "custom_call",
                [case.arg(x)],
                type_text(x),
                "call_target_name = \"Sharding\", "
                "has_side_effect = false, backend_config = \"\", api_version = 1 : i32",
            )
        )


def legacy(rng):
    """Operations of early versions that both interpreters have dropped, by NumPy's formulas."""
    for kind in [k for k in EVERY if k != "f8E8M0FNU"]:
        x, y = sparse(rng, kind, (2, 3, 2)), sparse(rng, kind, (2, 2, 4))
        wide = lambda a: a if kind in COMPLEX else a.astype(np.int64 if KINDS[kind].integer else np.float64)
        product = np.einsum("bij,bjk->bik", wide(x), wide(y))
        case = Program("einsum", "einsum")
        case.expected = [(product > 0) if kind == "i1" else product.astype(x.dtype)]
        yield case.done(
            case.emit("einsum", [case.arg(x), case.arg(y)], tensor((2, 3, 4), kind), "einsum_config = \"bij,bjk->bik\"")
        )
        total = np.einsum("bij->ji", wide(x))
        case = Program("einsum", "unary_einsum")
        case.expected = [(total > 0) if kind == "i1" else total.astype(x.dtype)]
        yield case.done(case.emit("unary_einsum", [case.arg(x)], tensor((2, 3), kind), "einsum_config = \"bij->ji\""))
    for kind in EVERY:
        x, i = values(rng, kind, (4, 3)), rng.integers(0, 3, (2, 2)).astype(np.int32)
        case = Program("torch_index_select", "torch_index_select", expected=[np.take(x, i, 1)])
        yield case.done(
            case.emit(
                "torch_index_select",
                [case.arg(x), case.arg(i)],
                tensor((4, 2, 2), kind),
                "dim = 1 : i64, batch_dims = 0 : i64",
            )
        )


def bounded(rng):
    """set_dimension_size gives a bounded dimension; a sum over it and its size do not depend on the padding."""
    for kind in [k for k in EVERY if k != "f8E8M0FNU"]:
        x, size = sparse(rng, kind, (5, 2)), int(rng.integers(0, 6))
        case = Program("set_dimension_size", "set_dimension_size", avoid=("reference",))
        some = x[:size]
        if kind == "i1":
            total = some.any(0)
        else:
            total = some.sum(0) if kind in COMPLEX else some.astype(np.int64 if KINDS[kind].integer else float).sum(0)
        case.expected = [total.astype(x.dtype), np.array(size, np.int32)]
        t = "tensor<?x2x%s, #stablehlo.bounds<5, ?>>" % kind
        cut = case.emit(
            "set_dimension_size", [case.arg(x), case.arg(np.array(size, np.int32))], t, "dimension = 0 : i64"
        )
        zero = case.arg(np.zeros((), KINDS[kind].dtype))
        out = case.emit("reduce", [cut, zero], tensor((2,), kind), "dimensions = array<i64: 0>", combiner("add", kind))
        yield case.done([out, case.emit("get_dimension_size", [cut], "tensor<i32>", "dimension = 0 : i64")])


def corners(rng):
    """Division by zero and of the least integer by -1, as docs/numerics.md has them: implementation-defined."""
    for kind in INTEGERS:
        info = KINDS[kind]
        low = -(1 << (info.bits - 1)) if info.signed else 0
        high = (1 << (info.bits - int(info.signed))) - 1
        minus = -1 if info.signed else high
        make = lambda numbers: np.array(numbers, np.uint64 if kind == "ui64" else np.int64).astype(info.dtype)
        x, y = [low, high, 0, 1, low, high], [0, 0, 0, 0, minus, minus]
        quotient = [minus] * 4 + ([low, -high] if info.signed else [0, 1])
        rest = x[:4] + ([0, 0] if info.signed else [low, 0])
        for op, right in (("divide", quotient), ("remainder", rest)):
            case = Program("integer corners", op, expected=[make(right)], avoid=("reference",))
            yield case.done(case.emit(op, [case.arg(make(x)), case.arg(make(y))], tensor((6,), kind)))


def constants(rng):
    """Constants in the module's text: every pattern of small types, random ones of others."""
    from reference_run import dense

    for kind, shape in itertools.product(EVERY, ((), (7,), (0,), (2, 1, 3, 1, 2, 1))):
        x = values(rng, kind, shape)
        case = Program("constant", "constant", expected=[x])
        case.used.append(("stablehlo.constant", [], [kind]))
        case.lines.append("  %%v1 = stablehlo.constant %s" % dense(x))
        case.types["%v1"] = type_text(x)
        yield case.done("%v1")


GENERATORS = [tuples, composites, legacy, bounded, corners, constants]
