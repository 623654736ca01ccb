# SPDX-License-Identifier: Apache-2.0
"""Small JAX programs for tests/jax_programs.py: what they compute, on which arguments, how exactly it must agree.

A program is add(name, arguments, function, ...). Arguments are written "f32[2,3] i32[4]0..7 f32+[5]": element type
(+: positive, !: special values such as infinities), sizes, and a range for integers. Each program has random numbers of
its own, drawn from its name.
"""
import dataclasses
import re
import zlib

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from jax.scipy import linalg as jsl
from jax.scipy import ndimage as jsn
from jax.scipy import signal as jss
from jax.scipy import special as jsp
from jax.scipy import stats as jst

TYPES = {
    "pred": "bool",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "c128": "complex128",
    "i2": "int2",
    "u2": "uint2",
    "i4": "int4",
    "u4": "uint4",
    "e4m3fn": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3b11fnuz": "float8_e4m3b11fnuz",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e3m4": "float8_e3m4",
    "e8m0fnu": "float8_e8m0fnu",
    "e2m1fn": "float4_e2m1fn"
}
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -3.5, 0.5, 1e-3, -77.5, 0.1, 4.0]
ARGUMENT = re.compile(r"(?P<type>\w+)(?P<kind>[+!]?)\[(?P<dims>[^\]]*)\](?:(?P<low>-?\d+)\.\.(?P<high>-?\d+))?$")


@dataclasses.dataclass
class Case:
    name: str
    function: object
    arguments: str
    exact: bool = False  # floats bit for bit
    factor: float = 1  # on the tolerance
    x64: bool = False
    modes: tuple = ("cpu", "tpu")  # the platforms it is lowered for
    sizes: tuple = ()  # symbolic programs: a dictionary of dimension variables for each run
    constraints: tuple = ()


CASES = []


def add(name, arguments, function, **options):
    CASES.append(Case(name, function, arguments, **options))


def named_dtype(name):
    name = TYPES.get(name, name.replace("u", "uint") if name[0] == "u" else name.replace("i", "int"))
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


def make_argument(rng, spec, sizes=None):
    """The array of one argument; sizes give values to the variables of its dimensions."""
    m = ARGUMENT.match(spec)
    if not m:
        raise ValueError(f"argument {spec!r}")
    dtype = named_dtype(m["type"])
    shape = tuple(
        int(eval(d, {
            "max": max,
            "min": min
        }, dict(sizes or {})))  # pylint: disable=eval-used
        for d in m["dims"].split(",")
        if d.strip())
    if dtype.name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu" or dtype.name in ("int2", "uint2", "int4", "uint4"):
        info = ml_dtypes.iinfo(dtype)
        low = int(info.min if m["low"] is None else m["low"])
        high = int(info.max if m["high"] is None else m["high"])
        wide = np.uint64 if high > 2**63 - 1 else np.int64
        return rng.integers(low, high, shape, dtype=wide, endpoint=True).astype(dtype)
    if m["kind"] == "!":
        values = np.resize(np.array(SPECIAL), shape)
    else:
        values = rng.uniform(0.1, 3, shape) if m["kind"] == "+" else rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * (rng.uniform(0.1, 3, shape) if m["kind"] else rng.standard_normal(shape))
    return np.asarray(values).astype(dtype)


def make_arguments(case, sizes=None):
    rng = np.random.default_rng(zlib.crc32(case.name.encode()))
    return [make_argument(rng, spec, sizes) for spec in case.arguments.split()]


def positive_definite(x):
    return x @ x.swapaxes(-1, -2).conj() + x.shape[-1] * jnp.eye(x.shape[-1], dtype=x.dtype)


# --- elementwise -----------------------------------------------------------------------------------------------------

UNARY_ANY = ("sin cos tan tanh sinh cosh exp expm1 arctan arcsinh cbrt square abs sign negative floor ceil rint round "
             "trunc exp2 deg2rad isnan isfinite signbit fabs reciprocal").split()
UNARY_POSITIVE = "log log2 log10 log1p sqrt".split()
EXACT = set("square abs sign negative floor ceil rint round trunc isnan isfinite signbit fabs".split())
BINARY = ("add subtract multiply divide maximum minimum arctan2 fmod mod remainder floor_divide hypot logaddexp "
          "logaddexp2 copysign nextafter less equal fmax fmin heaviside").split()
BINARY_EXACT = set(
    "add subtract multiply divide maximum minimum copysign nextafter less equal fmax fmin heaviside".split())
INTEGER = ("add subtract multiply floor_divide remainder maximum minimum bitwise_and bitwise_or bitwise_xor left_shift "
           "right_shift less greater_equal not_equal gcd").split()


