"""Every neuron, surrogate, encoder and layer has one name: in Rust, in files, in `spikelet` and in `spikelet.torch`."""

import re
from pathlib import Path

import pytest

import spikelet
from spikelet._registry import registry

SOURCES = Path(__file__).parents[3] / "crates" / "spikelet-nn" / "src"
FAMILIES = {"neurons": "neuron", "surrogates": "surrogate", "encoders": "encoder", "layers": "layer"}


def declared():
    """The family, the name in files, and the classes of everything that is declared; a neuron as a layer has none."""
    for family in FAMILIES:
        for one in registry()[family]:
            yield family, one["name"], one["classes"] if "classes" in one else [one["class"]]


def plain(name):
    """The name without case, `-`, `_` and the number of axes, which is that of the input."""
    return re.sub("[-_]|[123]d$", "", name.lower())


def test_names_in_files_are_those_of_classes():
    assert [(made, name) for _, name, classes in declared() for made in classes if plain(made) != plain(name)] == []


def test_every_declaration_has_its_class():
    for family, module in FAMILIES.items():
        names = {made: name for of, name, classes in declared() if of == family for made in classes}
        found = getattr(spikelet, module)
        assert {*found.__all__} - {"Scaled", "Surrogate"} == {*names}
        for made, name in names.items():
            assert getattr(found, made).kind == name and getattr(found, made).__name__ == made


def test_classes_are_types_of_rust():
    if not SOURCES.exists():
        pytest.skip("the sources of the engine are not there")
    activations = (SOURCES / "layer" / "activation.rs").read_text()
    text = "\n".join(re.sub("//.*", "", path.read_text()) for path in SOURCES.rglob("*.rs"))
    types = {*re.findall(r"\bpub (?:struct|type) (\w+)", text), *re.findall(r"^    (\w+)(?:,| \{)", activations, re.M)}
    types |= {*re.findall(r"\b(\w+) = \"", text)}
    settings = {one["class"] for family in FAMILIES for one in registry()[family] if one.get("of")}
    assert {made for _, _, classes in declared() for made in classes if made not in types} == settings


def test_modules_of_torch_have_the_names_of_declarations():
    pytest.importorskip("torch")
    st = pytest.importorskip("spikelet.torch")
    assert st.surrogate is spikelet.surrogate and st.Trainable is spikelet.Trainable
    neurons = {name for name in st.__all__ if hasattr(getattr(st, name), "part")}
    assert neurons == {*spikelet.neuron.__all__}
    assert all(getattr(st, name).part is getattr(spikelet, name) for name in neurons)
    layers = {
        name for name in st.__all__ if isinstance(getattr(st, name), type) and issubclass(getattr(st, name), st.Layer)
    }
    assert layers - neurons - {"Layer", "Neuron"} <= {*spikelet.layer.__all__}
