"""SpikingJelly's versions of spikelet's named convolutional networks, for gpu.py and cpu.py."""


def spikingjelly():
    from spikingjelly.activation_based import functional, layer, neuron, surrogate

    return functional, layer, neuron, surrogate


class Csnn:
    """The Fashion-MNIST network of SpikingJelly's tutorial: the first convolution and its batch norm run once."""

    def __init__(self, time_steps, channels, device="cpu", channels_last=False, compiled=False):
        import torch

        functional, layer, neuron, surrogate = spikingjelly()
        c, fire = channels, lambda: neuron.IFNode(surrogate_function=surrogate.ATan())

        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.once = torch.nn.Sequential(torch.nn.Conv2d(1, c, 3, padding=1, bias=False), torch.nn.BatchNorm2d(c))
                self.steps = torch.nn.Sequential(
                    fire(), layer.MaxPool2d(2, 2),
                    layer.Conv2d(c, c, 3, padding=1, bias=False), layer.BatchNorm2d(c), fire(), layer.MaxPool2d(2, 2),
                    layer.Flatten(), layer.Linear(c * 49, c * 16, bias=False), fire(), layer.Linear(c * 16, 10, bias=False), fire(),
                )  # fmt: skip
                functional.set_step_mode(self.steps, "m")

            def forward(self, x):
                return self.steps(self.once(x).unsqueeze(0).repeat(time_steps, 1, 1, 1, 1)).mean(0)

        network = Network().to(device)
        if channels_last:
            network = network.to(memory_format=torch.channels_last)
        self.call = torch.compile(network) if compiled else network
        self.reset = lambda: functional.reset_net(network)
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
        self.time_steps, self.poisson = time_steps, False

    @staticmethod
    def loss(scores, labels):
        import torch.nn.functional as F

        return F.mse_loss(scores.float(), F.one_hot(labels, 10).float())


class Cifar10Net:
    """SpikingFlow's CIFAR-10 network: six convolutions of 256 channels, LIF with tau 100, Poisson input."""

    def __init__(self, time_steps, channels, device="cpu", channels_last=False, compiled=False):
        import torch

        functional, layer, neuron, surrogate = spikingjelly()
        c, fire = channels, lambda: neuron.LIFNode(tau=100.0, surrogate_function=surrogate.Sigmoid(alpha=1.0))
        layers = []
        for first in [3, c, c]:
            layers += [layer.Conv2d(first, c, 3, padding=1), layer.BatchNorm2d(c), fire()]
            layers += [layer.Conv2d(c, c, 3, padding=1), layer.MaxPool2d(2, 2), layer.BatchNorm2d(c), fire()]
        layers += [layer.Flatten(), layer.Linear(c * 16, 10, bias=False), fire()]
        network = torch.nn.Sequential(*layers).to(device)
        functional.set_step_mode(network, "m")
        if channels_last:
            network = network.to(memory_format=torch.channels_last)
        run = torch.compile(network) if compiled else network

        def call(x):
            spikes = (torch.rand(time_steps, *x.shape, device=x.device) <= x).to(x.dtype)
            return run(spikes).mean(0)

        self.call, self.time_steps = call, time_steps
        self.reset = lambda: functional.reset_net(network)
        self.optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)

    @staticmethod
    def loss(scores, labels):
        import torch.nn.functional as F

        return F.cross_entropy(scores.float(), labels)


def step(network, images, labels, amp=None):
    """A training step as a function; `amp` is the 16-bit type of automatic mixed precision."""
    import torch

    def run():
        network.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(images.device.type, dtype=amp, enabled=amp is not None):
            loss = network.loss(network.call(images), labels)
        loss.backward()
        network.optimizer.step()
        network.reset()
        return loss

    return run


def rows(bench, build, image, batch, all_time_steps, channels, settings, device):
    """A row for each number of steps and each setting: (name, precision, channels last, compiled)."""
    import torch

    torch.backends.cudnn.benchmark = True
    types = {"bf16": torch.bfloat16, "f16": torch.float16}
    for name, dtype, channels_last, compiled in settings:
        tf32 = dtype != "f32"
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = tf32
        for time_steps in all_time_steps:
            torch._dynamo.reset()

            def make():
                images = torch.rand(batch, *image, device=device)
                if channels_last:
                    images = images.to(memory_format=torch.channels_last)
                labels = torch.randint(0, 10, (batch,), device=device)
                network = build(time_steps, channels, device, channels_last, compiled)
                return step(network, images, labels, types.get(dtype))

            bench.row(make, setting=name, time_steps=time_steps, batch=batch, dtype=dtype, direction="training_step")


# What takes long to compile comes last.
SETTINGS = [
    ("eager, channels last", "tf32", True, False),
    ("eager, channels last", "bf16", True, False),
    ("eager", "f32", False, False),
    ("compiled, channels last", "tf32", True, True),
    ("compiled, channels last", "bf16", True, True),
]


def csnn(bench, options):
    """4 steps, batches of 128, 128 channels."""
    rows(bench, Csnn, (1, 28, 28), 128, [4], 128, SETTINGS, options.device)


def cifar10_net(bench, options):
    """8 and 50 steps, batches of 32, 256 channels."""
    rows(bench, Cifar10Net, (3, 32, 32), 32, options.time_steps or [8, 50], 256, SETTINGS[:2], options.device)
