# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: programs of 5 to 20 operations, with loops, branches, calls and mixed types: what fusion, buffer
assignment, copy insertion and the rewrites of whole graphs are given.

Every value carries what is known of it: the largest magnitude it can have, whether it is a whole number, and bounds of
the absolute error that a device (`error`) and XLA (`xla`) may make in it: zero where every step is exact or rounded once,
the textbook's bound for sums in another order (n u sum |x|) and functions (their Lipschitz constant times the operand's
error, and a few places). Operations that are not continuous take exact values only, so results are compared bit for bit,
or within the bounds. Numbers are finite, but for a quarter of the graphs: these round once everywhere, hold NaN,
infinities and both zeros, and are compared between the interpreter, its passes and devices only, since XLA flushes
subnormals.
"""

import numpy as np

from reference_program import *  # noqa: F403
from reference_scope import *  # noqa: F403

# ---- elementwise steps


def step(scope, value, other=None):
    """One operation that keeps shape and type; `other` gives a second operand. A result, or None."""
    kind, k, rng = value.kind, value.known, scope.rng
    other = other or (lambda: scope.like(value))
    make = lambda op, operands, known, attributes="": scope.emit(op, operands, value.shape, kind, known, attributes)
    if kind == "i1":
        op = pick(rng, ["and", "or", "xor", "not"])
        return make(op, [value] if op == "not" else [value, other()], EXACT)
    if not is_real(kind):
        ops = ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "not", "negate"]
        ops += [
            "shift_left",
            "shift_right_logical",
            "shift_right_arithmetic",
            "popcnt",
            "count_leading_zeros",
            "divide",
            "remainder",
        ]
        op = pick(rng, ops + ["abs", "sign"] * (kind in SIGNED))
        if op == "popcnt" and kind == "i4":  # XLA counts the sign-extended byte
            scope.graph.xla = False
        if op in ("not", "negate", "popcnt", "count_leading_zeros", "abs", "sign"):
            return make(op, [value], EXACT)
        second = other()
        if op in ("divide", "remainder"):  # of the least integer by -1 and by 0: open
            one = scope.emit("or", [second, constant_like(scope, value, 1)], value.shape, kind, EXACT)
            two = constant_like(scope, value, 3)
            second = scope.emit("and", [one, two], value.shape, kind, EXACT)
            if kind in ("i4",):
                second = two
        return make(op, [value, second], EXACT)
    if scope.graph.specials:
        op = pick(
            rng,
            ["add", "subtract", "multiply", "divide", "maximum", "minimum", "negate", "abs", "sqrt", "floor", "sign"],
        )
        unary = op in ("negate", "abs", "sqrt", "floor", "sign")
        return make(op, [value] if unary else [value, other()], EXACT)
    op = pick(
        rng,
        [
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "negate",
            "abs",
            "floor",
            "sign",
            "bounded",
            "function",
            "function",
            "divide",
        ],
    )
    if op in ("negate", "abs"):
        return make(op, [value], k)
    if op in ("floor", "sign"):
        return make(op, [value], Known(k.most + 1, True, 0, 0)) if exact(scope, value) else None
    if op == "function":
        return function(scope, value)
    if op == "bounded":  # clamp between constants
        low, high = constant_like(scope, value, -2), constant_like(scope, value, 3)
        return make("clamp", [low, value, high], k._replace(most=min(k.most, 3)))
    second = other()
    o = second.known
    if op in ("maximum", "minimum"):
        return make(
            op,
            [value, second],
            Known(max(k.most, o.most), k.whole and o.whole, max(k.error, o.error), max(k.xla, o.xla)),
        )
    if op == "divide":  # x / (|y| + 1)
        over = scope.emit("abs", [second], value.shape, kind, o)
        ones = constant_like(scope, value, 1)
        known = rounded(kind, o.most + 1, o.whole, o.error, o.xla)
        if known.most > LIMIT[kind] or kind.startswith("f8") or known.error >= 0.25 or known.xla >= 0.25:
            return None
        over = scope.emit("add", [over, ones], value.shape, kind, known)
        error, xla = 2 * (k.error + k.most * known.error), 2 * (k.xla + k.most * known.xla)
        return make("divide", [value, over], rounded(kind, k.most, False, error, xla + 4 * UNIT[kind] * k.most))
    if op == "multiply":
        error = k.most * o.error + o.most * k.error + k.error * o.error
        known = rounded(
            kind, k.most * o.most, k.whole and o.whole, error, k.most * o.xla + o.most * k.xla + k.xla * o.xla
        )
    else:
        known = rounded(kind, k.most + o.most, k.whole and o.whole, k.error + o.error, k.xla + o.xla)
    return make(op, [value, second], known) if known.most <= LIMIT[kind] else None


def function(scope, value):
    """A function that a device may compute in another way, Lipschitz where it is used."""
    kind, k = value.kind, value.known
    if kind.startswith("f8") or k.most > 80:
        return None
    op = pick(scope.rng, ["tanh", "logistic", "sine", "cosine", "log_plus_one", "exponential", "rsqrt"])
    slope, most = 1.0, 1.0
    if op == "exponential":
        if k.most > 5:
            return None
        slope = most = float(np.exp(k.most))
    if op in ("log_plus_one", "rsqrt"):  # of |x|, of |x| + 1
        value = scope.emit("abs", [value], value.shape, kind, k)
        most = max(1.0, float(np.log1p(k.most)))
        if op == "rsqrt":
            known = rounded(kind, k.most + 1, k.whole, k.error, k.xla)
            value, k = scope.emit("add", [value, constant_like(scope, value, 1)], value.shape, kind, known), known
    places = (PLACES if UNIT[kind] < 2.0**-12 else 2) * UNIT[kind] * most + LEAST[kind]
    return scope.emit(
        op, [value], value.shape, kind, Known(most, False, slope * k.error + places, 2 * slope * k.xla + places)
    )


def elementwise(scope):
    wanted = is_real if scope.rng.integers(0, 2) else lambda kind: True
    value = scope.find(lambda v: wanted(v.kind)) or scope.find(lambda v: True)
    return step(scope, value)


def compare_select(scope):
    """A comparison of exact values that chooses between two others."""
    x = scope.find(lambda v: v.kind != "i1" and not v.known.error)
    if x is None or not exact(scope, x):
        return None
    y = scope.like(x, exact=True)
    if not exact(scope, y):
        return None
    direction = pick(scope.rng, ["EQ", "NE", "LT", "LE", "GT", "GE"])
    p = scope.emit(
        "compare",
        [x, y],
        x.shape,
        "i1",
        EXACT,
        "comparison_direction = #stablehlo<comparison_direction %s>" % direction,
    )
    a = scope.find(lambda v: v.shape == x.shape) or x
    b = scope.like(a)
    known = Known(*(max(m, n) for m, n in zip(a.known, b.known)))._replace(whole=a.known.whole and b.known.whole)
    return scope.emit("select", [p, a, b], a.shape, a.kind, known)


def convert(scope):
    value = scope.find(lambda v: True)
    k, target = value.known, pick(scope.rng, REALS * 2 + ["f32"] * 4 + WHOLES + ["i1"])
    if target == value.kind:
        return None
    if is_real(target):
        if scope.graph.specials:
            return scope.emit("convert", [value], value.shape, target, EXACT)
        if not is_real(value.kind):
            bits = KINDS[value.kind].bits
            k = Known(2.0**bits if bits > 1 else 1, True, 0, 0)
        if k.most > LIMIT[target]:
            return None
        return scope.emit("convert", [value], value.shape, target, rounded(target, k.most, k.whole, k.error, k.xla))
    if is_real(value.kind) and not exact(scope, value):
        return None
    return scope.emit("convert", [value], value.shape, target, EXACT)


# ---- movement


def movement(scope):
    rng = scope.rng
    value = scope.find(lambda v: len(v.shape) > 0) or scope.find(lambda v: True)
    shape, kind, known, rank = list(value.shape), value.kind, value.known, len(value.shape)
    make = lambda op, result, attributes="", more=(), known=known: scope.emit(
        op, [value, *more], result, kind, known, attributes
    )
    op = pick(
        rng,
        [
            "reshape",
            "transpose",
            "broadcast",
            "slice",
            "pad",
            "reverse",
            "concatenate",
            "dynamic_slice",
            "update",
            "gather",
        ],
    )
    if op == "broadcast":
        place = int(rng.integers(0, rank + 1))
        if int(np.prod(shape)) > 2000 or rank > 3:
            return None
        result = shape[:place] + [int(rng.integers(1, 6))] + shape[place:]
        dims = [d for d in range(rank + 1) if d != place]
        return make("broadcast_in_dim", result, "broadcast_dimensions = %s" % array_text(dims))
    if not rank:
        return None
    axis = int(rng.integers(0, rank))
    size = shape[axis]
    if op == "reshape":
        split = [f for f in (2, 3, 4) if size % f == 0 and size > f]
        if split and rank < 4 and rng.integers(0, 2):
            f = pick(rng, split)
            return make(op, shape[:axis] + [f, size // f] + shape[axis + 1 :])
        if rank > 1:
            axis = min(axis, rank - 2)
            return make(op, shape[:axis] + [shape[axis] * shape[axis + 1]] + shape[axis + 2 :])
        return make(op, [1] + shape)
    if op == "transpose":
        order = [int(n) for n in rng.permutation(rank)]
        return make(op, [shape[i] for i in order], "permutation = %s" % array_text(order))
    if op == "reverse":
        return make(op, shape, "dimensions = %s" % array_text([axis]))
    if op == "slice":
        start = [int(rng.integers(0, max(d // 2, 1))) for d in shape]
        limit = [int(rng.integers(s + 1, d + 1)) if d else 0 for s, d in zip(start, shape)]
        stride = [int(rng.integers(1, 3)) for _ in shape]
        result = [-(-(b - a) // s) for a, b, s in zip(start, limit, stride)]
        texts = tuple(array_text(n) for n in (start, limit, stride))
        return make(op, result, "start_indices = %s, limit_indices = %s, strides = %s" % texts)
    if op == "pad":
        low, high = [0] * rank, [0] * rank
        low[axis], high[axis] = int(rng.integers(-min(1, size - 1), 3)), int(rng.integers(0, 3))
        interior = [0] * rank
        interior[axis] = int(rng.integers(0, 2))
        result = list(shape)
        result[axis] = size + low[axis] + high[axis] + max(size - 1, 0) * interior[axis]
        filler = scope.fresh((), kind)
        wide = known._replace(most=max(known.most, filler.known.most), whole=known.whole and filler.known.whole)
        texts = tuple(array_text(n) for n in (low, high, interior))
        return make(
            op, result, "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s" % texts, [filler], wide
        )
    if op == "concatenate":
        other = scope.find(
            lambda v: v.kind == kind
            and len(v.shape) == rank
            and v.shape[:axis] == value.shape[:axis]
            and v.shape[axis + 1 :] == value.shape[axis + 1 :]
        )
        result = list(shape)
        result[axis] += other.shape[axis]
        return make(op, result, "dimension = %d : i64" % axis, [other], either(value, other))
    if op == "gather":  # some rows of the first dimension
        count = int(rng.integers(1, 6))
        rows = scope.fresh(
            (count, 1), pick(rng, ["i32", "i64"])
        )  # StableHLO's interpreter reads unsigned indices as signed
        numbers = "offset_dims = %s, collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1" % list(
            range(1, rank)
        )
        return make(
            op,
            [count] + shape[1:],
            "dimension_numbers = #stablehlo.gather<%s>, slice_sizes = %s, indices_are_sorted = false"
            % (numbers, array_text([1] + shape[1:])),
            [rows],
        )
    starts = [scope.find(lambda v: v.shape == () and v.kind in ("i32", "i64", "ui8")) for _ in shape]
    index_kind = starts[0].kind if starts[0] else "i32"
    starts = [s if s and s.kind == index_kind else scope.fresh((), index_kind) for s in starts]
    sizes = [int(rng.integers(1, d + 1)) if d else 0 for d in shape]
    if op == "dynamic_slice":
        return make(op, sizes, "slice_sizes = %s" % array_text(sizes), starts)
    update = scope.find(
        lambda v: v.kind == kind and len(v.shape) == rank and all(a <= b for a, b in zip(v.shape, shape))
    )
    return make("dynamic_update_slice", shape, "", [update] + starts, either(value, update))


# ---- reductions, windows, products, order


def combinable(scope, kind):
    if kind == "i1":
        return ["and", "or"]
    if not is_real(kind):
        return ["add", "maximum", "minimum", "and", "or", "xor", "multiply"]
    return ["maximum", "minimum"] if scope.graph.specials else ["add", "add", "maximum", "minimum"]


def start_of(scope, op, kind):
    """A combiner's neutral value, or what it ignores."""
    number = {"multiply": "1", "and": "-1"}.get(op, "0")
    if kind == "i1":
        number = "true" if op == "and" else "false"
    elif op in ("maximum", "minimum"):
        if is_real(kind):
            bits = KINDS[kind].bits
            limit = np.array(-np.inf if op == "maximum" else np.inf).astype(KINDS[kind].dtype)
            if np.isnan(limit.astype(np.float64)):
                info = ml_dtypes.finfo(KINDS[kind].dtype)
                limit = np.array(info.min if op == "maximum" else info.max).astype(KINDS[kind].dtype)
            number = "0x%0*X" % (bits // 4, int(pattern(limit)))
        else:
            low = -(1 << (KINDS[kind].bits - 1)) if kind in SIGNED else 0
            number = str(low if op == "maximum" else (1 << (KINDS[kind].bits - int(kind in SIGNED))) - 1)
    elif is_real(kind):
        number += ".0"
    elif op == "and" and kind in UNSIGNED:
        number = str((1 << KINDS[kind].bits) - 1)
    scope.graph.count += 1
    name = "%%v%d" % scope.graph.count
    scope.lines.append("  %s = stablehlo.constant dense<%s> : tensor<%s>" % (name, number, kind))
    return Value(name, (), kind, EXACT)


def combined(value, op, count):
    if is_real(value.kind) and op == "add":
        return total(value.kind, value.known, count)
    return value.known


def reduce(scope):
    rng = scope.rng
    value = scope.find(lambda v: len(v.shape) > 0)
    if value is None or min(value.shape) == 0:
        return None
    op = pick(rng, combinable(scope, value.kind))
    dims = sorted(int(d) for d in rng.permutation(len(value.shape))[: int(rng.integers(1, len(value.shape) + 1))])
    known = combined(value, op, int(np.prod([value.shape[d] for d in dims])))
    if is_real(value.kind) and known.most > LIMIT[value.kind]:
        return None
    result = [d for i, d in enumerate(value.shape) if i not in dims]
    operands = [value, start_of(scope, op, value.kind)]
    return scope.emit(
        "reduce", operands, result, value.kind, known, "dimensions = %s" % array_text(dims), combiner(op, value.kind)
    )


def reduce_window(scope):
    rng = scope.rng
    value = scope.find(lambda v: 0 < len(v.shape) < 4 and min(v.shape) > 0)
    if value is None:
        return None
    op = pick(rng, combinable(scope, value.kind))
    axis = int(rng.integers(0, len(value.shape)))
    size, rank = value.shape[axis], len(value.shape)
    ones, padding, result = [1] * rank, [[0, 0] for _ in range(rank)], list(value.shape)
    window, stride = list(ones), list(ones)
    if rng.integers(0, 2):  # a running total
        window[axis], padding[axis] = size, [size - 1, 0]
    else:
        window[axis], stride[axis] = int(rng.integers(1, size + 1)), int(rng.integers(1, 3))
        result[axis] = (size - window[axis]) // stride[axis] + 1
    known = combined(value, op, window[axis])
    if is_real(value.kind) and known.most > LIMIT[value.kind]:
        return None
    attributes = "window_dimensions = %s, window_strides = %s, padding = %s"
    texts = array_text(window), array_text(stride), pairs_text(padding)
    operands = [value, start_of(scope, op, value.kind)]
    return scope.emit(
        "reduce_window", operands, result, value.kind, known, attributes % texts, combiner(op, value.kind)
    )


def dot(scope):
    """Two values over a dimension of the same size; batched sometimes."""
    rng = scope.rng
    x = scope.find(
        lambda v: 0 < len(v.shape) < 4 and min(v.shape) > 0 and v.kind != "i1" and not v.kind.startswith("f8")
    )
    if x is None or scope.graph.specials and is_real(x.kind):
        return None
    axis = int(rng.integers(0, len(x.shape)))
    size = x.shape[axis]
    y = scope.find(lambda v: v.kind == x.kind and size in v.shape and len(v.shape) < 3) or scope.fresh(
        (size, 3), x.kind
    )
    place = y.shape.index(size)
    batch, rest_x, rest_y = [], list(x.shape), list(y.shape)
    pairs = [
        (i, j) for i, m in enumerate(x.shape) for j, n in enumerate(y.shape) if m == n and i != axis and j != place
    ]
    if pairs and rng.integers(0, 2):
        batch = [pick(rng, pairs)]
    bx, by = [i for i, _ in batch], [j for _, j in batch]
    result = [x.shape[i] for i in bx]
    result += [d for i, d in enumerate(rest_x) if i != axis and i not in bx]
    result += [d for j, d in enumerate(rest_y) if j != place and j not in by]
    if int(np.prod(result)) * size > 20000:
        return None
    known = EXACT
    if is_real(x.kind):
        k, o = x.known, y.known
        error = k.most * o.error + o.most * k.error + k.error * o.error
        xla = k.most * o.xla + o.most * k.xla + k.xla * o.xla
        known = total(x.kind, Known(k.most * o.most, k.whole and o.whole, error, xla), size)
        if known.most > LIMIT[x.kind]:
            return None
    numbers = (
        "lhs_batching_dimensions = %s, rhs_batching_dimensions = %s, lhs_contracting_dimensions = [%d], "
        "rhs_contracting_dimensions = [%d]"
    )
    return scope.emit(
        "dot_general",
        [x, y],
        result,
        x.kind,
        known,
        "dot_dimension_numbers = #stablehlo.dot<%s>" % (numbers % (bx, by, axis, place)),
    )


def convolution(scope):
    """Over one dimension of windows, the last; features are the one before, so that chains of them fit."""
    rng = scope.rng
    x = scope.find(
        lambda v: len(v.shape) in (2, 3) and min(v.shape) > 0 and v.kind != "i1" and not v.kind.startswith("f8")
    )
    if x is None or scope.graph.specials and is_real(x.kind):
        return None
    if len(x.shape) == 2:
        x = scope.emit("reshape", [x], (1,) + x.shape, x.kind, x.known)
    batch, features, size = x.shape
    groups = pick(rng, [g for g in (1, 2, features) if features % g == 0])
    window, stride, dilation = int(rng.integers(1, min(size, 4) + 1)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    kernel = scope.fresh((groups * int(rng.integers(1, 4)), features // groups, window), x.kind)
    padding = [int(n) for n in rng.integers(0, 3, 2)]
    spread = (window - 1) * dilation + 1
    extent = (size + sum(padding) - spread) // stride + 1
    if extent < 1 or kernel.shape[0] * extent * batch * features > 4000:
        return None
    known = EXACT
    if is_real(x.kind):
        k, o = x.known, kernel.known
        product = Known(k.most * o.most, k.whole and o.whole, k.error * o.most, k.xla * o.most)
        known = total(x.kind, product, window * kernel.shape[1])
        if known.most > LIMIT[x.kind]:
            return None
    attributes = (
        "window_strides = array<i64: %d>, padding = dense<[%s]> : tensor<1x2xi64>, lhs_dilation = array<i64: 1>, rhs_dilation = "
        "array<i64: %d>, window_reversal = array<i1: %s>, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, "
        "feature_group_count = %d : i64, batch_group_count = 1 : i64"
        % (stride, padding, dilation, pick(rng, ["true", "false"]), groups)
    )
    return scope.emit("convolution", [x, kernel], (batch, kernel.shape[0], extent), x.kind, known, attributes)


def sort(scope):
    """Sorted along a dimension, with the positions carried along."""
    rng = scope.rng
    value = scope.find(lambda v: len(v.shape) > 0 and v.kind != "i1" and min(v.shape) > 0 and not v.known.error)
    if value is None or not exact(scope, value) or scope.graph.specials and is_real(value.kind):
        return None
    axis = int(rng.integers(0, len(value.shape)))
    position = scope.emit("iota", [], value.shape, "i32", EXACT, "iota_dimension = %d : i64" % axis)
    t = "tensor<%s>" % value.kind
    direction = pick(rng, ["LT", "GT"])
    body = region(
        [value.kind, value.kind, "i32", "i32"],
        [
            "%%y = \"stablehlo.compare\"(%%x0, %%x1) <{comparison_direction = #stablehlo<comparison_direction %s>}> : (%s, %s) -> tensor<i1>"
            % (direction, t, t)
        ],
        [("%y", "i1")],
    )
    results = [(value.shape, value.kind, value.known), (value.shape, "i32", EXACT)]
    return scope.emit_many("sort", [value, position], results, "dimension = %d : i64, is_stable = true" % axis, body)[0]


def scatter(scope):
    """Rows combined with those of the first dimension. The operand is copied, by a reversal of no dimension: StableHLO's
    interpreter (that of jaxlib) scatters into the operand itself, and whatever else takes it sees that."""
    rng = scope.rng
    value = scope.find(lambda v: len(v.shape) > 0 and min(v.shape) > 0)
    if value is None:
        return None
    op, count = pick(rng, combinable(scope, value.kind)), int(rng.integers(1, 5))
    rows = scope.fresh((count, 1), pick(rng, ["i32", "i64"]))
    shape = (count,) + value.shape[1:]
    updates = scope.find(lambda v: v.kind == value.kind and v.shape == shape) or scope.fresh(shape, value.kind)
    known = either(value, updates)
    if is_real(value.kind) and op == "add":
        known = total(value.kind, known, count + 1)
        if known.most > LIMIT[value.kind]:
            return None
    numbers = (
        "update_window_dims = %s, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    )
    attributes = (
        "scatter_dimension_numbers = #stablehlo.scatter<%s>, indices_are_sorted = false, unique_indices = false"
    )
    attributes = attributes % (numbers % list(range(1, len(shape))))
    value = scope.emit("reverse", [value], value.shape, value.kind, value.known, "dimensions = array<i64>")
    scope.values.remove(value)
    return scope.emit(
        "scatter", [value, rows, updates], value.shape, value.kind, known, attributes, combiner(op, value.kind)
    )


def mapped(scope):
    value = scope.find(lambda v: len(v.shape) > 0 and v.kind != "i1")
    if value is None or is_real(value.kind):
        return None
    other = scope.like(value)
    attributes = "dimensions = %s" % array_text(range(len(value.shape)))
    op = pick(scope.rng, ["subtract", "xor", "maximum"])
    return scope.emit(
        "map", [value, other], value.shape, value.kind, EXACT, attributes, combiner(op, value.kind, "%x1", "%x0")
    )


# ---- control


def chain(scope, value, length):
    """Some operations that lead from a value to one of its type."""
    for _ in range(length):
        value = step(scope, value) or value
    return value


def closed(scope, parameters, returned):
    """A region's text from its scope."""
    kinds = ", ".join(tensor(v.shape, v.kind) for v in returned)
    return "{\n%s%s\n    \"stablehlo.return\"(%s) : (%s) -> ()\n  }" % (
        parameters,
        "\n".join(scope.lines),
        ", ".join(v.name for v in returned),
        kinds,
    )


def branch(scope):
    """if and case whose branches compute on what they capture."""
    rng = scope.rng
    value = scope.find(lambda v: True)
    count = int(rng.integers(1, 4))
    results, regions = [], []
    for _ in range(count + 1):
        inner = Scope(scope.graph, scope)
        results.append(chain(inner, value, int(rng.integers(0, 4))))
        regions.append(closed(inner, "", [results[-1]]))
    known = results[0].known
    for r in results[1:]:
        known = either(Value("", (), "", known), r)
    if count == 1:
        p = scope.find(lambda v: v.kind == "i1" and v.shape == ()) or scope.fresh((), "i1")
        return scope.emit("if", [p], value.shape, value.kind, known, "", ", ".join(regions))
    index = scope.find(lambda v: v.kind == "i32" and v.shape == ()) or scope.fresh((), "i32")
    return scope.emit("case", [index], value.shape, value.kind, known, "", ", ".join(regions))


def loop(scope):
    """while over a counter and two values of a type, which trade places; steps that grow slowly."""
    rng, graph = scope.rng, scope.graph
    x = scope.find(lambda v: not v.known.error)
    if x is None:
        return None
    y = scope.like(x, exact=True)
    trips = int(rng.integers(0, 6))
    graph.count += 1
    names = ["%%%s%d" % (n, graph.count) for n in ("at", "left", "right")]
    t = tensor(x.shape, x.kind)
    head = "  ^bb0(%s: tensor<i32>, %s: %s, %s: %s):\n" % (names[0], names[1], t, names[2], t)
    if rng.integers(0, 2):
        limit = scope.constant_number(trips)
    else:
        limit = Value(graph.case.arg(np.array(trips, np.int32)), (), "i32", EXACT)
    known = either(x, y)
    test = (
        "    %%more = \"stablehlo.compare\"(%s, %s) <{comparison_direction = #stablehlo<comparison_direction LT>}> : "
        "(tensor<i32>, tensor<i32>) -> tensor<i1>\n    \"stablehlo.return\"(%%more) : (tensor<i1>) -> ()\n"
        % (names[0], limit.name)
    )
    cond = "{\n%s%s  }" % (head, test)
    inner = Scope(graph, scope)
    counter = Value(names[0], (), "i32", EXACT)
    a, b = Value(names[1], x.shape, x.kind, known), Value(names[2], x.shape, x.kind, known)
    inner.values += [counter, a, b]
    one = inner.constant_number(1)
    following = inner.emit("add", [counter, one], (), "i32", EXACT)
    grown, steady = a, known
    for _ in range(int(rng.integers(1, 4))):
        grown, steady = slow(inner, grown, counter, steady, trips, scope.values)
    pair = [b, grown] if rng.integers(0, 2) else [grown, b]
    if rng.integers(0, 3) == 0 and grown is not a:
        pair = [grown, a]
    body = closed(inner, head, [following] + pair)
    start = scope.constant_number(0)
    results = [((), "i32", EXACT), (x.shape, x.kind, steady), (x.shape, x.kind, steady)]
    return scope.emit_many("while", [start, x, y], results, "", cond + ", " + body)[1]


def slow(scope, value, counter, known, trips, outside):
    """A loop's step whose effect after all trips can be told: the value, and what is known at the end. Other operands
    come from outside the loop."""
    rng, kind = scope.rng, value.kind
    if not is_real(kind) or scope.graph.specials:
        return step(scope, value), EXACT
    op = pick(rng, ["add", "maximum", "negate", "reverse", "update", "select"])
    make = lambda op, operands, attributes="": scope.emit(op, operands, value.shape, kind, known, attributes)
    if op == "negate" or op == "reverse" and not value.shape:
        return make("negate", [value]), known
    if op == "reverse":
        return make(op, [value], "dimensions = array<i64: 0>"), known
    if op == "update":
        if not value.shape or min(value.shape) == 0:
            return value, known
        sizes = [1] + list(value.shape[1:])
        zero = scope.constant_number(0)
        rest = [zero] * (len(sizes) - 1)
        row = scope.emit(
            "dynamic_slice", [value, zero] + rest, sizes, kind, known, "slice_sizes = %s" % array_text(sizes)
        )
        return make("dynamic_update_slice", [value, row, counter] + rest), known
    others = [v for v in outside if v.shape == value.shape and v.kind == kind and not v.known.error]
    if not others:
        return value, known
    other = pick(rng, others)
    if op == "select":
        direction = "comparison_direction = #stablehlo<comparison_direction LT>"
        p = scope.emit("compare", [counter, scope.constant_number(2)], (), "i1", EXACT, direction)
        return make(op, [p, value, other]), either(Value("", (), "", known), other)
    if op == "maximum":
        return make(op, [value, other]), either(Value("", (), "", known), other)
    most = known.most + trips * other.known.most
    if most > LIMIT[kind]:
        return value, known
    once = rounded(kind, most, known.whole and other.known.whole, 0, known.xla + other.known.xla)
    return make("add", [value, other]), once._replace(xla=known.xla + trips * once.xla)


def call(scope):
    """A function called twice, or a composite of it."""
    rng, graph = scope.rng, scope.graph
    if scope.depth:
        return None
    value = scope.find(lambda v: not is_real(v.kind) or graph.specials)
    if value is None:
        return None
    graph.count += 1
    name, t = "@helper%d" % graph.count, tensor(value.shape, value.kind)
    inner = Scope(graph)
    parameter = Value("%%c%d" % graph.count, value.shape, value.kind, EXACT)
    inner.depth, inner.values = 1, [parameter]
    result = chain(inner, parameter, 3)
    graph.case.functions.append(
        "func.func private %s(%s: %s) -> %s {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n"
        % (name, parameter.name, t, t, "\n".join(inner.lines), result.name, t)
    )
    for _ in range(2):
        if rng.integers(0, 2):
            attributes = (
                "name = \"test.composite\", composite_attributes = {}, decomposition = %s, version = 1 : i32" % name
            )
            value = scope.emit("composite", [value], value.shape, value.kind, EXACT, attributes)
        else:
            value = scope.emit("func.call", [value], value.shape, value.kind, EXACT, "callee = %s" % name)
    return value


STEPS = (
    [elementwise] * 7
    + [compare_select] * 2
    + [convert] * 3
    + [movement] * 7
    + [reduce] * 2
    + [reduce_window, dot, dot, sort, scatter, convolution]
)
STEPS += [mapped, branch, branch, loop, loop, call]


def graphs(rng):
    for number in range(240):
        graph = Graph(rng, number % 4 == 3)
        scope = Scope(graph)
        shape = pick(
            rng, [(), (4,), (3, 4), (2, 3, 4), (8, 8), (5, 7), (17, 16), (33,), (40, 9), (2, 2, 3, 5), (1, 6), (64, 3)]
        )
        for _ in range(int(rng.integers(1, 4))):
            kind = pick(rng, REALS + ["f32", "f32", "f64"] + WHOLES + ["i1", "i32"])
            scope.values.append(graph.argument(shape, kind))
        target = int(rng.integers(5, 21))
        for _ in range(60):
            if len([line for line in scope.lines if "constant dense" not in line]) >= target:
                break
            pick(rng, STEPS)(scope)
        yield finished(graph, scope)


def finished(graph, scope):
    """The case: it returns what nothing else takes, and one or two more."""
    case, rng = graph.case, graph.rng
    case.lines = scope.lines
    text = "\n".join(scope.lines)
    made = [v for v in scope.values if v.name.startswith("%v")]
    taken = lambda v: len(re.findall(re.escape(v.name) + r"\b(?!#)", text)) > 1
    ends = [v for v in made if not taken(v)]
    ends += [made[int(rng.integers(0, len(made)))] for _ in range(int(rng.integers(0, 3)))]
    seen = []
    for v in ends or made[-1:]:
        if v not in seen:
            seen.append(v)
    case.types.update({v.name: tensor(v.shape, v.kind) for v in seen})
    case.slack = [(2 * v.known.error, 2 * v.known.xla + 2 * v.known.error) for v in seen]
    if not graph.xla:
        case.avoid += ("xla",)
    return case.done([v.name for v in seen])


GENERATORS = [graphs]
