# SPDX-License-Identifier: Apache-2.0
"""What the graphs of reference_graphs.py are made of: values, what is known of each, and the scopes they are computed in."""

import collections

import numpy as np

from reference_program import *  # noqa: F403

Known = collections.namedtuple("Known", "most whole error xla")  # magnitude, whole number, errors of devices and of XLA
Value = collections.namedtuple("Value", "name shape kind known")

# unit roundoff, largest value that sums may reach, least normal
UNIT = {"f8E5M2": 2.0**-3, "f8E4M3FN": 2.0**-4, "bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-24, "f64": 2.0**-53}
LIMIT = {"f8E5M2": 4e4, "f8E4M3FN": 400, "bf16": 1e30, "f16": 6e4, "f32": 1e30, "f64": 1e200}
LEAST = {
    "f8E5M2": 2.0**-14,
    "f8E4M3FN": 2.0**-6,
    "bf16": 2.0**-126,
    "f16": 2.0**-14,
    "f32": 2.0**-126,
    "f64": 2.0**-1022,
}
REALS = list(UNIT)
WHOLES = ["i4", "ui4", "i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"]
PLACES = 64  # places in the last digit that a function may be off, of the largest value in its range
EXACT = Known(0, True, 0, 0)


def is_real(kind):
    return kind in UNIT


def rounded(kind, most, whole, error, xla):
    """What is known of a result that is rounded once: the same rounding of the same number is no error."""
    exact = whole and most * UNIT[kind] <= 0.5
    whole = exact or whole and most < 1 / UNIT[kind] ** 2
    unit = 0 if exact else UNIT[kind] * most + LEAST[kind]
    return Known(most, whole, error + unit if error else 0, xla + unit if xla or not exact else 0)


def total(kind, known, count):
    """A sum of `count` values in any order, in the type or in a wider one."""
    most = known.most * max(count, 1)
    if known.whole and most * UNIT[kind] <= 0.5 and not known.error and not known.xla:
        return Known(most, True, 0, 0)
    slack = 2 * count * (UNIT[kind] * most + LEAST[kind])
    return Known(most, False, count * known.error + slack, count * known.xla + slack)


class Scope:
    """A list of operations under way: of the program, or of a region in it. `graph` holds what all scopes share."""

    def __init__(self, graph, outer=None):
        self.graph, self.rng = graph, graph.rng
        self.lines, self.values = [], list(outer.values) if outer else []
        self.depth = outer.depth + 1 if outer else 0

    def emit(self, op, operands, shape, kind, known, attributes="", regions=""):
        return self.emit_many(op, operands, [(shape, kind, known)], attributes, regions)[0]

    def emit_many(self, op, operands, results, attributes="", regions=""):
        """One operation; `results` are (shape, kind, known). Gives their values, which later operations may take."""
        graph = self.graph
        op = op if "." in op else "stablehlo." + op
        graph.case.used.append((op, [o.kind for o in operands], [k for _, k, _ in results]))
        graph.count += 1
        name, types = "%%v%d" % graph.count, [tensor(s, k) for s, k, _ in results]
        self.lines.append(
            "  %s%s = \"%s\"(%s)%s%s : (%s) -> (%s)"
            % (
                name,
                ":%d" % len(types) if len(types) > 1 else "",
                op,
                ", ".join(o.name for o in operands),
                " <{%s}>" % attributes if attributes else "",
                " (%s)" % regions if regions else "",
                ", ".join(tensor(o.shape, o.kind) for o in operands),
                ", ".join(types),
            )
        )
        made = []
        for i, (shape, kind, known) in enumerate(results):
            made.append(Value("%s#%d" % (name, i) if len(types) > 1 else name, tuple(shape), kind, known))
        self.values += made
        return made

    def find(self, test):
        """A value that meets a test, preferably a late one; or None."""
        found = [v for v in self.values if test(v)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.exponential(len(found) / 3)), len(found) - 1)]

    def like(self, value, exact=False):
        """Another value of the same type, made if there is none; with `exact`, without error."""
        same = lambda v: v.shape == value.shape and v.kind == value.kind and not (exact and v.known.error)
        found = self.find(same) if self.rng.integers(0, 4) else None
        return found or self.fresh(value.shape, value.kind)

    def fresh(self, shape, kind):
        """A new argument, constant, iota or broadcast scalar."""
        choice = self.rng.integers(0, 6)
        graph = self.graph
        if self.depth or choice < 2:  # within regions: constants
            return self.constant(shape, kind)
        if (
            choice == 2
            and len(shape)
            and kind != "i1"
            and shape[0] * 2 < 1 / UNIT.get(kind, 1e-9)
            and kind
            not in (
                "i4",
                "ui4",
            )
        ):
            dim = int(self.rng.integers(0, len(shape)))
            attributes = "iota_dimension = %d : i64" % dim
            return self.emit("iota", [], shape, kind, Known(shape[dim], True, 0, 0), attributes)
        if choice == 3 and len(shape):
            scalar = graph.argument((), kind)
            self.values.append(scalar)
            return self.emit(
                "broadcast_in_dim", [scalar], shape, kind, scalar.known, "broadcast_dimensions = array<i64>"
            )
        value = graph.argument(shape, kind)
        self.values.append(value)
        return value

    def constant(self, shape, kind):
        """A constant: one number everywhere, mostly of those that rewrites look for, or an array."""
        rng, graph = self.rng, self.graph
        size = int(np.prod(shape, dtype=np.int64))
        if kind == "i1":
            numbers = rng.integers(0, 2, size)
        else:
            low = 0 if kind in UNSIGNED else -2
            numbers = rng.integers(low, 4, size)
        if rng.integers(0, 3) or not size or size > 40:
            number = int(pick(rng, [0, 1, -1, 2])) if kind not in UNSIGNED else int(pick(rng, [0, 1, 2]))
            text = str(number if kind != "i1" else str(bool(number % 2)).lower())
            most = abs(number)
        else:
            shaped = numbers.reshape(shape)
            text = str(shaped.tolist() if kind != "i1" else shaped.astype(bool).tolist()).lower()
            most = 4
        if is_real(kind):
            text = re.sub(r"(\d+)", r"\1.0", text)
        graph.count += 1
        name = "%%v%d" % graph.count
        self.lines.append("  %s = stablehlo.constant dense<%s> : %s" % (name, text, tensor(shape, kind)))
        value = Value(name, tuple(shape), kind, Known(most, True, 0, 0))
        self.values.append(value)
        return value

    def constant_number(self, number):
        """A counter's constant."""
        self.graph.count += 1
        name = "%%v%d" % self.graph.count
        self.lines.append("  %s = stablehlo.constant dense<%d> : tensor<i32>" % (name, number))
        return Value(name, (), "i32", EXACT)


