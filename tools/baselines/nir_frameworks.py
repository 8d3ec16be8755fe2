#!/usr/bin/env python3
"""NIR files that spikelet writes run in snnTorch, Norse and sinabs with the same spikes.

    tools/baselines/nir_frameworks.py [--program FILE] [--golden DIR] [--folder DIR] [--only TEXT] [--json] [FRAMEWORK…]

Files: graphs stated here and the graphs of --golden, both written again by `spikelet convert IN.nir OUT.nir`, and networks
that `spikelet train` trains for an epoch and `spikelet convert CHECKPOINT OUT.nir` exports. Each is read by the package
nir, imported by the framework's own function, and run for 64 steps on four random sequences, two binary and two of real
numbers. The spikes of every layer of neurons are compared with those of `spikelet simulate --convention FRAMEWORK`.

    equal            all spikes are the same
    rounding         f32 spikes differ, first where a potential is within 1e-5 of its threshold; in f64 none differs
    different        spikes differ, or nir reads another graph than before `spikelet convert`
    not importable   the importer refuses the graph, or computes something else (`faults`); importers are called as they are
    not comparable   sinabs emits several spikes in a step
    not converted    spikelet refuses the file

Exit code 1 if a file is `different`, or if a framework ran none. With --json a line that is `not importable` has the number
of spikes that differ, if the graph runs. About two minutes with --golden.

Needs Python 3.11 and an environment of its own; the metadata of sinabs asks for an older nir, hence --no-deps:

    pip install torch==2.7.1 numpy nir==1.0.8 nirtorch==2.6 snntorch==1.0.0 safetensors==0.8.0
    pip install --no-deps norse==1.1.0 sinabs==3.1.3 pbr
"""

import argparse
import contextlib
import io
import json
import keyword
import logging
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import nir
import numpy as np
import torch
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parent.parent.parent
T = 64
GAINS = 2.0 ** np.arange(-6, 14)
NEURONS = (nir.IF, nir.LIF, nir.CubaLIF)
COMPARED = ("equal", "rounding", "different")
PACKAGES = ("nir", "nirtorch", "snntorch", "norse", "sinabs", "torch")