def add_elementwise():
    for name in UNARY_ANY:
        function = getattr(jnp, name)
        add(f"np_{name}_f32", "f32[23]", function, exact=name in EXACT)
        add(f"np_{name}_f64", "f64[23]", function, exact=name in EXACT, x64=True)
        for t in ("f16", "bf16"):
            add(f"np_{name}_{t}", f"{t}[23]", function, exact=name in EXACT, factor=1 / 8)
        add(f"np_{name}_special", "f32![14]", function, exact=name in EXACT)
    for name in UNARY_POSITIVE:
        function = getattr(jnp, name)
        for t in ("f32", "f64", "bf16"):
            add(f"np_{name}_{t}", f"{t}+[23]", function, x64=t == "f64", factor=1 / 8 if t == "bf16" else 1)
        add(f"np_{name}_special", "f32![14]", function)
    for name in "arcsin arccos arctanh sinc i0".split():
        add(f"np_{name}", "f32[23]", lambda x, f=getattr(jnp, name): f(x / 4), factor=4)
    for name in BINARY:
        function = getattr(jnp, name)
        add(f"np_{name}_f32", "f32[19] f32[19]", function, exact=name in BINARY_EXACT, factor=2)
        add(f"np_{name}_bf16", "bf16[19] bf16[19]", function, exact=name in BINARY_EXACT, factor=1)
        add(f"np_{name}_special",
            "f32![14] f32[14]",
            lambda x, y, f=function: f(x, x[::-1]),
            exact=name in BINARY_EXACT,
            factor=2)
    for name in INTEGER:
        function = getattr(jnp, name)
        for t in "i8 u8 i16 u16 i32 u32 i64 u64".split():
            # jnp.gcd does not end for the least value of a signed type.
            add(f"np_{name}_{t}", f"{t}[29]{'0..99' if name == 'gcd' else ''} {t}[29]1..7", function, x64="64" in t)
    for t in "i2 u2 i4 u4".split():
        add(
            f"small_{t}", f"{t}[16] {t}[16]", lambda x, y:
            (x + y, x - y, x * y, x & y, x | y, x ^ y, ~x, x < y, x == y, jnp.maximum(x, y), jnp.minimum(x, y), -x))
        add(f"small_convert_{t}", f"{t}[16]",
            lambda x: tuple(x.astype(k) for k in ("int8", "float32", "uint32", "bool")))
        if "2" in t:  # XLA's CPU client ends the process (ir_array.cc) where it moves elements of two bits
            continue
        add(f"small_move_{t}", f"{t}[4,6]", lambda x:
            (x.T, x[1:3, ::2], jnp.concatenate([x, x], 1), x.reshape(8, 3), x[::-1], jnp.pad(x, 1)))
    for t in "e4m3fn e5m2 e4m3b11fnuz e4m3fnuz e5m2fnuz e3m4".split():
        add(f"f8_convert_{t}",
            f"{t}[32] f32[32]",
            lambda x, y, t=t: (x.astype("float32"), y.astype(x.dtype), x.astype("bfloat16"), (y * 100).astype(x.dtype)),
            exact=True)
        add(f"f8_move_{t}", f"{t}[4,6]", lambda x: (x.T, x[1:3, ::2], jnp.concatenate([x, x], 1), x[::-1]), exact=True)
    for t in "e4m3fn e5m2".split():
        add(f"f8_arithmetic_{t}", f"{t}[32] {t}[32]", lambda x, y: (x + y, x * y, x - y, -x, abs(x)), exact=True)
        add(f"f8_dot_{t}", f"{t}[4,8] {t}[8,5]",
            lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32))
    add("f4_convert", "e2m1fn[24] f32[24]", lambda x, y: (x.astype("float32"), y.astype(x.dtype)), exact=True)
    add("f8_e8m0", "e8m0fnu[9] f32+[9]", lambda x, y: (x.astype("float32"), y.astype(x.dtype)), exact=True)
    for t in ("c64", "c128"):
        wide = t == "c128"
        for name in "exp log sqrt sin cos tan sinh cosh tanh expm1 log1p square abs angle conj reciprocal sign".split():
            add(f"complex_{name}_{t}", f"{t}[17]", getattr(jnp, name), factor=8, x64=wide)
        add(f"complex_arithmetic_{t}",
            f"{t}[11] {t}[11]",
            lambda x, y: (x + y, x - y, x * y, x / y, x**y, x**3, x == y, x.real, x.imag),
            factor=8,
            x64=wide)
        add(f"complex_inverse_{t}",
            f"{t}[11]",
            lambda x: (jnp.arcsinh(x), jnp.arccosh(x), jnp.arctanh(x / 4)),
            factor=32,
            x64=wide)
        add(f"complex_reduce_{t}",
            f"{t}[4,6]",
            lambda x: (x.sum(1), x.prod(0), x.mean(), jnp.cumsum(x, 1)),
            factor=8,
            x64=wide)
    add("clip_where",
        "f32[31]",
        lambda x: (jnp.clip(x, -0.5, 0.7), jnp.where(x > 0, x, 0), lax.clamp(-1.0, x, 1.0)),
        exact=True)
    add("power", "f32+[17] f32[17]", lambda x, y: (x**y, x**2.5, x**-1, x**7), factor=4)
    add("power_i32", "i32[17]-5..5 i32[17]0..6", lambda x, y: (x**y, x**3))
    add("float_power", "f32+[17] f32[17]", jnp.float_power, factor=4)
    add("divmod_modf_frexp", "f32[17] f32[17]", lambda x, y: (jnp.divmod(x, y), jnp.modf(x), jnp.frexp(x)), factor=2)
    add("ldexp", "f32[17] i32[17]-9..9", jnp.ldexp, exact=True)
    add(
        "bits", "i32[17] u8[17]", lambda x, y: (lax.population_count(x), lax.clz(x), jnp.bitwise_count(y),
                                                lax.shift_right_arithmetic(x, 3), lax.shift_right_logical(x, 3)))
    add("packbits", "pred[5,19]", lambda x: (jnp.packbits(x, axis=1), jnp.packbits(x, bitorder="little")))
    add("unpackbits", "u8[5,3]", lambda x: jnp.unpackbits(x, axis=1))
    add("bitcast", "f32[3,4] u8[3,8]", lambda x, y:
        (x.view("int32"), x.view("uint16"), y.view("uint32"), y.view("int16")))
    add("bitcast_u4", "u8[6]", lambda x: lax.bitcast_convert_type(x, jnp.uint4))
    add("reduce_precision",
        "f32[40]",
        lambda x: (lax.reduce_precision(x, 5, 10), lax.reduce_precision(x, 4, 3)),
        exact=True)
    add("mulhi", "u32[9] u32[9]", lax.mulhi) if hasattr(lax, "mulhi") else None
    add("logic", "pred[9] pred[9]", lambda x, y: (x & y, x | y, x ^ y, ~x, jnp.logical_xor(x, y), x < y, x.sum()))
    add("convert_all",
        "f32[31]",
        lambda x: tuple((x * 40).astype(t)
                        for t in ("float16", "bfloat16", "int8", "uint8", "int16", "int32", "bool", "complex64")),
        exact=True)
    add("convert_f64",
        "f64[31]",
        lambda x: tuple(
            (x * 1e4).astype(t) for t in ("float16", "bfloat16", "float32", "int64", "uint16", "bool", "complex128")),
        exact=True,
        x64=True)
    add("nan_to_num", "f32![14]", lambda x: (jnp.nan_to_num(x), jnp.isposinf(x), jnp.isneginf(x), jnp.isclose(x, x)))


