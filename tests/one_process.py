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
import os
import re
import shutil
import subprocess
import sys
import threading

from lemnos_library import ROOT, Library

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
            executable, _ = library.compile(program(n), device)
            kept.append((n, name, executable))
            results.append((name, library.run(executable, [x, y], 2)))
        expected = expected or jax_function(n)(x, y)
        for name, result in results:
            compare(f"round {n}, {name}", result, [np.asarray(e) for e in expected])
    for n, name, executable in kept:  # code made earlier still runs after all the other compilations
        expected = jax_function(n)(x, y)
        compare(f"again {n}, {name}", library.run(executable, [x, y], 2), [np.asarray(e) for e in expected])

    problems = []

    def worker(name, device, n):
        try:
            executable, _ = library.compile(program(n), device)
            actual = library.run(executable, [x, y], 2)
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
