"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import spikelet


def modules():
    found = ["spikelet", "spikelet.events"]
    for package in (spikelet, spikelet.events):
        found += [f"{package.__name__}.{one.name}" for one in pkgutil.iter_modules(package.__path__) if not one.ispkg]
    return [name for name in found if name not in ("spikelet.__main__", "spikelet._native")]


@pytest.mark.parametrize("name", modules())
def test_examples_run(name, tmp_path):
    names = {"spikelet": spikelet, "np": np, "tmp_path": tmp_path}
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(optionflags=flags)
    for example in doctest.DocTestFinder().find(importlib.import_module(name), extraglobs=names):
        runner.run(example)
    assert runner.failures == 0