class Spikelet:
    """The program, called in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = Path(program).resolve(), folder

    def __call__(self, *words):
        done = subprocess.run(
            [self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise RuntimeError(f"spikelet {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    def simulate(self, path, name, x, framework, dt, dtype="f32"):
        """All sequences [T, N, …] of a graph, by the names of nodes."""
        save_file({f"in/{name}": np.ascontiguousarray(x)}, self.folder / "x.safetensors")
        step = () if dt is None else ("--dt", dt)
        device = ("--device", "cpu", "--threads", 1, "--dtype", dtype, "--quiet")
        files = ("--input", "x.safetensors", "--out", "y.safetensors")
        self("simulate", path, *files, "--record", "all", "--convention", framework, *step, *device)
        return load_file(self.folder / "y.safetensors")


# Graphs


def flat(graph, prefix=""):
    """All nodes of a graph and of the graphs in it, by their paths."""
    found = {}
    for name, node in graph.nodes.items():
        if isinstance(node, nir.NIRGraph):
            found |= flat(node, f"{prefix}{name}/")
        else:
            found[prefix + name] = node
    return found


def in_order(graph, prefix=""):
    """The paths of neurons in the order of the edges from the input."""
    order, queue = [], [name for name, node in graph.nodes.items() if isinstance(node, nir.Input)]
    seen = set(queue)
    while queue:
        name = queue.pop(0)
        node = graph.nodes[name]
        if isinstance(node, nir.NIRGraph):
            order += in_order(node, f"{prefix}{name}/")
        elif isinstance(node, NEURONS):
            order.append(prefix + name)
        for source, target in graph.edges:
            if source == name and target not in seen:
                seen.add(target)
                queue.append(target)
    return order


def left_out(graph, modules):
    """A fault: importers of nirtorch.load leave out what they have no module for, without an error."""
    known = (nir.Input, nir.Output, *modules)
    unknown = next(((path, node) for path, node in flat(graph).items() if not isinstance(node, known)), None)
    if unknown:
        yield f"{type(unknown[1]).__name__} `{unknown[0]}` has no module and is left out"


def has_cycle(graph):
    if any(has_cycle(node) for node in graph.nodes.values() if isinstance(node, nir.NIRGraph)):
        return True
    left = set(graph.nodes)
    while ends := {name for name in left if not any(s == name and t in left for s, t in graph.edges)}:
        left -= ends
    return bool(left)


def same(a, b):
    """Whether two graphs have the same nodes, parameters and edges."""
    if type(a) is not type(b):
        return False
    if isinstance(a, nir.NIRGraph):
        edges = sorted(a.edges) == sorted(b.edges)
        return edges and a.nodes.keys() == b.nodes.keys() and all(same(a.nodes[k], b.nodes[k]) for k in a.nodes)
    skip = ("metadata", "input_type", "output_type")
    return all(np.array_equal(value, getattr(b, key)) for key, value in vars(a).items() if key not in skip)


# Frameworks


class Framework:
    """The importer of a framework, and how its network runs."""

    def __init__(self, graph, dt):
        self.graph, self.dt = graph, dt
        # The importers of snnTorch and Norse keep the axes of Flatten, which count without the batch.
        self.batched = not any(isinstance(node, nir.Flatten) for node in flat(graph).values())

    @staticmethod
    def module_name(path):
        return ".".join(part.replace(".", "_") for part in path.split("/"))

    def run(self, x, paths):
        """The spikes [T, N, …] of neurons. x is [T, N, …]."""
        if not self.batched:
            each = [self.once(x[:, k], paths) for k in range(x.shape[1])]
            return {path: np.stack([spikes[path] for spikes in each], 1) for path in paths}
        return self.once(x, paths)

    def once(self, x, paths):
        net, calls = self.load(), {path: [] for path in paths}
        net = net.double() if x.dtype == np.float64 else net
        for path in paths:
            def record(_, __, output, calls=calls[path]):
                calls.append((output[0] if isinstance(output, tuple) else output).detach().clone())

            net.get_submodule(self.module_name(path)).register_forward_hook(record)
        with torch.no_grad():
            self.steps(net, torch.from_numpy(x))
        return {path: self.sequence(torch.stack(values)) for path, values in calls.items()}

    def steps(self, net, x):
        state = None
        for x_t in x:
            _, state = net(x_t) if state is None else net(x_t, state)

    def sequence(self, values):
        return values.numpy()


class SnnTorch(Framework):
    """`import_from_nir`."""

    @staticmethod
    def step_length(_graph, _dt):
        """snnTorch's is 1e-4."""
        return None

    @staticmethod
    def module_name(path):
        parts = [part.replace(".", "_") for part in path.split("/")]
        return ".".join(f"nir_node_{part}" if keyword.iskeyword(part) else part for part in parts)

    def load(self):
        from snntorch.import_nir import import_from_nir

        return import_from_nir(self.graph)

    @staticmethod
    def faults(graph, _dt):
        """What the importer takes without an error, but computes differently."""
        if has_cycle(graph):
            yield "the input of a recurrent layer is connected to its recurrent weights (_create_rnn_subgraph)"
        for path, node in flat(graph).items():
            if isinstance(node, nir.IF):
                yield f"IF `{path}` becomes a LIF with beta = 0.9 (snnTorch #416)"
            times = [getattr(node, name) for name in ("tau", "tau_syn", "tau_mem") if hasattr(node, name)]
            if any(np.any(tau < 1e-4) for tau in times):
                yield f"`{path}`: a time constant is below the step of 1e-4, and 1 - dt/τ is clamped at 0"
            if isinstance(node, nir.LIF):
                scale = node.r * 1e-4 / node.tau
                if not np.allclose(scale, scale.flat[0]):
                    yield f"LIF `{path}`: r dt/τ is not that of all neurons; the threshold is divided by the smallest"
            if isinstance(node, (nir.LIF, nir.CubaLIF)) and np.any(node.v_reset):
                yield f"`{path}`: v_reset is ignored, the reset is to 0"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored (NIRTorch)"


