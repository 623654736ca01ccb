#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command-line tool from outside: results, messages, exit codes, files.

Usage: test_cli.py LEMNOS EXAMPLE SOURCE_ROOT [unittest arguments]. Needs the standard library only. Devices that the
machine lacks are left out. Expected values are worked out by hand.
"""
import fcntl
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest
import zipfile
import zlib

LEMNOS, EXAMPLE, ROOT = (os.path.abspath(p) for p in sys.argv[1:4])
DEMO = os.path.join(ROOT, "examples", "digits_cnn")
SANITIZED = bool(os.environ.get("LEMNOS_SANITIZE"))

ADD = """func.func @main(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.add %x, %y : tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
"""

LONG_LOOP = """func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r = stablehlo.while(%i = %zero) : tensor<i64>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %next : tensor<i64>
  }
  return %r : tensor<i64>
}
"""


def identity(tensor):
    return "func.func @main(%%x: %s) -> %s {\n  return %%x : %s\n}\n" % (tensor, tensor, tensor)


def npy(descr, shape, data, fortran=False, version=1):
    """Bytes of a .npy file."""
    header = "{'descr': %r, 'fortran_order': %r, 'shape': %r, }" % (descr, fortran, tuple(shape))
    size = 10 if version == 1 else 12
    header += " " * ((64 - (size + len(header) + 1) % 64) % 64) + "\n"
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + data


def read_npy(data):
    """descr, fortran_order, shape, elements' bytes."""
    assert data[:6] == b"\x93NUMPY" and data[6] == 1
    length = struct.unpack("<H", data[8:10])[0]
    assert (10 + length) % 64 == 0
    header = eval(data[10:10 + length].decode(), {"__builtins__": {}})
    return header["descr"], header["fortran_order"], header["shape"], data[10 + length:]


