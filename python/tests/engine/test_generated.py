"""The files that python/generator writes are up to date."""

import subprocess
import sys
from pathlib import Path

import pytest

PYTHON = Path(__file__).parents[2]


def test_the_classes_are_those_of_the_engine():
    if not (PYTHON.parent / "crates").exists():
        pytest.skip("the sources of the engine are not there")
    done = subprocess.run([sys.executable, PYTHON / "generator", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
