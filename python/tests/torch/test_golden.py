"""The reference cases of the repository: spikes identical, potentials within 1e-6, gradients within 1e-5."""

import json
import struct
from pathlib import Path

import pytest
import torch

import spikelet.torch as st

FOLDER = Path(__file__).parents[3] / "tests" / "golden"
NEURONS = {layer.part.kind: layer for layer in (getattr(st, name) for name in st.__all__) if hasattr(layer, "part")}
SURROGATES = {kind.kind: kind for kind in (getattr(st.surrogate, name) for name in st.surrogate.__all__)}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"))]


def read(path):
    """The definition and the tensors of a case."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    spec = json.loads(header.pop("__metadata__", {}).get("spec", "{}"))
    types = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "U8": torch.uint8, "BOOL": torch.bool}
    data = bytearray(content[8 + size :])
    tensors = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        flat = torch.frombuffer(data[start:end], dtype=types[entry["dtype"]]) if end > start else torch.empty(0)
        tensors[name] = flat.reshape(entry["shape"])
    return spec, tensors


CASES = sorted(path for path in FOLDER.glob("*.safetensors") if not path.name.startswith(("net_", "enc_")))


def built(spec, shape):
    """The layer of a case; names that SpikingJelly has otherwise are translated."""
    names = {"decode": "readout", "lambda": "lambda_"}
    given = {names.get(key, key): value for key, value in spec["params"].items()}
    if "reset_grad" in spec:
        given["reset_grad"] = spec["reset_grad"]
    if "surrogate" in spec:
        surrogate = dict(spec["surrogate"])
        factor = surrogate.pop("factor", None)
        made = SURROGATES[surrogate.pop("name")](**surrogate)
        given["surrogate"] = made if factor is None else st.surrogate.Scaled(made, factor)
    name = spec["neuron"]
    # Cells of recurrent layers once had the names of the layers.
    return NEURONS.get(name, NEURONS.get(f"{name}_cell"))(**given, shape=shape)


def near(given, expected, tolerance):
    largest = max(1.0, float(expected.abs().max()) if expected.numel() else 1.0)
    torch.testing.assert_close(given.cpu().reshape(expected.shape), expected, rtol=0, atol=tolerance * largest)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_reference_case(path, device):
    spec, tensors = read(path)
    x = tensors["x_seq"].to(device).requires_grad_()
    layer = built(spec, x.shape)
    with torch.no_grad():
        for name, parameter in layer.named_parameters():
            parameter.copy_(tensors[name])
    layer.to(device)
    state, start = None, tensors.get("v_init")
    if start is not None:
        start = start.to(device).requires_grad_()
        state = layer.State(start, *(None for _ in layer._states[1:]))
    y, _ = layer(x, state)
    if "spike_seq" not in tensors:
        output, grad = ("out", "grad_out") if "out" in tensors else ("v_seq", "grad_v_seq")
        near(y, tensors[output], 1e-6)
        (y * tensors[grad].to(device).reshape(y.shape)).sum().backward()
        near(x.grad, tensors["grad_x_seq"], 1e-5)
        return
    spikes = tensors["spike_seq"]
    if spec.get("output") == "real":
        near(y, spikes, 1e-6)
    else:
        assert torch.equal(y.cpu(), spikes)
    if spec["neuron"] == "gated_lif":
        return  # Its expected gradients are those of potentials too, and its parameters are for all steps at once.
    loss = 0.0
    if "grad_v_seq" in tensors:
        potentials, outputs = [], []
        for step in x:
            s, state = layer.step(step, state)
            outputs.append(s)
            potentials.append(state.v)
        y, v = torch.stack(outputs), torch.stack(potentials)
        near(v, tensors["v_seq"], 1e-6)
        loss = (v * tensors["grad_v_seq"].to(device)).sum()
    (loss + (y * tensors["grad_spike_seq"].to(device)).sum()).backward()
    near(x.grad, tensors["grad_x_seq"], 1e-5)
    if start is not None and "grad_v_init" in tensors:
        near(start.grad, tensors["grad_v_init"], 1e-5)
    for name, parameter in layer.named_parameters():
        near(parameter.grad, tensors[f"grad_{name}"], 1e-5)
