"""Recordings of an event camera: files, blocks, frames.

    python examples/python/events.py
"""

import tempfile
from pathlib import Path

import numpy as np

from spikelet import events

# A dot that moves over a sensor of 34 × 34 pixels for 0.1 s.
n = 100_000
rng = np.random.default_rng(0)
t = np.sort(rng.integers(0, 100_000, n))
x = (t * 30 // 100_000 + rng.integers(0, 4, n)).astype(np.uint16)
y = rng.integers(15, 19, n)
recording = events.make(t=t, x=x, y=y, p=rng.integers(0, 2, n))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "dot.raw"
    events.write(path, recording, "evt3", sensor=(34, 34))
    print(f"{path.name}: {path.stat().st_size} bytes for {n} events")

    found = events.read(path)
    assert np.array_equal(found.events, recording)
    for block in events.open(path, block=20_000):
        print(f"{len(block)} events from {block['t'][0]} µs")

frames = events.frames(recording, steps=5, sensor=(34, 34))
print("frames:", frames.shape, "events of each:", frames.sum(axis=(1, 2, 3)))
print("the dot is at x =", [round(float((frames[k].sum(axis=(0, 1)) @ np.arange(34)) / frames[k].sum()), 1) for k in range(5)])
denoised = events.transform(recording, "denoise=2000", sensor=(34, 34))
print(f"{len(denoised)} events have a neighbor within 2 ms")
