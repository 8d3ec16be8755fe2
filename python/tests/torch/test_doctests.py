"""The examples in docstrings run."""

import doctest
import importlib
import pkgutil

import pytest

import spikelet.torch

# Examples of the drop-ins use the packages that they stand for.
PEERS = ("spikingjelly", "snntorch", "norse")


@pytest.mark.parametrize(
    "name", ["spikelet.torch", *(found.name for found in pkgutil.walk_packages(spikelet.torch.__path__, "spikelet.torch."))]
)
def test_examples_run(name):
    for peer in PEERS:
        if peer in name or name.endswith("_convert"):
            pytest.importorskip(peer)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0
