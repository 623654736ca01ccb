# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: quantized types.

Quantized operations are those on f32 between dequantize and quantize (the specification's dequantize_op_quantize), so the f32
programs of the other modules are made quantized ones: arguments are stored integers, bit-cast to a quantized type, and so are
the results. StableHLO's interpreter runs them as they are; both oracles run the f32 program (its "twin"), whose results are
quantized here. Per-axis types and those with several scales have formulas of their own."""

import copy
import re

import numpy as np

import reference_algebra
import reference_elementwise
import reference_movement
import reference_structured
from reference_program import *  # noqa: F403
from reference_coverage import ALLOWED

STORAGE = {"i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i4": KINDS["i4"].dtype}
TAKEN = {op for classes, ops in ALLOWED.items() if "Q" in classes for op in ops.split()}
GRID = {"reduce", "reduce_window", "scatter", "map", "while", "select_and_scatter", "convolution"}
SOURCES = [
    g
    for m in (reference_elementwise, reference_movement, reference_structured, reference_algebra)
    for g in m.GENERATORS
]


class Scheme:
    """A per-tensor quantization with its two formulas in f32."""

    def __init__(self, storage, scale, zero):
        self.storage, self.scale, self.zero = storage, np.float32(scale), zero
        kind = KINDS[storage]
        self.dtype, self.low = kind.dtype, -(1 << (kind.bits - 1)) if kind.signed else 0
        self.high = self.low + (1 << kind.bits) - 1
        self.text = "!quant.uniform<%s:f32, %r:%d>" % (storage.replace("ui", "u"), float(scale), zero)

    def quantize(self, x):
        with np.errstate(all="ignore"):
            q = np.asarray(x, np.float32) / self.scale + np.float32(self.zero)
        return np.rint(np.nan_to_num(np.clip(q, self.low, self.high))).astype(np.int64).astype(self.dtype)

    def dequantize(self, q):
        return (q.astype(np.int64) - self.zero).astype(np.float32) * self.scale


def random_scheme(rng, grid):
    """`grid`: a power of two, on which small integers and their sums are exact."""
    storage = pick(rng, ["i8", "i8", "ui8", "i16"])
    scale = pick(rng, [0.25, 0.5]) if grid else pick(rng, [0.1, 0.0625, 0.5, 0.03])
    return Scheme(storage, scale, int(rng.integers(60, 130)) if storage == "ui8" else int(rng.integers(-6, 7)))


def to_quantized(case, scheme):
    """A program on f32 as one on a quantized type."""
    new = Program("quantized", case.op, note=case.note)
    change = lambda text: re.sub(r"(tensor<(?:\d+x)*)f32>", lambda m: m[1] + scheme.text + ">", text)
    twin = copy.copy(case)
    twin.arguments, prologue, names = [], [], {}
    for i, x in enumerate(case.arguments):
        if name_of(x.dtype) != "f32":
            new.arg(x)
            twin.arguments.append(x)
            continue
        stored = scheme.quantize(x)
        twin.arguments.append(scheme.dequantize(stored).reshape(x.shape))
        value = new.arg(stored.reshape(x.shape))
        prologue.append(
            "  %%q%d = \"stablehlo.bitcast_convert\"(%s) : (%s) -> %s"
            % (i, value, new.types[value], change(type_text(x)))
        )
        names[value] = "%%q%d" % i
    body = re.sub(r"%a\d+\b", lambda m: names.get(m[0], m[0]), change(case.body))
    new.lines = prologue + [body]
    new.used = [
        (op, ["quantized" if k == "f32" else k for k in a], ["quantized" if k == "f32" else k for k in b])
        for op, a, b in case.used
    ]
    finish = []
    for i, (value, text) in enumerate(zip(case.returns, case.results)):
        if "f32" in text:
            target = text.replace("f32", scheme.storage)
            new.lines.append(
                "  %%z%d = \"stablehlo.bitcast_convert\"(%s) : (%s) -> %s" % (i, value, change(text), target)
            )
            value, text = "%%z%d" % i, target
        finish.append(scheme if "f32" in case.results[i] else None)
        new.returns.append(value)
        new.results.append(text)
    new.twin, new.finish = twin, finish
    if case.ulps or case.close or case.op in ("divide", "sqrt"):
        new.ulps, new.integer_slack = 1, True  # what falls between two steps may go either way
    return new


def derived(rng):
    """A few programs of every operation that takes quantized tensors."""
    seen = {}
    for generator in SOURCES:
        for case in generator(rng):
            names = {op.split(".")[1] for op, _, _ in case.used}
            kinds = {k for _, a, b in case.used for k in a + b}
            if (
                "bitcast_convert" in names
                or not names <= TAKEN | {"constant"}
                or "f32" not in kinds
                or kinds & {"f64", "f16", "bf16"} | kinds & set(F8 + TINY + COMPLEX)
            ):
                continue
            if case.note in ("multiply", "rounded", "argmax") and case.op in ("reduce", "reduce_window", "dot_general"):
                continue
            if seen.get((case.op, case.note), 0) < 3:
                seen[case.op, case.note] = seen.get((case.op, case.note), 0) + 1
                scheme = random_scheme(rng, case.op in GRID)
                if case.op == "dot_general":  # C15: the right side's zero point is 0
                    scheme = Scheme("i8", 0.25, 0)
                yield to_quantized(case, scheme)


def conversions(rng):
    for _ in range(6):
        a, b = random_scheme(rng, False), random_scheme(rng, False)
        x = values(rng, "f32", (9,), pick(rng, ["any", "plain"]))
        case = Program("quantized", "uniform_quantize", expected=[a.quantize(x)])
        q = case.emit("uniform_quantize", [case.arg(x)], "tensor<9x%s>" % a.text)
        yield case.done(case.emit("bitcast_convert", [q], tensor((9,), a.storage)))
        stored = values(rng, a.storage, (9,))
        case = Program("quantized", "uniform_dequantize", expected=[a.dequantize(stored)])
        q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<9x%s>" % a.text)
        yield case.done(case.emit("uniform_dequantize", [q], tensor((9,), "f32")))
        case = Program("quantized", "uniform_quantize", expected=[b.quantize(a.dequantize(stored))])
        q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<9x%s>" % a.text)
        r = case.emit("uniform_quantize", [q], "tensor<9x%s>" % b.text)
        yield case.done(case.emit("bitcast_convert", [r], tensor((9,), b.storage)))
        c, other = random_scheme(rng, False), values(rng, b.storage, (9,))
        for op, function in (
            ("add", np.add),
            ("multiply", np.multiply),
            ("subtract", np.subtract),
            ("maximum", np.maximum),
        ):
            schemes = [a, b, c] if op == "add" else [a, a, a]
            other = values(rng, schemes[1].storage, (9,))
            case = Program(
                "quantized",
                op,
                expected=[schemes[2].quantize(function(a.dequantize(stored), schemes[1].dequantize(other)))],
            )
            if op == "add" and len({s.storage for s in schemes}) > 1:
                continue
            q = [
                case.emit("bitcast_convert", [case.arg(v)], "tensor<9x%s>" % s.text)
                for v, s in zip((stored, other), schemes)
            ]
            r = case.emit(op, q, "tensor<9x%s>" % schemes[2].text)
            yield case.done(case.emit("bitcast_convert", [r], tensor((9,), schemes[2].storage)))


def axis_text(scales, zeros, axis):
    return "!quant.uniform<i8:f32:%d, {%s}>" % (axis, ", ".join("%r:%d" % (s, z) for s, z in zip(scales, zeros)))


def per_axis(rng):
    """One scale and zero point for each index of a dimension, here three."""
    for _ in range(3):
        scales, zeros = [float(pick(rng, [0.5, 0.25, 0.1])) for _ in range(3)], [int(z) for z in rng.integers(-5, 6, 3)]
        schemes = [Scheme("i8", s, z) for s, z in zip(scales, zeros)]
        at = lambda axis: axis_text(scales, zeros, axis)
        stored, x = values(rng, "i8", (3, 2)), values(rng, "f32", (3, 2), "plain")
        real = np.stack([s.dequantize(q) for s, q in zip(schemes, stored)])
        case = Program(
            "quantized per axis", "uniform_quantize", expected=[np.stack([s.quantize(v) for s, v in zip(schemes, x)])]
        )
        q = case.emit("uniform_quantize", [case.arg(x)], "tensor<3x2x%s>" % at(0))
        yield case.done(case.emit("bitcast_convert", [q], "tensor<3x2xi8>"))
        case = Program("quantized per axis", "uniform_dequantize", expected=[real])
        q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))
        yield case.done(case.emit("uniform_dequantize", [q], "tensor<3x2xf32>"))
        shape = lambda dims: "dense<%s> : tensor<%dxi64>" % (list(dims), len(dims))
        moves = [
            ("transpose", "permutation = array<i64: 1, 0>", (2, 3), 1, stored.T, None),
            (
                "broadcast_in_dim",
                "broadcast_dimensions = array<i64: 2, 1>",
                (4, 2, 3),
                2,
                np.broadcast_to(stored.T, (4, 2, 3)),
                None,
            ),
            ("reshape", "", (3, 2, 1), 0, stored[..., None], None),
            ("dynamic_reshape", "", (3, 1, 2), 0, stored[:, None], (3, 1, 2)),
            (
                "dynamic_broadcast_in_dim",
                "broadcast_dimensions = array<i64: 2, 1>",
                (4, 2, 3),
                2,
                np.broadcast_to(stored.T, (4, 2, 3)),
                (4, 2, 3),
            ),
        ]
        for op, attribute, dims, axis, right, sizes in moves:
            case = Program("quantized per axis", op, expected=[np.ascontiguousarray(right)])
            q = [case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))]
            if sizes:
                case.count += 1
                case.lines.append("  %%v%d = stablehlo.constant %s" % (case.count, shape(sizes)))
                case.types["%%v%d" % case.count] = "tensor<%dxi64>" % len(sizes)
                q.append("%%v%d" % case.count)
            r = case.emit(op, q, tensor(dims, at(axis)), attribute)
            yield case.done(case.emit("bitcast_convert", [r], tensor(dims, "i8")))
        case = Program("quantized per axis", "get_dimension_size", expected=[np.array(2, np.int32)])
        q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))
        yield case.done(case.emit("get_dimension_size", [q], "tensor<i32>", "dimension = 1 : i64"))
        yield from weights(rng, scales, stored)


def weights(rng, scales, stored):
    """Products with per-axis weights: hybrid (f32 by quantized) and wholly quantized with a per-axis result."""
    schemes = [Scheme("i8", s, 0) for s in scales]
    real, at = np.stack([s.dequantize(q) for s, q in zip(schemes, stored)]), lambda axis: axis_text(
        scales, [0] * 3, axis
    )
    x = rng.integers(-3, 4, (4, 2)).astype(np.float32)
    dots = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>"
    exact = np.matmul(x.astype(np.float64), real.T.astype(np.float64))
    case = Program("quantized per axis", "dot_general", expected=[exact.astype(np.float32)], close=1e-6)
    case.used.append(("stablehlo.dot_general", ["quantized per axis"], ["f32"]))
    q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))
    yield case.done(case.emit("dot_general", [case.arg(x), q], "tensor<4x3xf32>", dots))
    conv = (
        "window_strides = array<i64>, padding = dense<> : tensor<0x2xi64>, lhs_dilation = array<i64>, rhs_dilation = "
        "array<i64>, window_reversal = array<i1>, dimension_numbers = #stablehlo.conv<[b, f]x[o, i]->[b, f]>, "
        "feature_group_count = 1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, "
        "#stablehlo<precision DEFAULT>]"
    )
    case = Program("quantized per axis", "convolution", expected=[exact.astype(np.float32)], close=1e-6)
    case.used.append(("stablehlo.convolution", ["quantized per axis"], ["f32"]))
    q = case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))
    yield case.done(case.emit("convolution", [case.arg(x), q], "tensor<4x3xf32>", conv))
    left = Scheme("i8", 0.5, 1)
    stored_x = left.quantize(x)
    for op, attribute in (("dot_general", dots), ("convolution", conv)):
        wide = [left.scale * s.scale for s in schemes]
        text = "!quant.uniform<i32:f32:1, {%s}>" % ", ".join("%r:0" % float(w) for w in wide)
        case = Program("quantized per axis", op)
        q = case.emit("bitcast_convert", [case.arg(stored_x)], "tensor<4x2x%s>" % left.text)
        k = case.emit("bitcast_convert", [case.arg(stored)], "tensor<3x2x%s>" % at(0))
        right = np.stack([np.matmul((stored_x.astype(np.int64) - 1), stored[n].astype(np.int64)) for n in range(3)], 1)
        case.expected = [right.astype(np.int32)]
        r = case.emit(op, [q, k], "tensor<4x3x%s>" % text, attribute)
        yield case.done(case.emit("bitcast_convert", [r], "tensor<4x3xi32>"))


GENERATORS = [derived, conversions, per_axis]