def npz(entries, method=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as z:
        for name, data in entries.items():
            z.writestr(name + ".npy", data)
    return buffer.getvalue()


def f32(*values):
    return struct.pack("<%df" % len(values), *values)


def run(command, **kw):
    """subprocess.run; a leak that a sanitizer reports in a driver that is unloaded again is not this project's."""
    p = subprocess.run(command, capture_output=True, text=True, timeout=120, **kw)
    if SANITIZED and "LeakSanitizer" in p.stderr:
        frames = re.findall(r"(?m)^ +#(\d+) .*$", p.stderr)
        lines = [line for line in re.findall(r"(?m)^ +#\d+ .*$", p.stderr) if "libsanitizer" not in line]
        if frames and all("unknown module" in line or "libvulkan" in line or "libvk_" in line for line in lines):
            kw["env"] = dict(kw["env"], ASAN_OPTIONS=kw["env"].get("ASAN_OPTIONS", "") + ":detect_leaks=0")
            p = subprocess.run(command, capture_output=True, text=True, timeout=120, **kw)
    return p


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="lemnos-cli-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("LEMNOS_") or k in ("LEMNOS_LLVM_MODULE",)}
        self.env["XDG_CACHE_HOME"] = self.dir

    def file(self, name, data):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(data.encode() if isinstance(data, str) else data)
        return path

    def path(self, name):
        return os.path.join(self.dir, name)

    def lemnos(self, *args, code=0, env=None, **kw):
        """Runs the tool; gives (stdout, stderr)."""
        e = dict(self.env, **(env or {}))
        p = run([LEMNOS, *args], env=e, cwd=self.dir, **kw)
        self.assertEqual(p.returncode, code, "%s\nstdout: %s\nstderr: %s" % (args, p.stdout, p.stderr))
        if code == 0:
            self.assertEqual(p.stderr, "")
        return p.stdout, p.stderr

    def refused(self, pattern, *args, code=3, **kw):
        """The tool fails with one message that matches."""
        out, err = self.lemnos(*args, code=code, **kw)
        self.assertRegex(err, pattern)
        self.assertEqual(out, "")

    def ids(self):
        """The devices of this machine."""
        return [d["id"] for d in json.loads(self.lemnos("devices", "--json")[0])["devices"] if not d["compile_only"]]

    def run_add(self, *args, **kw):
        return self.lemnos("run", self.file("add.mlir", ADD), *args, "--device=interp", **kw)


class Basics(Case):
    def test_version(self):
        self.assertRegex(self.lemnos("--version")[0], r"^lemnos \d+\.\d+\.\d+\n$")

    def test_help(self):
        out = self.lemnos("--help")[0]
        for name in ("run", "check", "devices", "opt", "bench", "demo"):
            self.assertIn("  " + name + " ", out)
            for text in (self.lemnos(name, "--help")[0], self.lemnos("help", name)[0]):
                self.assertTrue(text.startswith("Usage: lemnos %s " % name))
                self.assertNotRegex(text, r" \n")
                self.assertTrue(all(len(line) <= 120 for line in text.splitlines()))
        self.assertIn("Exit codes", out)

    def test_usage_errors(self):
        for args, pattern in (
            ((), "Usage"), (("fly",), "unknown command 'fly'"), (("run",), "no module"),
            (("run", "a", "b"), "one module"), (("run", "a", "--nope"), "unknown option --nope"),
            (("run", "a", "--device"), "--device needs a value"), (("run", "a", "--quiet=1"), "takes no value"),
            (("run", "a", "--max-memory=lots"), "--max-memory=lots: expected SIZE"),
            (("run", "a", "--timeout=-1"), "--timeout"), (("check",), "no file"), (("devices", "x"), "unexpected"),
            (("opt", "a", "--emit=poem"), "--emit=poem"), (("bench", "a", "--runs=-3"), "--runs"),
        ):
            err = self.lemnos(*args, code=2)[1]
            self.assertRegex(err, pattern)

    def test_devices(self):
        out = self.lemnos("devices")[0]
        self.assertRegex(out, r"(?m)^interp ")
        j = json.loads(self.lemnos("devices", "--json")[0])
        self.assertEqual(j["devices"][-1]["id"] if not j["devices"][-1]["compile_only"] else "interp", "interp")

    @unittest.skipIf(SANITIZED, "sanitizers are slow to start")
    def test_start_is_quick(self):
        best = 1.0
        for _ in range(5):
            start = time.monotonic()
            self.lemnos("--version")
            best = min(best, time.monotonic() - start)
        self.assertLess(best, 0.1)  # without the child's own start-up in Python; the goal for the tool is 20 ms


class Inputs(Case):
    def test_values_and_output(self):
        out = self.run_add("--input", "2x3xf32=1,2,3,4,5,6", "--input", "2x3xf32=0.5")[0]
        self.assertEqual(out, "out0: tensor<2x3xf32>\n[[1.5 2.5 3.5]\n [4.5 5.5 6.5]]\n")

    def test_named(self):
        out = self.run_add("--input", "arg1=2x3xf32=10,20,30,40,50,60", "--input", "2x3xf32=iota")[0]
        self.assertIn("[[10 21 32]\n [43 54 65]]", out)

    def test_random_is_seeded(self):
        a = self.run_add("--inputs=random", "--seed=7")[0]
        self.assertEqual(a, self.run_add("--inputs", "random", "--seed", "7")[0])
        self.assertNotEqual(a, self.run_add("--inputs=random", "--seed=8")[0])

    def test_scalars(self):
        for tensor, spec, shown in (("tensor<f64>", "f64=2.5", "2.5"), ("tensor<i1>", "i1=true", "true"),
                                    ("tensor<complex<f32>>", "complex<f32>=(1,-2)", None), ("tensor<ui64>", "ui64=18446744073709551615", "18446744073709551615"),
                                    ("tensor<bf16>", "bf16=1.5", "1.5"), ("tensor<i4>", "i4=-8", "-8")):
            out = self.lemnos("run", self.file("m.mlir", identity(tensor)), "--input", spec, "--device=interp")[0]
            if shown:
                self.assertEqual(out, "out0: %s\n%s\n" % (tensor, shown))

    def test_fortran_and_big_endian(self):
        # column-major 1,4,2,5,3,6 is [[1,2,3],[4,5,6]]
        self.file("x.npy", npy("<f4", (2, 3), f32(1, 4, 2, 5, 3, 6), fortran=True))
        self.file("y.npy", npy(">f4", (2, 3), struct.pack(">6f", 0, 0, 0, 1, 1, 1), version=2))
        out = self.run_add("--input=x.npy", "--input=y.npy")[0]
        self.assertIn("[[1 2 3]\n [5 6 7]]", out)

    def test_npz_round_trip_of_every_type(self):
        cases = {"i1": "|b1", "i8": "|i1", "i16": "<i2", "i32": "<i4", "i64": "<i8", "ui8": "|u1", "ui16": "<u2",
                 "ui32": "<u4", "ui64": "<u8", "f16": "<f2", "f32": "<f4", "f64": "<f8", "complex<f32>": "<c8",
                 "complex<f64>": "<c16", "bf16": "<u2", "f8E4M3FN": "|u1", "f8E5M2": "|u1", "f4E2M1FN": "|u1",
                 "i4": "|i1", "ui4": "|u1", "i2": "|i1", "ui2": "|u1"}
        for dtype, descr in cases.items():
            width = int(descr[2:])
            data = bytes([1, 0] * width) if dtype != "i1" else b"\1\0"
            data = data[:2 * width]
            self.file("in.npz", npz({"arg0": npy(descr, (2,), data)}))
            self.lemnos("run", self.file("m.mlir", identity("tensor<2x%s>" % dtype)), "--inputs=in.npz", "--outputs=out.npz", "--device=interp")
            with zipfile.ZipFile(self.path("out.npz")) as z:
                self.assertEqual(z.namelist(), ["out0.npy"])
                self.assertIsNone(z.testzip())
                self.assertEqual(read_npy(z.read("out0.npy")), (descr, False, (2,), data), dtype)

    def test_one_npy_out(self):
        self.run_add("--input=2x3xf32=1", "--input=2x3xf32=2", "--outputs=out.npy")
        with open(self.path("out.npy"), "rb") as f:
            self.assertEqual(read_npy(f.read()), ("<f4", False, (2, 3), f32(*[3] * 6)))

    def test_ml_dtypes_raw_bits(self):
        self.file("x.npy", npy("|V2", (1,), struct.pack("<H", 0x3fc0)))
        out = self.lemnos("run", self.file("m.mlir", identity("tensor<1xbf16>")), "--input=x.npy", "--device=interp")[0]
        self.assertIn("[1.5]", out)

    def test_deflated(self):
        self.file("in.npz", npz({"arg0": npy("<f4", (2, 3), f32(*[2] * 6)), "arg1": npy("<f4", (2, 3), f32(*[3] * 6))}, zipfile.ZIP_DEFLATED))
        e = dict(self.env)
        p = subprocess.run([LEMNOS, "run", self.file("add.mlir", ADD), "--inputs=in.npz", "--device=interp"], capture_output=True, text=True, env=e, cwd=self.dir)
        if p.returncode == 4:
            self.assertIn("zlib", p.stderr)
        else:
            self.assertIn("[[5 5 5]\n [5 5 5]]", p.stdout)

    def test_zip64(self):
        limits = zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT
        zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = 10, 0  # every record gets its 64-bit form
        try:
            data = npz({"arg0": npy("<f4", (2, 3), f32(*[2] * 6)), "arg1": npy("<f4", (2, 3), f32(*[3] * 6))})
        finally:
            zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits
        self.assertIn(b"PK\6\6", data)
        self.file("in.npz", data)
        self.assertIn("[[5 5 5]\n [5 5 5]]", self.run_add("--inputs=in.npz")[0])

    def test_recipes(self):
        # SplitMix64 of seed 0: 0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4 (published reference outputs)
        z = (0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4)
        uniform = [((v >> 40) - (1 << 23)) * 2.0 ** -23 for v in z]
        integers = [-5 + (((v >> 32) * 15) >> 32) for v in z]
        module = "func.func @main(%a: tensor<2xf32>, %b: tensor<2xi32>, %c: tensor<i8>, %d: tensor<2xf32>, %e: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>, tensor<i8>, tensor<2xf32>, tensor<2xf32>) {\n  return %a, %b, %c, %d, %e : tensor<2xf32>, tensor<2xi32>, tensor<i8>, tensor<2xf32>, tensor<2xf32>\n}\n"
        header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}, "__metadata__": {"k": "v"}}).encode()
        self.file("weights.safetensors", struct.pack("<Q", len(header)) + header + f32(0, 7, 8))
        recipes = [
            {"fill": "uniform", "shape": [2], "dtype": "f32", "center": 0.0, "scale": 1.0, "seed": 0, "crc32": zlib.crc32(f32(*uniform))},
            {"fill": "integer", "shape": [2], "dtype": "i32", "low": -5, "high": 10, "seed": 0},
            {"fill": "constant", "shape": [], "dtype": "i8", "value": -3},
            {"fill": "stored", "shape": [2], "dtype": "f32", "crc32": zlib.crc32(f32(1, 2))},
            {"fill": "safetensors", "shape": [2], "dtype": "f32", "path": "x/weights.safetensors", "tensor": "w"},
        ]
        self.file("inputs.npz", npz({"arg3": npy("<f4", (2,), f32(1, 2))}))
        self.file("inputs.json", json.dumps({"arguments": recipes}))
        m = self.file("m.mlir", module)
        self.lemnos("run", m, "--inputs", self.dir, "--outputs=out.npz", "--device=interp")
        with zipfile.ZipFile(self.path("out.npz")) as z:
            got = [read_npy(z.read("out%d.npy" % i))[3] for i in range(5)]
        self.assertEqual(got, [f32(*uniform), struct.pack("<2i", *integers), b"\xfd", f32(1, 2), f32(7, 8)])
        os.rename(self.path("weights.safetensors"), self.path("elsewhere"))
        self.refused("LEMNOS_SAFETENSORS", "run", m, "--inputs=inputs.json", "--device=interp")
        self.lemnos("run", m, "--inputs=inputs.json", "--safetensors=elsewhere", "--quiet", "--device=interp")
        self.lemnos("run", m, "--inputs=inputs.json", "--quiet", "--device=interp", env={"LEMNOS_SAFETENSORS": "elsewhere"})
        recipes[0]["crc32"] ^= 1
        self.file("inputs.json", json.dumps({"arguments": recipes}))
        self.refused("CRC-32", "run", m, "--inputs=inputs.json", "--safetensors=elsewhere", "--device=interp")

    def test_dynamic_arguments(self):
        m = self.file("m.mlir", "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  %0 = stablehlo.add %x, %x : tensor<?xf32>\n  return %0 : tensor<?xf32>\n}\n")
        out = self.lemnos("run", m, "--input=3xf32=1,2,3", "--device=interp")[0]
        self.assertEqual(out, "out0: tensor<3xf32>\n[2 4 6]\n")

    def test_entry(self):
        m = self.file("m.mlir", "func.func @a() -> tensor<i32> {\n  %0 = stablehlo.constant dense<1> : tensor<i32>\n  return %0 : tensor<i32>\n}\nfunc.func @b() -> tensor<i32> {\n  %0 = stablehlo.constant dense<2> : tensor<i32>\n  return %0 : tensor<i32>\n}\n")
        self.assertIn("\n2\n", self.lemnos("run", m, "--entry=b", "--device=interp")[0])
        self.refused("(?s)a.*b", "run", m, "--device=interp")

    def test_long_arrays_are_shortened(self):
        m = self.file("m.mlir", identity("tensor<2000xi32>"))
        out = self.lemnos("run", m, "--input=2000xi32=iota", "--device=interp")[0]
        self.assertIn("[   0    1    2 ... 1997 1998 1999]", out)
        self.assertIn(" 1000 ", self.lemnos("run", m, "--input=2000xi32=iota", "--full", "--device=interp")[0])


