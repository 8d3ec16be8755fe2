#!/usr/bin/env python3
"""A network without spikes that spikelet trained, converted by spikelet and by SpikingJelly: accuracy by time steps.

    tools/baselines/ann2snn.py --checkpoint FILE --data DIR [--dataset NAME] [--program FILE] [--images N]

FILE is a checkpoint of the recipe fashion-mnist-relu, also with --dataset mnist; DIR the folder of data sets. The weights
are those of `spikelet convert FILE weights.pt`; both sides calibrate on the first 1,000 training images in batches of 100,
and are tested on the first N test images (default: all), with the image as input at every step.

Needs Python 3.11 with PyTorch, spikingjelly==2.0.0 (with --no-deps, and tqdm), numpy.
"""

import argparse
import json
import subprocess
import tempfile
import time
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
        ["--each-channel", "--half-threshold"],
        {"mode": "Max", "channel_wise": True, "half_threshold": True},
    ),
    "channels, 99.9 %, half": (
        ["--threshold", "99.9%", "--each-channel", "--half-threshold"],
        {"mode": "99.9%", "channel_wise": True, "half_threshold": True},
    ),
}


def network():
    """The network of the recipe, with its names."""
    layers, channels = {}, [1, 16, 32, 32]
    for k in (1, 2, 3):
        layers[f"conv{k}"] = nn.Conv2d(channels[k - 1], channels[k], 3, padding=1, bias=False)
        layers[f"bn{k}"] = nn.BatchNorm2d(channels[k])
        layers[f"act{k}"] = nn.ReLU()
        layers[f"pool{k}"] = nn.AvgPool2d(7 if k == 3 else 2)
    layers["flatten"] = nn.Flatten()
    layers["fc"] = nn.Linear(32, 10)
    return nn.Sequential(OrderedDict(layers))


def idx(path, offset):
    return np.frombuffer(path.read_bytes(), np.uint8, offset=offset)


def images(folder, part):
    pixels = idx(folder / f"{part}-images-idx3-ubyte", 16).reshape(-1, 1, 28, 28)
    labels = idx(folder / f"{part}-labels-idx1-ubyte", 8)
    return torch.from_numpy(pixels.astype(np.float32) / 255), torch.from_numpy(labels.astype(np.int64))


def batches(x, y):
    return [(x[k : k + 100], y[k : k + 100]) for k in range(0, len(x), 100)]


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


def theirs(weights, recipe, train, test):
    net = network()
    net.load_state_dict(weights, strict=True)
    net.eval()
    ann = accuracy(net, test, [1])[0]
    snn = Converter(RateCodingRecipe(train, **recipe)).convert(net)
    snn.eval()
    return ann, accuracy(snn, test, STEPS)


def ours(args, options, out):
    words = [args.program, "convert", "--ann", args.checkpoint, "--calibrate", args.dataset, "--data-dir", args.data]
    words += ["--device", "cpu", "--json", *options, str(out)]
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
    parser.add_argument("--images", type=int)
    args = parser.parse_args()
    torch.set_num_threads(2)
    x, y = images(args.data / args.dataset, "train")
    train = batches(x[:1000], y[:1000])
    x, y = images(args.data / args.dataset, "t10k")
    test = batches(x[: args.images], y[: args.images])
    print("| way | | ANN |" + "".join(f" T = {t} |" for t in STEPS) + " s |")
    print("|---|---|---|" + "---|" * (len(STEPS) + 1))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "weights.pt"
        subprocess.run([args.program, "convert", args.checkpoint, file], check=True, capture_output=True)
        weights = torch.load(file, weights_only=True)
        for name, (options, recipe) in WAYS.items():
            sides = {
                "spikelet": lambda: ours(args, options, Path(folder) / "snn.safetensors"),
                "SpikingJelly": lambda: theirs(weights, recipe, train, test),
            }
            for side, run in sides.items():
                start = time.perf_counter()
                ann, found = run()
                cells = [f"{value:.2f}" for value in [ann, *found]]
                print(f"| {name} | {side} | " + " | ".join(cells) + f" | {time.perf_counter() - start:.0f} |", flush=True)
                name = ""


if __name__ == "__main__":
    main()
