# SPDX-License-Identifier: Apache-2.0
"""What Python suites share: the C library through ctypes, NumPy's element types, and comparison with what JAX computed.

Library loads, compiles and runs modules in this process; Worker does the same in a child process, which may crash or
hang without taking the suite with it. Importing this makes .venv's packages importable; NumPy must be there, ml_dtypes
(for the types NumPy lacks) only where arrays go in or out.
"""
import ctypes as c
import os
import pickle
import re
import select
import struct
import subprocess
import sys

from venv_packages import ROOT

try:
    import numpy as np
except ImportError:
    np = None  # then what needs it is not called

MAX_RANK = 32
NARROW = ("int2", "int4", "uint2", "uint4")
UNIMPLEMENTED = 2  # lemnos.h
ROUNDINGS = 16  # tolerance of differ, in units of the last place


class Array(c.Structure):  # lemnos_array
    _fields_ = [("dtype", c.c_char_p), ("rank", c.c_int32), ("dims", c.c_int64 * MAX_RANK), ("data", c.c_void_p)]


class DeviceInfo(c.Structure):  # lemnos_device_info
    _fields_ = [("id", c.c_char * 64), ("kind", c.c_char * 24), ("name", c.c_char * 128), ("driver", c.c_char * 128),
                ("memory_bytes", c.c_int64), ("compile_only", c.c_bool), ("capabilities", c.c_char * 512)]


class ContextOptions(c.Structure):
    _fields_ = [("cache_dir", c.c_char_p), ("threads", c.c_int32)]


class CompileOptions(c.Structure):
    _fields_ = [("args", c.POINTER(Array)), ("opt_bisect_limit", c.c_int64), ("verify_each", c.c_bool),
                ("keep_constants", c.c_bool), ("max_bytes", c.c_int64)]


class ExecuteOptions(c.Structure):
    _fields_ = [("donate", c.c_bool), ("timeout_seconds", c.c_double), ("max_bytes", c.c_int64),
                ("cancel", c.c_void_p), ("host", c.c_void_p), ("event", c.c_void_p), ("progress", c.c_void_p),
                ("progress_user", c.c_void_p), ("progress_seconds", c.c_double)]


def check_structures():
    """The structures here have the members that lemnos.h declares, in its order."""
    with open(os.path.join(ROOT, "runtime", "include", "lemnos", "lemnos.h"), encoding="utf-8") as file:
        header = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
    for name, structure in (("array", Array), ("device_info", DeviceInfo), ("context_options", ContextOptions),
                            ("compile_options", CompileOptions), ("execute_options", ExecuteOptions)):
        body = re.search(r"typedef struct lemnos_" + name + r" \{(.*?)\n\}", header, re.S)[1]
        declared = []
        for declaration in filter(str.strip, body.split(";")):
            function = re.search(r"\(\*(\w+)\)", declaration)
            declared += [function[1]] if function else re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", declaration.strip())
        if declared != [field for field, _ in structure._fields_]:
            raise RuntimeError(f"lemnos_{name} has members {declared}: tests/lemnos_library.py is out of date")


class LemnosError(RuntimeError):
    """A call that failed; code as lemnos.h lists them."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def element_name(dtype):
    """StableHLO's name of a NumPy element type."""
    name = dtype.name
    fixed = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>", "complex128": "complex<f64>"}
    if name in fixed:
        return fixed[name]
    for long, short in (("uint", "ui"), ("int", "i"), ("float8_", "f8"), ("float6_", "f6"), ("float4_", "f4"), ("float",
                                                                                                                "f")):
        if name.startswith(long):
            return short + name[len(long):].upper()
    raise TypeError(f"no element type for {name}")


def element_dtype(name):
    """NumPy's element type for StableHLO's name."""
    import ml_dtypes
    fixed = {"i1": "bool", "bf16": "bfloat16", "complex<f32>": "complex64", "complex<f64>": "complex128"}
    if name in fixed:
        name = fixed[name]
    elif name.startswith("ui"):
        name = "uint" + name[2:]
    elif name.startswith("i"):
        name = "int" + name[1:]
    elif name[:3] in ("f8E", "f6E", "f4E"):
        name = f"float{name[1]}_{name[2:].lower()}"
    else:
        name = "float" + name[1:]
    return np.dtype(getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else name)


