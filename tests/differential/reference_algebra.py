# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: control flow, linear algebra, normalisation, random bits."""

import itertools

import numpy as np

from reference_program import *  # noqa: F403


def control(rng):
    for kind in ["i8", "i32", "ui16", "f32", "f64", "complex<f32>"]:
        for shape, p in itertools.product([(), (2, 3)], [False, True]):
            case = Program("if", "if")
            x, y, c = case.arg(values(rng, kind, shape)), case.arg(values(rng, kind, shape)), case.arg(np.array(p))
            t = tensor(shape, kind)
            branches = [
                "{\n    %%y%d = \"stablehlo.%s\"(%s, %s) : (%s, %s) -> %s\n    \"stablehlo.return\"(%%y%d) : (%s) -> ()\n  }"
                % (i, op, x, y, t, t, t, i, t)
                for i, op in enumerate(["add", "subtract"])
            ]
            yield case.done(case.emit("if", [c], t, "", ", ".join(branches)))
        for index in (-(2**31), -1, 0, 1, 2, 3, 2**31 - 1):
            case = Program("case", "case")
            x, t = case.arg(values(rng, kind, (3,))), tensor((3,), kind)
            c = case.arg(np.array(index, np.int32))
            branches = [
                "{\n    %%y%d = \"stablehlo.%s\"(%s) : (%s) -> %s\n    \"stablehlo.return\"(%%y%d) : (%s) -> ()\n  }"
                % (i, op, x, t, t, i, t)
                for i, op in enumerate(["negate", "reshape", "optimization_barrier"])
            ]
            yield case.done(case.emit("case", [c], t, "", ", ".join(branches)))
        for trips in (0, 1, 5):
            case = Program("while", "while")
            x, n, t = (
                case.arg(values(rng, kind, (3,), "small")),
                case.arg(np.array(trips, np.int32)),
                tensor((3,), kind),
            )
            one = case.constant("1", "tensor<i32>")
            cond = (
                "{\n  ^bb0(%%i: tensor<i32>, %%s: %s):\n    %%c = \"stablehlo.compare\"(%%i, %s) <{comparison_direction = "
                "#stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                "    \"stablehlo.return\"(%%c) : (tensor<i1>) -> ()\n  }" % (t, n)
            )
            body = (
                "{\n  ^bb0(%%i: tensor<i32>, %%s: %s):\n    %%j = \"stablehlo.add\"(%%i, %s) : (tensor<i32>, tensor<i32>) -> "
                "tensor<i32>\n    %%u = \"stablehlo.add\"(%%s, %s) : (%s, %s) -> %s\n"
                "    \"stablehlo.return\"(%%j, %%u) : (tensor<i32>, %s) -> ()\n  }" % (t, one, x, t, t, t, t)
            )
            zero = case.arg(np.array(0, np.int32))
            yield case.done(case.emit("while", [zero, x], ["tensor<i32>", t], "", cond + ", " + body))
    for kind in WIDE + BIG:
        shape = random_shape(rng, 2, 0, 5)
        case = Program("map", "map")
        x, y = case.arg(values(rng, kind, shape)), case.arg(values(rng, kind, shape))
        yield case.done(
            case.emit(
                "map",
                [x, y],
                tensor(shape, kind),
                "dimensions = array<i64: 0, 1>",
                combiner("subtract", kind, "%x1", "%x0"),
            )
        )


