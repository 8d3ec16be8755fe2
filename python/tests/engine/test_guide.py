"""The programs of the guide run as they stand there, one after the other."""

import re
from pathlib import Path

import numpy as np
import pytest

import spikelet

ROOT = Path(__file__).parents[3]
RECIPE = """
[data]
dataset = "synthetic"
train_images = 300
test_images = 100
[network]
name = "mnist-fc"
[training]
epochs = 9
time_steps = 2
batch_size = 50
"""


def run(page, folder, monkeypatch):
    """The blocks of a page in one namespace, in a folder."""
    if not (ROOT / page).exists():
        pytest.skip("the guide is not there")
    blocks = list(re.finditer(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S))
    monkeypatch.chdir(folder)
    names = {}
    for block in blocks:
        line = block.string.count("\n", 0, block.start()) + 1
        exec(compile("\n" * line + block[1], page, "exec"), names)
    return names, len(blocks)


def test_the_page_on_python(tmp_path, monkeypatch):
    (tmp_path / "recipe.toml").write_text(RECIPE)
    events = spikelet.events.make(t=range(100), x=[3] * 100, y=[7] * 100, p=[1] * 100)
    for name, format in (("recording.aedat4", "aedat4"), ("large.raw", "evt3")):
        spikelet.events.write(tmp_path / name, events, format, sensor=(34, 34))
    for part in ("Train", "Test"):
        (tmp_path / "data" / "N-MNIST" / part / "0").mkdir(parents=True)
        spikelet.events.write(tmp_path / "data" / "N-MNIST" / part / "0" / "00001.bin", events, "atis5", sensor=(34, 34))
    names, blocks = run("docs/guide/python.md", tmp_path, monkeypatch)
    assert blocks == 8
    assert names["frames"].shape == (10, 2, 34, 34) and len(names["samples"]) == 1
    np.testing.assert_array_equal(names["output"], names["net"](names["x"]))
    # The first network that a reader trains.
    assert spikelet.load("digits.safetensors").evaluate(spikelet.data.load("synthetic", test=1000).test)["accuracy"] > 0.93


def test_the_page_on_fine_tuning(tmp_path, monkeypatch, capsys):
    names, _ = run("docs/guide/fine-tuning.md", tmp_path, monkeypatch)
    assert "2.weight" in capsys.readouterr().out
    np.testing.assert_array_equal(names["net"].state_dict()["0.weight"], names["trained"].state_dict()["0.weight"])


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python-migration.md"])
def test_the_pages_on_torch(page, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("spikingjelly")
    names, blocks = run(page, tmp_path, monkeypatch)
    assert blocks >= 1 and isinstance(names["net"], torch.nn.Module)
    if "each" in names:
        assert names["each"]["w"].shape == (2,) and names["state"].v.shape == (2, 4)
