"""The engine on a GPU; skipped without one."""

import numpy as np
import pytest

import spikelet
from spikelet import Step, graph

pytestmark = pytest.mark.skipif("cuda:0" not in spikelet.devices(), reason="there is no GPU")


def network(**options):
    return spikelet.Sequential(
        spikelet.Flatten(),
        spikelet.Linear(784, 64),
        spikelet.Lif(tau=2.0),
        spikelet.Linear(64, 10),
        spikelet.Lif(tau=2.0),
        input=(1, 28, 28),
        **options,
    )


@pytest.fixture(scope="module")
def digits():
    return spikelet.data.load("synthetic", train=2000, test=500)


@pytest.mark.parametrize("neuron", ["Lif", "Plif", "CubaLif", "Izhikevich", "Alif"])
def test_neurons_spike_as_on_the_cpu(neuron):
    x = 3 * np.random.default_rng(0).random((50, 4, 32), dtype=np.float32)
    nets = [spikelet.Sequential(getattr(spikelet, neuron)(), input=(32,), device=device) for device in ("cpu", "cuda")]
    np.testing.assert_array_equal(nets[0](x), nets[1](x))


def test_weights_move_between_devices():
    net = network()
    before = net.state_dict()
    net.to("cuda")
    assert "cuda" in net.device or "H" in net.device
    for name, weight in net.to("cpu").state_dict().items():
        np.testing.assert_array_equal(weight, before[name])


@pytest.mark.parametrize("precision", ["f32", "tf32", "bf16", "f16"])
def test_digits_are_learned(digits, precision):
    net = network()
    trainer = spikelet.Trainer(
        net, epochs=8, batch_size=50, time_steps=8, lr=5e-3, device="cuda", precision=precision, progress=False
    )
    report = trainer.fit(digits)
    assert report.test_accuracy > 0.85
    scores = net.predict(digits.test)
    labels = digits.test.arrays()[1]
    assert np.mean(scores.argmax(1) == labels) == pytest.approx(report.test_accuracy, abs=0.02)
    assert np.mean(net.to("cpu").predict(digits.test).argmax(1) == labels) == pytest.approx(report.test_accuracy, abs=0.02)


def test_a_step_trains_as_on_the_cpu():
    net = spikelet.Sequential(spikelet.Linear(4, 16), spikelet.Lif(), spikelet.Linear(16, 3), input=(4,))
    net.state_dict()

    def loss(inputs):
        scores = net(inputs["x"]).mean(0)
        return graph.cross_entropy(scores, inputs["labels"]), {"accuracy": graph.accuracy(scores, inputs["labels"])}

    step = Step(loss, {"x": Step.sequence(10, 4), "labels": Step.labels()}, batch_size=32, lr=1e-2)
    steps = [step.compile("cpu"), step.compile("cuda")]
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, labels = 2 * rng.random((10, 32, 4)), rng.integers(0, 3, 32)
        losses = [train.run(x=x, labels=labels)["loss"] for train in steps]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_tensors_of_torch_on_the_gpu_are_samples(digits):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    net = network(device="cuda")
    x = torch.rand(5, 1, 28, 28, device="cuda")
    np.testing.assert_array_equal(net.predict(x), net.predict(x.cpu()))


def test_plans_are_those_of_the_device():
    plan = network(device="cuda").plan(64, 8, precision="bf16")
    assert plan.kernels and plan.arena_bytes > 0
