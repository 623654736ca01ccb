# SPDX-License-Identifier: Apache-2.0
"""Programs with symbolic dimensions for tests/jax_programs.py: exported once, run with several sizes."""
import jax
import jax.numpy as jnp
from jax import lax

from jax_cases import CASES, Case

B = ({"b": 1}, {"b": 4}, {"b": 7})
AB = ({"a": 2, "b": 3}, {"a": 5, "b": 4}, {"a": 8, "b": 6})
EVEN = ({"b": 4}, {"b": 6}, {"b": 10})


def add(name, arguments, function, sizes=B, constraints=(), **options):
    CASES.append(Case("symbolic_" + name, function, arguments, sizes=sizes, constraints=constraints, **options))


def add_shapes():
    add("add", "f32[b,3] f32[3]", lambda x, y: x + y)
    add("two_dims", "f32[a,b] f32[b,a]", lambda x, y: (x @ y, x + y.T, x.sum(0), x.reshape(-1)), AB, factor=4)
    add("reshape_minus_one",
        "f32[b,4,3]",
        lambda x: (x.reshape(x.shape[0], -1), x.reshape(-1, 3), x.reshape(-1)),
        exact=True)
    add("reshape_product", "f32[a,b]", lambda x: (x.reshape(x.shape[1], x.shape[0]), x.reshape(1, -1)), AB, exact=True)
    add("two_b_plus_one", "f32[2*b+1]", lambda x: (x[1:], x[::2], x[:-1].reshape(2, -1)), exact=True)
    add("b_minus_one", "f32[b]", lambda x: (x[1:] - x[:-1], x[:-1]), ({"b": 2}, {"b": 5}), ("b >= 2",))
    add("floordiv", "f32[b]", lambda x: x[:x.shape[0] // 2], B, exact=True)
    add("floordiv_reshape", "f32[b]", lambda x: x.reshape(x.shape[0] // 2, 2), EVEN, ("mod(b, 2) == 0",), exact=True)
    add("max_dim", "f32[b]", lambda x: jnp.pad(x, (0, jax.core.max_dim(x.shape[0], 5) - x.shape[0])), exact=True)
    add("min_dim", "f32[b]", lambda x: x[:jax.core.min_dim(x.shape[0], 3)], exact=True)
    add("mod", "f32[b]", lambda x: jnp.zeros(x.shape[0] % 3 + 1) + x.sum(), factor=4)
    add("arange",
        "f32[b]",
        lambda x: (jnp.arange(x.shape[0]), jnp.arange(2, 2 * x.shape[0] + 2), jnp.arange(0, 3 * x.shape[0], 3)),
        exact=True)
    add("arange_float", "f32[b]", lambda x: jnp.arange(x.shape[0], dtype=jnp.float32) * x)
    add("iota_eye",
        "f32[b,3]",
        lambda x: (lax.broadcasted_iota(jnp.int32, (x.shape[0], 2), 0), jnp.eye(x.shape[0]), jnp.tri(x.shape[0])),
        exact=True)
    add("size_as_value",
        "f32[b]",
        lambda x: (x.sum() / x.shape[0], jnp.array(x.shape[0]) * 2, x.shape[0] + x),
        factor=4)
    add(
        "ones_full", "f32[a,b]", lambda x: (jnp.ones(
            (x.shape[0], 2)), jnp.full(x.shape, 3.0), jnp.zeros((x.shape[0] + x.shape[1],)), jnp.zeros_like(x)), AB)
    add("broadcast",
        "f32[b]",
        lambda x:
        (jnp.broadcast_to(x, (3, x.shape[0])), x[:, None] * x[None, :], jnp.broadcast_to(x[:1], (x.shape[0] + 2,))),
        exact=True)
    add("concat",
        "f32[a,3] f32[b,3]",
        lambda x, y: (jnp.concatenate([x, y]), jnp.concatenate([x, x, y], 0), jnp.concatenate([x, x], 1)),
        AB,
        exact=True)
    add("stack_tile", "f32[b,2]", lambda x: (jnp.stack([x, x]), jnp.tile(x, (2, 3)), jnp.repeat(x, 2, 0)), exact=True)
    add("repeat_tile_size", "f32[b]", lambda x: jnp.tile(x, x.shape[0]), exact=True)
    add("pad",
        "f32[b,3]",
        lambda x: (jnp.pad(x, ((1, 2), (0, 1))), lax.pad(x, 0.0, ((0, x.shape[0], 1), (0, 0, 0)))),
        exact=True)
    add("pad_negative", "f32[b]", lambda x: lax.pad(x, 0.0, ((1, -1, 2),)), exact=True)
    add("slice_stride",
        "f32[b]",
        lambda x: (x[::2], x[1::3], x[::-1], x[-1:]), ({
            "b": 3
        }, {
            "b": 8
        }), ("b >= 3",),
        exact=True)
    add("slice_by_size",
        "f32[a] f32[b]",
        lambda x, y: (x[y.shape[0] - y.shape[0]:], y[:x.shape[0]]), ({
            "a": 2,
            "b": 5
        }, {
            "a": 3,
            "b": 3
        }), ("b >= a",),
        exact=True)
    add("split", "f32[2*b]", lambda x: jnp.split(x, 2), exact=True)
    add("transpose_squeeze",
        "f32[b,1,3]",
        lambda x: (x.transpose(2, 0, 1), jnp.squeeze(x, 1), x[..., None], jnp.flip(x, 0)),
        exact=True)
    add("comparison",
        "f32[a] f32[b]",
        lambda x, y: x.sum() if x.shape[0] >= y.shape[0] else y.sum(), ({
            "a": 3,
            "b": 2
        }, {
            "a": 7,
            "b": 7
        }), ("a >= b",),
        factor=4)
    add("equality",
        "f32[a] f32[b]",
        lambda x, y: x + y[:x.shape[0]], ({
            "a": 3,
            "b": 6
        }, {
            "a": 2,
            "b": 4
        }), ("b == 2*a",),
        factor=4)
    add("linear", "f32[a+b] f32[a] f32[b]", lambda x, y, z: x + jnp.concatenate([y, z]), AB)
    add("square_dim", "f32[b] f32[b*b]", lambda x, y: jnp.outer(x, x) + y.reshape(x.shape[0], x.shape[0]), factor=4)
    add("bf16_int8", "bf16[b] i8[b]", lambda x, y: (x + x, y * 2, x.astype(jnp.int8), y.astype(jnp.bfloat16)))


def add_compute():
    add("softmax", "f32[b,5]", lambda x: (jax.nn.softmax(x, 0), jax.nn.log_softmax(x, 1)), factor=4)
    add("reductions",
        "f32[a,b]",
        lambda x: (x.sum(), x.max(0), x.min(1), jnp.argmax(x, 1), x.mean(0), jnp.var(x, 1), x.prod(0)),
        AB,
        factor=8)
    add("cumulative", "f32[b,3]", lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 0), jnp.cumprod(x, 0)), factor=8)
    add("sort", "f32[b,3]", lambda x: (jnp.sort(x, 0), jnp.argsort(x, 0)), exact=True)
    add("top_k", "f32[3,b]", lambda x: lax.top_k(x, 2), ({"b": 2}, {"b": 7}), ("b >= 2",), exact=True)
    add("top_k_of_size", "f32[b]", lambda x: lax.top_k(x, x.shape[0]), exact=True)
    add("dot", "f32[b,4] f32[4,3]", lambda x, y: (x @ y, x @ x.T, x.T @ x), factor=4)
    add("batched_dot", "f32[b,3,a] f32[b,a,2]", lambda x, y: x @ y, AB, factor=4)
    add("einsum",
        "f32[a,b,3] f32[b,3,2]",
        lambda x, y: (jnp.einsum("abc,bcd->ad", x, y), jnp.einsum("abc->cab", x)),
        AB,
        factor=4)
    add("attention", "f32[b,a,2,4] f32[b,a,2,4] f32[b,a,2,4]", jax.nn.dot_product_attention, AB, factor=8)
    add("attention_causal",
        "f32[b,a,2,4] f32[b,a,2,4] f32[b,a,2,4]",
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        AB,
        factor=8)
    add("conv_batch",
        "f32[b,2,6,6] f32[3,2,3,3]",
        lambda x, k: lax.conv_general_dilated(x, k, (1, 1), "SAME"),
        factor=4)
    add("conv_spatial",
        "f32[1,2,b,a] f32[3,2,3,3]",
        lambda x, k: lax.conv_general_dilated(x, k, (2, 1), "VALID"), ({
            "a": 4,
            "b": 5
        }, {
            "a": 7,
            "b": 9
        }), ("a >= 4", "b >= 4"),
        factor=4)
    add("conv_spatial_same",
        "f32[1,2,b,6] f32[3,2,3,3]",
        lambda x, k: lax.conv_general_dilated(x, k, (2, 1), "SAME"), ({
            "b": 5
        }, {
            "b": 8
        }),
        factor=4)
    add("conv_transpose", "f32[1,b,5,2] f32[3,3,2,4]", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), factor=4)
    add("conv_grad",
        "f32[b,2,6,6] f32[3,2,3,3]",
        jax.grad(lambda x, k: (lax.conv_general_dilated(x, k, (1, 1), "SAME")**2).sum(), (0, 1)),
        factor=32)
    add("pool",
        "f32[b,8,8,2]",
        lambda x:
        (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1),
                           (1, 2, 2, 1), "VALID"), lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1),
                                                                     (1, 1, 1, 1), "SAME")),
        factor=4)
    add("pool_spatial",
        "f32[1,b,8,2]",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 1, 1), "VALID"), ({
            "b": 4
        }, {
            "b": 9
        }), ("b >= 2",),
        factor=4)
    add("pool_grad",
        "f32[b,8,8,2]",
        jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")**2).sum()),
        factor=4)
    add("gather",
        "f32[b,4] i32[a]0..1",
        lambda x, i: (x[i], jnp.take(x, i, 1), x[i, i], jnp.take(x, i, 0, mode="clip"), jnp.take(x, i, 0, mode="fill")),
        ({
            "a": 2,
            "b": 3
        }, {
            "a": 5,
            "b": 2
        }), ("b >= 2",),
        exact=True)
    add("scatter",
        "f32[b,4] i32[a]0..9 f32[a,4]",
        lambda x, i, u: (x.at[i].add(u), x.at[i].set(0.0), x.at[i].max(u, mode="drop")),
        AB,
        factor=4)
    add("dynamic_slice",
        "f32[b,4] i32[]0..9",
        lambda x, i:
        (lax.dynamic_slice(x, (i, 0),
                           (1, 3)), lax.dynamic_index_in_dim(x, i, 0), lax.dynamic_update_slice(x, x[:1], (i, 0))),
        exact=True)
    add("dynamic_slice_size",
        "f32[2*b] i32[]0..9",
        lambda x, i: lax.dynamic_slice_in_dim(x, i, x.shape[0] // 2),
        exact=True)
    add("take_along", "f32[b,6] i32[b,2]0..5", lambda x, i: jnp.take_along_axis(x, i, 1), exact=True)
    add("one_hot", "i32[b]0..4", lambda i: (jax.nn.one_hot(i, 5), jnp.bincount(i, length=5)))
    add("one_hot_size", "i32[b]0..4", lambda i: jax.nn.one_hot(i, i.shape[0]))
    add("segment_sum", "f32[b] i32[b]0..3", lambda x, i: jax.ops.segment_sum(x, i, 4), factor=4)
    add("segment_sum_size", "f32[b] i32[b]0..3", lambda x, i: jax.ops.segment_sum(x, i, x.shape[0]), factor=4)
    add("where_nonzero",
        "f32[b]",
        lambda x: (jnp.where(x > 0, x, 0), jnp.nonzero(x > 0, size=4, fill_value=-1)),
        exact=True)
    add("fft",
        "c64[b,8] f32[b,8]",
        lambda x, y: (jnp.fft.fft(x), jnp.fft.rfft(y), jnp.fft.irfft(jnp.fft.rfft(y))),
        factor=16)
    add("cholesky",
        "f32[b,3,3]",
        lambda x: jnp.linalg.cholesky(x @ x.swapaxes(1, 2) + 3 * jnp.eye(3)),
        factor=128,
        modes=("cpu", "tpu"))
    add("triangular_solve",
        "f32[b,3,3] f32[b,3,2]",
        lambda a, y: lax.linalg.triangular_solve(a + 3 * jnp.eye(3), y, left_side=True, lower=True),
        factor=128)
    add("qr", "f32[b,4,3]", lambda x: jnp.linalg.qr(x)[1], factor=128)
    add("eigh", "f32[b,3,3]", lambda x: jnp.linalg.eigvalsh(x + x.swapaxes(1, 2)), factor=128)
    add("lu", "f32[b,3,3]", lambda x: jnp.linalg.det(x), factor=128)
    add("inv_solve", "f32[b,3,3] f32[b,3,1]", lambda a, y: jnp.linalg.solve(a + 3 * jnp.eye(3), y), factor=128)
    add("svd", "f32[b,4,3]", lambda x: jnp.linalg.svd(x, compute_uv=False), factor=256)
    add("while", "f32[b]", lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2 + s[1].shape[0]),
                                                    (0, x))[1])
    add("fori_size", "f32[b]", lambda x: lax.fori_loop(0, x.shape[0], lambda i, v: v.at[i].add(i * 1.0), x))
    add("scan", "f32[b,3]", lambda x: lax.scan(lambda c, r: (c + r, c * 2), jnp.zeros(3), x), factor=4)
    add("scan_carry", "f32[4,b]", lambda x: lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(x.shape[1]), x), factor=4)
    add("cond", "f32[b] i32[]0..1", lambda x, p: lax.cond(p > 0, lambda v: v * 2, lambda v: -v, x))
    add("switch", "f32[b] i32[]0..2", lambda x, i: lax.switch(i, [lambda v: v, lambda v: v * 2, lambda v: v[::-1]], x))
    add("map", "f32[b,3]", lambda x: lax.map(lambda r: r.sum() * r, x), factor=4)
    add("associative_scan", "f32[8,b]", lambda x: lax.associative_scan(jnp.add, x), factor=8)
    add("vmap", "f32[b,3] f32[3]", jax.vmap(lambda x, w: jnp.dot(x, w) * x, (0, None)), factor=4)
    add("vmap_while", "i32[b]1..9", jax.vmap(lambda n: lax.while_loop(lambda s: s < 40, lambda s: s * 2 + 1, n)))
    add("grad", "f32[b,4] f32[4,2]", jax.grad(lambda x, w: (jnp.tanh(x @ w)**2).sum(), (0, 1)), factor=16)
    add("jvp_jacobian", "f32[b]", lambda x: jax.jvp(lambda v: jnp.sin(v) * v.shape[0], (x,), (x,)), factor=8)
    add("layer_norm",
        "f32[b,a]",
        lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5),
        AB,
        factor=16)
    add("mlp", "f32[b,4] f32[4,8] f32[8,3]", lambda x, w, v: jax.nn.softmax(jax.nn.gelu(x @ w) @ v), factor=16)
    add("random_uniform", "f32[b] u32[]", lambda x, s: x + jax.random.uniform(jax.random.key(s), x.shape), factor=4)
    add("random_normal", "f32[b,3] u32[]", lambda x, s: jax.random.normal(jax.random.key(s), x.shape), factor=16)
    add(
        "random_bits_2b", "f32[b] u32[]", lambda x, s:
        (jax.random.bits(jax.random.key(s),
                         (2 * x.shape[0],)), jax.random.randint(jax.random.key(s), (x.shape[0] + 1,), 0, 9)))
    add("random_split", "f32[b] u32[]",
        lambda x, s: jax.random.key_data(jax.random.split(jax.random.key(s), x.shape[0])))
    add("random_rbg", "f32[b] u32[]", lambda x, s: jax.random.uniform(jax.random.key(s, impl="rbg"), x.shape), factor=4)
    add("image_resize", "f32[b,6,6]", lambda x: jax.image.resize(x, (x.shape[0], 4, 9), "linear"), factor=16)
    add("image_resize_up", "f32[b,3]", lambda x: jax.image.resize(x, (2 * x.shape[0], 3), "nearest"), exact=True)
    add("complex", "c64[b]", lambda x: (jnp.abs(x), x * x, x.real, jnp.conj(x)), factor=8)
    add("bitcast", "f32[b,4]", lambda x:
        (lax.bitcast_convert_type(x, jnp.int32), lax.bitcast_convert_type(x, jnp.uint8)))
    add("median_percentile", "f32[b,3]", lambda x: (jnp.median(x, axis=1), jnp.percentile(x, 25.0, axis=1)), factor=4)
    add("x64", "f64[b] i64[b]", lambda x, i: (x * i, jnp.arange(x.shape[0]), x.sum() / x.shape[0]), x64=True, factor=4)
    add("ragged_mask",
        "f32[b,a] i32[b]0..4",
        lambda x, n: jnp.where(jnp.arange(x.shape[1])[None, :] < n[:, None], x, 0.0),
        AB,
        exact=True)
    add("linspace_interp", "f32[b]", lambda x: jnp.interp(x, jnp.linspace(-2, 2, 6), jnp.arange(6.0)), factor=16)
    add("diff_gradient",
        "f32[b]",
        lambda x: (jnp.diff(x), jnp.cumsum(jnp.diff(x))), ({
            "b": 3
        }, {
            "b": 8
        }), ("b >= 3",),
        factor=16)
    add("erf_special",
        "f32+[b]",
        lambda x: (lax.erf(x), lax.lgamma(x), lax.digamma(x), jnp.arcsinh(x), jnp.cosh(x)),
        factor=64)


def add_all():
    add_shapes()
    add_compute()
