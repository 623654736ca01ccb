# SPDX-License-Identifier: Apache-2.0
"""Cases of reference.py: collectives over two and four processes, communication, feeds, tokens.

StableHLO's interpreter runs processes by interpreter.run_parallel, which Lemnos reads too; jaxlib's client has four virtual
devices; and the specification's formula for each collective is written in NumPy here. StableHLO's interpreter has a thread
for each CPU only, and processes that wait for each other without one run into its time limit: it is asked where they do.
"""

import collections
import os

import numpy as np

from reference_program import *  # noqa: F403

Spread = collections.namedtuple("Spread", "replicas partitions text arguments")
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>"
SPREAD = ["i32", "f32"]  # what jaxlib's client is asked for: it is slow to start four devices


def grids(count):
    """Groups of replicas, or of partitions: (replicas, partitions, attributes)."""
    return [(count, 1, ""), (1, count, CHANNEL)]


def flat_grids(count):
    """The same for operations that take groups of replicas, of replicas with all partitions, or of processes."""
    flat = [(r, count // r, CHANNEL + ", use_global_device_ids") for r in (1, 2, 4) if r <= count]
    return [(count, 1, ""), (count, 1, CHANNEL)] + flat


def parallel(case, grid, body, inputs, result):
    """The case as one function that all processes run on an input of their own; `body` computes %r from %x."""
    replicas, partitions, _ = grid
    kind = type_text(inputs[0])
    text = "func.func %s @%s(%%x: %s) -> %s {\n%s\n  \"func.return\"(%%r) : (%s) -> ()\n}\n"
    case.functions.append(text % ("private", "helper", kind, result, body, result))
    if kind_of(kind) not in SPREAD:
        case.avoid += ("xla",)
    if len(inputs) > (os.cpu_count() or 1):
        case.avoid += ("reference",)
    case.spread = Spread(replicas, partitions, text % ("public", "main", kind, result, body, result), inputs)
    rows = ", ".join("[%s]" % ", ".join(["@helper"] * partitions) for _ in range(replicas))
    names = [case.arg(x) for x in inputs]
    return case.done(case.emit("interpreter.run_parallel", names, [result] * len(inputs), "programs = [%s]" % rows))


def one(case, op, operand, result, attributes, combiner_text=""):
    """Text of one collective, noted as used."""
    kind = kind_of(operand)
    case.used.append(("stablehlo." + op, [kind], [kind]))
    return "  %%r = \"stablehlo.%s\"(%%x) <{%s}>%s : (%s) -> %s" % (
        op,
        attributes,
        " (%s)" % combiner_text if combiner_text else "",
        operand,
        result,
    )


def fold(parts, op, kind):
    """The parts one after the other."""
    if kind == "i1":
        function = np.logical_or if op != "minimum" else np.logical_and
    else:
        function = {"add": lambda a, b: (a + b).astype(a.dtype), "maximum": np.maximum, "minimum": np.minimum}[op]
    total = parts[0]
    for part in parts[1:]:
        total = function(total, part)
    return total


def groups_of(rng, count, whole):
    """Groups of equal size; `whole`: every process is in one."""
    order = [int(p) for p in rng.permutation(count)]
    half = count // 2
    some = [] if whole else [[order[:half]], [order[: count - 1]]]
    return pick(rng, [[order], [order], [order[:half], order[half:]], [[p] for p in order]] + some)


def group_text(groups):
    return "replica_groups = dense<%s> : tensor<%dx%dxi64>" % (groups, len(groups), len(groups[0]))


def attributes(groups, grid):
    return group_text(groups) + (", " + grid[2] if grid[2] else "")


def collectives(rng):
    for kind in EVERY:
        exact = "add" if kind not in ("f8E8M0FNU",) else "maximum"
        for count in (2, 4):
            grid, flat = pick(rng, grids(count)), pick(rng, flat_grids(count))
            groups = groups_of(rng, count, True)
            size = len(groups[0])
            group = {p: g for g in groups for p in g}
            inputs = [values(rng, kind, (2, 4)) for _ in range(count)]
            operand = tensor((2, 4), kind)
            case = Program("all_gather", "all_gather")
            case.expected = [np.concatenate([inputs[q] for q in group[p]], 1) for p in range(count)]
            result = tensor((2, 4 * size), kind)
            yield parallel(
                case,
                flat,
                one(case, "all_gather", operand, result, "all_gather_dim = 1 : i64, " + attributes(groups, flat)),
                inputs,
                result,
            )
            case = Program("all_to_all", "all_to_all")
            case.expected = [
                np.concatenate([np.split(inputs[q], size, 1)[group[p].index(p)] for q in group[p]], 0)
                for p in range(count)
            ]
            result = tensor((2 * size, 4 // size), kind)
            yield parallel(
                case,
                grid,
                one(
                    case,
                    "all_to_all",
                    operand,
                    result,
                    "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = %d : "
                    "i64, %s" % (size, attributes(groups, grid)),
                ),
                inputs,
                result,
            )
            pairs = [[p, q] for p, q in enumerate(int(q) for q in rng.permutation(count))]
            pairs = pairs if kind == "f8E8M0FNU" else pairs[: int(rng.integers(1, count + 1))]
            case = Program("collective_permute", "collective_permute")
            source = {q: p for p, q in pairs}
            case.expected = [inputs[source[p]] if p in source else np.zeros_like(inputs[0]) for p in range(count)]
            yield parallel(
                case,
                grid,
                one(
                    case,
                    "collective_permute",
                    operand,
                    operand,
                    "source_target_pairs = dense<%s> : tensor<%dx2xi64>%s"
                    % (pairs, len(pairs), ", " + grid[2] if grid[2] else ""),
                ),
                inputs,
                operand,
            )
            some = groups_of(rng, count, kind == "f8E8M0FNU")
            root = {p: g[0] for g in some for p in g}
            case = Program("collective_broadcast", "collective_broadcast")
            case.expected = [inputs[root[p]] if p in root else np.zeros_like(inputs[0]) for p in range(count)]
            yield parallel(
                case, grid, one(case, "collective_broadcast", operand, operand, attributes(some, grid)), inputs, operand
            )
            yield from reductions(
                rng,
                kind,
                pick(rng, [exact, "maximum", "minimum"] if kind not in COMPLEX else ["add"]),
                grid,
                flat,
                groups,
                group,
            )


def reductions(rng, kind, op, grid, flat, groups, group):
    """Collectives with a computation, on numbers that add up exactly."""
    size, count, operand = len(groups[0]), len(group), tensor((2, 4), kind)
    inputs = [
        (
            sparse(rng, kind, (2, 4))
            if kind != "f8E8M0FNU"
            else np.abs(values(rng, kind, (2, 4), "plain")).astype(KINDS[kind].dtype)
        )
        for _ in range(count)
    ]
    if not KINDS[kind].integer and not KINDS[kind].complex and op != "add":  # zeros of either sign are ordered
        inputs = [
            (x.astype(np.float32) + np.float32(1.5)).astype(x.dtype) if kind != "f8E8M0FNU" else x for x in inputs
        ]
    totals = [fold([inputs[q] for q in group[p]], op, kind) for p in range(count)]
    text = combiner(op, kind)
    case = Program("all_reduce", "all_reduce", expected=totals)
    yield parallel(
        case, flat, one(case, "all_reduce", operand, operand, attributes(groups, flat), text), inputs, operand
    )
    case = Program("reduce_scatter", "reduce_scatter")
    case.expected = [np.split(totals[p], size, 1)[group[p].index(p)] for p in range(count)]
    result = tensor((2, 4 // size), kind)
    yield parallel(
        case,
        flat,
        one(case, "reduce_scatter", operand, result, "scatter_dimension = 1 : i64, " + attributes(groups, flat), text),
        inputs,
        result,
    )
    if kind != "f8E8M0FNU":
        case = Program("collective_reduce", "collective_reduce")
        case.expected = [totals[p] if group[p][0] == p else np.zeros_like(totals[p]) for p in range(count)]
        yield parallel(
            case,
            grid,
            one(case, "collective_reduce", operand, operand, attributes(groups, grid), text),
            inputs,
            operand,
        )


def ids(rng):
    for replicas, partitions in ((4, 1), (1, 4), (2, 2), (2, 1), (1, 2)):
        for op in ("replica_id", "partition_id"):
            case = Program("process ids", op)
            numbers = [p // partitions if op == "replica_id" else p % partitions for p in range(replicas * partitions)]
            case.expected = [np.array([n], np.uint32) for n in numbers]
            case.used.append(("stablehlo." + op, [], ["ui32"]))
            body = (
                "  %%i = \"stablehlo.%s\"() : () -> tensor<ui32>\n"
                "  %%r = \"stablehlo.reshape\"(%%i) : (tensor<ui32>) -> tensor<1xui32>" % op
            )
            yield parallel(
                case,
                (replicas, partitions, ""),
                body,
                [np.zeros(1, np.int32)] * (replicas * partitions),
                "tensor<1xui32>",
            )


def communication(rng):
    """Send and receive, feeds, asynchronous operations: movement, so any values."""
    token = "!stablehlo.token"
    for kind in EVERY:
        x, t = values(rng, kind, (2, 3)), tensor((2, 3), kind)
        case = Program("send and recv", "send", expected=[x])
        case.used += [("stablehlo.send", [kind, "token"], ["token"]), ("stablehlo.recv", ["token"], [kind, "token"])]
        case.functions.append(
            "func.func private @helper_send(%%x: %s, %%t: %s) -> %s {\n  %%0 = \"stablehlo.send\"(%%x, %%t) <{channel_handle = "
            "#stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (%s, %s) -> %s\n  \"func.return\"(%%0) "
            ": (%s) -> ()\n}\n" % (t, token, token, t, token, token, token)
        )
        case.functions.append(
            "func.func private @helper_recv(%%t: %s) -> (%s, %s) {\n  %%0:2 = \"stablehlo.recv\"(%%t) <{channel_handle = "
            "#stablehlo.channel_handle<handle = 1, type = 3>, is_host_transfer = true}> : (%s) -> (%s, %s)\n  \"func.return\""
            "(%%0#0, %%0#1) : (%s, %s) -> ()\n}\n" % (token, t, token, token, t, token, t, token)
        )
        after = case.emit("after_all", [], token)
        out = case.emit(
            "interpreter.run_parallel",
            [case.arg(x), after, after],
            [token, t, token],
            "programs = [[@helper_send], [@helper_recv]]",
        )
        yield case.done(out[1])
        case = Program("feeds", "infeed")
        case.used += [
            ("stablehlo.infeed", ["token"], [kind, "token"]),
            ("stablehlo.outfeed", [kind, "token"], ["token"]),
        ]
        fed = np.ones((2, 2)).astype(KINDS[kind].dtype)
        case.expected, number = [fed], {
            "i1": "true",
            **dict.fromkeys(INTEGERS, "1"),
            **dict.fromkeys(COMPLEX, "(1.0, 0.0)"),
        }
        t = tensor((2, 2), kind)
        case.functions.append(
            "func.func private @helper_queue() -> %s {\n  %%0 = stablehlo.constant dense<%s> : %s\n  "
            "\"func.return\"(%%0) : (%s) -> ()\n}\n" % (t, number.get(kind, "1.0"), t, t)
        )
        case.functions.append(
            "func.func private @helper_feed(%%t: %s) -> (%s, %s) {\n  %%0:2 = \"stablehlo.infeed\"(%%t) : (%s) -> (%s, %s)\n"
            "  %%1 = \"stablehlo.outfeed\"(%%0#0, %%0#1) : (%s, %s) -> %s\n  \"func.return\"(%%0#0, %%1) : (%s, %s) -> ()\n}\n"
            % (token, t, token, token, t, token, t, token, token, t, token)
        )
        first = case.emit("create_token", [], token) if kind != "i1" else case.emit("after_all", [], token)
        out = case.emit(
            "interpreter.run_parallel", [first], [t, token], "infeed = [@helper_queue], programs = [[@helper_feed]]"
        )
        yield case.done(out[0])
        case = Program("asynchronous", "async_start")
        inputs, t, r = [values(rng, kind, (2,)) for _ in range(4)], tensor((2,), kind), tensor((8,), kind)
        case.expected = [np.concatenate(inputs)] * 4
        case.used += [("stablehlo.async_start", [kind], ["future"]), ("stablehlo.async_done", ["future"], [kind])]
        body = (
            "  %%f = \"stablehlo.async_start\"(%%x) ({\n  ^bb0(%%y: %s):\n    %%g = \"stablehlo.all_gather\"(%%y) <{"
            "all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (%s) -> %s\n"
            "    \"stablehlo.return\"(%%g) : (%s) -> ()\n  }) : (%s) -> !stablehlo.future<%s>\n"
            "  %%r = \"stablehlo.async_done\"(%%f) : (!stablehlo.future<%s>) -> %s" % (t, t, r, r, t, r, r, r)
        )
        yield parallel(case, (4, 1, ""), body, inputs, r)


GENERATORS = [collectives, ids, communication]
