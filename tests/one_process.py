#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several compilers in one process: lavapipe's LLVM, the CPU device's LLVM, SwiftShader and jaxlib's do not disturb
each other.

    one_process.py LIBLEMNOS_SO

One program (products, a reduction, exp, a loop) is compiled and run through the C library on every device, and by
jaxlib's CPU client; compilations and runs take turns, and in the last round they come from several threads at once.
Every result is compared with jaxlib's. The library's exported symbols are checked first. Needs jax (./dev test installs
it into .venv); without it, or without any device that generates code, the test is skipped (77).
"""
import ctypes as c
import glob
import os
import re
import shutil
import subprocess
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
N = 24

PROGRAM = """func.func public @main(%x: tensor<24x24xf32>, %y: tensor<24x24xf32>) -> (tensor<24x24xf32>, tensor<24xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<SCALE> : tensor<i32>
  %init = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<24x24xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %a, %y, contracting_dims = [1] x [0] : (tensor<24x24xf32>, tensor<24x24xf32>) -> tensor<24x24xf32>
    %t = stablehlo.tanh %p : tensor<24x24xf32>
    stablehlo.return %n, %t : tensor<i32>, tensor<24x24xf32>
  }
  %e = stablehlo.exponential %r#1 : tensor<24x24xf32>
  %s = stablehlo.reduce(%e init: %init) applies stablehlo.add across dimensions = [1] : (tensor<24x24xf32>, tensor<f32>) -> tensor<24xf32>
  return %r#1, %s : tensor<24x24xf32>, tensor<24xf32>
}
"""


def program(n):
    """The n-th of a family of programs, so that every round compiles something new."""
    return PROGRAM.replace("SCALE", str(n + 2))


class Array(c.Structure):  # lemnos_array
    _fields_ = [("dtype", c.c_char_p), ("rank", c.c_int32), ("dims", c.c_int64 * 32), ("data", c.c_void_p)]


class DeviceInfo(c.Structure):  # lemnos_device_info
    _fields_ = [("id", c.c_char * 64), ("kind", c.c_char * 24), ("name", c.c_char * 128), ("driver", c.c_char * 128),
                ("memory_bytes", c.c_int64), ("compile_only", c.c_bool), ("capabilities", c.c_char * 512)]


class ContextOptions(c.Structure):
    _fields_ = [("cache_dir", c.c_char_p), ("threads", c.c_int32)]


class Library:
    """As much of lemnos.h as this needs. A failed call raises RuntimeError."""

    def __init__(self, path):
        self.lib = c.CDLL(path)  # RTLD_LOCAL
        lib = self.lib
        lib.lemnos_status_text.restype = c.c_char_p
        lib.lemnos_status_text.argtypes = [c.c_void_p]
        lib.lemnos_status_release.argtypes = [c.c_void_p]
        for name in ("context_create", "devices", "device_open", "module_load", "compile", "execute_host"):
            getattr(lib, "lemnos_" + name).restype = c.c_void_p
        for name in ("context", "device", "module", "executable"):
            getattr(lib, f"lemnos_{name}_free").argtypes = [c.c_void_p]
            getattr(lib, f"lemnos_{name}_free").restype = None
        self.context = c.c_void_p()
        self.call("context_create", c.byref(ContextOptions(b"", 0)), c.byref(self.context))

    def call(self, name, *args):
        status = getattr(self.lib, "lemnos_" + name)(*args)
        if status:
            text = self.lib.lemnos_status_text(status).decode()
            self.lib.lemnos_status_release(status)
            raise RuntimeError(f"lemnos_{name}: {text}")

    def devices(self):
        infos, n = c.POINTER(DeviceInfo)(), c.c_int32()
        self.call("devices", self.context, c.byref(infos), c.byref(n), None)
        result = [(infos[i].id.decode(), infos[i].driver.decode()) for i in range(n.value) if not infos[i].compile_only]
        libc = c.CDLL(None)
        libc.free.argtypes = [c.c_void_p]
        libc.free(infos)
        return result

    def open(self, device_id):
        device = c.c_void_p()
        self.call("device_open", self.context, device_id.encode(), c.byref(device))
        return device

    def compile(self, text, device):
        module, executable, data = c.c_void_p(), c.c_void_p(), text.encode()
        self.call("module_load", self.context, b"one_process", data, c.c_size_t(len(data)), None, c.byref(module))
        self.call("compile", module, device, None, c.byref(executable))
        self.lib.lemnos_module_free(module)
        return executable

    def run(self, executable, arrays):
        import numpy as np
        results = [np.full((N, N), np.nan, np.float32), np.full((N,), np.nan, np.float32)]

        def described(list_):
            out = (Array * len(list_))()
            for slot, a in zip(out, list_):
                slot.dtype, slot.rank, slot.data = b"f32", a.ndim, a.ctypes.data
                slot.dims[:a.ndim] = a.shape
            return out

        self.call("execute_host", executable, c.c_int32(len(arrays)), described(arrays), c.c_int32(len(results)),
                  described(results), None)
        return results


def use_venv():
    """Makes the packages of .venv importable if this Python has no jax and is of the same version."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.extend(glob.glob(os.path.join(ROOT, ".venv", "lib", name, "site-packages")))