class Norse(Framework):
    """`from_nir`."""

    @staticmethod
    def step_length(graph, dt):
        """1/r of IF neurons, which are integrated without dt; otherwise that of the file, or Norse's default."""
        rates = [node.r.flat[0] for node in flat(graph).values() if isinstance(node, nir.IF)]
        return float(1 / rates[0]) if rates else dt

    def load(self):
        import norse.torch

        step = {} if self.dt is None else {"dt": self.dt}
        return norse.torch.from_nir(self.graph, ignore_warnings=True, **step)

    @staticmethod
    def faults(graph, dt):
        yield from left_out(graph, (nir.Affine, nir.Linear, nir.Conv2d, nir.SumPool2d, nir.Flatten, *NEURONS))
        for path, node in flat(graph).items():
            if isinstance(node, nir.LIF) and not np.allclose(node.r, 1):
                yield f"LIF `{path}`: r is ignored"
            if isinstance(node, nir.IF) and not np.allclose(node.r * (dt or 1e-3), 1):
                yield f"IF `{path}`: r and dt are ignored, and r dt is not 1"
            if isinstance(node, NEURONS) and np.any(node.v_reset):
                yield f"`{path}`: v_reset is ignored, the reset is to 0"
            if isinstance(node, nir.CubaLIF) and np.any(node.v_leak):
                yield f"CubaLIF `{path}`: the current leaks to v_leak as well"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored"


class Sinabs(Framework):
    """`from_nir`; its layers take sequences."""

    def __init__(self, graph, dt):
        super().__init__(graph, dt)
        self.batched = True
        self.cycle = has_cycle(graph)

    @staticmethod
    def step_length(graph, _dt):
        """1, as time constants are in steps; 1/r if there are only IF neurons, which are integrated without dt."""
        only_if = not any(isinstance(node, nir.LIF) for node in flat(graph).values())
        return Norse.step_length(graph, None) if only_if else None

    def load(self):
        import sinabs

        return sinabs.from_nir(self.graph, batch_size=self.samples, num_timesteps=1 if self.cycle else T)

    def once(self, x, paths):
        self.samples = x.shape[1]
        return super().once(x, paths)

    def steps(self, net, x):
        """Layers take all steps, with the samples' axis first; in a cycle they take one step after the other."""
        if self.cycle:
            super().steps(net, x)
        else:
            net(x.transpose(0, 1).flatten(0, 1))

    def sequence(self, values):
        if self.cycle:
            return values.numpy()
        return values[0].unflatten(0, (-1, T)).transpose(0, 1).numpy()

    @staticmethod
    def faults(graph, dt):
        yield from left_out(graph, (nir.Affine, nir.Conv1d, nir.Conv2d, nir.SumPool2d, nir.Flatten, nir.IF, nir.LIF, nir.LI))
        for path, node in flat(graph).items():
            if isinstance(node, nir.LIF) and not np.allclose(node.r * -np.expm1(-1 / node.tau), 1, rtol=1e-5):
                yield f"LIF `{path}`: u = αv + x whatever r is (norm_input=False), and r is not 1/(1 − α)"
            if isinstance(node, nir.IF) and not np.allclose(node.r * (dt or 1), 1):
                yield f"IF `{path}`: r and dt are ignored, and r dt is not 1"
            if isinstance(node, nir.SumPool2d) and np.any(node.padding):
                yield f"SumPool2d `{path}`: the padding is ignored"


FRAMEWORKS = {"snntorch": SnnTorch, "norse": Norse, "sinabs": Sinabs}


# Graphs stated here


