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
from reference_processes import parallel

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


def expressed(rng):
    """uniform_quantize of other float types: whole numbers, exact in each."""
    for kind in [k for k in FLOATS + TINY if k not in ("f32", "f8E8M0FNU")]:
        x = sparse(rng, kind, (9,))
        case = Program("quantized", "uniform_quantize", expected=[x.astype(np.float32).astype(np.int8)])
        q = case.emit("uniform_quantize", [case.arg(x)], "tensor<9x!quant.uniform<i8:%s, 1.0>>" % kind)
        yield case.done(case.emit("bitcast_convert", [q], "tensor<9xi8>"))


class Stored:
    """A quantized type of dimensions (2, 4) for the texts below, per tensor or per axis: stored values go in and come out."""

    def __init__(self, axis):
        self.element = axis_text([0.5, 0.25], [0, 0], 0) if axis else "!quant.uniform<i8:f32, 0.5>"
        self.text = tensor((2, 4), self.element)

    def body(self, lines):
        """Computes %r from %x, both stored; `lines` compute %s from %q."""
        change = "  %%%s = \"stablehlo.bitcast_convert\"(%%%s) : (%s) -> %s\n"
        return (
            change % ("q", "x", "tensor<2x4xi8>", self.text)
            + lines
            + "\n"
            + (change % ("r", "s", self.text, "tensor<2x4xi8>")).rstrip()
        )


def processes(rng):
    """Collectives over two processes; sums stay within the storage type."""
    stored, inputs = Stored(False), [rng.integers(-9, 10, (2, 4)).astype(np.int8) for _ in range(2)]
    t, q = stored.text, stored.element
    groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    total, zero = inputs[0] + inputs[1], np.zeros_like(inputs[0])
    plans = [
        ("all_reduce", groups, True, [total, total]),
        ("collective_reduce", groups, True, [total, zero]),
        ("collective_broadcast", groups, False, [inputs[0]] * 2),
        ("collective_permute", "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>", False, inputs[::-1]),
        ("all_gather", "all_gather_dim = 0 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>", False, inputs),
        (
            "all_to_all",
            "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, " + groups,
            False,
            [np.stack([inputs[0][p], inputs[1][p]]) for p in range(2)],
        ),
        (
            "reduce_scatter",
            "scatter_dimension = 1 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>",
            True,
            inputs,
        ),
    ]
    for op, attributes, reduces, right in plans:
        case = Program("quantized", op, expected=list(right), avoid=("xla",))
        case.used.append(("stablehlo." + op, ["quantized"], ["quantized"]))
        line = "  %%s = \"stablehlo.%s\"(%%q) <{%s}>%s : (%s) -> %s" % (
            op,
            attributes,
            " (%s)" % combiner("add", q) if reduces else "",
            t,
            t,
        )
        yield parallel(case, (2, 1, ""), stored.body(line), inputs, "tensor<2x4xi8>")
    case = Program("quantized", "async_start", expected=inputs[::-1], avoid=("xla",))
    case.used += [
        ("stablehlo.async_start", ["quantized"], ["future"]),
        ("stablehlo.async_done", ["future"], ["quantized"]),
    ]
    line = (
        "  %%f = \"stablehlo.async_start\"(%%q) ({\n  ^bb0(%%y: %s):\n    %%g = \"stablehlo.collective_permute\"(%%y) <{"
        "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (%s) -> %s\n    \"stablehlo.return\"(%%g) : "
        "(%s) -> ()\n  }) : (%s) -> !stablehlo.future<%s>\n  %%s = \"stablehlo.async_done\"(%%f) : (!stablehlo.future<%s>) "
        "-> %s" % ((t,) * 8)
    )
    yield parallel(case, (2, 1, ""), stored.body(line), inputs, "tensor<2x4xi8>")


