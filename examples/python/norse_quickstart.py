"""Norse's tutorial network with spikelet's neurons: one import differs.

    python examples/python/norse_quickstart.py

It needs Norse: `pip install norse`. The images are generated: bright quadrants with noise.
"""

import torch

# import norse.torch as norse
import spikelet.torch.compat.norse as norse


class Net(torch.nn.Module):
    def __init__(self, seq_length=24):
        super().__init__()
        self.seq_length = seq_length
        self.model = norse.SequentialState(
            torch.nn.Conv2d(1, 8, 5, 1),
            norse.LIFCell(norse.LIFParameters(method="super")),
            torch.nn.MaxPool2d(2, 2),
            torch.nn.Flatten(),
            torch.nn.Linear(8 * 4 * 4, 32),
            norse.LIFCell(norse.LIFParameters(method="super")),
            norse.LILinearCell(32, 4),
        )

    def forward(self, x):
        voltages, state = [], None
        for _ in range(self.seq_length):
            out, state = self.model(x, state)
            voltages.append(out)
        return torch.stack(voltages)


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)

    def batch(count):
        target = torch.randint(4, (count,))
        image = torch.rand(count, 1, 12, 12)
        for k in range(4):
            row, column = 6 * (k // 2), 6 * (k % 2)
            image[target == k, :, row : row + 6, column : column + 6] += 2
        return image.to(device), target.to(device)

    for step in range(20):
        data, target = batch(64)
        optimizer.zero_grad()
        voltages = net(data)
        loss = torch.nn.functional.nll_loss(torch.log_softmax(voltages.max(0).values, dim=1), target)
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            with torch.no_grad():
                data, target = batch(256)
                accuracy = (net(data).max(0).values.argmax(1) == target).float().mean().item()
            print(f"step {step}, loss {loss.item():.3f}, test accuracy {100 * accuracy:.1f} %")


if __name__ == "__main__":
    main()
