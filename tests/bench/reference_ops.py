# SPDX-License-Identifier: Apache-2.0
"""Programs of one operation each, to compare the interpreter's speed with StableHLO's reference interpreter.

Sizes are such that the reference takes some hundredths of a second to a second, which is far more than launching a program
takes here. Each program comes as in tests/differential: a family (a row of the page), its operations, the arguments.
"""
import collections
import itertools
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'differential'))
from reference_program import KINDS, Program, array_text, bits_of, combiner, pairs_text, region, tensor, type_text  # noqa: E402

N = (256, 256)
# family: times the reference (as it is asked of the interpreter)
FAST = {'add', 'multiply', 'dot_general', 'convolution'}
Entry = collections.namedtuple('Entry', 'family name program')


def data(kind, shape, low=None, high=None, seed=7):
    """Middling values: floats within [0.1, 0.9], integers within [1, 100], unless told."""
    rng = np.random.default_rng(seed)
    k = KINDS[kind]
    if k.name == 'i1':
        return rng.integers(0, 2, shape).astype(bool)
    if k.complex:
        return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(k.dtype)
    if k.integer:
        return rng.integers(1 if low is None else low, 101 if high is None else high, shape).astype(k.dtype)
    return rng.uniform(0.1 if low is None else low, 0.9 if high is None else high, shape).astype(k.dtype)


def one(op, operands, result, attributes='', regions=''):
    p = Program(op, op)
    return p.done(p.emit(op, [p.arg(a) for a in operands], result, attributes, regions))


def elementwise():
    floats = ['exponential', 'exponential_minus_one', 'log', 'log_plus_one', 'logistic', 'cosine', 'sine', 'tan', 'tanh', 'cbrt',
              'rsqrt', 'sqrt', 'ceil', 'floor', 'round_nearest_afz', 'round_nearest_even', 'abs', 'negate', 'sign']
    for op in floats:
        for kind in ('f32', 'bf16'):
            yield Entry('unary', '%s %s' % (op, kind), one(op, [data(kind, N, -0.9 if op != 'log' and 'sqrt' not in op else None)],
                                                           tensor(N, kind)))
        yield Entry('unary, f64', op + ' f64', one(op, [data('f64', N)], tensor(N, 'f64')))
    for op in ('exponential', 'log', 'cosine', 'sine', 'tanh', 'sqrt', 'rsqrt', 'negate', 'abs', 'real', 'imag'):
        kind = 'complex<f32>'
        yield Entry('unary, complex', '%s c64' % op, one(op, [data(kind, N)], tensor(N, 'f32' if op in ('abs', 'real', 'imag') else kind)))
    for op in ('not', 'popcnt', 'count_leading_zeros', 'abs', 'negate', 'sign'):
        yield Entry('unary, integer', op + ' i32', one(op, [data('i32', N)], tensor(N, 'i32')))
    yield Entry('unary', 'is_finite f32', one('is_finite', [data('f32', N)], tensor(N, 'i1')))
    yield Entry('unary', 'reduce_precision f32', one('reduce_precision', [data('f32', N)], tensor(N, 'f32'),
                                                     'exponent_bits = 5 : i32, mantissa_bits = 10 : i32'))
    for op, kind in itertools.product(('add', 'subtract', 'multiply', 'divide', 'remainder', 'maximum', 'minimum', 'power'),
                                      ('f32', 'f64', 'bf16', 'i32', 'i8', 'complex<f32>')):
        if kind == 'complex<f32>' and op in ('remainder', 'maximum', 'minimum'):
            continue
        family = op if op in FAST else 'binary, complex' if 'complex' in kind else 'binary'
        yield Entry(family, '%s %s' % (op, kind), one(op, [data(kind, N), data(kind, N, 1, 9, 8) if KINDS[kind].integer
                                                           else data(kind, N, seed=8)], tensor(N, kind)))
    for kind in ('f32', 'f64'):
        yield Entry('binary', 'atan2 ' + kind, one('atan2', [data(kind, N), data(kind, N, seed=8)], tensor(N, kind)))
    yield Entry('binary, complex', 'complex', one('complex', [data('f32', N), data('f32', N)], tensor(N, 'complex<f32>')))
    for op in ('and', 'or', 'xor', 'shift_left', 'shift_right_arithmetic', 'shift_right_logical'):
        yield Entry('binary, bits', op + ' i32', one(op, [data('i32', N), data('i32', N, 0, 32)], tensor(N, 'i32')))
    yield Entry('binary, bits', 'and i1', one('and', [data('i1', N), data('i1', N)], tensor(N, 'i1')))
    for kind in ('f32', 'i32'):
        yield Entry('compare, select, clamp', 'compare ' + kind,
                    one('compare', [data(kind, N), data(kind, N, seed=8)], tensor(N, 'i1'),
                        'comparison_direction = #stablehlo<comparison_direction LT>'))
    yield Entry('compare, select, clamp', 'select f32', one('select', [data('i1', N), data('f32', N), data('f32', N)], tensor(N, 'f32')))
    yield Entry('compare, select, clamp', 'clamp f32', one('clamp', [data('f32', (), 0.2, 0.3), data('f32', N), data('f32', (), 0.6, 0.7)],
                                                           tensor(N, 'f32')))
    for a, b in (('f32', 'i32'), ('i32', 'f32'), ('f32', 'f64'), ('f64', 'f32'), ('f32', 'bf16'), ('bf16', 'f32'), ('f32', 'f8E4M3FN'),
                 ('i32', 'i8'), ('i1', 'f32'), ('f32', 'i1'), ('f32', 'f16')):
        yield Entry('convert', 'convert %s to %s' % (a, b), one('convert', [data(a, N)], tensor(N, b)))
    yield Entry('bitcast_convert', 'bitcast_convert f32 to i32', one('bitcast_convert', [data('f32', N)], tensor(N, 'i32')))
    yield Entry('bitcast_convert', 'bitcast_convert i32 to i8', one('bitcast_convert', [data('i32', N)], tensor((*N, 4), 'i8')))


