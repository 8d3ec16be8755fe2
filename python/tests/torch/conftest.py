"""Without torch 2.10 or later, the tests of the PyTorch part are left out."""

try:
    import torch

    _found = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2]) >= (2, 10)
except ImportError:
    _found = False

if not _found:
    collect_ignore_glob = ["*.py", "*/*.py"]
