"""Networks and steps that several threads use at a time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import spikelet
from spikelet import Step, graph


def test_threads_share_a_network():
    net = spikelet.Sequential(spikelet.Linear(4, 16), spikelet.Lif(), spikelet.Linear(16, 3), input=(4,))
    x = np.random.default_rng(0).random((5, 8, 4), dtype=np.float32)
    expected = net(x)

    def use(k):
        if k % 4 == 0:
            return net(x)
        if k % 4 == 1:
            assert net.device and net.predict(x[0], time_steps=3).shape == (8, 3)
        elif k % 4 == 2:
            try:
                net.record(x[0], layers="missing", time_steps=2)
            except ValueError:
                pass
        else:
            net.state_dict()
        return expected

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(use, range(400)):
            np.testing.assert_array_equal(found, expected)


def test_threads_share_a_step():
    net = spikelet.Sequential(spikelet.Linear(4, 3, bias=False), spikelet.Lif(), input=(4,))

    def loss(inputs):
        scores = net(inputs["x"]).mean(0)
        return graph.mse_one_hot(scores, inputs["labels"]), {}, {"scores": scores}

    train = Step(loss, {"x": Step.sequence(3, 4), "labels": Step.labels()}, batch_size=2, lr=0.0).compile()
    x, labels = np.ones((3, 2, 4), np.float32), [0, 1]

    def use(k):
        if k % 3 == 0:
            return train.run(x=x, labels=labels)["loss"]
        if k % 3 == 1:
            assert train.parameters == ["0.weight"] and train.step >= 0
            return train.evaluate(x=x, labels=labels)[0]["loss"]
        try:
            train.gradient("missing")
        except ValueError:
            pass
        return None

    with ThreadPoolExecutor(8) as pool:
        losses = {found for found in pool.map(use, range(300)) if found is not None}
    assert len(losses) == 1 and train.step == 100