def neurons(framework, kind, shape, random):
    """Neurons with parameters that the framework takes; those that may differ from neuron to neuron do."""
    one, dt = np.ones(shape, np.float32), {"snntorch": 1e-4, "norse": 1e-3, "sinabs": 1.0}[framework]
    if kind == "if":
        return nir.IF(r=one / dt, v_threshold=one * 1.5)
    steps = random.uniform(3, 12, shape)
    if kind == "lif":
        tau = steps * dt
        if framework == "snntorch":
            return nir.LIF(tau=tau, r=tau / dt, v_leak=one * 0, v_threshold=one)
        if framework == "sinabs":
            return nir.LIF(tau=tau, r=-1 / np.expm1(-1 / tau), v_leak=one * 0, v_threshold=one)
        v_leak, v_threshold = random.uniform(-0.2, 0.2, shape), random.uniform(0.4, 0.8, shape)
        return nir.LIF(tau=tau, r=one, v_leak=v_leak, v_threshold=v_threshold)
    tau_syn, tau_mem = random.uniform(2, 6, shape) * dt, steps * dt
    if framework == "snntorch":
        return nir.CubaLIF(tau_syn, tau_mem, r=tau_mem / dt, v_leak=one * 0, v_threshold=one * 2, w_in=tau_syn / dt)
    r, w_in = random.uniform(1, 3, shape), random.uniform(1, 3, shape)
    return nir.CubaLIF(tau_syn, tau_mem, r=r, v_leak=one * 0, v_threshold=random.uniform(0.4, 0.8, shape), w_in=w_in)


def stated(framework, kind):
    """Graphs of one kind of neurons: dense, convolutional and recurrent."""
    random = np.random.default_rng(1)

    def weight(*shape, scale=1.0):
        if framework == "sinabs":
            # With inputs from 0 to 1 no neuron fires twice in a step, and no potential becomes negative.
            value = random.uniform(0, 1, shape)
            value *= {"if": 1.4, "lif": 0.9}[kind] * scale / value.sum(tuple(range(1, len(shape))), keepdims=True)
        else:
            value = random.uniform(-0.5, 1, shape) * 2 / np.sqrt(np.prod(shape[1:]))
        return value.astype(np.float32)

    def bias(out):
        return random.uniform(0, 0.05, out).astype(np.float32)

    def affine(out, inputs, scale=1.0):
        return nir.Affine(weight(out, inputs, scale=scale), bias(out))

    def conv(out, inputs, size, scale=1.0):
        filters = weight(out, inputs, 3, 3, scale=scale)
        return nir.Conv2d(size, filters, stride=1, padding=1, dilation=1, groups=1, bias=bias(out))

    def layer(*shape):
        return neurons(framework, kind, shape, random)

    def chain(**nodes):
        names = list(nodes)
        return nodes, list(zip(names, names[1:]))

    def graph(nodes, edges):
        return nir.NIRGraph(nodes, edges)

    pool = nir.AvgPool2d if framework == "snntorch" else nir.SumPool2d
    pool = pool(kernel_size=np.array([2, 2]), stride=np.array([2, 2]), padding=np.array([0, 0]))
    yield "mlp", graph(*chain(
        input=nir.Input(np.array([20])),
        fc1=affine(32, 20), n1=layer(32), fc2=affine(24, 32), n2=layer(24), fc3=affine(10, 24), n3=layer(10),
        output=nir.Output(np.array([10])),
    ))
    if framework != "sinabs":
        yield "linear", graph(*chain(
            input=nir.Input(np.array([20])),
            fc1=nir.Linear(weight(24, 20)), n1=layer(24), fc2=nir.Linear(weight(24, 24)), n2=layer(24),
            output=nir.Output(np.array([24])),
        ))
    yield "conv", graph(*chain(
        input=nir.Input(np.array([2, 10, 10])),
        conv1=conv(6, 2, (10, 10)), n1=layer(6, 10, 10), pool=pool, conv2=conv(8, 6, (5, 5), 0.5), n2=layer(8, 5, 5),
        flatten=nir.Flatten({"input": np.array([8, 5, 5])}, 0, -1), fc=affine(10, 200), n3=layer(10),
        output=nir.Output(np.array([10])),
    ))
    for rec_kind in ("Affine", "Linear"):
        rec = affine(16, 16, 0.3) if rec_kind == "Affine" else nir.Linear(weight(16, 16, scale=0.3))
        nodes, edges = chain(
            input=nir.Input(np.array([12])), fc1=affine(16, 12, 0.6), **{"lif1.lif": layer(16)}, fc2=affine(6, 16),
            n2=layer(6), output=nir.Output(np.array([6])),
        )
        nodes["lif1.w_rec"] = rec
        edges += [("lif1.lif", "lif1.w_rec"), ("lif1.w_rec", "lif1.lif")]
        yield f"recurrent-{rec_kind.lower()}", graph(nodes, edges)