# --- jax.nn and jax.scipy ---------------------------------------------------------------------------------------------


def add_nn():
    for name in (
            "relu relu6 sigmoid softplus soft_sign silu log_sigmoid leaky_relu hard_sigmoid hard_silu hard_tanh elu "
            "celu selu gelu mish squareplus sparse_plus sparse_sigmoid tanh").split():
        if not hasattr(jax.nn, name):
            continue
        function = getattr(jax.nn, name)
        add(f"nn_{name}", "f32[29]", function, factor=4)
        add(f"nn_{name}_bf16", "bf16[29]", function, factor=1 / 2)
        add(f"nn_{name}_grad", "f32[29]", jax.grad(lambda x, f=function: (f(x)**2).sum()), factor=8)
    add("nn_softmax",
        "f32[5,11]",
        lambda x: (jax.nn.softmax(x), jax.nn.log_softmax(x, 0), jax.nn.logsumexp(x, 1)),
        factor=4)
    add("nn_softmax_where", "f32[5,11] pred[5,11]", lambda x, m: jax.nn.softmax(x, where=m), factor=4)
    add("nn_standardize", "f32[5,11]", jax.nn.standardize, factor=8)
    add("nn_glu", "f32[5,12]", jax.nn.glu, factor=4)
    add("nn_one_hot", "i32[9]-1..5", lambda i: (jax.nn.one_hot(i, 5), jax.nn.one_hot(i, 4, dtype=jnp.bfloat16, axis=0)))
    add("nn_attention", "f32[2,5,4,8] f32[2,7,4,8] f32[2,7,4,8]", jax.nn.dot_product_attention, factor=8)
    add("nn_attention_causal",
        "f32[2,6,4,8] f32[2,6,2,8] f32[2,6,2,8]",
        lambda q, k, v: jax.nn.dot_product_attention(q, k, v, is_causal=True),
        factor=8)
    add("nn_attention_grad",
        "f32[1,4,2,4] f32[1,4,2,4] f32[1,4,2,4]",
        jax.grad(lambda q, k, v: (jax.nn.dot_product_attention(q, k, v)**2).sum(), (0, 1, 2)),
        factor=32)


