"""Neurons with recurrent connections against a loop in PyTorch."""

import copy
import os
import pickle
import subprocess
import sys

import pytest
import torch

import spikelet.torch as st


def loop(layer, neuron, x):
    """The same with one call of the neuron for each step."""
    spikes, state, out = torch.zeros_like(x[0]), None, []
    for t in range(x.shape[0]):
        spikes, state = neuron.step(x[t] + torch.nn.functional.linear(spikes, layer.feedback_weight), state)
        out.append(spikes)
    return torch.stack(out), state


@pytest.mark.parametrize("make", [
    lambda: st.Lif(2.0, surrogate=st.surrogate.Atan()),
    lambda: st.If(v_reset=None, reset_grad="detach"),
    lambda: st.CubaLif(),
])
def test_spikes_and_gradients_are_those_of_a_loop(make):
    torch.manual_seed(0)
    layer, neuron = st.Recurrent(make(), 12), make()
    x = torch.randn(7, 5, 12) + 0.5
    weight = torch.randn(7, 5, 12)
    results = []
    for run in (lambda x: layer(x, None), lambda x: loop(layer, neuron, x)):
        operand = x.clone().requires_grad_()
        layer.zero_grad()
        y, _ = run(operand)
        (y * weight).sum().backward()
        results.append((y.detach(), operand.grad, layer.feedback_weight.grad.clone()))
    (y, of_x, of_w), (their_y, their_x, their_w) = results
    assert torch.equal(y, their_y)
    torch.testing.assert_close(of_x, their_x, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(of_w, their_w, rtol=1e-4, atol=1e-4)


def test_a_sequence_in_two_parts():
    layer, x = st.Recurrent(st.Lif(2.0), 6), torch.randn(8, 3, 6) + 0.5
    y, last = layer(x, None)
    first, state = layer(x[:5], None)
    second, state = layer(x[5:], state)
    assert torch.equal(torch.cat([first, second]), y)
    for a, b in zip(state, last):
        assert torch.equal(a, b)


def test_copies_and_compiled_code():
    layer, x = st.Recurrent(st.Plif(), 6), torch.randn(4, 3, 6) + 0.5
    y, state = layer(x, None)
    assert torch.equal(copy.deepcopy(layer)(x), y)
    assert torch.equal(pickle.loads(pickle.dumps(layer))(x), y)
    assert pickle.loads(pickle.dumps(state))._fields == state._fields
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), y)
    compiled(x).sum().backward()
    assert layer.feedback_weight.grad is not None and layer.neuron_w.grad is not None


def test_another_number_of_features_says_what_was_expected():
    with pytest.raises(RuntimeError, match="6"):
        st.Recurrent(st.Lif(), 6)(torch.rand(4, 3, 5))


FORKED_WORKER = """
import torch
import spikelet.torch as st

layer = st.Recurrent(st.Lif(), 128)

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, k):
        x = torch.full((4, 3, 128), 0.5 + k, requires_grad=True)
        layer(x).sum().backward()
        return x.grad

expected = [Data()[k] for k in range(2)]
loader = torch.utils.data.DataLoader(Data(), batch_size=None, num_workers=1, multiprocessing_context="fork")
assert all(map(torch.equal, loader, expected))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not fork the workers of a DataLoader")
def test_a_forked_worker_runs_a_layer_that_its_parent_ran():
    # A worker that waits for threads which it does not have would hang. PyTorch itself refuses gradients in a forked process
    # where it has threads for GPUs.
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", FORKED_WORKER], timeout=300, check=True, env=environment)
