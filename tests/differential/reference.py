#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random small programs in the interpreter, in StableHLO's reference interpreter and in jaxlib's CPU client.

    reference.py LEMNOS [--seed N] [--rounds N] [--only FAMILY] [--verbose]

reference_cases.py makes the programs (StableHLO text) and their arguments from the seed. `lemnos run --device=interp` runs
them many to a module. The other two run in child processes, a few faults of theirs being fatal; a case is skipped only
if neither of the two runs it. Results are compared bit for bit (NaNs are alike), or within the case's tolerance where the
specification leaves freedom: `ulps` units in the last place for elements, `close` times the largest value for sums.

Where the three differ the specification decides. DEVIATIONS lists what is known of the other two, each with its reason and
excused for the named oracle, operations, and elements only.

Needs jax, jaxlib, numpy and ml_dtypes; exits with 77 without them. Closes with `N passed, N failed, N skipped`.
"""
import argparse
import collections
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import traceback

try:
    import numpy as np
    import ml_dtypes  # noqa: F401
    import jax
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
except ImportError as missing:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    python = os.path.join(root, ".venv", "bin", "python")
    if os.path.exists(python) and not os.path.samefile(sys.prefix, os.path.join(root, ".venv")):
        os.execv(python, [python] + sys.argv)
    print("reference.py: skipped: %s (./dev test installs jax into .venv)" % missing)
    sys.exit(77)

import reference_cases
from reference_cases import KINDS, bits_of, from_bits, name_of, pattern, type_text
from reference_deviations import DEVIATIONS

BATCH = 40          # programs in a module of Lemnos
CASE_SECONDS = 30   # limit of one case in one of the oracles


# ---- programs

def function(case, name):
    """The case as a function of its own."""
    parameters = ", ".join("%%a%d: %s" % (i, type_text(a)) for i, a in enumerate(case.arguments))
    results = ", ".join(case.results)
    return "func.func %s @%s(%s) -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        "public" if name == "main" else "private", name, parameters, results, case.body,
        ", ".join(case.returns), results)


def batch_module(cases):
    """One module that runs several cases: main takes all arguments and returns all results, in order."""
    functions, parameters, lines, values, types = [], [], [], [], []
    for n, case in enumerate(cases):
        functions.append(function(case, "case%d" % n))
        names = []
        for argument in case.arguments:
            names.append("%%p%d" % len(parameters))
            parameters.append("%s: %s" % (names[-1], type_text(argument)))
        many = len(case.results) > 1
        lines.append("  %%r%d%s = func.call @case%d(%s) : (%s) -> (%s)" % (
            n, ":%d" % len(case.results) if many else "", n, ", ".join(names),
            ", ".join(type_text(a) for a in case.arguments), ", ".join(case.results)))
        values += ["%%r%d#%d" % (n, i) for i in range(len(case.results))] if many else ["%%r%d" % n]
        types += case.results
    return "%sfunc.func public @main(%s) -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        "".join(functions), ", ".join(parameters), ", ".join(types), "\n".join(lines), ", ".join(values),
        ", ".join(types))


def element_type(text):
    return text[len("tensor<"):-1].split("x")[-1] if "complex" not in text else "complex" + text.split("complex")[1][:-1]


def shape_of(text):
    head = text[len("tensor<"):-1].split("complex")[0]
    parts = head.split("x")
    return tuple(int(p) for p in parts if p.isdigit())


# ---- Lemnos

def run_lemnos(exe, cases, folder):
    """Results of every case: a list of arrays, or a message."""
    module, inputs, outputs = (os.path.join(folder, name) for name in ("m.mlir", "in.npz", "out.npz"))
    text = function(cases[0], "main") if len(cases) == 1 else batch_module(cases)
    with open(module, "w") as file:
        file.write(text)
    arguments = [bits_of(a) for case in cases for a in case.arguments]
    np.savez(inputs, **{"arg%d" % i: a for i, a in enumerate(arguments)})
    if os.path.exists(outputs):
        os.remove(outputs)
    command = [exe, "run", module, "--device=interp", "--outputs", outputs]
    if arguments:
        command += ["--inputs", inputs]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        with np.load(outputs) as file:
            stored = [file["out%d" % i] for i in range(len(file.files))]
        all_results = []
        for case in cases:
            taken, stored = stored[:len(case.results)], stored[len(case.results):]
            all_results.append([from_bits(a, element_type(t)) for a, t in zip(taken, case.results)])
        return all_results
    if len(cases) == 1:
        return ["exit %d: %s" % (done.returncode, done.stderr.strip()[-600:])]
    half = len(cases) // 2
    return run_lemnos(exe, cases[:half], folder) + run_lemnos(exe, cases[half:], folder)


# ---- the two oracles

def dense(array):
    """An array as the text of a constant's value. Patterns of 8 bits or more are written in hexadecimal."""
    kind = name_of(array.dtype)
    if array.size == 0:
        return "dense<> : %s" % type_text(array)
    if kind == "i1" or KINDS[kind].bits < 8 and KINDS[kind].integer:
        values = str(array.astype(np.int64).tolist() if kind != "i1" else array.tolist()).lower()
        return "dense<%s> : %s" % (values, type_text(array))
    return "dense<\"0x%s\"> : %s" % (bits_of(array).tobytes().hex().upper(), type_text(array))


