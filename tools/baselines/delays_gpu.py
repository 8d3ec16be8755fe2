#!/usr/bin/env python3
"""Training steps, or evaluations, of a network with learned delays on this machine's GPU: spikelet, and the package
dcls in PyTorch.

    delays_gpu.py [--sizes 100,256,256,25] [--mode train,eval] [--spikelet PATH]

The network is that of SNN-delays: Dcls1d(140, H) – batch norm – LIF – dropout – Dcls1d(H, H) – batch norm – LIF –
dropout – Dcls1d(H, 35) – leaky integrator, whose softmax is summed over time, on random spikes of 2 % density. A
training step is the forward pass, the cross entropy, the backward pass, Adam, and the limits of the delays; kernels are
Gaussians of width ⌊K/2⌋. In an evaluation each synapse has one tap. Sizes are time steps, batch size, H and K; several
are separated by spaces.

PyTorch runs dcls 0.1.1 with a loop over time for the neurons: eager; the complete step recorded in a CUDA graph; kernels
and loop compiled (torch.compile, in pieces of several steps) and the complete step recorded; and with SpikingJelly's
multi-step LIFNode (Triton) in place of the loop, recorded. Precision: TF32 products of f32 numbers, or f32.

PATH is the example `delays_speed`, built with `cargo build --release --example delays_speed`. It runs in f32, tf32 and
bf16; an evaluation also with linear layers in place of the delays. The output is a Markdown table. Needs torch with
CUDA, the package dcls, and for `fused` spikingjelly 2.0 and loguru.
"""
import argparse
import json
import math
import os
import subprocess

from steps import CLASSES, INPUTS, Step, job, peers, spike, spikes, table

WAYS = ["eager", "recorded", "compiled", "fused"]
# Time steps in a compiled piece.
PIECE = 4
TAU = 1.005


