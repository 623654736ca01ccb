#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules that keep the folders apart.

1. Includes: a folder's sources include only what ALLOWED says (arrows point one way), by root-relative names; a
   folder's *_internal.h stay inside it; LLVM's and Vulkan's headers stay in the backends that wrap them.
2. Libraries: no writable data (.data, .bss, thread-local, common) in any folder's static library, apart from
   WRITABLE_ALLOWED. Constant tables with pointers (.data.rel.ro) are fine.
3. Files under version control name no folder of one particular machine.

Usage: arrows.py SOURCE BUILD [--no-libraries] | arrows.py --self-test
Exit status: 0 if all holds, 1 with one line per violation, 77 if nothing could be checked.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Who may include what: folder prefixes, or single files. {self} is the folder itself.
BACKEND = ["{self}/", "base/", "hlo/", "runtime/backend.h", "runtime/plan.h"]
ALLOWED = {
    "base": ["base/"],
    "hlo": ["hlo/", "base/"],
    "frontend": ["frontend/", "base/", "hlo/"],
    "interp": ["interp/", "base/", "hlo/"],
    "runtime": ["runtime/", "lemnos/", "base/", "hlo/", "frontend/", "interp/"],
    "backend-cuda": BACKEND + ["backend-llvm/"],
}
# The interpreter is the oracle: it must not share the optimizer's or the code generators' mistakes.
FORBIDDEN = {"interp": ["hlo/opt/", "hlo/kernel/", "hlo/analysis/"]}
# External headers that belong to certain folders (tests/ and tests' tools may use anything).
EXTERNAL = {"llvm-c/": ["backend-llvm", "backend-cuda"], "llvm/": [], "vulkan/": ["backend-spirv"], "cuda": ["backend-cuda"]}

# Writable symbols that are known and wanted: "library:symbol" (such as "libbase.a:counter").
WRITABLE_ALLOWED = set()

SOURCE_SUFFIXES = (".c", ".h", ".def", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\t([0-9a-f]+)\s+(?:\.hidden |\.protected |\.internal )?(.+)$")
MACHINE_PATH = re.compile(r"(?<![\w./~$}*-])/(?:work|root)(?=[/\s\"'`):,;.]|$)", re.M)


def folders_of(source):
    """The folders that the rules speak about."""
    names = [n for n in os.listdir(source) if os.path.isdir(os.path.join(source, n))]
    return sorted(n for n in names if n in ALLOWED or n.startswith("backend-"))


def allowed_for(folder):
    return [p.replace("{self}", folder) for p in ALLOWED.get(folder, BACKEND)]


def starts_with_any(name, prefixes):
    return any(name == p or (not p.endswith(".h") and name.startswith(p)) for p in prefixes)


def check_include(folder, quote, name, all_folders):
    """What is wrong with folder's including name, or None."""
    top = name.split("/")[0]
    ours = quote == '"' or top in all_folders or top == "lemnos"
    if not ours:
        for prefix, owners in EXTERNAL.items():
            if name.startswith(prefix) and folder not in owners:
                return f"only {', '.join(owners) or 'nobody'} may include <{prefix}...>"
        return None
    if ".." in name.split("/"):
        return "a name relative to the root is expected"
    if top not in all_folders and top not in ("lemnos", "tests", "examples"):
        return "a name relative to the root is expected"
    if not starts_with_any(name, allowed_for(folder)) or starts_with_any(name, FORBIDDEN.get(folder, [])):
        return f"{folder}/ may not include it (it may: {' '.join(allowed_for(folder))})"
    if name.endswith("_internal.h") and top != folder:
        return f"private to {top}/"
    return None


def check_includes(source):
    problems, n_files = [], 0
    all_folders = folders_of(source)
    for folder in all_folders:
        for path, _, names in os.walk(os.path.join(source, folder)):
            for file_name in sorted(names):
                if not file_name.endswith(SOURCE_SUFFIXES):
                    continue
                n_files += 1
                file = os.path.join(path, file_name)
                with open(file, encoding="utf-8", errors="replace") as f:
                    text = f.read()
                for match in INCLUDE.finditer(text):
                    wrong = check_include(folder, match[1], match[2], all_folders)
                    if wrong:
                        line = text.count("\n", 0, match.start()) + 1
                        problems.append(f"{os.path.relpath(file, source)}:{line}: include of {match[2]}: {wrong}")
    return problems, n_files


def is_writable_section(name):
    if name.startswith((".data.rel.ro", ".rodata")):
        return False
    return name == "*COM*" or re.match(r"\.(data|bss|tbss|tdata|ldata|lbss)(\.|$)", name) is not None


def check_libraries(source, build):
    problems, n_libraries = [], 0
    for folder in folders_of(source):
        for path, _, names in os.walk(os.path.join(build, folder)):
            for library in sorted(n for n in names if n.startswith("lib") and n.endswith(".a")):
                listing = subprocess.run(["objdump", "-t", os.path.join(path, library)], capture_output=True, text=True)
                if listing.returncode != 0:
                    problems.append(f"{folder}/{library}: objdump failed: {listing.stderr.strip()}")
                    continue
                n_libraries += 1
                member = ""
                for line in listing.stdout.splitlines():
                    if ":     file format " in line:
                        member = line.split(":")[0]
                    m = SYMBOL.match(line)
                    if not m or m[1][5] == "d" or int(m[3], 16) == 0 or not is_writable_section(m[2]):
                        continue
                    if f"{library}:{m[4]}" not in WRITABLE_ALLOWED:
                        problems.append(f"{folder}/{library}: {os.path.basename(member)}: writable data '{m[4]}' in {m[2]}")
    return problems, n_libraries


def tracked_files(source):
    listing = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True)
    if listing.returncode != 0:
        return []  # not a clone: nothing is tracked
    return [os.fsdecode(n) for n in listing.stdout.split(b"\0") if n]