class BadInput(Case):
    def test_files(self):
        add = self.file("add.mlir", ADD)
        self.refused("cannot open 'none.mlir'", "run", "none.mlir", "--device=interp")
        self.refused("cannot open 'none.npz'", "run", add, "--inputs=none.npz", "--device=interp")
        self.refused("argument 0.*cannot open 'none.npy'", "run", add, "--input=none.npy", "--device=interp")
        self.refused("neither inputs.json nor inputs.npz", "run", add, "--inputs", self.dir, "--device=interp")

    def test_malformed_module(self):
        m = self.file("m.mlir", ADD.replace("stablehlo.add", "stablehlo.plus"))
        self.refused(r"m\.mlir:2:\d+: error:.*stablehlo\.plus", "run", m, "--inputs=zeros", "--device=interp", code=self.any_refusal(m))
        m = self.file("n.mlir", ADD.replace("return", "return ("))
        self.refused(r"n\.mlir:3:\d+: error:", "run", m, "--inputs=zeros", "--device=interp")

    def any_refusal(self, module):
        return subprocess.run([LEMNOS, "run", module, "--inputs=zeros", "--device=interp"], capture_output=True, env=self.env).returncode or -1

    def test_wrong_arguments(self):
        for args, pattern in (
            ((), "argument 0 .tensor<2x3xf32>. is missing"),
            (("--input=2x3xf32=1",), "argument 1 .tensor<2x3xf32>. is missing"),
            (("--input=3x2xf32=1", "--input=2x3xf32=1"), "argument 0 is tensor<3x2xf32>, the program takes tensor<2x3xf32>"),
            (("--input=2x3xf64=1", "--input=2x3xf32=1"), "argument 0 is tensor<2x3xf64>"),
            (("--input=2x3xf32=1,2", "--input=2x3xf32=1"), "2 values, expected 6"),
            (("--input=2x3xf32=1,2,3,4,5,6,7", "--input=2x3xf32=1"), "more values"),
            (("--input=2x3xf32=one", "--input=2x3xf32=1"), "'one' is not a value of type f32"),
            (("--inputs=zeros", "--input=arg2=2x3xf32=1"), "argument 2, but the program takes 2"),
            (("--inputs=zeros", "--input=arg0=2x3xf32=1", "--input=2x3xf32=1"), "given twice"),
        ):
            self.refused(pattern, "run", self.file("add.mlir", ADD), *args, "--device=interp")

    def test_npz_trouble(self):
        add = self.file("add.mlir", ADD)
        good = npz({"arg0": npy("<f4", (2, 3), f32(*[2] * 6)), "arg1": npy("<f4", (2, 3), f32(*[3] * 6))})
        flipped = bytearray(good)
        flipped[good.index(f32(2, 2))] ^= 1
        for data, pattern in (
            (b"", "too short"), (b"hello" * 10, "no directory"), (good[:-30], "no directory"), (bytes(flipped), "checksum"),
            (npz({"arg0": npy("<f8", (2, 3), bytes(48)), "arg1": npy("<f4", (2, 3), bytes(24))}), "holds elements of type f64, expected f32"),
            (npz({"arg0": npy("<f4", (2, 3), bytes(20))}), "cut short"),
            (npz({"arg0": npy("<f4", (2, 3), bytes(28))}), "bytes behind"),
            (npz({"arg0": b"nonsense"}), "not a .npy"),
            (npz({"arg0": npy("<f4", (2, 3), bytes(24)), "arg2": npy("<f4", (), bytes(4))}), "holds arg2, but the program takes 2"),
            (npz({"x": npy("<f4", (2, 3), bytes(24))}), "argument 0 .* is missing"),
            (npz({"arg0": npy("<f4", (2 ** 62, 2 ** 62), b"")}), "cut short|too large"),
            (npz({"arg0": npy("|O", (1,), b"")}), "not supported|not a .npy"),
        ):
            self.file("in.npz", data)
            self.refused(pattern, "run", add, "--inputs=in.npz", "--device=interp")

    def test_damaged_archives_never_crash(self):
        add = self.file("add.mlir", ADD)
        good = npz({"arg0": npy("<f4", (2, 3), f32(*[2] * 6)), "arg1": npy("<f4", (2, 3), f32(*[3] * 6))}, zipfile.ZIP_DEFLATED)
        for at in range(0, len(good), 7):
            bad = bytearray(good)
            bad[at] ^= 0x55
            self.file("in.npz", bytes(bad))
            p = subprocess.run([LEMNOS, "run", add, "--inputs=in.npz", "--quiet", "--device=interp"], capture_output=True, env=self.env, cwd=self.dir)
            self.assertIn(p.returncode, (0, 3, 4), (at, p.stderr))

    def test_narrow_range(self):
        m = self.file("m.mlir", identity("tensor<1xi4>"))
        self.file("x.npy", npy("|i1", (1,), b"\x08"))
        self.refused("does not fit in i4", "run", m, "--input=x.npy", "--device=interp")

    def test_json(self):
        add = self.file("add.mlir", ADD)
        for text, pattern in (("{", r"inputs\.json:1:2: error: not JSON"), ('{"arguments": []}', "describes 0 arguments"), ("[1, 2,]", "not JSON"), ("{}", "no list"),
                              ('{"arguments": [{}, {}]}', "recipe of argument 0"), ("[" * 1000, "nesting")):
            self.file("inputs.json", text)
            self.refused(pattern, "run", add, "--inputs=inputs.json", "--device=interp")

    def test_unknown_device(self):
        add = self.file("add.mlir", ADD)
        self.refused("(?s)no device 'abacus'.*interp", "run", add, "--inputs=zeros", "--device=abacus")
        self.refused("no device 'abacus'", "run", add, "--inputs=zeros", env={"LEMNOS_DEVICE": "abacus"})

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        add = self.file("add.mlir", ADD)
        self.refused("cannot write '/dev/full'", "run", add, "--inputs=zeros", "--outputs=/dev/full", "--device=interp", code=5)
        with open("/dev/full", "w") as full:
            for args in (("--version",), ("run", add, "--inputs=zeros", "--device=interp"), ("opt", add), *([] if SANITIZED else [("devices",)])):  # drivers leak
                p = subprocess.run([LEMNOS, *args], stdout=full, stderr=subprocess.PIPE, text=True, env=self.env)
                self.assertEqual(p.returncode, 5, args)
                self.assertIn("cannot write to standard output", p.stderr)
        self.refused("cannot open|cannot write", "run", add, "--inputs=zeros", "--outputs=no/such/folder/out.npz", "--device=interp")

    def test_unimplemented(self):
        m = self.file("m.mlir", "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.custom_call @no_such_target(%x) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n")
        self.refused("no_such_target", "run", m, "--inputs=zeros", "--device=interp", code=4)


