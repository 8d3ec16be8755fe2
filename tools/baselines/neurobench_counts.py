"""The metrics of NeuroBench's harness for a small network: crates/spikelet-train/tests/data/neurobench.json.

    python tools/baselines/neurobench_counts.py     # needs torch, snntorch, neurobench 2.3.0

The network has two convolutions and a linear layer with leaky neurons; some weights are zero. All values are multiples
of 1/8, and the neurons halve their potential, so that other programs compute the same spikes. It runs over images,
which are not binary, and over spikes.
"""

import json
import pathlib
import warnings

import snntorch
import torch
from neurobench.metrics.static import ConnectionSparsity, Footprint, ParameterCount
from neurobench.metrics.workload import ActivationSparsity, MembraneUpdates, NeuronOperations, SynapticOperations
from neurobench.models import SNNTorchModel

TARGET = pathlib.Path(__file__).parents[2] / "crates/spikelet-train/tests/data/neurobench.json"
STEPS, SAMPLES, BATCH = 5, 12, 4


def eighths(shape, seed, zeros=False):
    """Multiples of 1/8 from -1 to 1; a third of them 0 if asked."""
    count = int(torch.tensor(shape).prod())
    values = [((k * 7919 + seed * 104729) % 17 - 8) / 8 for k in range(count)]
    if zeros:
        values = [0.0 if (k * k + seed) % 3 == 0 else value for k, value in enumerate(values)]
    return torch.tensor(values).reshape(shape)


def neuron(last=False):
    # H = V / 2 + X; a spike above 1 sets V to 0 in the same step.
    return snntorch.Leaky(0.5, threshold=1.0, init_hidden=True, output=last, reset_mechanism="zero", reset_delay=False)


net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 2, 3, stride=2, padding=1),
    neuron(),
    torch.nn.Conv2d(2, 4, (3, 2), padding=(1, 0), groups=2, bias=False),
    neuron(),
    torch.nn.Flatten(),
    torch.nn.Linear(4 * 4 * 3, 6),
    neuron(last=True),
)
with torch.no_grad():
    for seed, name in enumerate(["0.weight", "0.bias", "2.weight", "5.weight", "5.bias"]):
        parameter = net.get_parameter(name)
        # Larger, so that spikes reach the last layer.
        parameter.copy_(6 * eighths(parameter.shape, seed, zeros=name.endswith("weight")))
warnings.simplefilter("ignore")

images = (2 * eighths([SAMPLES, 1, 8, 8], 11)).unsqueeze(1).repeat(1, STEPS, 1, 1, 1)
spikes = (eighths([SAMPLES, STEPS, 1, 8, 8], 12) > 0.5).float()
found = {"steps": STEPS, "samples": SAMPLES, "cases": {}}
for case, data in [("images", images), ("spikes", spikes)]:
    model = SNNTorchModel(net)
    model.register_hooks()
    metrics = [ActivationSparsity(), SynapticOperations(), MembraneUpdates(), NeuronOperations()]
    values, sparsity, spikes_of_layers = {}, [], [0, 0, 0]
    with torch.no_grad():
        for batch in data.split(BATCH):
            model.reset_hooks()
            predictions = model(batch)
            for k, hook in enumerate(model.activation_hooks):
                spikes_of_layers[k] += int(sum(out.sum() for out in hook.activation_outputs))
            for metric in metrics:
                values[type(metric).__name__] = metric(model, predictions, (batch, None))
            sparsity.append(values["ActivationSparsity"])
    # The mean over batches of one size, as in the harness.
    values["ActivationSparsity"] = sum(sparsity) / len(sparsity)
    for metric in [Footprint(), ParameterCount(), ConnectionSparsity()]:
        values[type(metric).__name__] = metric(model)
    model.cleanup_hooks()
    # The harness counts the constants of snnTorch's neurons, and the potentials of a batch, as buffers.
    values["neuron_bytes"] = sum(b.numel() * b.element_size() for b in net.buffers())
    values["spikes"] = spikes_of_layers
    found["cases"][case] = values
TARGET.write_text(json.dumps(found, indent=1) + "\n")
print(TARGET.read_text())
