#!/usr/bin/env python3
"""Times SpikingJelly's learners on 784 inputs and 400 neurons, T = 350; ours: the example learning_speed.

    learning.py [DEVICE]      cpu by default

stdp: STDPLearner on a linear layer and LIF neurons, all steps in one call (step_mode "m") and step by step ("s"), batch 1 and
64. reward and eligibility: MSTDPETLearner, which has neither a batch axis nor several steps in a call. ms is the median of
calls with all steps. Needs PyTorch and SpikingJelly 2.0.0.
"""

import statistics
import sys
import time

import torch
from spikingjelly.activation_based import functional, layer, learning, neuron

T, INPUTS, NEURONS = 350, 784, 400


def timed(name, run, repeats):
    ms = []
    for k in range(repeats + 1):
        begun = time.perf_counter()
        run()
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        if k:
            ms.append(1e3 * (time.perf_counter() - begun))
    print(f"{name}: {statistics.median(ms):.2f}", flush=True)


def network(mode):
    linear = layer.Linear(INPUTS, NEURONS, bias=False, step_mode=mode).to(DEVICE)
    torch.nn.init.uniform_(linear.weight, 0.0, 0.3)
    return linear, neuron.LIFNode(tau=20.0, step_mode=mode, detach_reset=True).to(DEVICE)


def stdp(mode, batch):
    linear, lif = network(mode)
    learner = learning.STDPLearner(mode, linear, lif, 20.0, 20.0)
    x = (torch.rand(T, batch, INPUTS, device=DEVICE) < 0.02).float()

    def run():
        with torch.no_grad():
            for part in [x] if mode == "m" else x:
                lif(linear(part))
                linear.weight += 1e-6 * learner.step(on_grad=False, scale=1e-6)
        functional.reset_net(lif)
        learner.reset()

    timed(f"stdp, step_mode {mode}, batch {batch}", run, 3)


def reward():
    linear, lif = network("s")
    learner = learning.MSTDPETLearner("s", linear, lif, 20.0, 20.0, 20.0)
    x = (torch.rand(T, INPUTS, device=DEVICE) < 0.02).float()

    def run():
        with torch.no_grad():
            for part in x:
                lif(linear(part))
                linear.weight += 1e-6 * learner.step(0.1, on_grad=False)
        functional.reset_net(lif)
        learner.reset()

    timed("reward and eligibility", run, 2)


DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
for batch in (1, 64):
    for mode in ("m", "s"):
        stdp(mode, batch)
reward()
