"""The libraries of the installed torch, for the native part of the package."""

from __future__ import annotations

import importlib.util
import pathlib

import torch

from .. import _native

__all__ = ["libtorch", "use_nvrtc_of_torch"]


def libtorch() -> tuple[str, str | None]:
    """Return the paths of libtorch_cpu and, if torch has CUDA, libtorch_cuda."""
    folder = pathlib.Path(torch.__file__).parent / "lib"
    gpu = folder / "libtorch_cuda.so"
    return str(folder / "libtorch_cpu.so"), str(gpu) if gpu.exists() else None


def use_nvrtc_of_torch() -> None:
    """Let the engine find the NVRTC that torch depends on: that of the same CUDA version."""
    if torch.version.cuda is None:
        return
    major = torch.version.cuda.split(".")[0]
    spec = importlib.util.find_spec("nvidia")
    roots = spec.submodule_search_locations if spec is not None else None
    for root in roots or ():
        for name in (f"cu{major}", "cuda_nvrtc"):
            folder = pathlib.Path(root) / name / "lib"
            if (folder / f"libnvrtc.so.{major}").exists():
                _native.search_libraries_in(str(folder))
