#!/usr/bin/env python3
"""Makes net_cifar10.safetensors: SpikingFlow's CIFAR-10 network, small, and its gradients.

Plain loops over time in float64 with NumPy and a gradient tape of its own; it shares no code with
spikelet. Neurons are written as in SpikingFlow's softbp tutorial: forward the step function, backward
the sigmoid, in the spike and in the reset. Each operation's gradient is compared with finite
differences first. Values near a threshold, and near ties of max pooling, are avoided by choosing
another seed, so that float32 must find the same spikes.

    net_cifar10.py [FILE]        needs numpy and safetensors
"""

import json
import sys

import numpy as np
from safetensors.numpy import save_file

T, N, SIZE, INPUTS, CHANNELS, CLASSES, TAU = 4, 3, 8, 3, 4, 10, 100.0
NEAR = 2e-5  # no potential comes nearer to the threshold
TIE = 1e-4  # no two of a pooling window's largest values are nearer


class Value:
    """An array with the way back to what it was made of: (value, function of the gradient) each."""

    def __init__(self, data, back=()):
        self.data, self.back, self.grad = np.asarray(data, dtype=np.float64), back, None


def gradients(loss):
    """Fills `grad` of all that the loss was made of."""
    order, seen = [], set()
    stack = [(loss, False)]
    while stack:
        value, done = stack.pop()
        if done:
            order.append(value)
        elif id(value) not in seen:
            seen.add(id(value))
            stack.append((value, True))
            stack += [(parent, False) for parent, _ in value.back]
    for value in order:
        value.grad = np.zeros_like(value.data)
    loss.grad = np.ones_like(loss.data)
    for value in reversed(order):
        for parent, back in value.back:
            parent.grad += back(value.grad)


def add(a, b):
    return Value(a.data + b.data, [(a, lambda g: g), (b, lambda g: g)])


def mul(a, b):
    return Value(a.data * b.data, [(a, lambda g: g * b.data), (b, lambda g: g * a.data)])


def affine(a, scale, shift):
    return Value(a.data * scale + shift, [(a, lambda g: g * scale)])


def sigmoid(a):
    y = 1 / (1 + np.exp(-a.data))
    return Value(y, [(a, lambda g: g * y * (1 - y))])