def check_paths(source):
    problems = []
    names = tracked_files(source)
    for name in names:
        try:
            with open(os.path.join(source, name), "rb") as f:
                data = f.read()
        except (FileNotFoundError, IsADirectoryError):
            continue
        if b"\0" in data[:65536]:
            continue
        text = data.decode("utf-8", "replace")
        for match in MACHINE_PATH.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{name}:{line}: names a folder of one machine: {match[0]}")
    return problems, len(names)


def check_all(source, build):
    """Problems, and what was looked at (files, libraries or None if they could not be, tracked files)."""
    problems, n_files = check_includes(source)
    n_libraries = None
    if build and shutil.which("objdump"):
        more, n_libraries = check_libraries(source, build)
        problems += more
    more, n_tracked = check_paths(source)
    return problems + more, (n_files, n_libraries, n_tracked)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def expect(problems, needles):
    """Exactly one problem per needle."""
    ok = len(problems) == len(needles) and all(any(n in p for p in problems) for n in needles)
    if not ok:
        print("expected:", *needles, "found:", *problems, sep="\n  ")
    return ok


def self_test():
    ok = True
    with tempfile.TemporaryDirectory() as root:
        source, build = os.path.join(root, "s"), os.path.join(root, "b")
        good = {
            "base/a.c": '#include "base/a.h"\n#include <stdio.h>\nint base_a(void) { return 1; }\n',
            "hlo/a.c": '#include "base/a.h"\n#include "hlo/opt/p.h"\n',
            "interp/i.c": '#include "hlo/hlo.h"\n#include "interp/i_internal.h"\n',
            "runtime/r.c": '#include "frontend/f.h"\n#include <lemnos/lemnos.h>\n#include "interp/i.h"\n',
            "backend-llvm/x.c": '#include <llvm-c/Core.h>\n#include "runtime/backend.h"\n#include "backend-llvm/x.h"\n',
            "backend-cuda/x.c": '#include "backend-llvm/x.h"\n',
            "frontend/f.c": '#include "hlo/hlo.h"\n',
            "docs/a.md": "A frame/work, https://example.org/work, ./root and /workspace are no such paths.\n",
        }
        for name, text in good.items():
            write(os.path.join(source, name), text)
        subprocess.run(["git", "-C", source, "init", "-q"], check=True)
        subprocess.run(["git", "-C", source, "add", "-A"], check=True)
        ok &= expect(check_all(source, build)[0], [])

        bad = {
            "base/b.c": '#include "hlo/hlo.h"\n',
            "hlo/b.c": '\n# include "interp/i.h"\n',
            "hlo/c.h": '#include <frontend/f.h>\n',
            "interp/b.c": '#include "hlo/opt/p.h"\n',
            "frontend/b.c": '#include "runtime/r.h"\n',
            "runtime/b.c": '#include "backend-llvm/x.h"\n',
            "runtime/c.c": '#include <vulkan/vulkan.h>\n',
            "runtime/d.c": '#include "interp/i_internal.h"\n',
            "backend-spirv/b.c": '#include "runtime/plan_build.h"\n',
            "backend-spirv/c.c": '#include "backend-llvm/x.h"\n',
            "backend-spirv/d.c": '#include "c.h"\n',
            "docs/b.md": "see `/" + "work/main` there\n",
            "docs/c.md": "in /" + "root\n",
        }
        for name, text in bad.items():
            write(os.path.join(source, name), text)
        subprocess.run(["git", "-C", source, "add", "-A"], check=True)
        ok &= expect(check_all(source, build)[0], [name + ":" for name in bad])

        cc = shutil.which("cc")
        if cc and shutil.which("ar") and shutil.which("objdump"):
            write(os.path.join(source, "base/g.c"),
                  "int base_fine(void);\nstatic int secret; int base_count = 3; _Thread_local int base_tls;\n"
                  "const int base_constant = 4; static const char *const table[] = {\"a\", \"b\"};\n"
                  "int base_fine(void) { static int calls; return ++secret + ++calls + table[base_tls & 1][0]; }\n")
            os.makedirs(os.path.join(build, "base"))
            obj, lib = os.path.join(build, "g.o"), os.path.join(build, "base", "libbase.a")
            subprocess.run([cc, "-fPIC", "-c", "-o", obj, os.path.join(source, "base/g.c")], check=True)
            subprocess.run(["ar", "rcs", lib, obj], check=True)
            ok &= expect(check_libraries(source, build)[0], ["'secret'", "'base_count'", "'base_tls'", "'calls"])
        else:
            print("no compiler, ar or objdump: the library check was not tried")
    print("self-test", "passed" if ok else "FAILED")
    return 0 if ok else 1


def main(args):
    if args == ["--self-test"]:
        return self_test()
    if len(args) < 2:
        print(__doc__)
        return 2
    problems, (n_files, n_libraries, n_tracked) = check_all(args[0], None if "--no-libraries" in args else args[1])
    for p in problems:
        print(p)
    libraries = "no library (switched off, or objdump is missing)" if n_libraries is None else f"{n_libraries} libraries"
    print(f"{n_files} sources, {libraries}, {n_tracked} tracked files: {len(problems)} problems")
    if not n_files:
        return 77
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
