# SPDX-License-Identifier: Apache-2.0
"""The programs of reference.py: random types, shapes, attributes and values for every operation, from a seed.

Each generator is named after its family and yields Programs; a Program is one function's text with its arguments. Data that
has to be summed is small integers where a result must be exact, so that no order of summation matters.
"""
import collections
import itertools
import zlib

import ml_dtypes
import numpy as np

Kind = collections.namedtuple("Kind", "name dtype bits integer signed complex part")
KINDS, BY_DTYPE = {}, {}
for _n, _d, _b, _i, _s, _c, _p in [
        ("i1", np.bool_, 1, 1, 0, 0, ""), ("i2", ml_dtypes.int2, 2, 1, 1, 0, ""), ("ui2", ml_dtypes.uint2, 2, 1, 0, 0, ""),
        ("i4", ml_dtypes.int4, 4, 1, 1, 0, ""), ("ui4", ml_dtypes.uint4, 4, 1, 0, 0, ""),
        ("i8", np.int8, 8, 1, 1, 0, ""), ("i16", np.int16, 16, 1, 1, 0, ""), ("i32", np.int32, 32, 1, 1, 0, ""),
        ("i64", np.int64, 64, 1, 1, 0, ""), ("ui8", np.uint8, 8, 1, 0, 0, ""), ("ui16", np.uint16, 16, 1, 0, 0, ""),
        ("ui32", np.uint32, 32, 1, 0, 0, ""), ("ui64", np.uint64, 64, 1, 0, 0, ""),
        ("f4E2M1FN", ml_dtypes.float4_e2m1fn, 4, 0, 1, 0, ""), ("f6E2M3FN", ml_dtypes.float6_e2m3fn, 6, 0, 1, 0, ""),
        ("f6E3M2FN", ml_dtypes.float6_e3m2fn, 6, 0, 1, 0, ""), ("f8E3M4", ml_dtypes.float8_e3m4, 8, 0, 1, 0, ""),
        ("f8E4M3", ml_dtypes.float8_e4m3, 8, 0, 1, 0, ""), ("f8E4M3FN", ml_dtypes.float8_e4m3fn, 8, 0, 1, 0, ""),
        ("f8E4M3B11FNUZ", ml_dtypes.float8_e4m3b11fnuz, 8, 0, 1, 0, ""), ("f8E5M2", ml_dtypes.float8_e5m2, 8, 0, 1, 0, ""),
        ("f8E4M3FNUZ", ml_dtypes.float8_e4m3fnuz, 8, 0, 1, 0, ""), ("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz, 8, 0, 1, 0, ""),
        ("f8E8M0FNU", ml_dtypes.float8_e8m0fnu, 8, 0, 0, 0, ""), ("bf16", ml_dtypes.bfloat16, 16, 0, 1, 0, ""),
        ("f16", np.float16, 16, 0, 1, 0, ""), ("f32", np.float32, 32, 0, 1, 0, ""), ("f64", np.float64, 64, 0, 1, 0, ""),
        ("complex<f32>", np.complex64, 64, 0, 1, 1, "f32"), ("complex<f64>", np.complex128, 128, 0, 1, 1, "f64")]:
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


class Program:
    """One case: arguments and the text of a function over them."""

    def __init__(self, family, op, ulps=0, close=0, note=""):
        self.family, self.op, self.ulps, self.close, self.note = family, op, ulps, close, note
        self.integer_slack = False
        self.arguments, self.lines, self.returns, self.results = [], [], [], []
        self.types, self.count, self.name = {}, 0, ""

    @property
    def body(self):
        return "\n".join(self.lines)

    def arg(self, array):
        value = "%%a%d" % len(self.arguments)
        self.arguments.append(array)
        self.types[value] = type_text(array)
        return value

    def emit(self, op, operands, results, attributes="", regions=""):
        """One operation; `results` is a type or a list of types. Gives a value name or a list of them."""
        many = isinstance(results, list)
        types = results if many else [results]
        self.count += 1
        value = "%%v%d" % self.count
        self.lines.append("  %s%s = \"stablehlo.%s\"(%s)%s%s : (%s) -> (%s)" % (
            value, ":%d" % len(types) if len(types) > 1 else "", op, ", ".join(operands),
            " <{%s}>" % attributes if attributes else "", " (%s)" % regions if regions else "",
            ", ".join(self.types[o] for o in operands), ", ".join(types)))
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
        specials = np.array([float(x) for x in (0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, np.inf, -np.inf, np.nan,
                                                info.max, info.min, info.tiny, info.smallest_subnormal)]).astype(kind.dtype)
        choice = rng.integers(0, 8, count)
        flat = np.where(choice < 2, specials[rng.integers(0, len(specials), count)], np.where(choice == 2, patterns, flat))
        flat = flat.astype(kind.dtype)
    return flat.reshape(shape)


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
        parameters, "\n".join("    " + line for line in lines), ", ".join(v for v, _ in returned),
        ", ".join("tensor<%s>" % k for _, k in returned))


