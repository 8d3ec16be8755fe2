"""The files that python/generate.py writes are up to date."""

import importlib.util
from pathlib import Path

import pytest

GENERATOR = Path(__file__).parents[2] / "generate.py"


def test_the_classes_are_those_of_the_engine():
    spec = importlib.util.spec_from_file_location("generate", GENERATOR)
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    if not generate.NN.exists():
        pytest.skip("the sources of the engine are not there")
    for name, text in generate.files().items():
        assert (generate.PACKAGE / name).read_text() == text, f"{name} is out of date: run python/generate.py"
