"""Calls with random shapes, types, layouts and states: no crash, and the results of steps one by one.

SPIKELET_RANDOM_CALLS sets the number of calls and of training steps.
"""

import gc
import os
import random
import resource
import threading

import torch

import spikelet.torch as st

CALLS = int(os.environ.get("SPIKELET_RANDOM_CALLS", "2000"))
TYPES = [torch.float32] * 3 + [torch.float16, torch.bfloat16, torch.float64]


def layers():
    return [
        st.Lif(2.0), st.If(v_reset=None), st.CubaLif(), st.Lif(3.0, trainable={"tau": "layer"}), st.Plif(), st.Synaptic(),
    ]


def in_another_layout(x, rng):
    """The same values with other strides, or at an address that is not aligned."""
    kind = rng.randrange(5)
    if kind == 1:
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    if kind == 2:
        return torch.stack([x, x], -1)[..., 0]
    if kind == 3 and x.ndim > 2:
        return x.movedim(2, -1).contiguous().movedim(-1, 2)
    if kind == 4:
        return torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape)
    return x


def check(rng, layer):
    axes = [rng.choice([1, 2, 3, 5, 8, 17]) for _ in range(rng.choice([1, 1, 2, 3]))]
    shape, dtype = [rng.choice([1, 2, 4, 7, 16]), *axes], rng.choice(TYPES)
    x = (torch.randn(shape) + 0.5).to(dtype)
    state = None
    if rng.random() < 0.5:
        of_states = torch.float64 if dtype == torch.float64 else torch.float32
        state = layer.State(*(torch.rand(axes, dtype=of_states) for _ in layer._states))
    y, _ = layer(in_another_layout(x, rng), state)
    if rng.random() < 0.3:
        operand = in_another_layout(x, rng).detach().requires_grad_()
        again, last = layer(operand, state)
        (grad,) = torch.autograd.grad(again.float().sum() + sum(s.sum() for s in last), operand)
        assert torch.equal(again, y) and grad.shape == x.shape and torch.isfinite(grad.float()).all()
    if rng.random() < 0.1:
        steps = []
        for one in x:
            s, state = layer.step(one, state)
            steps.append(s)
        assert torch.equal(torch.stack(steps), y), (shape, dtype, layer)


def memory():
    gc.collect()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def test_random_calls_and_memory():
    rng, known = random.Random(0), layers()
    torch.manual_seed(0)
    before = None
    for k in range(CALLS):
        check(rng, rng.choice(known))
        if k == CALLS // 2:
            before = memory()
    assert memory() < before + 50


def test_training_steps_take_no_more_memory():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(6, 5), st.Lif(2.0, trainable={"tau": st.Trainable("layer", above=1.0)}), torch.nn.Linear(5, 3), st.Plif()
    )
    optimizer, x, before = torch.optim.Adam(net.parameters()), torch.randn(4, 3, 6), None
    for k in range(CALLS):
        optimizer.zero_grad()
        net(x).mean().backward()
        optimizer.step()
        if k == CALLS // 2:
            before = memory()
    assert memory() < before + 5


def test_calls_of_several_threads():
    failures = []

    def work(seed):
        # Layers of its own: PyTorch 2.11 can deadlock where two threads read one parameter, between the interpreter's
        # lock and that of the parameter's gradient.
        known, rng = layers(), random.Random(seed)
        try:
            for _ in range(CALLS // 20):
                check(rng, rng.choice(known))
        except Exception as error:  # noqa: BLE001: reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_tensor_over_memory_may_begin_at_any_address():
    lif, x = st.Lif(2.0), torch.rand(5, 3)
    data = bytearray(1) + bytearray(x.numpy().tobytes())
    odd = torch.frombuffer(data, dtype=torch.float32, offset=1).reshape(5, 3)
    assert odd.data_ptr() % 4 != 0
    assert torch.equal(lif(odd)[0], lif(x)[0])
