"""A loss, metrics, parameter groups and a loop of one's own: a regression with a penalty on firing rates.

    python examples/python/own_loss.py
"""

import numpy as np

import spikelet
from spikelet import Step, graph

T, N = 30, 64
net = spikelet.Sequential(
    spikelet.Linear(2, 64), spikelet.Plif(init_tau=4.0), spikelet.Linear(64, 1), spikelet.TimeMean(), input=(2,)
)


def loss(inputs):
    y = net(inputs["x"])[0]  # [N, 1]
    rates = graph.rate_target(graph.recorded("1.spike_seq"), 0.2)
    error = graph.mse(y, inputs["y"])
    return error + inputs["penalty"] * rates, {"r2": graph.r2(y, inputs["y"]), "error": error}, {"y": y}


step = Step(
    loss,
    {"x": Step.sequence(T, 2), "y": Step.input(1), "penalty": Step.shared()},
    batch_size=N,
    optimizer={"name": "adamw", "weight_decay": 1e-3},
    lr=5e-3,
    groups=[{"parameters": "1.*", "lr": 1e-3, "constants": {"weight_decay": 0.0}}],
    clip_norm=1.0,
)
train = step.compile(device="auto")

rng = np.random.default_rng(0)
for epoch in range(10):
    metrics = spikelet.EpochMetrics()
    train.set_lr_factor(1.0 - epoch / 10)
    for _ in range(50):
        x = 2 * rng.random((N, 2), dtype=np.float32)
        y = np.sin(x.sum(1, keepdims=True))
        metrics.add(train.run(x=np.broadcast_to(x, (T, N, 2)), y=y, penalty=0.1))
    print(f"epoch {epoch + 1}: {metrics}")

train.update_networks()
print("y(1, 1) =", net(np.ones((T, 1, 2)))[0, 0, 0], "sin(2) =", np.sin(2))
