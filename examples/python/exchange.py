"""A network as a NIR graph and as a state dict of another framework, and the difference between two networks.

    python examples/python/exchange.py
"""

import tempfile
from pathlib import Path

import numpy as np

import spikelet

net = spikelet.Sequential(
    spikelet.Linear(4, 8, name="fc1"),
    spikelet.Lif(tau=2.0),
    spikelet.Linear(8, 3, name="fc2"),
    spikelet.Lif(tau=2.0),
    input=(4,),
)
x = 3 * np.random.default_rng(0).random((20, 2, 4))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "net.nir"
    spikelet.nir.write(net, path)
    graph = spikelet.nir.read(path)
    assert np.array_equal(graph.simulate(x)["output/out"], net(x))
    print(graph, graph.edges)

    # What another simulator would compute that subtracts the threshold.
    print(spikelet.diff(net, path, x, second_choices={"reset": "subtract"}))

    weights = spikelet.weights.export(net, "spikingjelly")
    spikelet.weights.write(Path(folder) / "weights.pt", weights)
    print({name: tuple(array.shape) for name, array in weights.items()})
