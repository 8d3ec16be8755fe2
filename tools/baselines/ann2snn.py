#!/usr/bin/env python3
"""A network without spikes that spikelet trained, converted by spikelet and by SpikingJelly: accuracy by time steps.

    tools/baselines/ann2snn.py --checkpoint FILE --data DIR [--recipe FILE] [--dataset NAME] [--device NAME] [--program FILE] [--images N]

FILE is a checkpoint of the recipe fashion-mnist-relu, also with --dataset mnist, or of the experiment file --recipe, whose
layers are a list with convolutions, batch norm, ReLU, average pooling and linear layers and whose images are normalized by
given numbers or not at all, also with --dataset cifar10; DIR is the folder of data sets. The weights
are those of `spikelet convert FILE weights.pt`; both sides calibrate on the first 1,000 training images in batches of 100,
and are tested on the first N test images (default: all), with the image as input at every step.

Needs Python 3.11 with PyTorch, spikingjelly==2.0.0 (with --no-deps, and tqdm), numpy.
"""

import argparse
import json
import subprocess
import tempfile
import time
import tomllib
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from spikingjelly.activation_based import functional
from spikingjelly.activation_based.ann2snn import Converter, RateCodingRecipe
from torch import nn

ROOT = Path(__file__).resolve().parent.parent.parent
STEPS = [1, 2, 4, 8, 16, 32, 64]
# The options of spikelet, and the arguments of RateCodingRecipe.
WAYS = {
    "max": ([], {"mode": "Max"}),
    "99.9 %": (["--threshold", "99.9%"], {"mode": "99.9%"}),
    "0.5 · max": (["--threshold", "0.5"], {"mode": 0.5}),
    "channels, max": (["--each-channel"], {"mode": "Max", "channel_wise": True}),
    "channels, max, half": (
        ["--each-channel", "--half-threshold=true"],
        {"mode": "Max", "channel_wise": True, "half_threshold": True},
    ),
    "channels, 99.9 %, half": (
        ["--threshold", "99.9%", "--each-channel", "--half-threshold=true"],
        {"mode": "99.9%", "channel_wise": True, "half_threshold": True},
    ),
}


def network(layers, channels):
    """The network of an experiment file, with its names."""
    modules = {}
    for k, layer in enumerate(layers):
        layer = layer if isinstance(layer, dict) else {"layer": layer}
        kind = layer.get("layer")
        if "conv" in layer:
            size, padding = layer.get("kernel", 3), layer.get("padding", 0)
            module = nn.Conv2d(channels, layer["conv"], size, padding=padding, bias=layer.get("bias", False))
            channels = layer["conv"]
        elif "linear" in layer:
            module = nn.LazyLinear(layer["linear"], bias=layer.get("bias", False))
        elif "avg-pool" in layer:
            module = nn.AvgPool2d(layer["avg-pool"])
        elif kind == "batch-norm":
            module = nn.BatchNorm2d(channels)
        elif kind == "relu":
            module = nn.ReLU()
        elif "dropout" in layer:
            module = nn.Dropout(layer["dropout"])
        elif kind == "flatten":
            module = nn.Flatten()
        else:
            raise SystemExit(f"ann2snn.py: layer {k} of the experiment file is not known: {layer}")
        modules[layer.get("name", str(k))] = module
    return nn.Sequential(OrderedDict(modules))


def idx(path, offset):
    return np.frombuffer(path.read_bytes(), np.uint8, offset=offset)


def images(folder, part):
    if folder.name == "cifar10":
        # The thresholds need the first 1,000 training images only.
        name = "test_batch" if part == "t10k" else "data_batch_1"
        rows = idx(folder.parent / f"cifar-10-batches-bin/{name}.bin", 0).reshape(-1, 3073)
        pixels, labels = rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]
    else:
        pixels = idx(folder / f"{part}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
        labels = idx(folder / f"{part}-labels-idx1-ubyte", 8)
    return torch.from_numpy(pixels.astype(np.float32) / 255), torch.from_numpy(labels.astype(np.int64))


def batches(x, y, device):
    return [(x[k : k + 100].to(device), y[k : k + 100].to(device)) for k in range(0, len(x), 100)]


@torch.no_grad()
def accuracy(net, data, steps):
    """The accuracy of the mean output over the first T steps, for each T; of a network without spikes, with one step."""
    correct = dict.fromkeys(steps, 0)
    for x, y in data:
        functional.reset_net(net)
        total = 0
        for t in range(1, max(steps) + 1):
            total = total + net(x)
            if t in correct:
                correct[t] += (total.argmax(1) == y).sum().item()
    return [100 * correct[t] / sum(len(y) for _, y in data) for t in steps]


def theirs(net, weights, recipe, train, test):
    net.load_state_dict(weights, strict=True)
    net.to(train[0][0].device).eval()
    ann = accuracy(net, test, [1])[0]
    snn = Converter(RateCodingRecipe(train, **recipe)).convert(net)
    snn.eval()
    return ann, accuracy(snn, test, STEPS)


def ours(args, options, out):
    words = [args.program, "convert", "--ann", args.checkpoint, "--calibrate", args.dataset, "--data-dir", args.data]
    words += ["--device", args.device, "--json", *options, str(out)]
    words += ["--test-images", str(args.images)] if args.images else []
    said = subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout
    found = json.loads(said)["comparison"]
    return 100 * found["ann_accuracy"], [100 * at["accuracy"] for at in found["time_steps"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--dataset", default="fashion-mnist")
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/spikelet")
    parser.add_argument("--recipe", type=Path, default=ROOT / "recipes/fashion-mnist-relu.toml")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--images", type=int)
    args = parser.parse_args()
    torch.set_num_threads(2)
    experiment = tomllib.loads(args.recipe.read_text())
    normalize = experiment["data"]["normalize"]
    mean, std = (0.0, 1.0) if normalize == "none" else [torch.tensor(normalize[k])[:, None, None] for k in ("mean", "std")]
    x, y = images(args.data / args.dataset, "train")
    train = batches((x[:1000] - mean) / std, y[:1000], args.device)
    channels = x.shape[1]
    x, y = images(args.data / args.dataset, "t10k")
    test = batches((x[: args.images] - mean) / std, y[: args.images], args.device)
    print("| way | | ANN |" + "".join(f" T = {t} |" for t in STEPS) + " s |")
    print("|---|---|---|" + "---|" * (len(STEPS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.pt"
        subprocess.run([args.program, "convert", args.checkpoint, file], check=True, capture_output=True)
        weights = torch.load(file, weights_only=True)
        for name, (options, recipe) in WAYS.items():
            sides = {
                "spikelet": lambda: ours(args, options, Path(folder) / "snn.safetensors"),
                "SpikingJelly": lambda: theirs(network(experiment["network"]["layers"], channels), weights, recipe, train, test),
            }
            for side, run in sides.items():
                start = time.perf_counter()
                ann, found = run()
                cells = [f"{value:.2f}" for value in [ann, *found]]
                print(f"| {name} | {side} | " + " | ".join(cells) + f" | {time.perf_counter() - start:.0f} |", flush=True)
                name = ""


if __name__ == "__main__":
    main()
