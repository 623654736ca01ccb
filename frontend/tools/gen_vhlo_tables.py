#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes frontend/vhlo_tables.def from a JSON description of the VHLO dialect.

usage: gen_vhlo_tables.py VHLO_OPS.JSON > vhlo_tables.def

The JSON has, per operation version ("vhlo.add_v1"): introduced, last_version, property_order (attribute names in
serialized order) and mapping.stablehlo_op. What StableHLO does with each attribute is decided here, by the letters
explained at the top of the output.
"""
import json
import sys

I64_ARRAY = {
    'fft': ['fft_length'], 'broadcast': ['broadcast_sizes'], 'dynamic_slice': ['slice_sizes'],
    'reverse': ['dimensions'], 'transpose': ['permutation'],
    'pad': ['edge_padding_low', 'edge_padding_high', 'interior_padding'],
    'slice': ['start_indices', 'limit_indices', 'strides'], 'broadcast_in_dim': ['broadcast_dimensions'],
    'dynamic_broadcast_in_dim': ['broadcast_dimensions', 'known_expanding_dimensions',
                                 'known_nonexpanding_dimensions'],
    'select_and_scatter': ['window_dimensions', 'window_strides'],
    'reduce_window': ['window_dimensions', 'window_strides', 'base_dilations', 'window_dilations'],
    'map': ['dimensions'], 'reduce': ['dimensions'], 'gather': ['slice_sizes'],
    'convolution': ['lhs_dilation', 'rhs_dilation', 'window_strides'],
    'dynamic_conv': ['lhs_dilation', 'rhs_dilation', 'window_strides'],
}
STRUCTS = {
    'convolution': ('dimension_numbers', 'conv'), 'dynamic_conv': ('dimension_numbers', 'conv'),
    'dot_general': ('dot_dimension_numbers', 'dot'), 'gather': ('dimension_numbers', 'gather'),
    'dynamic_gather': ('dimension_numbers', 'gather'), 'scatter': ('scatter_dimension_numbers', 'scatter'),
    'send': ('channel_handle', 'channel_handle'), 'recv': ('channel_handle', 'channel_handle'),
}
MEMBERS = {
    'conv': ['%s_%s' % (a, b) for a, bs in (
        ('input', ['batch_dimension', 'feature_dimension', 'spatial_dimensions']),
        ('kernel', ['input_feature_dimension', 'output_feature_dimension', 'spatial_dimensions']),
        ('output', ['batch_dimension', 'feature_dimension', 'spatial_dimensions'])) for b in bs],
    'dot': ['lhs_batching_dimensions', 'rhs_batching_dimensions', 'lhs_contracting_dimensions',
            'rhs_contracting_dimensions'],
    'gather': ['offset_dims', 'collapsed_slice_dims', 'operand_batching_dims', 'start_indices_batching_dims',
               'start_index_map', 'index_vector_dim'],
    'scatter': ['update_window_dims', 'inserted_window_dims', 'input_batching_dims',
                'scatter_indices_batching_dims', 'scatter_dims_to_operand_dims', 'index_vector_dim'],
    'channel_handle': ['channel_id', 'channel_type'],
}
ALGORITHM = ['lhs_precision_type', 'rhs_precision_type', 'accumulation_type', 'lhs_component_count',
             'rhs_component_count', 'num_primitive_operations', 'allow_imprecise_accumulation']
COLLECTIVES = ['all_gather', 'all_reduce', 'all_to_all', 'collective_permute', 'collective_broadcast',
               'collective_reduce', 'reduce_scatter']


def letter(op, version, attr):
    if op in STRUCTS and attr in MEMBERS[STRUCTS[op][1]]:
        return 'D'
    if op == 'dot_general' and attr in ALGORITHM:
        return 'G'
    if attr in I64_ARRAY.get(op, ()):
        return 'A'
    if attr == 'window_reversal':
        return 'B'
    if (op, attr) in (('call', 'callee'), ('composite', 'decomposition')):
        return 'S'
    if (op, attr) == ('custom_call', 'called_computations'):
        return 'Y'
    if op in COLLECTIVES and attr in ('use_global_device_ids', 'has_dynamic_root'):
        return 'U'
    if op in COLLECTIVES and attr == 'channel_id':
        return 'C'
    if (op, version, attr) == ('dynamic_conv', 1, 'padding'):
        return 'X'
    return 'K'


def code(version):
    if version == 'current':
        return 'VHLO_CURRENT'
    return '0x%06x' % sum(int(x) << s for x, s in zip(version.split('.'), (16, 8, 0)))


def main():
    with open(sys.argv[1]) as f:
        ops = json.load(f)['ops']
    print('''// SPDX-License-Identifier: Apache-2.0
// Every version of every VHLO operation. Written by tools/gen_vhlo_tables.py: change that, not this.
//
// VHLO_OP(vhlo name, StableHLO name, introduced, last version, struct attribute, struct mnemonic, attributes)
// Versions are 0xMMmmpp. Attributes stand in serialized order, each preceded by a letter: what becomes of it.
//   K kept    A tensor to array<i64>    B tensor to array<i1>    S string to symbol    Y strings to symbols
//   U true to unit, false dropped    C channel id to channel_handle, 0 dropped    X dropped
//   D member of the struct attribute    G member of the dot algorithm
// Sorted by name.''')
    rows = []
    for name in sorted(ops):
        op = ops[name]
        base, version = name[len('vhlo.'):].rsplit('_v', 1)
        target = {'func': 'func.func', 'call': 'func.call', 'return': 'stablehlo.return'}.get(base, 'stablehlo.' + base)
        attr, mnemonic = STRUCTS.get(base, ('', ''))
        attrs = ' '.join(letter(base, int(version), a) + a for a in op['property_order'])
        head = 'VHLO_OP("%s", "%s", %s, %s, "%s", "%s",' % (
            name, target, code(op['introduced']), code(op['last_version']), attr, mnemonic)
        words, lines, cur = attrs.split(' '), [], ''
        for i, w in enumerate(words):
            w = w + (' ' if i + 1 < len(words) else '')
            if len(cur) + len(w) > 108:
                lines.append(cur)
                cur = ''
            cur += w
        lines.append(cur)
        body = '\n        '.join('"%s"' % s for s in lines)
        rows.append(head + (' ' if len(head) + len(body) < 118 and len(lines) == 1 else '\n        ') + body + ')')
    print('\n'.join(rows))


if __name__ == '__main__':
    main()
