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
import statistics
import subprocess
import sys
import time

INPUTS, CLASSES = 140, 35
# Time steps in a compiled piece: more take minutes to compile.
PIECE = {"silif": 10}
LAYERS = ["lif", "rleaky", "radlif", "se-adlif", "silif"]


def networks():
    """The networks by name; torch is imported by the processes that need it."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    def surrogate(above, derivative):
        class Spike(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return (x > 0 if above else x >= 0).to(x.dtype)

            @staticmethod
            def backward(ctx, g):
                return g * derivative(*ctx.saved_tensors)

        return Spike.apply

    atan = surrogate(False, lambda x: 1 / (1 + (math.pi * x).square()))
    atan_above = surrogate(True, lambda x: 1 / (1 + (math.pi * x).square()))
    boxcar = surrogate(True, lambda x: ((x > -0.5) & (x <= 0.5)).to(x.dtype))
    slayer = surrogate(False, lambda x: torch.exp(-5 * x.abs()))

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


class Step:
    """A training step."""

    def __init__(self, name, size, compiled, tf32):
        import torch
        self.torch = torch
        torch.manual_seed(0)
        torch.backends.cuda.matmul.allow_tf32 = tf32
        steps, batch, features = size
        self.network = networks()(name, features, compiled).cuda()
        self.x = (torch.rand(steps, batch, INPUTS, device="cuda") < 0.02).float()
        self.y = torch.randint(0, CLASSES, (batch,), device="cuda")
        self.adam = torch.optim.Adam(self.network.parameters(), lr=1e-3, capturable=True)

    def run(self):
        self.adam.zero_grad(set_to_none=True)
        loss = self.torch.nn.functional.cross_entropy(self.network(self.x), self.y)
        loss.backward()
        self.adam.step()

    def record(self):
        torch = self.torch
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.run()
        return graph.replay

    def measure(self, run):
        """The median milliseconds of a step, and the largest allocated memory in MiB so far."""
        torch, times = self.torch, []
        run()
        torch.cuda.synchronize()
        while len(times) < 3 or sum(times) < 1e3 and len(times) < 30:
            before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            before.record()
            run()
            after.record()
            after.synchronize()
            times.append(before.elapsed_time(after))
        return statistics.median(times), torch.cuda.max_memory_allocated() / 2**20


def job(name, size, way, tf32):
    """A process of its own for a network and a way: prints a JSON line."""
    start = time.perf_counter()
    step = Step(name, size, way == "compiled", tf32)
    step.run()
    step.torch.cuda.synchronize()
    first = time.perf_counter() - start
    print("ready", flush=True)
    sys.stdin.readline()
    start = time.perf_counter()
    run = step.run if way == "eager" else step.record()
    first += time.perf_counter() - start
    ms, memory = step.measure(run)
    print(json.dumps({"ms": ms, "MiB": memory, "first": first}), flush=True)


def peers(names, size, ways, tf32, limit):
    """Prepares all processes at once, measures one after the other."""
    running = {}
    for name in names:
        for way in ways:
            words = [sys.executable, __file__, "--job", json.dumps([name, size, way, tf32])]
            running[name, way] = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.time() + limit
    while time.time() < deadline and any(p.poll() is None and not waits(p) for p in running.values()):
        time.sleep(0.2)
    found = {}
    for key, process in running.items():
        try:
            out, trouble = process.communicate("go\n" if waits(process) else None, timeout=max(deadline - time.time(), 60))
            line = [line for line in out.splitlines() if line.startswith("{")]
            found[key] = json.loads(line[-1]) if line else {"error": trouble[-300:]}
        except subprocess.TimeoutExpired:
            process.kill()
            found[key] = {"error": "took too long"}
    return found


def waits(process):
    """Whether the process said that it is ready."""
    import select
    if not getattr(process, "is_ready", False) and select.select([process.stdout], [], [], 0)[0]:
        process.is_ready = process.stdout.readline().strip() == "ready"
    return getattr(process, "is_ready", False)


def ours(path, name, size, precision):
    words = [path, name, "cuda", precision, *map(str, size)]
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
    arguments.add_argument("--job", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        return job(*json.loads(given.job))
    names, ways = given.layers.split(","), [way for way in given.ways.split(",") if way]
    columns = [f"PyTorch, {way}" for way in ways]
    columns += [f"spikelet, {p}" for p in ("f32", "tf32", "bf16")] if given.spikelet else []
    for size in ([int(n) for n in size.split(",")] for size in given.sizes.split()):
        rows = {name: [] for name in names}
        found = peers(names, size, ways, not given.f32, given.limit)
        for name in names:
            rows[name] += [found[name, way] for way in ways]
            if given.spikelet:
                rows[name] += [ours(given.spikelet, name, size, p) for p in ("f32", "tf32", "bf16")]
        print(f"T = {size[0]}, batch {size[1]}, {size[2]} neurons: ms a step (MiB; s to the first result)\n")
        print(f"| | {' | '.join(columns)} |\n|---{'|---' * len(columns)}|")
        for name, cells in rows.items():
            cell = lambda c: c["error"] if "error" in c else f"{c['ms']:.2f} ({c['MiB']:.0f}; {c['first']:.1f})"
            print(f"| {name} | {' | '.join(map(cell, cells))} |", flush=True)
        print()


if __name__ == "__main__":
    main()
