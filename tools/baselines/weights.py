#!/usr/bin/env python3
"""Networks that spikelet trains are loaded in SpikingJelly, snnTorch, Norse and sparch.

    tools/baselines/weights.py [--program FILE] [--folder DIR] [FRAMEWORK…]

For each framework: generated images in the format of MNIST, a network of it that is trained for an epoch, `spikelet
convert … --to FRAMEWORK`, `torch.load(weights_only=True)`, `load_state_dict(strict=True)`, the test images as input, and
the spikes of every layer of neurons, compared with those of `spikelet record`. Then the way back: the state dict of
freshly initialized modules starts a training (`--init-from`).

Needs Python 3.11 with PyTorch 2.7.1, spikingjelly==2.0.0, snntorch==1.0.0 and norse==1.1.0 (with --no-deps), numpy. sparch
is not a package: its layers are stated here by the equations of their paper, with the parameters' names.
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent.parent
T, SAMPLES = 6, 48


def images(folder):
    """MNIST's four files: a bar whose place is the class, with noise."""
    random = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 256), ("t10k", 64)):
        labels = np.arange(count) % 10
        pixels = random.integers(0, 60, (count, 28, 28))
        for k, label in enumerate(labels):
            pixels[k, 2 * label + 3 : 2 * label + 7] += 180
        pixels = pixels.astype(np.uint8)
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 2051, count, 28, 28) + pixels.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 2049, count) + labels.astype(np.uint8).tobytes())
    return torch.tensor(pixels[:SAMPLES, None] / np.float32(255), dtype=torch.float32)


class Steps(nn.Module):
    """Modules with the names of spikelet's layers, run step by step."""

    def __init__(self, **modules):
        super().__init__()
        self.names = list(modules)
        for name, module in modules.items():
            self.add_module(name, module)

    def run(self, x):
        """The spikes [T, N, …] of layers of neurons."""
        spikes, state = {}, {}
        with torch.no_grad():
            for _ in range(T):
                y = x
                for name in self.names:
                    y, fired = self.step(self.get_submodule(name), name, y, state)
                    if fired:
                        spikes.setdefault(name, []).append(y)
        return {name: torch.stack(values) for name, values in spikes.items()}


# SpikingJelly

SPIKINGJELLY = """
[network]
input = [1, 28, 28]
neuron = { name = "lif", tau = 2.0 }
layers = [
  { conv = 6, kernel = 3, padding = 1, bias = true },
  "batch-norm",
  { neuron = { name = "plif", init_tau = 2.0 } },
  { max-pool = 2 },
  { conv = 8, kernel = 3, padding = 1 },
  "batch-norm",
  { neuron = { name = "gated_lif", v_threshold = 0.1 } },
  { avg-pool = 2 },
  "flatten",
  { linear = 24, bias = true },
  { neuron = { name = "klif", tau = 2.0, v_threshold = 0.2 } },
  { linear = 20 },
  { recurrent = { name = "lif", tau = 1.5, v_threshold = 0.1, v_reset = "none" } },
  { linear = 10, bias = true },
  { neuron = { name = "lif", tau = 3.0, v_threshold = 0.1, trainable = { tau = { bound = { above = { low = 1.0 } } } } } },
]
"""


def spikingjelly():
    from spikingjelly.activation_based import base, functional, layer, neuron

    class Net(Steps):
        """Layer by layer: GatedLIFNode takes sequences only."""

        def run(self, x):
            y, spikes = x.repeat(T, 1, 1, 1, 1), {}
            for name in self.names:
                module = self.get_submodule(name)
                with torch.no_grad():
                    if isinstance(module, (base.MemoryModule, neuron.GatedLIFNode)):
                        module.step_mode = "m"
                        y = spikes[name] = module(y)
                    else:
                        y = functional.seq_to_ann_forward(y, module)
            return spikes

    parts = [
        nn.Conv2d(1, 6, 3, padding=1),
        nn.BatchNorm2d(6),
        neuron.ParametricLIFNode(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 8, 3, padding=1, bias=False),
        nn.BatchNorm2d(8),
        neuron.GatedLIFNode(T=T),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(392, 24),
        neuron.KLIFNode(v_threshold=0.2),
        nn.Linear(24, 20, bias=False),
        layer.LinearRecurrentContainer(neuron.LIFNode(tau=1.5, v_threshold=0.1, v_reset=None), 20, 20, bias=False),
        nn.Linear(20, 10),
        neuron.ParametricLIFNode(init_tau=3.0, v_threshold=0.1),
    ]
    return Net(**{str(k): part for k, part in enumerate(parts)})


# snnTorch

