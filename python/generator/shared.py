"""The parts that the engine has, and their texts."""

from __future__ import annotations

import functools
import json
import keyword
import re
import textwrap
from pathlib import Path
from typing import Any

from spikelet import _native

PACKAGE = Path(__file__).parents[1] / "spikelet"
NN = Path(__file__).parents[2] / "crates" / "spikelet-nn" / "src"
REGISTRY = json.loads(_native.registry())

#: Constants of all neurons.
COMMON: dict[str, tuple[str, Any, str]] = {
    "v_threshold": ("float", 1.0, "The neuron fires if its potential reaches it."),
    "strict": ("bool", False, "Whether a potential that equals the threshold causes no spike."),
    "fire_on": ("str", "charged", "The potential that is compared with the threshold: `\"charged\"`, or `\"previous\"`, that before the step."),
    "resets": ("bool", True, "Whether the potential is reset."),
    "v_reset": ("float | None", 0.0, "The potential after a spike; `None` is the soft reset, which subtracts the threshold."),
    "surrogate": ("SurrogateLike | None", None, "The surrogate gradient; by default {surrogate}."),
    "reset_grad": ("str", "surrogate", "The gradient of the reset: `\"surrogate\"`, `\"detach\"` or `\"soft\"`."),
    "spiking": ("bool", True, "Whether the output is spikes; else it is the primitive of the surrogate."),
    "trainable": ("Mapping[str, Any] | Sequence[str] | None", None,
                  "The constants that are trained: their names, or a table of names and settings such as `{\"tau\": \"channel\"}`."),
}
@functools.cache
def rust_names(family: str) -> dict[str, str]:
    """Names of the members of a family and of their types."""
    text = (NN / family / "mod.rs").read_text()
    body = text[text.index("family! {"):]
    found = re.findall(r'\w+::(\w+)\s*=\s*"(\w+)"', body[:body.index("\n}\n")])
    return {name: kind for kind, name in found}


def quoted(text: str) -> str:
    """Text of a comment in Rust as that of a docstring."""
    return text.replace("\\", "\\\\").strip()


def literal(value: Any) -> str:
    """A default as the formatter writes it."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def safe(name: str) -> str:
    """A name that Python allows."""
    return f"{name}_" if keyword.iskeyword(name) else name


def wrapped(text: str, indent: str) -> str:
    return textwrap.fill(text, 116, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."


def meanings(text: str) -> dict[str, str]:
    """The meaning of constants, from the table of a description: name, unit and default may be before it."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        names = re.findall(r"`(\w+)`", cells[0]) if line.startswith("|") else []
        unit = f", in {cells[1]}" if len(cells) == 4 and cells[1] else ""
        for name in names:
            found.setdefault(name, sentence(cells[-1] + unit) if cells[-1] else "")
    return found


def default_surrogate(neuron: dict[str, Any]) -> str:
    """The surrogate of a neuron if none is given, as a call."""
    constants = dict(neuron["constants"]["surrogate"])
    cls = rust_names("surrogate")[constants.pop("name")]
    return f"`{cls}({', '.join(f'{key}={value!r}' for key, value in constants.items())})`"


def own_constants(member: dict[str, Any]) -> dict[str, Any]:
    """The constants of a member without those of all neurons, in the order of its documentation."""
    order = list(meanings(member["description"]))
    own = [name for name in member["constants"] if name not in COMMON and name != "name"]
    own.sort(key=lambda name: order.index(name) if name in order else len(order))
    return {name: member["constants"][name] for name in own}


def annotation(default: Any) -> str:
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, int):
        return "int"
    if isinstance(default, float):
        return "float"
    if default is None:
        return "float | None"
    if isinstance(default, str):
        return "str"
    if isinstance(default, list):
        return "Sequence[Any]"
    return "Mapping[str, Any]"