class BadUse(Case):
    """What a newcomer gets wrong, and what the tool says."""

    def test_programs(self):
        """No program, or a program with a slip."""
        add = ADD.encode()
        os.mkdir(self.path("folder"))
        generic = "func.func @main(%%x: tensor<2x3xf32>) -> tensor<3x2xf32> {\n  %%0 = \"stablehlo.transpose\"(%%x) {%s = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>\n  return %%0 : tensor<3x2xf32>\n}\n"
        for name, data, message, *code in (
                ("bom", b"\xef\xbb\xbf" + add, None), ("crlf", add.replace(b"\n", b"\r\n"), None), ("bom_hlo", "\ufeffHloModule m\nENTRY e {\n  ROOT x = f32[] parameter(0)\n}\n", None),
                ("utf16", ADD.encode("utf-16-le"), "found binary"), ("utf16_bom", b"\xff\xfe" + ADD.encode("utf-16-le"), "UTF-16 text: save it as UTF-8"),
                ("gz", b"\x1f\x8b\x08\x00" + bytes(20), "gz: expected MLIR text, MLIR bytecode or HLO text, found data compressed by gzip"), ("zip", b"PK\x03\x04" + bytes(20), "a zip archive"),
                ("pb", b"\x0a\x06jit_f\x12\x06main.4\x1a\x80\x01" + bytes(40), "HloProto"), ("elf", b"\x7fELF\x02\x01", "an executable"), ("npy", npy("<f4", (1,), f32(1)), r"an array \(.npy\)"),
                ("bin", bytes(range(256)), "found binary data$"), ("empty", "", "empty:1:1: error: the file is empty"), ("blank", "\n \n", "blank: error: the module has no function$"),
                ("cut", add[:-3], "cut:1:78: error: this region is never closed"),
                ("op", add.replace(b".add", b".ad"), r"op:2:8: error: unknown operation 'stablehlo.ad'; did you mean 'stablehlo.add'\?"),
                ("dialect", add.replace(b"stablehlo.add", b"mhlo.add"), r"unknown operation 'mhlo.add'; did you mean 'stablehlo.add'\?"),
                ("swapped", add.replace(b"stablehlo.add", b"stabelhlo.add"), "did you mean 'stablehlo.add'"),
                ("far", add.replace(b"stablehlo.add", b"stablehlo.frobnicate"), "unknown operation 'stablehlo.frobnicate'$"),
                ("hlo", "HloModule m\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] mutiply(x, x)\n}\n", r"unknown operation 'mutiply'; did you mean 'multiply'\?", 4),
                ("generic", generic.replace("transpose", "transpos") % "permutation", "operation 'stablehlo.transpos' is not supported; did you mean 'stablehlo.transpose'", 4),
                ("attribute", generic % "permutaion", "lacks the attribute 'permutation'; it has 'permutaion'")):
            with self.subTest(name):
                m = self.file(name, data)
                if message is None:
                    self.lemnos("run", m, "--inputs=ones", "--device=interp")
                else:
                    out, err = self.lemnos("run", m, "--inputs=ones", "--device=interp", code=code[0] if code else 3)
                    self.assertRegex(err, "(?m)" + message)
                    self.assertNotIn("error: error:", err)
        self.refused("cannot read 'folder': Is a directory", "run", "folder")
        self.assertIn("FAIL gz: gz: expected MLIR text", self.lemnos("check", "gz", code=1)[0])
        self.assertIn("1 skipped", self.lemnos("check", "bom")[0])  # it takes arguments: it was read

    def test_versions(self):
        head = b"ML\xefR\x0d"  # format 6; the producer follows
        self.refused("byte 4: StableHLO version 9.1.0 is not known, the newest that can be read is 1.x", "run", self.file("newer.bc", head + b"StableHLO_v9.1.0\0"), code=4)
        self.refused("bytecode version 63 is not known", "run", self.file("format.bc", head[:4] + b"\x7fStableHLO_v1.0.0\0"), code=4)
        self.refused(r"byte \d+: the producer string has no end", "run", self.file("cut.bc", head + b"Stable"))

    def test_arguments(self):
        one = npz({"arg0": npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6))})
        m, n = self.file("add.mlir", ADD), self.file("one.npz", one)
        self.refused("there is no arg1 in .*one.npz", "run", m, "--inputs", n)
        self.refused("'2x3f32' is not a type; expected one such as 2x3xf32", "run", m, "--input=2x3f32=0", "--input=2x3xf32=0")
        self.refused("expected.npz holds out1, but the program has 1 result$", "run", m, "--inputs=ones", "--device=interp", "--expect",
                     self.file("expected.npz", npz({"out%d" % k: npy("<f4", (2, 3), f32(2, 2, 2, 2, 2, 2)) for k in range(2)})))

    def test_names(self):
        self.refused("unknown command 'rnu', did you mean run", "rnu", code=2)
        self.refused("unknown command 'chekc', did you mean check", "help", "chekc", code=2)
        self.refused(r"unknown command 'nope' \(see", "help", "nope", code=2)
        self.refused("unknown option --devic, did you mean --device", "run", "x", "--devic=interp", code=2)
        self.refused(r"unknown option --frobnicate \(see", "run", "x", "--frobnicate", code=2)
        self.refused("found x and y", "run", "x", "y", code=2)