def movement():
    f = 'f32'
    yield Entry('iota', 'iota', one('iota', [], tensor(N, f), 'iota_dimension = 1 : i64'))
    yield Entry('broadcast_in_dim', 'broadcast_in_dim', one('broadcast_in_dim', [data(f, (256,))], tensor(N, f), 'broadcast_dimensions = array<i64: 1>'))
    yield Entry('transpose', 'transpose', one('transpose', [data(f, (64, 32, 32))], tensor((32, 64, 32), f), 'permutation = array<i64: 2, 0, 1>'))
    yield Entry('reshape', 'reshape', one('reshape', [data(f, N)], tensor((65536,), f)))
    yield Entry('slice', 'slice', one('slice', [data(f, (512, 512))], tensor(N, f), 'start_indices = array<i64: 1, 0>, '
                                      'limit_indices = array<i64: 512, 512>, strides = array<i64: 2, 2>'))
    yield Entry('pad', 'pad', one('pad', [data(f, (128, 128)), data(f, ())], tensor((258, 258), f), 'edge_padding_low = array<i64: 2, 1>, '
                                  'edge_padding_high = array<i64: 1, 2>, interior_padding = array<i64: 1, 1>'))
    yield Entry('concatenate', 'concatenate', one('concatenate', [data(f, (256, 128)), data(f, (256, 128))], tensor(N, f), 'dimension = 1 : i64'))
    yield Entry('reverse', 'reverse', one('reverse', [data(f, N)], tensor(N, f), 'dimensions = array<i64: 0, 1>'))
    at = np.array(5, np.int32)
    yield Entry('dynamic_slice', 'dynamic_slice', one('dynamic_slice', [data(f, (512, 512)), at, at], tensor(N, f), 'slice_sizes = array<i64: 256, 256>'))
    yield Entry('dynamic_update_slice', 'dynamic_update_slice', one('dynamic_update_slice', [data(f, N), data(f, (128, 128)), at, at], tensor(N, f)))
    yield Entry('get_dimension_size, tuple', 'tuple and get_tuple_element', tuple_program())
    rows = data('i32', (4096,), 0, 256)
    yield Entry('gather', 'gather rows', one('gather', [data(f, (256, 16)), rows], tensor((4096, 16), f),
                'dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
                'index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>'))
    yield Entry('gather', 'gather elements', one('gather', [data(f, (65536,)), data('i32', (65536, 1), 0, 65536)], tensor((65536,), f),
                'dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], '
                'index_vector_dim = 1>, slice_sizes = array<i64: 1>'))
    body = combiner('add', f)
    for what, n, window in (('rows', 2048, 16), ('elements', 16384, 0)):
        operand, updates = ((256, window), (n, window)) if window else ((4096,), (n,))
        numbers = 'inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1'
        numbers = ('update_window_dims = [1], ' if window else '') + numbers
        yield Entry('scatter', 'scatter add, ' + what, one(
            'scatter', [data(f, operand), data('i32', (n, 1), 0, operand[0]), data(f, updates)], tensor(operand, f),
            'scatter_dimension_numbers = #stablehlo.scatter<%s>' % numbers, body))


