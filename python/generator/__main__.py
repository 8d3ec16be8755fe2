"""Writes the classes and functions of layers, neurons, surrogates and encoders, from the parts that the engine has.

    python python/generator            # writes spikelet/{layer,neuron,surrogate,encoder}.py and
                                       # spikelet/torch/{neurons,functional,surrogate}.py
    python python/generator --check    # fails if they would change

Needs the installed package. Names of classes are those of Rust, read from the sources of `spikelet-nn`; constants and their
meaning come from the engine. The types and meaning of the keys of layers are in the tables of layers.py.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

from classes import member_class
from layers import LAYERS, layer_class
from operators import MODULE_ONLY, class_of, neuron_class, neuron_function, surrogate_class
from shared import PACKAGE, REGISTRY, rust_names, safe

HEAD = '''"""{title}

Written by python/generator from the parts of the engine; change that program instead of this file.
"""

from __future__ import annotations

{imports}

__all__ = [
{names}]
'''
COLLECTIONS = "from collections.abc import Mapping, Sequence\n"


def module(title: str, imports: str, classes: dict[str, str], others: Sequence[str] = ()) -> str:
    names = "".join(f'    "{name}",\n' for name in sorted([*classes, *others]))
    head = HEAD.format(title=title, imports=imports, names=names)
    return head + "".join("\n\n" + body for body in classes.values())


def of_engine() -> dict[str, str]:
    missing = [kind["name"] for kind in REGISTRY["layers"] if kind["name"] not in LAYERS]
    if missing:
        raise SystemExit(f"LAYERS of layers.py has no {', '.join(missing)}")
    layers = {LAYERS[kind["name"]][0]: layer_class(kind) for kind in REGISTRY["layers"]}
    imports = f"{COLLECTIONS}from typing import Any\n\nfrom ._part import Layer, LayerLike, Neuron, SizedLayer, both_sizes"
    made = {"layer.py": module("Layers of networks.", imports, layers)}
    for family, base, title in [("neuron", "Neuron", "Neurons."), ("surrogate", "Surrogate", "Surrogate gradients."),
                                ("encoder", "Encoder", "Encoders: a value becomes a sequence.")]:
        names = rust_names(family)
        classes = {names[m["name"]]: member_class(m, names[m["name"]], base) for m in REGISTRY[family + "s"]}
        body = "".join(classes.values())
        wanted = [name for name in ("Mapping", "Sequence") if re.search(rf"\b{name}\[", body)]
        imports = f"from collections.abc import {', '.join(wanted)}\n" if wanted else ""
        imports += "from typing import Any\n\n" if "Any]" in body else ""
        imports += f"from ._part import {base}" + (", SurrogateLike" if base == "Neuron" else "")
        made[f"{family}.py"] = module(title, imports, classes)
    return made


def of_torch() -> dict[str, str]:
    neurons, surrogates = REGISTRY["neurons"], REGISTRY["surrogates"]
    return {
        "torch/neurons.py": module(
            "All neurons of the library as modules.",
            f"{COLLECTIONS}from typing import Any, NamedTuple\n\nfrom torch import Tensor\n\n"
            "from ._layer import Learn, Neuron, ResetGrad\nfrom .surrogate import Surrogate",
            {class_of(m): neuron_class(m) for m in neurons}, [f"{class_of(m)}State" for m in neurons]),
        "torch/functional.py": module(
            "All neurons of the library as functions of their states and parameters.",
            "from typing import Any\n\nfrom torch import Tensor\n\n"
            "from ._layer import ResetGrad, definition_of, run\nfrom .surrogate import Surrogate",
            {safe(m["name"]): neuron_function(m) for m in neurons if m["name"] not in MODULE_ONLY}),
        "torch/surrogate.py": module(
            "Surrogate gradients: smooth functions whose derivatives replace that of the step.",
            "import dataclasses\nfrom typing import Any, ClassVar\n\nfrom ._surrogate import Scaled, Surrogate",
            {rust_names("surrogate")[m["name"]]: surrogate_class(m) for m in surrogates}, ["Scaled", "Surrogate"]),
    }


def main() -> None:
    changed = []
    for name, text in (of_engine() | of_torch()).items():
        path = PACKAGE / name
        if not path.exists() or path.read_text() != text:
            changed.append(name)
            if "--check" not in sys.argv:
                path.write_text(text)
    if "--check" in sys.argv and changed:
        raise SystemExit(f"{', '.join(changed)} would change: run python/generator")


if __name__ == "__main__":
    main()
