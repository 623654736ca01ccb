#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs that JAX sends to a PJRT plugin, as portable artifacts, against the results that XLA's CPU client gave.

    pjrt_programs.py LIBLEMNOS_SO [--only TEXT] [--device ID]... [--verbose]

The programs are in $LEMNOS_SHARED/pjrt/programs (default ../shared beside the checkout): index.json, NAME.mlir.bc, and
for those that can run on one device NAME.npz with inputs and recorded outputs. They run on the interpreter and, where
there is one, the CPU device. Integers and booleans agree bit for bit, floats within roundings of their type. KNOWN
lists what differs, with the reason; an entry that no longer differs is a failure. Needs NumPy and ml_dtypes, which
./dev test installs; without them, or the programs, the test is skipped (77).
"""
import argparse
import json
import os
import re
import sys

import lemnos_library

try:
    import ml_dtypes  # noqa: F401, what lemnos_library needs
    import numpy as np
except ImportError as error:
    print(f"pjrt_programs: skipped: {error}")
    sys.exit(77)

FACTORS = {}  # on the tolerance: {program: factor}
KNOWN = {  # (program, output): (start of the device's name, or "", reason)
    ("testReduceWindowScalar", 0): ("", "a window of rank 0: XLA drops the initial value, the specification adds it"),
    ("testOp95_pow_complex64_uint32", 0): ("", "signs of infinities: the phase, 3e9 times the argument's, is rounded to "
                                               "f32 in XLA and all digits are lost; ours are those of exact arithmetic"),
}


def read(archive, name, text):
    """Array `name` of the archive, whose type in the program is text; narrow types are stored as their bits."""
    m = re.match(r"tensor<((?:\d+x)*)(.*)>$", text)
    dtype, stored = lemnos_library.element_dtype(m[2]), archive[name]
    if stored.dtype == dtype:
        return stored
    return stored.astype(dtype) if dtype.name in lemnos_library.NARROW else stored.view(dtype)


def run(worker, folder, program, device):
    """[(output, reason)] of what differs; LemnosError if it does not run."""
    name = program["file"].removesuffix(".mlir.bc")
    with open(os.path.join(folder, program["file"]), "rb") as file:
        data = file.read()
    with np.load(os.path.join(folder, program["npz"])) as archive:
        arrays = [read(archive, f"in{i}", t) for i, t in enumerate(program["args"])]
        expected = [read(archive, f"out{i}", t) for i, t in enumerate(program["results"])]
    results = worker.run(data, device, arrays)
    if len(results) != len(expected):
        return [(-1, f"{len(results)} results instead of {len(expected)}")]
    reasons = [lemnos_library.differ(a, e, factor=FACTORS.get(name, 4)) for a, e in zip(results, expected)]
    return [(i, f"result {i} ({expected[i].dtype}): {r}") for i, r in enumerate(reasons) if r]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("--only", default="", help="only programs whose names contain this")
    parser.add_argument("--device", action="append", help="default: interp, and cpu:0 where there is one")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    shared = os.environ.get("LEMNOS_SHARED") or os.path.join(os.path.dirname(lemnos_library.ROOT), "shared")
    folder = os.path.join(shared, "pjrt", "programs")
    if os.environ.get("LEMNOS_SANITIZE") or not os.path.exists(os.path.join(folder, "index.json")):
        print("pjrt_programs: skipped: " + ("a sanitized library cannot be loaded into Python" if os.environ.
                                            get("LEMNOS_SANITIZE") else f"no {folder} (set LEMNOS_SHARED)"))
        return 77
    with open(os.path.join(folder, "index.json"), encoding="utf-8") as file:
        programs = [p for p in json.load(file)["programs"] if p.get("npz") and options.only in p["file"]]
    path = os.path.abspath(options.library)
    devices = options.device or ["interp"] + [d for d, _ in lemnos_library.Library(path).devices() if d == "cpu:0"]
    worker, used = lemnos_library.Worker(path), set()
    counts = {(d, v): 0 for d in devices for v in ("passed", "FAILED", "known")}
    for program in programs:
        name = program["file"].removesuffix(".mlir.bc")
        for device in devices:
            try:
                differences = run(worker, folder, program, device)
            except lemnos_library.LemnosError as e:
                differences = [(-1, " ".join(str(e).split())[:400])]
            known = [(o, r) for o, r in differences if (name, o) in KNOWN and device.startswith(KNOWN[name, o][0])]
            used.update((name, o) for o, _ in known)
            verdict = "passed" if not differences else "known" if len(known) == len(differences) else "FAILED"
            counts[device, verdict] += 1
            if verdict == "FAILED":
                print(f"{name} on {device}: FAILED: " + "; ".join(r for _, r in differences), flush=True)
            elif verdict == "known":
                print(f"{name} on {device}: differs, as is known: " + "; ".join(KNOWN[name, o][1] for o, _ in known))
            elif options.verbose:
                print(f"{name} on {device}: passed")
    worker.stop()
    stale = [] if options.only or options.device else [key for key in KNOWN if key not in used]
    for name, output in stale:
        print(f"{name}: FAILED: result {output} no longer differs ({KNOWN[name, output][1]})")
    for device in devices:
        print(f"{device}: {len(programs)} programs: " +
              ", ".join(f"{counts[device, v]} {v}" for v in ("passed", "FAILED", "known")))
    failed = stale or any(counts[d, "FAILED"] for d in devices)
    return 1 if failed or not any(counts[d, "passed"] for d in devices) else 0


if __name__ == "__main__":
    sys.exit(main())
