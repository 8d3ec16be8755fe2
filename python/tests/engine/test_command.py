"""The command `spikelet` of the package."""

import subprocess
import sys

import spikelet


def run(*arguments):
    command = [sys.executable, "-m", "spikelet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_the_command_is_that_of_the_program():
    done = run("--version")
    assert done.returncode == 0 and spikelet.__version__ in done.stdout
    assert "train" in run("--help").stdout


def test_wrong_arguments_have_their_exit_code():
    done = run("trian")
    assert done.returncode == 2 and "train" in done.stderr


def test_ranks_are_processes_of_python(tmp_path):
    arguments = "train --data-parallel 2 --device cpu --epochs 1 --train-images 256 --test-images 64 --time-steps 2"
    done = run(*arguments.split(), "--batch-size", "32", "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "last.safetensors").exists()