class Limits(Case):
    def test_timeout(self):
        m = self.file("loop.mlir", LONG_LOOP)
        self.refused("stopped", "run", m, "--input=i64=1000000000000", "--timeout=0.2", "--device=interp", code=124)

    def test_timeout_of_all_commands(self):
        """Where a run does not look at a clock, the process ends: 2^60 calls, of which no command gets to the end."""
        def function(name, body):
            return "func.func private @%s(%%x: tensor<4xf32>) -> tensor<4xf32> {\n%s}\n" % (name, body)
        call, done = "  %%%s = func.call @f%d(%%%s) : (tensor<4xf32>) -> tensor<4xf32>\n", "  return %%%s : tensor<4xf32>\n"
        text = function("f60", "  %y = stablehlo.sine %x : tensor<4xf32>\n" + done % "y")
        for i in range(60):
            text += function("f%d" % i, call % ("a", i + 1, "x") + call % ("b", i + 1, "a") + done % "b")
        main = "func.func @main() -> tensor<4xf32> {\n  %x = stablehlo.constant dense<1.0> : tensor<4xf32>\n" + call % ("y", 0, "x") + done % "y" + "}\n"
        m, add = self.file("calls.mlir", text + main), self.file("add.mlir", ADD)
        self.refused("stopped", "bench", m, "--timeout=0.2", "--device=interp", code=124)
        out, _ = self.lemnos("check", m, "--timeout=0.2", "--device=interp", code=1)
        self.assertIn("time limit", out)
        out, _ = self.lemnos("check", m, add, m, "--timeout=0.2", "--device=interp", code=1)
        self.assertEqual((out.count("time limit"), out.count("SKIP")), (2, 1), out)
        self.refused("stopped: the time limit has passed", "opt", m, "--passes=call-inliner", "--timeout=0.05", code=124)

    def test_max_memory(self):
        m = self.file("m.mlir", "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1024x1024xf32>\n  %1 = stablehlo.sine %0 : tensor<1024x1024xf32>\n  %2 = stablehlo.constant dense<0.0> : tensor<f32>\n  %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [0, 1] : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<f32>\n  return %3 : tensor<f32>\n}\n")
        self.refused("memory|limit", "run", m, "--inputs=zeros", "--max-memory=1M", "--device=interp", code=5)
        self.lemnos("run", m, "--inputs=zeros", "--max-memory=64M", "--device=interp")
        out, _ = self.lemnos("check", m, "--any-arguments", "--max-memory=1M", "--device=interp", code=1)
        self.assertRegex(out, "FAIL .*(memory|limit)")
        self.lemnos("check", m, "--any-arguments", "--max-memory=64M", "--device=interp")

    def test_interrupt(self):
        m = self.file("loop.mlir", LONG_LOOP)
        for sig in (signal.SIGINT, signal.SIGTERM):
            p = subprocess.Popen([LEMNOS, "run", m, "--input=i64=1000000000000", "--outputs=out.npz", "--device=interp"], stderr=subprocess.PIPE, text=True,
                                 env=self.env, cwd=self.dir, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
            time.sleep(2 if SANITIZED else 0.5)
            p.send_signal(sig)
            _, err = p.communicate(timeout=60)
            self.assertEqual(p.returncode, 130, err)
            self.assertIn("interrupted", err)
            self.assertEqual(sorted(os.listdir(self.dir)), ["loop.mlir"])


class Progress(Case):
    """The progress line: programs that would run for hours, ended by --timeout, on terminals of 200 columns."""

    CONSTANT_LOOP = LONG_LOOP.replace("@main(%n: tensor<i64>)", "@main()").replace("  %zero", "  %n = stablehlo.constant dense<1000000000000> : tensor<i64>\n  %zero", 1)
    SECONDS = "4" if SANITIZED else "2"

    def start(self, *args, tty=True, **env):
        """Starts the tool; on a terminal, or with its standard error in a pipe."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("<4H", 24, 200, 0, 0))
        e = {k: v for k, v in self.env.items() if k != "NO_COLOR"}
        e.update({"TERM": "xterm"}, **env)
        p = subprocess.Popen([LEMNOS, *args], stdout=slave, stderr=slave if tty else subprocess.PIPE, stdin=subprocess.DEVNULL, env=e, cwd=self.dir)
        os.close(slave)
        return p, master

    def finish(self, process):
        """What came on the terminal, and the exit code."""
        p, master = process
        out = b""
        try:
            while data := os.read(master, 65536):
                out += data
        except OSError:  # the last of its users is gone
            pass
        os.close(master)
        if p.stderr:
            self.assertNotIn(b"\r", p.stderr.read())
            p.stderr.close()
        return out.decode(), p.wait(60)

    def test_line(self):
        m, check = self.file("loop.mlir", LONG_LOOP), self.file("check.mlir", self.CONSTANT_LOOP)
        add = self.file("add.mlir", ADD)
        run = ["run", m, "--input=i64=1000000000000", "--timeout=" + self.SECONDS, "--device=interp"]
        started = {name: self.start(*args, **kw) for name, args, kw in (
            ("run", run, {}), ("plain", run, {"NO_COLOR": "1"}), ("dumb", run, {"TERM": "dumb"}), ("quiet", [*run, "--quiet"], {}), ("pipe", run, {"tty": False}),
            ("bench", ["bench", *run[1:]], {}), ("check", ["check", check, "--timeout=" + self.SECONDS, "--device=interp"], {}),
            ("files", ["check", check, add, check, "--jobs=2", "--timeout=" + self.SECONDS, "--device=interp"], {}),
            ("isolate", ["check", check, "--isolate", "--timeout=" + self.SECONDS, "--device=interp"], {}))}
        ended = {name: self.finish(p) for name, p in started.items()}
        left = r"about \d+\.\d h left, 1/2 instructions, [\d,]+/1,000,000,000,000 iterations, now (add|compare|constant|while)\x1b\[K"
        self.assertRegex(ended["run"][0], r"\r\x1b\[1mrunning\x1b\[0m [1-4]\.\d s, " + left)
        self.assertRegex(ended["plain"][0], r"\rrunning \d\.\d s, " + left)
        self.assertRegex(ended["bench"][0], r"first run\x1b\[0m \d\.\d s, " + left)
        self.assertRegex(ended["check"][0], r"checking\x1b\[0m \d\.\d s, 0/1 files, \S+check.mlir, 1/2 instructions, [\d,]+/1,000,000,000,000 iterations, now ")
        self.assertRegex(ended["files"][0], r"checking\x1b\[0m \d\.\d s, 1/3 files, \S+check.mlir\x1b\[K")
        self.assertRegex(ended["isolate"][0], r"checking\x1b\[0m \d\.\d s, 0/1 files, \S+check.mlir\x1b\[K")
        for name in ("run", "plain", "bench", "check", "files", "isolate"):  # in place, and gone before anything else is written
            self.assertRegex(ended[name][0], r"^((\r[^\r\n]*\x1b\[K)+(?<=\r\x1b\[K)(?=lemnos|FAIL|SKIP|0 passed)([^\r\x1b]*\r\n)+)+$")
            self.assertEqual(ended[name][1], 1 if name in ("check", "files", "isolate") else 124)
        for name in ("dumb", "quiet"):
            self.assertRegex(ended[name][0], r"^lemnos run: stopped: [^\r\x1b]*\r\n$")
        self.assertEqual(ended["pipe"], ("", 124))

    def test_short(self):
        out, code = self.finish(self.start("run", self.file("add.mlir", ADD), "--inputs=ones", "--device=interp"))
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("out0: tensor<2x3xf32>"), out)


class Runaway(Case):
    """Programs that no device may hang on, exhaust the memory for, or crash on."""

    def stopped(self, pattern, module, *args, codes=(124,), devices=None):
        m = self.file("m.hlo" if module.startswith("HloModule") else "m.mlir", module)
        for device in devices or self.ids():
            with self.subTest(device=device):
                start = time.monotonic()
                p = run([LEMNOS, "run", m, "--inputs=zeros", "--quiet", "--device=" + device, *args], env=self.env, cwd=self.dir)
                self.assertIn(p.returncode, codes, p.stderr)
                self.assertRegex(p.stderr, pattern)
                self.assertLess(time.monotonic() - start, 60)

    def test_endless_loop(self):
        self.stopped("stopped: ", """func.func @main() -> tensor<i32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r = stablehlo.while(%i = %z) : tensor<i32> cond {
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %j = stablehlo.add %i, %i : tensor<i32>
    stablehlo.return %j : tensor<i32>
  }
  return %r : tensor<i32>
}""", "--timeout=1")

    def test_doubling_calls(self):
        """2^40 calls: the interpreter runs into the time limit, compilation into that or its limit of operations."""
        def function(name, body):
            return "func.func private @%s(%%x: tensor<4xf32>) -> tensor<4xf32> {\n%s}\n" % (name, body)
        call = "  %%%s = func.call @f%d(%%%s) : (tensor<4xf32>) -> tensor<4xf32>\n"
        done = "  return %%%s : tensor<4xf32>\n"
        text = function("f40", "  %y = stablehlo.sine %x : tensor<4xf32>\n" + done % "y")
        for i in range(40):
            text += function("f%d" % i, call % ("a", i + 1, "x") + call % ("b", i + 1, "a") + done % "b")
        main = function("main", call % ("y", 0, "x") + done % "y").replace("private", "public")
        self.stopped("stopped: |more than 1048576 operations", text + main, "--timeout=3", codes=(124, 4))

    def test_trillion_elements(self):
        """Never in memory where a kernel makes them one by one; then in time, if at all."""
        t = "tensor<1099511627776xf32>"
        iota = "  %%i = stablehlo.iota dim = 0 : %s\n  %%s = stablehlo.sine %%i : %s\n" % (t, t)
        self.stopped("memory|limit|at most", "func.func @main() -> %s {\n%s  return %%s : %s\n}" % (t, iota, t), "--timeout=50", codes=(5,))
        self.stopped("memory|limit", """func.func @main() -> tensor<f32> {
%s  %%z = stablehlo.constant dense<0.0> : tensor<f32>
  %%r = stablehlo.reduce(%%s init: %%z) applies stablehlo.add across dimensions = [0] : (%s, tensor<f32>) -> tensor<f32>
  return %%r : tensor<f32>
}""" % (iota, t), "--timeout=1", "--max-memory=256M", codes=(5, 124))

    def test_too_much_memory(self):
        t = "tensor<8192x8192xf32>"
        self.stopped("limit", """func.func @main(%%x: tensor<f32>) -> tensor<f32> {
  %%b = stablehlo.broadcast_in_dim %%x, dims = [] : (tensor<f32>) -> %s
  %%i = stablehlo.iota dim = 0 : %s
  %%s = stablehlo.add %%b, %%i : %s
  %%c = stablehlo.dot_general %%s, %%s, contracting_dims = [1] x [0] : (%s, %s) -> %s
  %%r = stablehlo.slice %%c [0:1, 0:1] : (%s) -> tensor<1x1xf32>
  %%y = stablehlo.reshape %%r : (tensor<1x1xf32>) -> tensor<f32>
  return %%y : tensor<f32>
}""" % (t, t, t, t, t, t, t), "--max-memory=256M", codes=(5,))

    def test_growing_loop(self):
        self.stopped("limit", """func.func @main() -> tensor<?xf32> {
  %x = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %d = stablehlo.constant dense<2> : tensor<1xi32>
  %y = stablehlo.dynamic_reshape %x, %d : (tensor<2xf32>, tensor<1xi32>) -> tensor<?xf32>
  %r = stablehlo.while(%a = %y) : tensor<?xf32> cond {
    %t = stablehlo.constant dense<true> : tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %b = stablehlo.concatenate %a, %a, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    stablehlo.return %b : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}""", "--max-memory=256M", "--timeout=50", codes=(5,))

    def measured(self, module, *args, device):
        """Exit status, message, and the process's peak of memory in MiB."""
        with open(self.path("stderr"), "w+") as err:
            p = subprocess.Popen([LEMNOS, "run", self.file("m.mlir", module), "--quiet", "--device=" + device, *args], stderr=err, env=self.env, cwd=self.dir)
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
            err.seek(0)
            return p.returncode, err.read(), usage.ru_maxrss >> 10

    def test_counted_loop(self):
        """A device must not be given more work than it can hold: the loop's count is known, so nothing waits for a condition."""
        text = LONG_LOOP.replace("%n: tensor<i64>", "").replace("  %zero", "  %n = stablehlo.constant dense<1000000000000> : tensor<i64>\n  %zero")
        for device in self.ids():
            with self.subTest(device=device):
                code, err, peak = self.measured(text, "--timeout=3", device=device)
                self.assertEqual(code, 124, err)
                self.assertRegex(err, "stopped: ")
                if not SANITIZED:
                    self.assertLess(peak, 350)

    def test_constants(self):
        """4 GB of one value: refused before it is made; without a limit it is not held twice."""
        def text(n):
            return "func.func @main() -> tensor<%dxf32> {\n  %%c = stablehlo.constant dense<1.5> : tensor<%dxf32>\n  return %%c : tensor<%dxf32>\n}" % (n, n, n)
        for device in self.ids():
            with self.subTest(device=device):
                code, err, peak = self.measured(text(10**9), "--max-memory=1G", device=device)
                self.assertEqual(code, 5, err)
                self.assertRegex(err, "limit|at most")
                code, err, _ = self.measured(text(10**6), "--max-memory=1M", device=device)
                self.assertEqual(code, 5, err)
                self.assertRegex(err, "limit")
                if not SANITIZED:
                    self.assertLess(peak, 500)

    def test_interpreter_needs_no_more(self):
        """iota and sort within a little more than their results; the refusal names the place."""
        iota = "func.func @main() -> tensor<2500000xf64> {\n  %i = stablehlo.iota dim = 0 : tensor<2500000xf64>\n  return %i : tensor<2500000xf64>\n}"
        sort = '''func.func @main(%x: tensor<2500000xf64>) -> tensor<2500000xf64> {
  %s = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %c = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<2500000xf64>) -> tensor<2500000xf64>
  return %s : tensor<2500000xf64>
}'''
        m = self.file("m.mlir", iota)
        self.lemnos("run", m, "--device=interp", "--quiet", "--max-memory=20M")
        self.refused(r"m.mlir:2:8: iota \(%iota\): 0 bytes in use and 20000000 more needed, above the limit of 19922944", "run", m, "--device=interp", "--max-memory=19M", code=5)
        m = self.file("m.mlir", sort)
        self.lemnos("run", m, "--inputs=random", "--device=interp", "--quiet", "--max-memory=80M")
        self.refused(r"m.mlir:2:8: sort \(%sort\): \d+ bytes in use and 20000000 more needed", "run", m, "--inputs=random", "--device=interp", "--max-memory=75M", code=5)

    def test_terminal(self):
        """What a file holds does not reach the terminal as it is."""
        m = self.file("m.mlir", 'func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  %0 = "a.\x1b[2J"(%x) : (tensor<f32>) -> tensor<f32>\n  return %0 : tensor<f32>\n}\n')
        for command in ("run", "check"):
            p = run([LEMNOS, command, m, "--device=interp", *(["--inputs=ones"] if command == "run" else [])], env=self.env, cwd=self.dir)
            self.assertEqual(p.returncode, 4 if command == "run" else 0)
            self.assertIn("[2J", p.stderr + p.stdout)
            self.assertNotIn("\x1b", p.stderr + p.stdout)

    def test_nesting(self):
        n = 100000
        main = "func.func @main() {\n%s\n  return\n}"
        hlo = "HloModule m\nENTRY main {\n  ROOT x = f32[] %s\n}\n"
        for text in ("func.func @main() -> " + "(" * n + "f32" + ")" * n,
                     "func.func @main(%x: " + "tuple<" * n + "tensor<f32>" + ">" * n + ") {\n  return\n}",
                     "func.func @main(%x: tensor<" + "complex<" * n + "f32" + ">" * n + ">) {\n  return\n}",
                     "module attributes {a = " + "[" * n + "]" * n + "} {}",
                     "module attributes {a = " + "{a = " * n + "}" * n + "} {}",
                     "module {} loc(" + "fused[" * n + "unknown" + "]" * n + ")",
                     "module {} loc(" + "callsite(" * n + "unknown" + " at unknown)" * n + ")",
                     "module {\n" * n + "}\n" * n,
                     main % ('"stablehlo.case"() ({\n' * n + "}) : () -> ()\n" * n),
                     main % ("  %0 = stablehlo.constant dense<" + "[" * n + "1.0" + "]" * n + "> : tensor<f32>"),
                     "HloModule m\nENTRY main (x: " + "(" * n + "f32[]" + ")" * n + ") -> f32[] {\n  ROOT x = f32[] parameter(0)\n}\n",
                     hlo % ("constant(" + "{" * n + "1" + "}" * n + ")"),
                     hlo % ("sine(" * n + "1" + ")" * n)):
            self.stopped(r"m\.(hlo|mlir):\d+:\d+: error: ", text, codes=(3,), devices=["interp"])


class Expect(Case):
    def expect(self, entries, *args, code=0):
        self.file("expected.npz", npz(entries))
        return self.lemnos("run", self.file("add.mlir", ADD), "--input=2x3xf32=1,2,3,4,5,6", "--input=2x3xf32=0", "--expect=expected.npz", "--device=interp", *args, code=code)

    def test_equal_and_different(self):
        out = self.expect({"out0": npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6))})[0]
        self.assertIn("out0 tensor<2x3xf32>: ok, max abs error 0, max rel error 0", out)
        out, err = self.expect({"out0": npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 7))}, code=1)
        self.assertIn("first at [1, 2]: actual 6, expected 7", out)
        self.assertIn("the results are not those of expected.npz", err)
        self.expect({"out0": npy("<f4", (3, 2), f32(1, 2, 3, 4, 5, 6))}, code=1)
        self.expect({"out1": npy("<f4", (2, 3), bytes(24))}, code=3)

    def test_tolerances(self):
        entries = {"out0": npy("<f4", (2, 3), f32(1, 2, 3, 4, 5, 6.5))}  # |6 - 6.5| = 0.5
        self.expect(entries, "--atol=0.5")
        self.expect(entries, "--atol=0.49", code=1)
        self.expect(entries, "--rtol=0.08")
        self.expect(entries, "--rtol=0.07", code=1)

    def test_meta(self):
        # every second element: 1, 3, 5; the last may be 0.25 off
        entries = {"out0": npy("<f4", (3,), f32(1, 3, 5.25))}
        self.file("meta.json", json.dumps({"outputs": [{"name": "out0", "golden_stride": 2, "rtol": 0, "atol": 0.25}]}))
        self.assertIn("every 2th element", self.expect(entries)[0])
        self.file("meta.json", json.dumps({"outputs": [{"name": "out0", "golden_stride": 2, "rtol": 0, "atol": 0.125}]}))
        self.expect(entries, code=1)

    def test_may_differ(self):
        m = self.file("m.mlir", identity("tensor<3xi32>"))
        self.file("expected.npz", npz({"out0": npy("<i4", (3,), struct.pack("<3i", 1, 2, 4))}))
        args = ("run", m, "--input=3xi32=1,2,3", "--expect", "expected.npz", "--device=interp")
        self.lemnos(*args, code=1)
        self.file("meta.json", json.dumps({"outputs": [{"may_differ": 1}]}))
        self.lemnos(*args)

    def test_nan_matches_nan(self):
        m = self.file("m.mlir", identity("tensor<2xf32>"))
        self.file("expected.npz", npz({"out0": npy("<f4", (2,), f32(float("nan"), float("inf")))}))
        self.lemnos("run", m, "--input=2xf32=nan,inf", "--expect=expected.npz", "--device=interp")
        self.lemnos("run", m, "--input=2xf32=nan,-inf", "--expect=expected.npz", "--device=interp", code=1)
        self.lemnos("run", m, "--input=2xf32=0,inf", "--expect=expected.npz", "--device=interp", code=1)


