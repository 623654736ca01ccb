# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: elementwise operations of StableHLO."""

import itertools

import numpy as np

from reference_formulas import by_formula, cut_precision, rounded, total_key
from reference_program import *  # noqa: F403

ROUNDED = [
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "cosine",
    "sine",
    "tan",
    "tanh",
    "cbrt",
    "rsqrt",
]
EXACT = ["abs", "negate", "sign", "ceil", "floor", "round_nearest_afz", "round_nearest_even", "sqrt"]


def free(kind, op=""):
    """Units in the last place that a function is allowed to differ by."""
    return 1 if KINDS[kind].bits < 16 else 2 if kind in ("bf16", "f16") else 64 if KINDS[kind].complex else 8


def unary(rng):
    for op, kind in itertools.product(EXACT + ROUNDED, FLOATS):
        for shape in ((11,), pick(rng, SHAPES)):
            case, x = Program("unary float", op, ulps=free(kind) if op in ROUNDED else 0), values(rng, kind, shape)
            by_formula(case, op, kind, x)
            yield case.done(case.emit(op, [case.arg(x)], tensor(shape, kind)))
    for kind in FLOATS:
        case = Program("unary float", "is_finite")
        yield case.done(case.emit("is_finite", [case.arg(values(rng, kind, (13,)))], tensor((13,), "i1")))
    for op, kinds in (
        ("abs", SIGNED),
        ("negate", INTEGERS),
        ("sign", SIGNED),
        ("not", INTEGERS + ["i1"]),
        ("popcnt", INTEGERS),
        ("count_leading_zeros", INTEGERS),
    ):
        for kind in kinds:
            for shape in ((9,), pick(rng, SHAPES)):
                case = Program("unary integer", op)
                yield case.done(case.emit(op, [case.arg(values(rng, kind, shape))], tensor(shape, kind)))
    for op, kind in itertools.product(["abs", "negate", "sign", "sqrt", "real", "imag"] + ROUNDED, COMPLEX):
        shape = pick(rng, [(6,), (2, 3), ()])
        case = Program("unary complex", op, ulps=0 if op in ("negate", "real", "imag") else free(kind))
        result = KINDS[kind].part if op in ("abs", "real", "imag") else kind
        if op == "abs":
            case.ulps = 4
        yield case.done(case.emit(op, [case.arg(values(rng, kind, shape, "plain"))], tensor(shape, result)))
    for op, kind in itertools.product(["real", "imag", "negate"], BIG[2:] + COMPLEX):
        if op != "negate" or kind in COMPLEX:
            case = Program("unary complex", op)
            yield case.done(
                case.emit(
                    op,
                    [case.arg(values(rng, kind, (7,)))],
                    tensor((7,), kind if op == "negate" else KINDS[kind].part or kind),
                )
            )
    for kind in BIG + F8:
        exponent, mantissa = int(rng.integers(1, 9)), int(rng.integers(0, 12))
        case, x = Program("unary float", "reduce_precision"), values(rng, kind, (12,))
        case.expected, case.loose = [cut_precision(x, exponent, mantissa)], np.isnan(x.astype(np.float64))
        yield case.done(
            case.emit(
                "reduce_precision",
                [case.arg(x)],
                tensor((12,), kind),
                "exponent_bits = %d : i32, mantissa_bits = %d : i32" % (exponent, mantissa),
            )
        )


def binary(rng):
    arithmetic = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power"]
    for op, kind in itertools.product(arithmetic + ["atan2"], FLOATS):
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("binary float", op, ulps=free(kind) if op in ("power", "atan2") else 0)
            x, y = values(rng, kind, shape), values(rng, kind, shape)
            by_formula(case, op, kind, x, y)
            yield case.done(case.emit(op, [case.arg(x), case.arg(y)], tensor(shape, kind)))
    for op, kind in itertools.product(arithmetic, INTEGERS):
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("binary integer", op)
            y = values(rng, kind, shape, "small" if op == "power" else "any")
            if op in ("divide", "remainder"):  # by zero: implementation-defined, so not compared
                y = np.where(y == 0, np.ones_like(y), y).astype(y.dtype).reshape(shape)
            x, y = case.arg(values(rng, kind, shape)), case.arg(y)
            yield case.done(case.emit(op, [x, y], tensor(shape, kind)))
    for op, kind in itertools.product(
        ["and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"], INTEGERS + ["i1"]
    ):
        if kind == "i1" and op.startswith("shift"):
            continue
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("bitwise", op)
            x, y = values(rng, kind, shape), values(rng, kind, shape)
            if op.startswith("shift") and rng.integers(0, 2):
                y = (np.abs(y.astype(np.int64)) % KINDS[kind].bits).astype(y.dtype).reshape(shape)
            yield case.done(case.emit(op, [case.arg(x), case.arg(y)], tensor(shape, kind)))
    for op in ("add", "multiply", "maximum", "minimum"):
        case = Program("binary i1", op)
        yield case.done(
            case.emit(op, [case.arg(values(rng, "i1", (8,))), case.arg(values(rng, "i1", (8,)))], tensor((8,), "i1"))
        )
    for op, kind in itertools.product(["add", "subtract", "multiply", "divide", "power", "atan2"], COMPLEX):
        case = Program("binary complex", op, ulps=0 if op in ("add", "subtract") else 64)
        x, y = case.arg(values(rng, kind, (7,), "plain")), case.arg(values(rng, kind, (7,), "plain"))
        yield case.done(case.emit(op, [x, y], tensor((7,), kind)))
    for part, shape in itertools.product(["f32", "f64"], [(), (4,), (0, 2)]):
        case = Program("binary complex", "complex")
        x, y = case.arg(values(rng, part, shape)), case.arg(values(rng, part, shape))
        yield case.done(case.emit("complex", [x, y], tensor(shape, "complex<%s>" % part)))