class Library:
    """As much of lemnos.h as suites need. A failed call raises LemnosError."""

    def __init__(self, path):
        check_structures()
        self.lib = c.CDLL(path)  # RTLD_LOCAL
        lib = self.lib
        lib.lemnos_status_text.restype = c.c_char_p
        lib.lemnos_status_text.argtypes = [c.c_void_p]
        lib.lemnos_status_code_of.argtypes = [c.c_void_p]
        lib.lemnos_status_release.argtypes = [c.c_void_p]
        lib.lemnos_array_bytes.argtypes = [c.POINTER(Array)]
        lib.lemnos_array_bytes.restype = c.c_int64
        lib.lemnos_module_n_results.argtypes = [c.c_void_p]
        for name in ("context_create", "devices", "device_open", "module_load", "compile", "execute_host"):
            getattr(lib, "lemnos_" + name).restype = c.c_void_p
        for name in ("context", "device", "module", "executable"):
            getattr(lib, f"lemnos_{name}_free").argtypes = [c.c_void_p]
            getattr(lib, f"lemnos_{name}_free").restype = None
        self.libc = c.CDLL(None)
        self.libc.free.argtypes = [c.c_void_p]
        self.context = c.c_void_p()
        self.call("context_create", c.byref(ContextOptions(b"", 0)), c.byref(self.context))

    def call(self, name, *args):
        status = getattr(self.lib, "lemnos_" + name)(*args)
        if status:
            text, code = self.lib.lemnos_status_text(status).decode(), self.lib.lemnos_status_code_of(status)
            self.lib.lemnos_status_release(status)
            raise LemnosError(f"lemnos_{name}: {text}", code)

    def devices(self):
        """(id, driver) of the devices that can run code."""
        infos, n = c.POINTER(DeviceInfo)(), c.c_int32()
        self.call("devices", self.context, c.byref(infos), c.byref(n), None)
        result = [(infos[i].id.decode(), infos[i].driver.decode()) for i in range(n.value) if not infos[i].compile_only]
        self.libc.free(infos)
        return result

    def open(self, device_id):
        device = c.c_void_p()
        self.call("device_open", self.context, device_id.encode(), c.byref(device))
        return device

    def described(self, arrays):
        """(lemnos_array for each NumPy array, what must be kept alive with it)."""
        out, kept = (Array * max(1, len(arrays)))(), []
        for slot, a in zip(out, arrays):
            slot.dtype, slot.rank = element_name(a.dtype).encode(), a.ndim
            slot.dims[:a.ndim] = a.shape
            if a.dtype.name in NARROW:  # Lemnos extends the sign to the whole byte
                a = a.astype(np.uint8 if a.dtype.name[0] == "u" else np.int8)
            kept.append(np.ascontiguousarray(a))
            slot.data = kept[-1].ctypes.data
        return out, kept

    def compile(self, data, device, arrays=None):
        """(executable, number of results) of a module's text or bytes, refined for the arrays' types if they are given."""
        data = data.encode() if isinstance(data, str) else data
        module, executable = c.c_void_p(), c.c_void_p()
        self.call("module_load", self.context, b"module", data, c.c_size_t(len(data)), None, c.byref(module))
        try:
            n_results = self.lib.lemnos_module_n_results(module)
            options = CompileOptions()
            if arrays:
                types, _ = self.described(arrays)
                for slot in types:
                    slot.data = None
                options.args = types
            self.call("compile", module, device, c.byref(options), c.byref(executable))
        finally:
            self.lib.lemnos_module_free(module)
        return executable, n_results

    def run(self, executable, arrays, n_results, timeout=0):
        """The results, as new arrays."""
        results, (args, _kept) = (Array * max(1, n_results))(), self.described(arrays)
        self.call("execute_host", executable, c.c_int32(len(arrays)), args, c.c_int32(n_results), results,
                  c.byref(ExecuteOptions(timeout_seconds=timeout)))
        out = []
        for i in range(n_results):
            r = results[i]
            raw = c.string_at(r.data, self.lib.lemnos_array_bytes(c.byref(r))) if r.data else b""
            dtype = element_dtype(r.dtype.decode())
            a = np.frombuffer(raw, np.int8).astype(dtype) if dtype.name in NARROW else np.frombuffer(raw, dtype)
            out.append(a.reshape(r.dims[:r.rank]))
            self.libc.free(r.data)
        return out

    def run_module(self, data, device, arrays, timeout=0, refine=True):
        executable, n_results = self.compile(data, device, arrays if refine else None)
        try:
            return self.run(executable, arrays, n_results, timeout)
        finally:
            self.lib.lemnos_executable_free(executable)


