#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""StableHLO's own tests of refinement: the types that its passes give are the ones ours gives.

    stablehlo_refine.py VERDICTS [--stablehlo DIR] [--only SUBSTRING] [-v]

DIR (default $LEMNOS_STABLEHLO) is a checkout of openxla/stablehlo; without one the script says so and exits with 77. Each part
of the tests of --stablehlo-refine-shapes, --stablehlo-refine-arguments, --stablehlo-canonicalize-dynamism and
--stablehlo-check-shape-assertions is imported and refined (tests/frontend/verdicts.c --refine), from @main or else from its
only function. Where an error is expected, ours must be refused. Elsewhere every type that a CHECK line states must be
in our refined module: of the operation, constant (with its value), call, function or return that the line names. Static
forms of dynamic operations (reshape for dynamic_reshape) are the same operation here, since our refinement goes on
to them; canonicalization alone leaves dynamic sizes that refinement finds, so of its tests more exact types are right,
too. CHECK-NOT lines that name an operation hold as they stand. Lines that say nothing of types are counted.

KNOWN lists where we differ on purpose; an entry that matches no difference fails the test."""
import argparse
import collections
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = "stablehlo/tests/transforms"
# Refinement uses a computation as it is if nothing in it is dynamic: in parts without a dynamic size, something is made so.
HEAD = re.compile(r"(?m)^(\s*func\.func .*\{)$")
DYNAMIC = """\\1
  %some_size = stablehlo.constant dense<1> : tensor<1xi32>
  %some_iota = stablehlo.dynamic_iota %some_size, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>"""
FILES = ["stablehlo_refine_shapes.mlir", "stablehlo_canonicalize_dynamism.mlir", "stablehlo_check_shape_assertions.mlir"]
LENIENT = {"stablehlo_canonicalize_dynamism.mlir"}  # types may be more exact than CHECK says
# part (its function or module; wildcards) | part of what is said of it | reason
GONE = "sizes go with the dynamic operation that they are for, which takes its static form"
VERSIONS = "a function is refined once for each set of sizes it is called with; StableHLO's pass knows one"
KNOWN = [list(entry) for entry in (
    ("*@has_main", "tensor<?xi32>", "functions that are not called are not kept"),
    ("*@error_unsupported_operation", "tensor.dim", "an operation of the tensor dialect"),
    ("*@refine_bitcast_convert_different_bitwidths", "tensor<?x?xi8>", "more exact: tensor<4x4xi8>"),
    ("*@refine_call_multiple_with_different_number_dimension_arguments", "accepted", VERSIONS),
    ("*@refine_call_multiple_different_dimension_arguments", "accepted", VERSIONS),
    ("*@refine_call_multiple_different_non_dimension_arguments", "accepted", VERSIONS),
    ("*@refine_call_main_argument_unranked", "has no rank", "an argument without a rank"),
    ("*@refine_call_unknown_indirect_callee", "func.constant", "functions are no values"),
    ("*@update_function_type*", "builtin.unrealized_conversion_cast", "a mark of MLIR's own conversions"),
    ("*@assertion_fails_not_constant", "accepted", "checked when it runs"),
)]
# Import gives these another name.
RENAMED = {"dot": "dot_general", "dynamic_conv": "convolution", "broadcast_add": "add"}
TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>[^<>]*)*>")
OP = re.compile(r"\b(?:stablehlo|chlo)\.(\w+)")


def types_in(text):
    types = [t.replace(" ", "").replace("1.000000e+00", "1.0") for t in TYPE.findall(text)]
    return [re.sub(r":0(?=>)", "", t) for t in types]  # a zero point of 0 need not be written


def static_name(op):
    return re.sub(r"^(real_)?dynamic_(?!slice|update_slice)", "", op).replace("real_dynamic_slice", "slice")


def same_op(want, have):
    """`have` is the operation `want`, or its static form."""
    if want == "real_dynamic_slice":  # with a known size that starts anywhere: dynamic_slice
        return have in ("real_dynamic_slice", "slice", "dynamic_slice")
    return have == want or have == static_name(want) or have == RENAMED.get(want)


def same_type(want, have, lenient):
    if want == have:
        return True
    a, b = (re.fullmatch(r"tensor<((?:[\d?]+x)*)(.*)>", t) for t in (want, have))
    if not lenient or not a or not b or a[2] != b[2]:
        return False
    a, b = a[1].split("x"), b[1].split("x")
    return len(a) == len(b) and all(x in (y, "?") for x, y in zip(a, b))


def same_types(want, have, lenient):
    return len(want) == len(have) and all(same_type(x, y, lenient) for x, y in zip(want, have))


class Line:
    """What one line of MLIR, ours or of a CHECK, says: kind (an operation's name, "call", "func", "return"), types of
    results, and of a constant the value."""

    def __init__(self, text):
        self.kind, self.types, self.value = None, [], None
        m = re.search(r"stablehlo\.constant.*?dense<(.*?)>(?: : (tensor<[^<>]*>)|\s*$)", text)
        if m:
            value = m[1].replace("{{", "").replace("}}", "").replace("\\", "").replace(" ", "")
            self.kind, self.value, self.types = "constant", value, types_in(m[2] or "")
            return
        if re.search(r"func\.func\b", text):
            self.kind = "func"
        elif re.search(r'\breturn\b|"(func|stablehlo)\.return"', text):
            self.kind = "return"
            self.types = types_in(text.rsplit(" : ", 1)[-1].split("->")[0]) if " : " in text else []
            return
        elif re.search(r"\bcall @|func\.call|_callee\{\{", text):
            self.kind = "call"
        elif OP.search(text):
            self.kind = OP.search(text)[1]
        self.types = types_in(text.rsplit("->", 1)[1] if "->" in text else text.rsplit(" : ", 1)[-1] if " : " in text else "")


def lines_of(text):
    """Operations; the types of one with regions stand behind them."""
    lines, open_ops = [], []
    for t in text:
        line = Line(t)
        if t.endswith("({"):
            open_ops.append(line)
        elif t.strip().startswith("}) ") and open_ops:
            open_ops.pop().types = line.types
        lines.append(line)
    return lines


def flat(value):
    """The elements; one if they are all equal."""
    elements = re.sub(r"[\[\]]", "", value).split(",")
    return elements[:1] if len(set(elements)) == 1 else elements


def checks(part):
    """(directive, text) of each CHECK line; CHECK-SAME is joined to the line before."""
    out = []
    for line in part.split("\n"):
        m = re.search(r"//\s*CHECK(-\w+)?:\s*(.*)", line)
        if not m:
            continue
        if m[1] == "-SAME" and out:
            out[-1] = (out[-1][0], out[-1][1] + " " + m[2])
        else:
            out.append((m[1] or "", m[2].strip()))
    return out


def differences(part, ours, lenient, counts):
    lines = lines_of(ours)
    for directive, text in checks(part):
        want = Line(text)
        if directive == "-NOT":
            if any(text in t for t in ours):
                yield f"has {text}"
            counts["absences checked"] += 1
        elif want.kind is None or not (want.types or want.value is not None):
            counts["lines that say nothing of types"] += 1
        else:
            counts["types checked"] += 1
            for have in lines:
                named = same_op(want.kind, have.kind) if have.kind else False
                if named and want.value is not None:
                    named = have.value is not None and flat(want.value) == flat(have.value)
                if named and (same_types(want.types, have.types, lenient) or (want.value is not None and not want.types)):
                    break
            else:
                yield f"no {want.kind}{' of ' + want.value if want.value else ''} : {', '.join(want.types)}"


def known(said, name):
    for entry in KNOWN:
        if fnmatch.fnmatchcase(name, entry[0]) and entry[1] in said:
            entry.append("used")
            return True
    return False


def parts_of(text):
    return re.split(r"(?m)^// -----.*$", text)


def run(tool, parts, folder):
    """[[(function, "ok" or what was said, exported lines)]] of each part"""
    paths = []
    for i, part in enumerate(parts):
        path = os.path.join(folder, f"{i}.mlir")
        pathlib.Path(path).write_text(part if re.search(r"\?x|cf\.|<\*", part) else HEAD.sub(DYNAMIC, part))
        paths.append(path)
    done = subprocess.run([tool, "--refine", *paths], capture_output=True, text=True, errors="replace")
    if done.returncode:
        print(done.stderr)
        raise SystemExit(f"verdicts ended with {done.returncode}")
    out = []
    for line in done.stdout.splitlines():
        f = line.split("\t")
        if f[0] == "PIECE":
            out.append([])
        elif f[0] == "PARSE":
            out[-1].append(("", f[2], []))
        elif f[0] == "FUNC":
            out[-1].append((f[2], f[3] if f[3] == "ok" else f[5], []))
        else:
            out[-1][-1][2].append("\t".join(f[1:]))
    return out


def name_of(part):
    m = re.search(r"module @(\w+)", part) or re.search(r"func\.func(?: \w+)? @(\w+)", part)
    return m[1] if m else ""


def judge(tool, path, a, counts):
    """Differences of one file."""
    parts = [p for p in parts_of(path.read_text()) if name_of(p) and a.only in name_of(p)]
    with tempfile.TemporaryDirectory() as folder:
        results = run(tool, parts, folder)
    for part, rows in zip(parts, results):
        name = f"{path.stem}@{name_of(part)}"
        entry = [r for r in rows if r[0] == "main"] or rows
        if not entry:
            yield name, "there is no function"
            continue
        _, verdict, text = entry[0]
        refused = verdict != "ok"
        counts["parts"] += 1
        if a.v:
            print(f"--- {name}: {verdict}", *text, sep="\n")
        if "expected-error" in part:
            counts["to be refused"] += 1
            if not refused:
                yield name, "accepted"
        elif refused:
            yield name, f"refused: {verdict}"
        else:
            for said in differences(part, text, path.name in LENIENT, counts):
                yield name, said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("verdicts")
    p.add_argument("--stablehlo", default=os.environ.get("LEMNOS_STABLEHLO"))
    p.add_argument("--only", default="", help="only parts whose name holds this")
    p.add_argument("-v", action="store_true", help="print every refined module")
    a = p.parse_args()
    root = pathlib.Path(a.stablehlo or "/nonexistent") / FOLDER
    if not root.is_dir():
        print("stablehlo_refine: LEMNOS_STABLEHLO does not name a checkout of openxla/stablehlo: skipped")
        return 77
    counts, failures = collections.Counter(), 0
    for f in FILES:
        for name, said in judge(a.verdicts, root / f, a, counts):
            if known(said, name):
                counts["known to differ"] += 1
                continue
            print(f"differs: {name}: {said}")
            failures += 1
    for entry in KNOWN:
        if len(entry) == 3 and not a.only:
            print(f"stale: no difference matches {entry[0]}, {entry[1]}")
            failures += 1
    print(", ".join(f"{k}: {n}" for k, n in counts.items()))
    return 1 if failures or not counts["types checked"] else 0


if __name__ == "__main__":
    sys.exit(main())
