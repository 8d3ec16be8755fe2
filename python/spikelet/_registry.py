"""Classes of neurons, surrogates, encoders and layers, made from the declarations that the native module has."""

from __future__ import annotations

import functools
import json
import keyword
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _native
from ._part import SIZES, Encoder, Field, Layer, Neuron, Part, Surrogate

__all__ = ["document", "lazy", "make", "members", "registry"]

#: The annotations of the types of declarations.
_ANNOTATIONS = {
    "flag": "bool",
    "integer": "int",
    "layer": "LayerLike",
    "layers": "Sequence[LayerLike]",
    "neuron": "Neuron | str | Mapping[str, Any]",
    "number": "float",
    "numbers": "Sequence[float]",
    "sizes": SIZES,
    "surrogate": "SurrogateLike",
    "table": "Mapping[str, Any]",
    "text": "str",
    "texts": "Sequence[str]",
    "trainable": "Mapping[str, Trainable | Mapping[str, Any] | str] | Sequence[str]",
}
_NAME = Field("name", "str | None", None, "The name in paths of parameters; by default the position.")
#: The constants of all neurons, which have names in calls.
_COMMON = "v_threshold"


@functools.cache
def registry() -> dict[str, Any]:
    """Everything that has a name: see `registry.rs` of the native part."""
    found: dict[str, Any] = json.loads(_native.registry())
    return found


def _sentence(text: str) -> str:
    text = text.strip()
    text = text[:1].upper() + text[1:]
    return text if not text or text.endswith((".", "!", "?")) else text + "."


def _field(given: Mapping[str, Any]) -> Field:
    default = given.get("default", ...)
    annotation = " | ".join(_ANNOTATIONS[word] for word in given["type"].split(" or "))
    name = given["name"] + ("_" if keyword.iskeyword(given["name"]) else "")
    return Field(name, annotation + (" | None" if given.get("optional", default is None) else ""), default, _sentence(given["doc"]))


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, 116, initial_indent=indent, subsequent_indent=indent, break_long_words=False) or [""]


def document(prose: Iterable[str], fields: Iterable[Field]) -> str:
    """A docstring of paragraphs and a section of parameters."""
    lines: list[str] = []
    for paragraph in prose:
        listed = paragraph.startswith(("-", "*"))
        lines += ["", *(paragraph.splitlines() if listed else _wrapped(" ".join(paragraph.split()), ""))]
    rows = list(fields)
    lines += ["", "Parameters", "----------"] if rows else []
    for name, annotation, default, doc in rows:
        lines += [f"{name} : {annotation}" + ("" if default is ... else f", default {default!r}"), *_wrapped(doc, "    ")]
    return "\n".join(lines[1:])


def make(name: str, base: type[Part], module: str, fields: list[Field], positional: int, doc: str, **attributes: Any) -> Any:
    """A class of parts with these arguments."""
    return type(name, (base,), {
        "__module__": module,
        "__doc__": doc,
        "__annotations__": {field.name: field.annotation for field in fields},
        "__match_args__": tuple(field.name for field in fields[:positional]),
        "_fields": tuple(fields),
        "_positional": positional,
        **attributes,
    })


def _member(member: Mapping[str, Any], base: type[Part], module: str) -> Any:
    fields = [_field(field) for field in member["fields"]]
    names = [field.name for field in fields]
    if member["surrogate"]:
        constants = ", ".join(f"{key}={value!r}" for key, value in member["surrogate"].items() if key != "name")
        usual = f"; by default `{class_of('surrogates', member['surrogate']['name'])}({constants})`."
        fields = [f._replace(doc=f.doc.rstrip(".") + usual) if f.name == "surrogate" else f for f in fields]
    first, *rest = [part for part in member["doc"].split("\n\n") if part.strip()]
    prose = [_sentence(first), *rest]
    positional = names.index(_COMMON) if _COMMON in names else len(names)
    return make(member["class"], base, module, fields, positional, document(prose, fields), kind=member["name"])


def _layer(kind: Mapping[str, Any], name: str, module: str) -> Any:
    keys = [key for key in kind["keys"] if key["name"] != "inputs"]
    main = [_field(kind["main"])] if kind["main"] else []
    required = [_field(key) for key in keys if "default" not in key]
    rest = [_field(key) for key in keys if "default" in key]
    given = []
    if len(keys) < len(kind["keys"]):
        what = main[0].name.removeprefix("out_")
        given = [Field(f"in_{what}", "int | None", None, f"The number of input {what}, by which the input is checked.")]
    fields = [*given, *main, *required, *rest, _NAME]
    return make(
        name, Layer, module, fields, len(given) + len(main) + (len(required) if given else 0),
        document([_sentence(kind["summary"])], fields),
        kind=kind["name"],
        main=main[0].name if main else None,
        _inputs=given[0].name if given else None,
        _axes=kind["classes"].index(name) + 1 if len(kind["classes"]) > 1 else 0,
    )


_BASES: dict[str, type[Part]] = {"neurons": Neuron, "surrogates": Surrogate, "encoders": Encoder}


def members(family: str) -> dict[str, Callable[[str], Any]]:
    """The names of the classes of a family, and what makes each of them for a module."""
    if family == "layers":
        return {name: functools.partial(_layer, kind, name) for kind in registry()["layers"] for name in kind["classes"]}
    base = _BASES[family]
    return {member["class"]: functools.partial(_member, member, base) for member in registry()[family]}


def class_of(family: str, name: str) -> str:
    """The name of the class of a member."""
    return next(str(member["class"]) for member in registry()[family] if member["name"] == name)


def lazy(names: dict[str, Any], makers: Mapping[str, Callable[[str], Any]]) -> tuple[list[str], Any, Any]:
    """`__all__`, `__getattr__` and `__dir__` of the module with these globals, whose classes are made when they are used."""
    module = names["__name__"]

    def __getattr__(name: str) -> Any:
        if name not in makers:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return names.setdefault(name, makers[name](module))

    return sorted(makers), __getattr__, lambda: sorted({*names, *makers})
