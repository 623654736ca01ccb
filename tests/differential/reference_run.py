# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of reference.py: in Lemnos, in StableHLO's reference interpreter, and in jaxlib's CPU client.

Lemnos takes many programs to a module. The oracles run in child processes, since a few faults of theirs are fatal: a child
that a program kills is replaced by another, which goes on behind it. Importing this module needs jax and jaxlib.
"""

import os
import pickle
import signal
import subprocess
import sys
import traceback

import numpy as np
import jax
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import stablehlo

from reference_program import KINDS, bits_of, element_type, from_bits, name_of, shape_of, type_text

CASE_SECONDS = 30  # limit of one case in one of the oracles
PROCESSES = 4  # the virtual devices of the CPU client


# ---- programs


def helpers(case, name):
    """The functions that a case calls, named after the case."""
    return "".join(text.replace("@helper", "@%s_helper" % name) for text in case.functions)


def function(case, name):
    """The case as a function of its own, and those it calls."""
    parameters = ", ".join("%%a%d: %s" % (i, type_text(a)) for i, a in enumerate(case.arguments))
    results = ", ".join(case.results)
    return "%sfunc.func %s @%s(%s) -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        helpers(case, name),
        "public" if name == "main" else "private",
        name,
        parameters,
        results,
        case.body.replace("@helper", "@%s_helper" % name),
        ", ".join(case.returns),
        results,
    )


def batch_module(cases):
    """One module that runs several cases: main takes all arguments and returns all results, in order."""
    functions, parameters, lines, values, types = [], [], [], [], []
    for n, case in enumerate(cases):
        functions.append(function(case, "case%d" % n))
        names = []
        for argument in case.arguments:
            names.append("%%p%d" % len(parameters))
            parameters.append("%s: %s" % (names[-1], type_text(argument)))
        many = len(case.results) > 1
        lines.append(
            "  %%r%d%s = func.call @case%d(%s) : (%s) -> (%s)"
            % (
                n,
                ":%d" % len(case.results) if many else "",
                n,
                ", ".join(names),
                ", ".join(type_text(a) for a in case.arguments),
                ", ".join(case.results),
            )
        )
        values += ["%%r%d#%d" % (n, i) for i in range(len(case.results))] if many else ["%%r%d" % n]
        types += case.results
    return "%sfunc.func public @main(%s) -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        "".join(functions),
        ", ".join(parameters),
        ", ".join(types),
        "\n".join(lines),
        ", ".join(values),
        ", ".join(types),
    )


# ---- Lemnos


def run_lemnos(exe, device, cases, folder):
    """Results of every case on a device: a list of arrays, or a message. The device passes:TARGET is the interpreter, given the
    module that the passes make for a target."""
    module, inputs, outputs = (os.path.join(folder, name) for name in ("m.mlir", "in.npz", "out.npz"))
    text = function(cases[0], "main") if len(cases) == 1 else batch_module(cases)
    with open(module, "w") as file:
        file.write(text)
    arguments = [bits_of(a) for case in cases for a in case.arguments]
    np.savez(inputs, **{"arg%d" % i: a for i, a in enumerate(arguments)})
    if os.path.exists(outputs):
        os.remove(outputs)
    command = [exe, "run", module, "--device=" + device, "--outputs", outputs]
    if arguments:
        command += ["--inputs", inputs]
    if device.startswith("passes:"):
        optimized = os.path.join(folder, "m.hlo")
        passes = [exe, "opt", module, "--target=" + device[len("passes:") :], "--verify-each", "-o", optimized]
        command[2:4] = [optimized, "--device=interp"]
        done = subprocess.run(passes, capture_output=True, text=True)
    else:
        done = None
    if done is None or done.returncode == 0:
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        with np.load(outputs) as file:
            stored = [file["out%d" % i] for i in range(len(file.files))]
        all_results = []
        for case in cases:
            taken, stored = stored[: len(case.results)], stored[len(case.results) :]
            all_results.append([from_bits(a, element_type(t)) for a, t in zip(taken, case.results)])
        return all_results
    if len(cases) == 1:
        return ["exit %d: %s" % (done.returncode, done.stderr.strip()[-600:])]
    half = len(cases) // 2
    return run_lemnos(exe, device, cases[:half], folder) + run_lemnos(exe, device, cases[half:], folder)


# ---- the two oracles


def dense(array):
    """An array as the text of a constant's value. Patterns of 8 bits or more are written in hexadecimal."""
    kind = name_of(array.dtype)
    if array.size == 0:
        return "dense<> : %s" % type_text(array)
    if kind == "i1" or KINDS[kind].bits < 8 and KINDS[kind].integer:
        values = str(array.astype(np.int64).tolist() if kind != "i1" else array.tolist()).lower()
        return "dense<%s> : %s" % (values, type_text(array))
    return "dense<\"0x%s\"> : %s" % (bits_of(array).tobytes().hex().upper(), type_text(array))


def readable(case):
    """Operations that make the case's results such that Python can read them: bit-cast, or in a wider type."""
    lines, values, types = [], [], []

    def emit(op, operand, source, target):
        value = "%%w%d" % len(lines)
        lines.append("  %s = \"stablehlo.%s\"(%s) : (%s) -> %s" % (value, op, operand, source, target))
        values.append(value)
        types.append(target)

    for value, text in zip(case.returns, case.results):
        kind = KINDS[element_type(text)]
        wide = lambda other: text.replace(element_type(text), other)
        if kind.complex:
            emit("real", value, text, wide(kind.part))
            emit("imag", value, text, wide(kind.part))
        elif kind.name == "i1" or kind.name in ("f32", "f64") or kind.integer and kind.bits >= 8:
            values.append(value)
            types.append(text)
        elif kind.integer:
            emit("convert", value, text, wide("i8" if kind.signed else "ui8"))
        elif kind.bits < 8:
            emit("convert", value, text, wide("f32"))
        else:
            emit("bitcast_convert", value, text, wide("ui%d" % kind.bits))
    return lines, values, types


