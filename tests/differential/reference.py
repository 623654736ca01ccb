#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random small programs in the interpreter, in StableHLO's reference interpreter and in jaxlib's CPU client.

    reference.py LEMNOS [--seed N] [--seeds N] [--rounds N] [--only TEXT] [--devices LIST] [--verbose]

reference_cases.py makes the programs (StableHLO text) and their arguments from the seed. `lemnos run --device=interp` runs
them many to a module; where a program carries the results that a formula of the specification gives in NumPy, that is an
oracle too. A case is skipped only if no oracle runs it. Results are compared bit for bit (NaNs are alike), or within the
case's tolerance where the specification leaves freedom: `ulps` units in the last place for elements, `close` times the
largest value for sums, `slack` for graphs. Each program then runs on the other devices, compared with the interpreter
within tolerance.def; graphs (reference_graphs.py) also in the interpreter, as the passes leave them.

Where results differ the specification decides. DEVIATIONS lists what is known of the oracles, each with its reason and
excused for the named oracle, operations, and elements only; an element for which every oracle is excused is a failure, for
want of one that decides it. reference_coverage.py checks that every operation and element
type has been compared, reference_attributes.py that every attribute has been varied.

Needs jax, jaxlib, numpy and ml_dtypes; exits with 77 without them. Closes with `N passed, N failed, N skipped`.
"""

import argparse
import collections
import copy
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

try:
    import numpy as np
    import ml_dtypes  # noqa: F401
    import jax  # noqa: F401
except ImportError as missing:
    python = os.path.join(ROOT, ".venv", "bin", "python")
    if os.path.exists(python) and not os.path.samefile(sys.prefix, os.path.join(ROOT, ".venv")):
        os.execv(python, [python] + sys.argv)
    print("reference.py: skipped: %s (./dev test installs jax into .venv)" % missing)
    sys.exit(77)

import reference_attributes
import reference_cases
import reference_coverage
from reference_deviations import DEVIATIONS
from reference_program import KINDS, element_type, from_bits, name_of, pattern
from reference_run import ORACLES, function, load, run_lemnos, start

BATCH = 40  # programs in a module of Lemnos

# ---- comparison


def ordered(array):
    """Floats as integers in their order; neighbours differ by one, both zeros are 0."""
    kind = KINDS[name_of(array.dtype)]
    raw = pattern(array).astype(np.uint64).astype(object)
    sign = 1 << (kind.bits - 1)
    return np.vectorize(lambda v: -(v - sign) if v & sign else v, otypes=[object])(raw) if array.size else raw


def differing(case, got, want):
    """The mask of elements where two arrays differ by more than the case allows."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.ones(want.shape or (1,), bool)
    if got.size == 0:
        return np.zeros(got.shape, bool)
    kind = KINDS[name_of(got.dtype)]
    if kind.complex:
        if case.close == 0 and case.ulps == 0:
            return differing(case, got.real.copy(), want.real.copy()) | differing(
                case, got.imag.copy(), want.imag.copy()
            )
        with np.errstate(all="ignore"):
            scale = max(case.close, case.ulps * np.finfo(got.dtype).eps)
            near = np.abs(got - want) <= scale * (np.abs(want) + np.finfo(got.real.dtype).tiny)
            finite = np.isfinite(got) & np.isfinite(want)
        # Of values that are not finite only that they are not: the parts of complex infinities and NaNs are free.
        return ~(near | (~np.isfinite(got) & ~np.isfinite(want))) & (finite | (np.isfinite(got) != np.isfinite(want)))
    if kind.integer:
        if case.ulps and case.integer_slack:
            return np.abs(got.astype(object) - want.astype(object)) > case.ulps
        return got != want
    with np.errstate(all="ignore"):
        nans = np.isnan(got.astype(np.float64)) & np.isnan(want.astype(np.float64))
        bad = (pattern(got) != pattern(want)) & ~nans
        if not bad.any() or case.ulps == 0 and case.close == 0:
            return bad
        g, w = got.astype(np.float64), want.astype(np.float64)
        if case.ulps:
            distance = np.abs(ordered(got) - ordered(want)) <= case.ulps
            bad &= ~(distance.astype(bool) & ~np.isnan(g) & ~np.isnan(w))
        if case.roots:  # near a root the error is that of values around 1
            eps = float(ml_dtypes.finfo(got.dtype).eps)
            bad &= ~(np.abs(g - w) <= case.ulps * eps * np.maximum(np.abs(w), 1))
        if case.close:
            largest = max(np.nanmax(np.abs(np.where(np.isfinite(w), w, 0))), 1e-30)
            bad &= ~(np.abs(g - w) <= case.close * largest)
        return bad


def within(got, want, slack, zeros_alike):
    """The mask of elements at most `slack` apart; `zeros_alike`: of equal numbers the sign of zero does not count."""
    kind = KINDS[name_of(got.dtype)]
    if kind.integer or kind.complex or got.size == 0:
        return np.zeros(got.shape, bool)
    g, w = got.astype(np.float64), want.astype(np.float64)
    with np.errstate(all="ignore"):
        return (np.abs(g - w) <= slack) & ((g != w) | zeros_alike | (np.signbit(g) == np.signbit(w)) | (slack > 0))