SNNTORCH = """
[network]
input = [1, 28, 28]
neuron = { name = "rleaky_cell", beta = 0.85 }
layers = [
  { conv = 6, kernel = 5, bias = true, name = "conv1" },
  "batch-norm",
  { max-pool = 2 },
  { neuron = { name = "rleaky_cell", beta = 0.8, trainable = { beta = { bound = { clamp = { low = 0.0, high = 1.0 } } }, v_threshold = "channel" } }, name = "lif1" },
  "flatten",
  { linear = 24, bias = true, name = "fc1" },
  { neuron = { name = "rsynaptic_cell", alpha = 0.7, beta = 0.6 }, name = "lif2" },
  { linear = 20, name = "fc2" },
  { recurrent = { name = "rleaky_cell", beta = 0.85 }, name = "lif3" },
  { linear = 16, bias = true, name = "fc3" },
  { neuron = { name = "lif", tau = 4.0, decay_input = false, trainable = { tau = { bound = { above = { low = 1.0 } } } } }, name = "lif4" },
  { linear = 10, bias = true, name = "fc4" },
  { neuron = { name = "rleaky_cell", beta = 0.9, one_to_one = true, feedback = 0.5 }, name = "lif5" },
]
"""


def snntorch():
    import snntorch as snn

    class Net(Steps):
        def step(self, module, name, y, state):
            if not isinstance(module, snn.SpikingNeuron):
                return module(y), False
            spikes, *rest = module(y, *state.get(name, ()))
            # RLeaky takes its last spikes as well.
            state[name] = [spikes, *rest] if isinstance(module, snn.RLeaky) else rest
            return spikes, True

    return Net(**{
        "conv1": nn.Conv2d(1, 6, 5),
        "1": nn.BatchNorm2d(6),
        "2": nn.MaxPool2d(2),
        "lif1": snn.Leaky(beta=0.8, threshold=torch.ones(6, 1, 1), learn_beta=True, learn_threshold=True),
        "4": nn.Flatten(),
        "fc1": nn.Linear(864, 24),
        "lif2": snn.Synaptic(alpha=0.7, beta=0.6),
        "fc2": nn.Linear(24, 20, bias=False),
        "lif3": snn.RLeaky(beta=0.85, linear_features=20),
        "fc3": nn.Linear(20, 16),
        "lif4": snn.Leaky(beta=0.75, learn_beta=True, reset_mechanism="zero", reset_delay=False),
        "fc4": nn.Linear(16, 10),
        "lif5": snn.RLeaky(beta=0.9, V=0.5, all_to_all=False),
    })


# Norse

NORSE = """
[network]
input = [1, 28, 28]
neuron = { name = "norse_lif", v_threshold = 0.2 }
layers = [
  "flatten",
  { linear = 40, bias = true },
  "neuron",
  { lif-recurrent = 30, constants = { v_threshold = 0.2 } },
  { linear = 20 },
  { neuron = { name = "lif", tau = 4.0, v_threshold = 0.1 } },
  { linear = 10, bias = true },
  { neuron = { name = "norse_lif", tau_mem_inv = 200.0, v_threshold = 0.1 } },
]
"""


def norse():
    import norse.torch as norse
    from norse.torch.functional.lif import LIFParameters
    from norse.torch.functional.lif_box import LIFBoxParameters

    def lif(v_th, tau_mem_inv=100.0):
        return LIFParameters(v_th=torch.tensor(v_th), tau_mem_inv=torch.tensor(tau_mem_inv))

    class Net(Steps):
        def step(self, module, name, y, state):
            if isinstance(module, (nn.Flatten, nn.Linear)):
                return module(y), False
            spikes, state[name] = module(y, state.get(name))
            return spikes, True

    box = LIFBoxParameters(tau_mem_inv=torch.tensor(250.0), v_th=torch.tensor(0.1))
    parts = [
        nn.Flatten(),
        nn.Linear(784, 40),
        norse.LIFCell(lif(0.2)),
        norse.LIFRecurrentCell(40, 30, lif(0.2)),
        nn.Linear(30, 20, bias=False),
        norse.LIFBoxCell(box),
        nn.Linear(20, 10),
        norse.LIFCell(lif(0.1, 200.0)),
    ]
    return Net(**{str(k): part for k, part in enumerate(parts)})


# sparch, as its paper and its state dicts have it: layers in a list `snn`

SPARCH = """
[network]
input = [1, 28, 28]
layers = [
  "flatten",
  { radlif = 32, constants = { random_start = false, v_threshold = 0.02 } },
  { adlif = 24, constants = { random_start = false, v_threshold = 0.02 } },
  { rlif = 20, constants = { random_start = false, v_threshold = 0.02 } },
  { sparch-readout = 10, constants = { random_start = false } },
]
"""


