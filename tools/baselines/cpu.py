#!/usr/bin/env python3
"""SpikingJelly 2.0.0 on the CPU: the benchmarks of `spikelet bench`.

    cpu.py neuron          LIF, T=32, N=2^18: forward, forward + backward; and a plain copy of the input
    cpu.py mnist           one training step of the MNIST network, T=50, batch 256
    cpu.py sew-resnet      one training step of SEW-ResNet-18 on images of 64 x 64, T=4, batch 8
    cpu.py spikformer      one training step of a Spikformer of two blocks of 128 channels, T=4, batch 8
    cpu.py --mnist DIR --epochs E
                           trains that network on the four IDX files in DIR and prints the test
                           accuracy after each epoch

The default is `neuron` and `mnist`. Each measurement runs in a separate process; its peak is the
maximum resident set size of that process, including Python and PyTorch.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

GROUPS = {"neuron": ["lif_forward", "lif_forward_backward", "copy"], "mnist": ["mnist_fc_step"], "csnn": ["csnn_step"],
          "sew-resnet": ["sew_resnet18_step"], "spikformer": ["spikformer_cifar_step"]}

# PyTorch is imported by the process that measures, never by the one that starts it.


def median_ms(run, repeats):
    """Median wall-clock time of `run` in milliseconds, after two calls that are not counted."""
    run(), run()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)


def peak_mib():
    """Largest resident memory of this process so far, in MiB."""
    try:
        status = Path("/proc/self/status").read_text().splitlines()
        return int(next(line for line in status if line.startswith("VmHWM:")).split()[1]) / 1024
    except (OSError, StopIteration):
        # macOS counts in bytes, the others in KiB.
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def lif_forward(time_steps=32, neurons=2**18):
    import torch
    from spikingjelly.activation_based import neuron, surrogate

    lif = neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m")
    x = torch.rand(time_steps, neurons)

    def run():
        with torch.no_grad():
            lif(x)
        lif.reset()

    return run


def lif_forward_backward(time_steps=32, neurons=2**18):
    import torch
    from spikingjelly.activation_based import neuron, surrogate

    lif = neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m")
    x = torch.rand(time_steps, neurons).requires_grad_()
    grad = torch.rand(time_steps, neurons)

    def run():
        lif(x).backward(grad)
        lif.reset()
        x.grad = None

    return run


def copy(time_steps=32, neurons=2**18):
    import torch

    x = torch.rand(time_steps, neurons)
    y = torch.empty_like(x)
    return lambda: y.copy_(x)


class MnistNetwork:
    """Flatten, Linear(784 -> 196), LIF, Linear(196 -> 10), LIF, with Adam; the output is the firing rate."""

    def __init__(self, time_steps=50):
        import torch
        from spikingjelly.activation_based import functional, layer, neuron, surrogate

        def lif():
            return neuron.LIFNode(tau=100.0, surrogate_function=surrogate.Sigmoid(alpha=1.0))

        self.time_steps = time_steps
        self.network = torch.nn.Sequential(
            layer.Flatten(),
            layer.Linear(784, 196, bias=False),
            lif(),
            layer.Linear(196, 10, bias=False),
            lif(),
        )
        functional.set_step_mode(self.network, "m")
        self.reset = lambda: functional.reset_net(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=1e-2)

    def firing_rate(self, images):
        """Firing rates [N, 10] for intensities [N, 1, 28, 28], each pixel a Poisson spike train."""
        import torch

        spikes = (torch.rand(self.time_steps, *images.shape) <= images).float()
        return self.network(spikes).mean(0)

    def step(self, images, labels):
        """One training step; returns the loss and how many images were classified correctly."""
        import torch.nn.functional as F

        self.optimizer.zero_grad(set_to_none=True)
        rate = self.firing_rate(images)
        loss = F.cross_entropy(rate, labels)
        loss.backward()
        self.optimizer.step()
        self.reset()
        return loss.item(), (rate.argmax(1) == labels).sum().item()

    def correct(self, images, labels):
        """How many of these images are classified correctly."""
        import torch

        with torch.no_grad():
            count = (self.firing_rate(images).argmax(1) == labels).sum().item()
        self.reset()
        return count


def mnist_fc_step(time_steps=50, batch_size=256):
    import torch

    network = MnistNetwork(time_steps)
    images = (torch.rand(batch_size, 1, 28, 28) - 0.8).clamp(min=0) * 3.2
    labels = torch.randint(0, 10, (batch_size,))
    return lambda: network.step(images, labels)


def csnn_step(time_steps=4, channels=32, batch_size=16):
    import torch
    from convolutional import Csnn, step

    images, labels = torch.rand(batch_size, 1, 28, 28), torch.randint(0, 10, (batch_size,))
    return step(Csnn(time_steps, channels), images, labels)


def deep_step(network, size, time_steps=4, batch_size=8):
    """One training step of a network of SpikingJelly for ten classes: SGD with momentum, cross entropy of the mean."""
    import torch
    import torch.nn.functional as F
    from spikingjelly.activation_based import functional

    functional.set_step_mode(network, "m")
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
    images = torch.rand(batch_size, 3, size, size)
    sequence = images.expand(time_steps, *images.shape)
    labels = torch.randint(0, 10, (batch_size,))

    def run():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(network(sequence).mean(0), labels).backward()
        optimizer.step()
        functional.reset_net(network)

    return run


def sew_resnet18_step():
    from spikingjelly.activation_based import neuron, surrogate
    from spikingjelly.activation_based.model.sew_resnet import sew_resnet18

    settings = dict(surrogate_function=surrogate.ATan(), detach_reset=True)
    return deep_step(sew_resnet18(num_classes=10, cnf="ADD", spiking_neuron=neuron.IFNode, **settings), 64)


def spikformer_cifar_step():
    from spikingjelly.activation_based.model.spikformer import Spikformer

    sizes = dict(img_size_h=32, img_size_w=32, patch_size=4, embed_dims=128, num_heads=4, depths=2)
    return deep_step(Spikformer(T=4, num_classes=10, **sizes), 32)


def measure(name, threads, seed, repeats):
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    milliseconds = median_ms(globals()[name](), repeats)
    return {"name": name, "median_ms": round(milliseconds, 3), "peak_mib": round(peak_mib(), 1)}


def read_idx(path, dimensions):
    """An IDX file of bytes as a tensor; the magic number must announce `dimensions` dimensions."""
    import numpy
    import torch

    data = path.read_bytes()
    if data[:4] != bytes([0, 0, 8, dimensions]):
        sys.exit(f"error: {path} is not an IDX file of bytes with {dimensions} dimensions; unpack it if it is compressed")
    shape = [int.from_bytes(data[4 + 4 * i : 8 + 4 * i], "big") for i in range(dimensions)]
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape).copy())


def train(folder, epochs, threads, seed, as_json, time_steps=50, batch_size=256):
    import torch

    def load(part):
        images = read_idx(folder / f"{part}-images-idx3-ubyte", 3).unsqueeze(1).float() / 255
        return images, read_idx(folder / f"{part}-labels-idx1-ubyte", 1).long()

    torch.set_num_threads(threads)
    torch.manual_seed(seed)
    (images, labels), (test_images, test_labels) = load("train"), load("t10k")
    network, best = MnistNetwork(time_steps), 0.0
    for epoch in range(1, epochs + 1):
        start, total_loss, right, seen = time.perf_counter(), 0.0, 0, 0
        order = torch.randperm(len(images))
        for first in range(0, len(images) - batch_size + 1, batch_size):
            batch = order[first : first + batch_size]
            loss, correct = network.step(images[batch], labels[batch])
            total_loss, right, seen = total_loss + loss * len(batch), right + correct, seen + len(batch)
        seconds = time.perf_counter() - start
        pieces = range(0, len(test_images), 500)
        correct = sum(network.correct(test_images[i : i + 500], test_labels[i : i + 500]) for i in pieces)
        accuracy = correct / len(test_images)
        best = max(best, accuracy)
        if as_json:
            values = {
                "epoch": epoch,
                "train_loss": round(total_loss / seen, 5),
                "train_accuracy": round(right / seen, 5),
                "test_accuracy": accuracy,
                "train_seconds": round(seconds, 2),
                "peak_mib": round(peak_mib(), 1),
            }
            print(json.dumps(values), flush=True)
        else:
            print(
                f"epoch {epoch:2}/{epochs}  loss {total_loss / seen:.3f}  train {100 * right / seen:.1f} %  "
                f"test {100 * accuracy:.1f} %  best {100 * best:.1f} %   {seen / seconds:,.0f} img/s   {seconds:.1f} s",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", metavar="|".join(GROUPS), help="what to measure")
    parser.add_argument("--mnist", metavar="DIR", type=Path, help="train on the MNIST files in this folder instead")
    parser.add_argument("--epochs", type=int, default=1, help="epochs to train (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="PyTorch's threads (default: %(default)s)")
    parser.add_argument("--repeats", type=int, default=7, help="timed runs a measurement (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of every random number (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--only", metavar="NAME", choices=sum(GROUPS.values(), []), help="one measurement, in this process")
    options = parser.parse_args()
    unknown = [group for group in options.groups if group not in GROUPS]
    if unknown:
        parser.error(f"there is no measurement named {unknown[0]!r}; choose from {', '.join(GROUPS)}")

    if options.mnist:
        train(options.mnist, options.epochs, options.threads, options.seed, options.json)
    elif options.only:
        print(json.dumps(measure(options.only, options.threads, options.seed, options.repeats)))
    else:
        shared = [f"--{key}={getattr(options, key)}" for key in ("threads", "repeats", "seed")]
        for name in sum((GROUPS[group] for group in options.groups or GROUPS), []):
            command = [sys.executable, __file__, f"--only={name}", *shared]
            line = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1]
            result = json.loads(line)
            shown = f"{name:22} {result['median_ms']:10.2f} ms {result['peak_mib']:8.0f} MiB"
            print(line if options.json else shown, flush=True)


if __name__ == "__main__":
    main()