CHECK = """func.func @good() {
  %%0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  check.expect_eq_const %%0, dense<[1, %d]> : tensor<2xi32>
  return
}
"""


class Check(Case):
    def test_counts(self):
        custom = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n  return %x : tensor<f32>\n}\n"
        refused = "func.func @odd() -> tensor<f32> {\n  %0 = stablehlo.custom_call @no_such_target() : () -> tensor<f32>\n  return %0 : tensor<f32>\n}\n"
        f = self.file("a.mlir", CHECK % 2 + "// -----\n" + CHECK % 3 + "// -----\n\n// a comment\n\n// -----\n" + refused)
        g = self.file("b.mlir", custom)
        out = self.lemnos("check", f, g, "--device=interp", code=1)[0]
        self.assertEqual(out.splitlines()[-1], "1 passed, 1 failed, 2 skipped")
        # the second module's check stands in line 3 of its part, line 9 of the file
        self.assertRegex(out, r"FAIL \S*a\.mlir @good: \S*a\.mlir:9:\d+: ")
        self.assertIn("at [1]: actual 2, expected 3", out)
        self.assertRegex(out, r"SKIP \S*a\.mlir @odd: .*no_such_target")
        self.assertNotIn("PASS", out)
        self.assertIn("PASS", self.lemnos("check", "-v", f, g, "--device=interp", code=1)[0])
        self.assertEqual(out, self.lemnos("check", f, g, "--jobs=3", "--device=interp", code=1)[0])
        self.assertTrue(self.lemnos("check", "--any-arguments", g, "--device=interp")[0].endswith("1 passed, 0 failed, 0 skipped\n"))

    def test_main_alone_counts(self):
        m = self.file("m.mlir", CHECK % 3 + (CHECK % 2).replace("@good", "@main"))
        self.assertEqual(self.lemnos("check", m, "--device=interp")[0], "1 passed, 0 failed, 0 skipped\n")

    def test_trouble(self):
        out = self.lemnos("check", self.file("bad.mlir", "func.func @main( {\n}\n"), "none.mlir", "--device=interp", code=1)[0]
        self.assertEqual(out.splitlines()[-1], "0 passed, 2 failed, 0 skipped")
        self.assertRegex(out, r"bad\.mlir:1:\d+: error")


