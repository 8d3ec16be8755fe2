"""Train a small network on digits, without another framework.

    python examples/python/digits.py
"""

import numpy as np

import spikelet

digits = spikelet.data.load("synthetic", train=6000, test=1000)  # "mnist" with its files
net = spikelet.Sequential(
    spikelet.Flatten(),
    spikelet.Linear(784, 196),
    spikelet.Lif(tau=4.0, surrogate=spikelet.surrogate.Atan()),
    spikelet.Linear(196, 10),
    spikelet.Lif(tau=4.0),
    input=(1, 28, 28),
)
print(net)

trainer = spikelet.Trainer(net, epochs=3, batch_size=64, time_steps=8, lr=3e-3, device="auto")
report = trainer.fit(digits)
print(report)

images, labels = digits.test.arrays()
print("accuracy of predictions:", np.mean(net.predict(images).argmax(1) == labels))

recording = net.record(images[:100], layers="2")
print("firing rate of the hidden layer:", recording.spikes["2"].mean())

net.save("digits.safetensors")
again = spikelet.load("digits.safetensors")
assert np.array_equal(again.predict(images[:10]), net.predict(images[:10]))
