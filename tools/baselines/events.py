#!/usr/bin/env python3
"""Event files and frames: spikelet beside tonic, SpikingJelly, expelliarmus, aedat, faery and event_stream.

    events.py [--examples target/release/examples] [--program target/release/spikelet] [--events 10000000]

The example `read_speed` writes one file of each format, 128 × 128 pixels within 8 seconds, and reads it; the others read the
same files. Every measurement of another package runs in a process of its own: the best of three calls in seconds of its
processor time, from the file to arrays in memory, and the largest memory of the process beyond that before the first call.
Frames are made of as many events in memory. The output are two Markdown tables.

Needs the examples `read_speed` and `frame_speed` (`cargo build --release -p spikelet-events --examples`), and of the packages
tonic 1.7.0, spikingjelly 2.0.0, expelliarmus 1.1.12, aedat 2.3.0, faery 0.7.1 and event_stream 1.6.3 those to compare with.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIDE = 128


def tonic_atis(path):
    import numpy
    import tonic.io

    kinds = numpy.dtype([("x", int), ("y", int), ("t", int), ("p", int)])
    return lambda: len(tonic.io.read_mnist_file(path, dtype=kinds))


def spikingjelly_atis(path):
    from spikingjelly.datasets import utils

    return lambda: len(utils.load_ATIS_bin(path)["t"])


def spikingjelly_aedat2(path):
    from spikingjelly.datasets import cifar10_dvs

    return lambda: len(cifar10_dvs._load_origin_data(path)["t"])


def spikingjelly_aedat3(path):
    from spikingjelly.datasets import utils

    return lambda: len(utils.load_aedat_v3(path)["t"])


def spikingjelly_npz(path):
    import numpy

    def read():
        with numpy.load(path) as archive:
            return len([archive[name] for name in "txyp"][0])

    return read


def aedat(path):
    import aedat

    return lambda: sum(len(packet["events"]) for packet in aedat.Decoder(path) if "events" in packet)


def expelliarmus(encoding):
    def prepare(path):
        from expelliarmus import Wizard

        return lambda: len(Wizard(encoding=encoding, fpath=path).read())

    return prepare


def faery(kind):
    def prepare(path):
        from faery import aedat, dat, es, evt

        def read():
            if kind == "aedat":
                with aedat.Decoder(path) as decoder:
                    return sum(len(packet) for _, packet in decoder)
            decoder = {"dat": lambda: dat.Decoder(path, None, None), "es": lambda: es.Decoder(path, 0)}
            opened = decoder.get(kind, lambda: evt.Decoder(path, None, None))()
            with opened as packets:
                return sum(len(packet["events"] if isinstance(packet, dict) else packet) for packet in packets)

        return read

    return prepare


def event_stream(path):
    import event_stream

    return lambda: sum(len(packet) for packet in event_stream.Decoder(path))


def events_in_memory(count):
    import numpy

    random = numpy.random.default_rng(5)
    t = numpy.sort(random.integers(0, 8_000_000, count))
    x, y = (random.integers(0, SIDE, count) for _ in range(2))
    return t, x, y, random.random(count) < 0.5


def spikingjelly_frames(call):
    def prepare(count):
        from spikingjelly.datasets import utils

        t, x, y, p = events_in_memory(count)
        events = {"t": t, "x": x, "y": y, "p": p.astype(int)}
        return lambda: call(utils, events) is not None and count

    return prepare


def tonic_frames(**arguments):
    def prepare(count):
        import numpy
        from tonic import transforms

        t, x, y, p = events_in_memory(count)
        events = numpy.zeros(count, [("x", numpy.int16), ("y", numpy.int16), ("t", numpy.int64), ("p", bool)])
        for name, column in zip("txyp", (t, x, y, p)):
            events[name] = column
        make = transforms.ToFrame(sensor_size=(SIDE, SIDE, 2), **arguments)
        return lambda: make(events) is not None and count

    return prepare


# Names as `read_speed` prints them, and the other readers of these formats.
READERS = {
    "atis5": {"SpikingJelly": spikingjelly_atis, "tonic": tonic_atis},
    "aedat2": {"SpikingJelly": spikingjelly_aedat2},
    "aedat3.1": {"SpikingJelly": spikingjelly_aedat3},
    "aedat4": {"aedat": aedat, "faery": faery("aedat")},
    "aedat4, compressed": {"aedat": aedat, "faery": faery("aedat")},
    "dat": {"expelliarmus": expelliarmus("dat"), "faery": faery("dat")},
    "evt2": {"expelliarmus": expelliarmus("evt2"), "faery": faery("evt")},
    "evt3": {"expelliarmus (wrong times)": expelliarmus("evt3"), "faery": faery("evt")},
    "es": {"event_stream": event_stream, "faery": faery("es")},
    "npz-events": {"NumPy": spikingjelly_npz},
    "npz-events, compressed": {"NumPy": spikingjelly_npz},
}
SJ = "integrate_events_by_fixed_frames_number"
FRAMES = {
    "number=16": {"SpikingJelly": spikingjelly_frames(lambda u, e: getattr(u, SJ)(e, "number", 16, SIDE, SIDE))},
    "time=16": {"SpikingJelly": spikingjelly_frames(lambda u, e: getattr(u, SJ)(e, "time", 16, SIDE, SIDE))},
    "duration=500000": {
        "SpikingJelly": spikingjelly_frames(lambda u, e: u.integrate_events_by_fixed_duration(e, 500_000, SIDE, SIDE))
    },
    "time-bins=16": {"tonic": tonic_frames(n_time_bins=16)},
    "time-windows=50000": {"tonic": tonic_frames(time_window=50_000)},
}
# The extensions of the formats.
SUFFIXES = {"dat": ".dat", "evt2": ".raw", "evt3": ".raw"}
# Readers that loop over events in Python get fewer of them.
SLOW = {("aedat3.1", "SpikingJelly"): 500_000}


def one(table, name, peer, argument):
    """Measures in this process: seconds of the processor, and memory."""
    measure = (READERS if table == "read" else FRAMES)[name][peer](argument if table == "read" else int(argument))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    best, events = float("inf"), 0
    for _ in range(3):
        start = time.process_time()
        events = measure()
        best = min(best, time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"rate": events / best / 1e6, "mib": peak / 1024}))


def peer_text(table, name, peer, argument):
    words = [sys.executable, __file__, "--one", table, name, peer, str(argument)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        reason = done.stderr.strip().splitlines()[-1:] or [""]
        return f"{peer}: {reason[0][:60]}"
    found = json.loads(done.stdout.splitlines()[-1])
    memory = f" ({found['mib']:.0f} MiB)" if table == "read" else ""
    return f"{peer} {found['rate']:.1f}{memory}"


def own_memory(program, path, options):
    """The memory of reading in blocks, beyond that of the program without a file."""
    def peak(words):
        pid = os.fork()
        if pid == 0:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.execv(words[0], words)
        _, _, usage = os.wait4(pid, 0)
        return usage.ru_maxrss / 1024

    return peak([program, "data", "info", str(path), *options]) - peak([program, "--version"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", default="target/release/examples")
    parser.add_argument("--program", default="target/release/spikelet")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--one", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        return one(*arguments.one)
    examples = Path(arguments.examples)
    with tempfile.TemporaryDirectory() as folder:
        words = [examples / "read_speed", str(arguments.events), folder]
        own = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        slow = Path(folder) / "slow"
        slow.mkdir()
        subprocess.run([words[0], "500000", slow], check=True, capture_output=True)
        print("| format | MB | whole file | reused columns | in blocks (MiB) | others |\n|---|---|---|---|---|---|")
        for line in own.splitlines()[2:]:
            found = re.match(r"(.*?)\s+([\d.]+) MB\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)", line)
            name, size, fresh, reused, blocks = (part.strip() for part in found.groups())
            file = name.replace(", ", "-")
            path = Path(folder) / file
            format = name.split(",")[0]
            named = ["--format", format] if format in ("atis5", "csv") else []
            memory = own_memory(arguments.program, path, [*named, "--sensor", "128x128"])
            others = []
            for peer in READERS.get(name, {}):
                theirs = (slow if (name, peer) in SLOW else Path(folder)) / file
                if suffix := SUFFIXES.get(format):
                    # Some packages look at the extension.
                    linked = theirs.with_name(f"{file}{suffix}")
                    if not linked.exists():
                        linked.hardlink_to(theirs)
                    theirs = linked
                others.append(peer_text("read", name, peer, theirs))
            print(f"| {name} | {size} | {fresh} | {reused} | {blocks} ({memory:.0f}) | {'; '.join(others)} |", flush=True)
    own = subprocess.run([examples / "frame_speed", str(arguments.events)], check=True, capture_output=True, text=True).stdout
    print("\n| frames, 128 × 128 | spikelet | others |\n|---|---|---|")
    for line in own.splitlines():
        name, rate = line.split()[0], re.search(r"([\d.]+) M events", line)[1]
        others = [peer_text("frames", name, peer, arguments.events) for peer in FRAMES.get(name, {})]
        print(f"| {name} | {rate} | {'; '.join(others)} |", flush=True)


if __name__ == "__main__":
    main()
