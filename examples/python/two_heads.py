"""Data, loss and loop of one's own: a class and a speed from one trunk.

    python examples/python/two_heads.py
"""

import numpy as np

import spikelet
from spikelet import EpochMetrics, Step, graph

rng = np.random.default_rng(0)
labels = rng.integers(0, 3, 640)
speed = rng.random((640, 1), dtype=np.float32)
x = (rng.random((20, 640, 6)) < 0.1 + 0.6 * speed * np.eye(3)[labels].repeat(2, 1)).astype(np.float32)  # [T, N, channels]

trunk = spikelet.Sequential(spikelet.Linear(6, 64), spikelet.Lif(), input=(6,))
heads = [spikelet.Sequential(spikelet.Linear(64, size), input=(64,)) for size in (3, 1)]


def loss(inputs):
    h = trunk(inputs["x"], "trunk")
    scores, value = heads[0](h, "class").mean(0), heads[1](h, "speed").mean(0)
    found = graph.cross_entropy(scores, inputs["labels"]) + graph.mse(value, inputs["speed"])
    return found, {"accuracy": graph.accuracy(scores, inputs["labels"])}


inputs = {"x": Step.sequence(20, 6), "labels": Step.labels(), "speed": Step.input(1)}
train = Step(loss, inputs, batch_size=32, lr=1e-2).compile()
for epoch in range(10):
    for k in rng.permutation(512).reshape(16, 32):
        train.run(x=x[:, k], labels=labels[k], speed=speed[k])
    tested = EpochMetrics()
    tested.add(train.evaluate(x=x[:, 512:], labels=labels[512:], speed=speed[512:])[0])
    print(f"epoch {epoch}: {tested}")
