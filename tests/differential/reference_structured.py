# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py with regions, windows, indices and dimension numbers: reductions, sort, gather, scatter, products,
convolutions, control flow, linear algebra, dynamic shapes."""

import itertools

import numpy as np

from reference_formulas import total_key
from reference_program import *  # noqa: F403

SUMMED = WIDE + ["f16", "f32", "f64"] + COMPLEX  # what adds up small integers exactly


def identity(op, kind):
    """The neutral value of a combiner: how often an initial value is folded in is left open."""
    kind = KINDS[kind]
    if op in ("maximum", "minimum"):
        if not kind.integer:
            return np.array(-np.inf if op == "maximum" else np.inf).astype(kind.dtype)
        low = -(1 << (kind.bits - 1)) if kind.signed else 0
        high = (1 << (kind.bits - int(kind.signed))) - 1
        return np.array(low if op == "maximum" else high, np.uint64 if high >= 1 << 63 else np.int64).astype(kind.dtype)
    if op == "and":
        return np.array(True) if kind.bits == 1 else np.invert(np.zeros((1,), np.uint64)).astype(kind.dtype).reshape(())
    return np.array({"multiply": 1}.get(op, 0)).astype(kind.dtype)


def reduce(rng):
    for kind, op in itertools.product(
        SUMMED + ["i1", "i4", "ui4"], ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
    ):
        if (
            op in ("and", "or", "xor")
            and not KINDS[kind].integer
            or op in ("maximum", "minimum")
            and KINDS[kind].complex
        ):
            continue
        for _ in range(2):
            shape = random_shape(rng, int(rng.integers(0, 5)), int(rng.integers(0, 3) > 0), 4)
            dims = sorted(int(d) for d in rng.permutation(len(shape))[: int(rng.integers(0, len(shape) + 1))])
            case = Program("reduce", "reduce", note=op)
            x = values(rng, kind, shape, "any" if KINDS[kind].integer or op in ("maximum", "minimum") else "small")
            if op == "multiply" and not KINDS[kind].integer:
                x = np.where(x == 0, 1, x).astype(x.dtype).reshape(shape)
                if KINDS[kind].bits == 16 or KINDS[kind].complex:
                    x = np.sign(x.real).astype(x.dtype).reshape(shape)
            init = identity(op, kind)
            result = [d for i, d in enumerate(shape) if i not in dims]
            yield case.done(
                case.emit(
                    "reduce",
                    [case.arg(x), case.arg(init)],
                    tensor(result, kind),
                    "dimensions = %s" % array_text(dims),
                    combiner(op, kind),
                )
            )
    for kind in FLOATS[:-4] + BIG:  # rounding at every step, in an order the specification leaves open
        case = Program("reduce", "reduce", note="rounded", close=1e-5 if kind in ("f32", "f64") else 0.3)
        x = np.abs(values(rng, kind, (4, 5), "plain").astype(np.float64)).astype(KINDS[kind].dtype)
        if kind in BIG:
            yield case.done(
                case.emit(
                    "reduce",
                    [case.arg(x), case.arg(identity("add", kind))],
                    tensor((4,), kind),
                    "dimensions = array<i64: 1>",
                    combiner("add", kind),
                )
            )
    for kind in WIDE + BIG:  # the largest and its index: two operands
        shape = random_shape(rng, 2, 1, 6)
        case = Program("reduce", "reduce", note="argmax")
        x = values(rng, kind, shape, "plain")
        position = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        low = np.array(x.min() if x.size else 0).astype(x.dtype)
        pair = "tensor<%s>" % kind
        lines = [
            "%%g = \"stablehlo.compare\"(%%x0, %%x2) <{comparison_direction = #stablehlo<comparison_direction GT>}> : "
            "(%s, %s) -> tensor<i1>" % (pair, pair),
            "%%e = \"stablehlo.compare\"(%%x0, %%x2) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : "
            "(%s, %s) -> tensor<i1>" % (pair, pair),
            "%m = \"stablehlo.minimum\"(%x1, %x3) : (tensor<i32>, tensor<i32>) -> tensor<i32>",
            "%%v = \"stablehlo.select\"(%%g, %%x0, %%x2) : (tensor<i1>, %s, %s) -> %s" % (pair, pair, pair),
            "%i = \"stablehlo.select\"(%g, %x1, %x3) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>",
            "%j = \"stablehlo.select\"(%e, %m, %i) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>",
        ]
        operands = [case.arg(x), case.arg(position), case.arg(low), case.arg(np.array(2**30, np.int32))]
        axis = int(rng.integers(0, 2))
        result = [shape[1 - axis]]
        yield case.done(
            case.emit(
                "reduce",
                operands,
                [tensor(result, kind), tensor(result, "i32")],
                "dimensions = %s" % array_text([axis]),
                region([kind, "i32", kind, "i32"], lines, [("%v", kind), ("%j", "i32")]),
            )
        )


def windowed(size, window, stride, base, dilation, low, high):
    """The extent of a windowed dimension."""
    dilated = 0 if size == 0 else (size - 1) * base + 1
    padded = dilated + low + high
    reach = 0 if window == 0 else (window - 1) * dilation + 1
    return 0 if padded <= 0 or reach > padded else (padded - reach) // stride + 1


def reduce_window(rng):
    for kind, op in itertools.product(SUMMED, ["add", "maximum", "minimum", "multiply"]):
        if op in ("maximum", "minimum") and KINDS[kind].complex or op == "multiply" and not KINDS[kind].integer:
            continue
        for _ in range(3):
            rank = int(rng.integers(0, 4))
            shape = random_shape(rng, rank, int(rng.integers(0, 4) > 0), 6)
            window = [int(n) for n in rng.integers(1, 4, rank)]
            stride, base, dilation = ([int(n) for n in rng.integers(1, 3, rank)] for _ in range(3))
            padding = [[int(a), int(b)] for a, b in rng.integers(-1 if op == "add" else 0, 3, (rank, 2))]
            padding = [[max(a, 0), max(b, 0)] if d < 3 else [a, b] for d, (a, b) in zip(shape, padding)]
            result = [
                windowed(d, w, s, b, l, p[0], p[1])
                for d, w, s, b, l, p in zip(shape, window, stride, base, dilation, padding)
            ]
            case = Program("reduce_window", "reduce_window", note=op)
            x = values(rng, kind, shape, "any" if KINDS[kind].integer or op != "add" else "small")
            yield case.done(
                case.emit(
                    "reduce_window",
                    [case.arg(x), case.arg(identity(op, kind))],
                    tensor(result, kind),
                    "window_dimensions = %s, window_strides = %s, base_dilations = %s, window_dilations = %s, padding = %s"
                    % (
                        array_text(window),
                        array_text(stride),
                        array_text(base),
                        array_text(dilation),
                        pairs_text(padding),
                    ),
                    combiner(op, kind),
                )
            )


def compare_region(kinds, direction, kind, left="%x0", right="%x1", total=False):
    attribute = "comparison_direction = #stablehlo<comparison_direction %s>" % direction
    if total:
        attribute += ", compare_type = #stablehlo<comparison_type TOTALORDER>"
    return region(
        kinds,
        [
            "%%y = \"stablehlo.compare\"(%s, %s) <{%s}> : (tensor<%s>, tensor<%s>) -> tensor<i1>"
            % (left, right, attribute, kind, kind)
        ],
        [("%y", "i1")],
    )


def select_and_scatter(rng):
    for kind in [k for k in SUMMED if k not in COMPLEX]:
        for direction in ("GE", "LE"):
            rank = int(rng.integers(1, 4))
            shape = random_shape(rng, rank, 2, 6)
            window = [int(rng.integers(1, min(3, d) + 1)) for d in shape]
            stride = [int(n) for n in rng.integers(1, 3, rank)]
            padding = [[int(rng.integers(0, w)), int(rng.integers(0, w))] for w in window]
            source = [windowed(d, w, s, 1, 1, a, b) for d, w, s, (a, b) in zip(shape, window, stride, padding)]
            case = Program("select_and_scatter", "select_and_scatter")
            # all different, since which of two equal elements is selected depends on the order
            x = rng.permutation(int(np.prod(shape))).reshape(shape).astype(KINDS[kind].dtype)
            operands = [case.arg(x), case.arg(values(rng, kind, source, "small")), case.arg(identity("add", kind))]
            yield case.done(
                case.emit(
                    "select_and_scatter",
                    operands,
                    tensor(shape, kind),
                    "window_dimensions = %s, window_strides = %s, padding = %s"
                    % (array_text(window), array_text(stride), pairs_text(padding)),
                    compare_region([kind, kind], direction, kind) + ", " + combiner("add", kind),
                )
            )


def sort(rng):
    for kind in ["i1"] + INTEGERS + FLOATS:
        for total in (False, True) if kind in FLOATS else (False,):
            shape = random_shape(rng, int(rng.integers(1, 4)), int(rng.integers(0, 4) > 0), 8)
            axis = int(rng.integers(-len(shape), len(shape)))
            direction = pick(rng, ["LT", "GT"])
            case = Program("sort", "sort", note="TOTALORDER" if total else "")
            x = values(rng, kind, shape, "any" if total or KINDS[kind].integer else "small")
            position = np.arange(x.size, dtype=np.int32).reshape(shape)
            key = total_key(x) if total else x.astype(np.float64 if kind in FLOATS else object).astype(object)
            order = np.argsort(key if direction == "LT" else -key, axis, kind="stable")
            case.expected = [np.take_along_axis(v, order, axis) for v in (x, position)]
            if kind == "i1":
                regions = region(
                    [kind, kind, "i32", "i32"],
                    [
                        "%y = \"stablehlo.compare\"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction "
                        + direction
                        + ">, compare_type = #stablehlo<comparison_type UNSIGNED>}> : (tensor<i1>, tensor<i1>) -> tensor<i1>"
                    ],
                    [("%y", "i1")],
                )
            else:
                regions = compare_region([kind, kind, "i32", "i32"], direction, kind, total=total)
            yield case.done(
                case.emit(
                    "sort",
                    [case.arg(x), case.arg(position)],
                    [tensor(shape, kind), tensor(shape, "i32")],
                    "dimension = %d : i64, is_stable = true" % axis,
                    regions,
                )
            )


def index_values(rng, kind, shape):
    """Start indices: mostly in range, some outside, negative where the type has a sign."""
    numbers = rng.integers(-2 if KINDS[kind].signed else 0, 6, shape)
    far = values(rng, kind, shape)
    return (
        np.where(rng.integers(0, 8, shape) == 0, far, numbers.astype(KINDS[kind].dtype))
        .astype(KINDS[kind].dtype)
        .reshape(shape)
    )


def index_plan(rng):
    """Random dimension numbers that gather and scatter share: operand shape, slice sizes, indices shape, …"""
    rank = int(rng.integers(1, 5))
    operand = list(random_shape(rng, rank, 1, 5))
    batching = sorted(int(d) for d in rng.permutation(rank)[: int(rng.integers(0, min(rank, 3)))])
    rest = [d for d in range(rank) if d not in batching]
    mapped = [int(d) for d in rng.permutation(rest)[: int(rng.integers(0, len(rest) + 1))]]
    collapsed = sorted(d for d in rest if rng.integers(0, 2))
    sizes = [1 if d in batching or d in collapsed else int(rng.integers(1, operand[d] + 1)) for d in range(rank)]
    batch_dims = [operand[d] for d in batching] + list(
        random_shape(rng, int(rng.integers(0, 3)), int(rng.integers(0, 5) > 0), 4)
    )
    order = [int(i) for i in rng.permutation(len(batch_dims))]
    index_shape = [batch_dims[i] for i in order]
    index_batching = [order.index(i) for i in range(len(batching))]
    vector = int(rng.integers(0, len(index_shape) + 1))
    if len(mapped) == 1 and rng.integers(0, 2):
        vector, full = len(index_shape), list(index_shape)
    else:
        full = index_shape[:vector] + [len(mapped)] + index_shape[vector:]
        index_batching = [d + (d >= vector) for d in index_batching]
    offsets = [sizes[d] for d in range(rank) if d not in batching and d not in collapsed]
    total = len(offsets) + len(index_shape)
    places = sorted(int(d) for d in rng.permutation(total)[: len(offsets)])
    result, window, batch = [], list(offsets), list(index_shape)
    for d in range(total):
        result.append(window.pop(0) if d in places else batch.pop(0))
    return operand, batching, mapped, collapsed, sizes, full, index_batching, vector, places, result


def gather(rng):
    for kind in ALL:
        for _ in range(4):
            operand, batching, mapped, collapsed, sizes, full, index_batching, vector, places, result = index_plan(rng)
            index_kind = pick(rng, INDICES)
            case = Program("gather", "gather", note=index_kind)
            numbers = (
                "offset_dims = %s, collapsed_slice_dims = %s, operand_batching_dims = %s, "
                "start_indices_batching_dims = %s, start_index_map = %s, index_vector_dim = %d"
                % (places, collapsed, batching, index_batching, mapped, vector)
            )
            operands = [case.arg(values(rng, kind, operand)), case.arg(index_values(rng, index_kind, full))]
            yield case.done(
                case.emit(
                    "gather",
                    operands,
                    tensor(result, kind),
                    "dimension_numbers = #stablehlo.gather<%s>, slice_sizes = %s, "
                    "indices_are_sorted = false" % (numbers, array_text(sizes)),
                )
            )


def scatter(rng):
    for kind, op in itertools.product(SUMMED, ["add", "maximum", "subtract", ""]):
        if op == "maximum" and kind in COMPLEX:
            continue
        for whole in (False, True):
            operand, batching, mapped, collapsed, sizes, full, index_batching, vector, places, result = index_plan(rng)
            index_kind = pick(rng, INDICES)
            indices = index_values(rng, index_kind, full)
            if whole:  # no window is cut by the operand's bounds: it is inside or outside altogether
                parts = np.moveaxis(indices if vector < indices.ndim else indices[..., None], vector, -1)
                for n, d in enumerate(mapped):
                    inside = rng.integers(0, operand[d] - sizes[d] + 1, parts.shape[:-1])
                    parts[..., n] = np.where(rng.integers(0, 6, inside.shape) == 0, operand[d], inside)
            case = Program("scatter", "scatter", note="whole" if whole and mapped else "cut" if mapped else "no index")
            numbers = (
                "update_window_dims = %s, inserted_window_dims = %s, input_batching_dims = %s, "
                "scatter_indices_batching_dims = %s, scatter_dims_to_operand_dims = %s, index_vector_dim = %d"
                % (places, collapsed, batching, index_batching, mapped, vector)
            )
            updates = values(rng, kind, result, "small")
            if not op:  # which update comes last is open: all alike
                updates = np.full(result, values(rng, kind, (), "small"), KINDS[kind].dtype)
            body = combiner(op, kind) if op else region([kind, kind], [], [("%x1", kind)])
            operands = [case.arg(values(rng, kind, operand, "small")), case.arg(indices), case.arg(updates)]
            yield case.done(
                case.emit(
                    "scatter",
                    operands,
                    tensor(operand, kind),
                    "scatter_dimension_numbers = #stablehlo.scatter<%s>, indices_are_sorted = false, "
                    "unique_indices = false" % numbers,
                    body,
                )
            )


def dot_general(rng):
    for kind in WIDE + ["i4", "ui4", "i1"] + BIG + F8 + COMPLEX:
        for _ in range(5):
            batch, contract = random_shape(rng, int(rng.integers(0, 3)), 0, 4), random_shape(
                rng, int(rng.integers(0, 3)), 0, 5
            )
            if rng.integers(0, 4):
                batch, contract = tuple(max(d, 1) for d in batch), tuple(max(d, 1) for d in contract)
            free = [random_shape(rng, int(rng.integers(0, 3)), 1, 5) for _ in range(2)]
            shapes, places = [], []
            for side in range(2):
                dims = list(batch) + list(contract) + list(free[side])
                labels = (
                    [("b", i) for i in range(len(batch))]
                    + [("c", i) for i in range(len(contract))]
                    + [("f", i) for i in range(len(free[side]))]
                )
                # free dimensions keep their order; batching and contracting ones may stand anywhere
                order = list(rng.permutation(len(dims)))
                spots = sorted(order.index(i) for i, l in enumerate(labels) if l[0] == "f")
                for spot, i in zip(spots, [i for i, l in enumerate(labels) if l[0] == "f"]):
                    order[spot] = i
                shapes.append([dims[i] for i in order])
                where = {labels[i]: n for n, i in enumerate(order)}
                places.append(
                    ([where["b", i] for i in range(len(batch))], [where["c", i] for i in range(len(contract))])
                )
            how = "any" if KINDS[kind].integer else "small"
            case = Program("dot_general", "dot_general")
            operands = [case.arg(values(rng, kind, s, how)) for s in shapes]
            target = "f32" if kind in F8 else kind
            yield case.done(
                case.emit(
                    "dot_general",
                    operands,
                    tensor(list(batch) + list(free[0]) + list(free[1]), target),
                    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = %s, rhs_batching_dimensions = %s, "
                    "lhs_contracting_dimensions = %s, rhs_contracting_dimensions = %s>"
                    % (places[0][0], places[1][0], places[0][1], places[1][1]),
                )
            )
    for kind in BIG + COMPLEX:
        case = Program(
            "dot_general",
            "dot_general",
            note="rounded",
            close={"bf16": 0.02, "f16": 4e-3, "f32": 1e-5, "f64": 1e-13}.get(kind, 2e-5),
        )
        operands = [case.arg(values(rng, kind, s, "plain")) for s in ((3, 17), (17, 4))]
        yield case.done(
            case.emit(
                "dot_general",
                operands,
                tensor((3, 4), kind),
                "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
                "rhs_contracting_dimensions = [0]>",
            )
        )


def numbers_text(order, names):
    """One operand's dimension numbers: order[i] is what stands at dimension i."""
    return "[%s]" % ", ".join(names.get(o, str(o)) for o in order)


