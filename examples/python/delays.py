"""Sequences of different lengths in PyTorch: learned delays, and recurrent connections with delays.

    python examples/python/delays.py
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

import spikelet.torch as st

torch.manual_seed(0)
labels = torch.randint(0, 4, (256,))
lengths = torch.randint(20, 40, (256,))
x = pad_sequence([(torch.rand(n, 8) < 0.1 + 0.5 * torch.eye(4)[k].repeat(2)).float() for n, k in zip(lengths, labels)])  # [T, N, 8]
mask = (torch.arange(len(x))[:, None] < lengths)[..., None]

net = nn.Sequential(st.Dcls1d(8, 64, kernel_size=15, width=7.0), st.Recurrent(st.Lif(2.0, v_threshold=0.3), 64, max_delay=10, width=5.0), nn.Linear(64, 4))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
st.register_constraints(net, optimizer)  # delays stay between 0 and the longest one
width = st.DelayWidth(net, 5.0, 0.5, epochs=6)

for epoch in range(8):
    correct = 0
    for k in torch.randperm(256).split(32):
        scores = (net(x[:, k]) * mask[:, k]).sum(0) / lengths[k, None]  # the padding does not count
        loss = nn.functional.cross_entropy(scores, labels[k])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (scores.argmax(1) == labels[k]).sum().item()
    width.step()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {correct / 256:.3f}")
