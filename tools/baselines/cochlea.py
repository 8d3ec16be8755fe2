"""The specification of `spikelet_data::encode::Cochlea`: audio -> spikes of a bank of gammatone filters.

Every operation behind `coefficients` is +, -, *, max, sqrt or a comparison in IEEE double precision, in the order written,
without fused multiply-add: another implementation gives the same events, bit for bit, from the same coefficients.
Only `coefficients` uses exp, cos, sin, log10 and pow.

    python tools/baselines/cochlea.py                     # the coefficients of the default configuration
    python tools/baselines/cochlea.py fsdd.safetensors    # and the recordings and events of the tests

writes crates/spikelet-data/src/encode/cochlea_8khz_700.f64 and crates/spikelet-data/tests/data/cochlea.safetensors.
fsdd.safetensors has the recordings of the Free Spoken Digit Dataset: `audio` i16, `offset` i64 (one more than recordings).
"""
import math
import pathlib
import sys

import numpy as np

DEFAULTS = dict(fs=8000, channels=700, f_lo=100.0, f_hi=3600.0, order=4, rms=0.1, tau_slow=0.02, beta=0.7, gain=0.25,
                tau_m=0.004, threshold=1.0, refractory=16)
OTHER = dict(DEFAULTS, channels=64, f_lo=150.0, f_hi=3400.0, beta=0.6, gain=0.3, tau_m=0.006, refractory=24)
CRATE = pathlib.Path(__file__).parents[2] / "crates/spikelet-data"


def coefficients(fs=8000, channels=700, f_lo=100.0, f_hi=3600.0, tau_slow=0.02, tau_m=0.004, **_):
    erb = lambda f: 21.4 * math.log10(1.0 + 0.00437 * f)  # ERB-rate scale (Glasberg and Moore)
    lo, hi = erb(f_lo), erb(f_hi)
    f, re, im, g = [], [], [], []
    for c in range(channels):
        e = lo + (hi - lo) * c / (channels - 1) if channels > 1 else lo
        fc = (10.0 ** (e / 21.4) - 1.0) / 0.00437
        b = 1.019 * 24.7 * (1.0 + 0.00437 * fc)  # bandwidth in Hz
        a = math.exp(-2.0 * math.pi * b / fs)
        f.append(fc)
        re.append(a * math.cos(2.0 * math.pi * fc / fs))
        im.append(a * math.sin(2.0 * math.pi * fc / fs))
        g.append(1.0 - a)
    return dict(f=np.array(f), re=np.array(re), im=np.array(im), g=np.array(g),
                slow=math.exp(-1.0 / (fs * tau_slow)), leak=math.exp(-1.0 / (fs * tau_m)))


def encode(samples, config=None, coef=None):
    """samples: int16 (or float in [-1, 1)), mono, at config['fs']"""
    k = dict(DEFAULTS, **(config or {}))
    co = coef or coefficients(**k)
    x = np.asarray(samples)
    x = x.astype(np.float64) / 32768.0 if x.dtype.kind == "i" else x.astype(np.float64)
    s = 0.0
    for v in x.tolist():  # summed in order, in double precision
        s += v * v
    rms = math.sqrt(s / len(x))
    scale = k["rms"] / rms if rms > 0.0 else 0.0
    C, n4 = k["channels"], k["order"]
    zr, zi = np.zeros((n4, C)), np.zeros((n4, C))
    slow, v, wait = np.zeros(C), np.zeros(C), np.zeros(C, np.int64)
    re, im, g = co["re"], co["im"], co["g"]
    d_slow, leak = co["slow"], co["leak"]
    up_slow = 1.0 - d_slow
    times, units = [], []
    for n in range(len(x)):
        a, b = np.full(C, x[n] * scale), np.zeros(C)
        for i in range(n4):  # z_i = g*z_(i-1) + (re + 1j*im)*z_i, complex
            r, m = zr[i], zi[i]
            nr = (re * r - im * m) + g * a
            ni = (re * m + im * r) + g * b
            zr[i], zi[i] = nr, ni
            a, b = nr, ni
        y = np.sqrt(np.sqrt(np.sqrt(a * a + b * b)))  # envelope to the power of 1/4
        drive = np.maximum(y - k["beta"] * slow, 0.0)  # the part above the slow average
        slow = d_slow * slow + up_slow * y
        v = leak * v + k["gain"] * drive
        v = np.where(wait > 0, 0.0, v)
        wait = np.maximum(wait - 1, 0)
        fired = v >= k["threshold"]
        if fired.any():
            u = np.nonzero(fired)[0]
            times.append(np.full(len(u), n))
            units.append(u)
            v = np.where(fired, 0.0, v)
            wait = np.where(fired, k["refractory"], wait)
    if not times:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    return np.concatenate(times).astype(np.int32), np.concatenate(units).astype(np.int32)


def bin_events(times, units, steps=100, step_samples=80, channels=700, group=5):
    """counts [steps, channels/group]: step = time // step_samples (later events are dropped), channel = unit // group"""
    out = np.zeros((steps, channels // group), np.uint8)
    t = times // step_samples
    keep = t < steps
    np.add.at(out, (t[keep], units[keep] // group), 1)
    return out


def main():
    co = coefficients()
    flat = np.concatenate([co["f"], co["re"], co["im"], co["g"], [co["slow"], co["leak"]]])
    (CRATE / "src/encode/cochlea_8khz_700.f64").write_bytes(flat.astype("<f8").tobytes())
    if len(sys.argv) < 2:
        return
    from safetensors.numpy import load_file, save_file
    data = load_file(sys.argv[1])
    clip = lambda i: data["audio"][data["offset"][i]:data["offset"][i + 1]]
    out = {}
    for name, index, config in [("a", 243, DEFAULTS), ("b", 155, DEFAULTS), ("other", 243, OTHER)]:
        co = coefficients(**config)
        time, unit = encode(clip(index), config, co)
        if config is DEFAULTS:
            out[f"{name}.audio"] = clip(index)
            out[f"{name}.bins"] = bin_events(time, unit)
        else:
            out.update({f"{name}.coef.{key}": np.atleast_1d(np.float64(co[key])) for key in co})
        out[f"{name}.time"], out[f"{name}.unit"] = time.astype(np.int16), unit.astype(np.int16)
    save_file(out, CRATE / "tests/data/cochlea.safetensors")


if __name__ == "__main__":
    main()
