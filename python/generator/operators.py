"""Neurons and surrogates of PyTorch: `spikelet.torch.neurons`, `functional` and `surrogate`."""

from __future__ import annotations

from typing import Any

from shared import COMMON, annotation, default_surrogate, literal, meanings, own_constants, quoted, rust_names, safe, sentence, wrapped

#: Constants of all neurons that are numbers or words, in the order of signatures.
SHARED = ("v_threshold", "v_reset", "strict", "fire_on", "resets")
#: Layers whose parameters depend on the number of steps, or have the names of constants, have no function.
MODULE_ONLY = ("psn", "masked_psn", "sliding_psn", "gated_lif")

LEARN = '''    learn : mapping of str to Learn, optional
        Constants that are learned, by name; `<state>_start` is the initial value of a state.
    shape : sequence of int, optional
        Shape of the input, [T, N, ...], for parameters that depend on it; by default that of the first input.'''


def type_of(name: str, default: Any) -> str:
    if name in COMMON:
        return COMMON[name][0]
    return {"inplane": "int | None", "readout": "str | None"}.get(name) or annotation(default)


def parameter_docs(member: dict[str, Any], constants: dict[str, Any]) -> list[str]:
    meaning = meanings(member["description"])
    lines = []
    for name, default in constants.items():
        lines.append(f"    {safe(name)} : {type_of(name, default)}")
        lines.append(wrapped(meaning.get(name) or f"See the equations. Default {default!r}.", "        "))
    return lines


def common_docs(member: dict[str, Any]) -> list[str]:
    lines = []
    for name in (*SHARED, "surrogate", "reset_grad"):
        kind = {"surrogate": "Surrogate | None", "reset_grad": "ResetGrad"}.get(name, COMMON[name][0])
        doc = COMMON[name][2].replace("{surrogate}", default_surrogate(member))
        lines += [f"    {name} : {kind}", wrapped(doc, "        ")]
    return lines


def equations(member: dict[str, Any]) -> list[str]:
    """The text of the file's head, without its title."""
    text = quoted("\n".join(member["head"].splitlines()[1:]))
    return [f"    {line}".rstrip() for line in text.splitlines()]


def signature(member: dict[str, Any], constants: dict[str, Any]) -> list[str]:
    parts = [f"{safe(name)}: {type_of(name, default)} = {literal(default)}" for name, default in constants.items()]
    values = member["constants"]
    parts += [f"{name}: {type_of(name, values[name])} = {literal(values[name])}" for name in SHARED if name in values]
    return [*parts, "surrogate: Surrogate | None = None", f"reset_grad: ResetGrad = {literal(values['reset_grad'])}"]


def class_of(member: dict[str, Any]) -> str:
    return rust_names("neuron")[member["name"]]


def known_constants(member: dict[str, Any]) -> list[str]:
    return [*own_constants(member), *(name for name in SHARED if name in member["constants"])]


def neuron_class(member: dict[str, Any]) -> str:
    cls, constants = class_of(member), own_constants(member)
    parts = signature(member, constants)
    parts.insert(min(len(constants), 1), "*")
    parts += ["learn: Mapping[str, Learn | str] | None = None", "shape: Sequence[int] | None = None"]
    given = ", ".join(f"{literal(name)}: {safe(name)}" for name in known_constants(member))
    text = equations(member)
    lines = [f"class {cls}State(NamedTuple):", f'    """State of {cls}."""', ""]
    lines += [f"    {state}: Tensor | None = None" for state in member["states"]]
    lines += ["", "", f"class {cls}(Neuron):", f'    """{sentence(member["summary"])}', "", *text, *([""] if text else [])]
    lines += ["    Parameters", "    ----------", *parameter_docs(member, constants), *common_docs(member), LEARN, '    """', ""]
    lines += [f"    name = {literal(member['name'])}", f"    State = {cls}State", "", "    def __init__(", "        self,"]
    lines += [f"        {part}," for part in parts]
    lines += ["    ) -> None:", "        super().__init__(", wrapped("{" + given + "},", "            "),
              "            surrogate, reset_grad, learn, shape,", "        )"]
    return "\n".join(lines) + "\n"


def neuron_function(member: dict[str, Any]) -> str:
    states, params = member["states"], member["params"]
    constants = {name: default for name, default in own_constants(member).items() if name != "random_start"}
    result = f"tuple[{', '.join(['Tensor'] * (1 + len(states)))}]" if states else "Tensor"
    arguments = ["x: Tensor", *(f"{state}: Tensor | None = None" for state in states), "*"]
    arguments += [f"{param}: Tensor" for param in params] + signature(member, constants) + ["time_steps: int = 0"]
    known = known_constants(member)
    values = ["False" if name == "random_start" else safe(name) for name in known]
    lines = [f"def {safe(member['name'])}(", *(f"    {argument}," for argument in arguments), f") -> {result}:"]
    lines += [f'    """{sentence(member["summary"])[:-1]}: see `spikelet.torch.{class_of(member)}`.', ""]
    lines += ["    Parameters", "    ----------", "    x : Tensor [T, N, ...]", "        The input."]
    for state in states:
        lines += [f"    {state} : Tensor [N, ...], optional", "        The state before the first step; None at rest."]
    for param in params:
        lines += [f"    {param} : Tensor", "        A parameter."]
    lines += [*parameter_docs(member, constants), *common_docs(member), "    time_steps : int",
              "        Repeats an input of one step, `[1, N, ...]`, without a copy.", "",
              "    Returns", "    -------", "    y : Tensor [T, N, ...]", "        The output."]
    for state in states:
        lines += [f"    {state} : Tensor [N, ...]", "        The state after the last step."]
    lines += ['    """', "    definition = definition_of(",
              wrapped(f"{literal(member['name'])}, {listed(map(literal, known))},", "        "),
              wrapped(f"{listed(values)}, surrogate, reset_grad,", "        "), "    )",
              f"    made: {result} = run(definition, x, {listed(states)}, {listed(params)}, time_steps)", "    return made"]
    return "\n".join(lines) + "\n"


def listed(values: Any) -> str:
    """A tuple."""
    items = list(values)
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def surrogate_class(member: dict[str, Any]) -> str:
    constants = own_constants(member)
    text = equations(member)
    lines = ["@dataclasses.dataclass(frozen=True)", f"class {rust_names('surrogate')[member['name']]}(Surrogate):",
             f'    """{sentence(member["summary"])}', *([""] if text else []), *text]
    if constants:
        lines += ["", "    Parameters", "    ----------", *parameter_docs(member, constants)]
    lines += ['    """', "", f"    name: ClassVar[str] = {literal(member['name'])}"]
    lines += [f"    {name}: {type_of(name, default)} = {literal(default)}" for name, default in constants.items()]
    return "\n".join(lines) + "\n"
