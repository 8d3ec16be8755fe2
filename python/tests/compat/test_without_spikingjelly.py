"""The drop-in of SpikingJelly names a SpikingJelly that is missing or too old."""

import subprocess
import sys

import pytest

OLD = "class MemoryModule:\n    pass\n"


@pytest.mark.parametrize(("base", "message"), [
    (None, "which is not installed: `pip install spikingjelly>=2`"),
    (OLD, "those of SpikingJelly 2, an older one is installed: `pip install --upgrade spikingjelly`"),
])
def test_the_import_says_what_to_install(base, message, tmp_path):
    package = tmp_path / "spikingjelly" / "activation_based"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "base.py").write_text(base or "raise ImportError('no SpikingJelly')\n")
    (tmp_path / "spikingjelly" / "__init__.py").touch()
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import spikelet.torch.compat.spikingjelly"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: spikelet.torch.compat.spikingjelly derives its neurons from") and message in last
