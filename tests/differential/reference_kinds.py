# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: every element type in every operation that takes it, with the results that the specification's
formula gives in NumPy. The numbers are few and small, such that sums are exact in the narrowest type; f8E8M0FNU has no zero
and no sign, and so its sums are of one element."""

import itertools

import numpy as np

from reference_formulas import by_formula
from reference_program import *  # noqa: F403
from reference_elementwise import EXACT, ROUNDED, free

E8M0 = "f8E8M0FNU"
SMALL = FLOATS + TINY


def few(rng, kind, shape):
    """Mostly zeros; of f8E8M0FNU powers of two."""
    if kind != E8M0:
        return sparse(rng, kind, shape)
    return np.exp2(rng.integers(-2, 3, shape)).astype(KINDS[kind].dtype).reshape(shape)


def narrowed(wide, kind):
    return wide > 0 if kind == "i1" else wide.astype(KINDS[kind].dtype)


def widened(array):
    kind = KINDS[name_of(array.dtype)]
    return array if kind.complex else array.astype(np.int64 if kind.integer else np.float64)


def elementwise(rng):
    for op, kind in itertools.product(EXACT + ROUNDED, TINY):
        case, x = Program("small float", op, ulps=free(kind) if op in ROUNDED else 0), values(rng, kind, (11,))
        by_formula(case, op, kind, x)
        yield case.done(case.emit(op, [case.arg(x)], tensor((11,), kind)))
    arithmetic = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power", "atan2"]
    for op, kind in itertools.product(arithmetic, TINY):
        case = Program("small float", op, ulps=free(kind) if op in ("power", "atan2") else 0)
        x, y = values(rng, kind, (13,)), values(rng, kind, (13,))
        by_formula(case, op, kind, x, y)
        yield case.done(case.emit(op, [case.arg(x), case.arg(y)], tensor((13,), kind)))
    for kind in TINY:
        x = values(rng, kind, (13,))
        case = Program("small float", "is_finite", expected=[np.isfinite(x.astype(np.float64))])
        yield case.done(case.emit("is_finite", [case.arg(x)], tensor((13,), "i1")))
        case, wide = Program("small float", "reduce_precision", avoid=("xla",)), 10
        yield case.done(
            case.emit(
                "reduce_precision",
                [case.arg(x)],
                tensor((13,), kind),
                "exponent_bits = %d : i32, mantissa_bits = %d : i32" % (wide, wide),
            )
        )
        y = np.where(rng.integers(0, 2, 13), x, values(rng, kind, (13,))).astype(x.dtype)
        a, b = x.astype(np.float64), y.astype(np.float64)
        for name, right in (
            ("EQ", a == b),
            ("NE", a != b),
            ("LT", a < b),
            ("LE", a <= b),
            ("GT", a > b),
            ("GE", a >= b),
        ):
            case = Program("small float", "compare", expected=[right], note="FLOAT")
            yield case.done(
                case.emit(
                    "compare",
                    [case.arg(x), case.arg(y)],
                    tensor((13,), "i1"),
                    "comparison_direction = #stablehlo<comparison_direction %s>, compare_type = "
                    "#stablehlo<comparison_type FLOAT>" % name,
                )
            )
    for kind in SMALL:
        x = values(rng, kind, (7,))
        for op, right in (("real", x), ("imag", np.zeros((7,)).astype(x.dtype))):
            case = Program("small float", op, expected=[right])
            yield case.done(case.emit(op, [case.arg(x)], tensor((7,), kind)))
    for op, kind in itertools.product(["maximum", "minimum", "remainder"], COMPLEX):
        case = Program("binary complex", op, ulps=64 if op == "remainder" else 0)
        x, y = (values(rng, kind, (7,), "plain") for _ in range(2))
        by_formula(case, op, kind, x, y)
        yield case.done(case.emit(op, [case.arg(x), case.arg(y)], tensor((7,), kind)))
    for kind in ["i1"] + COMPLEX + TINY:
        low, x, high = (values(rng, kind, (9,), "plain") for _ in range(3))
        case = Program("clamp", "clamp")
        if kind == "i1":
            case.expected = [np.logical_and(np.logical_or(x, low), high)]
        elif kind not in COMPLEX:
            a, b, c = (v.astype(np.float64) for v in (low, x, high))
            case.expected = [np.minimum(np.maximum(b, a), c).astype(x.dtype)]
            case.free = [case.expected[0].astype(np.float64) == 0]  # of equal zeros either
        yield case.done(case.emit("clamp", [case.arg(v) for v in (low, x, high)], tensor((9,), kind)))
    for kind in EVERY:
        x = values(rng, kind, (5,))
        case = Program("bitcast_convert", "bitcast_convert", note="to itself", expected=[x])
        yield case.done(case.emit("bitcast_convert", [case.arg(x)], tensor((5,), kind)))
        if kind != "i1":
            limit = 3 if KINDS[kind].bits == 2 else 7
            case = Program("iota", "iota", expected=[np.arange(limit).astype(KINDS[kind].dtype)])
            yield case.done(case.emit("iota", [], tensor((limit,), kind), "iota_dimension = 0 : i64"))
            case = Program("dynamic shapes", "dynamic_iota", expected=[np.arange(limit).astype(KINDS[kind].dtype)])
            shape = case.constant("[%d]" % limit, "tensor<1xi64>")
            yield case.done(case.emit("dynamic_iota", [shape], tensor((limit,), kind), "iota_dimension = 0 : i64"))


def reductions(rng):
    for kind in EVERY:
        op = "maximum" if kind == E8M0 else "add"
        x = few(rng, kind, (3, 4))
        start = np.zeros((), KINDS[kind].dtype) if kind != E8M0 else np.array(0.0625).astype(KINDS[kind].dtype)
        wide = widened(x)
        case = Program("reduce", "reduce", expected=[narrowed(wide.max(1) if kind == E8M0 else wide.sum(1), kind)])
        yield case.done(
            case.emit(
                "reduce",
                [case.arg(x), case.arg(start)],
                tensor((3,), kind),
                "dimensions = array<i64: 1>",
                combiner(op, kind),
            )
        )
        pairs = np.maximum(wide[:, :-1], wide[:, 1:]) if kind == E8M0 else wide[:, :-1] + wide[:, 1:]
        case = Program("reduce_window", "reduce_window", expected=[narrowed(pairs, kind)])
        yield case.done(
            case.emit(
                "reduce_window",
                [case.arg(x), case.arg(start)],
                tensor((3, 3), kind),
                "window_dimensions = array<i64: 1, 2>",
                combiner(op, kind),
            )
        )
        y = few(rng, kind, (3, 4))
        both = np.maximum(wide, widened(y)) if kind == E8M0 else wide + widened(y)
        case = Program("map", "map", expected=[narrowed(both, kind)])
        yield case.done(
            case.emit(
                "map",
                [case.arg(x), case.arg(y)],
                tensor((3, 4), kind),
                "dimensions = array<i64: 0, 1>",
                combiner(op, kind),
            )
        )
        index, updates = np.array([[2], [0], [2]], np.int32), few(rng, kind, (3, 4))
        right = wide.copy()
        for at, row in zip(index[:, 0], widened(updates)):
            right[at] = np.maximum(right[at], row) if kind == E8M0 else right[at] + row
        case = Program("scatter", "scatter", expected=[narrowed(right, kind)], note="whole")
        yield case.done(
            case.emit(
                "scatter",
                [case.arg(x), case.arg(index), case.arg(updates)],
                tensor((3, 4), kind),
                "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
                "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>",
                combiner(op, kind),
            )
        )
        yield from selection(rng, kind, op, start)


def selection(rng, kind, op, start):
    """select_and_scatter over two windows of two, all elements of a window different."""
    numbers = {"i1": [0, 1], "ui2": [0, 3], "i2": [-2, 1]}.get(kind, [1, 2])
    x = np.concatenate([rng.permutation(numbers) for _ in range(2)]).astype(KINDS[kind].dtype)
    source, wide = few(rng, kind, (2,)), widened(x).real if kind in COMPLEX else widened(x)
    right = np.full((4,), widened(start), widened(start).dtype)
    for w in range(2):
        at = 2 * w + int(np.argmax(wide[2 * w : 2 * w + 2]))
        right[at] = max(right[at], widened(source)[w]) if kind == E8M0 else right[at] + widened(source)[w]
    t, part = "tensor<%s>" % kind, KINDS[kind].part
    lines = [
        "%%y = \"stablehlo.compare\"(%%x0, %%x1) <{comparison_direction = #stablehlo<comparison_direction GE>}> : "
        "(%s, %s) -> tensor<i1>" % (t, t)
    ]
    if part:
        lines = ["%%p%d = \"stablehlo.real\"(%%x%d) : (%s) -> tensor<%s>" % (i, i, t, part) for i in range(2)] + [
            lines[0].replace("%x", "%p").replace(t, "tensor<%s>" % part)
        ]
    case = Program("select_and_scatter", "select_and_scatter", expected=[narrowed(right, kind)])
    yield case.done(
        case.emit(
            "select_and_scatter",
            [case.arg(x), case.arg(source), case.arg(start)],
            tensor((4,), kind),
            "window_dimensions = array<i64: 2>, window_strides = array<i64: 2>",
            region([kind, kind], lines, [("%y", "i1")]) + ", " + combiner(op, kind),
        )
    )


def products(rng):
    for kind in EVERY:
        inner = 1 if kind == E8M0 else 3
        x, y = few(rng, kind, (2, inner)), few(rng, kind, (inner, 4))
        right = [narrowed(np.matmul(widened(x), widened(y)) + 0, kind)]  # the sum starts from +0
        case = Program("dot_general", "dot_general", expected=right)
        yield case.done(
            case.emit(
                "dot_general",
                [case.arg(x), case.arg(y)],
                tensor((2, 4), kind),
                "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
                "rhs_contracting_dimensions = [0]>",
            )
        )
        numbers = (
            "window_strides = array<i64: 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = "
            "array<i1: false>, dimension_numbers = #stablehlo.conv<[0, b, f]x[0, i, o]->[0, b, f]>, feature_group_count = "
            "1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, "
            "#stablehlo<precision DEFAULT>]"
        )
        for op in ("convolution", "dynamic_conv"):
            case = Program(op, op, expected=[right[0][None]])
            operands = [case.arg(x[None]), case.arg(y[None])]
            if op == "dynamic_conv":
                operands.append(case.arg(np.zeros((1, 2), pick(rng, [np.int32, np.int64]))))
            yield case.done(case.emit(op, operands, tensor((1, 2, 4), kind), numbers))


def orders(rng):
    for kind in COMPLEX:  # by their real parts
        x = rng.integers(-4, 5, (9,)).astype(KINDS[kind].dtype) + 1j * rng.integers(-4, 5, (9,)).astype(
            KINDS[kind].dtype
        )
        x = x.astype(KINDS[kind].dtype)
        case, part = Program("sort", "sort", expected=[x[np.argsort(x.real, kind="stable")]]), KINDS[kind].part
        lines = [
            "%%p%d = \"stablehlo.real\"(%%x%d) : (tensor<%s>) -> tensor<%s>" % (i, i, kind, part) for i in range(2)
        ]
        lines.append(
            "%%y = \"stablehlo.compare\"(%%p0, %%p1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : "
            "(tensor<%s>, tensor<%s>) -> tensor<i1>" % (part, part)
        )
        body = region([kind, kind], lines, [("%y", "i1")])
        attributes = "dimension = 0 : i64, is_stable = true"
        yield case.done(case.emit("sort", [case.arg(x)], tensor((9,), kind), attributes, body))
    for kind in TINY:
        x = few(rng, kind, (9,)) if kind == E8M0 else np.abs(values(rng, kind, (9,), "plain"))
        order = np.argsort(x.astype(np.float64), kind="stable").astype(np.int32)
        case = Program("sort", "sort", expected=[x[order], order])
        position = case.arg(x), case.arg(np.arange(9, dtype=np.int32))
        body = region(
            [kind, kind, "i32", "i32"],
            [
                "%%y = \"stablehlo.compare\"(%%x0, %%x1) <{comparison_direction = #stablehlo<comparison_direction LT>}> : "
                "(tensor<%s>, tensor<%s>) -> tensor<i1>" % (kind, kind)
            ],
            [("%y", "i1")],
        )
        yield case.done(
            case.emit(
                "sort",
                list(position),
                [tensor((9,), kind), tensor((9,), "i32")],
                "dimension = 0 : i64, is_stable = true",
                body,
            )
        )
        x, index = values(rng, kind, (4, 3)), rng.integers(0, 4, (5, 1)).astype(np.int32)
        case = Program("gather", "gather", expected=[x[index[:, 0]]])
        yield case.done(
            case.emit(
                "gather",
                [case.arg(x), case.arg(index)],
                tensor((5, 3), kind),
                "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>, indices_are_sorted = false",
            )
        )


def control(rng):
    """Branches and loops that only move data."""
    for kind in EVERY:
        x, t = values(rng, kind, (2, 3)), tensor((2, 3), kind)
        branches = [
            "{\n    %%y%d = \"stablehlo.reverse\"(%%a0) <{dimensions = array<i64: %d>}> : (%s) -> %s\n"
            "    \"stablehlo.return\"(%%y%d) : (%s) -> ()\n  }" % (i, i, t, t, i, t)
            for i in range(2)
        ]
        p, index = bool(rng.integers(0, 2)), int(rng.integers(-1, 3))
        for op, selector, taken in (
            ("if", np.array(p), 0 if p else 1),
            ("case", np.array(index, np.int32), 0 if index == 0 else 1),
        ):
            case = Program(op, op, expected=[np.flip(x, taken)])
            case.arg(x)
            yield case.done(case.emit(op, [case.arg(selector)], t, "", ", ".join(branches)))
        trips = int(rng.integers(0, 4))
        case = Program("while", "while", expected=[np.array(trips, np.int32), np.flip(x, 1) if trips % 2 else x])
        carried = "^bb0(%%i: tensor<i32>, %%s: %s)" % t
        regions = (
            "{\n  %s:\n    %%c = \"stablehlo.compare\"(%%i, %%a1) <{comparison_direction = #stablehlo<comparison_direction "
            "LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>\n    \"stablehlo.return\"(%%c) : (tensor<i1>) -> ()\n  }, "
            "{\n  %s:\n    %%j = \"stablehlo.add\"(%%i, %%a2) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n    %%u = "
            "\"stablehlo.reverse\"(%%s) <{dimensions = array<i64: 1>}> : (%s) -> %s\n    \"stablehlo.return\"(%%j, %%u) : "
            "(tensor<i32>, %s) -> ()\n  }" % (carried, carried, t, t, t)
        )
        a, _, _ = case.arg(x), case.arg(np.array(trips, np.int32)), case.arg(np.array(1, np.int32))
        yield case.done(case.emit("while", [case.arg(np.array(0, np.int32)), a], ["tensor<i32>", t], "", regions))


def algebra(rng):
    """Systems and normalisations whose results and steps are exact in every type: powers of two and pairs of opposites."""
    for kind in [k for k in SMALL + COMPLEX if k != E8M0]:
        dtype = KINDS[kind].dtype
        diagonal = np.diag([1, 4, 1]).astype(dtype)
        case = Program("cholesky", "cholesky", expected=[np.diag([1, 2, 1]).astype(dtype)])
        yield case.done(case.emit("cholesky", [case.arg(diagonal)], tensor((3, 3), kind), "lower = true"))
        b = sparse(rng, kind, (3, 2))
        case = Program(
            "triangular_solve", "triangular_solve", expected=[(widened(b) * np.array([[1], [0.5], [2]])).astype(dtype)]
        )
        case.free = [widened(b) == 0]  # the sign of a zero
        yield case.done(
            case.emit(
                "triangular_solve",
                [case.arg(np.diag([1, 2, 0.5]).astype(dtype)), case.arg(b)],
                tensor((3, 2), kind),
                "left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>",
            )
        )
        if kind in COMPLEX:
            continue
        x = np.array([[1, -1], [-1, 1], [1, 1], [-1, -1]]).astype(dtype)
        scale, offset, mean, variance = (np.array(v).astype(dtype) for v in ([1, 2], [0.5, 0], [0, 1], [1, 4]))
        attributes, side = "epsilon = 0.0 : f32, feature_index = 1 : i64", tensor((2,), kind)
        wide = (x.astype(float) - [0, 1]) / [1, 2] * [1, 2] + [0.5, 0]
        case = Program("batch_norm", "batch_norm_inference", expected=[wide.astype(dtype)])
        yield case.done(
            case.emit(
                "batch_norm_inference",
                [case.arg(v) for v in (x, scale, offset, mean, variance)],
                tensor((4, 2), kind),
                attributes,
            )
        )
        case = Program(
            "batch_norm",
            "batch_norm_training",
            expected=[(x.astype(float) * [1, 2] + [0.5, 0]).astype(dtype), np.zeros(2, dtype), np.ones(2, dtype)],
        )
        yield case.done(
            case.emit(
                "batch_norm_training",
                [case.arg(v) for v in (x, scale, offset)],
                [tensor((4, 2), kind), side, side],
                attributes,
            )
        )
        g = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]]).astype(dtype)  # sums: 0 and 0; with x: 2 and 2
        wide = np.array([1, 2]) / 4 * (4 * g.astype(float) - 2 * x.astype(float))
        case = Program(
            "batch_norm",
            "batch_norm_grad",
            expected=[wide.astype(dtype), np.full(2, 2).astype(dtype), np.zeros(2, dtype)],
        )
        operands = [case.arg(v) for v in (x, scale, np.zeros(2, dtype), np.ones(2, dtype), g)]
        yield case.done(case.emit("batch_norm_grad", operands, [tensor((4, 2), kind), side, side], attributes))


def movement(rng):
    """Dynamic operations for every type, and ranks up to six."""
    for kind in EVERY:
        x = values(rng, kind, (3, 4))
        plans = [
            ("dynamic_reshape", [(2, 6)], (2, 6), "", x.reshape(2, 6)),
            (
                "dynamic_broadcast_in_dim",
                [(4, 2, 3)],
                (4, 2, 3),
                "broadcast_dimensions = array<i64: 2, 0>",
                np.broadcast_to(x.T[:, None], (4, 2, 3)),
            ),
            ("real_dynamic_slice", [(1, 0), (3, 4), (1, 3)], (2, 2), "", x[1:3, 0:4:3]),
        ]
        for op, shapes, dims, attribute, right in plans:
            case = Program("dynamic shapes", op, expected=[np.ascontiguousarray(right)])
            operands = [case.arg(x)] + [case.constant(str(list(s)), "tensor<%dxi64>" % len(s)) for s in shapes]
            yield case.done(case.emit(op, operands, tensor(dims, kind), attribute))
        p = values(rng, kind, ())
        right = np.full((4, 4), p, x.dtype)
        right[1:] = x
        case = Program("dynamic shapes", "dynamic_pad", expected=[right])
        operands = [case.arg(x), case.arg(p)] + [case.constant("[%d, 0]" % n, "tensor<2xi32>") for n in (1, 0, 0)]
        yield case.done(case.emit("dynamic_pad", operands, tensor((4, 4), kind)))
        case = Program("dynamic shapes", "dynamic_gather", expected=[x[[2, 0], 0:3]])
        operands = [case.arg(x), case.arg(np.array([[2], [0]], np.int64)), case.constant("[1, 3]", "tensor<2xi64>")]
        yield case.done(
            case.emit(
                "dynamic_gather",
                operands,
                tensor((2, 3), kind),
                "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                "index_vector_dim = 1>, indices_are_sorted = false",
            )
        )
        case = Program("dynamic shapes", "get_dimension_size", expected=[np.array(4, np.int32)])
        yield case.done(case.emit("get_dimension_size", [case.arg(x)], "tensor<i32>", "dimension = 1 : i64"))
        shape, order = random_shape(rng, 6, 1, 3), [int(n) for n in rng.permutation(6)]
        x = values(rng, kind, shape)
        case = Program("transpose", "transpose", expected=[np.ascontiguousarray(x.transpose(order))])
        yield case.done(
            case.emit(
                "transpose",
                [case.arg(x)],
                tensor([shape[i] for i in order], kind),
                "permutation = %s" % array_text(order),
            )
        )


def bits(rng):
    """The generators' bits in every type; DEFAULT is implementation-defined, and XLA's is taken."""
    for algorithm, size in (("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3), ("DEFAULT", 2), ("DEFAULT", 3)):
        for kind in INTEGERS + ["bf16", "f16", "f32", "f64"] + F8:
            case = Program("rng_bit_generator", "rng_bit_generator", note=algorithm)
            seed, shape = case.arg(values(rng, "ui64", (size,))), pick(rng, [(7,), (2, 3), (8,)])
            yield case.done(
                case.emit(
                    "rng_bit_generator",
                    [seed],
                    [tensor((size,), "ui64"), tensor(shape, kind)],
                    "rng_algorithm = #stablehlo<rng_algorithm %s>" % algorithm,
                )
            )


def ranges(rng):
    """rng is nondeterministic, but UNIFORM stays within its bounds."""
    for kind in [k for k in EVERY if k not in COMPLEX]:
        low, high = np.array(0.5 if kind == E8M0 else 0), np.array(1 if KINDS[kind].bits < 4 else 4)
        case = Program("rng", "rng", expected=[np.ones((), bool)], avoid=("reference", "xla"))
        a, b = case.arg(low.astype(KINDS[kind].dtype)), case.arg(high.astype(KINDS[kind].dtype))
        t, flags = tensor((40,), kind), tensor((40,), "i1")
        shape = case.constant("[40]", "tensor<1xi64>")
        x = case.emit("rng", [a, b, shape], t, "rng_distribution = #stablehlo<rng_distribution UNIFORM>")
        wide = [case.emit("broadcast_in_dim", [v], t, "broadcast_dimensions = array<i64>") for v in (a, b)]
        direction = "comparison_direction = #stablehlo<comparison_direction %s>"
        inside = [case.emit("compare", [x, w], flags, direction % d) for w, d in zip(wide, ("GE", "LE"))]
        both, true = case.emit("and", inside, flags), case.arg(np.ones((), bool))
        attributes = "dimensions = array<i64: 0>"
        yield case.done(case.emit("reduce", [both, true], "tensor<i1>", attributes, combiner("and", "i1")))


GENERATORS = [elementwise, reductions, products, orders, control, algebra, movement, bits, ranges]
