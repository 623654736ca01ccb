# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: attributes that the other modules leave at one value: promises about indices, unstable sorts,
several operands, precisions and dot algorithms, FFTs of several dimensions, dimensions and channels of collectives,
configurations.

VARIED names, for every operation, the attributes of the specification and texts that programs must have shown of each.
"""

import itertools

import numpy as np

from reference_elementwise import ROUNDED
from reference_formulas import cut_precision
from reference_processes import attributes, flat_grids, grids, groups_of, parallel
from reference_program import *  # noqa: F403
from reference_structured import compare_region, identity

BOOL = ["true", "false"]
PRECISIONS = ["DEFAULT", "HIGH", "HIGHEST"]
CONVOLUTION = {
    "window_strides": ["2"],
    "padding": ["-1", "2"],
    "lhs_dilation": ["2"],
    "rhs_dilation": ["2"],
    "window_reversal": BOOL,
    "feature_group_count": ["1", "2"],
    "batch_group_count": ["1", "2"],
    "precision_config": PRECISIONS,
    "dimension_numbers": ["f, b", "o, i", "b, f", "i, o"],
}
# operation: attribute: texts
VARIED = {
    "all_gather": {
        "all_gather_dim": ["0", "1"],
        "replica_groups": ["[0"],
        "channel_handle": ["handle = 1", "handle = 7"],
    },
    "all_reduce": {"replica_groups": ["[0"], "channel_handle": ["handle = 1", "handle = 7"]},
    "all_to_all": {
        "split_dimension": ["0", "1"],
        "concat_dimension": ["0", "1"],
        "split_count": ["1", "2", "4"],
        "channel_handle": ["handle"],
    },
    "batch_norm_grad": {"epsilon": ["0.0", "0.001"], "feature_index": ["0", "1", "2"]},
    "batch_norm_inference": {"epsilon": ["0.0", "0.001"], "feature_index": ["0", "1", "2"]},
    "batch_norm_training": {"epsilon": ["0.0", "0.001"], "feature_index": ["0", "1", "2"]},
    "cholesky": {"lower": BOOL},
    "collective_broadcast": {"channel_handle": ["handle"]},
    "collective_permute": {"channel_handle": ["handle"]},
    "compare": {
        "comparison_direction": ["EQ", "NE", "LT", "LE", "GT", "GE"],
        "compare_type": ["FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"],
    },
    "composite": {"version": ["0", "1"]},
    "concatenate": {"dimension": ["0", "1", "2"]},
    "convolution": CONVOLUTION,
    "custom_call": {"has_side_effect": BOOL, "api_version": ["1", "2", "4"], "backend_config": ["\"", "{"]},
    "dot_general": {"precision_config": PRECISIONS, "algorithm": ["bf16", "tf32", "component_count = 3"]},
    "dynamic_broadcast_in_dim": {"known_expanding_dimensions": ["0"], "known_nonexpanding_dimensions": ["1"]},
    "dynamic_gather": {"indices_are_sorted": BOOL},
    "exponential": {"result_accuracy": ["DEFAULT", "HIGHEST", "TOLERANCE"]},
    "fft": {"fft_type": ["FFT", "IFFT", "RFFT", "IRFFT"], "fft_length": [": 5>", ", "]},
    "gather": {"indices_are_sorted": BOOL},
    "infeed": {"infeed_config": ["x"]},
    "outfeed": {"outfeed_config": ["y"]},
    "recv": {"channel_handle": ["type = 1", "type = 3"], "is_host_transfer": BOOL, "source_target_pairs": ["[0, 1]"]},
    "reduce_precision": {"exponent_bits": ["2", "8"], "mantissa_bits": ["0", "10"]},
    "reduce_scatter": {"scatter_dimension": ["0", "1"], "channel_handle": ["handle = 1", "handle = 7"]},
    "reduce_window": {
        "window_strides": ["2"],
        "base_dilations": ["2"],
        "window_dilations": ["2"],
        "padding": ["-1", "2"],
    },
    "rng": {"rng_distribution": ["UNIFORM", "NORMAL"]},
    "rng_bit_generator": {"rng_algorithm": ["DEFAULT", "THREE_FRY", "PHILOX"]},
    "scatter": {"indices_are_sorted": BOOL, "unique_indices": BOOL},
    "select_and_scatter": {"window_dimensions": ["2"], "window_strides": ["2"], "padding": ["1"]},
    "send": {"channel_handle": ["type = 1", "type = 2"], "is_host_transfer": BOOL, "source_target_pairs": ["[0, 1]"]},
    "slice": {"strides": ["1", "2", "3"]},
    "sort": {"dimension": ["-1", "0", "1"], "is_stable": BOOL},
    "torch_index_select": {"dim": ["1"], "batch_dims": ["0", "1"]},
    "triangular_solve": {
        "left_side": BOOL,
        "lower": BOOL,
        "unit_diagonal": BOOL,
        "transpose_a": ["NO_TRANSPOSE", " TRANSPOSE", "ADJOINT"],
    },
}
SEVERAL = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "reduce",
    "reduce_window",
    "scatter",
    "sort",
]  # with two operands or more


def fields(text):
    """Names and values of an operation's attributes."""
    depth, start, parts = 0, 0, []
    text = text.replace("->", "to") + ","
    for at, c in enumerate(text):
        depth += (c in "<[{(") - (c in ">]})")
        if c == "," and depth == 0:
            parts.append(text[start:at].partition(" = "))
            start = at + 1
    return [(name.strip(), value) for name, _, value in parts]