def add_special():
    for name in "erf erfc erfinv ndtr log_ndtr ndtri expit logit i0 i0e i1 i1e entr".split():
        span = {"erfinv": (0.3, 0), "ndtri": (0.15, 0.5), "logit": (0.15, 0.5), "entr": (0.1, 1)}
        scale, shift = span.get(name, (1, 0))
        add(f"special_{name}",
            "f32[31]",
            lambda x, f=getattr(jsp, name), a=scale, b=shift: f(jnp.clip(x, -2.9, 2.9) * a + b),
            factor=32)
    for name in "gammaln digamma gamma factorial".split():
        add(f"special_{name}", "f32+[31]", getattr(jsp, name), factor=32)
    add("special_gammaln_negative", "f32+[31]", lambda x: (lax.lgamma(-x - 0.05), lax.digamma(-x * 1.01)), factor=128)
    add("special_betaln", "f32+[17] f32+[17]", lambda x, y: (jsp.betaln(x, y), jsp.beta(x, y)), factor=64)
    add("special_xlogy",
        "f32[17] f32+[17]",
        lambda x, y: (jsp.xlogy(x, y), jsp.xlog1py(x, y), jsp.kl_div(y, y + 1), jsp.rel_entr(y, y * 2)),
        factor=8)
    add("special_gammainc", "f32+[17] f32+[17]", lambda a, x: (jsp.gammainc(a, x), jsp.gammaincc(a, x)), factor=256)
    add("special_betainc", "f32+[9] f32+[9] f32+[9]", lambda a, b, x: jsp.betainc(a, b, x / 3.1), factor=512)
    add("special_zeta", "f32+[9] f32+[9]", lambda x, q: jsp.zeta(x + 1.5, q), factor=32)
    add("special_polygamma", "f32+[9]", lambda x: (jsp.polygamma(1, x), jsp.polygamma(2, x)), factor=128)
    add("special_multigammaln", "f32+[9]", lambda x: jsp.multigammaln(x + 2, 2), factor=64)
    add("special_logsumexp",
        "f32[4,9]",
        lambda x: (jsp.logsumexp(x, 1), jsp.logsumexp(x, 0, b=x**2), jsp.softmax(x)),
        factor=4)
    add("special_exp1", "f32+[9]", lambda x: (jsp.exp1(x), jsp.expi(x), jsp.expn(2, x)), factor=64)
    add("special_spence", "f32+[9]", jsp.spence, factor=32)
    add("special_sph_harm", "f32+[1]", lambda x: jsp.poch(x, 1.5), factor=128)
    add("special_bernoulli", "f32+[1]", lambda x: x * jsp.bernoulli(8)[2])
    add("special_hyp1f1", "f32+[5] f32+[5] f32+[5]", jsp.hyp1f1, factor=256)
    add("special_f64",
        "f64+[17]",
        lambda x: (lax.lgamma(x), lax.digamma(x), lax.erf(x), lax.erfc(x), lax.bessel_i1e(x)),
        x64=True,
        factor=64)
    add("stats_norm",
        "f32[11] f32[11] f32+[11]",
        lambda x, m, s: (jst.norm.pdf(x, m, s), jst.norm.logpdf(x, m, s), jst.norm.cdf(x, m, s), jst.norm.sf(x)),
        factor=16)
    for name, call in {
            "beta": lambda x: jst.beta.logpdf(x / 3.1, 2.0, 3.0),
            "gamma": lambda x: jst.gamma.logpdf(x, 2.5),
            "expon": lambda x: jst.expon.logpdf(x),
            "cauchy": lambda x: (jst.cauchy.logpdf(x), jst.cauchy.cdf(x)),
            "t": lambda x: jst.t.logpdf(x, 4.0),
            "chi2": lambda x: (jst.chi2.logpdf(x, 3.0), jst.chi2.cdf(x, 3.0)),
            "laplace": lambda x: (jst.laplace.logpdf(x), jst.laplace.cdf(x)),
            "logistic": jst.logistic.logpdf,
            "pareto": lambda x: jst.pareto.logpdf(x + 1, 2.0),
            "uniform": lambda x: jst.uniform.logpdf(x, 0.0, 2.0),
            "truncnorm": lambda x: jst.truncnorm.logpdf(x, -1.0, 2.0),
            "gennorm": lambda x: jst.gennorm.logpdf(x, 1.5),
            "vonmises": lambda x: jst.vonmises.logpdf(x, 1.2)
    }.items():
        add(f"stats_{name}", "f32+[11]", call, factor=128)
    add("stats_poisson", "i32[11]0..9", lambda k: (jst.poisson.logpmf(k, 2.5), jst.poisson.cdf(k, 2.5)), factor=128)
    add("stats_binom",
        "i32[11]0..9",
        lambda k: (jst.binom.logpmf(k, 10, 0.3), jst.nbinom.logpmf(k, 5, 0.4), jst.geom.logpmf(k + 1, 0.3),
                   jst.bernoulli.logpmf(k % 2, 0.3)),
        factor=128)
    add("stats_multivariate",
        "f32[5,3] f32[3]",
        lambda x, m: jst.multivariate_normal.logpdf(x, m,
                                                    jnp.eye(3) * 2.0),
        factor=64)
    add("stats_dirichlet", "f32+[4]", lambda a: jst.dirichlet.logpdf(jnp.full(4, 0.25), a), factor=64)
    add("stats_rank_mode", "f32[13] i32[13]0..4", lambda x, i: (jst.rankdata(x), jst.mode(i), jst.sem(x)), factor=8)
    add("stats_kde", "f32[2,12] f32[2,5]", lambda d, x: jst.gaussian_kde(d).evaluate(x), factor=256)
    add("signal_convolve",
        "f32[13] f32[5]",
        lambda x, y: (jss.convolve(x, y), jss.correlate(x, y, mode="same"), jnp.convolve(x, y, mode="valid")),
        factor=4)
    add("signal_convolve2d",
        "f32[7,9] f32[3,2]",
        lambda x, y: (jss.convolve2d(x, y), jss.correlate2d(x, y, mode="same")),
        factor=4)
    add("signal_fftconvolve", "f32[13] f32[5]", jss.fftconvolve, factor=32)
    add("signal_detrend", "f32[20]", jss.detrend, factor=64)
    add("signal_stft", "f32[64]", lambda x: jss.stft(x, nperseg=16), factor=32)
    add("signal_istft", "f32[9,9]", lambda x: jss.istft(x.astype("complex64"), nperseg=16)[1], factor=64)
    add("signal_welch", "f32[64]", lambda x: jss.welch(x, nperseg=16), factor=64)
    add("ndimage_map",
        "f32[5,6] f32+[7] f32+[7]",
        lambda x, i, j: (jsn.map_coordinates(x, [i, j], 1), jsn.map_coordinates(x, [i * 3, j], 0, mode="wrap")),
        factor=4)