def run_reference(case):
    """StableHLO's interpreter. CHLO is legalized first; quantized types it lowers by itself, in main only."""
    constants = ["  %%a%d = stablehlo.constant %s" % (i, dense(a)) for i, a in enumerate(case.arguments)]
    lines, values, types = readable(case)
    source = "%sfunc.func @main() -> (%s) {\n%s\n  \"func.return\"(%s) : (%s) -> ()\n}\n" % (
        helpers(case, "main"),
        ", ".join(types),
        "\n".join(constants + [case.body.replace("@helper", "@main_helper")] + lines),
        ", ".join(values),
        ", ".join(types),
    )
    context = mlir.make_ir_context()
    with context:
        stablehlo.register_interpreter_dialect(context)
        module = ir.Module.parse(source)
        if "chlo." in source:
            passes = passmanager.PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))")
            passes.run(module.operation)
        stored = [np.array(a) for a in stablehlo.eval_module(module, [])]
    results = []
    for text in case.results:
        kind, value = KINDS[element_type(text)], stored.pop(0)
        if kind.complex:
            imaginary = stored.pop(0)
            joined = np.empty(shape_of(text), kind.dtype)
            joined.real, joined.imag = value, imaginary
            value = joined
        elif kind.bits < 8 and kind.name != "i1":
            value = value.astype(kind.dtype)
        elif not kind.integer and kind.name not in ("f32", "f64"):
            value = value.view(kind.dtype)
        results.append(value.reshape(shape_of(text)))
    return [bits_of(r) for r in results]


def run_xla(case):
    """jaxlib's CPU client; on four devices where the case is of four processes."""
    devices = jax.devices("cpu")
    spread = case.spread
    devices = devices[: spread.replicas * spread.partitions if spread else 1]
    text = spread.text if spread else function(case, "main")
    with mlir.make_ir_context():
        module = ir.Module.parse("module @program {\n%s}" % text)
        options = compiler.get_compile_options(
            num_replicas=spread.replicas if spread else 1,
            num_partitions=spread.partitions if spread else 1,
            **(
                {"device_assignment": np.arange(len(devices)).reshape(spread.replicas, spread.partitions)}
                if spread
                else {}
            )
        )
        loaded = compiler.backend_compile_and_load(
            devices[0].client, module, xla_client.DeviceList(tuple(devices)), options, []
        )
    if not spread:
        placed = [jax.device_put(a, devices[0], may_alias=False) for a in case.arguments]
        results = loaded.execute_sharded(placed).disassemble_into_single_device_arrays()
        return [np.array(bits_of(np.asarray(jax.block_until_ready(r[0])))) for r in results]
    sharding = jax.sharding.NamedSharding(jax.sharding.Mesh(np.array(devices), ("p",)), jax.sharding.PartitionSpec("p"))
    shards = [jax.device_put(x, d, may_alias=False) for x, d in zip(spread.arguments, devices)]
    shape = (len(devices) * shards[0].shape[0],) + shards[0].shape[1:]
    whole = jax.make_array_from_single_device_arrays(shape, sharding, shards)
    results = loaded.execute_sharded([whole]).disassemble_into_single_device_arrays()
    return [np.array(bits_of(np.asarray(jax.block_until_ready(r)))) for r in results[0]]


def through_twin(run):
    """Quantized programs by way of the f32 program that defines them, where the oracle does not run them as they are."""

    def quantized(case):
        if case.twin is None:
            return run(case)
        results = [from_bits(r, element_type(t)) for r, t in zip(run(case.twin), case.twin.results)]
        return [
            bits_of(scheme.quantize(r).reshape(r.shape)) if scheme else bits_of(r)
            for r, scheme in zip(results, case.finish)
        ]

    return quantized


def serve(run, cases, first, path):
    """In a grandchild: runs cases from `first` on and appends their results to a file until one kills it."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    stablehlo.register_stablehlo_passes()
    with open(path, "ab") as file:
        for index in range(first, len(cases)):
            signal.alarm(CASE_SECONDS)
            try:
                result = run(cases[index]) if cases[index] else "not asked"
            except Exception as error:  # whatever the oracle refuses a case with
                result = "%s: %s" % (type(error).__name__, str(error)[-300:])
            pickle.dump((index, result), file)
            file.flush()


def start(run, cases, path):
    """Starts a child that takes all cases through an oracle, restarting it behind each case that kills it."""
    sys.stdout.flush()
    open(path, "wb").close()
    pid = os.fork()
    if pid:
        return pid
    try:
        restart(run, cases, path)
    except BaseException:
        traceback.print_exc()
    os._exit(0)


def restart(run, cases, path):
    """One worker after the other until all cases have had their turn."""
    first = 0
    while first < len(cases):
        worker = os.fork()
        if worker == 0:
            try:
                serve(run, cases, first, path)
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        _, status = os.waitpid(worker, 0)
        done = load(path)
        first = max([first] + [i + 1 for i in done if i >= first])
        if first < len(cases):
            with open(path, "ab") as file:
                pickle.dump((first, "died of signal %d" % (status & 127)), file)
            first += 1


def load(path):
    """The results so far by index."""
    results = {}
    with open(path, "rb") as file:
        while True:
            try:
                index, result = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                return results
            results[index] = result


ORACLES = {"reference": run_reference, "xla": through_twin(run_xla), "reference twin": through_twin(run_reference)}
