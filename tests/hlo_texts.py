#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of jax_programs.py as XLA's HLO text, in the forms XLA prints it, against JAX's own results.

    hlo_texts.py LIBLEMNOS_SO [--only TEXT] [--every N] [--form TEXT] [--keep FOLDER] [--verbose]

Each program of fixed shapes is lowered for the platforms cpu and tpu; the module before optimization is printed with
XLA's default options, which must agree with what JAX computes, and in other forms (FORMS, and for cpu the file that
XLA writes itself with --xla_dump_to), which must give the bits that the first one gives. What XLA made of the program
for its own CPU, after optimization, is read too (fusions, calls, copies, bitcasts, layouts) and must agree with JAX.
Programs that Lemnos refuses by name are counted as refused. REFUSED and KNOWN list what may be: an entry that no
longer is, is a failure. Needs jax; without it the test is skipped (77).
"""
import argparse
import collections
import os
import re
import shutil
import sys
import tempfile
import time

import lemnos_library

os.environ["JAX_PLATFORMS"] = "cpu"
DUMPS = tempfile.mkdtemp(prefix="hlo_texts")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    f" --xla_dump_to={DUMPS} --xla_dump_hlo_as_text --xla_dump_large_constants=true --xla_dump_max_hlo_modules=-1")
try:
    import jax
    import numpy as np
    from jaxlib import _hlo
except ImportError as error:
    print(f"hlo_texts: skipped: {error} (./dev test installs jax into .venv)")
    shutil.rmtree(DUMPS)
    sys.exit(77)

import jax_cases  # these need jax
import jax_cases_more

# Forms of the module before optimization: options of XLA's printer that are not its default.
FORMS = {
    "percent": {"print_percent": True},
    "bare": {"print_percent": False, "print_operand_shape": False, "include_layout_in_shapes": False,
             "print_metadata": False, "print_program_shape": False},
    "verbose": {"print_operand_shape": True, "print_percent": True, "print_program_shape": True, "print_metadata": True,
                "print_extra_attributes": True, "print_control_dependencies": True, "print_backend_config": True},
    "short": None,  # HloPrintOptions.short_parsable
    "indented": {"indent_amount": 2, "print_metadata": False, "print_operand_shape": True},
    "canonical": {"canonicalize_instruction_names": True, "canonicalize_computations": True},
}

# Program (a regular expression), form ("" for any), a part of the message, and why it is not ours.
REFUSED = []
KNOWN = [
    (r"reduce_nanprod_f32", "", "e-41) instead of", "the product is subnormal, which XLA flushes to zero"),
]


def print_options(changes):
    options = _hlo.HloPrintOptions.short_parsable() if changes is None else _hlo.HloPrintOptions()
    options.print_large_constants = True
    for name, value in (changes or {}).items():
        setattr(options, name, value)
    return options


def take_dumps():
    """{"before": text, "after": text} of the module that XLA compiled last; the folder is emptied."""
    texts = {}
    for name in sorted(os.listdir(DUMPS)):
        path = os.path.join(DUMPS, name)
        for end in ("before_optimizations.txt", "cpu_after_optimizations.txt"):
            if name.endswith("." + end):
                with open(path, encoding="utf-8") as file:
                    texts["before" if end[0] == "b" else "after"] = file.read()
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)
    return texts


def same_bits(results, reference):
    return len(results) == len(reference) and all(a.dtype == b.dtype and a.shape == b.shape and
                                                  a.tobytes() == b.tobytes() for a, b in zip(results, reference))


class Suite:
    """Runs programs and counts: counts[form][verdict]."""

    def __init__(self, options):
        self.options = options
        self.worker = lemnos_library.Worker(os.path.abspath(options.library))
        self.counts = collections.defaultdict(collections.Counter)
        self.used = set()

    def report(self, name, form, verdict, reason=""):
        for table, found, becomes in ((REFUSED, "refused", "refused"), (KNOWN, "FAILED", "known")):
            for pattern, where, words, _ in table:
                if verdict == found and re.match(f"({pattern})$", name) and where in form and words in reason:
                    self.used.add((pattern, where, words))
                    verdict = becomes + " "
        if verdict == "refused":
            verdict, reason = "FAILED", f"refused, which is not expected: {reason}"
        verdict = verdict.strip()
        self.counts[form][verdict] += 1
        if verdict in ("FAILED", "skipped") or self.options.verbose:
            print(f"{name} {form}: {verdict}{': ' if reason else ''}{reason}", flush=True)

    def run(self, case, form, text, arrays, expected, reference=None):
        """Compares with the expected results, or bit for bit with a reference; returns the results, or None."""
        if self.options.form not in form and reference is not None:
            return None
        if self.options.keep:
            with open(os.path.join(self.options.keep, f"{case.name}-{form.replace(' ', '-')}.hlo"), "w",
                      encoding="utf-8") as file:
                file.write(text)
        try:
            results = self.worker.run(text, "interp", arrays)
        except lemnos_library.LemnosError as e:
            verdict = "refused" if e.code == lemnos_library.UNIMPLEMENTED else "FAILED"
            self.report(case.name, form, verdict, " ".join(str(e).split())[:500])
            return None
        reason = None
        if reference is not None:
            reason = None if same_bits(results, reference) else "other bits than from XLA's default form"
        elif len(results) != len(expected):
            reason = f"{len(results)} results instead of {len(expected)}"
        else:
            for i, (a, e) in enumerate(zip(results, expected)):
                difference = lemnos_library.differ(a, e, case.exact, case.factor)
                reason = reason or (difference and f"result {i} ({e.dtype}): {difference}")
        self.report(case.name, form, "FAILED" if reason else "passed", reason or "")
        return results

    def run_forms(self, case, platform, computation, dumped, arrays, expected):
        reference = self.run(case, f"{platform} default", computation.as_hlo_text(True), arrays, expected)
        if reference is None:
            return
        module = computation.as_hlo_module()
        for form, changes in FORMS.items():
            self.run(case, f"{platform} {form}", module.to_string(print_options(changes)), arrays, expected, reference)
        if dumped:
            self.run(case, f"{platform} dumped", dumped, arrays, expected, reference)

    def run_case(self, case):
        with jax.enable_x64(case.x64):
            arrays = jax_cases.make_arguments(case)
            traced, seen = None, None
            for platform in case.modes:
                try:
                    traced = traced or jax.jit(case.function, keep_unused=True).trace(*arrays)
                    lowered = traced.lower(lowering_platforms=(platform,))
                    dumps = {}
                    if seen is None:  # what is expected, by XLA's own CPU
                        take_dumps()
                        compiled = jax.jit(case.function, keep_unused=True).lower(*arrays).compile()
                        expected = [np.asarray(r) for r in jax.tree.leaves(compiled(*arrays))]
                        dumps = take_dumps()
                    if platform != "cpu":
                        dumps = {}
                    computation = lowered.compiler_ir("hlo")
                    text = computation.as_hlo_text(True)
                except Exception as e:  # what this version of JAX does not know, or cannot do
                    self.report(case.name, platform, "skipped" if platform == "cpu" else "not lowered",
                                f"jax: {type(e).__name__}: {' '.join(str(e).split())[:300]}")
                    continue
                if text == seen:
                    continue
                seen = text
                self.run_forms(case, platform, computation, dumps.get("before"), arrays, expected)
                if "after" in dumps:
                    self.run(case, "optimized", dumps["after"], arrays, expected)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--every", type=int, default=1, help="only every Nth program")
    parser.add_argument("--form", default="", help="besides the first, only forms that contain this")
    parser.add_argument("--keep", help="keep the texts in this folder")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    if os.environ.get("LEMNOS_SANITIZE"):
        print("hlo_texts: skipped: a sanitized library cannot be loaded into Python")
        return 77
    for module in (jax_cases, jax_cases_more):
        module.add_all()
    cases = [case for case in jax_cases.CASES if options.only in case.name and not case.sizes][::options.every]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    suite, start = Suite(options), time.monotonic()
    for case in cases:
        suite.run_case(case)
    suite.worker.stop()
    for pattern, where, words, why in REFUSED + KNOWN:
        if (pattern, where, words) not in suite.used and not options.only and not options.form and options.every == 1:
            suite.report(pattern, where or "any", "FAILED", f"no longer differs ({why})")
    total = collections.Counter()
    for form, counts in sorted(suite.counts.items()):
        total.update(counts)
        print(f"{form}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
    print(f"{len(cases)} programs, {time.monotonic() - start:.0f} s: " +
          ", ".join(f"{n} {what}" for what, n in total.items()))
    return 1 if total["FAILED"] or not total["passed"] else 0


if __name__ == "__main__":
    try:
        code = main()
    finally:
        shutil.rmtree(DUMPS, ignore_errors=True)
    sys.exit(code)
