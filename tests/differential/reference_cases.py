# SPDX-License-Identifier: Apache-2.0
"""All programs of reference.py, from a seed: each module lists its generators, which yield Programs."""

import zlib

import numpy as np

import reference_algebra
import reference_attributes
import reference_chlo
import reference_elementwise
import reference_graphs
import reference_kinds
import reference_misc
import reference_movement
import reference_processes
import reference_quantized
import reference_structured
from reference_program import type_text

MODULES = [
    reference_elementwise,
    reference_movement,
    reference_structured,
    reference_algebra,
    reference_chlo,
    reference_kinds,
    reference_misc,
    reference_processes,
    reference_quantized,
    reference_attributes,
    reference_graphs,
]


def generate(seed, rounds):
    """All cases of a seed, each with a name that says how to make it again."""
    for number in range(rounds):
        for generator in (g for module in MODULES for g in module.GENERATORS):
            rng = np.random.default_rng(
                [seed, number, zlib.crc32((generator.__module__ + generator.__name__).encode())]
            )
            for index, case in enumerate(generator(rng)):
                case.name = "%s #%d of %s, round %d, seed %d: %s -> %s" % (
                    case.op,
                    index,
                    generator.__name__,
                    number,
                    seed,
                    ", ".join(type_text(a) for a in case.arguments),
                    ", ".join(case.results),
                )
                case.module = generator.__module__
                yield case
