#!/usr/bin/env python3
"""Training steps of recurrent networks on this machine's GPU: spikelet, and PyTorch in three ways.

    recurrent_gpu.py [--layers lif,rleaky,radlif,se-adlif,silif] [--sizes 250,256,512] [--spikelet PATH]

One step is the forward pass, the cross entropy, the backward pass and Adam, of Linear(140, H) – layer – Linear(H, H) –
layer – Linear(H, 35) on random spikes of 2 % density. Sizes are time steps, batch size and H; several are separated
by spaces. PyTorch runs the same network with a loop over time: eager; the complete step recorded in a CUDA graph; the
loop compiled in pieces of several steps (torch.compile) and the complete step recorded. The input products of all
steps are one product, and a sequence is taken apart once. Precision: TF32 products of f32 numbers, or f32.

PATH is the example `recurrent_speed`, built with `cargo build --release --example recurrent_speed`. It runs in f32,
tf32 and bf16. The output is a Markdown table. Needs torch with CUDA.
"""
import argparse
import json
import math
import subprocess

from steps import CLASSES, INPUTS, Step, job, peers, spike, spikes, table

# Time steps in a compiled piece: more take minutes to compile.
PIECE = {"silif": 10}
LAYERS = ["lif", "rleaky", "radlif", "se-adlif", "silif"]


