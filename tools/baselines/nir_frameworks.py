#!/usr/bin/env python3
"""NIR files that spikelet writes run in snnTorch, Norse and sinabs with the same spikes.

    tools/baselines/nir_frameworks.py [--program FILE] [--golden DIR] [--folder DIR] [--only TEXT] [--json] [FRAMEWORK…]

Files: graphs stated in nir_networks.py and the graphs of --golden, both written again by `spikelet convert IN.nir OUT.nir`, and networks
that `spikelet train` trains for an epoch and `spikelet convert CHECKPOINT OUT.nir` exports. Each is read by the package
nir, imported by the framework's own function, and run for 64 steps on four random sequences, two binary and two of real
numbers. The spikes of every layer of neurons are compared with those of `spikelet simulate --convention FRAMEWORK`.

    equal            all spikes are the same
    rounding         f32 spikes differ, first where a potential is within 1e-5 of its threshold; in f64 none differs
    different        spikes differ, or nir reads another graph than before `spikelet convert`
    not importable   the importer refuses the graph, or computes something else (`faults`); importers are called as they are
    not comparable   sinabs emits several spikes in a step
    not converted    spikelet refuses the file

Exit code 1 if a file is `different`, or if a framework ran none. With --json a line that is `not importable` has the number
of spikes that differ, if the graph runs. About two minutes with --golden.

Needs Python 3.11 and an environment of its own; the metadata of sinabs asks for an older nir, hence --no-deps:

    pip install torch==2.7.1 numpy nir==1.0.8 nirtorch==2.6 snntorch==1.0.0 safetensors==0.8.0
    pip install --no-deps norse==1.1.0 sinabs==3.1.3 pbr
"""

import argparse
import contextlib
import io
import json
import logging
import subprocess
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import nir
import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from nir_importers import FRAMEWORKS, T, flat, in_order, same
from nir_networks import stated_files, trained_files

ROOT = Path(__file__).resolve().parent.parent.parent
GAINS = 2.0 ** np.arange(-6, 14)
COMPARED = ("equal", "rounding", "different")
PACKAGES = ("nir", "nirtorch", "snntorch", "norse", "sinabs", "torch")