def ternary(rng):
    for kind in INTEGERS + FLOATS:
        for bounds in ((), (9,)):
            case = Program("clamp", "clamp")
            low, x, high = (case.arg(values(rng, kind, s)) for s in (bounds, (9,), bounds))
            yield case.done(case.emit("clamp", [low, x, high], tensor((9,), kind)))
    for kind in ALL + TINY:
        for shape in (pick(rng, SHAPES), (6,)):
            case = Program("select", "select")
            p = case.arg(values(rng, "i1", pick(rng, [(), shape])))
            x, y = case.arg(values(rng, kind, shape)), case.arg(values(rng, kind, shape))
            yield case.done(case.emit("select", [p, x, y], tensor(shape, kind)))


RELATIONS = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


def compare(rng):
    for direction, kind in itertools.product(
        ["EQ", "NE", "LT", "LE", "GT", "GE"], ["i1"] + INTEGERS + FLOATS + COMPLEX
    ):
        if kind in COMPLEX and direction not in ("EQ", "NE"):
            continue
        for type_ in (
            ["FLOAT", "TOTALORDER"]
            if kind in FLOATS
            else ["FLOAT"] if kind in COMPLEX else ["SIGNED" if KINDS[kind].signed else "UNSIGNED"]
        ):
            shape = pick(rng, SHAPES + [(12,)] * 6)
            case = Program("compare", "compare", note=type_)
            x = values(rng, kind, shape)
            y = np.where(values(rng, "i1", shape), x, values(rng, kind, shape)).astype(x.dtype).reshape(shape)
            if kind not in COMPLEX:
                a, b = (
                    total_key(v) if type_ == "TOTALORDER" else v.astype(np.float64 if kind in FLOATS else object)
                    for v in (x, y)
                )
                case.expected = [np.asarray(RELATIONS[direction](a, b)).astype(bool)]
            yield case.done(
                case.emit(
                    "compare",
                    [case.arg(x), case.arg(y)],
                    tensor(shape, "i1"),
                    "comparison_direction = #stablehlo<comparison_direction %s>, "
                    "compare_type = #stablehlo<comparison_type %s>" % (direction, type_),
                )
            )


def convert(rng):
    for source, target in itertools.product(ALL + TINY, ALL + TINY):
        shape = pick(rng, [(16,)] * 6 + [(), (0,), (2, 3)])
        case, x = Program("convert", "convert", note="%s to %s" % (source, target)), values(rng, source, shape)
        if target in ("f4E2M1FN", "f6E2M3FN", "f6E3M2FN") and not KINDS[source].integer:
            with np.errstate(invalid="ignore"):  # of NaN nothing is said where there is none
                case.free = [np.isnan(x.real.astype(np.float64))]
        if target in TINY and not KINDS[source].integer:  # the peers are excused for what overflows here, or has no pattern
            with np.errstate(invalid="ignore"):
                case.expected = [rounded(np.asarray(x.real, np.float64), KINDS[target].dtype)]
        yield case.done(case.emit("convert", [case.arg(x)], tensor(shape, target)))
    for source, target in itertools.product(INTEGERS + FLOATS + COMPLEX, INTEGERS + FLOATS + COMPLEX):
        a, b = KINDS[source].bits, KINDS[target].bits
        shape, result = (2, 3), (2, 3)
        if a > b:
            result = shape + (a // b,)
        elif b > a:
            shape = result + (b // a,)
        if (source in COMPLEX) == (target in COMPLEX):
            case = Program("bitcast_convert", "bitcast_convert", note="%s to %s" % (source, target))
            yield case.done(
                case.emit("bitcast_convert", [case.arg(values(rng, source, shape))], tensor(result, target))
            )


GENERATORS = [unary, binary, ternary, compare, convert]
