"""Calls with random neurons, constants, shapes, types, layouts and states: each gives the right result or an exception.

    python python/tests/torch/test_random_calls.py [--count 100000] [--seed 0] [--device cpu]

A result is right if it is that of a contiguous copy of the input, and its steps one by one give the same.
"""

import argparse
import random
import resource
import sys

import torch

import spikelet.torch as st

NAMES = sorted(
    name for name in st.__all__
    if isinstance(getattr(st, name), type) and issubclass(getattr(st, name), st.Neuron) and name != "Neuron"
)  # fmt: skip
TYPES = [torch.float32] * 6 + [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64]
NUMBERS = [0.0, 0.25, 0.5, 1.0, 2.0, 5.0, -1.0, 1e30, float("nan"), float("inf")]
EXPECTED = (ValueError, TypeError, RuntimeError, NotImplementedError)


def shape_of(rng):
    rank = rng.choice([0, 1, 2, 2, 3, 3, 4, 5, 6])
    return [rng.choice([0, 1, 1, 2, 3, 4, 5, 7]) for _ in range(rank)]


def input_of(rng, device):
    """A tensor of any layout."""
    dtype, shape = rng.choice(TYPES), shape_of(rng)
    x = torch.randn(shape, dtype=torch.float32) * rng.choice([0.3, 1.0, 3.0]) + 0.4
    x = x.to(device).to(dtype)
    kind = rng.randrange(7)
    if kind == 1 and x.dim() >= 2:
        a, b = rng.sample(range(x.dim()), 2)
        x = x.transpose(a, b)
    elif kind == 2 and x.dim() >= 1:
        x = torch.stack([x, x], -1)[..., 0]
    elif kind == 3 and x.dim() >= 1 and x.shape[0] == 1:
        x = x.expand(rng.choice([1, 3, 6]), *x.shape[1:])
    elif kind == 4 and x.dim() == 5:
        x = x.flatten(0, 1).contiguous(memory_format=torch.channels_last).unflatten(0, x.shape[:2])
    elif kind == 5 and x.dim() >= 1:
        x = torch.cat([x.flatten()[:1], x.flatten()])[x.numel() > 0 :].view(x.shape) if x.numel() else x
    elif kind == 6 and x.dim() >= 1:
        x = x.flip(0)
    return x


def layer_of(rng, shape):
    name = rng.choice(NAMES)
    constants = {}
    if rng.random() < 0.4:
        constants["v_threshold"] = rng.choice(NUMBERS)
    if rng.random() < 0.3:
        constants["v_reset"] = rng.choice([*NUMBERS, None])
    if rng.random() < 0.3:
        constants["reset_grad"] = rng.choice(["surrogate", "detach", "soft", "none"])
    if rng.random() < 0.3:
        constants["surrogate"] = rng.choice([st.surrogate.Atan(rng.choice(NUMBERS)), st.surrogate.Sigmoid(4.0), "atan"])
    if rng.random() < 0.2:
        constants["strict"] = rng.choice([True, False, 1, "yes"])
    if rng.random() < 0.1:
        constants["learn"] = {rng.choice(["v_threshold", "tau", "w"]): rng.choice(["layer", "channel", "neuron", "all"])}
    return name, getattr(st, name)(**constants, shape=tuple(shape))


def state_of(rng, layer, x):
    """A state that fits, or one that does not."""
    if rng.random() < 0.6 or not layer._states:
        return None
    shape = list(x.shape[1:])
    wrong = rng.random() < 0.3
    if wrong and shape:
        shape[rng.randrange(len(shape))] += 1
    dtype = rng.choice([torch.float32, torch.float64, torch.float16]) if wrong else torch.float32
    if x.dtype == torch.float64 and not wrong:
        dtype = torch.float64
    return layer.State(*(torch.full(shape, 0.2, dtype=dtype, device=x.device) for _ in layer._states))


def same(a, b):
    return torch.equal(torch.nan_to_num(a.float()), torch.nan_to_num(b.float()))


def one(rng, device):
    """Whether a call gave a result; raises AssertionError if it is wrong."""
    x = input_of(rng, device)
    torch.manual_seed(rng.randrange(1 << 30))
    try:
        name, layer = layer_of(rng, x.shape)
        layer = layer.to(device)
        state = state_of(rng, layer, x)
        grads = x.dtype.is_floating_point and rng.random() < 0.5
        seen = x.detach().requires_grad_(grads)
        y, last = layer(seen, state)
    except EXPECTED as error:
        assert len(str(error)) > 10, f"{type(error).__name__}: {error}"
        return False
    random_start = bool(layer._random) and state is None
    if random_start:
        return True
    again, last_again = layer(x.contiguous(), state)
    assert same(y, again), f"{name}: the layout {x.stride()} of {tuple(x.shape)} changes the output"
    assert all(same(a, b) for a, b in zip(last, last_again)), f"{name}: the layout {x.stride()} changes the state"
    if grads and y.numel():
        y.float().sum().backward()
        assert seen.grad.shape == x.shape
    return True


def run(count, seed=0, device="cpu"):
    """The number of calls that gave a result."""
    rng = random.Random(seed)
    results = 0
    for k in range(count):
        results += one(rng, device)
        if sys.stderr.isatty() and k % 500 == 0:
            print(f"\r{k} of {count}", end="", file=sys.stderr)
    return results


def test_random_calls_give_the_right_result_or_an_exception():
    results = run(1500)
    assert 150 < results < 1350


def resident_mib():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def test_many_steps_do_not_take_more_memory(steps=3000):
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), st.Lif(2.0), torch.nn.Linear(16, 4), st.Plif(), st.CubaLif())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.rand(5, 3, 8)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            net(x).sum().backward()
            optimizer.step()

    train(300)
    before = resident_mib()
    train(steps)
    assert resident_mib() - before < 4, f"{resident_mib() - before:.1f} MiB more after {steps} steps"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=100_000, help="training steps of the check of memory")
    options = parser.parse_args()
    results = run(options.count, options.seed, options.device)
    print(f"{options.count} calls: {results} results, {options.count - results} exceptions, none wrong")
    test_many_steps_do_not_take_more_memory(options.steps)
    print(f"{options.steps} training steps: no more memory")


if __name__ == "__main__":
    main()
