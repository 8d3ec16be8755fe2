"""Writes reference cases of neurons of snnTorch, Norse and Spyx to tests/golden.

    python tools/baselines/neuron_cases.py tests/golden

Needs torch, snntorch, norse, numpy, safetensors. Each case runs the peer's own module in f32 on one CPU thread and stores
its inputs, spikes, potentials and gradients; the metadata have the specification of the same neuron here and the versions.
Inputs are multiples of 1/16 with some that bring the potential exactly to the threshold, so that a strict and a non-strict
threshold differ. Spyx runs in JAX; its two equations are written out in torch.
"""

import json
import struct
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

warnings.simplefilter("ignore")
import snntorch as snn  # noqa: E402
from norse.torch.functional.lif import LIFParameters  # noqa: E402
from norse.torch.functional.lif_box import LIFBoxParameters  # noqa: E402
from norse.torch.functional.iaf import IAFParameters  # noqa: E402
from norse.torch import IAFCell, LIFBoxCell, LIFCell  # noqa: E402
from snntorch import surrogate  # noqa: E402

T, N = 24, 32


def write(path, tensors, metadata):
    header, offset, body = {"__metadata__": metadata}, 0, b""
    for name, tensor in sorted(tensors.items()):
        data = tensor.detach().to(torch.float32).contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def case(folder, name, package, spec, scale, step):
    """`step(x, state) -> (spikes, potential, state)` of the peer; `state` is None before the first step."""
    seed = sum(map(ord, name))
    rng = np.random.default_rng(seed)
    x = rng.integers(-4, 20, (T, N)) / 16 * scale
    x = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    g_s, g_v = (torch.tensor(rng.standard_normal((T, N)), dtype=torch.float32) for _ in range(2))
    state, spikes, potentials = None, [], []
    for t in range(T):
        s, v, state = step(x[t], state)
        spikes.append(s)
        potentials.append(v)
    s_seq, v_seq = torch.stack(spikes), torch.stack(potentials)
    ((s_seq * g_s).sum() + (v_seq * g_v).sum()).backward()
    rate = s_seq.mean().item()
    assert 0.02 < rate < 0.98, (name, rate)
    # Spikes of a strict threshold are 0 where the potential equals it.
    tensors = {
        "x_seq": x, "grad_spike_seq": g_s, "grad_v_seq": g_v,
        "spike_seq": s_seq, "v_seq": v_seq, "grad_x_seq": x.grad,
    }
    spec = {"kind": "neuron", **spec, "T": T, "N": N, "rate": round(rate, 4)}
    facts = {"package": package, "torch": torch.__version__, "script": "tools/baselines/neuron_cases.py", "seed": seed}
    write(folder / f"{name}.safetensors", tensors, {"spec": json.dumps(spec), "facts": json.dumps(facts)})
    print(name, "rate", round(rate, 3))


def snntorch_cases(folder):
    package = f"snntorch {version('snntorch')}"
    atan = {"name": "atan", "alpha": 2.0}

    def leaky(module):
        def step(x, mem):
            spk, mem = module(x, torch.zeros_like(x) if mem is None else mem)
            return spk, mem, mem

        return step

    def synaptic(module):
        def step(x, state):
            syn, mem = (torch.zeros_like(x),) * 2 if state is None else state
            spk, syn, mem = module(x, syn, mem)
            return spk, mem, (syn, mem)

        return step

    def alpha(module):
        def step(x, state):
            state = (torch.zeros_like(x),) * 3 if state is None else state
            spk, *state = module(x, *(s.clone() for s in state))
            return spk, state[2], state

        return step

    resets = {"subtract": {"v_reset": None}, "zero": {"v_reset": 0.0, "keeps_input": True}, "none": {"resets": False}}
    for mechanism, params in resets.items():
        for delay in (True, False):
            module = snn.Leaky(0.5, reset_mechanism=mechanism, reset_delay=delay)
            spec = {"neuron": "rleaky_cell", "params": {"beta": 0.5, "reset_delay": delay, **params}, "surrogate": atan}
            case(folder, f"snn_leaky_{mechanism}{'' if delay else '_at_once'}", package, spec, 1, leaky(module))
    for mechanism, params in {"subtract": {"v_reset": None}, "zero": {"v_reset": 0.0}, "none": {"resets": False}}.items():
        module = snn.Synaptic(0.5, 0.25, reset_mechanism=mechanism)
        spec = {"neuron": "rsynaptic_cell", "params": {"alpha": 0.5, "beta": 0.25, **params}, "surrogate": atan}
        case(folder, f"snn_synaptic_{mechanism}", package, spec, 0.5, synaptic(module))
    # ln α and ln β are those of f32 there.
    a, b = torch.tensor(0.75), torch.tensor(0.5)
    tau_alpha = (a.log() / (b.log() - a.log()) + 1).item()
    alphas = {"subtract": {"v_reset": None, "resets_currents": True}, "zero": {"v_reset": 0.0}, "none": {"resets": False}}
    for mechanism, params in alphas.items():
        module = snn.Alpha(0.75, 0.5, reset_mechanism=mechanism)
        params = {"alpha": 0.75, "beta": 0.5, "tau_alpha": tau_alpha, "strict": True, **params}
        case(folder, f"snn_alpha_{mechanism}", package, {"neuron": "alpha", "params": params, "surrogate": atan}, 4, alpha(module))
    gates = {
        "triangular": (surrogate.triangular(0.75), {"name": "leaky_k_relu", "leak": 0.75, "k": -0.75}),
        "fast_sigmoid": (surrogate.fast_sigmoid(25), {"name": "fast_sigmoid", "slope": 25.0}),
        "heaviside": (surrogate.heaviside(), {"name": "leaky_spike_operator", "leak": 0.0}),
        "sigmoid": (surrogate.sigmoid(25), {"name": "sigmoid", "alpha": 25.0}),
        "spike_rate_escape": (surrogate.spike_rate_escape(1, 25), {"name": "spike_rate_escape", "beta": 1.0, "slope": 25.0}),
        "sfs": (surrogate.SFS(25, 0.5), {"name": "sparse_fast_sigmoid", "slope": 25.0, "b": 0.5}),
        "straight_through": (surrogate.straight_through_estimator(), {"name": "deterministic_pass"}),
    }
    for name, (gate, here) in gates.items():
        module = snn.Leaky(0.5, spike_grad=gate)
        spec = {"neuron": "rleaky_cell", "params": {"beta": 0.5, "v_reset": None}, "surrogate": here}
        case(folder, f"snn_surrogate_{name}", package, spec, 1, leaky(module))


