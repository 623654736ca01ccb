#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs StableHLO's self-checking modules on devices and writes docs/status.md.

    conformance.py LEMNOS [--devices cpu,vulkan:0,...] [--data DIR] [--write docs/status.md] [--expect-failures FILE]

DIR defaults to $LEMNOS_SHARED/stablehlo-testdata (../shared beside the checkout); without it the script says so and exits with 77.
Each module computes on the device what it checks (constants are not folded). The closing line is `N passed, N failed, N skipped` over all devices.
Failures named in FILE (lines `module-name  reason`) are counted as skipped, with their reason."""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
TYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bfloat16", "float16", "float32",
         "float64", "complex64", "complex128", "float0"]
NAME = re.compile("^(?P<op>.*?)_(?P<type>" + "|".join(TYPES) + r")(_|\.|$)")
LINE = re.compile(r"^(PASS|FAIL|SKIP) (\S+?)(?: @\S+?)?(?::? (?P<rest>.*))?$")


def classify(name):
    m = NAME.match(name)
    return (m["op"], m["type"]) if m else (name.removesuffix(".mlir").rstrip("_0123456789") or name, "-")


def check(tool, device, files, jobs):
    """{file name: (state, what the tool says)}"""
    done = subprocess.run([tool, "check", "-v", "--isolate", "--any-arguments", f"--jobs={jobs}", f"--device={device}", *map(str, files)],
                          capture_output=True, text=True)
    states = {}
    for line in done.stdout.splitlines():
        m = LINE.match(line)
        if not m:
            continue
        name = pathlib.Path(m[2].rstrip(":")).name
        if name not in states or m[1] == "FAIL":
            states[name] = (m[1], m["rest"] or "")
    for f in files:
        states.setdefault(f.name, ("FAIL", "no answer"))
    return states


def table(results, devices):
    ops = collections.defaultdict(lambda: {d: collections.defaultdict(list) for d in devices})
    for device in devices:
        for name, (state, _) in results[device].items():
            op, kind = classify(name)
            ops[op][device][kind].append(state)
    out = ["| operation | " + " | ".join(devices) + " |", "| --- |" + " --- |" * len(devices)]
    for op in sorted(ops):
        cells = []
        for device in devices:
            kinds = ops[op][device]
            good = [k for k in TYPES + ["-"] if k in kinds and all(s == "PASS" for s in kinds[k])]
            bad = [f"**{k}** {sum(s == 'PASS' for s in kinds[k])}/{len(kinds[k])}" for k in TYPES + ["-"]
                   if k in kinds and not all(s == "PASS" for s in kinds[k])]
            text = "all" if not bad and good == ["-"] else " ".join(good)
            cells.append("; ".join(x for x in [text, ", ".join(bad)] if x))
        if len(set(cells)) == 1:
            cells = [cells[0]] + ["same"] * (len(cells) - 1)
        out.append(f"| {op} | " + " | ".join(cells) + " |")
    return "\n".join(out)


def device_names(tool):
    names = []
    for line in subprocess.run([tool, "devices"], capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"^([a-z]+(?::\d+)?)\s+(\S.*)$", line)
        if m and "compile" not in m[2]:
            names.append((m[1], m[2]))
    return names


def main():
    p = argparse.ArgumentParser()
    p.add_argument("tool")
    p.add_argument("--devices")
    p.add_argument("--data", default=os.path.join(os.environ.get("LEMNOS_SHARED") or str(ROOT.parent / "shared"), "stablehlo-testdata"))
    p.add_argument("--write")
    p.add_argument("--expect-failures", default=str(ROOT / "tests" / "conformance-known.txt"))
    p.add_argument("--jobs", default=str(os.cpu_count()))
    p.add_argument("--every", type=int, default=1, help="only every N-th module")
    a = p.parse_args()
    data = pathlib.Path(a.data)
    if not data.is_dir():
        print(f"conformance: no test data at {data} (set LEMNOS_SHARED): skipped")
        return 77
    files = sorted(data.glob("*.mlir")) + sorted(data.glob("dynamic/*.mlir")) + sorted(data.glob("quantized/*.mlir"))
    files = files[::a.every]
    known = {}
    if os.path.exists(a.expect_failures):
        for line in open(a.expect_failures):
            if line.strip() and not line.startswith("#"):
                name, _, reason = line.strip().partition(" ")
                known[name] = reason.strip()
    names = dict(device_names(a.tool))
    devices = a.devices.split(",") if a.devices else list(names)
    results, counts, closing = {}, {}, collections.Counter()
    for device in devices:
        results[device] = check(a.tool, device, files, a.jobs)
        c = collections.Counter()
        for name, (state, what) in sorted(results[device].items()):
            if state == "FAIL" and name in known:
                c["known"] += 1
            else:
                c[state] += 1
                if state == "FAIL":
                    print(f"{device}: {name}: {what}")
        counts[device] = c
        closing.update(c)
    for device in devices:
        c = counts[device]
        print(f"{device}: {c['PASS']} passed, {c['FAIL']} failed, {c['SKIP']} refused by name, {c['known']} known not to agree")
    if a.write:
        rows = "\n".join(f"| {d} | {names.get(d, '')} | {counts[d]['PASS']} | {counts[d]['FAIL']} | {counts[d]['SKIP']} | {counts[d]['known']} |"
                         for d in devices)
        reasons = "\n".join(f"- `{n}`: {r}" for n, r in sorted(known.items()))
        page = ROOT / a.write
        page.write_text(f"""# Status: operation × type × device

Made by `tests/conformance.py build/runtime/lemnos --write docs/status.md` from StableHLO's self-checking modules ({len(files)} files, `dynamic/` and `quantized/` included).
On a device, an operation without a kernel runs on the host (`lemnos run --explain` says which and why); it is then the interpreter's result.

| device | name | passed | failed | refused by name | known not to agree |
| --- | --- | --- | --- | --- | --- |
{rows}

Known not to agree with the value a module expects, on every device:

{reasons}

A cell lists the element types whose modules all pass; **bold** ones with the count of those that do. `same`: as in the first column.

{table(results, devices)}
""")
    print(f"{closing['PASS']} passed, {closing['FAIL']} failed, {closing['SKIP'] + closing['known']} skipped")
    return 1 if closing["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