def jax_function(n):
    """program(n) in JAX; the loop's body is one compiled function."""
    import jax
    import jax.numpy as jnp

    def f(x, y):
        body = lambda i, a: jnp.tanh(jnp.dot(a, y, precision=jax.lax.Precision.HIGHEST))
        a = jax.lax.fori_loop(0, n + 2, body, x)
        return a, jnp.exp(a).sum(axis=1)

    return jax.jit(f)


def compare(what, actual, expected):
    import numpy as np
    for i, (a, e) in enumerate(zip(actual, expected)):
        worst = float(np.max(np.abs(a - e)))
        if not np.allclose(a, e, rtol=1e-5, atol=1e-5):
            raise AssertionError(f"{what}: result {i} is off by {worst}")
    return True


def exported_symbols(path):
    """Names that the shared library exports; None without nm."""
    if not shutil.which("nm"):
        return None
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines()}


def check_symbols(path):
    with open(os.path.join(ROOT, "runtime", "include", "lemnos", "lemnos.h"), encoding="utf-8") as f:
        declared = set(re.findall(r"\b(lemnos_\w+)\(", re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)))
    exported = exported_symbols(path)
    if exported is None:
        print("one_process: no nm: exported symbols not checked")
        return
    linker = {"_init", "_fini", "__bss_start", "_edata", "_end"}
    extra = {s for s in exported - declared - linker if not s.startswith(("__asan", "__ubsan", "__odr_asan"))}
    if declared - exported or extra:
        sys.exit(f"one_process: missing exports: {sorted(declared - exported)}; unwanted: {sorted(extra)}")
    print(f"{len(declared)} functions exported, nothing else")


def main():
    path = os.path.abspath(sys.argv[1])
    check_symbols(path)
    if os.environ.get("LEMNOS_SANITIZE"):
        print("one_process: skipped: a sanitized library cannot be loaded into Python")
        return 77
    use_venv()
    os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        import jax
        import numpy as np
    except ImportError as e:
        print(f"one_process: skipped: {e} (./dev test installs jax into .venv; this Python is {sys.version.split()[0]})")
        return 77
    library = Library(path)
    listed = library.devices()
    devices = [(name, library.open(name)) for name, _ in listed]
    if len(devices) < 2:
        print("one_process: skipped: only the interpreter is here")
        return 77
    rng = np.random.default_rng(1)
    x = rng.standard_normal((N, N), dtype=np.float32)
    y = (rng.standard_normal((N, N), dtype=np.float32) * np.float32(0.3))
    kept = []
    for n in range(3):
        # The order rotates: each compiler comes first once.
        expected = None if n % 2 else jax_function(n)(x, y)
        order = devices[n % len(devices):] + devices[:n % len(devices)]
        results = []
        for name, device in order:
            executable = library.compile(program(n), device)
            kept.append((n, name, executable))
            results.append((name, library.run(executable, [x, y])))
        expected = expected or jax_function(n)(x, y)
        for name, result in results:
            compare(f"round {n}, {name}", result, [np.asarray(e) for e in expected])
    for n, name, executable in kept:  # code made earlier still runs after all the other compilations
        expected = jax_function(n)(x, y)
        compare(f"again {n}, {name}", library.run(executable, [x, y]), [np.asarray(e) for e in expected])

    problems = []

    def worker(name, device, n):
        try:
            executable = library.compile(program(n), device)
            actual = library.run(executable, [x, y])
            compare(f"threads, {name}", actual, [np.asarray(e) for e in jax_function(n)(x, y)])
            library.lib.lemnos_executable_free(executable)
        except Exception as e:  # reported by the main thread
            problems.append(f"{name}: {e}")

    threads = [threading.Thread(target=worker, args=(name, device, 5 + i)) for i, (name, device) in enumerate(devices)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if problems:
        sys.exit("one_process: " + "; ".join(problems))
    for _, _, executable in kept:
        library.lib.lemnos_executable_free(executable)
    for _, device in devices:
        library.lib.lemnos_device_free(device)
    library.lib.lemnos_context_free(library.context)
    print(f"jaxlib {jax.lib.__version__}, " + ", ".join(f"{name} ({driver})" for name, driver in listed) +
          ": one process, all agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