def algebra(rng):
    for part, scale in (("f32", 2e-5), ("f64", 1e-12)):
        kind = "complex<%s>" % part
        for type_, length in itertools.product(["FFT", "IFFT", "RFFT", "IRFFT"], [1, 2, 5, 8, 12]):
            case = Program("fft", "fft", close=scale)
            half = length // 2 + 1
            source = values(rng, part if type_ == "RFFT" else kind, (3, half if type_ == "IRFFT" else length), "plain")
            if type_ == "IRFFT":  # its imaginary ends do not count
                source[:, 0] = source[:, 0].real
                if length % 2 == 0:
                    source[:, -1] = source[:, -1].real
            result = tensor((3, half if type_ == "RFFT" else length), part if type_ == "IRFFT" else kind)
            yield case.done(
                case.emit(
                    "fft",
                    [case.arg(source)],
                    result,
                    "fft_type = #stablehlo<fft_type %s>, fft_length = array<i64: %d>" % (type_, length),
                )
            )
        for element, lower, size in itertools.product([part, kind], [True, False], [1, 2, 4]):
            case = Program("cholesky", "cholesky", close=scale)
            m = values(rng, element, (2, size, size), "plain")
            a = np.matmul(m, np.conj(np.swapaxes(m, 1, 2))) + np.eye(size, dtype=m.dtype) * 3
            out = case.emit(
                "cholesky", [case.arg(a.astype(m.dtype))], tensor(a.shape, element), "lower = %s" % str(lower).lower()
            )
            # the other triangle is undefined: it is masked
            triangle = np.tril(np.ones((size, size), bool)) if lower else np.triu(np.ones((size, size), bool))
            zero = case.arg(np.zeros(a.shape, m.dtype))
            mask = case.arg(np.broadcast_to(triangle, a.shape).copy())
            yield case.done(case.emit("select", [mask, out, zero], tensor(a.shape, element)))
        for element, left, lower, unit, flip in itertools.product(
            [part, kind], [True, False], [True, False], [True, False], ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]
        ):
            case = Program("triangular_solve", "triangular_solve", close=scale * 10)
            a = values(rng, element, (2, 3, 3), "plain") / 4 + np.eye(3) * 2
            b = values(rng, element, (2, 3, 4) if left else (2, 4, 3), "plain")
            operands = [case.arg(a.astype(KINDS[element].dtype)), case.arg(b)]
            yield case.done(
                case.emit(
                    "triangular_solve",
                    operands,
                    tensor(b.shape, element),
                    "left_side = %s, lower = %s, unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>"
                    % (str(left).lower(), str(lower).lower(), str(unit).lower(), flip),
                )
            )
    for kind, axis in itertools.product(["f32", "f64", "f16"], [0, 1, 2]):
        shape = (3, 2, 4)
        close = {"f32": 2e-5, "f64": 1e-12, "f16": 2e-2}[kind]
        attributes = "epsilon = 0.001 : f32, feature_index = %d : i64" % axis
        x, v = values(rng, kind, shape, "plain"), [np.abs(values(rng, kind, (shape[axis],), "plain")) for _ in range(4)]
        case = Program("batch_norm", "batch_norm_inference", close=close)
        yield case.done(
            case.emit("batch_norm_inference", [case.arg(a) for a in [x] + v], tensor(shape, kind), attributes)
        )
        case = Program("batch_norm", "batch_norm_training", close=close)
        side = tensor((shape[axis],), kind)
        yield case.done(
            case.emit(
                "batch_norm_training", [case.arg(a) for a in [x] + v[:2]], [tensor(shape, kind), side, side], attributes
            )
        )
        case = Program("batch_norm", "batch_norm_grad", close=close * 4)
        operands = [case.arg(a) for a in [x] + v[:3] + [values(rng, kind, shape, "plain")]]
        yield case.done(case.emit("batch_norm_grad", operands, [tensor(shape, kind), side, side], attributes))
    for algorithm, state, kind in itertools.product(
        ["THREE_FRY", "PHILOX"], [2, 3], ["ui8", "ui16", "ui32", "ui64", "i32"]
    ):
        if algorithm == "THREE_FRY" and state == 3:
            continue
        shape = pick(rng, [(7,), (2, 3), (8,), (0,), ()])
        case = Program("rng_bit_generator", "rng_bit_generator")
        seed = case.arg(values(rng, "ui64", (state,)))
        yield case.done(
            case.emit(
                "rng_bit_generator",
                [seed],
                [tensor((state,), "ui64"), tensor(shape, kind)],
                "rng_algorithm = #stablehlo<rng_algorithm %s>" % algorithm,
            )
        )


GENERATORS = [control, algebra]
