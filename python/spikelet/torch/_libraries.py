"""The libraries of the installed torch, for the native part of the package."""

from __future__ import annotations

import importlib.util
import pathlib

from .. import _native

#: The first version with all functions of libtorch's C interface that the operators use.
_OLDEST = (2, 10)
_NEEDED = "spikelet.torch needs PyTorch 2.10 or later"

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(f"{_NEEDED}: pip install torch", name="torch") from None

__all__ = ["check_version", "libtorch", "use_libraries_of_torch"]


def check_version() -> None:
    """Refuse a torch that is too old for the operators.

    Raises
    ------
    ImportError
        When torch is older than 2.10.
    """
    found = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if found < _OLDEST:
        raise ImportError(f"{_NEEDED}, {torch.__version__} is installed: pip install --upgrade 'torch>=2.10'")


def libtorch() -> tuple[str, str | None]:
    """Return the paths of libtorch_cpu and, if torch has CUDA, libtorch_cuda."""
    folder = pathlib.Path(torch.__file__).parent / "lib"
    gpu = folder / "libtorch_cuda.so"
    return str(folder / "libtorch_cpu.so"), str(gpu) if gpu.exists() else None


def use_libraries_of_torch() -> None:
    """Let the engine find the CUDA libraries that torch depends on, such as NVRTC: those of the same CUDA version."""
    if torch.version.cuda is None:
        return
    major = torch.version.cuda.split(".")[0]
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec is not None else None
    for root in roots or ():
        # One package for all libraries since CUDA 13, one for each before.
        for name in (f"cu{major}", "cuda_nvrtc", "cublas"):
            folder = pathlib.Path(root) / name / "lib"
            if any(folder.glob(f"lib*.so.{major}")):
                _native.search_libraries_in(str(folder))
