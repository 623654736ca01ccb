#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations over many operands, on every device: sort, reduce, reduce_window, scatter, map, ApproxTopK.

How many operands an operation has is bounded by nothing but the program. Each case is written for N operands, with
expected values from NumPy, as a function that checks itself; regions give their results in another order than their
arguments come in, so that each result is overwritten while another still needs it.

usage: many_operands.py LEMNOS [N]
"""
import os
import subprocess
import sys
import tempfile

import conformance
import venv_packages  # noqa: F401 (NumPy)

try:
    import numpy as np
except ImportError as error:
    print(f"many_operands: skipped: {error}")
    sys.exit(77)


def listing(fmt, n, sep=", "):
    return sep.join(fmt.format(k=k) for k in range(n))


def tensor(x):
    return "dense<{}> : tensor<{}>".format(x.tolist(), "x".join([str(d) for d in x.shape] + ["i32"]))


class Case:
    """One function: constants, an operation, checks."""

    def __init__(self, name):
        self.text = f"func.func @{name}() {{\n"

    def const(self, name, x):
        self.text += f"  %{name} = stablehlo.constant {tensor(np.asarray(x))}\n"

    def expect(self, value, x):
        self.text += f"  check.expect_eq_const {value}, {tensor(np.asarray(x))}\n"

    def done(self):
        return self.text + "  func.return\n}\n"


def folding_region(n):
    """(acc, x) -> result k is acc[n - 1 - k] + x[k]."""
    args = listing("%a{k}: tensor<i32>", n) + ", " + listing("%b{k}: tensor<i32>", n)
    body = "".join(f"    %s{k} = stablehlo.add %a{n - 1 - k}, %b{k} : tensor<i32>\n" for k in range(n))
    return (f"  ^bb0({args}):\n{body}    stablehlo.return {listing('%s{k}', n)} : {listing('tensor<i32>', n)}\n")


def fold(init, terms):
    """What folding_region computes: init [n], terms [count, n]."""
    acc = np.array(init)
    for x in terms:
        acc = acc[::-1] + x
    return acc


def reduce_case(n):
    c = Case("reduce")
    x = np.arange(n * 6).reshape(n, 3, 2) * 7 % 23
    init = np.arange(n) % 5
    for k in range(n):
        c.const(f"x{k}", x[k])
        c.const(f"i{k}", init[k])
    c.text += (f'  %r:{n} = "stablehlo.reduce"({listing("%x{k}", n)}, {listing("%i{k}", n)}) '
               f"<{{dimensions = array<i64: 0>}}> ({{\n{folding_region(n)}  }}) : ("
               f"{listing('tensor<3x2xi32>', n)}, {listing('tensor<i32>', n)}) -> ({listing('tensor<2xi32>', n)})\n")
    want = np.stack([fold(init, x[:, :, j].T) for j in range(2)], axis=1)
    for k in range(n):
        c.expect(f"%r#{k}", want[k])
    return c.done()


def swap_case(n):
    """Results that are arguments in reverse order: what each overwrites, another reads."""
    c = Case("reduce_swapping")
    x, init = np.arange(n) + 100, np.arange(n)
    for k in range(n):
        c.const(f"x{k}", x[k:k + 1])
        c.const(f"i{k}", init[k])
    args = listing("%a{k}: tensor<i32>", n) + ", " + listing("%b{k}: tensor<i32>", n)
    back = ", ".join(f"%a{n - 1 - k}" for k in range(n))
    c.text += (f'  %r:{n} = "stablehlo.reduce"({listing("%x{k}", n)}, {listing("%i{k}", n)}) '
               f"<{{dimensions = array<i64: 0>}}> ({{\n  ^bb0({args}):\n    stablehlo.return {back} : "
               f"{listing('tensor<i32>', n)}\n  }}) : ({listing('tensor<1xi32>', n)}, {listing('tensor<i32>', n)}) -> "
               f"({listing('tensor<i32>', n)})\n")
    for k in range(n):
        c.expect(f"%r#{k}", init[n - 1 - k])
    return c.done()


def window_case(n):
    c = Case("reduce_window")
    x = np.arange(n * 5).reshape(n, 5) * 11 % 17
    init = np.arange(n) % 3
    for k in range(n):
        c.const(f"x{k}", x[k])
        c.const(f"i{k}", init[k])
    c.text += (f'  %r:{n} = "stablehlo.reduce_window"({listing("%x{k}", n)}, {listing("%i{k}", n)}) '
               f"<{{window_dimensions = array<i64: 2>}}> ({{\n{folding_region(n)}  }}) : ("
               f"{listing('tensor<5xi32>', n)}, {listing('tensor<i32>', n)}) -> ({listing('tensor<4xi32>', n)})\n")
    want = np.stack([fold(init, x[:, j:j + 2].T) for j in range(4)], axis=1)
    for k in range(n):
        c.expect(f"%r#{k}", want[k])
    return c.done()


def sort_case(n):
    """By the last operand, where equal by the first one downwards."""
    c = Case("sort")
    x = np.arange(n * 7).reshape(n, 7) * 13 % 31
    x[-1] %= 3
    for k in range(n):
        c.const(f"x{k}", x[k])
    args = listing("%a{k}: tensor<i32>, %b{k}: tensor<i32>", n)
    last = n - 1
    types = listing("tensor<7xi32>", n)
    c.text += (f'  %r:{n} = "stablehlo.sort"({listing("%x{k}", n)}) <{{dimension = 0 : i64, is_stable = true}}> ({{\n'
               f"  ^bb0({args}):\n"
               f"    %lt = stablehlo.compare LT, %a{last}, %b{last} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               f"    %eq = stablehlo.compare EQ, %a{last}, %b{last} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               f"    %gt = stablehlo.compare GT, %a0, %b0 : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               f"    %and = stablehlo.and %eq, %gt : tensor<i1>\n    %or = stablehlo.or %lt, %and : tensor<i1>\n"
               f"    stablehlo.return %or : tensor<i1>\n  }}) : ({types}) -> ({types})\n")
    order = np.lexsort((np.arange(7), -x[0], x[-1]))
    for k in range(n):
        c.expect(f"%r#{k}", x[k][order])
    return c.done()


def scatter_case(n):
    c = Case("scatter")
    x = np.arange(n * 4).reshape(n, 4) % 9
    updates = np.arange(n * 3).reshape(n, 3) * 5 % 11
    at = [2, 0, 2]
    c.const("at", np.array(at).reshape(3, 1))
    for k in range(n):
        c.const(f"x{k}", x[k])
        c.const(f"u{k}", updates[k])
    c.text += (f'  %r:{n} = "stablehlo.scatter"({listing("%x{k}", n)}, %at, {listing("%u{k}", n)}) '
               "<{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], "
               f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{\n{folding_region(n)}  }}) : ("
               f"{listing('tensor<4xi32>', n)}, tensor<3x1xi32>, {listing('tensor<3xi32>', n)}) -> "
               f"({listing('tensor<4xi32>', n)})\n")
    want = x.copy()
    for j, i in enumerate(at):
        want[:, i] = fold(want[:, i], updates[:, j:j + 1].T)
    for k in range(n):
        c.expect(f"%r#{k}", want[k])
    return c.done()


def map_case(n):
    c = Case("map")
    x = np.arange(n * 4).reshape(n, 4) * 3 % 19
    for k in range(n):
        c.const(f"x{k}", x[k])
    body = "    %s0 = stablehlo.negate %a0 : tensor<i32>\n"
    body += "".join(f"    %s{k} = stablehlo.subtract %a{k}, %s{k - 1} : tensor<i32>\n" for k in range(1, n))
    c.text += (f'  %r = "stablehlo.map"({listing("%x{k}", n)}) <{{dimensions = array<i64: 0>}}> ({{\n'
               f"  ^bb0({listing('%a{k}: tensor<i32>', n)}):\n{body}    stablehlo.return %s{n - 1} : tensor<i32>\n  }}) : "
               f"({listing('tensor<4xi32>', n)}) -> tensor<4xi32>\n")
    want = -x[0]
    for k in range(1, n):
        want = x[k] - want
    c.expect("%r", want)
    return c.done()


def top_k_case(n):
    """The two largest of the last operand, and what stands there in the others."""
    c = Case("approx_top_k")
    x = np.arange(n * 6).reshape(n, 6) * 17 % 29
    for k in range(n):
        c.const(f"x{k}", x[k])
        c.const(f"i{k}", -1)
    c.text += (f"  %r:{n} = stablehlo.custom_call @ApproxTopK({listing('%x{k}', n)}, {listing('%i{k}', n)}) "
               "{called_computations = [@larger], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, "
               "recall_target = 1.0 : f32, reduction_dim = 0 : i64, reduction_input_size_override = -1 : i64, "
               f"top_k = 2 : i64}}}} : ({listing('tensor<6xi32>', n)}, {listing('tensor<i32>', n)}) -> "
               f"({listing('tensor<2xi32>', n)})\n")
    order = np.lexsort((np.arange(6), -x[-1]))[:2]
    for k in range(n):
        c.expect(f"%r#{k}", x[k][order])
    args = listing("%a{k}: tensor<i32>, %b{k}: tensor<i32>", n)
    return c.done() + (f"func.func private @larger({args}) -> tensor<i1> {{\n"
                       f"  %0 = stablehlo.compare GT, %a{n - 1}, %b{n - 1} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
                       "  func.return %0 : tensor<i1>\n}\n")


CASES = [reduce_case, swap_case, window_case, sort_case, scatter_case, map_case, top_k_case]


def main():
    lemnos, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    devices = [name for name, _ in conformance.device_names(lemnos)]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for case in CASES:
            # 70: more than 64 results, where they once were cut off
            for count in (n, 70) if case is swap_case else (n,):
                paths.append(os.path.join(folder, f"{case.__name__}_{count}.mlir"))
                with open(paths[-1], "w") as f:
                    f.write(case(count))
        for device in devices:
            r = subprocess.run([lemnos, "check", *paths, f"--device={device}"], capture_output=True, text=True)
            summary = (r.stdout.strip().splitlines() or ["no output"])[-1]
            print(f"{device}: {summary}")
            if r.returncode or f"{len(paths)} passed" not in summary:
                print(r.stdout, r.stderr)
                bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
