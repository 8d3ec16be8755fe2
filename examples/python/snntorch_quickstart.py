"""snnTorch's tutorial network with spikelet's neurons: one import differs.

    python examples/python/snntorch_quickstart.py

It needs snnTorch: `pip install snntorch`. The data are generated: ten random patterns with noise.
"""

import torch
import torch.nn as nn

# import snntorch as snn
import spikelet.torch.compat.snntorch as snn
from snntorch import functional as SF
from snntorch import surrogate

num_inputs, num_hidden, num_outputs, num_steps, beta = 64, 128, 10, 25, 0.95


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        spike_grad = surrogate.fast_sigmoid(slope=25)
        self.fc1 = nn.Linear(num_inputs, num_hidden)
        self.lif1 = snn.Leaky(beta=beta, spike_grad=spike_grad)
        self.fc2 = nn.Linear(num_hidden, num_outputs)
        self.lif2 = snn.Leaky(beta=beta, spike_grad=spike_grad, learn_beta=True)

    def forward(self, x):
        mem1 = self.lif1.reset_mem()
        mem2 = self.lif2.reset_mem()
        spk2_rec, mem2_rec = [], []
        for step in range(num_steps):
            cur1 = self.fc1(x)
            spk1, mem1 = self.lif1(cur1, mem1)
            cur2 = self.fc2(spk1)
            spk2, mem2 = self.lif2(cur2, mem2)
            spk2_rec.append(spk2)
            mem2_rec.append(mem2)
        return torch.stack(spk2_rec, dim=0), torch.stack(mem2_rec, dim=0)


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    loss_fn = SF.ce_rate_loss()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.9, 0.999))
    patterns = torch.rand(num_outputs, num_inputs)

    def batch(count):
        targets = torch.randint(num_outputs, (count,))
        data = patterns[targets] + 0.25 * torch.randn(count, num_inputs)
        return data.to(device), targets.to(device)

    for iteration in range(40):
        data, targets = batch(128)
        net.train()
        spk_rec, mem_rec = net(data)
        loss_val = loss_fn(spk_rec, targets)
        optimizer.zero_grad()
        loss_val.backward()
        optimizer.step()
        if iteration % 10 == 9:
            with torch.no_grad():
                net.eval()
                test_data, test_targets = batch(512)
                test_spk, _ = net(test_data)
                acc = SF.accuracy_rate(test_spk, test_targets)
            print(f"iteration {iteration}, loss {loss_val.item():.3f}, test accuracy {100 * acc:.1f} %")


if __name__ == "__main__":
    main()