def structure(rng):
    """Operations that pass quantized values on, per tensor and per axis."""
    for axis in (False, True):
        stored, x = Stored(axis), rng.integers(-9, 10, (2, 4)).astype(np.int8)
        t, kind, token = stored.text, "quantized per axis" if axis else "quantized", "!stablehlo.token"
        back = "{\n    \"stablehlo.return\"(%%q) : (%s) -> ()\n  }" % t
        plans = [
            ("if", "  %%s = \"stablehlo.if\"(%%p) (%s, %s) : (tensor<i1>) -> %s" % (back, back, t), x),
            ("case", "  %%s = \"stablehlo.case\"(%%i) (%s, %s) : (tensor<i32>) -> %s" % (back, back, t), x),
            (
                "while",
                "  %%s = \"stablehlo.while\"(%%q) ({\n  ^bb0(%%b: %s):\n    \"stablehlo.return\"(%%n) : (tensor<i1>) -> ()"
                "\n  }, {\n  ^bb0(%%b: %s):\n    \"stablehlo.return\"(%%b) : (%s) -> ()\n  }) : (%s) -> %s"
                % (t, t, t, t, t),
                x,
            ),
            (
                "constant",
                "  %%s = \"stablehlo.constant\"() <{value = dense<3> : tensor<2x4xi8>}> : () -> %s" % t,
                np.full((2, 4), 3, np.int8),
            ),
            (
                "set_dimension_size",
                "  %%c = stablehlo.constant dense<2> : tensor<i32>\n  %%s = \"stablehlo.set_dimension_size\""
                "(%%q, %%c) <{dimension = 0 : i64}> : (%s, tensor<i32>) -> %s" % (t, t),
                x,
            ),
            ("optimization_barrier", "  %%s = \"stablehlo.optimization_barrier\"(%%q) : (%s) -> %s" % (t, t), x),
            (
                "tuple",
                "  %%t = \"stablehlo.tuple\"(%%q) : (%s) -> tuple<%s>\n  %%s = \"stablehlo.get_tuple_element\"(%%t) <{index "
                "= 0 : i32}> : (tuple<%s>) -> %s" % (t, t, t, t),
                x,
            ),
            ("add", "  %%s = \"stablehlo.add\"(%%q, %%q) : (%s, %s) -> %s" % (t, t, t), x + x),
        ]
        if axis:  # an optimization_barrier takes per-tensor types only
            plans = [p for p in plans if p[0] != "optimization_barrier"]
        for op, line, right in plans:
            case = Program(kind, op, expected=[right], avoid=("xla",))
            flags = "  %p = stablehlo.constant dense<true> : tensor<i1>\n  %n = stablehlo.constant dense<false> : tensor<i1>\n"
            flags += "  %i = stablehlo.constant dense<0> : tensor<i32>\n"
            case.used.append(("stablehlo." + op, [] if op == "constant" else [kind], [kind]))
            if op == "tuple":
                case.used.append(("stablehlo.get_tuple_element", ["tuple"], [kind]))
            case.arg(x)
            case.lines.append(flags + stored.body(line).replace("%x", "%a0"))
            case.types["%r"] = "tensor<2x4xi8>"
            yield case.done("%r")
        yield from channels(x, t, kind, token)
        case = Program(kind, "dynamic_conv", avoid=("xla",))
        yield dynamic_conv(case, rng, axis, kind)


