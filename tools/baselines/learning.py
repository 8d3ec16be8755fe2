#!/usr/bin/env python3
"""Times SpikingJelly's learners on 784 inputs and 400 neurons, T = 350; ours: the example learning_speed. Times e-prop in
PyTorch; ours: the example eprop.

    learning.py [DEVICE] [NAME …]      cpu by default; names: stdp, reward, eprop; all by default

stdp: STDPLearner on a linear layer and LIF neurons, all steps in one call (step_mode "m") and step by step ("s"), batch 1 and
64. reward and eligibility: MSTDPETLearner, which has neither a batch axis nor several steps in a call. ms is the median of
calls with all steps.

eprop: a training step (Adam) of 100 adaptive neurons as in the tutorial of the e-prop authors: automatic differentiation
where the spikes that are fed back have no gradient. Eager; on a GPU also with the neuron's step compiled and the training
step in a CUDA graph.

Needs PyTorch and SpikingJelly 2.0.0.
"""

import math
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


class Spike(torch.autograd.Function):
    """A step with the derivative 0.3·max(0, 1 − |x|)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 0.3 * torch.relu(1 - x.abs())


ALPHA, RHO, BETA, THRESHOLD, REFRACTORY, KAPPA = math.exp(-1 / 20), math.exp(-1 / 200), 1.8, 0.6, 5, 0.95


def step(x, recurrent, v, b, fired, silent, filtered):
    b = RHO * b + fired
    current = x + fired.detach() @ recurrent
    v = ALPHA * v + current - THRESHOLD * fired.detach()
    spike = Spike.apply((v - THRESHOLD - BETA * b) / THRESHOLD) * (silent <= 0)
    silent = torch.where(spike.detach() > 0.5, REFRACTORY - 1.0, torch.relu(silent - 1))
    return v, b, spike, silent, KAPPA * filtered + (1 - KAPPA) * spike


def eprop(name, steps, batch, inputs, outputs):
    neurons = 100
    shapes = [(inputs, neurons), (neurons, neurons), (neurons, outputs)]
    weights = [(torch.randn(*s, device=DEVICE) / s[0] ** 0.5).requires_grad_() for s in shapes]
    x = (torch.rand(steps, batch, inputs, device=DEVICE) < 0.05).float()
    target = torch.rand(steps, batch, outputs, device=DEVICE)
    cell = step

    def train():
        state = [torch.zeros(batch, neurons, device=DEVICE) for _ in range(5)]
        filtered = []
        for current in (x @ weights[0]).unbind():
            state = cell(current, weights[1], *state)
            filtered.append(state[4])
        loss = 0.5 * (torch.stack(filtered) @ weights[2] - target).square().sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    optimizer = torch.optim.Adam(weights, 0.003, capturable=DEVICE == "cuda")
    timed(f"eprop, {name}, eager", train, 5)
    if DEVICE != "cuda":
        return
    cell = torch.compile(step)
    timed(f"eprop, {name}, step compiled", train, 5)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        train()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        train()
    timed(f"eprop, {name}, step compiled, CUDA graph", graph.replay, 20)


DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
NAMES = sys.argv[2:] or ["stdp", "reward", "eprop"]
if "stdp" in NAMES:
    for batch in (1, 64):
        for mode in ("m", "s"):
            stdp(mode, batch)
if "reward" in NAMES:
    reward()
if "eprop" in NAMES:
    eprop("pattern", 1000, 1, 20, 3)
    eprop("evidence", 340, 32, 40, 2)