class Spikelet:
    """The program, called in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = Path(program).resolve(), folder

    def __call__(self, *words):
        done = subprocess.run(
            [self.program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise RuntimeError(f"spikelet {' '.join(map(str, words))}\n{done.stderr}")
        return done.stdout

    def simulate(self, path, name, x, framework, dt, dtype="f32"):
        """All sequences [T, N, …] of a graph, by the names of nodes."""
        save_file({f"in/{name}": np.ascontiguousarray(x)}, self.folder / "x.safetensors")
        step = () if dt is None else ("--dt", dt)
        device = ("--device", "cpu", "--threads", 1, "--dtype", dtype, "--quiet")
        files = ("--input", "x.safetensors", "--out", "y.safetensors")
        self("simulate", path, *files, "--record", "all", "--convention", framework, *step, *device)
        return load_file(self.folder / "y.safetensors")


# Proof


def sequences(shape, steps, gains):
    """[T, 4 × gains, …]: two binary and two real sequences for each gain."""
    random = np.random.default_rng(0)
    binary = [random.random((steps, *shape)) < p for p in (0.2, 0.5)]
    real = [random.uniform(0, 1, (steps, *shape)), random.uniform(-0.5, 1.5, (steps, *shape))]
    each = np.stack([np.asarray(x, np.float32) for x in (*binary, *real)], 1)
    return np.concatenate([each * np.float32(gain) for gain in gains], 1)


def several(graph, paths, sequences, k=slice(None)):
    """Whether sinabs would fire more than once in a step, or clip the potential of an IF neuron, in samples k."""
    for path in paths:
        node = flat(graph)[path]
        if np.any(sequences[f"{path}/h"][:, k] >= 2 * node.v_threshold):
            return True
        if isinstance(node, nir.IF) and np.any(sequences[f"{path}/v"][:, k] <= -node.v_threshold):
            return True
    return False


def gain(graph, paths, name, shape, framework, dt, spikelet, path):
    """The factor of the input at which most layers fire, neither always nor rarely; None if none fires at any."""
    y = spikelet.simulate(path, name, sequences(shape, T // 2, GAINS), framework, dt)
    best, found = (0, 0.0), None
    for i, factor in enumerate(GAINS):
        k = slice(4 * i, 4 * i + 4)
        rates = [float(y[f"{p}/out"][:, k].mean()) for p in paths]
        firing = [rate * (1 - rate) for rate in rates if 0 < rate < 1]
        score = (len(firing), min(firing, default=0.0))
        if score > best and not (framework == "sinabs" and several(graph, paths, y, k)):
            best, found = score, factor
    return found


def near_threshold(graph, paths, ours, theirs):
    """Samples whose first differences are all potentials within 1e-5 of their thresholds, and the number of samples."""
    near, count = 0, 0
    unequal = {path: ours[f"{path}/out"] != theirs[path] for path in paths}
    for k in range(next(iter(theirs.values())).shape[1]):
        steps = [np.flatnonzero(u[:, k].reshape(len(u), -1).any(1)) for u in unequal.values()]
        if all(len(s) == 0 for s in steps):
            continue
        count += 1
        t = min(s[0] for s in steps if len(s))
        path = next(path for path in paths if unequal[path][t, k].any())
        threshold = flat(graph)[path].v_threshold
        gap = np.abs(ours[f"{path}/h"][t, k] - threshold) / np.abs(threshold)
        near += bool(np.all(gap[unequal[path][t, k]] < 1e-5))
    return near, count


def first_line(error):
    text = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {text[:160]}"


def prove(label, path, framework, dt, spikelet):
    """The comparison of a file in a framework, as a dictionary."""
    row, graph = {"file": label, "framework": framework}, nir.read(path)
    paths = in_order(graph)
    inputs = [(name, node) for name, node in graph.nodes.items() if isinstance(node, nir.Input)]
    if len(inputs) != 1 or sum(isinstance(node, nir.Output) for node in graph.nodes.values()) != 1:
        return row | {"status": "not importable", "reason": "NIRTorch runs graphs with one Input and one Output"}
    (name, node), = inputs
    shape = [int(size) for size in node.input_type["input"]]
    kind = FRAMEWORKS[framework]
    dt = kind.step_length(graph, dt)
    reason = next(kind.faults(graph, dt), None)
    try:
        with quiet():
            imported = kind(nir.read(path), dt)
            imported.run(np.zeros((T, 4, *shape), np.float32), paths)
    except Exception as error:  # importers are not ours: any error is a result
        text = first_line(error)
        return row | {"status": "not importable", "reason": f"{reason}; then {text}" if reason else text}
    factor = gain(graph, paths, name, shape, framework, dt, spikelet, path)
    if factor is None:
        if reason:
            return row | {"status": "not importable", "reason": reason}
        text = "emits several spikes in a step, or clips the potential of IF, wherever it fires"
        return row | {"status": "not comparable", "reason": f"sinabs {text}" if framework == "sinabs" else "no spikes"}
    x = sequences(shape, T, [factor])
    ours = spikelet.simulate(path, name, x, framework, dt)
    with quiet():
        theirs = kind(nir.read(path), dt).run(x, paths)
    layers = compare(paths, ours, theirs)
    row |= {"gain": float(factor), "dt": dt, "layers": layers}
    row |= {key: sum(layer[key] for layer in layers.values()) for key in ("elements", "spikes", "different")}
    if reason:
        return row | {"status": "not importable", "reason": reason}
    if framework == "sinabs" and (several(graph, paths, ours) or max(b.max() for b in theirs.values()) > 1):
        return row | {"status": "not comparable", "reason": "sinabs emits several spikes in a step, or clips the potential of IF"}
    if row["different"] == 0:
        return row | {"status": "equal"}
    near, count = near_threshold(graph, paths, ours, theirs)
    reason = f"first differences within 1e-5 of the threshold in {near} of {count} samples"
    if near < count or framework == "sinabs":  # the spikes of sinabs are always f32
        return row | {"status": "different", "reason": reason}
    ours = spikelet.simulate(path, name, x, framework, dt, "f64")
    with quiet():
        theirs = kind(nir.read(path), dt).run(x.astype(np.float64), paths)
    in_f64 = sum(layer["different"] for layer in compare(paths, ours, theirs).values())
    status = "different" if in_f64 else "rounding"
    return row | {"status": status, "different_f64": in_f64, "reason": f"{reason}; in f64 {in_f64:,} differ"}


def compare(paths, ours, theirs):
    """Spikes and differences of each layer."""
    layers = {}
    for path in paths:
        a, b = ours[f"{path}/out"], theirs[path]
        assert a.shape == b.shape, (path, a.shape, b.shape)
        layers[path] = {"elements": a.size, "spikes": int(b.sum()), "different": int((a != b).sum())}
    return layers


@contextlib.contextmanager
def quiet():
    """Without what importers print."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def show(row, as_json):
    if as_json:
        print(json.dumps(row), flush=True)
        return
    done = row["status"] in COMPARED and "elements" in row
    counts = f"{row['elements']:>9,} {row['spikes']:>8,} {row['different']:>9,}" if done else f"{'':9} {'':8} {'':9}"
    text = row["status"] if row["status"] == "equal" else f"{row['status']}: {row['reason']}"
    print(f"{row['file']:<42} {row['framework']:<9} {counts}  {text}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help=f"of {', '.join(FRAMEWORKS)} (default: all)")
    parser.add_argument("--program", default=ROOT / "target/release/spikelet")
    parser.add_argument("--golden", help="folder of NIR files, with the step length of NAME.nir in NAME.json, if it is there")
    parser.add_argument("--folder", help="where files are written (default: a temporary folder)")
    parser.add_argument("--only", default="", help="files whose names contain this text")
    parser.add_argument("--json", action="store_true", help="a JSON object for each line")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(arguments.folder or temporary).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        spikelet = Spikelet(arguments.program, folder)
        sys.exit(0 if run(arguments, spikelet) else 1)


def golden_files(folder):
    for path in sorted(Path(folder).glob("*.nir")):
        told = path.with_suffix(".json")
        dt = json.loads(told.read_text()).get("simulation", {}).get("dt") if told.exists() else None
        yield f"golden {path.stem}", path, dt


def run(arguments, spikelet):
    """Whether everything is as it should be."""
    frameworks = arguments.frameworks or list(FRAMEWORKS)
    rows, good = [], True
    versions = {name: version(name) for name in PACKAGES}
    if arguments.json:
        print(json.dumps({"versions": versions}))
    else:
        print(", ".join(f"{name} {number}" for name, number in versions.items()))
        print(f"{'file':<42} {'framework':<9} {'compared':>9} {'spikes':>8} {'different':>9}")
    for files, each in sources(arguments, spikelet, frameworks):
        for label, path, dt in files:
            if arguments.only not in label:
                continue
            written = spikelet.folder / f"{label.replace(' ', '-')}.nir"
            row = {"file": label, "framework": "nir"} | convert(spikelet, path, written, dt)
            rows.append(row)
            if row["status"] != "equal":
                good &= row["status"] != "different"
                show(row, arguments.json)
                continue
            for framework in each if in_order(nir.read(written)) else ():
                row = prove(label, written, framework, dt, spikelet)
                good &= row["status"] != "different"
                rows.append(row)
                show(row, arguments.json)
    return summary(rows, frameworks, arguments.json) and good


def sources(arguments, spikelet, frameworks):
    """Files, with the frameworks that they are for."""
    for framework in frameworks:
        yield stated_files(framework, spikelet), [framework]
    yield trained_files(spikelet, arguments.only), frameworks
    if arguments.golden:
        yield golden_files(arguments.golden), frameworks


def convert(spikelet, path, written, dt):
    """Writes a graph again with spikelet, or the network of a checkpoint; whether nir reads the same graph."""
    checkpoint = path.suffix != ".nir"
    try:
        # The default of an export is a step of 1e-3.
        spikelet("convert", path, written, *(("--dt", dt) if checkpoint and dt != 1e-3 else ()))
    except RuntimeError as error:
        return {"status": "not converted", "reason": str(error).splitlines()[1].removeprefix("error: ")}
    before, after = (read(file) for file in (written if checkpoint else path, written))
    if isinstance(before, str):
        reason = f"nir.read{'' if checkpoint else ' of the original'}: {before}"
        return {"status": "different" if checkpoint else "not importable", "reason": reason}
    if isinstance(after, str) or not same(before, after):
        return {"status": "different", "reason": after if isinstance(after, str) else "another graph than the original"}
    return {"status": "equal"}


def read(path):
    """A graph, or the error of nir.read as text."""
    try:
        return nir.read(path)
    except Exception as error:  # nir is not ours: any error is a result
        return first_line(error)


def summary(rows, frameworks, as_json):
    """Prints a line for each framework; whether each compared spikes."""
    good = True
    for framework in ["nir", *frameworks]:
        mine = [row for row in rows if row["framework"] == framework]
        line = {"framework": framework, "files": len(mine)}
        for status in (*COMPARED, "not importable", "not comparable", "not converted"):
            line[status] = sum(row["status"] == status for row in mine)
        if framework != "nir":
            compared = [row for row in mine if "elements" in row and row["status"] in COMPARED]
            for key in ("elements", "spikes", "different"):
                line["differing spikes" if key == "different" else key] = sum(row[key] for row in compared)
            good &= line["spikes"] > 0
        if as_json:
            print(json.dumps({"summary": {key.replace(" ", "_"): value for key, value in line.items()}}))
        else:
            counts = [f"{value:,} {key}" for key, value in line.items() if key != "framework" and value]
            print(f"{framework}: {', '.join(counts)}")
    return good


main()