class Opt(Case):
    def test_forms(self):
        add = self.file("add.mlir", ADD)
        self.assertIn("HloModule", self.lemnos("opt", add)[0])
        self.assertIn("add ", self.lemnos("opt", add, "--emit=interp")[0])
        text = self.lemnos("opt", add, "--emit=stablehlo")[0]
        again = self.file("again.mlir", text)
        self.assertEqual(self.lemnos("run", again, "--inputs=ones", "--device=interp")[0], "out0: tensor<2x3xf32>\n[[2 2 2]\n [2 2 2]]\n")
        hlo = self.file("again.hlo", self.lemnos("opt", add)[0])
        self.assertIn("[2 2 2]", self.lemnos("run", hlo, "--inputs=ones", "--device=interp")[0])
        self.lemnos("opt", add, "-o", "out.hlo")
        self.assertTrue(os.path.exists(self.path("out.hlo")))

    def test_passes(self):
        dead = self.file("m.mlir", ADD.replace("  return", "  %1 = stablehlo.subtract %x, %y : tensor<2x3xf32>\n  return"))
        self.assertIn("subtract", self.lemnos("opt", dead, "--passes=none")[0])
        self.assertNotIn("subtract", self.lemnos("opt", dead, "--passes=dce")[0])
        self.assertIn("after dce", self.lemnos("opt", dead, "--passes=dce,cse", "--dump-after=dce")[0])
        self.assertIn(" ms ", self.lemnos("opt", dead, "--time-passes", "--verify-each")[0])
        self.refused("no pass 'nope'", "opt", dead, "--passes=nope")
        self.assertIn("dce", self.lemnos("opt", "--list-passes")[0])
        self.refused("no backend knows the target 'abacus'", "opt", dead, "--target=abacus")