def stated_files(framework, spikelet):
    for kind in ("if", "lif", "cuba"):
        if (framework, kind) == ("sinabs", "cuba"):
            continue
        for name, graph in stated(framework, kind):
            path = spikelet.folder / f"{framework}-{kind}-{name}.nir"
            nir.write(path, graph)
            dt = {"norse": 1e-3}.get(framework)
            yield f"stated {framework} {kind}-{name}", path, dt


# Networks that are trained here

TRAINED = {
    "lif-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "lif", tau = 3.0 } },
          { linear = 32 },
          { neuron = { name = "plif", init_tau = 4.0 } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0, trainable = { tau = { granularity = "neuron", bound = { above = { low = 1.0 } } } } } },
        ]""",
    "lif-undivided-input": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "lif", tau = 3.0, decay_input = false } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 4.0, decay_input = false } },
        ]""",
    "if-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "if" } },
          { linear = 10, bias = true },
          { neuron = { name = "if" } },
        ]""",
    "if-conv": """
        layers = [
          { conv = 6, kernel = 3, stride = 2, bias = true },
          "batch-norm",
          { neuron = { name = "if" } },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "if" } },
        ]""",
    "lif-conv": """
        layers = [
          { conv = 6, kernel = 3, padding = 1, stride = 2, bias = true },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          { conv = 8, kernel = 3, stride = 2 },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "lif-conv-pool": """
        layers = [
          { conv = 6, kernel = 3, padding = 1, bias = true },
          "batch-norm",
          { neuron = { name = "lif", tau = 2.0 } },
          { avg-pool = 2 },
          { conv = 8, kernel = 3 },
          { neuron = { name = "lif", tau = 2.0 } },
          { avg-pool = 2 },
          "flatten",
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "cuba-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "cuba_lif", c_decay = 0.5, v_decay = 0.75 } },
          { linear = 10, bias = true },
          { neuron = { name = "cuba_lif", c_decay = 0.6, v_decay = 0.8 } },
        ]""",
    "norse-lif-mlp": """
        layers = [
          "flatten",
          { linear = 64, bias = true },
          { neuron = { name = "norse_lif", v_threshold = 0.3 } },
          { linear = 10, bias = true },
          { neuron = { name = "norse_lif", v_threshold = 0.3 } },
        ]""",
    "lif-recurrent": """
        layers = [
          "flatten",
          { linear = 40, bias = true },
          { recurrent = { name = "lif", tau = 3.0 } },
          { linear = 10, bias = true },
          { neuron = { name = "lif", tau = 2.0 } },
        ]""",
    "cuba-recurrent": """
        layers = [
          "flatten",
          { rnn = 40, cell = { name = "cuba_lif" }, bias = true },
          { linear = 10, bias = true },
          { neuron = { name = "cuba_lif" } },
        ]""",
}
TRAIN = ("--epochs", 1, "--train-images", 1024, "--test-images", 100, "--validation", 0, "--device", "cpu", "--quiet")