def run_reference(case):
    """StableHLO's interpreter. Results that Python cannot read are bit-cast, or converted to a wider type."""
    lines, names, values, types = [], [], [], []
    for i, argument in enumerate(case.arguments):
        names.append("%%p%d" % i)
        lines.append("  %%p%d = stablehlo.constant %s" % (i, dense(argument)))
    many = ":%d" % len(case.results) if len(case.results) > 1 else ""
    lines.append("  %%r%s = func.call @case(%s) : (%s) -> (%s)" % (
        many, ", ".join(names), ", ".join(type_text(a) for a in case.arguments), ", ".join(case.results)))

    def emit(op, operand, source, target):
        value = "%%v%d" % len(lines)
        lines.append("  %s = \"stablehlo.%s\"(%s) : (%s) -> %s" % (value, op, operand, source, target))
        values.append(value)
        types.append(target)

    for i, text in enumerate(case.results):
        value, kind = "%%r#%d" % i if many else "%r", KINDS[element_type(text)]
        wide = lambda other: text.replace(element_type(text), other)
        if kind.complex:
            emit("real", value, text, wide(kind.part))
            emit("imag", value, text, wide(kind.part))
        elif kind.name == "i1" or kind.name in ("f32", "f64") or kind.integer and kind.bits >= 8:
            values.append(value)
            types.append(text)
        elif kind.integer:
            emit("convert", value, text, wide("i8" if kind.signed else "ui8"))
        elif kind.bits < 8:
            emit("convert", value, text, wide("f32"))
        else:
            emit("bitcast_convert", value, text, wide("ui%d" % kind.bits))
    source = "%sfunc.func @main() -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        function(case, "case"), ", ".join(types), "\n".join(lines), ", ".join(values), ", ".join(types))
    context = mlir.make_ir_context()
    with context:
        stored = [np.array(a) for a in stablehlo.eval_module(ir.Module.parse(source), [])]
    results = []
    for text in case.results:
        kind, value = KINDS[element_type(text)], stored.pop(0)
        if kind.complex:
            imaginary = stored.pop(0)
            joined = np.empty(shape_of(text), kind.dtype)
            joined.real, joined.imag = value, imaginary
            value = joined
        elif kind.bits < 8 and kind.name != "i1":
            value = value.astype(kind.dtype)
        elif not kind.integer and kind.name not in ("f32", "f64"):
            value = value.view(kind.dtype)
        results.append(value.reshape(shape_of(text)))
    return [bits_of(r) for r in results]


def run_xla(case):
    """jaxlib's CPU client."""
    device = jax.devices("cpu")[0]
    with mlir.make_ir_context():
        module = ir.Module.parse("module @program {\n%s}" % function(case, "main"))
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        loaded = compiler.backend_compile_and_load(
            device.client, module, xla_client.DeviceList((device,)), options, [])
    placed = [jax.device_put(a, device, may_alias=False) for a in case.arguments]
    results = loaded.execute_sharded(placed).disassemble_into_single_device_arrays()
    return [bits_of(np.asarray(r[0])) for r in results]


