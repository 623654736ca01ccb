# SPDX-License-Identifier: Apache-2.0
"""What is known of the two oracles of reference.py, each with the reason why the specification is not on their side.

An entry names the oracle, the operations, and the elements of a result that it excuses: `excuses(case, got, want)` gives a
mask over the result, or one truth value for all of it. Everything else that differs is a failure.
"""

import collections
import re

import ml_dtypes
import numpy as np

from reference_formulas import FUNCTIONS
from reference_program import KINDS, name_of, pattern

Deviation = collections.namedtuple("Deviation", "oracle ops reason excuses")

TINY = {"f64": 2.0**-1022, "complex<f64>": 2.0**-1022, "f16": 2.0**-14}  # others are computed in f32


def kind(array):
    return KINDS[name_of(array.dtype)]


def wide(array):
    """Values as f64; of complex numbers the real part."""
    return np.real(array).astype(np.float64)


def is_subnormal(array, near=1):
    if kind(array).integer:
        return np.zeros(array.shape, bool)
    limit = near * TINY.get(kind(array).name, 2.0**-126)
    parts = [wide(array)] + ([np.imag(array).astype(np.float64)] if kind(array).complex else [])
    return np.any([(p != 0) & (np.abs(p) < limit) for p in parts], axis=0)


def is_nan(array):
    return np.isnan(wide(array))


def touched(case, got, test):
    """Elements for which the result, or an argument that broadcasts to its shape, meets a test."""
    mask = test(got)
    for argument in case.arguments:
        try:
            mask = mask | np.broadcast_to(test(argument), mask.shape)
        except ValueError:
            pass
    return mask


def subnormal(case, got, want):
    """CHLO's formulas halve and square on the way: there what is close to subnormal counts."""
    near = 4 if case.family.startswith("chlo") else 1
    test = lambda array: is_subnormal(array, near)
    return touched(case, got, test) | test(want)


def small_float(case, got, want):
    return kind(got).bits == 8 and not kind(got).integer


def twice_rounded(case, got, want):
    """f8 by way of f16, as far as that explains the other result."""
    if not small_float(case, got, want) or any(a.dtype != got.dtype for a in case.arguments):
        return False
    with np.errstate(all="ignore"):
        through = FUNCTIONS[case.op](*(wide(a) for a in case.arguments)).astype(np.float16).astype(got.dtype)
    return pattern(np.broadcast_to(through, want.shape)) == pattern(want)


def has_high_index(case, got, want):
    """Some unsigned index has its top bit set."""
    return any(
        kind(a).integer and not kind(a).signed and a.size and (a >> (kind(a).bits - 1)).any()
        for a in case.arguments[1:]
    )


def least_normal(array):
    return float(ml_dtypes.finfo(array.dtype).smallest_normal)


def is_total(case):
    return case.note == "TOTALORDER"


def ignores_order(case, got, want):
    """NaNs, and zeros of different sign."""
    x, y = case.arguments
    return is_total(case) and (is_nan(x) | is_nan(y) | ((wide(x) == 0) & (wide(y) == 0)))


def converts_to(kinds, test):
    return lambda case, got, want: kind(got).name in kinds and test(case.arguments[0])


ELEMENTWISE = {
    "abs",
    "negate",
    "sign",
    "ceil",
    "floor",
    "round_nearest_afz",
    "round_nearest_even",
    "sqrt",
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
    "add",
    "subtract",
    "multiply",
    "divide",
    "remainder",
    "maximum",
    "minimum",
    "power",
    "atan2",
    "clamp",
    "compare",
    "convert",
    "reduce_precision",
    "map",
    "square",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cosh",
    "sinh",
    "bessel_i1e",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "zeta",
    "polygamma",
    "next_after",
    "conj",
}