class Graph:
    """A program under way."""

    def __init__(self, rng, specials):
        self.rng, self.specials, self.count = rng, specials, 0
        self.case = Program("graphs, special values" if specials else "graphs", "graph")
        self.xla = not specials

    def argument(self, shape, kind):
        rng = self.rng
        if not is_real(kind):
            array, known = values(rng, kind, shape), EXACT
        elif self.specials:
            array, known = values(rng, kind, shape), EXACT
        elif rng.integers(0, 2):
            array, known = values(rng, kind, shape, "small"), Known(3, True, 0, 0)
        else:
            array = np.clip(rng.standard_normal(shape) * 2, -6, 6).astype(KINDS[kind].dtype)
            known = Known(6, False, 0, 0)
        return Value(self.case.arg(array), tuple(shape), kind, known)


def exact(scope, value):
    """Whether an operation that is not continuous may take the value. XLA is asked no longer where it could see another."""
    if value.known.error:
        return False
    if value.known.xla:
        scope.graph.xla = False
    return True


def constant_like(scope, value, number):
    name = "%%v%d" % (scope.graph.count + 1)
    scope.graph.count += 1
    text = "%d.0" % number if is_real(value.kind) else str(number)
    scope.lines.append("  %s = stablehlo.constant dense<%s> : %s" % (name, text, tensor(value.shape, value.kind)))
    return Value(name, value.shape, value.kind, Known(abs(number), True, 0, 0))


def either(a, b):
    """What is known of values that are of one or of the other."""
    x, y = a.known, b.known
    return Known(max(x.most, y.most), x.whole and y.whole, max(x.error, y.error), max(x.xla, y.xla))