def trained_files(spikelet, only):
    """Networks after an epoch on generated digits, and the Braille network after one on generated letters."""
    networks = {name: (f"{name}.toml", "synthetic", ("-T", 8, "-b", 64, "--encoder", "direct")) for name in TRAINED}
    networks["braille-rsnn"] = ("braille-rsnn", "synthetic-braille", ("-b", 64))
    for name, (network, dataset, settings) in networks.items():
        label = f"trained {name}"
        if only not in label:
            continue
        if name in TRAINED:
            (spikelet.folder / network).write_text(f"[network]\ninput = [1, 28, 28]{TRAINED[name]}\n")
        spikelet("train", network, "--dataset", dataset, *settings, *TRAIN, "--force", "--out", f"runs/{name}")
        for dt in (1e-3, 1e-4):
            yield f"{label} dt {dt:g}", spikelet.folder / f"runs/{name}/last.safetensors", dt


# Proof


def sequences(shape, steps, gains):
    """[T, 4 × gains, …]: two binary and two real sequences for each gain."""
    random = np.random.default_rng(0)
    binary = [random.random((steps, *shape)) < p for p in (0.2, 0.5)]
    real = [random.uniform(0, 1, (steps, *shape)), random.uniform(-0.5, 1.5, (steps, *shape))]
    each = np.stack([np.asarray(x, np.float32) for x in (*binary, *real)], 1)
    return np.concatenate([each * np.float32(gain) for gain in gains], 1)


def several(graph, paths, sequences, k=slice(None)):
    """Whether sinabs would fire more than once in a step, or clip the potential of an IF neuron, in samples k."""
    for path in paths:
        node = flat(graph)[path]
        if np.any(sequences[f"{path}/h"][:, k] >= 2 * node.v_threshold):
            return True
        if isinstance(node, nir.IF) and np.any(sequences[f"{path}/v"][:, k] <= -node.v_threshold):
            return True
    return False


