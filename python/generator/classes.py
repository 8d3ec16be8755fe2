"""Classes of the engine's neurons, surrogates and encoders: `spikelet.neuron`, `spikelet.surrogate`, `spikelet.encoder`."""

from __future__ import annotations

from typing import Any

from shared import (
    COMMON, annotation, default_surrogate, literal, meanings, own_constants, quoted, safe, sentence, wrapped,
)

#: The name, the type, the default and the meaning of an argument; one without a default has `...`.
Row = tuple[str, str, Any, str]


def parameters(rows: list[Row]) -> list[str]:
    """The section of parameters of a docstring."""
    if not rows:
        return []
    lines = ["", "    Parameters", "    ----------"]
    for name, kind, default, doc in rows:
        suffix = "" if default is ... else f", default {literal(default)}"
        lines.append(f"    {name} : {kind}{suffix}")
        lines.append(wrapped(doc, "        "))
    return lines


def signature(rows: list[Row], positional: int) -> list[str]:
    lines = ["", "    def __init__(", "        self,"]
    for k, (name, kind, default, _) in enumerate(rows):
        if k == positional:
            lines.append("        *,")
        lines.append(f"        {name}: {kind}" + ("" if default is ... else f" = {literal(default)}") + ",")
    lines.append("    ) -> None:")
    body = [f"        self.{name} = {name}" for name, *_ in rows] or ["        pass"]
    if not rows:
        lines[-3:] = ["    def __init__(self) -> None:"]
    return lines + body


def prose(member: dict[str, Any]) -> list[str]:
    """The text of a docstring: the equation, and the description without its table."""
    head = member["head"].split("\n\n", 1)
    described = [p for p in member["description"].split("\n\n") if p and not p.startswith("|")]
    paragraphs = ([head[1]] if len(head) > 1 else [])
    first = sentence(described[0].replace("\n", " ")) if described else sentence(member["summary"])
    rest = described[1:]
    lines = [first]
    for paragraph in "\n\n".join(rest + paragraphs).split("\n\n"):
        if not paragraph.strip() or "```" in paragraph:
            continue
        lines.append("")
        if paragraph.lstrip().startswith(("|", "-", "*")):
            lines += [line.rstrip() for line in paragraph.splitlines()]
        else:
            lines += wrapped(paragraph.replace("\n", " "), "").splitlines()
    return [quoted(line) if line else "" for line in lines]


def member_class(member: dict[str, Any], cls: str, base: str) -> str:
    meaning = meanings(member["description"])
    rows: list[Row] = []
    for name, default in own_constants(member).items():
        several = isinstance(default, (list, dict))
        kind = annotation(default) + (" | None" if several else "")
        doc = meaning.get(name) or sentence(f"See `spikelet.{base.lower()}`")
        rows.append((safe(name), kind, None if several else default, doc))
    own = len(rows)
    if base == "Neuron":
        for name, (kind, usual, doc) in COMMON.items():
            if name in member["constants"]:
                default = usual if name in ("surrogate", "trainable") else member["constants"][name]
                doc = doc.replace("{surrogate}", default_surrogate(member)) if name == "surrogate" else doc
                rows.append((name, kind, default, meaning.get(name) or doc))
    text = prose(member)
    lines = [f"class {cls}({base}):", f'    """{text[0]}']
    lines += [f"    {line}".rstrip() for line in text[1:]]
    lines += parameters(rows)
    lines += ['    """', "", f'    kind = "{member["name"]}"']
    lines += signature(rows, own)
    return "\n".join(lines) + "\n"
