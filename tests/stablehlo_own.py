#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""StableHLO's own tests: what its verifier refuses is refused, what it accepts is accepted, self-checking programs pass.

    stablehlo_own.py VERDICTS LEMNOS [--stablehlo DIR] [--only SUBSTRING] [-v]

DIR (default $LEMNOS_STABLEHLO) is a checkout of openxla/stablehlo; without one the script says so and exits with 77. Its test
texts are split at "// -----"; every function is imported and verified for itself (by tests/frontend/verdicts.c). One with an
`expected-error` between its first line and the next function's must be refused, any other must be accepted. A text that
does not even parse is refused as a whole. `interpret/` and `math/` are run by `lemnos check --device=interp`.

tests/stablehlo-own-known.txt lists, with a reason each, where we differ on purpose. The test fails on any other difference
and on entries that match none."""
import argparse
import bisect
import collections
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
EXPECTED = re.compile(r"expected-error(?:-re)?\s*(?:@(?P<at>[+-]\d+|above|below|unknown|\w+))?\s*(?P<count>\d+)?\s*\{")
TEXTS = ["stablehlo/tests/*.mlir", "stablehlo/tests/chlo/*.mlir", "stablehlo/tests/transforms/*.mlir", "stablehlo/tests/vhlo/*.mlir",
         "stablehlo/tests/interpret/*.mlir", "stablehlo/tests/math/*.mlir"]
RUNS = ["stablehlo/tests/interpret/*.mlir", "stablehlo/tests/math/*.mlir"]
# Operations of StableHLO's test driver that ask for an inferred type or the like; here they only use their operands.
TEST_OP = re.compile(r'"(?:hlo_test_infer|hlo_test_speculatability)\.\w+"(\([^)]*\))( *\{[^}]*\})?')


def prepare(text):
    text = TEST_OP.sub(lambda m: f'"stablehlo.custom_call"{m[1]} {{call_target_name = "test.use", has_side_effect = true}}', text)
    return re.sub(r"\b(tensor<(?:[\d?]+x)*)index>", r"\1i64>", text)


def expected_lines(text):
    """Lines at which StableHLO reports an error."""
    lines = []
    for n, line in enumerate(text.split("\n"), 1):
        for m in EXPECTED.finditer(line):
            at = m["at"]
            lines.append(n if not at or at == "unknown" else n - 1 if at == "above" else n + 1 if at == "below" else
                         n + int(at) if re.fullmatch(r"[+-]\d+", at) else n)
    return sorted(lines)


def of_a_pass(name):
    """Errors expected there come from a transformation of StableHLO's or from VHLO's text, not from its verifier."""
    return name.startswith(("transforms/", "vhlo/")) and name != "vhlo/legalize_stablehlo_to_vhlo_invalid.mlir"


def any_in(lines, first, last):
    i = bisect.bisect_left(lines, first)
    return i < len(lines) and lines[i] <= last


def verdicts(tool, files, base):
    """[(name, expected to be refused, refused, message)] for every function, or text that does not parse."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        paths, expected = [], {}
        for k, f in enumerate(files):
            text = f.read_text()
            path = os.path.join(folder, f"{k}.mlir")
            pathlib.Path(path).write_text(prepare(text))
            paths.append(path)
            name = f.relative_to(base).as_posix()
            expected[path] = (name, [] if of_a_pass(name) else expected_lines(text))
        done = subprocess.run([tool, *paths], capture_output=True, text=True, errors="replace")
        if done.returncode:
            print(done.stderr)
            raise SystemExit(f"verdicts ended with {done.returncode}")
    pieces = []
    for line in done.stdout.splitlines():
        f = line.split("\t")
        if f[0] == "PIECE":
            pieces.append((f[1], int(f[2]), int(f[3]), []))
        else:
            pieces[-1][3].append(f)
    for path, first, last, rows in pieces:
        name, lines = expected[path]
        if rows and rows[0][0] == "PARSE":
            out.append((f"{name}:{first}", any_in(lines, first, last), True, rows[0][2]))
            continue
        starts = [int(r[1]) for r in rows]
        for i, r in enumerate(rows):
            end = starts[i + 1] - 1 if i + 1 < len(rows) else last
            begin = starts[i] if i else first
            out.append((f"{name}@{r[2]}", any_in(lines, begin, end), r[3] == "refused", r[5] if len(r) > 5 else ""))
        if not rows:
            out.append((f"{name}:{first}", any_in(lines, first, last), False, "no function"))
    return out


