"""Neurons in DistributedDataParallel: two processes on the CPU have the gradients of the complete batch."""

import pytest
import torch
from torch import distributed, multiprocessing, nn

import spikelet.torch as st

RANKS = 2


def network():
    torch.manual_seed(0)
    learned = st.Lif(2.0, trainable={"tau": st.Trainable("channel", above=1.0)}, shape=(5, 1, 4))
    return nn.Sequential(nn.Linear(6, 4), learned, st.Recurrent(st.CubaLif(), 4), nn.Linear(4, 3), st.Plif())


def batch():
    torch.manual_seed(1)
    return torch.randn(5, 8, 6), torch.rand(8, 3)


def train(net, x, target):
    """The parameters after three steps, and the last gradients."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x).mean(0), target).backward()
        optimizer.step()
    return [tensor.detach().clone() for p in net.parameters() for tensor in (p, p.grad)]


def work(rank, folder):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=RANKS)
    x, target = batch()
    share = slice(4 * rank, 4 * rank + 4)
    found = train(nn.parallel.DistributedDataParallel(network()), x[:, share], target[share])
    torch.save(found, f"{folder}/{rank}.pt")
    distributed.destroy_process_group()


@pytest.mark.skipif(not distributed.is_available(), reason="PyTorch is built without torch.distributed")
def test_two_processes_have_the_gradients_of_the_complete_batch(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    multiprocessing.spawn(work, (str(tmp_path),), nprocs=RANKS)
    expected = train(network(), *batch())
    for rank in range(RANKS):
        for found, value in zip(torch.load(tmp_path / f"{rank}.pt"), expected, strict=True):
            torch.testing.assert_close(found, value, rtol=1e-5, atol=1e-6)
