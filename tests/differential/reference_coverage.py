# SPDX-License-Identifier: Apache-2.0
"""Which (operation, element type) pairs the specification allows, and which of them reference.py has compared.

ALLOWED holds a row for every operation of hlo/ops.def and for those that import turns into others, with the classes of
element types that the specification's input table (CHLO: the dialect's definition) gives its data operand. A pair counts as
covered when a case that has it agreed with at least one oracle. A pair that is neither covered nor excused is a failure.
"""

import os
import re

from reference_program import COMPLEX, F8, INTEGERS, SIGNED, TINY

FLOATS = F8 + TINY + ["bf16", "f16", "f32", "f64"]
CLASSES = {
    "P": ["i1"],
    "I": INTEGERS,
    "S": SIGNED,
    "F": FLOATS,
    "C": COMPLEX,
    "Q": ["quantized"],
    "A": ["quantized per axis"],
    "T": ["token"],
    "V": ["tuple"],
    "f": ["f32", "f64"],
    "i": ["i32"],
    "u": ["ui32"],
    "8": ["ui64"],
}

# classes: operations (stablehlo. unless they say otherwise)
ALLOWED = {
    "SFCQ": "abs sign",
    "PIFCQA": "add broadcast_in_dim reshape transpose constant dynamic_broadcast_in_dim dynamic_reshape bitcast_convert "
    "get_dimension_size convolution dot_general dynamic_conv outfeed infeed send recv if case while "
    "set_dimension_size",
    "PIFCQ": "all_gather all_reduce all_to_all collective_broadcast collective_permute reduce_scatter clamp compare "
    "concatenate dynamic_gather dynamic_pad dynamic_slice dynamic_update_slice gather map maximum minimum multiply "
    "optimization_barrier pad real_dynamic_slice reduce reduce_window reverse scatter select select_and_scatter slice "
    "sort collective_reduce async_start async_done",
    "PIFC": "convert convert_to composite torch_index_select einsum unary_einsum custom_call",
    "PIFCQT": "tuple get_tuple_element",
    "PI": "and or xor not",
    "I": "count_leading_zeros popcnt shift_left shift_right_arithmetic shift_right_logical chlo.mulhi",
    "IFCQ": "divide negate power remainder subtract iota dynamic_iota",
    "FCQ": "atan2 cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh cholesky "
    "triangular_solve",
    "FQ": "ceil floor is_finite round_nearest_afz round_nearest_even reduce_precision batch_norm_grad batch_norm_inference "
    "batch_norm_training uniform_quantize",
    "FC": "real imag chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.conj chlo.cosh chlo.sinh chlo.square "
    "chlo.tan",
    "fC": "fft",
    "f": "complex",
    "C": "chlo._asin_acos_kernel",
    "QA": "uniform_dequantize",
    "IF": "rng_bit_generator chlo.top_k",
    "PIF": "rng",
    "T": "after_all create_token",
    "u": "partition_id replica_id",
    "F": "chlo.bessel_i1e chlo.digamma chlo.erf chlo.erf_inv chlo.erfc chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf "
    "chlo.lgamma chlo.next_after chlo.polygamma chlo.zeta chlo.broadcast_next_after chlo.broadcast_polygamma "
    "chlo.broadcast_zeta",
    "PIFC ": "chlo.ragged_dot chlo.scan chlo.constant chlo.constant_like chlo.broadcast_add chlo.broadcast_maximum "
    "chlo.broadcast_minimum chlo.broadcast_multiply chlo.broadcast_compare chlo.broadcast_select",
    "IFC": "chlo.broadcast_divide chlo.broadcast_power chlo.broadcast_remainder chlo.broadcast_subtract",
    "FC ": "chlo.broadcast_atan2",
    "f ": "chlo.broadcast_complex",
    "PI ": "chlo.broadcast_and chlo.broadcast_or chlo.broadcast_xor",
    "I ": "chlo.broadcast_shift_left chlo.broadcast_shift_right_arithmetic chlo.broadcast_shift_right_logical",
}

