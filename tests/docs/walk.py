#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the listings of docs/walk.md, or writes them anew: walk.py LEMNOS [--update].

A listing is a fenced block behind a comment `<!-- run: ARGUMENTS [| lines A-B] [needs WHAT] -->`: the output of
`lemnos ARGUMENTS` in docs/walk, or lines A to B of it. WHAT names what a machine may lack (llvm19, radv): without it, the
listing is passed over, said aloud. Exit status: 0 all equal, 1 some differ."""
import pathlib
import re
import shlex
import subprocess
import sys

MARK = re.compile(r"<!-- run: (?P<args>.*?)(?: \| lines (?P<first>\d+)-(?P<last>\d+))?(?: needs (?P<needs>\w+))? -->\n```(?P<lang>\w*)\n(?P<text>.*?)```\n", re.S)
ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(tool, args):
    return subprocess.run([tool, *shlex.split(args)], cwd=ROOT / "docs" / "walk", capture_output=True, text=True, timeout=120)


def available(tool, what):
    if what == "llvm19":
        done = run(tool, "opt scale.mlir --target=cpu:avx2 --emit=llvm")
        devices = run(tool, "devices").stdout
        return done.returncode == 0 and "LLVM 19." in devices
    if what == "radv":
        return run(tool, "opt scale.mlir --target=radv:navi21 --emit=spirv").returncode == 0
    return True


def listing(tool, match):
    done = run(tool, match["args"])
    if done.returncode != 0:
        raise SystemExit(f"lemnos {match['args']}: exit status {done.returncode}: {done.stderr}")
    lines = done.stdout.splitlines()
    if match["first"]:
        lines = lines[int(match["first"]) - 1:int(match["last"])]
    return "".join(line.rstrip() + "\n" for line in lines)


def main():
    tool, update = str(pathlib.Path(sys.argv[1]).resolve()), "--update" in sys.argv
    page = ROOT / "docs" / "walk.md"
    text, differ, checked, known = page.read_text(), [], 0, {}

    def visit(match):
        nonlocal checked
        needs = match["needs"]
        if needs and not known.setdefault(needs, available(tool, needs)):
            print(f"passed over, no {needs} here: lemnos {match['args']}")
            return match[0]
        got = listing(tool, match)
        checked += 1
        if got != match["text"]:
            differ.append(match["args"])
        return match[0].replace(f"```{match['lang']}\n{match['text']}```", f"```{match['lang']}\n{got}```")

    new = MARK.sub(visit, text)
    if update:
        page.write_text(new)
    for args in differ:
        print(f"{'updated' if update else 'DIFFERS'}: lemnos {args}")
    print(f"{checked} listings checked, {0 if update else len(differ)} differ")
    return 1 if differ and not update else 0 if checked else 77


if __name__ == "__main__":
    sys.exit(main())