def compare(case, oracle, got, want, used, excused=None):
    """What differs beyond the known deviations: a message, or None. `excused` takes the masks of what they excuse."""
    for i, (g, w) in enumerate(zip(got, want)):
        bad = differing(case, g, w)
        if case.slack is not None and bad.shape == w.shape:
            bad &= ~within(g, w, case.slack[i][oracle == "xla"], oracle == "xla")
        if case.free is not None and bad.shape == case.free[i].shape:
            bad &= ~case.free[i]
        if oracle == "numpy" and case.loose is not None and bad.shape == case.loose.shape:
            if excused is not None and (bad & case.loose).any():
                excused.setdefault(i, {})[oracle] = bad & case.loose
            bad &= ~case.loose
        if not bad.any():
            continue
        if g.shape != w.shape or g.dtype != w.dtype:
            return "result %d is %s %s, not %s %s" % (i, g.dtype, g.shape, w.dtype, w.shape)
        for deviation in DEVIATIONS:
            if not bad.any():
                break
            if deviation.oracle != oracle.split()[0] or case.op not in deviation.ops:
                continue
            known = np.broadcast_to(deviation.excuses(case, g, w), bad.shape)
            if (bad & known).any():
                used[(oracle, deviation.reason)] += 1
                if excused is not None:
                    excused.setdefault(i, {}).setdefault(oracle, np.zeros(bad.shape, bool))
                    excused[i][oracle] |= bad & known
            bad = bad & ~known
        if bad.any():
            at = tuple(int(n) for n in np.argwhere(bad)[0])
            shown = ""
            for n, a in enumerate(case.arguments):
                if a.shape == g.shape:
                    shown += " a%d=%r" % (n, a[at])
                elif a.size <= 16:
                    shown += " a%d=%s" % (n, a.tolist())
            return "result %d, element %s: %s %r, %s %r (%d of %d differ)%s" % (
                i,
                list(at),
                "lemnos" if oracle in ORACLES or oracle == "numpy" else oracle,
                g[at],
                oracle if oracle in ORACLES or oracle == "numpy" else "interp",
                w[at],
                bad.sum(),
                bad.size,
                shown,
            )
    return None


# ---- devices


def read_table(path, row):
    with open(os.path.join(ROOT, path)) as file:
        return re.findall(row, file.read(), re.M)


def device_tolerances():
    """Units in the last place by operation: (f32, f64), from tolerance.def."""
    names = {enum: name for enum, name in read_table("hlo/ops.def", r'^OP\((\w+), "([\w.]+)"')}
    rows = read_table("tests/differential/tolerance.def", r"^T\((\w+), (\d+), (\d+)\)")
    return {names[enum]: (int(f32), int(f64)) for enum, f32, f64 in rows}


def for_device(case, tolerances):
    """The case with what a device may differ by from the interpreter."""
    case = copy.copy(case)
    if case.slack is not None:
        return case
    rows = []
    for name, _, _ in case.used:
        base = name.split(".")[1].replace("broadcast_", "")
        rows += [(full, tolerances[full]) for full in ("stablehlo." + base, "chlo." + base) if full in tolerances]
    case.ulps, case.roots = 0, False
    for name, (f32, f64) in rows:
        kinds = {KINDS[element_type(t)] for t in case.results}
        wide = any(k.name == "f64" or k.part == "f64" for k in kinds)
        limit = f64 if wide else f32 if any(k.bits >= 32 for k in kinds) else min(f32, 1)
        if any(k.complex for k in kinds):
            limit = {"stablehlo.power": 600, "stablehlo.remainder": 256}.get(name, limit * 4 + 8)
        case.ulps = max(case.ulps, limit)
        case.roots |= name in ("chlo.digamma", "chlo.lgamma")
    return case


def run_device(options, device, cases, ours, folder, tolerances, used):
    """Compares a device with the interpreter; gives messages by the index of the case. Only graphs go through passes."""
    messages = {}
    wanted = [i for i, case in enumerate(cases) if case.slack is not None or not device.startswith("passes:")]
    for first in range(0, len(wanted), BATCH):
        batch = wanted[first : first + BATCH]
        for index, got in zip(batch, run_lemnos(options.lemnos, device, [cases[i] for i in batch], folder)):
            if isinstance(ours[index], str):
                continue
            if isinstance(got, str):
                messages[index] = "%s: %s" % (device, got)
                continue
            message = compare(for_device(cases[index], tolerances), device, got, ours[index], used)
            if message:
                messages[index] = message
    return messages


def device_ids(options):
    """What to run on beside the interpreter: the devices asked for, else the CPU and the first Vulkan device, if any, and
    the interpreter behind the passes for a CPU."""
    if options.devices is not None:
        return [d for d in options.devices.split(",") if d]
    listed = subprocess.run([options.lemnos, "devices"], capture_output=True, text=True).stdout
    return [d for d in ("cpu:0", "vulkan:0") if re.search("^%s " % d, listed, re.M)] + ["passes:cpu"]