class Bench(Case):
    def test_json(self):
        out = self.lemnos("bench", self.file("add.mlir", ADD), "--inputs=random", "--runs=5", "--json", "--device=interp")[0]
        j = json.loads(out)
        for key in ("compile_ms", "median_ms", "min_ms", "peak_bytes", "temp_bytes", "scratch_bytes", "gflops_per_s", "gb_per_s"):
            self.assertIn(key, j)
        self.assertEqual((j["runs"], j["flops"], j["io_bytes"]), (5, 6, 72))
        self.assertLessEqual(j["min_ms"], j["median_ms"])
        self.assertIn("median", self.lemnos("bench", self.file("add.mlir", ADD), "--inputs=ones", "--runs=1", "--profile", "--device=interp")[0])

    def test_flops(self):
        dot = "func.func @main(%x: tensor<4x5xf32>, %y: tensor<5x7xf32>) -> tensor<4x7xf32> {\n  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x5xf32>, tensor<5x7xf32>) -> tensor<4x7xf32>\n  return %0 : tensor<4x7xf32>\n}\n"
        j = json.loads(self.lemnos("bench", self.file("dot.mlir", dot), "--inputs=random", "--runs=1", "--json", "--device=interp")[0])
        self.assertEqual(j["flops"], 2 * 4 * 5 * 7)


class Devices(Case):
    """The trained example and the C program on whatever this machine has."""

    def test_digits(self):
        for d in self.ids():
            with self.subTest(d):
                out = self.lemnos("run", os.path.join(DEMO, "module.mlir"), "--inputs", DEMO, "--expect", DEMO, env={"LEMNOS_DEVICE": d})[0]
                self.assertIn("ok", out)

    def test_demo(self):
        out = self.lemnos("demo", DEMO, "--runs=1")[0]
        self.assertEqual(re.findall(r"(?m)^(\S+) .* 100\.00%", out), self.ids())

    def test_explain_and_profile(self):
        for d in self.ids():
            with self.subTest(d):
                out = self.lemnos("run", self.file("add.mlir", ADD), "--inputs=ones", "--explain", "--profile", "--device", d)[0]
                self.assertIn("device " + d, out)
                self.assertIn("share", out)

    def test_example_program(self):
        # x = 1..6, y = 2,2,2,3,3,3, z = .5,.5,.5,-1,-1,-1
        for d in self.ids():
            with self.subTest(d):
                p = run([EXAMPLE, d], env=self.env)
                self.assertEqual((p.returncode, p.stderr), (0, ""))
                self.assertEqual(p.stdout, "device: %s\nx * y + z: 2.5 4.5 6.5 / 11 14 17\n(x * y + z) * y + z: 5.5 9.5 13.5 / 32 41 50\n" % d)
                p = run([os.path.join(os.path.dirname(EXAMPLE), "custom_call"), d], env=self.env)  # x * 2.5 + x
                self.assertEqual((p.returncode, p.stderr, p.stdout), (0, "", "3.5 7 10.5 14\n"))
        p = run([EXAMPLE, "abacus"], env=self.env)
        self.assertEqual(p.returncode, 1)
        self.assertIn("error 3: no device 'abacus'", p.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
