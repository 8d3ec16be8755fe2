"""Writes the reference values of the encoders of time series: crates/spikelet-data/tests/references/time_series.json.

snnTorch's `spikegen.delta` and torchaudio's `compliance.kaldi.fbank` give the values of `Delta` and `MelFilterBank`;
`LevelCrossing` and `GaussianFields` are compared with the plain definitions below.

    pip install torch torchaudio snntorch numpy
    python tools/baselines/time_series.py
"""

import json
import math
import pathlib

import numpy
import snntorch
import torch
import torchaudio
from snntorch import spikegen
from torchaudio.compliance import kaldi

OUT = pathlib.Path(__file__).parents[2] / "crates/spikelet-data/tests/references/time_series.json"


def signal(steps, channels, seed):
    random = numpy.random.default_rng(seed)
    t = numpy.arange(steps)[:, None]
    x = numpy.sin(t * random.uniform(0.05, 0.4, channels) + random.uniform(0, 6, channels))
    x = x + 0.2 * random.normal(size=(steps, channels)) + 1.5 * (t > steps // 2)
    return x.astype(numpy.float32)


def pairs(on, off):
    """Events of [T, C] counts of ON and OFF: unit 2c is ON of channel c, 2c + 1 is OFF."""
    time, unit = [], []
    for n in range(len(on)):
        for c in range(on.shape[1]):
            for kind, count in enumerate((on[n, c], off[n, c])):
                time += [n] * int(count)
                unit += [2 * c + kind] * int(count)
    return {"time": time, "unit": unit}


def delta(x, threshold, padding):
    spikes = spikegen.delta(torch.from_numpy(x), threshold=threshold, padding=padding, off_spike=True).numpy()
    return pairs(spikes > 0, spikes < 0)


def level_crossing(x, step, most):
    """The level follows the signal by `step` per event, at most `most` events a sample; `most` None: it jumps to the signal."""
    on, off = numpy.zeros(x.shape, int), numpy.zeros(x.shape, int)
    step = float(numpy.float32(step))
    for c in range(x.shape[1]):
        origin, k = float(x[0, c]), 0
        for n in range(len(x)):
            d = float(x[n, c]) - origin
            if most is None:
                if abs(d) >= step:
                    (on if d > 0 else off)[n, c] = 1
                    origin = float(x[n, c])
                continue
            for _ in range(most):
                if d >= (k + 1) * step:
                    k, on[n, c] = k + 1, on[n, c] + 1
                elif d <= (k - 1) * step:
                    k, off[n, c] = k - 1, off[n, c] + 1
                else:
                    break
    return pairs(on, off)


def gaussian_fields(x, low, high, fields, beta, steps):
    width = (high - low) / (fields - 2)
    centers = [low + (2 * i - 3) / 2 * width for i in range(1, fields + 1)]
    activations, time, unit = [], [], []
    for n, row in enumerate(x):
        found = []
        for c, value in enumerate(row):
            for i, center in enumerate(centers):
                z = (float(value) - center) / (width / beta)
                a = math.exp(-0.5 * z * z)
                activations.append(a)
                delay = round((1.0 - a) * steps)
                if delay < steps:
                    found.append((n * steps + delay, c * fields + i))
        for at, index in sorted(found):
            time.append(at)
            unit.append(index)
    return {"activations": activations, "time": time, "unit": unit}


def mel(samples, rate, filters, **options):
    wave = torch.from_numpy(samples).double()[None]
    out = kaldi.fbank(wave, sample_frequency=rate, num_mel_bins=filters, **options)
    return {"shape": list(out.shape), "values": [float(v) for v in out.flatten()]}


def main():
    x = signal(120, 3, 0)
    short = signal(24, 2, 1)
    random = numpy.random.default_rng(2)
    n = numpy.arange(1500)
    chirp = 0.4 * numpy.sin(2 * math.pi * (200 + 0.6 * n) * n / 8000) + 0.02 * random.normal(size=1500) + 0.05
    chirp = chirp.astype(numpy.float32)
    out = {
        "versions": {"torch": torch.__version__, "snntorch": snntorch.__version__, "torchaudio": torchaudio.__version__},
        "x": {"channels": 3, "values": [float(v) for v in x.flatten()]},
        "delta": [
            {"threshold": 0.3, "padding": padding, **delta(x, 0.3, padding)} for padding in (False, True)
        ],
        "level_crossing": [
            {"step": step, "most": most, **level_crossing(x, step, most)}
            for step, most in [(0.3, 1), (0.15, 4), (0.3, None)]
        ],
        "short": {"channels": 2, "values": [float(v) for v in short.flatten()]},
        "gaussian_fields": {
            "low": -1.5, "high": 3.0, "fields": 7, "beta": 1.5, "steps": 10,
            **gaussian_fields(short, -1.5, 3.0, 7, 1.5, 10),
        },
        "chirp": [float(v) for v in chirp],
        "mel": {
            "povey": mel(chirp, 8000.0, 40),
            "hann": mel(chirp, 8000.0, 12, window_type="hanning", preemphasis_coefficient=0.0, remove_dc_offset=False,
                        use_log_fbank=False, low_freq=100.0, high_freq=3000.0, frame_length=20.0, frame_shift=7.5),
            "hamming": mel(chirp, 8000.0, 12, window_type="hamming"),
        },
    }
    OUT.write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    main()