def combiner(op, kind, left="%x0", right="%x1"):
    return region([kind, kind], ["%%y = \"stablehlo.%s\"(%s, %s) : (tensor<%s>, tensor<%s>) -> tensor<%s>" % (
        op, left, right, kind, kind, kind)], [("%y", kind)])


# ---- elementwise

ROUNDED = ["exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "cosine", "sine", "tan", "tanh", "cbrt",
           "rsqrt"]
EXACT = ["abs", "negate", "sign", "ceil", "floor", "round_nearest_afz", "round_nearest_even", "sqrt"]


def free(kind, op=""):
    """Units in the last place that a function is allowed to differ by."""
    return 1 if KINDS[kind].bits < 16 else 2 if kind in ("bf16", "f16") else 64 if KINDS[kind].complex else 8


def unary(rng):
    for op, kind in itertools.product(EXACT + ROUNDED, FLOATS):
        for shape in ((11,), pick(rng, SHAPES)):
            case = Program("unary float", op, ulps=free(kind) if op in ROUNDED else 0)
            yield case.done(case.emit(op, [case.arg(values(rng, kind, shape))], tensor(shape, kind)))
    for kind in FLOATS:
        case = Program("unary float", "is_finite")
        yield case.done(case.emit("is_finite", [case.arg(values(rng, kind, (13,)))], tensor((13,), "i1")))
    for op, kinds in (("abs", SIGNED), ("negate", INTEGERS), ("sign", SIGNED), ("not", INTEGERS + ["i1"]),
                      ("popcnt", INTEGERS), ("count_leading_zeros", INTEGERS)):
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
            yield case.done(case.emit(op, [case.arg(values(rng, kind, (7,)))],
                                      tensor((7,), kind if op == "negate" else KINDS[kind].part or kind)))
    for kind in BIG + F8:
        exponent, mantissa = int(rng.integers(1, 9)), int(rng.integers(0, 12))
        case = Program("unary float", "reduce_precision")
        yield case.done(case.emit("reduce_precision", [case.arg(values(rng, kind, (12,)))], tensor((12,), kind),
                                  "exponent_bits = %d : i32, mantissa_bits = %d : i32" % (exponent, mantissa)))


def binary(rng):
    arithmetic = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "power"]
    for op, kind in itertools.product(arithmetic + ["atan2"], FLOATS):
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("binary float", op, ulps=free(kind) if op in ("power", "atan2") else 0)
            x, y = case.arg(values(rng, kind, shape)), case.arg(values(rng, kind, shape))
            yield case.done(case.emit(op, [x, y], tensor(shape, kind)))
    for op, kind in itertools.product(arithmetic, INTEGERS):
        for shape in ((13,), pick(rng, SHAPES)):
            case = Program("binary integer", op)
            y = values(rng, kind, shape, "small" if op == "power" else "any")
            if op in ("divide", "remainder"):   # by zero: implementation-defined, so not compared
                y = np.where(y == 0, np.ones_like(y), y).astype(y.dtype).reshape(shape)
            x, y = case.arg(values(rng, kind, shape)), case.arg(y)
            yield case.done(case.emit(op, [x, y], tensor(shape, kind)))
    for op, kind in itertools.product(["and", "or", "xor", "shift_left", "shift_right_logical", "shift_right_arithmetic"],
                                      INTEGERS + ["i1"]):
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
        yield case.done(case.emit(op, [case.arg(values(rng, "i1", (8,))), case.arg(values(rng, "i1", (8,)))],
                                  tensor((8,), "i1")))
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


