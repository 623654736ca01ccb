#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HLO text as XLA dumps it before optimization, run by Lemnos and compared with jaxlib's own results.

    xla_dumps.py LEMNOS [--device ID]... [--only TEXT] [--keep FOLDER]

Each case is a small JAX function with its arguments. It is lowered to an HLO module, printed with all constants, and
run by `lemnos run` on the interpreter and, where there is one, the CPU device; jaxlib compiles and runs the same
function. Integers, booleans and whatever only moves data must agree bit for bit (any NaN equals any NaN); other
floats within a few roundings of their type, relative to the element and to the largest element of the array. A few
cases are lowered for TPU, since JAX then keeps operations (cholesky, triangular_solve, top-k) that it replaces by
calls of LAPACK on CPUs. A program that Lemnos refuses by name (exit code 4) is counted as skipped and named. Needs
jax; without it the test is skipped (77).
"""
import argparse
import os
import subprocess
import sys
import tempfile

from lemnos_library import differ as arrays_differ

# Eight devices, for programs of several
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
try:
    import jax
    import jax.numpy as jnp
    import ml_dtypes
    import numpy as np
    from jax import lax
except ImportError as error:
    print(f"xla_dumps: skipped: {error} (./dev test installs jax into .venv)")
    sys.exit(77)

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")
RNG = np.random.default_rng(20)
CASES = []  # (name, function, arguments, whether floats must agree bit for bit, factor on the tolerance, platform)
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 2.5, 3.5, -0.5, 1e-3, -77.7, 300.0, 0.49999997])


def add(name, function, *args, exact=False, factor=1, platform=None):
    CASES.append((name, function, [np.asarray(a) for a in args], exact, factor, platform))


def normal(*shape, dtype=np.float32):
    """Normally distributed; complex types get an imaginary part."""
    values = RNG.standard_normal(shape)
    if np.issubdtype(dtype, np.complexfloating):
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(dtype)


def positive(*shape, dtype=np.float32):
    return RNG.uniform(0.1, 3, shape).astype(dtype)


def integers(*shape, dtype=np.int32, low=None, high=None):
    info = np.iinfo(dtype)
    low, high = info.min if low is None else low, info.max if high is None else high
    return RNG.integers(low, high, shape, dtype=dtype, endpoint=True)


def add_elementwise():
    add(
        "unary_f32", lambda x:
        (jnp.exp(x), jnp.tanh(x), jnp.sin(x), jnp.cos(x), jnp.expm1(x), lax.logistic(x), jnp.cbrt(x), jnp.arctan(x)),
        normal(5, 7))
    add("unary_positive_f64", lambda x: (jnp.log(x), jnp.log1p(x), jnp.sqrt(x), lax.rsqrt(x), jnp.exp2(x)),
        positive(33, dtype=np.float64))
    add("special_f32", lambda x:
        (jnp.abs(x), -x, jnp.floor(x), jnp.ceil(x), jnp.round(x), lax.round(x), jnp.sign(x), jnp.isfinite(x)),
        SPECIAL.astype(np.float32), exact=True)
    add("binary_f32", lambda x, y: (x + y, x - y, x * y, x / y, jnp.maximum(x, y), jnp.minimum(x, y), lax.rem(x, y)),
        normal(4, 9), normal(4, 9), exact=True)
    add("power_atan2_f32", lambda x, y: (x**y, jnp.arctan2(y, x), lax.integer_pow(x, 5)), positive(19), normal(19))
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        y = integers(24, dtype=dtype)
        y[y == 0] = 3
        add(
            f"integer_{np.dtype(dtype).name}", lambda x, y:
            (x + y, x - y, x * y, lax.div(x, y), lax.rem(x, y), x & y, x | y, x ^ y, ~x, jnp.maximum(x, y),
             lax.population_count(x), lax.clz(x), jnp.abs(x), jnp.sign(x)), integers(24, dtype=dtype), y)
        add(f"shift_{np.dtype(dtype).name}", lambda x, s:
            (lax.shift_left(x, s), lax.shift_right_logical(x, s), lax.shift_right_arithmetic(x, s)),
            integers(24, dtype=dtype), integers(24, dtype=dtype, low=0, high=np.iinfo(dtype).bits + 2))
    add("compare", lambda x, y: (x < y, x <= y, x == y, x != y, x > y, x >= y, jnp.where(x < y, x, y)),
        SPECIAL.astype(np.float32), SPECIAL[::-1].astype(np.float32), exact=True)
    add("logic", lambda x, y: (x & y, x | y, x ^ y, ~x),
        integers(16, low=0, high=1) > 0,
        integers(16, low=0, high=1) > 0)
    add(
        "clamp_select", lambda x: (jnp.clip(x, -0.5, 0.75), lax.select(x > 0, x, -x),
                                   lax.clamp(jnp.int32(0), lax.convert_element_type(x * 9, jnp.int32), jnp.int32(4))),
        normal(6, 5), exact=True)
    add("gelu_softmax",
        lambda x: (jax.nn.gelu(x), jax.nn.softmax(x, -1), jax.nn.silu(x), jax.nn.gelu(x, approximate=False)),
        normal(4, 17), factor=4)
    add("erf_inv_lgamma", lambda x: (lax.erf(x), lax.erf_inv(x), lax.lgamma(x), lax.digamma(x)),
        RNG.uniform(0.05, 0.95, 21).astype(np.float32), factor=16)
    add(
        "complex64", lambda x, y: (x + y, x * y, x / y, jnp.conj(x), jnp.real(x), jnp.imag(y), jnp.abs(x), jnp.exp(x),
                                   lax.complex(x.real, y.imag)), normal(11, dtype=np.complex64),
        normal(11, dtype=np.complex64))
    add("complex128", lambda x: (jnp.sqrt(x), jnp.log(x), jnp.tanh(x), jnp.sin(x), x == jnp.conj(x)),
        normal(11, dtype=np.complex128), factor=4)
    for dtype in (ml_dtypes.bfloat16, np.float16):
        add(f"half_{np.dtype(dtype).name}", lambda x, y:
            (x + y, x * y, x - y, jnp.exp(x), jnp.tanh(y), jnp.maximum(x, y), x < y), normal(5, 6, dtype=dtype),
            normal(5, 6, dtype=dtype), factor=1 / 8)
        add(f"dot_{np.dtype(dtype).name}", lambda x, y: (x @ y, jnp.dot(x, y, preferred_element_type=jnp.float32)),
            normal(7, 24, dtype=dtype), normal(24, 5, dtype=dtype), factor=1 / 4)


def add_types():
    add(
        "convert_from_f32", lambda x: tuple(
            x.astype(t) for t in
            (jnp.float16, jnp.bfloat16, jnp.float64, jnp.int8, jnp.int32, jnp.uint16, jnp.bool_, jnp.complex64)),
        (normal(31) * 40).clip(0, 120), exact=True)
    add("convert_from_i32",
        lambda x: tuple(x.astype(t) for t in (jnp.float32, jnp.bfloat16, jnp.int8, jnp.uint64, jnp.bool_)),
        integers(31), exact=True)
    add(
        "convert_f8", lambda x: tuple(x.astype(t) for t in (jnp.float8_e4m3fn, jnp.float8_e5m2)) +
        (x.astype(jnp.float8_e4m3fn).astype(jnp.float32), ), normal(31), exact=True)
    add("convert_i4", lambda x: (x.astype(jnp.int4), x.astype(jnp.uint4), x.astype(jnp.int4).astype(jnp.int32)),
        integers(16, low=0, high=7), exact=True)
    add(
        "bitcast", lambda x: (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8),
                              lax.bitcast_convert_type(lax.bitcast_convert_type(x, jnp.uint16), jnp.float32)),
        normal(3, 4), exact=True)
    add("reduce_precision", lambda x: (lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 8, 7)), normal(40),
        exact=True)
    add("nextafter", lambda x: (jnp.nextafter(x, jnp.float32(9)), lax.is_finite(x)), SPECIAL.astype(np.float32),
        exact=True)


def add_products():
    dims = lax.dot_general
    add("matmul", lambda x, y: x @ y, normal(13, 31), normal(31, 9))
    add("dot_general_batch", lambda x, y: dims(x, y, (([3], [1]), ([0, 2], [0, 3]))), normal(2, 3, 4, 5),
        normal(2, 5, 6, 4))
    add("dot_general_two_contracted", lambda x, y: dims(x, y, (([0, 2], [1, 0]), ([], []))), normal(3, 4, 5),
        normal(5, 3, 2))
    add("dot_i32", lambda x, y: x @ y, integers(5, 8), integers(8, 6))
    add("dot_i8_to_i32", lambda x, y: dims(x, y, (([1], [0]), ([], [])), preferred_element_type=jnp.int32),
        integers(5, 8, dtype=np.int8), integers(8, 6, dtype=np.int8))
    add("dot_complex", lambda x, y: x @ y, normal(4, 6, dtype=np.complex64), normal(6, 3, dtype=np.complex64))
    add("einsum_f64", lambda x, y: jnp.einsum("bij,bkj->bik", x, y), normal(3, 4, 5, dtype=np.float64),
        normal(3, 6, 5, dtype=np.float64))
    conv = lax.conv_general_dilated
    add("conv_nchw", lambda x, k: conv(x, k, (2, 1), "SAME"), normal(2, 3, 9, 8), normal(4, 3, 3, 3))
    add(
        "conv_nhwc_dilated", lambda x, k: conv(x, k, (1, 1), [(2, 1), (-1, 3)], lhs_dilation=(2, 1), rhs_dilation=(
            1, 2), dimension_numbers=("NHWC", "HWIO", "NHWC")), normal(1, 7, 8, 4), normal(3, 2, 4, 5))
    add("conv_depthwise", lambda x, k: conv(x, k, (1, 1), "VALID", feature_group_count=4), normal(2, 4, 6, 6),
        normal(8, 1, 3, 3))
    add("conv_batch_groups",
        lambda x, k: conv(x, k, (1, ), "SAME", batch_group_count=2, dimension_numbers=("NWC", "WIO", "NWC")),
        normal(4, 7, 3), normal(3, 3, 6))
    add("conv_transpose_grad", jax.grad(lambda x, k: (conv(x, k, (2, 2), "SAME")**2).sum(), (0, 1)), normal(1, 2, 8, 8),
        normal(3, 2, 3, 3), factor=4)
    add("conv_3d", lambda x, k: conv(x, k, (1, 2, 1), "VALID"), normal(1, 2, 4, 5, 6), normal(3, 2, 2, 3, 2))
    add("fft", lambda x: (jnp.fft.fft(x), jnp.fft.ifft(x), jnp.fft.fft2(x)), normal(6, 15, dtype=np.complex64),
        factor=4)
    add("rfft", lambda x: (jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), 12)), normal(5, 12, dtype=np.float64),
        factor=4)
    a = normal(4, 4, dtype=np.float64)
    spd = a @ a.T + 4 * np.eye(4)
    add("cholesky", jnp.linalg.cholesky, spd, factor=64, platform="tpu")
    for transpose in (False, True):
        add(
            f"triangular_solve_{'upper' if transpose else 'lower'}", lambda a, b, t=transpose:
            (lax.linalg.triangular_solve(a, b, left_side=True, lower=not t, transpose_a=t),
             lax.linalg.triangular_solve(a, b.T, left_side=False, lower=not t, unit_diagonal=True)), spd,
            normal(4, 3, dtype=np.float64), factor=64, platform="tpu")
    add("cholesky_cpu", jnp.linalg.cholesky, spd, factor=64)
    add("qr_cpu", lambda x: jnp.linalg.qr(x), spd, factor=64)


def add_reductions():
    add("reduce", lambda x: (x.sum(), x.sum(0), x.max((0, 2)), x.min(1), jnp.prod(x, 2), x.mean(), jnp.var(x, 1)),
        normal(4, 5, 6))
    add(
        "reduce_integers", lambda x: (x.sum(0), x.max(), x.min(1), jnp.prod(x, 1), (x > 0).any(0),
                                      (x > 0).all(1), lax.reduce_xor(x, (1, ))), integers(6, 7))
    add("reduce_nan", lambda x: (x.max(), x.min(), jnp.nanmax(x), jnp.argmax(x), jnp.argmin(x)),
        SPECIAL.astype(np.float32), exact=True)
    add("argmax", lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)), integers(7, 9, low=-3, high=3))
    add("variadic_reduce", lambda x, y: lax.reduce((x, y), (np.float32(0), np.int32(1)), lambda a, b:
                                                   (a[0] + b[0], a[1] * b[1]), (1, )), normal(5, 8),
        integers(5, 8, low=-3, high=3))
    add("logsumexp", lambda x: jax.nn.logsumexp(x, axis=1), normal(5, 9))
    window = lax.reduce_window
    add("max_pool", lambda x: window(x, -np.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME"), normal(2, 9, 8, 3),
        exact=True)
    add("avg_pool", lambda x: window(x, 0.0, lax.add, (1, 2, 3), (1, 1, 2), "VALID") / 6, normal(2, 7, 9))
    add("window_dilated", lambda x: window(x, 0, lax.add, (2, 2),
                                           (1, 2), [(1, 0), (2, 1)], base_dilation=(2, 1), window_dilation=(1, 2)),
        integers(6, 7))
    add(
        "cumulative", lambda x:
        (jnp.cumsum(x, 1), lax.cummax(x, 0), lax.cumsum(x, 1, reverse=True), lax.cumprod(x, 0), lax.cumlogsumexp(x, 1)),
        normal(5, 20))
    add("cumsum_i32", lambda x: (jnp.cumsum(x), lax.cummin(x)), integers(300))
    add("select_and_scatter", jax.grad(lambda x: (window(x, -np.inf, lax.max, (1, 3, 2), (1, 2, 2), "SAME")**3).sum()),
        normal(2, 9, 8))
    add("batch_norm", lambda x, g, b: (x - x.mean((0, 1))) * lax.rsqrt(x.var((0, 1)) + 1e-5) * g + b, normal(4, 6, 3),
        normal(3), normal(3), factor=4)


def add_movement():
    add(
        "shape_ops", lambda x: (x.reshape(6, 20), x.transpose(2, 0, 1), x[::-1, :, ::-1],
                                jnp.broadcast_to(x[:, None], (4, 2, 5, 6)), jnp.squeeze(x[:1]), jnp.tile(x, 2)),
        normal(4, 5, 6), exact=True)
    add("slices", lambda x: (x[1:7:2, 3:], x[-3:, ::3], x[:, 2], x[5, -1]), normal(8, 9, dtype=ml_dtypes.bfloat16),
        exact=True)
    add("concatenate", lambda x, y: (jnp.concatenate([x, y, x], 1), jnp.stack([x, x], 1), jnp.split(x, 2)[1]),
        integers(4, 3), integers(4, 5))
    add(
        "pad", lambda x: (lax.pad(x, np.float32(7), [(1, 2, 0), (0, -1, 2)]),
                          lax.pad(x, np.float32(-1), [(-1, 3, 1), (2, 0, 0)]), jnp.pad(x, 2, mode="reflect")),
        normal(4, 5), exact=True)
    add(
        "iota", lambda x:
        (jnp.arange(7) + x, lax.broadcasted_iota(jnp.float32,
                                                 (3, 4), 1), jnp.eye(4, dtype=jnp.int8), jnp.tril(jnp.ones(
                                                     (4, 5), bool))), np.int64(3), exact=True)
    add("large_constant", lambda x: x + np.arange(600, dtype=np.int32).reshape(20, 30) * 1234567, integers(20, 30))
    add(
        "float_constants", lambda x:
        (x * 0 + SPECIAL, (SPECIAL * 1e-310), SPECIAL.astype(np.float32) * np.float32(1e-40),
         np.array([1 + 2j, np.nan - 1j, -0.0j]), SPECIAL.astype(ml_dtypes.bfloat16), SPECIAL > 0), SPECIAL, exact=True)
    add(
        "dynamic_slice", lambda x, i, j:
        (lax.dynamic_slice(x, (i, j),
                           (3, 2)), lax.dynamic_slice(x, (j, -i),
                                                      (2, 4)), lax.dynamic_update_slice(x, x[:2, :2] * 2, (j, i))),
        integers(6, 7), np.int32(2), np.int32(40))
    add("dynamic_slice_u8", lambda x, i: lax.dynamic_slice(x, (i, ), (3, )), integers(260), np.uint8(200))
    add("gather_take", lambda x, i: (x[i], jnp.take(x, i, 1, mode="clip"), x[i, i], jnp.take(x, i, 0, mode="fill")),
        normal(8, 9), integers(4, 3, low=-2, high=7), exact=True)
    add("take_along_axis", lambda x, i: (jnp.take_along_axis(x, i, 1), x[:, [2, 0, 5]]), integers(4, 8),
        integers(4, 3, low=0, high=7))
    add("gather_batched", jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3))), normal(5, 6, 7),
        integers(5, low=-1, high=8), exact=True)
    add("scatter_set", lambda x, i: (x.at[i].set(5), x.at[:, i].set(-1), x.at[i, i].set(9, mode="drop")),
        integers(8, 8), np.array([6, 1, 3, 12], np.int32))
    add("scatter_combine", lambda x, i: (x.at[i].add(5), x.at[i].multiply(3), x.at[i].max(100), x.at[:, i].min(7)),
        integers(8, 8), integers(2, 5, low=0, high=9))
    add("scatter_add_f32", lambda x, i, u: x.at[i].add(u), normal(9, 4), integers(30, low=0, high=8), normal(30, 4))
    add("gather_grad", jax.grad(lambda x, i: (x[i]**2).sum()), normal(9, 4), integers(30, low=0, high=8))
    add("segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 6), integers(40), integers(40, low=-1, high=6))
    add("one_hot_bincount", lambda i: (jax.nn.one_hot(i, 5), jnp.bincount(i, length=5)), integers(20, low=0, high=4),
        exact=True)
    add("sort", lambda x, y: (jnp.sort(x, 0), jnp.argsort(y, axis=1), lax.sort(
        (y, x), dimension=1, num_keys=1), -jnp.sort(-x)), normal(7, 8), integers(7, 8, low=0, high=4), exact=True)
    add("sort_special", lambda x: (jnp.sort(x), jnp.argsort(x, descending=True), jnp.unique(x, size=14)),
        SPECIAL.astype(np.float32), exact=True)
    add("sort_two_keys", lambda x, y: lax.sort((x, y, x * y), num_keys=2), integers(50, low=0, high=5),
        integers(50, low=0, high=5))
    add("top_k", lambda x: lax.top_k(x, 5), normal(4, 30), exact=True)
    add("top_k_i32_tpu", lambda x: lax.top_k(x, 3), integers(4, 30, low=0, high=9), platform="tpu")
    add("searchsorted", lambda x, v: (jnp.searchsorted(x, v), jnp.searchsorted(x, v, side="right")),
        np.sort(normal(40)), normal(9))


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
                          (n, 0))


def add_control():
    add("while_collatz", collatz, np.int64(27))
    add("fori", lambda x: lax.fori_loop(0, 6, lambda i, v: v * 2 + i, x), integers(5))
    add("while_batched", jax.vmap(collatz), np.arange(1, 13))
    add("scan_rnn", lambda h, w, xs: lax.scan(lambda h, x: ((h2 := jnp.tanh(h @ w + x)), h2 * 2), h, xs), normal(5),
        normal(5, 5), normal(7, 5), factor=4)
    add("scan_grad", jax.grad(lambda h, xs: lax.scan(lambda h, x: (jnp.sin(h) * x, h), h, xs)[0].sum()), normal(4),
        normal(6, 4), factor=8)
    add("cond", lambda p, x: lax.cond(p > 2, lambda x: (x + 1, x.max()), lambda x: (x * 2, x.min()), x), np.int32(3),
        integers(6))
    add("switch",
        lambda i, x: [lax.switch(k, [lambda x: x, lambda x: -x, lambda x: x * x], x) for k in (i, i + 1, i - 9, i + 9)],
        np.int32(0), integers(6))
    add("nested_calls", jax.jit(lambda x: jax.jit(jnp.sin)(jax.jit(lambda y: y * 3)(x)) + jax.jit(jnp.cos)(x)),
        normal(6))
    add("associative_scan", lambda x: lax.associative_scan(jnp.maximum, x), integers(37))
    add("newton_sqrt", lambda a: lax.while_loop(lambda s: jnp.abs(s * s - a) > 1e-9, lambda s: 0.5 * (s + a / s), a),
        np.float64(7.5))
    add("unused_argument", lambda x, y: x + 1, integers(3), normal(2))
    add("no_arguments", lambda: (jnp.arange(5), jnp.float32(2.5)), exact=True)
    add("same_result_twice", lambda x: (x, x, x + 1), integers(4))
    add("empty", lambda x: (x.sum(0), jnp.concatenate([x, x]), x @ x.T), np.zeros((0, 3), np.float32))


def add_random():
    seed = np.uint32(1234)
    add("threefry_bits", lambda s: jax.random.bits(jax.random.key(s, impl="threefry2x32"), (37, )), seed)
    add(
        "threefry_uniform_normal", lambda s:
        (jax.random.uniform(jax.random.key(s),
                            (20, )), jax.random.normal(jax.random.key(s),
                                                       (21, )), jax.random.randint(jax.random.key(s),
                                                                                   (9, ), -5, 50)), seed)
    add("random_permutation", lambda s:
        (jax.random.permutation(jax.random.key(s), 23), jax.random.split(jax.random.PRNGKey(s), 3)), seed)
    for algorithm in ("three_fry", "philox"):
        kind = getattr(lax.RandomAlgorithm, "RNG_" + algorithm.upper())
        add(
            f"rng_bit_generator_{algorithm}", lambda k, a=kind: tuple(
                lax.rng_bit_generator(k, (11, ), t, algorithm=a)[n] for t in (jnp.uint32, jnp.uint64) for n in (0, 1)),
            np.array([7, 11], np.uint64))
    add("rng_bit_generator_default", lambda k: lax.rng_bit_generator(k, (5, 3)), np.array([1, 2, 3, 4], np.uint32))


def add_devices():
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    spec = jax.sharding.PartitionSpec

    def body(a, b):
        return lax.psum(a @ b, "y"), lax.ppermute(a, "x", [(0, 1), (1, 0)])

    small = integers(4, 8, low=-9, high=9).astype(np.float32), integers(8, 3, low=-9, high=9).astype(np.float32)
    for name, shardy in (("shard_map_shardy", True), ("shard_map_gspmd", False)):
        function = jax.shard_map(body, mesh=mesh, in_specs=(spec("x", "y"), spec("y", None)),
                                 out_specs=(spec("x", None), spec("x", "y")))
        add(name, function, *small, exact=True, platform=("partitions", shardy))


def stored(array):
    """As `lemnos run` reads and writes it: what .npy cannot name becomes bits."""
    array = np.asarray(array)
    if array.dtype.name in ("int4", "int2", "uint4", "uint2"):
        return array.astype(np.uint8 if array.dtype.name[0] == "u" else np.int8)
    if array.dtype.kind == "V" or array.dtype.name.startswith(("bfloat", "float8_", "float6_", "float4_")):
        return array.view(f"u{array.dtype.itemsize}")
    return array


def differ(actual, expected, exact, factor):
    """None, or how actual (as stored) differs from expected (jaxlib's)."""
    want = stored(expected)
    if want is not expected and actual.shape == want.shape and actual.dtype == want.dtype:
        narrow = expected.dtype.name.startswith(("int", "uint"))
        actual = actual.astype(expected.dtype) if narrow else np.ascontiguousarray(actual).view(expected.dtype).reshape(expected.shape)
    return arrays_differ(actual, expected, exact, factor)


def dump(function, args, platform):
    """The HLO module before optimization, with all constants."""
    if isinstance(platform, tuple):  # for 4 partitions, which XLA is told beside the module and notes in its own dumps
        jax.config.update("jax_use_shardy_partitioner", platform[1])
        jax.clear_caches()
        text = jax.jit(function, keep_unused=True).lower(*args).compiler_ir("hlo").as_hlo_text(True)
        jax.config.update("jax_use_shardy_partitioner", True)
        return text.replace(",", ", num_partitions=4,", 1)
    traced = jax.jit(function, keep_unused=True).trace(*args)
    lowered = traced.lower(lowering_platforms=(platform, )) if platform else traced.lower()
    return lowered.compiler_ir("hlo").as_hlo_text(True)


def run(lemnos, device, module, folder, expected, exact, factor):
    """(verdict, reason) of one run."""
    out = os.path.join(folder, f"out-{device.replace(':', '-')}.npz")
    inputs = os.path.join(folder, "in.npz")
    command = [lemnos, "run", module, "--outputs", out, f"--device={device}", "--timeout=120"]
    done = subprocess.run(command + (["--inputs", inputs] if os.path.exists(inputs) else []), capture_output=True,
                          text=True)
    if done.returncode != 0:
        reason = " ".join(done.stderr.split())[:400]
        return ("skipped", reason) if done.returncode == 4 else ("FAILED", f"exit code {done.returncode}: {reason}")
    with np.load(out) as results:
        if len(results.files) != len(expected):
            return "FAILED", f"{len(results.files)} results instead of {len(expected)}"
        for i, want in enumerate(expected):
            reason = differ(results[f"out{i}"], want, exact, factor)
            if reason:
                return "FAILED", f"result {i} ({want.dtype}): {reason}"
    return "passed", ""


def has_cpu(lemnos):
    done = subprocess.run([lemnos, "devices"], capture_output=True, text=True)
    return any(line.startswith("cpu:0") for line in done.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lemnos")
    parser.add_argument("--device", action="append", help="default: interp, and cpu where there is one")
    parser.add_argument("--only", default="", help="only cases whose names contain this")
    parser.add_argument("--keep", help="keep dumps and arrays in this folder")
    options = parser.parse_args()
    for group in (add_elementwise, add_types, add_products, add_reductions, add_movement, add_control, add_random,
                  add_devices):
        group()
    devices = options.device or ["interp"] + ["cpu"] * has_cpu(options.lemnos)
    counts = {"passed": 0, "FAILED": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for name, function, args, exact, factor, platform in CASES:
            if options.only not in name:
                continue
            folder = os.path.join(options.keep or scratch, name)
            os.makedirs(folder, exist_ok=True)
            try:
                expected = [np.asarray(r) for r in jax.tree.leaves(jax.jit(function)(*args))]
                text = dump(function, args, platform)
            except Exception as error:  # whatever this version of JAX does not know
                counts["skipped"] += len(devices)
                print(f"{name}: skipped: jax: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
                continue
            module = os.path.join(folder, "dump.hlo")
            with open(module, "w", encoding="utf-8") as file:
                file.write(text)
            if args:
                np.savez(os.path.join(folder, "in.npz"), **{f"arg{i}": stored(a) for i, a in enumerate(args)})
            for device in devices:
                verdict, reason = run(options.lemnos, device, module, folder, expected, exact, factor)
                counts[verdict] += 1
                if verdict != "passed":
                    print(f"{name} on {device}: {verdict}: {reason}", flush=True)
    print(f"{counts['passed']} passed, {counts['FAILED']} failed, {counts['skipped']} skipped")
    return 1 if counts["FAILED"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