def serve(run, cases, first, path):
    """In a grandchild: runs cases from `first` on and appends their results to a file until one kills it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    with open(path, "ab") as file:
        for index in range(first, len(cases)):
            signal.alarm(CASE_SECONDS)
            try:
                result = run(cases[index])
            except Exception as error:  # whatever the oracle refuses a case with
                result = "%s: %s" % (type(error).__name__, str(error)[-300:])
            pickle.dump((index, result), file)
            file.flush()


def start(run, cases, path):
    """Starts a child that takes all cases through an oracle, restarting it behind each case that kills it."""
    sys.stdout.flush()
    open(path, "wb").close()
    pid = os.fork()
    if pid:
        return pid
    try:
        restart(run, cases, path)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def restart(run, cases, path):
    """One worker after the other until all cases have had their turn."""
    first = 0
    while first < len(cases):
        worker = os.fork()
        if worker == 0:
            try:
                serve(run, cases, first, path)
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        done = load(path)
        first = max([first] + [i + 1 for i in done if i >= first])
        if first < len(cases):
            with open(path, "ab") as file:
                pickle.dump((first, "died of signal %d" % (status & 127)), file)
            first += 1


def load(path):
    """The results so far by index."""
    results = {}
    with open(path, "rb") as file:
        while True:
            try:
                index, result = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return results
            results[index] = result


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
            return differing(case, got.real.copy(), want.real.copy()) | differing(case, got.imag.copy(), want.imag.copy())
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
        if case.close:
            largest = max(np.nanmax(np.abs(np.where(np.isfinite(w), w, 0))), 1e-30)
            bad &= ~(np.abs(g - w) <= case.close * largest)
        return bad


def compare(case, oracle, got, want, used):
    """What differs beyond the known deviations: a message, or None."""
    for i, (g, w) in enumerate(zip(got, want)):
        bad = differing(case, g, w)
        if not bad.any():
            continue
        if g.shape != w.shape or g.dtype != w.dtype:
            return "result %d is %s %s, not %s %s" % (i, g.dtype, g.shape, w.dtype, w.shape)
        for deviation in DEVIATIONS:
            if not bad.any():
                break
            if deviation.oracle != oracle or case.op not in deviation.ops:
                continue
            excused = np.broadcast_to(deviation.excuses(case, g, w), bad.shape)
            if (bad & excused).any():
                used[(oracle, deviation.reason)] += 1
            bad = bad & ~excused
        if bad.any():
            at = tuple(int(n) for n in np.argwhere(bad)[0])
            shown = ""
            for n, a in enumerate(case.arguments):
                if a.shape == g.shape:
                    shown += " a%d=%r" % (n, a[at])
                elif a.size <= 16:
                    shown += " a%d=%s" % (n, a.tolist())
            return "result %d, element %s: lemnos %r, %s %r (%d of %d differ)%s" % (
                i, list(at), g[at], oracle, w[at], bad.sum(), bad.size, shown)
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lemnos")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    cases = [c for c in reference_cases.generate(options.seed, options.rounds) if options.only in c.family]
    if not cases:
        parser.error("no case of that name")
    totals = collections.defaultdict(collections.Counter)
    used = collections.Counter()
    refused = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        oracles = {}
        for name, run in (("reference", run_reference), ("xla", run_xla)):
            path = os.path.join(folder, name)
            oracles[name] = (start(run, cases, path), path)
        ours = []
        for first in range(0, len(cases), BATCH):
            ours += run_lemnos(options.lemnos, cases[first:first + BATCH], folder)
        for pid, _ in oracles.values():
            os.waitpid(pid, 0)
        theirs = {name: load(path) for name, (_, path) in oracles.items()}
    for index, (case, got) in enumerate(zip(cases, ours)):
        messages, compared = [], 0
        for name in theirs:
            want = theirs[name].get(index, "no result")
            if isinstance(want, str):
                refused[name] += 1
                if options.verbose:
                    print("%s refuses %s: %s" % (name, case.name, want.splitlines()[0][:160] if want else ""))
                continue
            compared += 1
            if isinstance(got, str):
                continue
            want = [from_bits(w, element_type(t)) for w, t in zip(want, case.results)]
            message = compare(case, name, got, want, used)
            if message:
                messages.append(message)
        if isinstance(got, str):
            if compared:
                messages.append("lemnos: " + got)
            elif options.verbose:
                print("lemnos refuses %s: %s" % (case.name, got))
        verdict = "failed" if messages else "passed" if compared else "skipped"
        totals[case.family][verdict] += 1
        totals[case.family]["both"] += compared == 2
        if messages:
            print("FAILED %s\n%s" % (case.name, "\n".join("    " + m for m in messages)))
            if options.verbose:
                print(function(case, "main"))
    for family in sorted(totals):
        count = totals[family]
        print("%-24s %5d passed, %4d failed, %4d skipped; both oracles: %d" % (
            family, count["passed"], count["failed"], count["skipped"], count["both"]))
    for (oracle, reason), count in sorted(used.items()):
        print("known, %s: %s: %d results" % (oracle, reason, count))
    for name, count in sorted(refused.items()):
        print("refused by %s: %d" % (name, count))
    totals = sum(totals.values(), collections.Counter())
    print("%d passed, %d failed, %d skipped" % (totals["passed"], totals["failed"], totals["skipped"]))
    return 1 if totals["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