def channels(x, t, kind, token):
    """Through send and recv, infeed and outfeed: the stored values are sent as quantized ones."""
    cast = "  %%%s = \"stablehlo.bitcast_convert\"(%%%s) : (%s) -> %s\n"
    s = "tensor<2x4xi8>"
    case = Program(kind, "send", expected=[x], avoid=("xla",))
    case.used += [("stablehlo.send", [kind, "token"], ["token"]), ("stablehlo.recv", ["token"], [kind, "token"])]
    channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = %d>, is_host_transfer = true"
    case.functions.append(
        "func.func private @helper_send(%%x: %s, %%t: %s) -> %s {\n%s  %%0 = \"stablehlo.send\"(%%q, %%t) <{%s}> : "
        "(%s, %s) -> %s\n  \"func.return\"(%%0) : (%s) -> ()\n}\n"
        % (s, token, token, cast % ("q", "x", s, t), channel % 2, t, token, token, token)
    )
    case.functions.append(
        "func.func private @helper_recv(%%t: %s) -> (%s, %s) {\n  %%0:2 = \"stablehlo.recv\"(%%t) <{%s}> : (%s) -> "
        "(%s, %s)\n%s  \"func.return\"(%%r, %%0#1) : (%s, %s) -> ()\n}\n"
        % (token, s, token, channel % 3, token, t, token, cast % ("r", "0#0", t, s), s, token)
    )
    start = case.emit("after_all", [], token)
    out = case.emit(
        "interpreter.run_parallel",
        [case.arg(x), start, start],
        [token, s, token],
        "programs = [[@helper_send], [@helper_recv]]",
    )
    yield case.done(out[1])
    case = Program(kind, "infeed", expected=[np.full((2, 4), 3, np.int8)], avoid=("xla",))
    case.used += [("stablehlo.infeed", ["token"], [kind, "token"]), ("stablehlo.outfeed", [kind, "token"], ["token"])]
    case.functions.append(
        "func.func private @helper_queue() -> %s {\n  %%0 = stablehlo.constant dense<3> : %s\n%s  \"func.return\"(%%q) "
        ": (%s) -> ()\n}\n" % (t, s, cast % ("q", "0", s, t), t)
    )
    case.functions.append(
        "func.func private @helper_feed(%%t: %s) -> (%s, %s) {\n  %%0:2 = \"stablehlo.infeed\"(%%t) : (%s) -> (%s, %s)\n"
        "  %%1 = \"stablehlo.outfeed\"(%%0#0, %%0#1) : (%s, %s) -> %s\n%s  \"func.return\"(%%r, %%1) : (%s, %s) -> ()\n"
        "}\n" % (token, s, token, token, t, token, t, token, token, cast % ("r", "0#0", t, s), s, token)
    )
    start = case.emit("create_token", [], token)
    out = case.emit(
        "interpreter.run_parallel", [start], [s, token], "infeed = [@helper_queue], programs = [[@helper_feed]]"
    )
    yield case.done(out[0])


def dynamic_conv(case, rng, axis, kind):
    """A product of [1, 2, 4] by [1, 4, 2] as a convolution with padding as an operand, to i32."""
    x, w = rng.integers(-9, 10, (1, 2, 4)).astype(np.int8), rng.integers(-9, 10, (1, 4, 2)).astype(np.int8)
    scales = ("{0.5:0, 0.25:0}", "{0.25:0, 0.125:0}") if axis else ("0.5", "0.25")
    left = "tensor<1x2x4x!quant.uniform<i8:f32, 0.5>>"
    right = "tensor<1x4x2x!quant.uniform<i8:f32%s, %s>>" % (":2" if axis else "", scales[0])
    result = "tensor<1x2x2x!quant.uniform<i32:f32%s, %s>>" % (":2" if axis else "", scales[1])
    case.expected = [np.matmul(x.astype(np.int32), w.astype(np.int32))]
    q = [case.emit("bitcast_convert", [case.arg(v)], t) for v, t in ((x, left), (w, right))]
    r = case.emit(
        "dynamic_conv",
        q + [case.arg(np.zeros((1, 2), np.int64))],
        result,
        (
            "window_strides = array<i64: 1>, lhs_dilation = array<i64: 1>, rhs_dilation = array<i64: 1>, window_reversal = "
            "array<i1: false>, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = "
            "1 : i64, batch_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"
        ),
    )
    case.used.append(("stablehlo.dynamic_conv", [kind], [kind]))
    return case.done(case.emit("bitcast_convert", [r], "tensor<1x2x2xi32>"))


GENERATORS = [derived, conversions, per_axis, expressed, processes, structure]