def missing(cases):
    """What of VARIED and SEVERAL no case shows, as texts."""
    found, several = {}, set()
    for case in cases:
        text = "\n".join([case.body] + case.functions)
        for op, attributes in re.findall(r"\"stablehlo\.(\w+)\"\([^\n]*?\) <\{(.*?)\}>(?= \(|:| :)", text):
            found.setdefault(op, set()).add(attributes)
        several |= {op for op, operands, _ in case.used if len(operands) > 1}
        for op, operands in re.findall(r"\"stablehlo\.(\w+)\"\(([^)\n]*)\)", text):
            if operands.count(",") >= (3 if op in ("reduce", "reduce_window") else 4 if op == "scatter" else 1):
                several.add(op + " of several")
    gaps = ["%s of several operands" % op for op in SEVERAL if op + " of several" not in several]
    for op, attributes in VARIED.items():
        for name, texts in attributes.items():
            shown = [v for a in found.get(op, ()) for n, v in fields(a) if n == name]
            gaps += ["%s: %s = %s" % (op, name, t) for t in texts if not any(t in v for v in shown)]
    return gaps


# ---- indices and order


def promises(rng):
    """Indices that are sorted, and unique, as is said of them."""
    for kind in EVERY:
        count = int(rng.integers(1, 5))
        x, rows = values(rng, kind, (6, 3)), np.sort(rng.permutation(6)[:count]).astype(np.int32)[:, None]
        case = Program("promises", "gather", expected=[x[rows[:, 0]]])
        numbers = (
            "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
            "index_vector_dim = 1>, %sindices_are_sorted = true"
        )
        sizes, result = "slice_sizes = array<i64: 1, 3>, ", tensor((count, 3), kind)
        yield case.done(case.emit("gather", [case.arg(x), case.arg(rows)], result, numbers % sizes))
        case = Program("promises", "dynamic_gather", expected=[x[rows[:, 0]]])
        operands = [case.arg(x), case.arg(rows), case.constant("[1, 3]", "tensor<2xi32>")]
        yield case.done(case.emit("dynamic_gather", operands, result, numbers % ""))
        updates, right = values(rng, kind, (count, 3)), x.copy()
        right[rows[:, 0]] = updates
        case = Program("promises", "scatter", expected=[right], note="whole")
        numbers = (
            "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = true, unique_indices = true"
        )
        operands = [case.arg(x), case.arg(rows), case.arg(updates)]
        last = region([kind, kind], [], [("%x1", kind)])
        yield case.done(case.emit("scatter", operands, tensor((6, 3), kind), numbers, last))