# ---- a seed


class Tally:
    """Counts over all seeds."""

    def __init__(self):
        self.families = collections.defaultdict(collections.Counter)
        self.used, self.refused, self.devices = collections.Counter(), collections.Counter(), collections.Counter()
        self.covered, self.gaps = set(), set()


def undecided(case, got, compared, excused):
    """A message if every oracle that a case was compared with is excused for the same element: nothing decides it then."""
    for i, masks in excused.items():
        if len(masks) == compared:
            alone = np.logical_and.reduce(list(masks.values()))
            if alone.any():
                at = tuple(int(n) for n in np.argwhere(alone)[0])
                return "result %d, element %s: lemnos %r, all of %s excused" % (
                    i,
                    list(at),
                    got[i][at],
                    ", ".join(masks),
                )
    return None


def judge(case, got, theirs, tally, verbose):
    """Messages about a case, and how many oracles it was compared with."""
    messages, compared, excused = [], 0, {}
    for name, want in theirs.items():
        if isinstance(want, str):
            tally.refused[name] += want != "not asked"
            if verbose and want != "not asked":
                print("%s refuses %s: %s" % (name, case.name, want.splitlines()[0][:160] if want else ""))
            continue
        compared += 1
        if isinstance(got, str):
            continue
        want = [from_bits(w, element_type(t)) for w, t in zip(want, case.results)]
        message = compare(case, name, got, want, tally.used, excused)
        if message:
            messages.append(message)
    message = undecided(case, got, compared, excused)
    if message:
        messages.append(message)
    if isinstance(got, str):
        if compared:
            messages.append("lemnos: " + got)
        elif verbose:
            print("lemnos refuses %s: %s" % (case.name, got))
    return messages, compared


def run_seed(options, seed, tally):
    """All programs of a seed through everything."""
    cases = [
        c
        for c in reference_cases.generate(seed, options.rounds)
        if options.only in c.name or options.only in c.family or options.only == c.module
    ]
    tally.gaps |= set(reference_attributes.missing(cases))
    tolerances = device_tolerances()
    with tempfile.TemporaryDirectory() as folder:
        children = {}
        for name, run in ORACLES.items():
            path = os.path.join(folder, name)
            children[name] = (start(run, [c if c.asks(name) else None for c in cases], path), path)
        ours = []
        for first in range(0, len(cases), BATCH):
            ours += run_lemnos(options.lemnos, "interp", cases[first : first + BATCH], folder)
        by_device = {
            d: run_device(options, d, cases, ours, folder, tolerances, tally.used) for d in device_ids(options)
        }
        for pid, _ in children.values():
            os.waitpid(pid, 0)
        theirs = {name: load(path) for name, (_, path) in children.items()}
    for index, (case, got) in enumerate(zip(cases, ours)):
        results = {name: theirs[name].get(index, "no result") for name in theirs}
        if case.expected is not None:
            results["numpy"] = case.expected
        messages, compared = judge(case, got, results, tally, options.verbose)
        if compared and not messages:
            tally.covered |= reference_coverage.pairs(case)
        for device, bad in by_device.items():
            if device.startswith("passes:") and case.slack is None:
                continue
            tally.devices[device, "failed" if index in bad else "passed"] += 1
            if index in bad:
                messages.append(bad[index])
        verdict = "failed" if messages else "passed" if compared else "skipped"
        tally.families[case.family][verdict] += 1
        tally.families[case.family]["both"] += compared >= 2
        if messages:
            print("FAILED %s\n%s" % (case.name, "\n".join("    " + m for m in messages)), flush=True)
            if options.verbose:
                print(function(case, "main"))
    return len(cases)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lemnos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many, from --seed on")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="programs whose name or family has this text; coverage is not checked"
    )
    parser.add_argument(
        "--devices", help="compared with the interpreter (default cpu:0,vulkan:0 where there; empty: none)"
    )
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    tally = Tally()
    count = sum(run_seed(options, seed, tally) for seed in range(options.seed, options.seed + options.seeds))
    if not count:
        parser.error("no case of that name")
    for family, counts in sorted(tally.families.items()):
        print(
            "%-24s %5d passed, %4d failed, %4d skipped; two oracles or more: %d"
            % (family, counts["passed"], counts["failed"], counts["skipped"], counts["both"])
        )
    for (oracle, reason), number in sorted(tally.used.items()):
        print("known, %s: %s: %d results" % (oracle, reason, number))
    for name, number in sorted(tally.refused.items()):
        print("refused by %s: %d" % (name, number))
    for (device, verdict), number in sorted(tally.devices.items()):
        print("%s: %d %s" % (device, number, verdict))
    uncovered = 0 if options.only else reference_coverage.report(tally.covered) + len(tally.gaps)
    for gap in sorted(tally.gaps) if not options.only else []:
        print("  NOT VARIED: " + gap)
    totals = sum(tally.families.values(), collections.Counter())
    print("%d passed, %d failed, %d skipped" % (totals["passed"], totals["failed"], totals["skipped"]))
    return 1 if totals["failed"] or uncovered else 0


if __name__ == "__main__":
    sys.exit(main())