def norse_cases(folder):
    package = f"norse {version('norse')}"

    def of(module):
        def step(x, state):
            z, state = module(x, state)
            return z, state.v, state

        return step

    gates = {
        "super": (100.0, {"name": "super_spike", "alpha": 1.0}),
        "triangle": (0.3, {"name": "piecewise_quadratic", "alpha": 1.0, "factor": 0.3}),
        "tanh": (2.0, {"name": "sigmoid", "alpha": 4.0, "factor": 1.0}),
        "circ": (0.5, {"name": "circ", "alpha": 0.5}),
        "heavi_erfc": (1.5, {"name": "erf", "alpha": 1.5, "factor": 2.0 / 1.5}),
    }
    for method, (k, here) in gates.items():
        p = LIFParameters(method=method, alpha=torch.as_tensor(k), v_reset=torch.as_tensor(-0.25))
        spec = {"neuron": "norse_lif", "params": {"v_reset": -0.25}, "surrogate": here, "reset_grad": "surrogate"}
        case(folder, f"norse_lif_{method}", package, spec, 4, of(LIFCell(p)))
    # V + dt/τ·(X + v_leak − V), with a factor of 1/4 in place of 1/10, which f32 holds.
    p = LIFBoxParameters(tau_mem_inv=torch.as_tensor(250.0))
    super_spike = gates["super"][1]
    spec = {"neuron": "lif", "params": {"tau": 4.0, "strict": True}, "surrogate": super_spike}
    case(folder, "norse_lif_box", package, spec, 3, of(LIFBoxCell(p)))
    spec = {"neuron": "if", "params": {"strict": True}, "surrogate": super_spike}
    case(folder, "norse_iaf", package, spec, 1, of(IAFCell(IAFParameters())))


class SuperSpike(torch.autograd.Function):
    """Spyx's superspike(k=25)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g / (1 + 25 * x.abs()) ** 2


def spyx_cases(folder):
    """spyx.nn.LIF and CuBaLIF of Spyx 1.0: `spikes = act(V - th); V = beta * V + x - spikes * th`."""
    package = "equations of spyx 1.0.0"
    gate = {"name": "soft_sign", "alpha": 25.0, "factor": 2.0 / 25.0}
    common = {"v_reset": None, "strict": True, "fire_on": "previous"}

    def lif(x, v):
        v = torch.zeros_like(x) if v is None else v
        s = SuperSpike.apply(v - 1.0)
        v = 0.5 * v + x - s * 1.0
        return s, v, v

    params = {"c_decay": 0.0, "v_decay": 0.5, "v_threshold": 1.0, **common}
    case(folder, "spyx_lif", package, {"neuron": "cuba_lif", "params": params, "surrogate": gate}, 1, lif)

    def cuba(x, state):
        v, i = (torch.zeros_like(x),) * 2 if state is None else state
        s = SuperSpike.apply(v - 1.0)
        i = 0.5 * i + x
        v = 0.25 * v + i - s * 1.0
        return s, v, (v, i)

    params = {"c_decay": 0.5, "v_decay": 0.25, "v_threshold": 1.0, **common}
    case(folder, "spyx_cuba_lif", package, {"neuron": "cuba_lif", "params": params, "surrogate": gate}, 0.5, cuba)


if __name__ == "__main__":
    torch.set_num_threads(1)
    target = Path(sys.argv[1])
    snntorch_cases(target)
    norse_cases(target)
    spyx_cases(target)
