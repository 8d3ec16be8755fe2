#!/usr/bin/env python3
"""Images per second of PyTorch's DataLoader with torchvision, beside the example `image_speed`.

    cargo run --release -p spikelet-data --features images --example image_speed -- FOLDER
    pip install torch torchvision
    tools/baselines/dataloader.py FOLDER [--workers 1 2 4 16]

The files of FOLDER, in a folder for each class, are decoded by Pillow, cropped to 224 x 224, flipped and normalized;
images of 32 x 32 in memory are cropped, flipped, changed by AutoAugment and erased.
"""

import argparse
import os
import time

import numpy
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

NORMALIZE = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


class Small(Dataset):
    """Images of 32 x 32 in memory, as torchvision's CIFAR10."""

    def __init__(self, images, transform):
        random = numpy.random.default_rng(0)
        self.images = random.integers(0, 256, (images, 32, 32, 3), dtype=numpy.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(self.images[index])), index % 10


def first_epoch_excluded(dataset, batch_size, workers):
    """Images per second of the second epoch; the workers stay alive between the two."""
    loader = DataLoader(
        dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=True, prefetch_factor=2,
    )
    for timed in (False, True):
        start, images = time.perf_counter(), 0
        for batch, _ in loader:
            images += len(batch)
        if timed:
            return images / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 16])
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{os.cpu_count()} cores, torch {torch.__version__}")
    large = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), NORMALIZE])
    crop = [T.RandomCrop(32, padding=4), T.RandomHorizontalFlip()]
    auto_augment = T.AutoAugment(T.AutoAugmentPolicy.CIFAR10, fill=[128] * 3)
    cases = [
        ("JPEG files, random resized crop, flip, normalize", ImageFolder(arguments.folder, large), 64),
        ("32x32, crop, flip, normalize", Small(10_000, T.Compose([*crop, T.ToTensor(), NORMALIZE])), 128),
        (
            "32x32, crop, flip, AutoAugment, normalize, erasing",
            Small(10_000, T.Compose([*crop, auto_augment, T.ToTensor(), NORMALIZE, T.RandomErasing(1.0)])),
            128,
        ),
    ]
    for name, dataset, batch_size in cases:
        print(f"\n{len(dataset)} images, {name}\n| workers | images/s | a worker |\n|---|---|---|")
        for workers in arguments.workers:
            speed = first_epoch_excluded(dataset, batch_size, workers)
            print(f"| {workers} | {speed:.0f} | {speed / workers:.0f} |")


if __name__ == "__main__":
    main()