def several(rng):
    """Operations on several operands of different types at once."""
    for first, second in itertools.product(["i8", "ui32", "f32", "f64"], ["i32", "f16", "i1"]):
        kinds = [first, second]
        one, two = ("add", "maximum") if second != "i1" else ("add", "or")
        body = region(
            kinds * 2,
            [
                "%%y%d = \"stablehlo.%s\"(%%x%d, %%x%d) : (tensor<%s>, tensor<%s>) -> tensor<%s>"
                % (i, op, i, i + 2, k, k, k)
                for i, (op, k) in enumerate(zip((one, two), kinds))
            ],
            [("%y0", first), ("%y1", second)],
        )
        x, y = values(rng, first, (4, 5), "small"), values(rng, second, (4, 5), "small")
        starts = [identity(one, first), identity(two, second)]
        for op, shape, attribute in (
            ("reduce", (4,), "dimensions = array<i64: 1>"),
            ("reduce_window", (4, 2), "window_dimensions = array<i64: 1, 4>"),
        ):
            case = Program("several operands", op, note=one)
            operands = [case.arg(a) for a in [x, y] + starts]
            yield case.done(case.emit(op, operands, [tensor(shape, k) for k in kinds], attribute, body))
        case = Program("several operands", "scatter", note="whole")
        rows = rng.integers(0, 4, (3, 1)).astype(np.int32)
        operands = [x, y, rows] + [values(rng, k, (3, 5), "small") for k in kinds]
        numbers = (
            "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
        )
        results = [type_text(x), type_text(y)]
        yield case.done(case.emit("scatter", [case.arg(a) for a in operands], results, numbers, body))


def orders(rng):
    """Sorts that need not be stable: of keys that are all different; of two keys, the second where the first are equal."""
    for kind in [k for k in INTEGERS + FLOATS if KINDS[k].bits >= 8]:
        x = np.stack([rng.permutation(7) for _ in range(3)]).astype(KINDS[kind].dtype)
        position = np.broadcast_to(np.arange(7, dtype=np.int32), (3, 7)).copy()
        order = np.argsort(x.astype(np.float64), 1)
        case = Program("sort", "sort", expected=[np.take_along_axis(x, order, 1), order.astype(np.int32)])
        types = [type_text(x), type_text(position)]
        body = compare_region([kind, kind, "i32", "i32"], "LT", kind)
        operands = [case.arg(x), case.arg(position)]
        yield case.done(case.emit("sort", operands, types, "dimension = -1 : i64, is_stable = false", body))
        x, y = rng.integers(0, 3, (2, 9)).astype(KINDS[kind].dtype), np.stack([rng.permutation(9) for _ in range(2)])
        y = y.astype(np.int32)
        order = np.lexsort((y, x.astype(np.float64)), axis=1)
        case = Program("sort", "sort", expected=[np.take_along_axis(a, order, 1) for a in (x, y)])
        compare = (
            "%%%s = \"stablehlo.compare\"(%s, %s) <{comparison_direction = #stablehlo<comparison_direction %s>}> : "
        )
        lines = [
            compare % ("e", "%x0", "%x1", "EQ") + "(tensor<%s>, tensor<%s>) -> tensor<i1>" % (kind, kind),
            compare % ("l", "%x0", "%x1", "LT") + "(tensor<%s>, tensor<%s>) -> tensor<i1>" % (kind, kind),
            compare % ("m", "%x2", "%x3", "LT") + "(tensor<i32>, tensor<i32>) -> tensor<i1>",
            "%y = \"stablehlo.select\"(%e, %m, %l) : (tensor<i1>, tensor<i1>, tensor<i1>) -> tensor<i1>",
        ]
        body = region([kind, kind, "i32", "i32"], lines, [("%y", "i1")])
        operands, types = [case.arg(x), case.arg(y)], [type_text(x), type_text(y)]
        yield case.done(case.emit("sort", operands, types, "dimension = 1 : i64, is_stable = false", body))