def gain(graph, paths, name, shape, framework, dt, spikelet, path):
    """The factor of the input at which most layers fire, neither always nor rarely; None if none fires at any."""
    y = spikelet.simulate(path, name, sequences(shape, T // 2, GAINS), framework, dt)
    best, found = (0, 0.0), None
    for i, factor in enumerate(GAINS):
        k = slice(4 * i, 4 * i + 4)
        rates = [float(y[f"{p}/out"][:, k].mean()) for p in paths]
        firing = [rate * (1 - rate) for rate in rates if 0 < rate < 1]
        score = (len(firing), min(firing, default=0.0))
        if score > best and not (framework == "sinabs" and several(graph, paths, y, k)):
            best, found = score, factor
    return found


def near_threshold(graph, paths, ours, theirs):
    """Samples whose first differences are all potentials within 1e-5 of their thresholds, and the number of samples."""
    near, count = 0, 0
    unequal = {path: ours[f"{path}/out"] != theirs[path] for path in paths}
    for k in range(next(iter(theirs.values())).shape[1]):
        steps = [np.flatnonzero(u[:, k].reshape(len(u), -1).any(1)) for u in unequal.values()]
        if all(len(s) == 0 for s in steps):
            continue
        count += 1
        t = min(s[0] for s in steps if len(s))
        path = next(path for path in paths if unequal[path][t, k].any())
        threshold = flat(graph)[path].v_threshold
        gap = np.abs(ours[f"{path}/h"][t, k] - threshold) / np.abs(threshold)
        near += bool(np.all(gap[unequal[path][t, k]] < 1e-5))
    return near, count


def first_line(error):
    text = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {text[:160]}"


def prove(label, path, framework, dt, spikelet):
    """The comparison of a file in a framework, as a dictionary."""
    row, graph = {"file": label, "framework": framework}, nir.read(path)
    paths = in_order(graph)
    inputs = [(name, node) for name, node in graph.nodes.items() if isinstance(node, nir.Input)]
    if len(inputs) != 1 or sum(isinstance(node, nir.Output) for node in graph.nodes.values()) != 1:
        return row | {"status": "not importable", "reason": "NIRTorch runs graphs with one Input and one Output"}
    (name, node), = inputs
    shape = [int(size) for size in node.input_type["input"]]
    kind = FRAMEWORKS[framework]
    dt = kind.step_length(graph, dt)
    reason = next(kind.faults(graph, dt), None)
    try:
        with quiet():
            imported = kind(nir.read(path), dt)
            imported.run(np.zeros((T, 4, *shape), np.float32), paths)
    except Exception as error:  # importers are not ours: any error is a result
        text = first_line(error)
        return row | {"status": "not importable", "reason": f"{reason}; then {text}" if reason else text}
    factor = gain(graph, paths, name, shape, framework, dt, spikelet, path)
    if factor is None:
        if reason:
            return row | {"status": "not importable", "reason": reason}
        text = "emits several spikes in a step, or clips the potential of IF, wherever it fires"
        return row | {"status": "not comparable", "reason": f"sinabs {text}" if framework == "sinabs" else "no spikes"}
    x = sequences(shape, T, [factor])
    ours = spikelet.simulate(path, name, x, framework, dt)
    with quiet():
        theirs = kind(nir.read(path), dt).run(x, paths)
    layers = compare(paths, ours, theirs)
    row |= {"gain": float(factor), "dt": dt, "layers": layers}
    row |= {key: sum(layer[key] for layer in layers.values()) for key in ("elements", "spikes", "different")}
    if reason:
        return row | {"status": "not importable", "reason": reason}
    if framework == "sinabs" and (several(graph, paths, ours) or max(b.max() for b in theirs.values()) > 1):
        return row | {"status": "not comparable", "reason": "sinabs emits several spikes in a step, or clips the potential of IF"}
    if row["different"] == 0:
        return row | {"status": "equal"}
    near, count = near_threshold(graph, paths, ours, theirs)
    reason = f"first differences within 1e-5 of the threshold in {near} of {count} samples"
    if near < count or framework == "sinabs":  # the spikes of sinabs are always f32
        return row | {"status": "different", "reason": reason}
    ours = spikelet.simulate(path, name, x, framework, dt, "f64")
    with quiet():
        theirs = kind(nir.read(path), dt).run(x.astype(np.float64), paths)
    in_f64 = sum(layer["different"] for layer in compare(paths, ours, theirs).values())
    status = "different" if in_f64 else "rounding"
    return row | {"status": status, "different_f64": in_f64, "reason": f"{reason}; in f64 {in_f64:,} differ"}


def compare(paths, ours, theirs):
    """Spikes and differences of each layer."""
    layers = {}
    for path in paths:
        a, b = ours[f"{path}/out"], theirs[path]
        assert a.shape == b.shape, (path, a.shape, b.shape)
        layers[path] = {"elements": a.size, "spikes": int(b.sum()), "different": int((a != b).sum())}
    return layers


@contextlib.contextmanager
def quiet():
    """Without what importers print."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def show(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    done = row["status"] in COMPARED and "elements" in row
    counts = f"{row['elements']:>9,} {row['spikes']:>8,} {row['different']:>9,}" if done else f"{'':9} {'':8} {'':9}"
    text = row["status"] if row["status"] == "equal" else f"{row['status']}: {row['reason']}"
    print(f"{row['file']:<42} {row['framework']:<9} {counts}  {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"of {', '.join(FRAMEWORKS)} (default: all)")
    parser.add_argument("--program", default=ROOT / "target/release/spikelet")
    parser.add_argument("--golden", help="folder of NIR files, with the step length of NAME.nir in NAME.json, if it is there")
    parser.add_argument("--folder", help="where files are written (default: a temporary folder)")
    parser.add_argument("--only", default="", help="files whose names contain this text")
    parser.add_argument("--json", action="store_true", help="a JSON object for each line")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        spikelet = Spikelet(arguments.program, folder)
        sys.exit(0 if run(arguments, spikelet) else 1)


def golden_files(folder):
    for path in sorted(Path(folder).glob("*.nir")):
        told = path.with_suffix(".json")
        dt = json.loads(told.read_text()).get("simulation", {}).get("dt") if told.exists() else None
        yield f"golden {path.stem}", path, dt


def run(arguments, spikelet):
    """Whether everything is as it should be."""
    frameworks = arguments.frameworks or list(FRAMEWORKS)
    rows, good = [], True
    versions = {name: version(name) for name in PACKAGES}
    if arguments.json:
        print(json.dumps({"versions": versions}))
    else:
        print(", ".join(f"{name} {number}" for name, number in versions.items()))
        print(f"{'file':<42} {'framework':<9} {'compared':>9} {'spikes':>8} {'different':>9}")
    for files, each in sources(arguments, spikelet, frameworks):
        for label, path, dt in files:
            if arguments.only not in label:
                continue
            written = spikelet.folder / f"{label.replace(' ', '-')}.nir"
            row = {"file": label, "framework": "nir"} | convert(spikelet, path, written, dt)
            rows.append(row)
            if row["status"] != "equal":
                good &= row["status"] != "different"
                show(row, arguments.json)
                continue
            for framework in each if in_order(nir.read(written)) else ():
                row = prove(label, written, framework, dt, spikelet)
                good &= row["status"] != "different"
                rows.append(row)
                show(row, arguments.json)
    return summary(rows, frameworks, arguments.json) and good


def sources(arguments, spikelet, frameworks):
    """Files, with the frameworks that they are for."""
    for framework in frameworks:
        yield stated_files(framework, spikelet), [framework]
    yield trained_files(spikelet, arguments.only), frameworks
    if arguments.golden:
        yield golden_files(arguments.golden), frameworks


def convert(spikelet, path, written, dt):
    """Writes a graph again with spikelet, or the network of a checkpoint; whether nir reads the same graph."""
    checkpoint = path.suffix != ".nir"
    try:
        # The default of an export is a step of 1e-3.
        spikelet("convert", path, written, *(("--dt", dt) if checkpoint and dt != 1e-3 else ()))
    except RuntimeError as error:
        return {"status": "not converted", "reason": str(error).splitlines()[1].removeprefix("error: ")}
    before, after = (read(file) for file in (written if checkpoint else path, written))
    if isinstance(before, str):
        reason = f"nir.read{'' if checkpoint else ' of the original'}: {before}"
        return {"status": "different" if checkpoint else "not importable", "reason": reason}
    if isinstance(after, str) or not same(before, after):
        return {"status": "different", "reason": after if isinstance(after, str) else "another graph than the original"}
    return {"status": "equal"}


def read(path):
    """A graph, or the error of nir.read as text."""
    try:
        return nir.read(path)
    except Exception as error:  # nir is not ours: any error is a result
        return first_line(error)


def summary(rows, frameworks, as_json):
    """Prints a line for each framework; whether each compared spikes."""
    good = True
    for framework in ["nir", *frameworks]:
        mine = [row for row in rows if row["framework"] == framework]
        line = {"framework": framework, "files": len(mine)}
        for status in (*COMPARED, "not importable", "not comparable", "not converted"):
            line[status] = sum(row["status"] == status for row in mine)
        if framework != "nir":
            compared = [row for row in mine if "elements" in row and row["status"] in COMPARED]
            for key in ("elements", "spikes", "different"):
                line["differing spikes" if key == "different" else key] = sum(row[key] for row in compared)
            good &= line["spikes"] > 0
        if as_json:
            print(json.dumps({"summary": {key.replace(" ", "_"): value for key, value in line.items()}}))
        else:
            counts = [f"{value:,} {key}" for key, value in line.items() if key != "framework" and value]
            print(f"{framework}: {', '.join(counts)}")
    return good


main()