DEVIATIONS = [
    Deviation("xla", ELEMENTWISE, "subnormals are flushed to zero (bf16 and f8 by way of f32)", subnormal),
    Deviation(
        "xla",
        {"reduce", "reduce_window", "select_and_scatter"},
        "subnormals are flushed to zero in regions",
        lambda case, got, want: (is_subnormal(got) | is_subnormal(want))
        & (abs(wide(got) - wide(want)) <= 256 * TINY.get(kind(got).name, 2.0**-126)),
    ),
    Deviation(
        "xla",
        {"convert"},
        "6 in f4E2M1FN, its largest value, is taken for infinity",
        lambda case, got, want: kind(got).integer
        and kind(case.arguments[0]).name == "f4E2M1FN"
        and np.abs(wide(case.arguments[0])) == 6,
    ),
    Deviation("xla", {"sqrt", "add", "subtract", "divide"}, "f8 is rounded to f16 first", twice_rounded),
    Deviation(
        "xla",
        {"reduce_precision"},
        "f8 is rounded as f16: other ties without mantissa bits, and other subnormals",
        lambda case, got, want: small_float(case, got, want)
        & (("mantissa_bits = 0 " in case.body) | (np.abs(wide(case.arguments[0])) <= least_normal(got))),
    ),
    # spec, reduce_precision: the mantissa is cut to mantissa_bits, which leaves an infinity of a NaN where that is none
    Deviation(
        "xla",
        {"reduce_precision"},
        "a NaN stays one without mantissa bits",
        lambda case, got, want: ("mantissa_bits = 0 " in case.body)
        & is_nan(want)
        & is_nan(case.arguments[0])
        & np.isinf(wide(got)),
    ),
    # spec, dot_general: reduce from constant(0); +0 + -0 is +0
    Deviation(
        "xla",
        {"dot_general", "convolution", "ragged_dot", "dynamic_conv", "einsum"},
        "a sum of one product does not start from +0",
        lambda case, got, want: got == want,
    ),
    # spec, divide: IEEE 754's division
    Deviation(
        "xla",
        {"divide"},
        "by what is broadcast: times its reciprocal, one place off",
        lambda case, got, want: case.family == "chlo broadcast"
        and case.arguments[1].shape != got.shape
        and abs(wide(got) - wide(want)) <= 2 * float(ml_dtypes.finfo(got.dtype).eps) * abs(wide(want)),
    ),
    *(
        Deviation(oracle, ops, reason, excuses)
        for oracle in ("xla", "reference")
        for ops, reason, excuses in (
            (
                {"erf_inv"},
                "near 1, where its formula rounds x x",
                lambda case, got, want: (abs(wide(case.arguments[0])) > 0.99)
                & (abs(wide(got) - wide(want)) <= 1e-7 * abs(wide(got)))
                & (kind(got).name == "f64"),
            ),
            (
                {"erfc"},
                "of large values, where its formula rounds x x before exp",
                lambda case, got, want: (wide(case.arguments[0]) > 5)
                & (abs(wide(got) - wide(want)) <= 1e-12 * abs(wide(got)))
                & (kind(got).name == "f64"),
            ),
            (
                {"next_after"},
                "FNUZ: the step to zero gives the pattern of -0, which is NaN",
                lambda case, got, want: (wide(got) == 0) & is_nan(want) & ("FNUZ" in name_of(got.dtype)),
            ),
            (
                {"polygamma", "zeta"},
                "a pole is NaN where the limit from the right is an infinity",
                lambda case, got, want: np.isinf(wide(got)) & is_nan(want) & (wide(case.arguments[1]) == 0),
            ),
        )
    ),
    Deviation(
        "xla", {"mulhi"}, "of 2- and 4-bit integers: always from 8 bits", lambda case, got, want: kind(got).bits < 8
    ),
    Deviation(
        "xla",
        {"top_k"},
        "the NaN of FNUZ types is ordered by its pattern, as a negative one",
        lambda case, got, want: "FNUZ" in name_of(case.arguments[0].dtype) and is_nan(case.arguments[0]).any(),
    ),
    Deviation(
        "reference",
        {"top_k"},
        "TOTALORDER is taken for FLOAT",
        lambda case, got, want: not kind(case.arguments[0]).integer
        and (is_nan(case.arguments[0]) | (wide(case.arguments[0]) == 0)).any(),
    ),
    Deviation(
        "reference",
        {"imag", "iota", "dynamic_iota"},
        "f8E8M0FNU: zero is its least value, where there is only NaN for it",
        lambda case, got, want: kind(got).name == "f8E8M0FNU" and is_nan(got),
    ),
    # a NaN's sign is open (IEEE 754, 6.3), and it becomes that of a zero where there is no NaN
    Deviation(
        "xla",
        {"convert"},
        "the sign of the zero that a NaN becomes",
        converts_to(["f4E2M1FN", "f6E2M3FN", "f6E3M2FN"], lambda x: np.isnan(wide(x))),
    ),
    Deviation(
        "xla",
        {"popcnt"},
        "counts the sign-extended byte of a 2- or 4-bit integer",
        lambda case, got, want: kind(got).signed and kind(got).bits < 8 and case.arguments[0] < 0,
    ),
    Deviation(
        "xla",
        {"scatter"},
        "drops a window of which only a part is out of bounds; the specification drops elements",
        lambda case, got, want: case.note == "cut",
    ),
    Deviation(
        "xla",
        {"scatter"},
        "with an empty index vector not all updates are applied",
        lambda case, got, want: case.note == "no index",
    ),
    Deviation(
        "xla",
        {"compare"},
        "the NaN of types without -0 has a sign bit, and is ordered as if it had none",
        lambda case, got, want: is_total(case)
        and "FNUZ" in name_of(case.arguments[0].dtype)
        and (is_nan(case.arguments[0]) | is_nan(case.arguments[1])),
    ),
    # spec, sort: adjusted_dimension = rank + dimension if negative. XLA replaces -1 only, and an executable reads outside with
    # the rest: some compilations return the operands unsorted.
    Deviation(
        "xla",
        {"sort"},
        "a dimension below -1 is not adjusted",
        lambda case, got, want: int(re.search(r"dimension = (-?\d+)", case.body)[1]) < -1
        and any(a.dtype == want.dtype and (pattern(a) == pattern(want)).all() for a in case.arguments),
    ),
    Deviation(
        "reference",
        {"sort"},
        "TOTALORDER is taken for FLOAT",
        lambda case, got, want: is_total(case) and (is_nan(case.arguments[0]) | (wide(case.arguments[0]) == 0)).any(),
    ),
    Deviation("reference", {"compare"}, "TOTALORDER is taken for FLOAT", ignores_order),
    Deviation(
        "reference",
        {"gather", "dynamic_slice", "dynamic_update_slice"},
        "unsigned indices are read as signed",
        has_high_index,
    ),
    Deviation(
        "reference",
        {"ceil", "floor", "round_nearest_afz", "round_nearest_even"},
        "f8E3M4 gives NaN",
        lambda case, got, want: kind(got).name == "f8E3M4" and is_nan(want),
    ),
    Deviation("reference", {"logistic"}, "f8 is rounded after each of several steps", small_float),
    Deviation(
        "reference",
        {"reduce_precision"},
        "FNUZ types are taken to have IEEE 754's bias, and -0",
        lambda case, got, want: "FNUZ" in name_of(got.dtype) and "f8E8M0" not in name_of(got.dtype),
    ),
    Deviation(
        "reference",
        {"reduce_precision"},
        "overflow gives a value where f8 has no infinity",
        lambda case, got, want: kind(got).name == "f8E4M3FN" and is_nan(got),
    ),
    Deviation(
        "reference",
        {"fft"},
        "IRFFT of an odd length mirrors one element too few",
        lambda case, got, want: "IRFFT" in case.body and got.shape[-1] % 2 == 1,
    ),
    Deviation(
        "reference",
        {"convert"},
        "f8E8M0FNU: NaN becomes infinity",
        lambda case, got, want: kind(case.arguments[0]).name == "f8E8M0FNU" and is_nan(case.arguments[0]),
    ),
    Deviation(
        "reference",
        {"convert"},
        "to f8E8M0FNU: what is not positive gets a value, where there is only NaN for it",
        converts_to(["f8E8M0FNU"], lambda x: ~(wide(x) > 0)),
    ),
    Deviation(
        "reference",
        {"convert"},
        "infinity and NaN to types that have neither",
        converts_to(["f4E2M1FN", "f6E2M3FN", "f6E3M2FN"], lambda x: ~np.isfinite(wide(x))),
    ),
]