# ---- products and transforms


def rounded_to(x, bits):
    """f32 rounded to nearest even to so many bits below the leading one."""
    raw = pattern(x).astype(np.uint64)
    drop = 23 - bits
    raw = raw + (1 << (drop - 1)) - 1 + ((raw >> np.uint64(drop)) & np.uint64(1)).astype(np.uint64)
    return ((raw >> np.uint64(drop)) << np.uint64(drop)).astype(np.uint32).view(np.float32).reshape(x.shape)


def precisions(rng):
    """Precisions change nothing of products that are exact; an algorithm of one component rounds the operands."""
    contraction = "dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
    contraction += "rhs_contracting_dimensions = [0]>"
    config = "precision_config = [#stablehlo<precision %s>, #stablehlo<precision %s>]"
    for kind, one, two in itertools.product(["i32", "bf16", "f16", "f32", "f64"], PRECISIONS, PRECISIONS):
        x, y = values(rng, kind, (3, 5), "small"), values(rng, kind, (5, 4), "small")
        right = np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype) + np.zeros((), x.dtype)
        convolution = "dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64, "
        convolution += "batch_group_count = 1 : i64"
        for op, numbers in (("dot_general", contraction), ("convolution", convolution), ("dot", "")):
            case = Program("precision", op, expected=[right])
            operands = [case.arg(x), case.arg(y)]
            text = ", ".join(t for t in (numbers, config % (one, two)) if t)
            yield case.done(case.emit(op, operands, tensor((3, 4), kind), text))
    algorithm = (
        "algorithm = #stablehlo.dot_algorithm<lhs_precision_type = %s, rhs_precision_type = %s, accumulation_type = f32, "
        "lhs_component_count = %d, rhs_component_count = %d, num_primitive_operations = %d, "
        "allow_imprecise_accumulation = false>"
    )
    for precision, count, operations, bits in (
        ("tf32", 1, 1, 10),
        ("bf16", 1, 1, 7),
        ("bf16", 3, 6, 23),
        ("bf16", 3, 9, 23),
        ("f32", 1, 1, 23),
    ):
        x, y = (values(rng, "f32", s, "plain") for s in ((3, 5), (5, 4)))
        short = [rounded_to(a, bits) if bits < 23 else a for a in (x, y)]
        right = np.matmul(*(a.astype(np.float64) for a in short)).astype(np.float32)
        case = Program("precision", "dot_general", close=1e-6, expected=[right], avoid=("reference", "xla"))
        numbers = contraction + ", "
        text = numbers + config % ("DEFAULT", "DEFAULT") + ", "
        text += algorithm % (precision, precision, count, count, operations)
        yield case.done(case.emit("dot_general", [case.arg(x), case.arg(y)], tensor((3, 4), "f32"), text))


