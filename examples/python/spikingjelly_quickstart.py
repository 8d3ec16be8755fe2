"""SpikingJelly's tutorial network with spikelet's neurons: one import differs.

    python examples/python/spikingjelly_quickstart.py

It needs SpikingJelly 2: `pip install spikingjelly`. The images are generated: patches of bars in ten orientations.
"""

import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

# from spikingjelly.activation_based import functional, layer, neuron, surrogate
from spikelet.torch.compat.spikingjelly import functional, layer, neuron, surrogate


class CSNN(nn.Module):
    def __init__(self, T: int, channels: int):
        super().__init__()
        self.T = T
        self.conv_fc = nn.Sequential(
            layer.Conv2d(1, channels, kernel_size=3, padding=1, bias=False),
            layer.BatchNorm2d(channels),
            neuron.IFNode(surrogate_function=surrogate.ATan()),
            layer.MaxPool2d(2, 2),
            layer.Conv2d(channels, channels, kernel_size=3, padding=1, bias=False),
            layer.BatchNorm2d(channels),
            neuron.LIFNode(surrogate_function=surrogate.ATan(), detach_reset=True),
            layer.MaxPool2d(2, 2),
            layer.Flatten(),
            layer.Linear(channels * 4 * 4, 64, bias=False),
            neuron.ParametricLIFNode(surrogate_function=surrogate.ATan()),
            layer.Linear(64, 10, bias=False),
            neuron.IFNode(surrogate_function=surrogate.ATan()),
        )
        functional.set_step_mode(self, step_mode="m")

    def forward(self, x: torch.Tensor):
        # x.shape = [N, C, H, W]
        x_seq = x.unsqueeze(0).repeat(self.T, 1, 1, 1, 1)  # [T, N, C, H, W]
        x_seq = self.conv_fc(x_seq)
        return x_seq.mean(0)


def bars(count: int, generator: torch.Generator):
    """Images of noisy bars, and their orientation in steps of 18 degrees."""
    label = torch.randint(10, (count,), generator=generator)
    angle = label * math.pi / 10 + 0.05 * torch.randn(count, generator=generator)
    axis = torch.linspace(-1, 1, 16)
    across = axis[None, :, None] * angle.cos()[:, None, None] + axis[None, None, :] * angle.sin()[:, None, None]
    image = torch.exp(-((across / 0.25) ** 2)) + 0.2 * torch.randn(count, 16, 16, generator=generator)
    return image.unsqueeze(1), label


def main():
    torch.manual_seed(0)
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    net = CSNN(T=4, channels=16).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(1)
    images, labels = bars(1024, generator)
    test_images, test_labels = bars(512, generator)

    for epoch in range(4):
        start_time = time.time()
        net.train()
        train_acc = 0
        for img, label in zip(images.split(64), labels.split(64)):
            img, label = img.to(device), label.to(device)
            optimizer.zero_grad()
            label_onehot = F.one_hot(label, 10).float()
            out_fr = net(img)
            loss = F.mse_loss(out_fr, label_onehot)
            loss.backward()
            optimizer.step()
            train_acc += (out_fr.argmax(1) == label).float().sum().item()
            functional.reset_net(net)
        net.eval()
        with torch.no_grad():
            out_fr = net(test_images.to(device))
            test_acc = (out_fr.argmax(1) == test_labels.to(device)).float().mean().item()
            functional.reset_net(net)
        print(
            f"epoch {epoch}, train_acc {train_acc / len(labels):.3f}, test_acc {test_acc:.3f}, "
            f"{time.time() - start_time:.1f} s"
        )


if __name__ == "__main__":
    main()
