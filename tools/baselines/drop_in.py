#!/usr/bin/env python3
"""Training steps of SpikingJelly's networks with SpikingJelly's neurons and with spikelet's drop-ins, in PyTorch.

    drop_in.py [NETWORK…] [--device cpu] [--spikelet PATH] [--types bf16,tf32]

    csnn        the Fashion-MNIST network of SpikingJelly's tutorial: T = 4, batch 128, 128 channels
    sew-resnet  SEW-ResNet-18 of SpikingJelly: 224 x 224, T = 4, batch 32; needs torchvision

Columns: SpikingJelly with its loops in PyTorch and with its Triton kernels (with bf16 its modules run the loops, whatever is
asked for), and the same network after `spikelet.torch.convert_`; each eager, compiled, and in a CUDA graph. With --spikelet, the
whole network in spikelet's engine.
ms is the median of a step, MiB the largest allocated memory. On the CPU sizes are small.

Needs PyTorch, the wheels of spikelet, of spikingjelly 2.0.0 and loguru. One table for each network and number type.
"""

import argparse
import json
import subprocess
import sys

from steps import Step, job, peers

TORCH, TRITON, AUTO, DROP_IN = "SpikingJelly, torch", "SpikingJelly, Triton", "SpikingJelly", "drop-in"
MODES = ["eager", "compiled", "graph"]
PROGRAMS = {"csnn": "csnn", "sew-resnet": "sew-resnet18"}


class Training(Step):
    """A training step by stochastic gradient descent with momentum, with a reset of all neurons."""

    def __init__(self, network, loss, device, reset):
        import torch

        self.torch, self.loss, self.device, self.reset = torch, loss, device, reset
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.loss().backward()
        self.optimizer.step()
        self.reset()

    def release(self):
        self.optimizer.zero_grad(set_to_none=True)
        if self.device == "cuda":
            self.torch.cuda.empty_cache()
            self.torch.cuda.reset_peak_memory_stats()


def made(name, device):
    """A network, its input, and its scores from its output."""
    import torch
    from spikingjelly.activation_based import functional, neuron, surrogate

    small = device == "cpu"
    if name == "csnn":
        from convolutional import Csnn

        whole = Csnn(4, 32 if small else 128, device, channels_last=True)
        images = torch.rand(16 if small else 128, 1, 28, 28, device=device)
        return whole.call, images.to(memory_format=torch.channels_last), lambda scores: scores
    from spikingjelly.activation_based.model.sew_resnet import sew_resnet18

    settings = dict(surrogate_function=surrogate.ATan(), detach_reset=True)
    network = sew_resnet18(num_classes=1000, cnf="ADD", spiking_neuron=neuron.IFNode, **settings)
    functional.set_step_mode(network, "m")
    network = network.to(device).to(memory_format=torch.channels_last)
    size = 64 if small else 224
    images = torch.rand(8 if small else 32, 3, size, size, device=device).to(memory_format=torch.channels_last)
    return network, images.unsqueeze(0).expand(4, *images.shape), lambda scores: scores.mean(0)


def make(words):
    import os

    name, neurons, mode, number, device = words
    if neurons in (TORCH, TRITON):
        for kind in ("IF", "LIF"):
            os.environ[f"SJ_{kind}_CUDA_IMPLEMENTATION"] = {TORCH: "torch", TRITON: "triton"}[neurons]
    import torch
    import torch.nn.functional as F
    from spikingjelly.activation_based import functional

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("highest" if number == "f32" else "high")
    torch.backends.cudnn.allow_tf32 = number != "f32"
    network, x, scores_of = made(name, device)
    if neurons == DROP_IN:
        import spikelet.torch

        report = spikelet.torch.convert_(network, verbose=False)
        if report.left:
            raise SystemExit(f"left as they were: {report.left}")
    batch = x.shape[-4]
    labels = torch.randint(0, 10, (batch,), device=device)
    call = torch.compile(network) if mode == "compiled" else network

    def loss():
        with torch.autocast(device, dtype=torch.bfloat16, enabled=number == "bf16"):
            scores = scores_of(call(x)).float()
        if name == "csnn":
            return F.mse_loss(scores, F.one_hot(labels, 10).float())
        return F.cross_entropy(scores, labels)

    return Training(network, loss, device, lambda: functional.reset_net(network))


def engine(program, name, number, options):
    """The step of the engine in milliseconds and MiB."""
    sizes = "--channels 32 -b 16" if options.device == "cpu" else "-b 128"
    if name == "sew-resnet":
        sizes = "-b 32 --set network.static_stem=false"
        if options.device == "cpu":
            sizes = "-b 8 --set network.size=64 --set network.static_stem=false"
    number = "f32" if options.device == "cpu" else number
    words = f"bench train {PROGRAMS[name]} {sizes} -T 4 --precision {number} --device {options.device} --json"
    done = subprocess.run([program, *words.split()], capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if "_step" in line]
    if not lines:
        return {"error": done.stderr.strip()[-200:]}
    return {"ms": lines[-1]["median_ms"], "MiB": (lines[-1]["plan_peak_bytes"] or 0) / 2**20}


def cell(result):
    if result is None:
        return "–"
    if "error" in result:
        return "error"
    memory = f" ({result['MiB']:.0f} MiB)" if result["MiB"] else ""
    return f"{result['ms']:.2f}{memory}"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--job":
        words = json.loads(sys.argv[2])
        return job(lambda: make(words), words[2] == "graph")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", metavar="|".join(PROGRAMS), help="what to measure (default: all)")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--types", default="", help="number types (default: bf16,tf32; f32 on the CPU)")
    parser.add_argument("--modes", default=",".join(MODES), help="default: %(default)s")
    parser.add_argument("--limit", type=float, default=170, help="seconds to prepare a table (default: %(default)s)")
    parser.add_argument("--spikelet", metavar="PATH", help="the program, for the column of the engine")
    options = parser.parse_args()
    unknown = [name for name in options.networks if name not in PROGRAMS]
    if unknown:
        parser.error(f"there is no network named {unknown[0]!r}; choose from {', '.join(PROGRAMS)}")
    cpu = options.device == "cpu"
    modes = [mode for mode in options.modes.split(",") if not (cpu and mode == "graph")]
    for name in options.networks or PROGRAMS:
        for number in (options.types or ("f32" if cpu else "bf16,tf32")).split(","):
            columns = [AUTO, DROP_IN] if cpu or number == "bf16" else [TORCH, TRITON, DROP_IN]
            jobs = {(n, m): [name, n, m, number, options.device] for m in modes for n in columns}
            found = peers(__file__, jobs, options.limit)
            print(f"\n{name}, {number}, ms and memory of a training step\n", flush=True)
            print("| | " + " | ".join(columns) + " |")
            print("|---" * (len(columns) + 1) + "|")
            for mode in modes:
                print(f"| {mode} | " + " | ".join(cell(found.get((n, mode))) for n in columns) + " |", flush=True)
            for key, result in found.items():
                if "error" in result:
                    print(f"{key}: {result['error']}", file=sys.stderr)
            if options.spikelet:
                print(f"\nthe engine: {cell(engine(options.spikelet, name, number, options))}", flush=True)


if __name__ == "__main__":
    main()