def tuple_program():
    p = Program('tuple', 'tuple')
    x = p.arg(data('f32', N))
    p.lines.append('  %%t = "stablehlo.tuple"(%s, %s) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tuple<tensor<256x256xf32>, tensor<256x256xf32>>' % (x, x))
    p.lines.append('  %v1 = "stablehlo.get_tuple_element"(%t) <{index = 1 : i32}> : (tuple<tensor<256x256xf32>, tensor<256x256xf32>>) -> tensor<256x256xf32>')
    p.types['%v1'] = tensor(N, 'f32')
    p.count = 1
    return p.done('%v1')


def argmax_body():
    pair = ['%g = "stablehlo.compare"(%x0, %x2) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>',
            '%v = "stablehlo.select"(%g, %x0, %x2) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>',
            '%i = "stablehlo.select"(%g, %x1, %x3) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>']
    return region(['f32', 'i32', 'f32', 'i32'], pair, [('%v', 'f32'), ('%i', 'i32')])


def compare(kinds, direction, left, right):
    kind = kinds[0]
    return region(kinds, ['%%y = "stablehlo.compare"(%s, %s) <{comparison_direction = #stablehlo<comparison_direction %s>}> : '
                          '(tensor<%s>, tensor<%s>) -> tensor<i1>' % (left, right, direction, kind, kind)], [('%y', 'i1')])


def branching_body():
    """A body that is not elementwise: an `if` on scalars."""
    t = 'tensor<f32>'
    lines = ['%g = "stablehlo.compare"(%x0, %x1) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>',
             '%%y = "stablehlo.if"(%%g) ({ "stablehlo.return"(%%x0) : (%s) -> () }, { "stablehlo.return"(%%x1) : (%s) -> () }) : (tensor<i1>) -> %s' % (t, t, t)]
    return region(['f32', 'f32'], lines, [('%y', 'f32')])


def regions():
    f, n = 'f32', (64, 256)
    zero = np.array(0, np.float32)
    for what, dims, result in (('rows', [1], (64,)), ('columns', [0], (256,)), ('all', [0, 1], ())):
        yield Entry('reduce', 'reduce add, ' + what, one('reduce', [data(f, n), zero], tensor(result, f), 'dimensions = ' + array_text(dims), combiner('add', f)))
    yield Entry('reduce', 'reduce max bf16', one('reduce', [data('bf16', n), data('bf16', ())], tensor((64,), 'bf16'),
                                                 'dimensions = array<i64: 1>', combiner('maximum', 'bf16')))
    yield Entry('reduce', 'reduce argmax', one('reduce', [data(f, n), data('i32', n), zero, np.array(0, np.int32)],
                                               [tensor((64,), f), tensor((64,), 'i32')], 'dimensions = array<i64: 1>', argmax_body()))
    yield Entry('reduce', 'reduce with an if', one('reduce', [data(f, n), zero], tensor((64,), f), 'dimensions = array<i64: 1>', branching_body()))
    window = ('window_dimensions = array<i64: 3, 3>, window_strides = array<i64: 1, 1>, base_dilations = array<i64: 1, 1>, '
              'window_dilations = array<i64: 1, 1>, padding = ' + pairs_text([[1, 1], [1, 1]]))
    for op in ('add', 'maximum'):
        yield Entry('reduce_window', 'reduce_window ' + op, one('reduce_window', [data(f, (48, 48)), zero], tensor((48, 48), f), window, combiner(op, f)))
    yield Entry('reduce_window', 'reduce_window cumulative', one(
        'reduce_window', [data(f, (16, 64)), zero], tensor((16, 64), f), 'window_dimensions = array<i64: 1, 64>, window_strides = array<i64: 1, 1>, '
        'base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = ' + pairs_text([[0, 0], [63, 0]]), combiner('add', f)))
    for w, s in ((2, 2), (3, 2)):
        out = (64 - w) // s + 1
        yield Entry('select_and_scatter', 'select_and_scatter %dx%d' % (w, w), one(
            'select_and_scatter', [data(f, (64, 64)), data(f, (out, out)), zero], tensor((64, 64), f),
            'window_dimensions = array<i64: %d, %d>, window_strides = array<i64: %d, %d>' % (w, w, s, s),
            compare([f, f], 'GE', '%x0', '%x1') + ', ' + combiner('add', f)))
    yield Entry('sort', 'sort', one('sort', [data(f, (16, 256))], tensor((16, 256), f), 'dimension = 1 : i64', compare([f, f], 'LT', '%x0', '%x1')))
    yield Entry('sort', 'sort pairs by columns', one('sort', [data(f, (256, 16)), data('i32', (256, 16))], [tensor((256, 16), f), tensor((256, 16), 'i32')],
                                                    'dimension = 0 : i64', compare([f, f, 'i32', 'i32'], 'GT', '%x0', '%x1')))
    lines = ['%p = "stablehlo.abs"(%x0) : (tensor<f32>) -> tensor<f32>', '%q = "stablehlo.abs"(%x1) : (tensor<f32>) -> tensor<f32>',
             '%y = "stablehlo.compare"(%p, %q) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>']
    yield Entry('sort', 'sort by a computed key', one('sort', [data(f, (16, 256), -1, 1)], tensor((16, 256), f), 'dimension = 1 : i64',
                                                      region([f, f], lines, [('%y', 'i1')])))
    yield Entry('map', 'map', one('map', [data(f, n), data(f, n)], tensor(n, f), 'dimensions = array<i64: 0, 1>', combiner('subtract', f)))
    yield Entry('map', 'map with an if', one('map', [data(f, n), data(f, n, seed=8)], tensor(n, f), 'dimensions = array<i64: 0, 1>', branching_body()))