def networks():
    """The networks by name; torch is imported by the processes that need it."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    atan = spike(torch, False, lambda x: 1 / (1 + (math.pi * x).square()))
    atan_above = spike(torch, True, lambda x: 1 / (1 + (math.pi * x).square()))
    boxcar = spike(torch, True, lambda x: ((x > -0.5) & (x <= 0.5)).to(x.dtype))
    slayer = spike(torch, False, lambda x: torch.exp(-5 * x.abs()))

    # A piece of a layer: inputs of its steps, states, weights -> spikes, states.
    def lif(xs, s, v, weight):
        out = []
        for x in xs.unbind(0):
            h = v + (x + F.linear(s, weight) - v) / 2
            s = atan(h - 1)
            v = (1 - s) * h
            out.append(s)
        return torch.stack(out), s, v

    def rleaky(xs, s, v, weight, bias):
        out = []
        for x in xs.unbind(0):
            reset = (v > 1).to(v.dtype)
            v = 0.9 * v + x + F.linear(s, weight, bias) - reset
            s = atan_above(v - 1)
            out.append(s)
        return torch.stack(out), s, v

    def radlif(xs, s, u, w, weight, alpha, beta, a, b):
        out = []
        for x in xs.unbind(0):
            w = beta * w + a * u + b * s
            u = alpha * (u - s) + (1 - alpha) * (x + F.linear(s, weight) - w)
            s = boxcar(u - 1)
            out.append(s)
        return torch.stack(out), s, u, w

    def silif(xs, s, u, w, alpha, beta, a, b):
        out = []
        for x in xs.unbind(0):
            w = beta * w + a * u + b * s
            u = alpha * (u - s) + (1 - alpha) * (x - w)
            s = boxcar(u - 1)
            out.append(s)
        return torch.stack(out), s, u, w

    def se_adlif(xs, s, u, w, weight, alpha, beta, a, b):
        out = []
        for x in xs.unbind(0):
            h = alpha * u + (1 - alpha) * (x + F.linear(s, weight) - w)
            s = slayer(h - 1)
            u = h * (1 - s.detach())
            w = beta * w + 120 * (1 - beta) * (a * u + b * s)
            out.append(s)
        return torch.stack(out), s, u, w

    pieces = {"lif": lif, "rleaky": rleaky, "radlif": radlif, "se-adlif": se_adlif, "silif": silif}

    class Layer(nn.Module):
        def __init__(self, name, features, fn, piece):
            super().__init__()
            self.name, self.fn, self.piece = name, fn, piece
            adaptive = name in ("radlif", "silif", "se-adlif")
            self.states = 3 if adaptive else 2
            self.norm = nn.BatchNorm1d(features) if name in ("radlif", "silif") else None
            self.feedback = None if name == "silif" else nn.Linear(features, features, bias=name == "rleaky")
            ranges = [(0.82, 0.96), (0.97, 0.99), (0, 1), (0, 2)] if adaptive else []
            self.constants = nn.ParameterList(nn.Parameter(torch.empty(features).uniform_(*r)) for r in ranges)

        def forward(self, x):
            if self.norm is not None:
                x = self.norm(x.flatten(0, 1)).view_as(x)
            given = list(self.feedback.parameters()) if self.feedback is not None else []
            given += list(self.constants)
            states = [torch.zeros_like(x[0]) for _ in range(self.states)]
            out = []
            for part in x.split(self.piece or x.shape[0]):
                spikes, *states = self.fn(part, *states, *given)
                out.append(spikes)
            return torch.cat(out)

    class Network(nn.Module):
        def __init__(self, name, features, compiled):
            super().__init__()
            piece = PIECE.get(name, 5) if compiled else 0
            fn = torch.compile(pieces[name], fullgraph=True, dynamic=False) if compiled else pieces[name]
            bias = name not in ("radlif", "silif")
            self.layers = nn.Sequential(
                nn.Linear(INPUTS, features, bias=bias), Layer(name, features, fn, piece),
                nn.Linear(features, features, bias=bias), Layer(name, features, fn, piece),
                nn.Linear(features, CLASSES))

        def forward(self, x):
            return self.layers(x).mean(0)

    return Network


def step(name, size, way, tf32, device):
    """A training step of a network."""
    import torch

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    network = networks()(name, size[2], way == "compiled").to(device)
    x, y = spikes(torch, size, device)
    return Step(network, lambda: torch.nn.functional.cross_entropy(network(x), y), device)


def ours(path, name, size, precision, device):
    words = [path, name, device, precision, *map(str, size)]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode:
        return {"error": out.stderr[-300:]}
    words = out.stdout.split()
    value = lambda before: float(words[words.index(before) - 1])
    return {"ms": value("ms"), "MiB": value("MiB;"), "first": float(words[words.index("after") + 1])}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--layers", default=",".join(LAYERS))
    arguments.add_argument("--sizes", default="250,256,512")
    arguments.add_argument("--ways", default="eager,recorded,compiled", help="of PyTorch: eager, recorded, compiled")
    arguments.add_argument("--f32", action="store_true", help="PyTorch's products in f32 instead of TF32")
    arguments.add_argument("--spikelet", metavar="PATH")
    arguments.add_argument("--limit", type=float, default=300, help="seconds for PyTorch's processes of a size")
    arguments.add_argument("--device", default="cuda", help="cpu: a test of the script, without CUDA graphs")
    arguments.add_argument("--job", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        words = json.loads(given.job)
        return job(lambda: step(*words), words[2] != "eager")
    names, ways = given.layers.split(","), [way for way in given.ways.split(",") if way]
    columns = [f"PyTorch, {way}" for way in ways]
    columns += [f"spikelet, {p}" for p in ("f32", "tf32", "bf16")] if given.spikelet else []
    for size in ([int(n) for n in size.split(",")] for size in given.sizes.split()):
        rows = {name: [] for name in names}
        jobs = {(name, way): [name, size, way, not given.f32, given.device] for name in names for way in ways}
        found = peers(__file__, jobs, given.limit)
        for name in names:
            rows[name] += [found[name, way] for way in ways]
            if given.spikelet:
                rows[name] += [ours(given.spikelet, name, size, p, given.device) for p in ("f32", "tf32", "bf16")]
        print(f"T = {size[0]}, batch {size[1]}, {size[2]} neurons: ms a step (MiB; s to the first result)\n")
        table(columns, rows)


if __name__ == "__main__":
    main()
