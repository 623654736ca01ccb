# SPDX-License-Identifier: Apache-2.0
"""More programs for tests/jax_programs.py: reductions, data movement, indexing, sorting, control flow, random numbers,
images, derivatives and batching. See jax_cases.py for how they are written."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jax_cases import add

# --- reductions and scans --------------------------------------------------------------------------------------------


def add_reductions():
    for name in "sum prod max min mean var std any all argmax argmin ptp median count_nonzero nansum nanmax nanmin nanmean nanprod".split(
    ):
        function = getattr(jnp, name)
        exact = name in ("max", "min", "nanmax", "nanmin")
        add(f"reduce_{name}_f32", "f32[4,5,6]", lambda x, f=function: (f(x), f(x, 0), f(x, -1)), exact=exact, factor=4)
        add(f"reduce_{name}_i32", "i32[4,5,6]-9..9", lambda x, f=function: (f(x), f(x, 0), f(x, -1)), factor=4)
        if name not in ("median", "ptp"):
            add(f"reduce_{name}_special",
                "f32![2,14]",
                lambda x, f=function: (f(x), f(x, 0), f(x, -1)),
                exact=exact,
                factor=4)
    for t in "bf16 f16 i8 u8 i16 u64 f64 c64 pred".split():
        add(f"reduce_types_{t}",
            f"{t}[4,5]",
            lambda x: (x.sum(0), x.sum(), x.prod(1), (x != 0).any(0)),
            x64=t in ("u64", "f64"),
            factor=1 / 4 if "16" in t else 4)
        if t not in ("c64", "pred"):
            add(f"reduce_extremes_{t}",
                f"{t}[4,5]",
                lambda x: (x.max(0), x.min(), jnp.argmax(x, 1), jnp.sort(x, 0)),
                x64=t in ("u64", "f64"),
                exact=True)
    add("reduce_keepdims",
        "f32[3,4,5]",
        lambda x: (x.sum((0, 2), keepdims=True), x.max((1, 2)), x.mean(
            (0, 1, 2)), jnp.average(x, 0,
                                    jnp.arange(3.0) + 1)),
        factor=64)
    add("reduce_where",
        "f32[3,4] pred[3,4]",
        lambda x, m: (x.sum(1, where=m), x.max(0, where=m, initial=-9.0), x.mean(where=m)),
        factor=4)
    add("reduce_xor", "i32[6,7] u8[5]", lambda x, y:
        (lax.reduce_xor(x, (0,)), lax.reduce_or(x, (1,)), lax.reduce_and(y, (0,))))
    add("reduce_variadic",
        "f32[5,8] i32[5,8]-3..3",
        lambda x, y: lax.reduce((x, y), (jnp.float32(0), jnp.int32(1)), lambda a, b: (a[0] + b[0], a[1] * b[1]), (1,)),
        factor=4)
    add("reduce_custom",
        "f32[5,8]",
        lambda x: lax.reduce(x, jnp.float32(-jnp.inf), lambda a, b: jnp.where(a > b, a, b), (0,)),
        exact=True)
    for name in "cumsum cumprod cummax cummin cumlogsumexp".split():
        function = getattr(lax, name)
        add(f"{name}_f32",
            "f32[5,20]",
            lambda x, f=function: (f(x, 1), f(x, 0, reverse=True)),
            factor=8,
            exact=name in ("cummax", "cummin"))
        if name != "cumlogsumexp":
            add(f"{name}_i32", "i32[5,20]", lambda x, f=function: (f(x, 1), f(x, 0, reverse=True)))
        add(f"{name}_grad", "f32[7]", jax.grad(lambda x, f=function: (f(x, 0)**2).sum()), factor=32)
    add("percentile",
        "f32[5,11]",
        lambda x: (jnp.percentile(x, 30.0), jnp.quantile(x, jnp.array([0.1, 0.9]), axis=1), jnp.nanmedian(x)),
        factor=4)
    add(
        "histogram", "f32[40] i32[40]0..6", lambda x, i:
        (jnp.histogram(x, 8, (-2.0, 2.0)), jnp.bincount(i, length=7), jnp.digitize(x, jnp.linspace(-1, 1, 5))))
    add("cov_corrcoef",
        "f32[3,20]",
        lambda x:
        (jnp.cov(x), jnp.corrcoef(x), jnp.gradient(x, axis=1), jnp.diff(x, 2), jnp.ediff1d(x[0]), jnp.trapezoid(x)),
        factor=16)
    add("interp",
        "f32[9] f32[6]",
        lambda x, y: (jnp.interp(x, jnp.linspace(-2, 2, 6), y), jnp.unwrap(x * 5)),
        factor=16)
    add("empty_reduce", "f32[0,3]", lambda x:
        (x.sum(0), x.prod(0), x.sum(), jnp.concatenate([x, x]), jnp.sort(x, 0), jnp.cumsum(x, 0)))


# --- movement and indexing -------------------------------------------------------------------------------------------


def add_movement():
    for t in "pred i8 u16 i64 bf16 f64 c64 c128 e5m2".split():
        add(f"move_{t}",
            f"{t}[4,5,6]",
            lambda x: (x.reshape(6, 20), x.transpose(2, 0, 1), x[::-1, :, ::-1],
                       jnp.broadcast_to(x[:, None], (4, 2, 5, 6)), jnp.tile(x, (1, 2, 1)), x[1:, ::2, -2:],
                       jnp.concatenate([x, x], 1), jnp.stack([x, x], 1), jnp.where(x == x[::-1], x, x[:1])),
            x64="64" in t or t == "c128",
            exact=True)
        if t != "e5m2":
            add(f"index_{t}",
                f"{t}[8,9] i32[4,3]-2..7",
                lambda x, i:
                (x[i], jnp.take(x, i, 1, mode="clip"), x[i, i], x.at[i].set(x[0, 0]), x.at[0, i].set(x[1, 1])),
                x64="64" in t or t == "c128",
                exact=True)
    add("pad_modes",
        "f32[4,5]",
        lambda x: tuple(
            jnp.pad(x, ((1, 2), (2, 0)), mode=m) for m in ("constant", "edge", "reflect", "symmetric", "wrap")),
        exact=True)
    add("pad_modes_2",
        "f32[4,5]",
        lambda x: tuple(
            jnp.pad(x, 1, mode=m) for m in ("linear_ramp", "maximum", "mean", "minimum", "empty") if m != "empty"),
        factor=2)
    add("pad_lax",
        "f32[4,5]",
        lambda x:
        (lax.pad(x, 7.0, [(1, 2, 0),
                          (0, -1, 2)]), lax.pad(x, -1.0, [(-1, 3, 1),
                                                          (2, 0, 0)]), lax.pad(x, 0.0, [(-2, -2, 1), (0, 0, 0)])),
        exact=True)
    add(
        "roll_flip_rot", "i32[4,5]", lambda x: (jnp.roll(x, 2), jnp.roll(x, -1, 0), jnp.flip(x), jnp.rot90(x),
                                                jnp.fliplr(x), jnp.swapaxes(x, 0, 1), jnp.moveaxis(x[None], 0, 2)))
    add("roll_dynamic", "i32[7] i32[]0..6", lambda x, k: jnp.roll(x, k))
    add("split",
        "f32[6,8]",
        lambda x: (jnp.split(x, 3), jnp.array_split(x, 3, 1), jnp.hsplit(x, [2, 5]), jnp.unstack(x, axis=0)),
        exact=True)
    add(
        "repeat", "i32[3,4]", lambda x:
        (jnp.repeat(x, 2), jnp.repeat(x, jnp.array([1, 0, 3]), axis=0, total_repeat_length=4), jnp.resize(x, (5, 5)),
         jnp.append(x, x), jnp.delete(x, 1, 0), jnp.insert(x, 1, 9, 1)))
    add("make",
        "i32[]3..3",
        lambda n:
        (jnp.arange(7) + n, jnp.eye(4, 5, 1), jnp.tri(4), jnp.linspace(0, 1, 7), jnp.logspace(0, 2, 5),
         jnp.geomspace(1, 64, 4), jnp.full(
             (2, 3), n), jnp.identity(3, jnp.int8), jnp.meshgrid(jnp.arange(3), jnp.arange(2)), jnp.indices(
                 (2, 3)), jnp.hanning(7), jnp.kaiser(5, 3.0)),
        factor=8)
    add("tri",
        "f32[5,6]",
        lambda x:
        (jnp.tril(x), jnp.triu(x, 1), jnp.diagonal(x, 1), jnp.diagflat(x[0]), jnp.fill_diagonal(x, 3.0, inplace=False)),
        exact=True)
    add(
        "dynamic_slice", "i32[6,7] i32[]-9..9 i32[]-9..9", lambda x, i, j:
        (lax.dynamic_slice(x, (i, j), (3, 2)), lax.dynamic_update_slice(x, x[:2, :2] * 2, (j, i)),
         lax.dynamic_index_in_dim(x, i, 1), lax.dynamic_update_index_in_dim(x, x[0], j, 0)))
    add("dynamic_slice_u8", "i32[260] u8[]200..200", lambda x, i: lax.dynamic_slice(x, (i,), (3,)))
    add("dynamic_slice_u32", "i32[9] u32[]4294967290..4294967295", lambda x, i:
        (lax.dynamic_slice(x, (i,), (3,)), lax.dynamic_update_slice(x, x[:2], (i,))))
    add(
        "take_along", "i32[4,8] i32[4,3]-8..9", lambda x, i:
        (jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i, 1, mode="fill"),
         jnp.take_along_axis(x, i, 1, mode="clip"), jnp.put_along_axis(x, i % 8, 7, 1, inplace=False)))
    for mode in ("clip", "fill", "promise_in_bounds", "wrap"):
        span = "0..7" if mode == "promise_in_bounds" else "-12..12"
        add(f"gather_{mode}",
            f"f32[8,9] i32[5]{span} i32[5]{span}",
            lambda x, i, j, m=mode: ((jnp.take(x, i, 0, mode=m), jnp.take(x, j, 1, mode=m))
                                     if m != "promise_in_bounds" else ()) +
            (() if m == "wrap" else
             (x.at[i, j].get(mode=m), x.at[:, j].get(mode=m), x.at[i, None, j].get(mode=m), x.at[i, 2:7].get(mode=m))),
            exact=True)
    for mode in ("clip", "drop", "promise_in_bounds"):
        span = "0..7" if mode == "promise_in_bounds" else "-12..12"
        for op in "add multiply min max".split():
            add(f"scatter_{op}_{mode}",
                f"i32[8,9]-9..9 i32[5]{span} i32[5]{span} i32[5]",
                lambda x, i, j, u, m=mode, o=op: (getattr(x.at[i, j], o)(u, mode=m), getattr(x.at[:, j], o)
                                                  (u, mode=m), getattr(x.at[i, 2:7], o)(u, mode=m)))
        add(f"scatter_set_{mode}",
            f"i32[8,9] i32[]{span} i32[4]",
            lambda x, i, u, m=mode: (x.at[i].set(u[0], mode=m), x.at[i, 2:6].set(u, mode=m), x.at[:, i].set(7, mode=m)))
    add("scatter_apply",
        "f32[8] i32[5]0..7",
        lambda x, i: (x.at[i[0]].apply(jnp.sin), x.at[i[0]].power(2.0), x.at[i].divide(3.0), x.at[2:5].set(0.0)),
        factor=4)
    add("scatter_add_f32", "f32[9,4] i32[30]0..8 f32[30,4]", lambda x, i, u: x.at[i].add(u), factor=4)
    add("scatter_add_bf16",
        "bf16[9] i32[3]0..8 bf16[3]",
        lambda x, i, u: x.at[i].add(u, unique_indices=False),
        factor=1)
    add("scatter_add_c64", "c64[9] i32[12]0..8 c64[12]", lambda x, i, u: x.at[i].add(u), factor=4)
    add("gather_batched",
        "f32[5,6,7] i32[5]-1..8",
        jax.vmap(lambda x, i: lax.dynamic_slice(x, (i, i), (2, 3))),
        exact=True)
    add("scatter_batched",
        "f32[5,6,7] i32[5]-1..8 f32[5,2,3]",
        jax.vmap(lambda x, i, u: lax.dynamic_update_slice(x, u, (i, i))),
        exact=True)
    add("gather_batched_at",
        "f32[5,6] i32[5,3]-7..7 f32[5,3]",
        jax.vmap(lambda x, i, u: (x[i], x.at[i].add(u))),
        factor=4)
    add("segments",
        "f32[40] i32[40]-1..6",
        lambda x, i: (jax.ops.segment_sum(x, i, 6), jax.ops.segment_max(x, i, 6), jax.ops.segment_min(x, i, 6),
                      jax.ops.segment_prod(x, i, 6)),
        factor=4)
    add("boolean_index",
        "f32[9] pred[9]",
        lambda x, m: (jnp.nonzero(m, size=9, fill_value=-1), jnp.argwhere(m, size=9), jnp.where(m, size=4),
                      jnp.compress(m, x, size=9), jnp.extract(m, x, size=9), jnp.flatnonzero(m, size=9)),
        exact=True)
    add("ravel_index", "i32[7]0..23", lambda i:
        (jnp.unravel_index(i, (4, 6)), jnp.ravel_multi_index((i % 4, i % 6), (4, 6), mode="wrap")))
    add("select_n",
        "i32[6]0..2 f32[6] f32[6] f32[6]",
        lambda i, *x:
        (lax.select_n(i, *x), jnp.choose(i, list(x), mode="clip"), jnp.select([i == 0, i == 1], [x[0], x[1]], 5.0),
         jnp.piecewise(x[0], [x[0] < 0, x[0] > 1], [-1.0, lambda v: v * 2, 0.0])),
        exact=True)


def add_sorting():
    for t in "f32 bf16 f16 i8 u8 i32 u32 i64 f64 pred".split():
        add(f"sort_{t}",
            f"{t}[7,8]",
            lambda x:
            (jnp.sort(x, 0), jnp.sort(x, descending=True), jnp.argsort(x, 1), jnp.argsort(x, 0, descending=True)),
            x64="64" in t,
            exact=True)
    for t in "f32 bf16 i32 u8 f16 i8".split():
        add(f"top_k_{t}", f"{t}[4,30]", lambda x: lax.top_k(x, 5), exact=True)
    add("top_k_ties", "i32[4,30]0..4", lambda x: lax.top_k(x, 9))
    add("top_k_special", "f32![14]", lambda x: lax.top_k(x, 7), exact=True)
    add("sort_special",
        "f32![14]",
        lambda x: (jnp.sort(x), jnp.argsort(x, descending=True), jnp.unique(x, size=14), jnp.partition(x, 5)[5]),
        exact=True)
    add("sort_c64", "c64[9]", lambda x: (jnp.sort(x), jnp.argsort(x)), exact=True)
    add(
        "sort_keys", "i32[50]0..5 i32[50]0..5", lambda x, y: (lax.sort(
            (x, y, x * y), num_keys=2), lax.sort((y, x), num_keys=1, is_stable=True), jnp.lexsort((x, y))))
    add("sort_empty_one", "f32[3,0] f32[3,1]", lambda x, y: (jnp.sort(x), jnp.sort(y), jnp.argsort(y)), exact=True)
    for method in ("scan", "scan_unrolled", "sort", "compare_all"):
        add(f"searchsorted_{method}",
            "f32[40] f32[9]",
            lambda x, v, m=method:
            (jnp.searchsorted(jnp.sort(x), v, method=m), jnp.searchsorted(jnp.sort(x), v, side="right", method=m)))
    add(
        "unique", "i32[20]0..6", lambda x:
        (jnp.unique(x, size=8, fill_value=-1),
         jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=7)))
    add(
        "sets", "i32[9]0..9 i32[9]0..9", lambda x, y:
        (jnp.isin(x, y), jnp.union1d(x, y, size=12), jnp.intersect1d(x, y, size=9), jnp.setdiff1d(x, y, size=9),
         jnp.setxor1d(x, y, size=12)))
    add("sort_grad", "f32[9]", jax.grad(lambda x: (jnp.sort(x) * jnp.arange(9.0)).sum()), exact=True)
    add("top_k_grad", "f32[9]", jax.grad(lambda x: (lax.top_k(x, 3)[0]**2).sum()))
    add("argpartition_median", "f32[9]", lambda x: (jnp.median(x), jnp.sort(jnp.argpartition(x, 4)[:4])), exact=True)
    add("approx_max_k", "f32[64]", lambda x: (lax.approx_max_k(x, 3), lax.approx_min_k(x, 3)), exact=True)


# --- control flow, transformations -----------------------------------------------------------------------------------


def collatz(n):
    return lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
                          (n, jnp.int32(0)))


def add_control():
    add("while_collatz", "i32[]27..27", collatz)
    add("while_batched", "i32[12]1..30", jax.vmap(collatz))
    add("fori", "i32[5]", lambda x: lax.fori_loop(0, 6, lambda i, v: v * 2 + i, x))
    add("fori_dynamic", "i32[5] i32[]0..9", lambda x, n: lax.fori_loop(0, n, lambda i, v: v * 2 + i, x))
    add("fori_vmap", "i32[5] i32[5]0..9", jax.vmap(lambda x, n: lax.fori_loop(0, n, lambda i, v: v * 2 + i, x)))
    add("scan_rnn",
        "f32[5] f32[5,5] f32[7,5]",
        lambda h, w, xs: lax.scan(lambda h, x: ((h2 := jnp.tanh(h @ w + x)), h2 * 2), h, xs),
        factor=8)
    add("scan_reverse_unroll",
        "f32[4] f32[9,4]",
        lambda h, xs: lax.scan(lambda h, x: (h * 0.5 + x, h), h, xs, reverse=True, unroll=2),
        factor=4)
    add("scan_grad",
        "f32[4] f32[6,4]",
        jax.grad(lambda h, xs: lax.scan(lambda h, x: (jnp.sin(h) * x, h), h, xs)[0].sum()),
        factor=16)
    add("scan_no_xs", "i32[]0..9", lambda n: lax.scan(lambda c, _: (c * 3 + 1, c), n, None, length=5))
    add("scan_nested",
        "f32[3,4]",
        lambda x: lax.scan(lambda c, r: lax.scan(lambda d, v: (d + v, d), c, r), jnp.float32(0), x),
        factor=4)
    add("cond", "i32[]3..3 i32[6]", lambda p, x: lax.cond(p > 2, lambda x: (x + 1, x.max()), lambda x:
                                                          (x * 2, x.min()), x))
    add("cond_vmap", "pred[6] f32[6]", jax.vmap(lambda p, x: lax.cond(p, jnp.sin, jnp.cos, x)), factor=4)
    add("cond_grad", "f32[]", jax.grad(lambda x: lax.cond(x > 0, lambda v: v**2, lambda v: -v, x)))
    add("switch", "i32[]-3..3 i32[6]",
        lambda i, x: [lax.switch(k, [lambda x: x, lambda x: -x, lambda x: x * x], x) for k in (i, i + 1, i - 9, i + 9)])
    add("switch_vmap", "i32[6]-1..4 f32[6]",
        jax.vmap(lambda i, x: lax.switch(i, [lambda x: x, lambda x: -x, lambda x: x * x], x)))
    add("associative_scan",
        "i32[37] f32[9,2,2]",
        lambda x, m: (lax.associative_scan(jnp.maximum, x), lax.associative_scan(jnp.matmul, m),
                      lax.associative_scan(jnp.add, x, reverse=True)),
        factor=64)
    add("map",
        "f32[7,3]",
        lambda x: (lax.map(lambda r: r.sum() * r, x), lax.map(lambda r: r * 2, x, batch_size=3)),
        factor=4)
    add("newton",
        "f32+[]",
        lambda a: lax.while_loop(lambda s: jnp.abs(s * s - a) > 1e-4, lambda s: 0.5 * (s + a / s), a),
        factor=4)
    add("custom_root",
        "f32+[]",
        lambda a: lax.custom_root(lambda x: x**2 - a, a, lambda f, x: lax.fori_loop(0, 9, lambda _, v: v - f(v) / (
            2 * v), x), lambda g, y: y / g(1.0)),
        factor=8)
    add("custom_jvp_vjp", "f32[5]", jax.grad(lambda x: (jax.nn.relu(x) + jnp.logaddexp(x, 1.0)).sum()), factor=4)
    add("nested_calls",
        "f32[6]",
        lambda x: jax.jit(jnp.sin)(jax.jit(lambda y: y * 3)(x)) + jax.jit(jnp.cos)(x),
        factor=4)
    add("remat", "f32[6]", jax.grad(lambda x: jax.checkpoint(lambda y: jnp.sin(jnp.cos(y)))(x).sum()), factor=4)
    add("barrier_stop", "f32[6]", lambda x: (lax.optimization_barrier(x * 2), lax.stop_gradient(x)), exact=True)
    add("results", "i32[4] f32[2]", lambda x, y: (x, x, x + 1, jnp.zeros((2, 0)), {"b": y, "a": 3}))
    add("composite",
        "f32[5]",
        lambda x: lax.composite(lambda v: jnp.tanh(v) * 2, "my.thing")(x) if hasattr(lax, "composite") else x,
        factor=4)
    mlp = lambda w, v, x: (jnp.tanh(x @ w) @ v).sum()
    add("mlp_grad", "f32[4,5] f32[5,3] f32[7,4]", jax.grad(mlp, (0, 1, 2)), factor=16)
    add("mlp_value_and_grad", "f32[4,5] f32[5,3] f32[7,4]", jax.value_and_grad(mlp), factor=16)
    add("mlp_jvp",
        "f32[4,5] f32[5,3] f32[7,4]",
        lambda w, v, x: jax.jvp(lambda a: mlp(a, v, x), (w,), (jnp.ones_like(w),)),
        factor=32)
    add("mlp_hessian", "f32[3,2] f32[2,2] f32[4,3]", jax.hessian(mlp), factor=64)
    add("jacobians",
        "f32[4]",
        lambda x: (jax.jacfwd(lambda v: jnp.sin(v) * v[0])(x), jax.jacrev(lambda v: jnp.cumsum(v**2))
                   (x), jax.linearize(jnp.tanh, x)[1](x)),
        factor=8)
    add("vjp_vmap",
        "f32[3,4] f32[3,4]",
        jax.vmap(lambda x, y: jax.vjp(lambda a, b: jnp.dot(a, b) * a, x, y)[1](x)),
        factor=8)
    add("vmap_axes", "f32[3,4,5] f32[5,3]", jax.vmap(lambda x, y: x @ y, in_axes=(1, None), out_axes=2), factor=4)
    add("vmap_collective",
        "f32[6]",
        jax.vmap(lambda x: (lax.psum(x, "i"), x / lax.pmax(x, "i"), lax.axis_index("i"), lax.all_gather(x, "i")),
                 axis_name="i"),
        factor=4)
    add("adam_step",
        "f32[5] f32[5] f32[5] f32+[5]",
        lambda p, g, m, v: (lambda m2, v2: (p - 0.1 * (m2 / 0.1) / (jnp.sqrt(v2 / 0.01) + 1e-8), m2, v2))
        (0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2),
        factor=16)
    add("rk4",
        "f32[3]",
        lambda y: lax.fori_loop(
            0, 20, lambda i, y: (lambda f: (lambda k1: (lambda k2: y + 0.05 * k2)(f(y + 0.025 * k1)))(f(y)))
            (lambda v: jnp.stack([-v[1], v[0], v[0] * v[1]])), y),
        factor=64)
    add("ode_kalman",
        "f32[2] f32[6,2]",
        lambda x, zs: lax.scan(lambda s, z: ((s[0] + 0.3 * (z - s[0]), s[1] * 0.7 + 0.1), s[0]),
                               (x, jnp.float32(1)), zs),
        factor=8)
    add("layer_norm_grad",
        "f32[4,6] f32[6] f32[6]",
        jax.grad(
            lambda x, g, b: ((
                (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b)**3).sum(),
            (0, 1, 2)),
        factor=64)
    add("cross_entropy_grad",
        "f32[6,5] i32[6]0..4",
        jax.grad(lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], 1).mean()),
        factor=8)
    add("embedding_grad", "f32[9,4] i32[5]0..8", jax.grad(lambda e, i: (e[i]**2).sum()), factor=4)
    add("lu_grad_det", "f32[3,3]", jax.grad(lambda x: jnp.linalg.det(x)), factor=64)
    add("logsumexp_hessian", "f32[4]", jax.hessian(jax.nn.logsumexp), factor=16)
    add("fft_conv_grad",
        "f32[8] f32[8]",
        jax.grad(lambda x, k: (jnp.fft.irfft(jnp.fft.rfft(x) * jnp.fft.rfft(k), 8)**2).sum(), (0, 1)),
        factor=64)
    add("special_grads",
        "f32+[7]",
        jax.grad(lambda x: (lax.lgamma(x) + lax.erf(x) + lax.digamma(x) + lax.erf_inv(x / 4) + lax.igamma(x, x + 0.5) +
                            lax.bessel_i1e(x)).sum()),
        factor=512)
    add("complex_grad",
        "c64[5]",
        jax.grad(lambda x: (jnp.abs(x)**2 + jnp.sin(x).real).sum(), holomorphic=False),
        factor=16)
    add("x64_mixed",
        "f64[5] i64[5] i32[5] f32[5]",
        lambda a, b, c, d:
        (a + d, b + c, a * c, b.astype(jnp.float32) * d, jnp.arange(3), jnp.float64(1) / 3, b // 7, b % 1000),
        x64=True)


def keys(draw, impl):
    return lambda s: draw(jax.random.key(s, impl=impl))


def add_random():
    r = jax.random
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        short = impl.replace("2x32", "")
        for name, draw in {
                "bits":
                    lambda k: tuple(r.bits(k, (n,), t) for n, t in ((7, "uint32"), (8, "uint8"), (5, "uint16"))),
                "uniform":
                    lambda k: (r.uniform(k, (5, 3)), r.uniform(k, (9,), minval=-2, maxval=3),
                               r.uniform(k, (7,), jnp.bfloat16), r.uniform(k, (7,), jnp.float16)),
                "randint":
                    lambda k: (r.randint(k, (9,), -5, 50), r.randint(k, (4,), 0, 255, jnp.uint8),
                               r.randint(k, (4,), -100, 100, jnp.int8)),
                "split_fold":
                    lambda k: (r.key_data(r.split(k, 4)), r.key_data(r.fold_in(k, 7)), r.key_data(r.split(k, (2, 3)))),
                "permutation":
                    lambda k: (r.permutation(k, 23), r.permutation(k, jnp.arange(12).reshape(4, 3), independent=True),
                               r.choice(k, 9, (5,)), r.choice(k, 9, (5,), replace=False)),
                "bernoulli":
                    lambda k:
                    (r.bernoulli(k, 0.3, (20,)), r.rademacher(k, (20,)), r.categorical(k, jnp.arange(5.0), shape=(9,)))
        }.items():
            add(f"random_{short}_{name}", "u32[]", keys(draw, impl), factor=4)
    for name, draw in {
            "normal": lambda k: (r.normal(k, (21,)), r.normal(k, (5,), jnp.bfloat16), r.normal(k, (5,), jnp.complex64)),
            "truncated": lambda k: r.truncated_normal(k, -1, 2, (9,)),
            "exponential": lambda k: r.exponential(k, (9,)),
            "laplace": lambda k: r.laplace(k, (9,)),
            "gumbel": lambda k: r.gumbel(k, (9,)),
            "cauchy": lambda k: r.cauchy(k, (9,)),
            "logistic": lambda k: r.logistic(k, (9,)),
            "gamma": lambda k: r.gamma(k, 2.5, (9,)),
            "beta": lambda k: r.beta(k, 2.0, 3.0, (9,)),
            "dirichlet": lambda k: r.dirichlet(k, jnp.ones(4), (3,)),
            "poisson": lambda k: r.poisson(k, 3.5, (9,)),
            "t": lambda k: r.t(k, 4.0, (9,)),
            "chisquare": lambda k: r.chisquare(k, 3.0, shape=(9,)),
            "binomial": lambda k: r.binomial(k, 10, 0.3, (9,)),
            "geometric": lambda k: r.geometric(k, 0.3, (9,)),
            "pareto": lambda k: r.pareto(k, 3.0, (9,)),
            "rayleigh": lambda k: r.rayleigh(k, 2.0, (9,)),
            "weibull": lambda k: r.weibull_min(k, 1.0, 2.0, (9,)),
            "maxwell": lambda k: r.maxwell(k, (9,)),
            "wald": lambda k: r.wald(k, 1.5, (9,)),
            "triangular": lambda k: r.triangular(k, 0.0, 0.5, 1.0, (9,)),
            "loggamma": lambda k: r.loggamma(k, 2.5, (9,)),
            "ball": lambda k: r.ball(k, 3, shape=(4,)),
            "orthogonal": lambda k: jnp.abs(r.orthogonal(k, 3)),
            "multivariate": lambda k: r.multivariate_normal(k, jnp.zeros(3), jnp.eye(3) * 2.0, (4,), method="cholesky"),
            "lognormal": lambda k: r.lognormal(k, shape=(5,)),
            "multinomial": lambda k: r.multinomial(k, 10.0, jnp.array([0.2, 0.3, 0.5]))
    }.items():
        add(f"random_{name}", "u32[]", keys(draw, "threefry2x32"), factor=128)
    add("random_x64",
        "u32[]",
        keys(
            lambda k: (r.uniform(k, (5,), jnp.float64), r.normal(k, (5,), jnp.float64), r.bits(k, (5,), jnp.uint64),
                       r.randint(k, (5,), 0, 2**40, jnp.int64)), "threefry2x32"),
        x64=True,
        factor=16)
    add("random_vmap", "u32[3]", jax.vmap(keys(lambda k: (r.uniform(k, (4,)), r.normal(k)), "threefry2x32")), factor=8)
    add("random_old_key", "u32[]", lambda s: (r.PRNGKey(s), r.uniform(r.PRNGKey(s), (4,)), r.split(r.PRNGKey(s))))
    for algorithm in ("three_fry", "philox", "default"):
        kind = getattr(lax.RandomAlgorithm, "RNG_" + algorithm.upper())
        for shape in ((11,), (4, 6), (3, 5), ()):
            add(f"bits_{algorithm}_{len(shape)}_{sum(shape)}",
                "u64[2]",
                lambda k, a=kind, s=shape:
                [lax.rng_bit_generator(k, s, t, algorithm=a) for t in (jnp.uint32, jnp.uint64, jnp.uint8, jnp.uint16)],
                x64=True)
    add("bits_u32_state", "u32[4]", lambda k: lax.rng_bit_generator(k, (5, 3)))


def add_image():
    for method in "nearest linear cubic lanczos3 lanczos5".split():
        for size in ((5, 7), (12, 13), (3, 20)):
            add(f"image_{method}_{size[0]}_{size[1]}",
                "f32[8,9]",
                lambda x, m=method, s=size: jax.image.resize(x, s, m),
                factor=16,
                exact=method == "nearest")
    add("image_no_antialias",
        "f32[8,9,3]",
        lambda x: jax.image.resize(x, (4, 5, 3), "linear", antialias=False),
        factor=16)
    add("image_scale",
        "f32[8,9]",
        lambda x: jax.image.scale_and_translate(x, (6, 7),
                                                (0, 1), jnp.array([0.7, 1.2]), jnp.array([0.1, -0.3]), "cubic"),
        factor=16)
    add("image_grad", "f32[4,5]", jax.grad(lambda x: (jax.image.resize(x, (7, 3), "cubic")**2).sum()), factor=32)
    add("image_bf16", "bf16[8,9]", lambda x: jax.image.resize(x, (4, 12), "linear"), factor=1)


def add_all():
    for group in (add_reductions, add_movement, add_sorting, add_control, add_random, add_image):
        group()
