#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs with one thing changed: is refused here what jaxlib's StableHLO verifier refuses, and accepted what it accepts?

    verdict_mutants.py VERDICTS [--stablehlo DIR] [--seed N] [--count N]

The programs are StableHLO's own test functions (DIR, default $LEMNOS_STABLEHLO: a checkout of openxla/stablehlo) that
jaxlib accepts. In each a number of a type or attribute, an element type, the length of a list or a rank is changed at
random (with a fixed seed). Accepting what jaxlib refuses fails the test, with a few exceptions by jaxlib's message; so
does refusing what it accepts, unless our message cites one of the constraints of the specification that StableHLO's
verifier does not check. Needs jax; skipped (77) without it or without the checkout."""
import argparse
import collections
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import venv_packages  # noqa: F401 (jax)

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Words of jaxlib's refusals that need not be ours: how MLIR writes a float, a group size compared with an unknown one.
LAXER = ["unexpected decimal integer literal for a floating point value", "group_sizes is expected to have shape"]
# Constraints that we check and StableHLO's verifier does not, by the start of our message.
STRICTER = re.compile(
    r"(fft_c4|(send|recv)_c[1-4]|all_reduce_c[13]|all_gather_c6|dynamic_conv_c([2-9]|25)|scan_result|(reduce|reduce_window)_i2|"
    r"torch_index_select_(c\d|result)|compare_c[23]|rng_bit_generator_i2|dot_general_c1[56]|reduce_c6|reduce_window_c13|\w+_result: dimension \d+ has size \?|"
    r"'chlo\.broadcast_\w+': broadcast.dimension|there is no function @|replica groups by the mesh)|.*which is not one of this module's")
TEXTS = ["*.mlir", "chlo/*.mlir", "interpret/*.mlir", "vhlo/stablehlo_legalize_to_vhlo.mlir"]
TYPES = ["f32", "f64", "f16", "bf16", "i1", "i8", "i32", "i64", "ui8", "ui32", "complex<f32>", "i4", "f8E4M3FN"]
NUMBER = re.compile(r"(?<![%\w.@#])-?\d+(?=[x,\]>: }]|$)")
ELEMENT = re.compile(r"(?<=[x<])(complex<f32>|bf16|f\d\d|i\d+|ui\d+)(?=[>,])")
LIST = re.compile(r"array<i64: [^>]*>|dims = \[[^\]]*\]|= \[[\d, ]*\]")
SHAPE = re.compile(r"tensor<[\d?x]*(?=[a-z!])")


def functions(folder):
    """The texts' modules; one of several functions is taken apart."""
    out = []
    for pattern in TEXTS:
        for f in sorted(folder.glob(pattern)):
            for piece in re.split(r"^// -----.*\n", f.read_text(), flags=re.M):
                if any(word in piece for word in ["expected-error", "hlo_test", "tensor.", "sparse"]):
                    continue
                piece = "\n".join(line for line in piece.split("\n") if not line.strip().startswith("//"))
                parts = re.split(r"^(?=func\.func)", piece, flags=re.M)
                out += [p for p in (parts[1:] if len(parts) > 2 else [piece]) if p.strip() and len(p) < 6000]
    return out


def change_number(rng, text, m):
    value = int(m[0])
    new = rng.choice([value + 1, value - 1, 0, -1, 2 * value, 1, value + 7, "?"])
    return None if new == "?" and text[m.end():m.end() + 1] != "x" else str(new)


def change_list(rng, text, m):
    if rng.random() < 0.5:
        return re.sub(r", *-?\d+(?=[>\]])", "", m[0])
    return re.sub(r"(-?\d+)(?=[>\]])", r"\1, \1", m[0])


MUTATIONS = [(0.5, NUMBER, change_number), (0.25, ELEMENT, lambda rng, text, m: rng.choice(TYPES)), (0.15, LIST, change_list),
             (0.1, SHAPE, lambda rng, text, m: m[0] + rng.choice(["1x", "2x", "?x"]))]


def mutate(rng, text):
    _, where, change = rng.choices(MUTATIONS, [m[0] for m in MUTATIONS])[0]
    places = list(where.finditer(text))
    if not places:
        return None
    m = rng.choice(places)
    new = change(rng, text, m)
    return None if new is None or new == m[0] else text[:m.start()] + new + text[m.end():]


def judge(make_context, ir, text):
    """jaxlib's refusal, or None."""
    with make_context() as context:
        context.allow_unregistered_dialects = False
        context.emit_error_diagnostics = False
        try:
            return None if ir.Module.parse(text).operation.verify() else "verification failed"
        except ir.MLIRError as error:
            return "; ".join(str(d.message) for d in error.error_diagnostics) or "refused"


def own_verdicts(tool, texts):
    """Our refusal of each text, or None."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mutants.mlir")
        pathlib.Path(path).write_text("\n// -----\n".join(text.rstrip() for text in texts) + "\n")
        done = subprocess.run([tool, path], capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise SystemExit(f"verdicts ended with {done.returncode}: {done.stderr[-1000:]}")
    out = []
    for line in done.stdout.splitlines():
        f = line.split("\t")
        if f[0] == "PIECE":
            out.append(None)
        elif f[0] == "PARSE":
            out[-1] = f[2]
        elif f[3] == "refused" and out[-1] is None:
            out[-1] = f[5]
    if len(out) != len(texts):
        raise SystemExit(f"{len(out)} verdicts for {len(texts)} texts")
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verdicts")
    p.add_argument("--stablehlo", default=os.environ.get("LEMNOS_STABLEHLO"))
    p.add_argument("--seed", type=int, default=20)
    p.add_argument("--count", type=int, default=4000)
    a = p.parse_args()
    folder = pathlib.Path(a.stablehlo or "") / "stablehlo" / "tests"
    if not a.stablehlo or not folder.is_dir():
        print("verdict_mutants: LEMNOS_STABLEHLO does not name a checkout of openxla/stablehlo: skipped")
        return 77
    try:
        from jax._src.interpreters.mlir import make_ir_context
        from jaxlib.mlir import ir
    except ImportError as error:
        print(f"verdict_mutants: skipped: {error} (./dev test installs jax into .venv)")
        return 77
    rng = random.Random(a.seed)
    good = [t for t in functions(folder) if judge(make_ir_context, ir, t) is None]
    good = [t for t, ours in zip(good, own_verdicts(a.verdicts, good)) if ours is None]
    pairs = []
    while len(pairs) < a.count:
        text = rng.choice(good)
        changed = mutate(rng, text)
        if changed:
            pairs.append((text, changed))
    counts, failures = collections.Counter(), 0
    for (text, changed), ours in zip(pairs, own_verdicts(a.verdicts, [c for _, c in pairs])):
        theirs = judge(make_ir_context, ir, changed)
        if (ours is None) == (theirs is None):
            kind = "both accept" if ours is None else "both refuse"
        elif ours is None:
            kind = "laxer, listed" if any(words in theirs for words in LAXER) else "accepted wrongly"
        else:
            kind = "stricter, by the specification" if STRICTER.match(ours) else "refused wrongly"
        counts[kind] += 1
        if kind.endswith("wrongly"):
            failures += 1
            print(f"{kind}: ours: {ours}; jaxlib's: {theirs}")
            for old, new in zip(text.split("\n"), changed.split("\n")):
                if old != new:
                    print(f"  - {old.strip()}\n  + {new.strip()}")
    print(f"{len(good)} functions, {len(pairs)} changes: " + ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
