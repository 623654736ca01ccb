#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Portable artifacts of every operation, made by jaxlib for several versions, are read as what jaxlib reads from them.

    portable_artifacts.py TWINS [--stablehlo DIR] [--only SUBSTRING] [-v]

DIR (default $LEMNOS_STABLEHLO) is a checkout of openxla/stablehlo; without one, or without jaxlib, the script says so and exits with
77. Every function of its test texts is serialized by jaxlib for each of VERSIONS and the current one, as far as the version has
words for it. The artifact, read by ours, must equal the text that jaxlib prints after reading it, and at the current
version also the text that went in, and VHLO's own text (tests/frontend/twins.c). Every StableHLO operation of hlo/ops.def must have come by,
but for those in ABSENT."""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import venv_packages  # noqa: F401 (jaxlib)

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXTS = ["stablehlo/tests/vhlo/stablehlo_legalize_to_vhlo*.mlir", "stablehlo/tests/ops_stablehlo*.mlir",
         "stablehlo/tests/verify_*.mlir", "stablehlo/tests/print_stablehlo.mlir"]
VERSIONS = ["0.9.0", "0.14.0", "1.0.0", "1.9.0"]
# Operations that cannot come by: name: why.
ABSENT = {"stablehlo.collective_reduce": "newer (1.19.0) than the StableHLO of jaxlib 0.10"}
# (part of the name, part of what is said): what VHLO does not keep of the text that went in
KNOWN = {(" as given", "'#stablehlo.channel_handle<handle = 5, type = 2>' against"): "VHLO keeps the number of a channel only",
         ("dynamic_conv_empty_spatial_dimensions as given", "lhs_dilation"): "an empty list is the default",
         (" as given", "'stablehlo.return' against 'func.return'"): "VHLO has one return"}


@contextlib.contextmanager
def quiet():
    """jaxlib writes diagnostics to standard error."""
    sys.stderr.flush()
    keep, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(keep, 2)
        os.close(keep)
        os.close(null)


def functions(text):
    """(name, text) of every function, alone, and of every part of a file as a whole."""
    for part in re.split(r"(?m)^// -----.*$", text):
        if "expected-error" not in part:
            names = re.findall(r"func\.func (?:\w+ )?@([\w$.-]+)", part)
            if names and "module" in part:
                yield names[0], part
                continue
        for m in re.finditer(r"(?ms)^func\.func .*?^\}", part):
            name = re.search(r"@([\w$.\"-]+)", m[0])
            if name and "expected-error" not in m[0]:
                yield name[1], m[0]


def operations():
    return set(re.findall(r'OP\(\w+, "(stablehlo\.\w+)"', (ROOT / "hlo" / "ops.def").read_text()))


class Maker:
    def __init__(self, folder):
        from jax._src.interpreters.mlir import make_ir_context
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
        self.ir, self.stablehlo, self.folder = ir, stablehlo, folder
        self.current = stablehlo.get_current_version()
        from jaxlib.mlir.passmanager import PassManager
        stablehlo.register_stablehlo_passes()
        self.context = make_ir_context()
        with self.context:
            self.to_vhlo = PassManager.parse("builtin.module(stablehlo-legalize-to-vhlo)")
        self.pairs, self.seen, self.counts = [], set(), collections.Counter()

    def save(self, suffix, data):
        path = os.path.join(self.folder, f"{len(self.pairs)}.{suffix}")
        pathlib.Path(path).write_bytes(data)
        return path

    def add(self, name, text):
        try:
            with quiet(), self.context:
                module = self.ir.Module.parse(text)
                module.operation.verify()
                given = module.operation.get_asm(print_generic_op_form=True)
        except Exception:
            self.counts["functions that jaxlib refuses"] += 1
            return
        self.counts["functions"] += 1
        for version in VERSIONS + [self.current]:
            try:
                with quiet(), self.context:
                    data = self.stablehlo.serialize_portable_artifact(module, version)
                    back = self.stablehlo.deserialize_portable_artifact(self.context, data)
                    said = back.operation.get_asm(print_generic_op_form=True)
            except Exception:
                self.counts[f"not expressible in {version}"] += 1
                continue
            artifact = self.save("mlir.bc", data)
            self.pairs.append((f"{name} {version}", self.save("mlir", said.encode()), artifact))
            if version == self.current:
                for form, vhlo in self.as_vhlo(given):
                    self.pairs.append((f"{name} as {form} VHLO", self.save("mlir", vhlo.encode()), artifact))
                self.seen |= set(re.findall(r'"(stablehlo\.\w+)"', said)) | set(re.findall(r'"(func\.call)"', said))
                self.pairs.append((f"{name} as given", self.save("mlir", given.encode()), artifact))


    def as_vhlo(self, text):
        """VHLO's text, in generic and custom form."""
        try:
            with quiet(), self.context:
                module = self.ir.Module.parse(text)
                self.to_vhlo.run(module.operation)
        except Exception:
            self.counts["not expressible as VHLO text"] += 1
            return
        yield "generic", module.operation.get_asm(print_generic_op_form=True)
        yield "custom", module.operation.get_asm()