def compare(rng):
    for direction, kind in itertools.product(["EQ", "NE", "LT", "LE", "GT", "GE"], ["i1"] + INTEGERS + FLOATS + COMPLEX):
        if kind in COMPLEX and direction not in ("EQ", "NE"):
            continue
        for type_ in ["FLOAT", "TOTALORDER"] if kind in FLOATS else ["FLOAT"] if kind in COMPLEX else [
                "SIGNED" if KINDS[kind].signed else "UNSIGNED"]:
            shape = pick(rng, SHAPES + [(12,)] * 6)
            case = Program("compare", "compare", note=type_)
            x = values(rng, kind, shape)
            y = np.where(values(rng, "i1", shape), x, values(rng, kind, shape)).astype(x.dtype).reshape(shape)
            yield case.done(case.emit("compare", [case.arg(x), case.arg(y)], tensor(shape, "i1"),
                                      "comparison_direction = #stablehlo<comparison_direction %s>, "
                                      "compare_type = #stablehlo<comparison_type %s>" % (direction, type_)))


def convert(rng):
    for source, target in itertools.product(ALL + TINY, ALL + TINY):
        shape = pick(rng, [(16,)] * 6 + [(), (0,), (2, 3)])
        case = Program("convert", "convert", note="%s to %s" % (source, target))
        yield case.done(case.emit("convert", [case.arg(values(rng, source, shape))], tensor(shape, target)))
    for source, target in itertools.product(INTEGERS + FLOATS + COMPLEX, INTEGERS + FLOATS + COMPLEX):
        a, b = KINDS[source].bits, KINDS[target].bits
        shape, result = (2, 3), (2, 3)
        if a > b:
            result = shape + (a // b,)
        elif b > a:
            shape = result + (b // a,)
        if (source in COMPLEX) == (target in COMPLEX):
            case = Program("bitcast_convert", "bitcast_convert", note="%s to %s" % (source, target))
            yield case.done(case.emit("bitcast_convert", [case.arg(values(rng, source, shape))], tensor(result, target)))


# ---- movement

def random_shape(rng, rank, low=0, high=5):
    return tuple(int(n) for n in rng.integers(low, high, rank))


def movement(rng):
    for kind in ALL + TINY:
        for rank in range(0, 5):
            shape = random_shape(rng, rank, int(rng.integers(0, 4) > 0))
            x = values(rng, kind, shape)
            case = Program("transpose", "transpose")
            order = [int(n) for n in rng.permutation(rank)]
            yield case.done(case.emit("transpose", [case.arg(x)], tensor([shape[i] for i in order], kind),
                                      "permutation = %s" % array_text(order)))
            case = Program("reverse", "reverse")
            dims = [i for i in range(rank) if rng.integers(0, 2)]
            yield case.done(case.emit("reverse", [case.arg(x)], tensor(shape, kind), "dimensions = %s" % array_text(dims)))
            case = Program("reshape", "reshape")
            result = tuple(shape[::-1]) if rng.integers(0, 2) else (1, int(np.prod(shape, dtype=int)), 1)
            yield case.done(case.emit("reshape", [case.arg(x)], tensor(result, kind)))
            case = Program("slice", "slice")
            start = [int(rng.integers(0, d + 1)) for d in shape]
            limit = [int(rng.integers(s, d + 1)) for s, d in zip(start, shape)]
            stride = [int(n) for n in rng.integers(1, 4, rank)]
            result = [-(-(b - a) // s) for a, b, s in zip(start, limit, stride)]
            yield case.done(case.emit("slice", [case.arg(x)], tensor(result, kind),
                                      "start_indices = %s, limit_indices = %s, strides = %s" % (
                                          array_text(start), array_text(limit), array_text(stride))))
            case = Program("pad", "pad")
            low, high = rng.integers(-2, 3, rank), rng.integers(-2, 3, rank)
            interior = rng.integers(0, 3, rank)
            result = [l + h + d + max(d - 1, 0) * i for l, h, d, i in zip(low, high, shape, interior)]
            result = [int(r) for r in result]
            high = [int(h) - min(r, 0) for h, r in zip(high, result)]
            yield case.done(case.emit("pad", [case.arg(x), case.arg(values(rng, kind, ()))],
                                      tensor([max(r, 0) for r in result], kind),
                                      "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s" % (
                                          array_text(low), array_text(high), array_text(interior))))
            case = Program("broadcast_in_dim", "broadcast_in_dim")
            result = list(random_shape(rng, rank + int(rng.integers(0, 3)), 1))
            dims = [int(n) for n in rng.permutation(len(result))[:rank]]
            source = []
            for d in dims:
                source.append(1 if rng.integers(0, 3) == 0 else result[d])
            yield case.done(case.emit("broadcast_in_dim", [case.arg(values(rng, kind, source))], tensor(result, kind),
                                      "broadcast_dimensions = %s" % array_text(dims)))
            if rank:
                case = Program("concatenate", "concatenate")
                axis = int(rng.integers(0, rank))
                operands, total = [], 0
                for _ in range(int(rng.integers(1, 4))):
                    part = list(shape)
                    part[axis] = int(rng.integers(0, 4))
                    total += part[axis]
                    operands.append(case.arg(values(rng, kind, part)))
                result = list(shape)
                result[axis] = total
                yield case.done(case.emit("concatenate", operands, tensor(result, kind), "dimension = %d : i64" % axis))
            index_kind = pick(rng, [k for k in INTEGERS if KINDS[k].bits >= 8])
            case = Program("dynamic_slice", "dynamic_slice", note=index_kind)
            sizes = [int(rng.integers(0, d + 1)) for d in shape]
            starts = [case_index(rng, index_kind) for _ in shape]
            operands = [case.arg(x)] + [case.arg(s) for s in starts]
            yield case.done(case.emit("dynamic_slice", operands, tensor(sizes, kind), "slice_sizes = %s" % array_text(sizes)))
            case = Program("dynamic_update_slice", "dynamic_update_slice", note=index_kind)
            operands = [case.arg(x), case.arg(values(rng, kind, sizes))] + [case.arg(s) for s in starts]
            yield case.done(case.emit("dynamic_update_slice", operands, tensor(shape, kind)))
        if kind not in TINY + ["i1"]:
            for rank in (1, 2, 3):
                shape = random_shape(rng, rank, 0, 4)
                case = Program("iota", "iota")
                yield case.done(case.emit("iota", [], tensor(shape, kind),
                                          "iota_dimension = %d : i64" % rng.integers(0, rank)))


def case_index(rng, kind):
    """A start index: often in range, sometimes far out of it."""
    if rng.integers(0, 3) == 0:
        return values(rng, kind, ())
    return np.array(int(rng.integers(-2 if KINDS[kind].signed else 0, 6))).astype(KINDS[kind].dtype)


GENERATORS = [unary, binary, ternary, compare, convert, movement]


def generate(seed, rounds):
    """All cases of a seed, each with a name that says how to make it again."""
    from reference_structured import GENERATORS as more
    for number in range(rounds):
        for generator in GENERATORS + more:
            rng = np.random.default_rng([seed, number, zlib.crc32(generator.__name__.encode())])
            for index, case in enumerate(generator(rng)):
                case.name = "%s #%d of %s, round %d, seed %d: %s -> %s" % (
                    case.op, index, generator.__name__, number, seed, ", ".join(type_text(a) for a in case.arguments),
                    ", ".join(case.results))
                yield case