def runs(tool, files, base):
    """[(name, passed, what was said)]"""
    done = subprocess.run([tool, "check", "-v", "--isolate", "--device=interp", f"--jobs={os.cpu_count()}", *map(str, files)],
                          capture_output=True, text=True, errors="replace")
    states = {}
    for line in done.stdout.splitlines():
        m = re.match(r"^(PASS|FAIL|SKIP) (\S+?)(?: @(\S+?))?(?::? (.*))?$", line)
        if m:
            path = m[2].rstrip(":")
            states.setdefault(path, []).append((m[1], f"@{m[3] or ''} {m[4] or ''}"))
    out = []
    for f in files:
        rows = states.get(str(f), [("FAIL", "no answer")])
        bad = [what for state, what in rows if state != "PASS"]
        out.append((f.relative_to(base).as_posix(), not bad, "; ".join(bad)))
    return out


def known_differences():
    """[[name pattern, part of our message, reason, used]]"""
    known = []
    for line in open(ROOT / "tests" / "stablehlo-own-known.txt"):
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split("|")]
            if len(parts) != 3 or not parts[0] or not parts[2]:
                raise SystemExit(f"stablehlo-own-known.txt: expected 'name|message|reason', found: {line}")
            known.append(parts + [False])
    return known


def is_known(known, name, message):
    for entry in known:
        if fnmatch.fnmatchcase(name, entry[0]) and (entry[1] in message if entry[1] else not message):
            entry[3] = True
            return True
    return False


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verdicts")
    p.add_argument("lemnos")
    p.add_argument("--stablehlo", default=os.environ.get("LEMNOS_STABLEHLO"))
    p.add_argument("--only", default="", help="only files whose path holds this")
    p.add_argument("-v", action="store_true", help="print every verdict with its message")
    a = p.parse_args()
    if not a.stablehlo or not (pathlib.Path(a.stablehlo) / "stablehlo" / "tests").is_dir():
        print("stablehlo_own: LEMNOS_STABLEHLO does not name a checkout of openxla/stablehlo: skipped")
        return 77
    root = pathlib.Path(a.stablehlo).resolve()
    base = root / "stablehlo" / "tests"
    texts = [f for g in TEXTS for f in sorted(root.glob(g)) if a.only in f.as_posix()]
    known = known_differences()
    counts, failures = collections.Counter(), 0
    for name, want, have, message in verdicts(a.verdicts, texts, base):
        kind = "agree" if want == have else "accepted wrongly" if want else "refused wrongly"
        if kind != "agree" and is_known(known, name, message):
            kind = "known to differ"
        if a.v or kind.endswith("wrongly"):
            print(f"{kind}: {name}: {message}")
        failures += kind.endswith("wrongly")
        counts[kind, "refused" if want else "accepted"] += 1
    for name, passed, message in runs(a.lemnos, [f for g in RUNS for f in sorted(root.glob(g)) if a.only in f.as_posix()], base):
        kind = "passed" if passed else "known to differ" if is_known(known, name, message) else "failed"
        if kind == "failed":
            print(f"failed: {name}: {message}")
            failures += 1
        counts["run", kind] += 1
    for name, message, _, used in known:
        if not used and not a.only:
            print(f"stale: no difference matches '{name}|{message}' of stablehlo-own-known.txt")
            failures += 1
    for (kind, what), n in sorted(counts.items()):
        print(f"{kind}, {'to be ' if kind != 'run' else ''}{what}: {n}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