def control():
    t, n = tensor((16,), 'f32'), np.array(1000, np.int32)
    p = Program('while', 'while')
    zero, x, limit = p.arg(np.array(0, np.int32)), p.arg(data('f32', (16,))), p.arg(n)
    step = p.constant('1', 'tensor<i32>')
    cond = ('{\n  ^bb0(%%i: tensor<i32>, %%s: %s):\n    %%c = "stablehlo.compare"(%%i, %s) <{comparison_direction = #stablehlo<comparison_direction LT>}> : '
            '(tensor<i32>, tensor<i32>) -> tensor<i1>\n    "stablehlo.return"(%%c) : (tensor<i1>) -> ()\n  }' % (t, limit))
    body = ('{\n  ^bb0(%%i: tensor<i32>, %%s: %s):\n    %%j = "stablehlo.add"(%%i, %s) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n'
            '    %%u = "stablehlo.add"(%%s, %s) : (%s, %s) -> %s\n    "stablehlo.return"(%%j, %%u) : (tensor<i32>, %s) -> ()\n  }' % (t, step, x, t, t, t, t))
    yield Entry('while', 'while, 1000 steps of 16 elements', p.done(p.emit('while', [zero, x], ['tensor<i32>', t], '', cond + ', ' + body)))
    shape = tensor(N, 'f32')
    for op in ('if', 'case'):
        p = Program(op, op)
        c, x, y = p.arg(np.array(True) if op == 'if' else np.array(1, np.int32)), p.arg(data('f32', N)), p.arg(data('f32', N))
        branches = ['{\n    %%y%d = "stablehlo.%s"(%s, %s) : (%s, %s) -> %s\n    "stablehlo.return"(%%y%d) : (%s) -> ()\n  }' % (
            i, o, x, y, shape, shape, shape, i, shape) for i, o in enumerate(('divide', 'subtract'))]
        yield Entry('if, case', op, p.done(p.emit(op, [c], shape, '', ', '.join(branches))))
    p = Program('optimization_barrier', 'optimization_barrier')
    yield Entry('if, case', 'optimization_barrier', p.done(p.emit('optimization_barrier', [p.arg(data('f32', N))], shape)))


def products():
    for kind, size in (('f32', 64), ('f64', 64), ('bf16', 64), ('i32', 64), ('complex<f32>', 32)):
        s = (size, size)
        numbers = 'dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>'
        yield Entry('dot_general', 'dot_general %s, %d cubed' % (kind, size), one('dot_general', [data(kind, s), data(kind, s, seed=8)], tensor(s, kind), numbers))
    yield Entry('dot_general', 'dot_general f32, batches of 16x16', one(
        'dot_general', [data('f32', (32, 16, 16)), data('f32', (32, 16, 16))], tensor((32, 16, 16), 'f32'),
        'dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], '
        'lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>'))
    for kind in ('f32', 'i32'):
        yield Entry('convolution', 'convolution %s, 3x3' % kind, one(
            'convolution', [data(kind, (1, 16, 16, 16)), data(kind, (3, 3, 16, 16))], tensor((1, 14, 14, 16), kind),
            'window_strides = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, '
            'feature_group_count = 1 : i64, batch_group_count = 1 : i64'))
    yield Entry('convolution', 'convolution f32, depthwise', one(
        'convolution', [data('f32', (1, 32, 32, 32)), data('f32', (3, 3, 1, 32))], tensor((1, 30, 30, 32), 'f32'),
        'window_strides = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, '
        'feature_group_count = 32 : i64, batch_group_count = 1 : i64'))


