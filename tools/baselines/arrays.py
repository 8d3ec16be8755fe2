"""Writes the files of arrays that the tests of spikelet-data read: NumPy's formats and safetensors.

    python tools/baselines/arrays.py crates/spikelet-data/tests/data

Every array is `values(shape)` in some type, so that the tests know its elements.
"""

import pathlib
import sys

import numpy as np
from safetensors.numpy import save_file


def values(shape, dtype):
    """The integers from -3 modulo 101, halved in floating point types."""
    count = int(np.prod(shape))
    integers = np.arange(count) % 101 - 3
    if np.issubdtype(dtype, np.floating):
        return (integers / 2).astype(dtype).reshape(shape)
    return (integers if np.issubdtype(dtype, np.signedinteger) else integers + 3).astype(dtype).reshape(shape)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    shape = (4, 3, 2)
    types = ["<f4", ">f4", "<f8", "<f2", "<i8", ">i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1"]
    for name in types:
        dtype = np.dtype(name)
        np.save(folder / f"{dtype.str[1:]}_{'big' if name[0] == '>' else 'little'}.npy", values(shape, dtype))
    np.save(folder / "bool.npy", np.arange(24).reshape(shape) % 3 == 0)
    np.save(folder / "fortran.npy", np.asfortranarray(values(shape, np.float32)))
    np.save(folder / "labels.npy", np.arange(4))
    np.save(folder / "no_elements.npy", np.zeros((4, 3, 0), np.uint8))
    np.save(folder / "structured.npy", np.zeros(4, dtype=[("a", "<f4"), ("b", "<i8")]))
    with open(folder / "version_2.npy", "wb") as file:
        np.lib.format.write_array(file, values(shape, np.float32), version=(2, 0))
    arrays = {"x": values(shape, np.float32), "y": values((4,), np.int64), "other": np.zeros(3)}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "compressed.npz", **arrays)
    save_file(
        {"x": values(shape, np.float32), "y": values((4,), np.int64), "half": values((4, 2), np.float16)},
        folder / "tensors.safetensors",
        metadata={"made by": "tools/baselines/arrays.py"},
    )


main()
