# SPDX-License-Identifier: Apache-2.0
"""What the programs of reference.py are made of: element types, random values, and Program, one function with its arguments."""

import collections
import re

import ml_dtypes
import numpy as np

Kind = collections.namedtuple("Kind", "name dtype bits integer signed complex part")
KINDS, BY_DTYPE = {}, {}
for _n, _d, _b, _i, _s, _c, _p in [
    ("i1", np.bool_, 1, 1, 0, 0, ""),
    ("i2", ml_dtypes.int2, 2, 1, 1, 0, ""),
    ("ui2", ml_dtypes.uint2, 2, 1, 0, 0, ""),
    ("i4", ml_dtypes.int4, 4, 1, 1, 0, ""),
    ("ui4", ml_dtypes.uint4, 4, 1, 0, 0, ""),
    ("i8", np.int8, 8, 1, 1, 0, ""),
    ("i16", np.int16, 16, 1, 1, 0, ""),
    ("i32", np.int32, 32, 1, 1, 0, ""),
    ("i64", np.int64, 64, 1, 1, 0, ""),
    ("ui8", np.uint8, 8, 1, 0, 0, ""),
    ("ui16", np.uint16, 16, 1, 0, 0, ""),
    ("ui32", np.uint32, 32, 1, 0, 0, ""),
    ("ui64", np.uint64, 64, 1, 0, 0, ""),
    ("f4E2M1FN", ml_dtypes.float4_e2m1fn, 4, 0, 1, 0, ""),
    ("f6E2M3FN", ml_dtypes.float6_e2m3fn, 6, 0, 1, 0, ""),
    ("f6E3M2FN", ml_dtypes.float6_e3m2fn, 6, 0, 1, 0, ""),
    ("f8E3M4", ml_dtypes.float8_e3m4, 8, 0, 1, 0, ""),
    ("f8E4M3", ml_dtypes.float8_e4m3, 8, 0, 1, 0, ""),
    ("f8E4M3FN", ml_dtypes.float8_e4m3fn, 8, 0, 1, 0, ""),
    ("f8E4M3B11FNUZ", ml_dtypes.float8_e4m3b11fnuz, 8, 0, 1, 0, ""),
    ("f8E5M2", ml_dtypes.float8_e5m2, 8, 0, 1, 0, ""),
    ("f8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, 8, 0, 1, 0, ""),
    ("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, 8, 0, 1, 0, ""),
    ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, 8, 0, 0, 0, ""),
    ("bf16", ml_dtypes.bfloat16, 16, 0, 1, 0, ""),
    ("f16", np.float16, 16, 0, 1, 0, ""),
    ("f32", np.float32, 32, 0, 1, 0, ""),
    ("f64", np.float64, 64, 0, 1, 0, ""),
    ("complex<f32>", np.complex64, 64, 0, 1, 1, "f32"),
    ("complex<f64>", np.complex128, 128, 0, 1, 1, "f64"),
]:
    KINDS[_n] = Kind(_n, np.dtype(_d), _b, bool(_i), bool(_s), bool(_c), _p)
    BY_DTYPE[np.dtype(_d)] = _n

SIGNED = ["i2", "i4", "i8", "i16", "i32", "i64"]
UNSIGNED = ["ui2", "ui4", "ui8", "ui16", "ui32", "ui64"]
INTEGERS = SIGNED + UNSIGNED
F8 = [n for n in KINDS if n.startswith("f8") and n != "f8E8M0FNU"]
TINY = ["f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E8M0FNU"]
BIG = ["bf16", "f16", "f32", "f64"]
FLOATS = F8 + BIG
COMPLEX = ["complex<f32>", "complex<f64>"]
ALL = ["i1"] + INTEGERS + FLOATS + COMPLEX
EVERY = ALL + TINY
WIDE = [k for k in INTEGERS if KINDS[k].bits >= 8]
INDICES = [k for k in WIDE if k not in ("i8", "ui8")]
SHAPES = [(), (1,), (0,), (5,), (2, 3), (3, 0, 2), (1, 4, 1), (2, 1, 3, 2)]


def name_of(dtype):
    return BY_DTYPE[np.dtype(dtype)]


def tensor(shape, kind):
    return "tensor<%s>" % "x".join([str(d) for d in shape] + [kind])


def type_text(array):
    return tensor(array.shape, name_of(array.dtype))


def bits_of(array):
    """What an .npy can hold: patterns of small floats as unsigned integers, 2- and 4-bit integers as 8-bit ones."""
    kind = KINDS[name_of(array.dtype)]
    if kind.integer:
        return array.astype(np.int8 if kind.signed else np.uint8) if 1 < kind.bits < 8 else array
    if kind.complex:
        return array
    if kind.name in ("f16", "f32", "f64"):
        return array
    return pattern(array)


def pattern(array):
    """The bits of floats, as unsigned integers."""
    return np.ascontiguousarray(array).view("u%d" % array.dtype.itemsize).reshape(array.shape)


def from_bits(array, kind):
    kind = KINDS[kind]
    if array.dtype == kind.dtype:
        return array
    if kind.integer:
        return array.astype(kind.dtype)
    return np.ascontiguousarray(array).view(kind.dtype).reshape(array.shape)


def element_type(text):
    if "complex" in text:
        return "complex" + text.split("complex")[1][:-1]
    return text[len("tensor<") : -1].split("x")[-1]


def shape_of(text):
    parts = text[len("tensor<") : -1].split("complex")[0].split("x")
    return tuple(int(p) for p in parts if p.isdigit())


def kind_of(text):
    """What a type counts as in reference_coverage.py."""
    if "!quant" in text:
        return "quantized per axis" if re.search(r"!quant\.uniform<\w+(<[-\d:]+>)?:\w+:\d", text) else "quantized"
    if not text.startswith("tensor<"):
        return text.split("<")[0].split(".")[-1]
    return element_type(text.split(", #")[0] + ">" if ", #" in text else text)


# Operations that StableHLO's interpreter ends the process over, for want of an implementation.
LACKS = {
    "stablehlo." + op
    for op in (
        "rng_bit_generator",
        "real_dynamic_slice",
        "torch_index_select",
        "dot",
        "einsum",
        "unary_einsum",
        "cholesky",
        "batch_norm_inference",
        "batch_norm_training",
        "batch_norm_grad",
    )
} | {"chlo.scan", "chlo.broadcast_select"}


class Program:
    """One case: arguments and the text of a function over them.

    `ulps` and `close` are what results may differ by, `note` is for reference_deviations.py. `expected` may hold the results
    as a formula of the specification gives them in NumPy. `avoid` names oracles that are not asked. `functions` are texts of
    functions that are called, with names that start with @helper. `free` are masks over the results that nothing decides. `used`
    has every operation with the kinds of its operands and results. `slack` has, for graphs, a pair of absolute errors for each
    result: of devices and StableHLO's interpreter, and of XLA. `loose` is the mask of elements for which `expected` is not
    good enough.
    """

    def __init__(self, family, op, ulps=0, close=0, note="", expected=None, avoid=()):
        self.family, self.op, self.ulps, self.close, self.note = family, op, ulps, close, note
        self.expected, self.avoid, self.functions, self.spread, self.used = expected, avoid, [], None, []
        self.integer_slack, self.roots, self.twin, self.finish, self.free, self.slack = (
            False,
            False,
            None,
            [],
            None,
            None,
        )
        self.loose = None
        self.arguments, self.lines, self.returns, self.results = [], [], [], []
        self.types, self.count, self.name = {}, 0, ""

    @property
    def body(self):
        return "\n".join(self.lines)

    def asks(self, oracle):
        """Whether an oracle is given this case. The reference's twin is for quantized programs only."""
        if oracle.startswith("reference") and any(op in LACKS for op, _, _ in self.used):
            return False
        return oracle not in self.avoid and (self.twin is not None or oracle != "reference twin")

    def arg(self, array):
        value = "%%a%d" % len(self.arguments)
        self.arguments.append(array)
        self.types[value] = type_text(array)
        return value

    def emit(self, op, operands, results, attributes="", regions=""):
        """One operation; `results` is a type or a list of types. Gives a value name or a list of them."""
        many = isinstance(results, list)
        types = results if many else [results]
        op = op if "." in op else "stablehlo." + op
        self.used.append((op, [kind_of(self.types[o]) for o in operands], [kind_of(t) for t in types]))
        self.count += 1
        value = "%%v%d" % self.count
        self.lines.append(
            "  %s%s = \"%s\"(%s)%s%s : (%s) -> (%s)"
            % (
                value,
                ":%d" % len(types) if len(types) > 1 else "",
                op,
                ", ".join(operands),
                " <{%s}>" % attributes if attributes else "",
                " (%s)" % regions if regions else "",
                ", ".join(self.types[o] for o in operands),
                ", ".join(types),
            )
        )
        names = ["%s#%d" % (value, i) for i in range(len(types))] if len(types) > 1 else [value]
        self.types.update(zip(names, types))
        return names if many else names[0]

    def constant(self, text, type_):
        self.count += 1
        value = "%%v%d" % self.count
        self.lines.append("  %s = stablehlo.constant dense<%s> : %s" % (value, text, type_))
        self.types[value] = type_
        return value

    def done(self, values):
        for value in values if isinstance(values, list) else [values]:
            self.returns.append(value)
            self.results.append(self.types[value])
        return self


# ---- values


def values(rng, kind, shape, how="any"):
    """Random elements. any: specials and patterns; small: integers within ±4; plain: finite and of middling size."""
    kind = KINDS[kind]
    count = int(np.prod(shape, dtype=np.int64))
    if kind.name == "i1":
        flat = rng.integers(0, 2, count).astype(bool)
    elif kind.complex:
        flat = np.empty(count, kind.dtype)
        flat.real = values(rng, kind.part, (count,), how)
        flat.imag = values(rng, kind.part, (count,), how)
    elif kind.integer:
        low = -(1 << (kind.bits - 1)) if kind.signed else 0
        high = (1 << (kind.bits - int(kind.signed))) - 1
        if how != "any":
            a, b = max(low, -4), min(high, 4)
            picks = [int(v) for v in rng.integers(a, b + 1, count)]
        else:
            picks = []
            for _ in range(count):
                choice = rng.integers(0, 4)
                raw = int(rng.integers(0, 1 << 63)) * 2 + int(rng.integers(0, 2))
                if choice == 0:
                    picks.append([low, high, 0, 1, low + 1, max(low, -1)][raw % 6])
                elif choice == 1:
                    picks.append(max(low, min(high, raw % 9 - 4)))
                else:
                    picks.append(low + raw % (high - low + 1))
        flat = np.array(picks, dtype=object).astype(np.uint64 if kind.name == "ui64" else np.int64).astype(kind.dtype)
    elif how == "small":
        flat = rng.integers(0 if not kind.signed else -3, 4, count).astype(np.float32).astype(kind.dtype)
    elif how == "plain":
        flat = (rng.standard_normal(count) * 2).astype(kind.dtype)
    else:
        flat = (rng.standard_normal(count) * np.exp(rng.standard_normal(count) * 2)).astype(kind.dtype)
        raw = rng.integers(0, 1 << 63, count).astype(np.uint64) << np.uint64(1)
        patterns = (raw >> np.uint64(64 - kind.bits)).astype("u%d" % kind.dtype.itemsize).view(kind.dtype)
        info = ml_dtypes.finfo(kind.dtype)
        specials = np.array(
            [
                float(x)
                for x in (
                    0.0,
                    -0.0,
                    1,
                    -1,
                    0.5,
                    -0.5,
                    1.5,
                    2.5,
                    -2.5,
                    3,
                    np.inf,
                    -np.inf,
                    np.nan,
                    info.max,
                    info.min,
                    info.tiny,
                    info.smallest_subnormal,
                )
            ]
        ).astype(kind.dtype)
        choice = rng.integers(0, 8, count)
        flat = np.where(
            choice < 2, specials[rng.integers(0, len(specials), count)], np.where(choice == 2, patterns, flat)
        )
        flat = flat.astype(kind.dtype)
    return flat.reshape(shape)


def random_shape(rng, rank, low=0, high=5):
    return tuple(int(n) for n in rng.integers(low, high, rank))


def sparse(rng, kind, shape):
    """Zeros with a few ones among them, negative too where there are: what every type but f8E8M0FNU adds up exactly."""
    flat = np.zeros(int(np.prod(shape, dtype=np.int64)), np.int64)
    for _ in range(3 if flat.size else 0):
        flat[int(rng.integers(0, flat.size))] = pick(rng, [1, -1] if KINDS[kind].signed else [1])
    return flat.astype(KINDS[kind].dtype).reshape(shape)


def pick(rng, options):
    return options[int(rng.integers(0, len(options)))]


def array_text(numbers):
    numbers = [str(int(n)) if not isinstance(n, bool) else str(n).lower() for n in numbers]
    return "array<i64: %s>" % ", ".join(numbers) if numbers else "array<i64>"


def bools_text(flags):
    return "array<i1: %s>" % ", ".join("true" if f else "false" for f in flags) if len(flags) else "array<i1>"


def pairs_text(pairs):
    """An Nx2 attribute."""
    if not len(pairs):
        return "dense<> : tensor<0x2xi64>"
    return "dense<%s> : tensor<%dx2xi64>" % ([[int(a), int(b)] for a, b in pairs], len(pairs))


def region(kinds, lines, returned):
    """A region over scalars: kinds of its parameters x0, x1, …"""
    parameters = ", ".join("%%x%d: tensor<%s>" % (i, k) for i, k in enumerate(kinds))
    return "{\n  ^bb0(%s):\n%s\n    \"stablehlo.return\"(%s) : (%s) -> ()\n  }" % (
        parameters,
        "\n".join("    " + line for line in lines),
        ", ".join(v for v, _ in returned),
        ", ".join("tensor<%s>" % k for _, k in returned),
    )


def combiner(op, kind, left="%x0", right="%x1"):
    return region(
        [kind, kind],
        [
            "%%y = \"stablehlo.%s\"(%s, %s) : (tensor<%s>, tensor<%s>) -> tensor<%s>"
            % (op, left, right, kind, kind, kind)
        ],
        [("%y", kind)],
    )
