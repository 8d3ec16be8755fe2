"""The examples in docstrings run."""

import doctest
import importlib

import numpy as np
import pytest

import spikelet

MODULES = [
    "spikelet",
    "spikelet._experiment",
    "spikelet._models",
    "spikelet._network",
    "spikelet._part",
    "spikelet._sequential",
    "spikelet._step",
    "spikelet._train_step",
    "spikelet._trainer",
    "spikelet.data",
    "spikelet.events",
    "spikelet.events._files",
    "spikelet.events._frames",
    "spikelet.events._arrays",
    "spikelet.events._recordings",
    "spikelet.graph",
    "spikelet.nir",
    "spikelet.weights",
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name, tmp_path):
    module = importlib.import_module(name)
    names = {"spikelet": spikelet, "np": np, "tmp_path": tmp_path}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    for example in doctest.DocTestFinder().find(module, extraglobs=names):
        runner.run(example)
    assert runner.failures == 0
    assert runner.tries > 0
