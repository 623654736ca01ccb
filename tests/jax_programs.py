#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Real exports: many small JAX programs, exported, run by Lemnos, and compared with JAX's own results on its CPU.

    jax_programs.py LIBLEMNOS_SO [--list] [--only TEXT] [--device ID]... [--keep FOLDER] [--verbose]

Each program is exported for the platforms cpu (with calls of LAPACK) and tpu (with StableHLO's own operations instead;
left out where the text is the same). The StableHLO text runs on the interpreter and, where there is one, the CPU device;
portable artifacts (the export's own, the newest version's, and one of an older version in turn) run on the interpreter
and must give the bits that the text gives. Programs with symbolic dimensions are exported once and run with several
sizes; a violated constraint must be refused with JAX's message. Integers, booleans and what only moves data agree bit
for bit, other floats within roundings of their type. KNOWN lists what differs for a reason that is not ours; an entry
that no longer differs is a failure. Needs jax; without it the test is skipped (77).
"""
import argparse
import contextlib
import os
import re
import sys
import time

import lemnos_library

os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
    import numpy as np
    from jax import export
    from jaxlib.mlir.dialects import stablehlo
except ImportError as error:
    print(f"jax_programs: skipped: {error} (./dev test installs jax into .venv)")
    sys.exit(77)

import jax_cases  # these need jax
import jax_cases_more
import jax_symbolic

OLD_VERSIONS = ("0.9.0", "1.0.0", "1.4.0", "1.8.0", "1.13.7")

# Program (a regular expression), platform or device ("" for any), a part of the difference, and why it is not ours.
MIXED = "JAX's lowering for TPUs writes a dot_general of floats and integers, which dot_general_c13 does not allow"
KNOWN = [
    (r"signal_detrend|svd_rebuilt_f\d+|pinv_f\d+|lstsq", "tpu", "dot_general_c13", MIXED),
    (r"reduce_nanprod_f32", "", "e-41) instead of", "the product is subnormal, which XLA flushes to zero"),
]


@contextlib.contextmanager
def quiet():
    """Drops what native code writes to stderr (MLIR prints what it refuses, and raises too)."""
    saved, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)


class Suite:
    """Runs programs and counts."""

    def __init__(self, options, devices):
        self.options, self.devices = options, devices
        self.worker = lemnos_library.Worker(os.path.abspath(options.library))
        self.counts = {"passed": 0, "FAILED": 0, "known": 0, "skipped": 0}
        self.artifacts = self.inexpressible = 0
        self.used = set()

    def report(self, what, verdict, reason=""):
        if verdict == "FAILED":
            for k, (pattern, where, words, why) in enumerate(KNOWN):
                if words in reason and re.match(f"({pattern}) ", what) and where in what:
                    self.used.add(k)
                    verdict, reason = "known", why
                    break
        self.counts[verdict] += 1
        if verdict != "passed" or self.options.verbose:
            print(f"{what}: {verdict}{': ' if reason else ''}{reason}", flush=True)

    def execute(self, data, device, arrays):
        """(results, None) or (None, message)."""
        try:
            return self.worker.run(data, device, arrays), None
        except lemnos_library.LemnosError as e:
            return None, " ".join(str(e).split())[:600]

    def compare(self, case, results, expected):
        """None, or what differs."""
        if len(results) != len(expected):
            return f"{len(results)} results instead of {len(expected)}"
        for i, (a, e) in enumerate(zip(results, expected)):
            reason = lemnos_library.differ(a, e, case.exact, case.factor)
            if reason:
                return f"result {i} ({e.dtype}): {reason}"
        return None

    def run_text(self, case, what, text, arrays, expected):
        """Runs the text on every device; returns the interpreter's results, or None."""
        reference = None
        for device in self.devices:
            results, message = self.execute(text, device, arrays)
            if results is not None:
                message = self.compare(case, results, expected)
                reference = results if device == "interp" else reference
            self.report(f"{what} {device}", "FAILED" if message else "passed", message or "")
        return reference

    def run_artifact(self, what, data, arrays, reference):
        self.artifacts += 1
        results, message = self.execute(data, "interp", arrays)
        if results is not None and not all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
                                           for a, b in zip(results, reference)):
            message = "other bits than from the text"
        self.report(what, "FAILED" if message else "passed", message or "")

    def artifacts_of(self, exported, text, number):
        """(version, bytes) of the portable artifacts of one export."""
        yield "export", exported.mlir_module_serialized
        for version in (stablehlo.get_current_version(), OLD_VERSIONS[number % len(OLD_VERSIONS)]):
            with quiet():
                try:
                    data = stablehlo.serialize_portable_artifact_str(text, version)
                except Exception:  # what an old version has no words for
                    self.inexpressible += 1
                    continue
            yield version, data

    def one_platform(self, case, number, platform, shapes, runs, seen):
        """Exports a program for one platform and runs it; runs: (label, arguments, expected) of each size."""
        jitted = jax.jit(case.function, keep_unused=True)
        exported = export.export(jitted,
                                 platforms=[platform],
                                 disabled_checks=[export.DisabledSafetyCheck.custom_call("")] +
                                 [export.DisabledSafetyCheck.custom_call(t) for t in ALLOWED])(*shapes)
        text = str(exported.mlir_module())
        same = re.sub(r'"(cpu|tpu)"', "", text)
        if same in seen:
            return
        seen.add(same)
        if self.options.keep:
            with open(os.path.join(self.options.keep, f"{case.name}-{platform}.mlir"), "w", encoding="utf-8") as f:
                f.write(text)
        artifacts = None
        for label, arrays, expected in runs:
            what = f"{case.name}{label} {platform}"
            reference = self.run_text(case, what, text, arrays, expected)
            if reference is None:
                continue
            artifacts = artifacts or list(self.artifacts_of(exported, text, number))
            for version, data in artifacts:
                self.run_artifact(f"{what} artifact-{version}", data, arrays, reference)

    def run_case(self, case, number):
        with jax.enable_x64(case.x64):
            try:
                runs, shapes = self.expectations(case)
            except Exception as e:  # what this version of JAX does not know, or cannot do
                self.report(case.name, "skipped", f"jax: {type(e).__name__}: {' '.join(str(e).split())[:300]}")
                return
            seen, refused = set(), None
            for platform in case.modes:
                try:
                    self.one_platform(case, number, platform, shapes, runs, seen)
                except Exception as e:
                    refused = f"jax for {platform}: {type(e).__name__}: {' '.join(str(e).split())[:300]}"
                    if self.options.verbose:
                        print(f"{case.name}: {refused}")
            if not seen:
                self.report(case.name, "skipped", refused)

    def expectations(self, case):
        """([(label, arguments, JAX's results)], argument types of the export)."""
        runs = []
        jitted = jax.jit(case.function, keep_unused=True)
        for sizes in case.sizes or (None,):
            arrays = jax_cases.make_arguments(case, sizes)
            label = "".join(f" {k}={v}" for k, v in (sizes or {}).items())
            runs.append((label, arrays, [np.asarray(r) for r in jax.tree.leaves(jitted(*arrays))]))
        if not case.sizes:
            return runs, runs[0][1]
        scope, shapes = export.SymbolicScope(case.constraints), []
        for spec, array in zip(case.arguments.split(), runs[0][1]):
            dims = jax_cases.ARGUMENT.match(spec)["dims"]
            shapes.append(jax.ShapeDtypeStruct(export.symbolic_shape(dims, scope=scope), array.dtype))
        return runs, shapes

    def refusals(self):
        """Sizes that break a constraint or a shape's expression are refused with the words that JAX put in."""
        for name, dims, constraints, function, size, words in (("refuse_constraint", "b", ("b >= 4",), lambda x: x * 2,
                                                                3,
                                                                "b >= 4"), ("refuse_modulus", "b", ("mod(b, 2) == 0",),
                                                                            lambda x: x.reshape(x.shape[0] // 2, 2), 5,
                                                                            "2*floordiv(b, 2) == b"),
                                                               ("refuse_expression", "2*b", (),
                                                                lambda x: x.reshape(2, -1), 5, "dimension variable"),
                                                               ("refuse_zero", "b", (), lambda x: x.sum(), 0,
                                                                "dimension variable 'b'")):
            if self.options.only not in name:
                continue
            scope = export.SymbolicScope(constraints)
            shape = jax.ShapeDtypeStruct(export.symbolic_shape(dims, scope=scope), np.float32)
            text = str(export.export(jax.jit(function))(shape).mlir_module())
            for device in self.devices:
                _, message = self.execute(text, device, [np.ones(size, np.float32)])
                fine = message is not None and words in message
                self.report(f"{name} {device}", "passed" if fine else "FAILED", "" if fine else f"said {message!r}")


ALLOWED = ["Qr", "Eigh", "ProductOfElementaryHouseholderReflectors", "ApproxTopK", "TopK", "mhlo.topk", "chlo.erf"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--device", action="append", help="default: interp, and cpu:0 where there is one")
    parser.add_argument("--keep", help="keep the texts in this folder")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    for module in (jax_cases, jax_cases_more, jax_symbolic):
        module.add_all()
    cases = [case for case in jax_cases.CASES if options.only in case.name]
    assert len({case.name for case in jax_cases.CASES}) == len(jax_cases.CASES), "two programs of one name"
    if options.list:
        for case in cases:
            print(case.name, case.arguments)
        return 0
    if os.environ.get("LEMNOS_SANITIZE"):
        print("jax_programs: skipped: a sanitized library cannot be loaded into Python")
        return 77
    devices = options.device
    if not devices:
        known = [name for name, _ in lemnos_library.Library(os.path.abspath(options.library)).devices()]
        devices = ["interp"] + [name for name in known if name == "cpu:0"]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    suite, start = Suite(options, devices), time.monotonic()
    for number, case in enumerate(cases):
        suite.run_case(case, number)
    suite.refusals()
    suite.worker.stop()
    for k, (pattern, where, _, why) in enumerate(KNOWN):
        if k not in suite.used and not options.only and not options.device:
            suite.report(f"{pattern} {where}".strip(), "FAILED", f"no longer differs ({why})")
    print(
        f"{len(cases)} programs, {suite.artifacts} runs of artifacts ({suite.inexpressible} not expressible in an older "
        f"version), {time.monotonic() - start:.0f} s")
    print(", ".join(f"{n} {what}" for what, n in suite.counts.items()))
    return 1 if suite.counts["FAILED"] or not suite.counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