class Sparch(nn.Module):
    """W.weight, norm, and V.weight, alpha, beta, a, b as the neuron has them."""

    def __init__(self, inputs, features, recurrent=False, adaptive=False):
        super().__init__()
        self.W = nn.Linear(inputs, features, bias=False)
        self.norm = nn.BatchNorm1d(features, momentum=0.05)
        if recurrent:
            self.V = nn.Linear(features, features, bias=False)
            nn.init.orthogonal_(self.V.weight)
        self.alpha = nn.Parameter(torch.empty(features).uniform_(0.82, 0.96))
        for name in ("beta", "a", "b") if adaptive else ():
            self.register_parameter(name, nn.Parameter(torch.empty(features).uniform_(0.97, 0.99)))
        self.recurrent, self.adaptive = recurrent, adaptive

    def forward(self, x, state):
        def limited(name, low, high):
            return self.get_parameter(name).clamp(low, high)

        u, s, w = state or (torch.zeros(len(x), len(self.alpha)),) * 3
        alpha = limited("alpha", np.exp(-1 / 5), np.exp(-1 / 25))
        current = self.norm(self.W(x))
        if self.recurrent:
            current = current + s @ (self.V.weight * (1 - torch.eye(len(self.alpha))))
        if self.adaptive:
            w = limited("beta", np.exp(-1 / 30), np.exp(-1 / 120)) * w + limited("a", -1, 1) * u + limited("b", 0, 2) * s
            current = current - w
        u = alpha * (u - s) + (1 - alpha) * current
        s = (u - 0.02 > 0).float()
        return s, (u, s, w)


def sparch():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.snn = nn.ModuleList([
                Sparch(784, 32, recurrent=True, adaptive=True),
                Sparch(32, 24, adaptive=True),
                Sparch(24, 20, recurrent=True),
                Sparch(20, 10),
            ])

        def run(self, x):
            spikes, state = {}, [None] * 4
            with torch.no_grad():
                for _ in range(T):
                    y = x.flatten(1)
                    # The readout, which is the last, has no spikes.
                    for k, layer in enumerate(self.snn[:3]):
                        y, state[k] = layer(y, state[k])
                        spikes.setdefault(f"{k + 1}.neuron", []).append(y)
            return {name: torch.stack(values) for name, values in spikes.items()}

    return Net()


NETWORKS = {
    "spikingjelly": (SPIKINGJELLY, spikingjelly),
    "snntorch": (SNNTORCH, snntorch),
    "norse": (NORSE, norse),
    "sparch": (SPARCH, sparch),
}


def prove(framework, program, folder, x):
    """Whether all spikes are the same."""

    def spikelet(*words):
        done = subprocess.run([program, *map(str, words)], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"spikelet {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    text, build = NETWORKS[framework]
    (folder / f"{framework}.toml").write_text(text)
    data = ("--dataset", "mnist", "--data-dir", folder / "data", "--encoder", "direct", "-T", T)
    train = ("--epochs", 1, "-b", 32, "--lr", "1e-3", "--validation", 0, "--device", "cpu", "--quiet")
    run = folder / framework
    spikelet("train", f"{framework}.toml", *data, *train, "--out", run)
    checkpoint = run / "last.safetensors"
    spikelet("convert", checkpoint, f"{framework}.pt", "--to", framework)
    spikelet("record", checkpoint, "--out", f"{framework}.npz", "--samples", f"0..{SAMPLES}", "--data-dir", folder / "data")
    recorded = np.load(folder / f"{framework}.npz")

    torch.manual_seed(0)
    net = build().eval()
    fresh = folder / f"{framework}-fresh.pt"
    begun = net.state_dict()
    if framework == "spikingjelly":
        # spikelet's feedback does not change the input.
        begun["12.rc.weight"][:, :20] = torch.eye(20)
    torch.save({"net": begun}, fresh)
    state = torch.load(folder / f"{framework}.pt", weights_only=True)
    net.load_state_dict(state, strict=True)
    equal = True
    for name, spikes in net.run(x).items():
        theirs = spikes.numpy()
        ours = recorded[next(key for key in (f"{name}.spike_seq", f"{name}.neuron.spike_seq") if key in recorded)]
        differ = int((ours.reshape(theirs.shape) != theirs).sum())
        equal &= differ == 0 and theirs.sum() > 0
        print(json.dumps({
            "framework": framework, "layer": name, "tensors": len(state), "elements": theirs.size,
            "spikes": int(theirs.sum()), "different": differ,
        }), flush=True)
    start = spikelet("train", f"{framework}.toml", *data, *train[:-1], "--out", folder / f"{framework}-back", "--init-from", fresh, "--json")
    print(json.dumps({"framework": framework, "init_from": json.loads(start.splitlines()[0])["init_from"]}), flush=True)
    return equal


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"of {', '.join(NETWORKS)} (default: all)")
    parser.add_argument("--program", default=ROOT / "target/release/spikelet")
    parser.add_argument("--folder", help="where files are written (default: a temporary folder)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        x = images(folder / "data" / "mnist")
        proved = [prove(name, Path(arguments.program).resolve(), folder, x) for name in arguments.frameworks or NETWORKS]
    sys.exit(0 if all(proved) else 1)


main()
