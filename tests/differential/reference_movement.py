# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: data movement, and operations whose shapes are operands."""

import numpy as np

from reference_program import *  # noqa: F403


def movement(rng):
    for kind in ALL + TINY:
        for rank in range(0, 5):
            shape = random_shape(rng, rank, int(rng.integers(0, 4) > 0))
            x = values(rng, kind, shape)
            case = Program("transpose", "transpose")
            order = [int(n) for n in rng.permutation(rank)]
            yield case.done(
                case.emit(
                    "transpose",
                    [case.arg(x)],
                    tensor([shape[i] for i in order], kind),
                    "permutation = %s" % array_text(order),
                )
            )
            case = Program("reverse", "reverse")
            dims = [i for i in range(rank) if rng.integers(0, 2)]
            yield case.done(
                case.emit("reverse", [case.arg(x)], tensor(shape, kind), "dimensions = %s" % array_text(dims))
            )
            case = Program("reshape", "reshape")
            result = tuple(shape[::-1]) if rng.integers(0, 2) else (1, int(np.prod(shape, dtype=int)), 1)
            yield case.done(case.emit("reshape", [case.arg(x)], tensor(result, kind)))
            case = Program("slice", "slice")
            start = [int(rng.integers(0, d + 1)) for d in shape]
            limit = [int(rng.integers(s, d + 1)) for s, d in zip(start, shape)]
            stride = [int(n) for n in rng.integers(1, 4, rank)]
            result = [-(-(b - a) // s) for a, b, s in zip(start, limit, stride)]
            yield case.done(
                case.emit(
                    "slice",
                    [case.arg(x)],
                    tensor(result, kind),
                    "start_indices = %s, limit_indices = %s, strides = %s"
                    % (array_text(start), array_text(limit), array_text(stride)),
                )
            )
            case = Program("pad", "pad")
            low, high = rng.integers(-2, 3, rank), rng.integers(-2, 3, rank)
            interior = rng.integers(0, 3, rank)
            result = [l + h + d + max(d - 1, 0) * i for l, h, d, i in zip(low, high, shape, interior)]
            result = [int(r) for r in result]
            high = [int(h) - min(r, 0) for h, r in zip(high, result)]
            yield case.done(
                case.emit(
                    "pad",
                    [case.arg(x), case.arg(values(rng, kind, ()))],
                    tensor([max(r, 0) for r in result], kind),
                    "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s"
                    % (array_text(low), array_text(high), array_text(interior)),
                )
            )
            case = Program("broadcast_in_dim", "broadcast_in_dim")
            result = list(random_shape(rng, rank + int(rng.integers(0, 3)), 1))
            dims = [int(n) for n in rng.permutation(len(result))[:rank]]
            source = []
            for d in dims:
                source.append(1 if rng.integers(0, 3) == 0 else result[d])
            yield case.done(
                case.emit(
                    "broadcast_in_dim",
                    [case.arg(values(rng, kind, source))],
                    tensor(result, kind),
                    "broadcast_dimensions = %s" % array_text(dims),
                )
            )
            if rank:
                case = Program("concatenate", "concatenate")
                axis = int(rng.integers(0, rank))
                operands, total = [], 0
                for _ in range(int(rng.integers(1, 4))):
                    part = list(shape)
                    part[axis] = int(rng.integers(0, 4))
                    total += part[axis]
                    operands.append(case.arg(values(rng, kind, part)))
                result = list(shape)
                result[axis] = total
                yield case.done(case.emit("concatenate", operands, tensor(result, kind), "dimension = %d : i64" % axis))
            index_kind = pick(rng, [k for k in INTEGERS if KINDS[k].bits >= 8])
            case = Program("dynamic_slice", "dynamic_slice", note=index_kind)
            sizes = [int(rng.integers(0, d + 1)) for d in shape]
            starts = [case_index(rng, index_kind) for _ in shape]
            operands = [case.arg(x)] + [case.arg(s) for s in starts]
            yield case.done(
                case.emit("dynamic_slice", operands, tensor(sizes, kind), "slice_sizes = %s" % array_text(sizes))
            )
            case = Program("dynamic_update_slice", "dynamic_update_slice", note=index_kind)
            operands = [case.arg(x), case.arg(values(rng, kind, sizes))] + [case.arg(s) for s in starts]
            yield case.done(case.emit("dynamic_update_slice", operands, tensor(shape, kind)))
        if kind not in TINY + ["i1"]:
            for rank in (1, 2, 3):
                shape = random_shape(rng, rank, 0, 4)
                case = Program("iota", "iota")
                yield case.done(
                    case.emit("iota", [], tensor(shape, kind), "iota_dimension = %d : i64" % rng.integers(0, rank))
                )


def case_index(rng, kind):
    """A start index: often in range, sometimes far out of it."""
    if rng.integers(0, 3) == 0:
        return values(rng, kind, ())
    return np.array(int(rng.integers(-2 if KINDS[kind].signed else 0, 6))).astype(KINDS[kind].dtype)


def dynamic(rng):
    """Dynamic operations with static result types: the shapes come as constants and as arguments."""
    for kind in ["i8", "ui32", "i64", "f16", "f32", "complex<f64>"]:
        for index in ("i32", "i64"):
            whole = KINDS[index].dtype
            constant = lambda case, v: case.constant(str([int(n) for n in v]), tensor((len(v),), index))
            case = Program("dynamic shapes", "dynamic_iota")
            yield case.done(
                case.emit("dynamic_iota", [constant(case, (3, 4))], tensor((3, 4), kind), "iota_dimension = 1 : i64")
            )
            case = Program("dynamic shapes", "dynamic_reshape")
            x = case.arg(values(rng, kind, (3, 4)))
            yield case.done(case.emit("dynamic_reshape", [x, constant(case, (2, 6))], tensor((2, 6), kind)))
            case = Program("dynamic shapes", "dynamic_broadcast_in_dim")
            x = case.arg(values(rng, kind, (1, 4)))
            yield case.done(
                case.emit(
                    "dynamic_broadcast_in_dim",
                    [x, constant(case, (4, 2, 3))],
                    tensor((4, 2, 3), kind),
                    "broadcast_dimensions = array<i64: 2, 0>",
                )
            )
            case = Program("dynamic shapes", "dynamic_pad")
            x, p = case.arg(values(rng, kind, (3, 4))), case.arg(values(rng, kind, ()))
            yield case.done(
                case.emit(
                    "dynamic_pad",
                    [x, p, constant(case, (1, -1)), constant(case, (-2, 2)), constant(case, (1, 0))],
                    tensor((4, 5), kind),
                )
            )
            case = Program("dynamic shapes", "real_dynamic_slice")
            x = case.arg(values(rng, kind, (4, 5)))
            yield case.done(
                case.emit(
                    "real_dynamic_slice",
                    [x, constant(case, (1, 0)), constant(case, (4, 5)), constant(case, (2, 3))],
                    tensor((2, 2), kind),
                )
            )
            case = Program("dynamic shapes", "dynamic_gather")
            x, i = case.arg(values(rng, kind, (4, 5))), case.arg(np.array([[1], [9]], whole))
            yield case.done(
                case.emit(
                    "dynamic_gather",
                    [x, i, constant(case, (1, 3))],
                    tensor((2, 3), kind),
                    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], "
                    "index_vector_dim = 1>, indices_are_sorted = false",
                )
            )
        case = Program("dynamic shapes", "get_dimension_size")
        yield case.done(
            case.emit(
                "get_dimension_size",
                [case.arg(values(rng, kind, (3, 0, 2)))],
                "tensor<i32>",
                "dimension = %d : i64" % rng.integers(0, 3),
            )
        )


GENERATORS = [movement, dynamic]