# Where the data operand is not the first: ("in" or "out", position); None: any operand or result.
PLACES = {
    "select": ("in", 1),
    "clamp": ("in", 1),
    "case": ("out", 0),
    "if": ("out", 0),
    "while": None,
    "iota": ("out", 0),
    "dynamic_iota": ("out", 0),
    "rng_bit_generator": ("out", 1),
    "constant": ("out", 0),
    "convert_to": ("out", 0),
    "infeed": ("out", 0),
    "recv": ("out", 0),
    "rng": ("out", 0),
    "chlo.broadcast_select": ("in", 1),
    "chlo.constant": ("out", 0),
    "tuple": None,
    "get_tuple_element": ("out", 0),
    "partition_id": ("out", 0),
    "replica_id": ("out", 0),
    "create_token": ("out", 0),
    "after_all": ("out", 0),
    "composite": None,
    "custom_call": None,
    "async_start": None,
    "async_done": None,
}

# Pairs that no oracle decides: operations, classes or names of element types, reason.
EXCUSES = [
    (
        "batch_norm_grad batch_norm_inference batch_norm_training cholesky triangular_solve chlo.ragged_dot chlo.scan "
        "collective_reduce einsum unary_einsum set_dimension_size uniform_quantize",
        "f8E8M0FNU",
        "what is summed, masked or clamped needs a zero or a sign, which the type has not: only NaN comes out",
    ),
    ("rng_bit_generator", " ".join(TINY), "the bits are XLA's by definition, and it refuses these types"),
]


def short(name):
    return name[len("stablehlo.") :] if name.startswith("stablehlo.") else name


def allowed():
    """All pairs of the specification."""
    return {
        (op, kind)
        for classes, ops in ALLOWED.items()
        for op in ops.split()
        for c in classes.strip()
        for kind in CLASSES[c]
    }


def pairs(case):
    """The pairs that a case has."""
    found = set()
    for name, operands, results in case.used:
        for op in [short(name)] + (["convert_to"] if name == "stablehlo.convert" else []):
            place = PLACES.get(op, ("in", 0))
            if place is None:
                found |= {(op, kind) for kind in operands + results}
            else:
                kinds = operands if place[0] == "in" else results
                found |= {(op, kinds[place[1]])} if place[1] < len(kinds) else set()
    return found


def table_gaps():
    """Operations of hlo/ops.def that have no row here."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with open(os.path.join(root, "hlo", "ops.def")) as file:
        names = re.findall(r'^OP\(\w+, "((?:stablehlo|chlo)\.\w+)"', file.read(), re.M)
    rows = {op for op, _ in allowed()}
    return [n for n in names if short(n) not in rows]


def excused():
    """Pairs with their reasons."""
    reasons = {}
    for ops, kinds, reason in EXCUSES:
        members = [
            k for word in kinds.split() for k in (CLASSES[word] if word in CLASSES else [word.replace("_", " ")])
        ]
        reasons.update({(op, kind): reason for op in ops.split() for kind in members})
    return reasons


def report(covered):
    """Prints the table of uncovered pairs; gives how many of them are not excused."""
    wanted, reasons = allowed(), excused()
    missing = sorted(wanted - covered)
    bare = [p for p in missing if p not in reasons]
    print(
        "coverage: %d of %d pairs of operation and element type compared, %d excused, %d not"
        % (len(wanted & covered), len(wanted), len(missing) - len(bare), len(bare))
    )
    for reason in sorted({reasons[p] for p in missing if p in reasons}):
        print("  excused: %s: %s" % (reason, describe([p for p in missing if reasons.get(p) == reason])))
    if bare:
        print("  NOT COVERED: %s" % describe(bare))
    gaps = table_gaps()
    if gaps:
        print("  NOT IN THE TABLE: %s" % " ".join(gaps))
    for ops, kinds, reason in EXCUSES:  # a needless excuse would hide a later loss
        members = [
            k for word in kinds.split() for k in (CLASSES[word] if word in CLASSES else [word.replace("_", " ")])
        ]
        if all((op, kind) in covered for op in ops.split() for kind in members):
            print("  needless excuse: %s: %s" % (ops, kinds))
    return len(bare) + len(gaps)


def describe(some):
    """Pairs as text, an operation at a time."""
    by_op = {}
    for op, kind in some:
        by_op.setdefault(op, []).append(kind)
    return "; ".join("%s (%s)" % (op, ", ".join(kinds)) for op, kinds in sorted(by_op.items()))
