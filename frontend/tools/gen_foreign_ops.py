#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes frontend/foreign_ops.def: property records of operations outside VHLO.

usage: gen_foreign_ops.py StablehloOps.td ChloOps.td > foreign_ops.def

Reads the `arguments` of each operation definition, tells attributes from operands by their constraint, and sorts them
by name, which is the order of a property record. Operations of func, sdy and others are listed here by hand.
"""
import re
import sys

BY_HAND = {
    'builtin.module': '?sym_name ?sym_visibility',
    'builtin.unrealized_conversion_cast': '',
    'func.func': '?arg_attrs function_type ?no_inline ?res_attrs sym_name ?sym_visibility',
    'func.call': '?arg_attrs callee ?no_inline ?res_attrs',
    'func.return': '',
    'arith.constant': 'value',
    'sdy.mesh': 'mesh sym_name',
    'sdy.sharding_constraint': 'sharding',
    'sdy.reshard': 'sharding',
    'sdy.manual_computation': 'in_shardings manual_axes out_shardings',
    'sdy.named_computation': '?in_shardings name ?out_shardings',
    'sdy.sharding_group': 'group_id',
    'sdy.data_flow_edge': '?sharding',
    'sdy.propagation_barrier': 'allowed_direction',
    'sdy.constant': 'value',
    'sdy.all_gather': 'gathering_axes out_sharding',
    'sdy.all_slice': 'out_sharding slicing_axes',
    'sdy.all_to_all': 'out_sharding params',
    'sdy.collective_permute': 'out_sharding',
    'sdy.all_reduce': 'out_sharding reduction_axes ?reduction_op',
    'sdy.reduce_scatter': 'out_sharding reduce_scatter_axes ?reduction_op',
    'sdy.sharded_to_unreduced': 'axes out_sharding',
    'sdy.replicated_to_unreduced': 'axes out_sharding',
    'sdy.return': '',
    'sdy.func_data_flow_edge': '',
}
# Attributes that older writers did not have.
NEWER = {('chlo.top_k', 'is_stable'), ('stablehlo.collective_broadcast', 'has_dynamic_root'),
         ('stablehlo.custom_call', 'result_tilings'), ('stablehlo.dot_general', 'algorithm')}
# Segment sizes would follow the attributes; such operations are left out.
SEGMENTS = ('AttrSizedOperandSegments', 'AttrSizedResultSegments')
ATTRS = ('StableHLO_ChannelHandle', 'StableHLO_ConvDimensionNumbers', 'StableHLO_DotDimensionNumbers',
         'StableHLO_GatherDimensionNumbers', 'StableHLO_ScatterDimensionNumbers', 'StableHLO_DotAlgorithm',
         'StableHLO_ResultAccuracy', 'StableHLO_ReplicaGroups', 'CHLO_Precision', 'CHLO_RaggedDotDimensionNumbers')


def closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += {'(': 1, ')': -1}.get(text[i], 0)
        if depth == 0:
            return i
    return len(text)


def arguments(body):
    m = re.search(r'let arguments\s*=\s*', body)
    if not m:
        return None
    start = body.index('(', m.end())
    return body[start:closing(body, start) + 1]


def is_attr(kind):
    return 'Attr' in kind or any(a in kind for a in ATTRS)


def properties(op, args):
    found = []
    args = args.split('ins', 1)[-1]
    for kind, name in re.findall(r'(.*?):\s*\$(\w+)', args, flags=re.S):
        kind = kind.strip(' ,\n')
        if is_attr(kind):
            optional = kind.startswith(('OptionalAttr', 'DefaultValued', 'UnitAttr'))
            found.append(('' if not optional else '+' if (op, name) in NEWER else '?', name))
    return ' '.join(o + n for o, n in sorted(found, key=lambda x: x[1]))


def ops_of(path, dialect, prefix):
    with open(path) as f:
        text = f.read()
    text = re.sub(r'\[\{.*?\}\]', '', text, flags=re.S)
    text = re.sub(r'//[^\n]*', '', re.sub(r'/\*.*?\*/', '', text, flags=re.S))
    classes, out = {}, {}
    for m in re.finditer(r'^(def|class)\s+(\w+)([^{;]*)\{', text, flags=re.M):
        end = text.find('\n}', m.end())
        body, head = text[m.end():end], m.group(3)
        own = arguments(body)
        if m.group(1) == 'class':
            classes[m.group(2)] = (own, head)
            continue
        name = re.search(r'<\s*"([\w-]+)"', head)
        if not m.group(2).endswith('Op') or not name or not m.group(2).startswith(prefix):
            continue
        parent = re.search(r':\s*(\w+)', head)
        seen = set()
        base = parent.group(1) if parent else None
        while own is None and base in classes and base not in seen:
            seen.add(base)
            own, base_head = classes[base]
            up = re.search(r':\s*(\w+)', base_head)
            base = up.group(1) if up else None
        if any(s in head for s in SEGMENTS):
            continue
        op = dialect + '.' + name.group(1)
        out[op] = properties(op, own or '')
    return out


def main():
    table = dict(BY_HAND)
    table.update(ops_of(sys.argv[1], 'stablehlo', 'StableHLO_'))
    table.update(ops_of(sys.argv[2], 'chlo', 'CHLO_'))
    print('''// SPDX-License-Identifier: Apache-2.0
// Property records of operations outside VHLO. Written by tools/gen_foreign_ops.py: change that, not this.
//
// FOREIGN_OP(name, attributes in serialized order, "?" before those that may be absent, "+" if older writers also lack
// their place in the record)''')
    for name in sorted(table):
        line = 'FOREIGN_OP("%s", "%s")' % (name, table[name])
        if len(line) > 118:
            words = table[name].split(' ')
            half = len(words) // 2
            line = 'FOREIGN_OP("%s",\n           "%s "\n           "%s")' % (
                name, ' '.join(words[:half]), ' '.join(words[half:]))
        print(line)


if __name__ == '__main__':
    main()
