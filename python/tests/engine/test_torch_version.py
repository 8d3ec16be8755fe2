"""Without a PyTorch that is new enough, the error of `spikelet.torch` says what to install."""

import subprocess
import sys

import pytest


def error_of_import(folder, name):
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import {name}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["spikelet.torch", "spikelet.torch.compat.spikingjelly", "spikelet.torch.neurons"])
@pytest.mark.parametrize("version", ["2.0.1", "2.9.1+cpu", "1.13.0"])
def test_an_old_version_is_refused(name, version, tmp_path):
    (tmp_path / "torch.py").write_text(f"__version__ = {version!r}\n")
    assert error_of_import(tmp_path, name) == (
        f"ImportError: spikelet.torch needs PyTorch 2.10 or later, {version} is installed: pip install --upgrade 'torch>=2.10'"
    )


def test_a_missing_torch_is_named(tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    found = error_of_import(tmp_path, "spikelet.torch")
    assert found == "ModuleNotFoundError: spikelet.torch needs PyTorch 2.10 or later: pip install torch"
    # Another missing module is not taken for torch.
    (tmp_path / "torch.py").write_text("import a_module_that_is_missing\n")
    assert "a_module_that_is_missing" in error_of_import(tmp_path, "spikelet.torch")


def test_the_package_is_shown_without_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import inspect, pydoc, spikelet; "
        "assert 'Trainer' in pydoc.render_doc(spikelet); assert dict(inspect.getmembers(spikelet))['graph']; "
        "assert not hasattr(spikelet, 'torch'); spikelet.torch"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == "AttributeError: spikelet.torch needs PyTorch 2.10 or later: pip install torch"
