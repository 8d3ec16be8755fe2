"""Training steps, predictions and errors take no more memory with their number.

SPIKELET_RANDOM_CALLS sets it.
"""

import os
import resource

import numpy as np

import spikelet
from spikelet import Step, graph

CALLS = int(os.environ.get("SPIKELET_RANDOM_CALLS", "2000"))


def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_calls_take_no_more_memory():
    net = spikelet.Sequential(spikelet.Linear(4, 8), spikelet.Lif(), spikelet.Linear(8, 3), spikelet.Plif(), input=(4,))

    def loss(inputs):
        scores = net(inputs["x"]).mean(0)
        return graph.cross_entropy(scores, inputs["labels"]), {"accuracy": graph.accuracy(scores, inputs["labels"])}

    train = Step(loss, {"x": Step.sequence(3, 4), "labels": Step.labels()}, batch_size=2).compile()
    x, labels, before = np.random.default_rng(0).random((3, 2, 4), dtype=np.float32), [0, 1], None
    for k in range(CALLS):
        train.run(x=x, labels=labels)
        if k % 10 == 0:
            net(x)
            try:
                train.run(x=x[:, :1], labels=labels)
            except ValueError:
                pass
        if k == CALLS // 2:
            before = memory()
    assert train.step == CALLS and memory() < before + 5
