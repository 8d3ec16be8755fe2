"""A network with the weights that someone published is trained further and written as a NIR graph.

    python examples/python/published_model.py

Weights are a file, the folder of a model, or its address, `hf://OWNER/NAME`; here the example makes them itself.
"""

import tempfile
from pathlib import Path

import numpy as np

import spikelet

rng = np.random.default_rng(0)
y = rng.integers(0, 4, 256)
x = (rng.random((256, 1, 28, 28)) * 0.5 + 0.5 * np.eye(4)[y].repeat(7, 1)[:, None, :, None]).astype(np.float32)  # [N, C, H, W]
folder = Path(tempfile.mkdtemp())
spikelet.model("mnist-fc", classes=10).save(folder / "published.safetensors")

net = spikelet.model("mnist-fc", classes=4)
print(net.load(folder / "published.safetensors", strict=False))  # the last layer is new: it has other classes
report = spikelet.Trainer(net, epochs=5, lr=1e-3, time_steps=8).fit(x, y, validation=0.1)
spikelet.nir.write(net, folder / "tuned.nir")

print(report, spikelet.nir.read(folder / "tuned.nir"))