def transforms(rng):
    """FFTs of up to three dimensions, of lengths even and odd, against NumPy's."""
    for part, scale in (("f32", 2e-5), ("f64", 1e-12)):
        kind = "complex<%s>" % part
        for lengths, type_ in itertools.product(
            [(4,), (3, 5), (2, 6), (4, 7), (2, 3, 4), (3, 2, 5)], ["FFT", "IFFT", "RFFT", "IRFFT"]
        ):
            half = lengths[:-1] + (lengths[-1] // 2 + 1,)
            axes = tuple(range(1, len(lengths) + 1))
            whole = values(rng, part, (2,) + lengths, "plain")
            source = {
                "RFFT": whole,
                "IRFFT": np.fft.rfftn(whole.astype(np.float64), axes=axes).astype(KINDS[kind].dtype),
            }.get(type_, values(rng, kind, (2,) + lengths, "plain"))
            wide = source.astype(np.complex128 if type_ != "RFFT" else np.float64)
            right = {
                "FFT": lambda: np.fft.fftn(wide, axes=axes),
                "IFFT": lambda: np.fft.ifftn(wide, axes=axes),
                "RFFT": lambda: np.fft.rfftn(wide, axes=axes),
                "IRFFT": lambda: np.fft.irfftn(wide, s=lengths, axes=axes),
            }[type_]()
            target = part if type_ == "IRFFT" else kind
            case = Program("fft", "fft", close=scale, expected=[right.astype(KINDS[target].dtype)])
            if part == "f32":  # StableHLO's interpreter ends the process
                case.avoid += ("reference",)
            text = "fft_type = #stablehlo<fft_type %s>, fft_length = %s" % (type_, array_text(lengths))
            shape = (2,) + (half if type_ == "RFFT" else lengths)
            yield case.done(case.emit("fft", [case.arg(source)], tensor(shape, target), text))


# ---- configurations


def configurations(rng):
    """Attributes that say how, not what: results do not depend on them."""
    for version, side, config in (("1", "false", "\"\""), ("2", "true", "\"some text\""), ("4", "false", "{}")):
        x = values(rng, "f32", (3, 4))
        case = Program("custom_call", "custom_call", expected=[x], avoid=("reference",))
        text = "call_target_name = \"Sharding\", has_side_effect = %s, backend_config = %s, api_version = %s : i32"
        yield case.done(case.emit("custom_call", [case.arg(x)], type_text(x), text % (side, config, version)))
    for accuracy in (
        "mode = #stablehlo.result_accuracy_mode<DEFAULT>",
        "mode = #stablehlo.result_accuracy_mode<HIGHEST>",
        "atol = 0.5, rtol = 0.5, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>",
    ):
        for op in ROUNDED:
            x = np.abs(values(rng, "f32", (5,), "plain")) + np.float32(0.5)
            with np.errstate(all="ignore"):
                wide = {
                    "exponential": np.exp,
                    "exponential_minus_one": np.expm1,
                    "log": np.log,
                    "log_plus_one": np.log1p,
                    "logistic": lambda v: 1 / (1 + np.exp(-v)),
                    "cosine": np.cos,
                    "sine": np.sin,
                    "tan": np.tan,
                    "tanh": np.tanh,
                    "cbrt": np.cbrt,
                    "rsqrt": lambda v: 1 / np.sqrt(v),
                }[op](x.astype(np.float64))
            case = Program("result accuracy", op, ulps=8, expected=[wide.astype(np.float32)])
            text = "result_accuracy = #stablehlo.result_accuracy<%s>" % accuracy
            yield case.done(case.emit(op, [case.arg(x)], type_text(x), text))
    for kind in ("i8", "f32"):
        x = values(rng, kind, (1, 4))
        case = Program("dynamic shapes", "dynamic_broadcast_in_dim", expected=[np.broadcast_to(x, (3, 4)).copy()])
        operands = [case.arg(x), case.constant("[3, 4]", "tensor<2xi64>")]
        text = "broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, "
        text += "known_nonexpanding_dimensions = array<i64: 1>"
        yield case.done(case.emit("dynamic_broadcast_in_dim", operands, tensor((3, 4), kind), text))
        x, i = values(rng, kind, (3, 4)), rng.integers(0, 4, (3, 2)).astype(np.int64)
        case = Program("torch_index_select", "torch_index_select", expected=[np.take_along_axis(x, i, 1)])
        text = "dim = 1 : i64, batch_dims = 1 : i64"
        yield case.done(case.emit("torch_index_select", [case.arg(x), case.arg(i)], tensor((3, 2), kind), text))
        x = values(rng, kind, (2, 3))
        case, t = Program("composite", "composite", expected=[np.flip(x, 1)]), tensor((2, 3), kind)
        case.functions.append(
            "func.func private @helper(%%x: %s) -> %s {\n  %%0 = \"stablehlo.reverse\"(%%x) <{dimensions = array<i64: 1>}> : "
            "(%s) -> %s\n  \"func.return\"(%%0) : (%s) -> ()\n}\n" % ((t,) * 5)
        )
        text = "name = \"test.flip\", composite_attributes = {}, decomposition = @helper, version = 0 : i32"
        yield case.done(case.emit("composite", [case.arg(x)], t, text))
    for kind, (exponent, mantissa) in itertools.product(BIG, [(1, 0), (2, 3), (8, 0), (8, 7), (5, 10), (11, 52)]):
        case = Program("unary float", "reduce_precision")
        x, text = values(rng, kind, (12,)), "exponent_bits = %d : i32, mantissa_bits = %d : i32" % (exponent, mantissa)
        case.expected, case.loose = [cut_precision(x, exponent, mantissa)], np.isnan(x.astype(np.float64))
        yield case.done(case.emit("reduce_precision", [case.arg(x)], type_text(x), text))
    for kind in BIG:  # a deviation of zero leaves the mean
        case = Program(
            "rng", "rng", expected=[np.full((9,), 1.5).astype(KINDS[kind].dtype)], avoid=("reference", "xla")
        )
        operands = [case.arg(np.array(v).astype(KINDS[kind].dtype)) for v in (1.5, 0)]
        operands.append(case.constant("[9]", "tensor<1xi64>"))
        text = "rng_distribution = #stablehlo<rng_distribution NORMAL>"
        yield case.done(case.emit("rng", operands, tensor((9,), kind), text))


# ---- between processes


def communication(rng):
    """Devices that send to each other, and feeds with a configuration."""
    token = "!stablehlo.token"
    for kind in ("i8", "f32", "complex<f64>"):
        inputs, t = [values(rng, kind, (2, 3)) for _ in range(2)], tensor((2, 3), kind)
        case = Program("send and recv", "send", expected=inputs[::-1], avoid=("reference", "xla"))
        case.used += [("stablehlo.send", [kind, "token"], ["token"]), ("stablehlo.recv", ["token"], [kind, "token"])]
        text = (
            "channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, is_host_transfer = false, "
            "source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>"
        )
        body = (
            "  %%t = \"stablehlo.create_token\"() : () -> %s\n  %%s = \"stablehlo.send\"(%%x, %%t) <{%s}> : (%s, %s) -> %s\n"
            "  %%r, %%e = \"stablehlo.recv\"(%%s) <{%s}> : (%s) -> (%s, %s)"
            % (token, text, t, token, token, text, token, t, token)
        )
        yield parallel(case, (2, 1, ""), body, inputs, t)
    case, t = Program("feeds", "infeed", expected=[np.full((2, 2), 3, np.int32)]), tensor((2, 2), "i32")
    case.used += [("stablehlo.infeed", ["token"], ["i32", "token"]), ("stablehlo.outfeed", ["i32", "token"], ["token"])]
    case.functions.append(
        "func.func private @helper_queue() -> %s {\n  %%0 = stablehlo.constant dense<3> : %s\n  \"func.return\"(%%0) : (%s) "
        "-> ()\n}\n" % (t, t, t)
    )
    case.functions.append(
        "func.func private @helper_feed(%%t: %s) -> (%s, %s) {\n  %%0:2 = \"stablehlo.infeed\"(%%t) <{infeed_config = \"x\", "
        "layout = [[0, 1]]}> : (%s) -> (%s, %s)\n  %%1 = \"stablehlo.outfeed\"(%%0#0, %%0#1) <{outfeed_config = \"y\"}> : "
        "(%s, %s) -> %s\n  \"func.return\"(%%0#0, %%1) : (%s, %s) -> ()\n}\n"
        % (token, t, token, token, t, token, t, token, token, t, token)
    )
    first = case.emit("create_token", [], token)
    text = "infeed = [@helper_queue], programs = [[@helper_feed]]"
    yield case.done(case.emit("interpreter.run_parallel", [first], [t, token], text)[0])


def collectives(rng):
    """The dimensions that the other module leaves alone, another channel, and two operands at once."""
    for kind, count in itertools.product(["i32", "f32", "i1", "f64"], (2, 4)):
        flat = pick(rng, flat_grids(count)[1:])
        flat = flat[:2] + (flat[2].replace("handle = 1", "handle = 7"),)
        groups = groups_of(rng, count, True)
        size, group = len(groups[0]), {p: g for g in groups for p in g}
        inputs = [values(rng, kind, (4, 3)) for _ in range(count)]
        t = tensor((4, 3), kind)

        def together(op, result, text, expected, body="", grid=flat):
            """The operation on an operand and its reversal; the results side by side."""
            case = Program(op, op, expected=[np.stack(pair) for pair in zip(*expected)])
            case.used.append(("stablehlo." + op, [kind, kind], [kind, kind]))
            if op == "all_to_all":  # of several operands XLA sends one to each process, and splits none
                case.avoid += ("xla",)
            lines = "  %%z = \"stablehlo.reverse\"(%%x) <{dimensions = array<i64: 1>}> : (%s) -> %s\n" % (t, t)
            lines += "  %%two:2 = \"stablehlo.%s\"(%%x, %%z) <{%s}>%s : (%s, %s) -> (%s, %s)\n" % (
                op,
                ", ".join(part for part in (text, attributes(groups, grid)) if part),
                " (%s)" % body if body else "",
                t,
                t,
                result,
                result,
            )
            whole = tensor((2,) + shape_of(result), kind)
            single = tensor((1,) + shape_of(result), kind)
            for i in range(2):
                lines += "  %%w%d = \"stablehlo.reshape\"(%%two#%d) : (%s) -> %s\n" % (i, i, result, single)
            lines += "  %%r = \"stablehlo.concatenate\"(%%w0, %%w1) <{dimension = 0 : i64}> : (%s, %s) -> %s" % (
                single,
                single,
                whole,
            )
            return parallel(case, grid, lines, inputs, whole)

        both = [inputs, [np.flip(x, 1) for x in inputs]]
        gathered = [[np.concatenate([xs[q] for q in group[p]], 0) for p in range(count)] for xs in both]
        yield together("all_gather", tensor((4 * size, 3), kind), "all_gather_dim = 0 : i64", gathered)
        grid = pick(rng, grids(count))
        traded = [
            [np.concatenate([np.split(xs[q], size, 0)[group[p].index(p)] for q in group[p]], 1) for p in range(count)]
            for xs in both
        ]
        text = "split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = %d : i64" % size
        yield together("all_to_all", tensor((4 // size, 3 * size), kind), text, traded, grid=grid)
        inputs = [values(rng, kind, (4, 3), "small") for _ in range(count)]
        both = [inputs, [np.flip(x, 1) for x in inputs]]
        largest = [[np.max([xs[q] for q in group[p]], 0) for p in range(count)] for xs in both]
        body = combiner("maximum", kind)
        yield together("all_reduce", t, "", largest, body)
        case = Program("reduce_scatter", "reduce_scatter")
        case.expected = [np.split(largest[0][p], size, 0)[group[p].index(p)] for p in range(count)]
        case.used.append(("stablehlo.reduce_scatter", [kind], [kind]))
        result = tensor((4 // size, 3), kind)
        lines = "  %%r = \"stablehlo.reduce_scatter\"(%%x) <{scatter_dimension = 0 : i64, %s}> (%s) : (%s) -> %s" % (
            attributes(groups, flat),
            body,
            t,
            result,
        )
        yield parallel(case, flat, lines, inputs, result)


GENERATORS = [promises, several, orders, precisions, transforms, configurations, communication, collectives]