# --- a child process -------------------------------------------------------------------------------------------------


def send(stream, value):
    data = pickle.dumps(value)
    stream.write(struct.pack("<q", len(data)) + data)
    stream.flush()


def receive(stream):
    head = stream.read(8)
    return pickle.loads(stream.read(struct.unpack("<q", head)[0])) if len(head) == 8 else None


def serve(path):
    """The child: answers requests (module, device, arrays) with ("ok", results) or ("error", text, code)."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    library, opened = Library(path), {}
    while (request := receive(sys.stdin.buffer)) is not None:
        data, device, arrays, timeout = request
        try:
            if device not in opened:
                opened[device] = library.open(device)
            send(out, ("ok", library.run_module(data, opened[device], arrays, timeout)))
        except LemnosError as e:
            send(out, ("error", str(e), e.code))


class Worker:
    """A child that runs modules; it is replaced when it dies or does not answer."""

    def __init__(self, path, timeout=120):
        self.path, self.timeout, self.child = path, timeout, None

    def start(self):
        self.child = subprocess.Popen([sys.executable, os.path.abspath(__file__), self.path],
                                      stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE)

    def stop(self):
        if self.child:
            self.child.kill()
            self.child.wait()
            self.child = None

    def run(self, data, device, arrays):
        """The results; LemnosError if the library refused, or the child died (code 0)."""
        if not self.child:
            self.start()
        try:
            send(self.child.stdin, (data, device, arrays, float(self.timeout)))
            ready, _, _ = select.select([self.child.stdout], [], [], self.timeout + 60)
            answer = receive(self.child.stdout) if ready else None
        except OSError:
            answer = None
        if answer is None:
            code = self.child.poll()
            self.stop()
            raise LemnosError(f"the process ended with {code}" if code is not None else "no answer", 0)
        if answer[0] == "error":
            raise LemnosError(answer[1], answer[2])
        return answer[1]


# --- comparison ------------------------------------------------------------------------------------------------------


def is_float(dtype):
    """Whether a type has fractions: complex and ml_dtypes' small floats too."""
    return dtype.kind in "fc" or dtype.name.startswith(("bfloat", "float"))


def differ(actual, expected, exact=False, factor=1):
    """None, or how actual differs from expected.

    Integers and booleans agree bit for bit; so do floats if exact (any NaN equals any NaN), else to ROUNDINGS * factor
    units of their type, relative to the element and to the largest element.
    """
    import ml_dtypes
    if actual.shape != expected.shape or actual.dtype != expected.dtype:
        return f"{actual.dtype}{list(actual.shape)} instead of {expected.dtype}{list(expected.shape)}"
    if not is_float(expected.dtype):
        bad = np.asarray(actual != expected)
    else:
        epsilon = float(ml_dtypes.finfo(expected.dtype).eps)
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        a, w = actual.astype(wide), expected.astype(wide)
        with np.errstate(all="ignore"):
            scale = np.max(np.abs(w), initial=0, where=np.isfinite(w))
            near = np.abs(a - w) <= ROUNDINGS * factor * epsilon * (np.abs(w) + scale)
        same = (a == w) & (np.signbit(a.real) == np.signbit(w.real)) & (np.signbit(a.imag) == np.signbit(w.imag))
        bad = np.asarray(~((np.isnan(a) & np.isnan(w)) | same | (~np.isinf(w) & near & (not exact)) | ((a == w) &
                                                                                                       (not exact))))
    if not bad.any():
        return None
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} elements, at {list(at)} {actual[at]!r} instead of {expected[at]!r}"


if __name__ == "__main__":
    serve(sys.argv[1])