def network(hidden, taps, way, trains):
    """The network; torch is imported by the processes that need it."""
    import torch
    import torch.nn.functional as F
    from DCLS.construct.modules import Dcls1d
    from torch import nn

    atan = spike(torch, False, lambda x: 2.5 / (1 + (2.5 * math.pi * x).square()))

    # A piece of a layer: inputs of its steps, potentials -> spikes or potentials, the last potentials.
    def lif(xs, v):
        out = []
        for x in xs.unbind(0):
            h = v - v / TAU + x
            s = atan(h - 1)
            v = (1 - s.detach()) * h
            out.append(s)
        return torch.stack(out), v

    def integrate(xs, v):
        out = []
        for x in xs.unbind(0):
            v = v - v / TAU + x
            out.append(v)
        return torch.stack(out), v

    class Neurons(nn.Module):
        def __init__(self, fires):
            super().__init__()
            self.fires, self.fused = fires, None
            self.fn = lif if fires else integrate
            if way == "fused":
                os.environ.setdefault("SJ_LIF_CUDA_IMPLEMENTATION", "triton")
                from spikingjelly.activation_based import neuron, surrogate

                self.fused = neuron.LIFNode(
                    tau=TAU, decay_input=False, v_threshold=1.0 if fires else 1e9, detach_reset=True, step_mode="m",
                    surrogate_function=surrogate.ATan(alpha=5.0), store_v_seq=not fires)
            if way == "compiled":
                self.fn = torch.compile(self.fn, fullgraph=True, dynamic=False)

        def forward(self, x):
            if self.fused is not None:
                self.fused.reset()
                s = self.fused(x)
                return s if self.fires else self.fused.v_seq
            v, out = torch.zeros_like(x[0]), []
            for part in x.split(PIECE if way == "compiled" else x.shape[0]):
                y, v = self.fn(part, v)
                out.append(y)
            return torch.cat(out)

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [(INPUTS, hidden), (hidden, hidden), (hidden, CLASSES)]
            # An evaluation rounds the positions and has no width.
            version = "gauss" if trains else "max"
            self.delays = nn.ModuleList(
                Dcls1d(m, n, kernel_count=1, dilated_kernel_size=taps, bias=False, version=version) for m, n in sizes)
            self.norms = nn.ModuleList(nn.BatchNorm1d(hidden) for _ in range(2))
            self.neurons = nn.ModuleList(Neurons(fires) for fires in (True, True, False))
            for layer in self.delays:
                nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
                with torch.no_grad():
                    layer.P.uniform_(-(taps // 2), taps // 2)
                    if not trains:
                        layer.P.round_()
                    layer.SIG.fill_(taps // 2 if trains else 0)
                layer.SIG.requires_grad_(False)

        def compile_kernels(self):
            for layer in self.delays:
                layer.DCK(layer.weight, layer.P, layer.SIG)  # makes its constants
                layer.DCK = torch.compile(layer.DCK, dynamic=False)

        def forward(self, x):
            for k, (delays, neurons) in enumerate(zip(self.delays, self.neurons)):
                x = F.pad(x.permute(1, 2, 0), (taps - 1, (taps - 1) // 2))
                x = delays(x).permute(2, 0, 1)
                if k < 2:
                    x = self.norms[k](x.flatten(0, 1)).view_as(x)
                x = neurons(x.contiguous())
                if k < 2:
                    # The same features at all steps of a sequence.
                    x = x * F.dropout(torch.ones_like(x[0]), 0.4, self.training)
            return x.softmax(2).sum(0)

        def clamp(self):
            for layer in self.delays:
                layer.clamp_parameters()

    return Network()


def step(size, mode, way, tf32, device):
    import torch

    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    trains = mode == "train"
    net = network(size[2], size[3], way, trains).to(device).train(trains)
    if way == "compiled":
        net.compile_kernels()
    x, y = spikes(torch, size, device)
    loss = lambda: torch.nn.functional.cross_entropy(net(x), y)
    return Step(net, loss, device, net.clamp, trains)


def ours(path, mode, size, precision, device):
    words = [path, mode, device, precision, *map(str, size)]
    out = subprocess.run(words, capture_output=True, text=True)
    if out.returncode:
        return {"error": out.stderr.strip()[-300:]}
    words = out.stdout.split()
    return {name: float(words[words.index(name + ",") - 1]) for name in ("ms", "MiB")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default="100,256,256,25")
    arguments.add_argument("--mode", default="train", help="train, eval, or both")
    arguments.add_argument("--ways", default=",".join(WAYS), help="of PyTorch: " + ", ".join(WAYS))
    arguments.add_argument("--precisions", default="f32,tf32,bf16", help="of spikelet")
    arguments.add_argument("--f32", action="store_true", help="PyTorch's products in f32 instead of TF32")
    arguments.add_argument("--spikelet", metavar="PATH")
    arguments.add_argument("--limit", type=float, default=100, help="seconds until PyTorch's processes of a size are prepared")
    arguments.add_argument("--device", default="cuda", help="cpu: a test of the script, without CUDA graphs")
    arguments.add_argument("--job", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.job:
        words = json.loads(given.job)
        return job(lambda: step(*words), words[2] != "eager")
    ways = [way for way in given.ways.split(",") if way]
    precisions = given.precisions.split(",")
    columns = [f"PyTorch, {way}" for way in ways]
    columns += [f"spikelet, {p}" for p in precisions] if given.spikelet else []
    for size in ([int(n) for n in size.split(",")] for size in given.sizes.split()):
        rows = {}
        for mode in given.mode.split(","):
            jobs = {way: [size, mode, way, not given.f32, given.device] for way in ways}
            found = peers(__file__, jobs, given.limit)
            rows[mode] = [found[way] for way in ways]
            if given.spikelet:
                rows[mode] += [ours(given.spikelet, mode, size, p, given.device) for p in precisions]
                if mode == "eval":
                    linear = [ours(given.spikelet, "linear", size, p, given.device) for p in precisions]
                    rows["eval, linear layers"] = [None] * len(ways) + linear
        print(f"T = {size[0]}, batch {size[1]}, {size[2]} neurons, K = {size[3]}: ms (MiB; s to the first result)\n")
        table(columns, rows)


if __name__ == "__main__":
    main()