def algebra():
    c = 'complex<f32>'
    for n in (64, 60):
        s = (4, n)
        yield Entry('fft', 'fft of %d' % n, one('fft', [data(c, s)], tensor(s, c), 'fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: %d>' % n))
    a = np.tril(data('f32', (48, 48))) + np.eye(48, dtype=np.float32)
    yield Entry('triangular_solve', 'triangular_solve', one(
        'triangular_solve', [a, data('f32', (48, 8))], tensor((48, 8), 'f32'),
        'left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>'))


def dynamic():
    s, f = np.array(N, np.int32), 'f32'
    yield Entry('dynamic shapes', 'dynamic_broadcast_in_dim', one('dynamic_broadcast_in_dim', [data(f, (256,)), s], tensor(N, f), 'broadcast_dimensions = array<i64: 1>'))
    yield Entry('dynamic shapes', 'dynamic_iota', one('dynamic_iota', [s], tensor(N, f), 'iota_dimension = 0 : i64'))
    yield Entry('dynamic shapes', 'dynamic_reshape', one('dynamic_reshape', [data(f, (65536,)), s], tensor(N, f)))
    two = [np.array([k, k], np.int32) for k in (1, 1, 0)]
    yield Entry('dynamic shapes', 'dynamic_pad', one('dynamic_pad', [data(f, (254, 254)), data(f, ()), *two], tensor(N, f)))
    numbers = ('dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>')
    yield Entry('dynamic shapes', 'dynamic_gather', one('dynamic_gather', [data(f, (256, 16)), data('i32', (4096,), 0, 256), np.array([1, 16], np.int32)],
                                                        tensor((4096, 16), f), numbers))


def collectives():
    """Two processes of one program."""
    t = tensor(N, 'f32')
    groups = 'replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>'
    plus = combiner('add', 'f32')
    cases = [('all_reduce', t, groups, plus), ('all_gather', tensor((512, 256), 'f32'), 'all_gather_dim = 0 : i64, ' + groups, ''),
             ('all_to_all', t, 'split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, ' + groups, ''),
             ('reduce_scatter', tensor((128, 256), 'f32'), 'scatter_dimension = 0 : i64, ' + groups, plus),
             ('collective_permute', t, 'source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>', ''),
             ('collective_broadcast', t, groups, '')]
    for op, result, attributes, body in cases:
        yield Entry('collectives', op + ', 2 processes', one(op, [data('f32', N)], result, attributes, body))


def entries():
    for make in (elementwise, movement, regions, control, products, algebra, dynamic, collectives):
        yield from make()


def main_function(program):
    """Lemnos's program: arguments in, results out."""
    return 'func.func public @main(%s) -> (%s) {\n%s\n  "func.return"(%s) : (%s) -> ()\n}\n' % (
        ', '.join('%%a%d: %s' % (i, type_text(a)) for i, a in enumerate(program.arguments)), ', '.join(program.results),
        program.body, ', '.join(program.returns), ', '.join(program.results))


def source(program, copies, parallel):
    """The reference's program: constants, then the operation `copies` times; nothing is returned (nothing is left out for it)."""
    import reference_run
    lines = ['  %%a%d = stablehlo.constant %s' % (i, reference_run.dense(a)) for i, a in enumerate(program.arguments)]
    for k in range(copies):
        body = program.body
        for name in ('v', 't', 'y', 'c', 'g', 'p', 'q', 'i', 's', 'j', 'u', 'x'):
            body = body.replace('%' + name, '%%k%d%s' % (k, name))
        lines.append(body)
    if not parallel:
        return 'func.func @main() {\n%s\n  "func.return"() : () -> ()\n}\n' % '\n'.join(lines)
    return ('module {\nfunc.func @part() {\n%s\n  "func.return"() : () -> ()\n}\nfunc.func @main() {\n  "interpreter.run_parallel"() '
            '<{programs = [[@part], [@part]]}> : () -> ()\n  "func.return"() : () -> ()\n}\n}\n' % '\n'.join(lines))