def compare(tool, pairs):
    out = []
    for i in range(0, len(pairs), 500):
        args = [p for _, text, artifact in pairs[i:i + 500] for p in (text, artifact)]
        done = subprocess.run([tool, *args], capture_output=True, text=True, errors="replace")
        lines = done.stdout.splitlines()
        if done.returncode or len(lines) != len(args) // 2:
            raise SystemExit(f"twins ended with {done.returncode} after {len(lines)} of {len(args) // 2}\n{done.stderr}")
        out += [line.partition("\t")[::2] for line in lines]
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("twins")
    p.add_argument("--stablehlo", default=os.environ.get("LEMNOS_STABLEHLO"))
    p.add_argument("--only", default="", help="only functions whose name holds this")
    p.add_argument("--keep", help="folder to keep the files in")
    p.add_argument("-v", action="store_true", help="print every verdict")
    a = p.parse_args()
    if not a.stablehlo or not (pathlib.Path(a.stablehlo) / "stablehlo" / "tests").is_dir():
        print("portable_artifacts: LEMNOS_STABLEHLO does not name a checkout of openxla/stablehlo: skipped")
        return 77
    try:
        import jax
        del jax
    except ImportError as e:
        print(f"portable_artifacts: skipped: {e} (./dev test installs jax into .venv)")
        return 77
    root = pathlib.Path(a.stablehlo).resolve()
    failures, used = 0, set()
    with tempfile.TemporaryDirectory() as temporary:
        maker, texts = Maker(a.keep or temporary), set()
        for f in [f for g in TEXTS for f in sorted(root.glob(g))]:
            for name, text in functions(f.read_text()):
                if a.only in name and text not in texts:
                    texts.add(text)
                    maker.add(f"{f.stem}@{name}", text)
        for (name, *_), (verdict, why) in zip(maker.pairs, compare(a.twins, maker.pairs)):
            key = next((k for k in KNOWN if k[0] in name and k[1] in why), None) if verdict != "equal" else None
            used.add(key)
            maker.counts["known to differ" if key else verdict] += 1
            if a.v or (verdict != "equal" and not key):
                print(f"{verdict}: {name}: {why}")
            failures += verdict != "equal" and not key
    if not a.only:
        for op in sorted(operations() - maker.seen - set(ABSENT)):
            print(f"no artifact holds {op}")
            failures += 1
        for op in sorted(maker.seen & set(ABSENT)):
            print(f"stale: ABSENT has {op}")
            failures += 1
        for key in KNOWN:
            if key not in used:
                print(f"stale: KNOWN has {key}")
                failures += 1
    print(f"jaxlib's current version {maker.current}; " + ", ".join(f"{k}: {n}" for k, n in sorted(maker.counts.items())))
    return 1 if failures or not maker.counts["equal"] else 0


if __name__ == "__main__":
    sys.exit(main())