def conv(x, w, b):
    """3×3, padding 1: x [B, C, H, W], w [K, C, 3, 3], b [K]."""
    _, _, height, width = x.data.shape
    padded = np.pad(x.data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = lambda i, j: padded[:, :, i : i + height, j : j + width]
    places = [(i, j) for i in range(3) for j in range(3)]
    y = sum(np.einsum("bchw,kc->bkhw", view(i, j), w.data[:, :, i, j]) for i, j in places)

    def to_x(g):
        grad = np.zeros_like(padded)
        for i, j in places:
            grad[:, :, i : i + height, j : j + width] += np.einsum("bkhw,kc->bchw", g, w.data[:, :, i, j])
        return grad[:, :, 1:-1, 1:-1]

    def to_w(g):
        grad = np.zeros_like(w.data)
        for i, j in places:
            grad[:, :, i, j] = np.einsum("bchw,bkhw->kc", view(i, j), g)
        return grad

    return Value(y + b.data[None, :, None, None], [(x, to_x), (w, to_w), (b, lambda g: g.sum((0, 2, 3)))])


nearest_tie = np.inf


def max_pool(x):
    """2×2: the first of equal values takes the gradient."""
    global nearest_tie
    batch, channels, height, width = x.data.shape
    windows = x.data.reshape(batch, channels, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
    windows = windows.reshape(batch, channels, height // 2, width // 2, 4)
    winner = windows.argmax(-1)
    two = np.sort(windows, -1)[..., -2:]
    nearest_tie = min(nearest_tie, (two[..., 1] - two[..., 0]).min())

    def back(g):
        spread = (np.arange(4) == winner[..., None]) * g[..., None]
        spread = spread.reshape(batch, channels, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return spread.reshape(x.data.shape)

    return Value(windows.max(-1), [(x, back)])


def batch_norm(x, gamma, beta, running, eps=1e-5, momentum=0.1):
    """Over all axes but the channels; `running` takes the statistics, the variance unbiased."""
    axes, at = (0, 2, 3), (None, slice(None), None, None)
    count = x.data.size // x.data.shape[1]
    mean, var = x.data.mean(axes), x.data.var(axes)
    running["running_mean"] = momentum * mean
    running["running_var"] = (1 - momentum) + momentum * var * count / (count - 1)
    deviation = np.sqrt(var + eps)
    normal = (x.data - mean[at]) / deviation[at]

    def to_x(g):
        h = g * gamma.data[at]
        rest = h.mean(axes)[at] + normal * (h * normal).mean(axes)[at]
        return (h - rest) / deviation[at]

    backs = [(x, to_x), (gamma, lambda g: (g * normal).sum(axes)), (beta, lambda g: g.sum(axes))]
    return Value(gamma.data[at] * normal + beta.data[at], backs)


def linear(x, w):
    return Value(x.data @ w.data.T, [(x, lambda g: g @ w.data), (w, lambda g: g.T @ x.data)])


def reshape(x, shape):
    return Value(x.data.reshape(shape), [(x, lambda g: g.reshape(x.data.shape))])


def step_of(x, t):
    def back(g):
        grad = np.zeros_like(x.data)
        grad[t] = g
        return grad

    return Value(x.data[t], [(x, back)])


def stack(values):
    backs = [(value, lambda g, t=t: g[t]) for t, value in enumerate(values)]
    return Value(np.stack([value.data for value in values]), backs)


def mean_over_time(x):
    steps = x.data.shape[0]
    return Value(x.data.mean(0), [(x, lambda g: np.broadcast_to(g / steps, x.data.shape))])


def cross_entropy(scores, label):
    shifted = scores.data - scores.data.max(1, keepdims=True)
    share = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
    rows = np.arange(len(label))

    def back(g):
        grad = share.copy()
        grad[rows, label] -= 1
        return g * grad / len(label)

    return Value(-np.log(share[rows, label]).mean(), [(scores, back)])


nearest_threshold = np.inf


def neuron(x_seq):
    """softbp's LIFNode: v_threshold 1, v_reset 0, the sigmoid with α = 1."""
    global nearest_threshold
    spikes, v = [], Value(np.zeros_like(x_seq.data[0]))
    for t in range(x_seq.data.shape[0]):
        h = add(affine(v, 1 - 1 / TAU, 0), affine(step_of(x_seq, t), 1 / TAU, 0))
        distance = h.data - 1
        nearest_threshold = min(nearest_threshold, np.abs(distance).min())
        hard = (distance >= 0).astype(np.float64)
        soft = sigmoid(affine(h, 1, -1))
        v_soft = mul(h, affine(soft, -1, 1))  # v_reset is 0
        # soft + (hard - soft).detach()
        v = affine(v_soft, 1, h.data * (1 - hard) - v_soft.data)
        spikes.append(affine(soft, 1, hard - soft.data))
    return stack(spikes)


def over_time(layer, x_seq):
    """A layer on all frames of [T, N, …] at once."""
    steps, batch = x_seq.data.shape[:2]
    y = layer(reshape(x_seq, (steps * batch, *x_seq.data.shape[2:])))
    return reshape(y, (steps, batch, *y.data.shape[1:]))


def network(x, p, running):
    k = 0
    for _ in range(3):
        for pooled in (False, True):
            x = over_time(lambda x: conv(x, p[f"conv.{k}.weight"], p[f"conv.{k}.bias"]), x)
            k += 1
            if pooled:
                x = over_time(max_pool, x)
                k += 1
            name = f"conv.{k}"
            statistics = running.setdefault(name, {})
            x = over_time(lambda x: batch_norm(x, p[f"{name}.weight"], p[f"{name}.bias"], statistics), x)
            x = neuron(x)
            k += 2
    x = reshape(x, (T, N, -1))
    return neuron(over_time(lambda x: linear(x, p["fc.1.weight"]), x))


def parameters(rng):
    p, k, inputs = {}, 0, INPUTS
    for _ in range(3):
        for pooled in (False, True):
            p[f"conv.{k}.weight"] = rng.normal(size=(CHANNELS, inputs, 3, 3)) / 3
            p[f"conv.{k}.bias"] = rng.normal(size=CHANNELS) / 3
            k += 2 if pooled else 1
            # τ divides the input by 100: so large that spikes come in few steps.
            p[f"conv.{k}.weight"] = rng.uniform(80, 160, CHANNELS)
            p[f"conv.{k}.bias"] = rng.uniform(0, 60, CHANNELS)
            k, inputs = k + 2, CHANNELS
    p["fc.1.weight"] = 40 * rng.normal(size=(CLASSES, CHANNELS * (SIZE // 8) ** 2))
    return p


def check_operations():
    """Each operation's gradients against differences."""
    rng = np.random.default_rng(7)
    make = lambda *shape: rng.normal(size=shape)
    cases = [
        (mul, [make(3, 2), make(3, 2)]),
        (sigmoid, [make(5)]),
        (conv, [make(2, 3, 4, 4), make(4, 3, 3, 3), make(4)]),
        (max_pool, [make(2, 3, 4, 4)]),
        (lambda x, g, b: batch_norm(x, g, b, {}), [make(3, 2, 4, 4), make(2), make(2)]),
        (linear, [make(3, 4), make(5, 4)]),
        (mean_over_time, [make(4, 3)]),
        (lambda x: cross_entropy(x, np.array([1, 0, 2])), [make(3, 4)]),
        (lambda a, b: stack([a, b]), [make(3), make(3)]),
        (lambda x: step_of(x, 1), [make(3, 2)]),
    ]
    for operation, given in cases:
        weights = rng.normal(size=operation(*map(Value, given)).data.shape)
        total = lambda values: (operation(*map(Value, values)).data * weights).sum()
        values = [Value(x) for x in given]
        made = operation(*values)
        gradients(Value(total(given), [(made, lambda g: g * weights)]))
        for k, value in enumerate(values):
            for place in np.ndindex(value.data.shape):
                ends = []
                for shift in (1e-6, -1e-6):
                    moved = [x.copy() for x in given]
                    moved[k][place] += shift
                    ends.append(total(moved))
                difference = (ends[0] - ends[1]) / 2e-6
                assert abs(difference - value.grad[place]) < 1e-6 * max(1, abs(difference)), operation


def make(seed):
    global nearest_threshold, nearest_tie
    nearest_threshold = nearest_tie = np.inf
    rng = np.random.default_rng(seed)
    single = lambda x: x.astype(np.float32).astype(np.float64)  # what the file holds
    p = {name: Value(single(x)) for name, x in parameters(rng).items()}
    x = Value(single(rng.uniform(size=(T, N, INPUTS, SIZE, SIZE))))
    label, running = rng.integers(0, CLASSES, N), {}
    spikes = network(x, p, running)
    logits = mean_over_time(spikes)
    loss = cross_entropy(logits, label)
    gradients(loss)
    tensors = {name: value.data for name, value in p.items()}
    tensors |= {f"grad_{name}": value.grad for name, value in p.items()}
    tensors |= {f"{bn}.{name}_after": x for bn, values in running.items() for name, x in values.items()}
    tensors |= {"x_seq": x.data, "grad_x_seq": x.grad, "spike_seq": spikes.data, "logits": logits.data, "loss": loss.data}
    tensors = {name: np.asarray(x, dtype=np.float32, order="C") for name, x in tensors.items()}
    tensors["label"] = label.astype(np.int64)
    return tensors, nearest_threshold > NEAR and nearest_tie > TIE


def main():
    check_operations()
    for seed in range(10_000):
        tensors, clear = make(seed)
        if clear and 0.1 < tensors["spike_seq"].mean() < 0.9 and np.abs(tensors["grad_x_seq"]).max() > 1e-6:
            break
    else:
        raise SystemExit("no seed keeps away from thresholds and ties")
    spec = {
        "kind": "network", "network": "cifar10-net", "T": T, "N": N, "size": SIZE, "channels": CHANNELS, "classes": CLASSES,
        "neuron": "soft_pulse_lif", "params": {"tau": TAU, "v_threshold": 1.0, "v_reset": 0.0},
        "surrogate": {"name": "sigmoid", "alpha": 1.0}, "reset_grad": "soft", "loss": "cross_entropy", "seed": seed,
        "rate": float(tensors["spike_seq"].mean()),
    }
    path = sys.argv[1] if len(sys.argv) > 1 else "net_cifar10.safetensors"
    save_file(tensors, path, metadata={"spec": json.dumps(spec)})
    print(f"{path}: seed {seed}, rate {spec['rate']:.2f}, loss {float(tensors['loss']):.4f}")
    for name in sorted(tensors):
        if name.startswith("grad_"):
            print(f"  {name}: largest {np.abs(tensors[name]).max():.3g}")


if __name__ == "__main__":
    main()
