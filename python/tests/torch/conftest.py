"""What the tests of the PyTorch part share."""

import pytest

torch = pytest.importorskip("torch", minversion="2.10", reason="needs torch 2.10 or later")