# --- products, convolutions, transforms ------------------------------------------------------------------------------


def add_products():
    for spec, shapes in {
            "ij,jk->ik": "f32[4,5] f32[5,6]",
            "bij,bjk->bik": "f32[3,4,5] f32[3,5,2]",
            "ij,ij->": "f32[4,5] f32[4,5]",
            "ii->i": "f32[5,5]",
            "ij->ji": "f32[4,5]",
            "ii->": "f32[5,5]",
            "i,j->ij": "f32[4] f32[5]",
            "abc,cd,de->abe": "f32[2,3,4] f32[4,5] f32[5,2]",
            "bhqd,bhkd->bhqk": "f32[2,3,4,5] f32[2,3,6,5]",
            "...i,...i->...": "f32[2,3,4] f32[2,3,4]",
            "ijk,jil->kl": "f32[3,4,5] f32[4,3,2]",
            "ab,ab->ab": "f32[3,4] f32[3,4]",
            "iij,jk->ik": "f32[3,3,4] f32[4,2]"
    }.items():
        add("einsum_" + re.sub(r"\W+", "_", spec), shapes, lambda *x, s=spec: jnp.einsum(s, *x), factor=2)
    for t in "bf16 f16 f64 i8 i32 u8 c64 i64".split():
        add(f"matmul_{t}",
            f"{t}[5,7] {t}[7,3]",
            lambda x, y: (x @ y, x[0] @ y, jnp.dot(x, y[:, 0])),
            x64="64" in t and t != "c64",
            factor=1 / 4 if t in ("bf16", "f16") else 4)
    add("dot_i8_i32", "i8[5,9] i8[9,4]",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32))
    add("dot_bf16_f32", "bf16[5,9] bf16[9,4]",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32))
    add("dot_mixed", "f32[5,9] bf16[9,4]", lambda x, y: jnp.dot(x, y), factor=4)
    add("dot_algorithm", "f32[5,9] f32[9,4]",
        lambda x, y: lax.dot_general(x, y, (((1,), (0,)), ((), ())), precision="F32_F32_F32"))
    add("dot_empty", "f32[3,0] f32[0,4]", lambda x, y: x @ y)
    add("tensordot_inner_outer",
        "f32[3,4,5] f32[4,5,2]",
        lambda x, y: (jnp.tensordot(x, y), jnp.vdot(x, x), jnp.outer(x[0, 0], x[1, 0]), jnp.inner(x, x[0]),
                      jnp.kron(x[0], x[1]), jnp.cross(x[0, :, :3], x[1, :, :3])),
        factor=4)
    if hasattr(lax, "ragged_dot"):
        add("ragged_dot",
            "f32[8,5] f32[3,5,4]",
            lambda x, y: lax.ragged_dot(x, y, jnp.array([3, 0, 5], jnp.int32)),
            factor=4)
    conv = lax.conv_general_dilated
    for name, shapes, call in (
        ("same", "f32[2,3,9,8] f32[4,3,3,3]", lambda x, k: conv(x, k, (1, 1), "SAME")),
        ("stride", "f32[2,3,9,8] f32[4,3,3,2]", lambda x, k: conv(x, k, (2, 3), "VALID")),
        ("pad", "f32[1,2,6,5] f32[3,2,3,2]", lambda x, k: conv(x, k, (1, 2), [(2, -1), (0, 3)])),
        ("lhs_dilation", "f32[1,2,5,5] f32[3,2,3,3]",
         lambda x, k: conv(x, k, (1, 1), [(2, 2), (1, 2)], lhs_dilation=(2, 3))),
        ("rhs_dilation", "f32[1,2,9,9] f32[3,2,3,3]",
         lambda x, k: conv(x, k, (1, 1), "SAME", rhs_dilation=(2, 2))),
        ("both_dilations", "f32[1,2,5,6] f32[3,2,2,3]",
         lambda x, k: conv(x, k, (2, 1), [(1, 1), (2, 0)], lhs_dilation=(2, 1), rhs_dilation=(1, 2))),
        ("groups", "f32[2,6,7,7] f32[9,2,3,3]", lambda x, k: conv(x, k, (1, 1), "SAME", feature_group_count=3)),
        ("depthwise", "f32[2,4,6,6] f32[8,1,3,3]", lambda x, k: conv(x, k, (1, 1), "VALID", feature_group_count=4)),
        ("batch_groups", "f32[4,3,7,7] f32[6,3,3,3]", lambda x, k: conv(x, k, (1, 1), "SAME", batch_group_count=2)),
        ("nhwc", "f32[2,7,8,3] f32[3,2,3,5]",
         lambda x, k: conv(x, k, (1, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))),
        ("odd_layout", "f32[7,2,8,3] f32[3,5,3,2]",
         lambda x, k: conv(x, k, (1, 1), "SAME", dimension_numbers=("HNWC", "IOHW", "CWNH"))),
        ("1d", "f32[2,3,11] f32[4,3,4]", lambda x, k: conv(x, k,
                                                           (2,), "SAME")), ("3d", "f32[1,2,4,5,6] f32[3,2,2,3,2]",
                                                                            lambda x, k: conv(x, k,
                                                                                              (1, 2, 1), "VALID")),
        ("0d", "f32[3,4] f32[5,4]",
         lambda x, k: conv(x, k, (), "SAME")), ("transpose_same", "f32[1,5,5,2] f32[3,3,2,4]",
                                                lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME")),
        ("transpose_valid", "f32[1,5,5,2] f32[3,2,2,4]",
         lambda x, k: lax.conv_transpose(x, k, (2, 3), "VALID", rhs_dilation=(1, 2))),
        ("transpose_kernel", "f32[1,5,5,4] f32[3,3,2,4]",
         lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME", transpose_kernel=True)),
        ("with_patches", "f32[1,2,6,6] f32[1]",
         lambda x, k: lax.conv_general_dilated_patches(x, (3, 2), (2, 1), "SAME")),
        ("local", "f32[1,2,5,5] f32[3,8,16]",
         lambda x, k: lax.conv_general_dilated_local(x,
                                                     k.transpose(0, 1, 2).reshape(3, 8, 4, 4), (1, 1), "VALID",
                                                     (2, 2)))):
        add(f"conv_{name}", shapes, call, factor=4)
        if name not in ("0d", "with_patches", "local"):
            add(f"conv_{name}_grad", shapes, jax.grad(lambda x, k, f=call: (f(x, k)**2).sum(), (0, 1)), factor=16)
    for t in "bf16 f16 i8 c64".split():
        add(f"conv_{t}",
            f"{t}[1,2,6,6] {t}[3,2,3,3]",
            lambda x, k: conv(x, k, (1, 1), "SAME"),
            factor=1 / 2 if t[-2:] == "16" else 4,
            modes=("cpu", "tpu"))
    add("conv_vmap", "f32[3,1,2,6,6] f32[3,3,2,3,3]", jax.vmap(lambda x, k: conv(x, k, (1, 1), "SAME")), factor=4)
    add("conv_vmap_kernel",
        "f32[1,2,6,6] f32[3,3,2,3,3]",
        jax.vmap(lambda x, k: conv(x, k, (1, 1), "SAME"), (None, 0)),
        factor=4)
    window = lax.reduce_window
    for name, shapes, call in (
        ("max", "f32[2,9,8,3]", lambda x: window(x, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), "SAME")),
        ("avg", "f32[2,7,9]", lambda x: window(x, 0.0, lax.add, (1, 2, 3), (1, 1, 2), "VALID") / 6),
        ("min", "f32[7,9]", lambda x: window(x, jnp.inf, lax.min, (3, 2), (1, 2), [(1, 1), (0, 2)])),
        ("mul", "f32[7,9]",
         lambda x: window(x, 1.0, lax.mul, (2, 2), (1, 1), "SAME")), ("dilated", "f32[7,9]", lambda x: window(
             x, 0.0, lax.add, (2, 2), (1, 2), [(1, 0), (2, 1)], base_dilation=(2, 1), window_dilation=(1, 2)))):
        add(f"pool_{name}", shapes, call, factor=4, exact=name in ("max", "min"))
        add(f"pool_{name}_grad", shapes, jax.grad(lambda x, f=call: (f(x)**2).sum()),
            factor=16) if name in ("max", "avg", "min") else None
    add("pool_general",
        "f32[7,9] i32[7,9]0..50",
        lambda x, y: window((x, y), (0.0, 0), lambda a, b: (a[0] + b[0], jnp.maximum(a[1], b[1])), (2, 3),
                            (1, 2), "SAME"),
        factor=4)
    add("pool_i32", "i32[7,9]", lambda x: window(x, 0, lax.add, (3, 3), (2, 2), "VALID"))
    for t, wide in (("c64", False), ("c128", True)):
        for name in "fft ifft fft2 ifft2 fftn ifftn".split():
            add(f"fft_{name}_{t}", f"{t}[6,15]", getattr(jnp.fft, name), factor=8, x64=wide)
    for name in "rfft rfft2 rfftn ihfft".split():
        add(f"fft_{name}", "f32[6,14]", getattr(jnp.fft, name), factor=8)
    for name in "irfft hfft irfft2 irfftn".split():
        add(f"fft_{name}", "c64[6,9]", getattr(jnp.fft, name), factor=16)
    add("fft_n",
        "f32[5,12]",
        lambda x: (jnp.fft.rfft(x, 9), jnp.fft.fft(x, 17, axis=0), jnp.fft.irfft(jnp.fft.rfft(x), 11)),
        factor=16)
    add("fft_norm_shift",
        "c64[5,8]",
        lambda x: (jnp.fft.fft(x, norm="ortho"), jnp.fft.fftshift(x), jnp.fft.ifftshift(x, 1), jnp.fft.fftfreq(8),
                   jnp.fft.rfftfreq(9)),
        factor=8)
    add("fft_grad", "f32[12]", jax.grad(lambda x: (jnp.abs(jnp.fft.rfft(x))**2).sum()), factor=32)


def add_linalg():
    for t, wide in (("f32", False), ("f64", True), ("c64", False)):
        options = {"x64": wide, "factor": 128}
        spd = positive_definite
        add(f"cholesky_{t}", f"{t}[2,4,4]", lambda x: jnp.linalg.cholesky(spd(x)), **options)
        add(
            f"triangular_solve_{t}", f"{t}[4,4] {t}[4,3]", lambda a, b: [
                lax.linalg.triangular_solve(a + 4 * jnp.eye(4, dtype=a.dtype),
                                            b if left else b.T,
                                            left_side=left,
                                            lower=low,
                                            transpose_a=tr,
                                            conjugate_a=cj,
                                            unit_diagonal=unit)
                for left, low, tr, cj, unit in ((1, 1, 0, 0, 0), (1, 0, 1, 0, 1), (0, 1, 1, 1, 0), (0, 0, 0, 0, 1))
            ], **options)
        add(f"qr_{t}", f"{t}[5,3]", lambda x: jnp.linalg.qr(x), **options)
        add(f"qr_wide_{t}", f"{t}[3,5]", lambda x: jnp.linalg.qr(x)[1], **options)
        add(f"qr_full_{t}", f"{t}[5,3]", lambda x: (lambda q, r: (abs(q[:, :3]), q @ r))
            (*jnp.linalg.qr(x, mode="complete")), **options)
        add(f"lu_{t}", f"{t}[4,4]", lambda x: (jsl.lu(x), jsl.lu_factor(x)), **options)
        add(f"det_{t}", f"{t}[2,4,4]", lambda x: (jnp.linalg.det(x), jnp.linalg.slogdet(x)), **options)
        add(f"inv_{t}", f"{t}[4,4]", lambda x: jnp.linalg.inv(spd(x)), **options)
        add(
            f"solve_{t}", f"{t}[4,4] {t}[4,2]", lambda a, b:
            (jnp.linalg.solve(spd(a), b), jsl.cho_solve(jsl.cho_factor(spd(a)), b),
             jsl.solve_triangular(spd(a), b, lower=True)), **options)
        add(f"expm_{t}", f"{t}[3,3]", lambda x: jsl.expm(x / 2), **options)
        add(f"eigvalsh_{t}", f"{t}[5,5]", lambda x: jnp.linalg.eigvalsh(x + x.conj().T), **options)
        add(f"eigh_rebuilt_{t}", f"{t}[4,4]", lambda x:
            (lambda w, v: (w, v @ (w[:, None] * v.conj().T), v.conj().T @ v))(*jnp.linalg.eigh(spd(x))), **options)
        add(f"svdvals_{t}", f"{t}[5,3]", lambda x: jnp.linalg.svd(x, compute_uv=False), **options)
        add(f"svd_rebuilt_{t}", f"{t}[5,3]", lambda x: (lambda u, s, v: (s, (u * s) @ v))
            (*jnp.linalg.svd(x, full_matrices=False)), **options)
        add(f"pinv_{t}", f"{t}[5,3]", jnp.linalg.pinv, **options)
    add("cholesky_grad", "f32[4,4]", jax.grad(lambda x: jnp.linalg.cholesky(positive_definite(x)).sum()), factor=256)
    add("solve_grad",
        "f32[3,3] f32[3]",
        jax.grad(lambda a, b: jnp.linalg.solve(positive_definite(a), b).sum(), (0, 1)),
        factor=256)
    add("qr_grad", "f32[4,3]", jax.grad(lambda x: (jnp.linalg.qr(x)[1]**2).sum()), factor=512)
    add("norms",
        "f32[4,5]",
        lambda x: (jnp.linalg.norm(x), jnp.linalg.norm(x, 1), jnp.linalg.norm(x, jnp.inf), jnp.linalg.norm(x, axis=1),
                   jnp.linalg.norm(x, 2), jnp.linalg.norm(x, "nuc")),
        factor=64)
    add("matrix_power_rank",
        "f32[4,4]",
        lambda x: (jnp.linalg.matrix_power(x, 5), jnp.linalg.matrix_rank(x), jnp.linalg.cond(positive_definite(x)),
                   jnp.linalg.multi_dot([x, x, x]), jnp.trace(x), jnp.diag(x)),
        factor=128)
    add("lstsq", "f32[6,3] f32[6]", lambda a, b: jnp.linalg.lstsq(a, b)[0], factor=256)
    add("toeplitz", "f32[4] f32[5]", lambda c, r: (jsl.toeplitz(c, r), jsl.block_diag(jnp.outer(c, r), r[None])))
    add("polar_sqrtm", "f32[3,3]", lambda x: jsl.polar(positive_definite(x))[1], factor=512)
    add("householder",
        "f32[5,3]",
        lambda x: lax.linalg.householder_product(*lax.linalg.geqrf(x)) if hasattr(lax.linalg, "geqrf") else x,
        factor=64)
    add("vander_polyfit",
        "f32[6] f32[6]",
        lambda x, y: (jnp.vander(x, 4), jnp.polyval(y, x), jnp.polyder(y), jnp.polyint(y), jnp.polymul(x, y)),
        factor=64)
    add("cg",
        "f32[4,4] f32[4]",
        lambda a, b: jax.scipy.sparse.linalg.cg(lambda v: positive_definite(a) @ v, b)[0],
        factor=1024)


def add_all():
    for group in (add_elementwise, add_nn, add_special, add_products, add_linalg):
        group()
