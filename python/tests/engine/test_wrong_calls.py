"""Wrong calls are exceptions that name the thing, what was given, and what to do."""

import re

import numpy as np
import pytest

import spikelet
from spikelet import Lif, Linear, Sequential, Trainer


def net(**options):
    return Sequential(Linear(4, 3), Lif(), input=(4,), **options)


def step(**options):
    made = net()
    return spikelet.Step(lambda i: made(i["x"]).mean(), {"x": spikelet.Step.sequence(3, 4)}, batch_size=2, **options)


#: Samples of a network, and their classes.
X, Y = np.random.default_rng(0).random((20, 4), dtype=np.float32), np.arange(20) % 3

CALLS = {
    "no layers": (lambda p: Sequential(), ValueError, "no layers"),
    "a class as a layer": (lambda p: Sequential(Lif, input=(4,)), TypeError, r"Lif\(…\)"),
    "an unknown layer": (lambda p: Sequential("linaer", input=(4,)), ValueError, "linaer"),
    "other inputs than said": (lambda p: Sequential(Linear(5, 3), input=(4,)), ValueError, "inputs"),
    "a constant out of its domain": (lambda p: Sequential(Lif(tau=0.5), input=(4,)), ValueError, "tau"),
    "an unknown surrogate": (lambda p: Sequential(Lif(surrogate="atna"), input=(4,)), ValueError, "atan"),
    "an unknown model": (lambda p: spikelet.model("sew-resnet19"), ValueError, "sew-resnet18"),
    "an unknown option": (lambda p: spikelet.model("csnn", chanels=3), ValueError, "chanels"),
    "an input that is not known": (lambda p: Sequential(Linear(out_features=3)).state_dict(), ValueError, "input="),
    "no network": (lambda p: Trainer(Linear(4, 3)), TypeError, "Sequential"),
    "an unknown argument": (lambda p: Trainer(net(), epoch=3), TypeError, "epoch"),
    "an unknown optimizer": (lambda p: Trainer(net(), optimizer="adm").fit(X, Y), ValueError, "adm"),
    "no labels": (lambda p: Trainer(net()).fit(X), TypeError, "labels"),
    "too few labels": (lambda p: Trainer(net()).fit(X, Y[:5]), ValueError, "20 samples"),
    "a class too many": (lambda p: Trainer(net()).fit(X, Y + 1), ValueError, "0 to 2"),
    "labels with fractions": (lambda p: Trainer(net()).fit(X, Y + 0.5), ValueError, "integers"),
    "samples of another size": (lambda p: net().predict(np.zeros((2, 5))), ValueError, r"\[4\]"),
    "values that are no probabilities": (lambda p: Trainer(net()).fit(X * 3, Y), ValueError, "direct"),
    "values that are not finite": (
        lambda p: Trainer(net()).fit(np.where(X == X[3, 1], np.nan, X), Y), ValueError, r"x: the value at \[3, 1\] is nan"),
    "a batch that is too large": (lambda p: Trainer(net(), batch_size=50).fit(X, Y), ValueError, "50"),
    "an unknown device": (lambda p: net().to("cdua").state_dict(), ValueError, "cdua"),
    "a GPU that is not there": (lambda p: net(device="cuda:63").state_dict(), (RuntimeError, ValueError), None),
    "weights of another shape": (lambda p: net().load_state_dict({"0.weight": np.zeros((2, 4))}), ValueError, r"\[3, 4\]"),
    "weights of another name": (lambda p: net().load_state_dict({"weight": np.zeros((3, 4))}), ValueError, "0.weight"),
    "a file that is not there": (lambda p: spikelet.load(p / "x.safetensors"), FileNotFoundError, "x.safetensors"),
    "a file of another kind": (lambda p: spikelet.load(__file__), ValueError, None),
    "an unknown data set": (lambda p: spikelet.data.load("mnits"), ValueError, "mnist"),
    "files that are missing": (lambda p: spikelet.data.load("mnist", p), FileNotFoundError, "train-images"),
    "strings as samples": (lambda p: net().predict(["a", "b"]), TypeError, "numbers"),
    "rows of unequal length": (lambda p: net().predict([[1.0, 2.0], [1.0]]), TypeError, None),
    "a wrong key of an experiment": (
        lambda p: spikelet.Experiment.of(net()).set("training.epoch", 3), ValueError, "epochs"),
    "a wrong value in a file": (
        lambda p: spikelet.Experiment.from_text('[network]\nname = "csnn"\n[training]\nepochs = 0\n', "run.toml"),
        ValueError, "run.toml:4"),
    "no step is traced": (lambda p: spikelet.graph.parameter("w", (3,)), RuntimeError, "Step"),
    "a missing input": (
        lambda p: spikelet.Step(lambda i: net()(i["x"]).mean(), {"x": spikelet.Step.sequence(3, 4)}, batch_size=2)
        .compile().run(), ValueError, "x"),
    "an input of another shape": (
        lambda p: spikelet.Step(lambda i: net()(i["x"]).mean(), {"x": spikelet.Step.sequence(3, 4)}, batch_size=2)
        .compile().run(x=np.zeros((3, 2, 5))), ValueError, r"\[3, N, 4\]"),
    "an unknown choice of NIR": (
        lambda p: spikelet.nir.Graph.of(net()).simulate(np.zeros((3, 1, 4)), dr=1.0), TypeError, "dt"),
    "a neuron that NIR cannot say": (
        lambda p: spikelet.nir.Graph.of(Sequential(spikelet.Izhikevich(), input=(4,))), ValueError, None),
    "other features than a layer has": (
        lambda p: Sequential(Linear(4, 3), Linear(5, 2), input=(4,)), ValueError, "inputs"),
    "a learning rate that is no number": (
        lambda p: Trainer(net(), lr=float("nan")), ValueError, "lr: nan was given\n  help: give a finite"),
    "a learning rate that is given twice": (
        lambda p: Trainer(net(), optimizer={"name": "sgd", "lr": 0.1}, lr=0.2), ValueError, "lr: it was given twice"),
    "a constant that is no number": (
        lambda p: Trainer(net(), optimizer={"name": "adamw", "weight_decay": float("inf")}), ValueError, "weight_decay: inf"),
    "an epoch count of no kind": (lambda p: Trainer(net(), epochs=object()), TypeError, "epochs: object was given"),
    "a step that learns by no number": (
        lambda p: step(lr=float("nan")).compile(), ValueError, "lr: nan"),
    "a prediction without outputs": (
        lambda p: step().compile().predict(x=np.zeros((3, 2, 4))), ValueError, "`return loss, metrics, {\"scores\": scores}`"),
    "a stream without outputs": (
        lambda p: step().compile().stream(x=np.zeros((1, 2, 4))), ValueError, "`return loss, metrics, {\"scores\": scores}`"),
    "a gradient that is not read": (
        lambda p: step().compile().gradient("0.weight"), ValueError, r"none; `Step\(read_gradients="),
    "an input without values": (lambda p: step().compile().run(), ValueError, "`Step.shared`"),
    "averages that are not kept": (lambda p: step().compile().state_dict(averaged=True), ValueError, r"`Step\(ema=…\)`"),
    "classes as values": (
        lambda p: spikelet.Step(
            lambda i: spikelet.graph.mse(net()(i["x"]).mean(0), i["labels"]),
            {"x": spikelet.Step.sequence(3, 4), "labels": spikelet.Step.labels()}, batch_size=2).compile(),
        ValueError, "use `mse_one_hot` for labels of classes"),
    "a loss of values for classes": (
        lambda p: Trainer(net(), loss="mse").fit(X, Y), ValueError, "`mse` is for values; use `mse-one-hot`"),
    "an evaluation of values for classes": (
        lambda p: net().evaluate(X, Y, loss="mse"), ValueError, "`mse` is for values; use `mse-one-hot`"),
    "a folder with a run": (
        lambda p: [Trainer(net(), epochs=1, batch_size=5, time_steps=2, folder=p / "r", encoder="direct", progress=False).fit(X, Y)
                   for _ in range(2)], ValueError, r"\(`resume=True`\), or replace it \(`force=True`\)"),
    "an unknown framework": (lambda p: spikelet.weights.export(net(), "keras"), ValueError, "snntorch"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_says_what_is_wrong(name, tmp_path):
    call, kind, message = CALLS[name]
    with pytest.raises(kind, match=message) as caught:
        call(tmp_path)
    text = str(caught.value)
    assert text and "panic" not in text.lower() and "Traceback" not in text
    assert not re.search("[A-Z][a-z]+::|(?<!docker run )--[a-z]", text), text


def test_the_package_is_imported_quickly_without_torch_or_numpy():
    import subprocess
    import sys

    program = (
        "import sys, time; start = time.process_time(); import spikelet; "
        "print(time.process_time() - start, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    best = min(
        (subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout for _ in range(3)),
        key=lambda line: float(line.split()[0]),
    )
    seconds, torch, numpy = best.split()
    assert float(seconds) < 0.15 and torch == numpy == "False"