def convolution(rng):
    for kind in WIDE + BIG + COMPLEX:
        for _ in range(6):
            space = int(rng.integers(0, 4))
            groups = int(rng.integers(1, 3))
            by_batch = bool(rng.integers(0, 2))
            size = random_shape(rng, space, 1, 6)
            kernel = random_shape(rng, space, 1, 4)
            stride, lhs_dilate, rhs_dilate = (random_shape(rng, space, 1, 3) for _ in range(3))
            padding = [[int(a), int(b)] for a, b in rng.integers(-1, 3, (space, 2))]
            padding = [[a, max(b, -a - (d - 1) * l - 1)] for (a, b), d, l in zip(padding, size, lhs_dilate)]
            reversal = [bool(n) for n in rng.integers(0, 2, space)]
            out_features = groups * int(rng.integers(1, 3))
            per_group = int(rng.integers(1, 3))
            batch = int(rng.integers(1, 3)) * (groups if by_batch else 1)
            features = per_group * (1 if by_batch else groups)
            dims = {
                "x": dict(enumerate(size)),
                "k": dict(enumerate(kernel)),
                "y": {
                    i: windowed(size[i], kernel[i], stride[i], lhs_dilate[i], rhs_dilate[i], *padding[i])
                    for i in range(space)
                },
            }
            dims["x"].update({-1: batch, -2: features})
            dims["k"].update({-1: per_group, -2: out_features})
            dims["y"].update({-1: batch // groups if by_batch else batch, -2: out_features})
            orders, shapes = {}, {}
            for which in "xky":
                labels = list(range(space)) + [-1, -2]
                orders[which] = [labels[int(i)] for i in rng.permutation(space + 2)]
                shapes[which] = [dims[which][o] for o in orders[which]]
            text = "#stablehlo.conv<%sx%s->%s>" % (
                numbers_text(orders["x"], {-1: "b", -2: "f"}),
                numbers_text(orders["k"], {-1: "i", -2: "o"}),
                numbers_text(orders["y"], {-1: "b", -2: "f"}),
            )
            case = Program("convolution", "convolution")
            operands = [case.arg(values(rng, kind, shapes[w], "any" if KINDS[kind].integer else "small")) for w in "xk"]
            yield case.done(
                case.emit(
                    "convolution",
                    operands,
                    tensor(shapes["y"], kind),
                    "window_strides = %s, padding = %s, lhs_dilation = %s, rhs_dilation = %s, window_reversal = %s, "
                    "dimension_numbers = %s, feature_group_count = %d : i64, batch_group_count = %d : i64, "
                    "precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"
                    % (
                        array_text(stride),
                        pairs_text(padding),
                        array_text(lhs_dilate),
                        array_text(rhs_dilate),
                        bools_text(reversal),
                        text,
                        1 if by_batch else groups,
                        groups if by_batch else 1,
                    ),
                )
            )


GENERATORS = [reduce, reduce_window, select_and_scatter, sort, gather, scatter, dot_general, convolution]
