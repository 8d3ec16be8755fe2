"""Parts of a network with options: layers, neurons, surrogates."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Union

__all__ = [
    "Encoder",
    "Field",
    "Layer",
    "LayerLike",
    "Neuron",
    "Part",
    "Scaled",
    "Surrogate",
    "SurrogateLike",
    "Trainable",
    "layer_spec",
]

SIZES = "int | Sequence[int]"
"""The type of sizes of a window."""


def _plain(value: Any) -> Any:
    """A value as JSON has it; `None` is written as in files."""
    if value is None:
        return "none"
    if isinstance(value, (Part, Trainable)):
        return value.spec()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return value.item()  # a scalar of numpy
    return value


class Field(NamedTuple):
    """An argument of a part."""

    name: str
    annotation: str
    default: Any
    """`...` where the argument must be given."""
    doc: str


class _Signature:
    """The signature of a class, made when it is asked for: `inspect` takes longer to import than the package."""

    def __get__(self, part: Part | None, owner: type[Part]) -> Any:
        import inspect

        kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
        arguments = [
            inspect.Parameter(
                field.name,
                kinds[k >= owner._positional],
                default=inspect.Parameter.empty if field.default is ... else field.default,
                annotation=field.annotation,
            )
            for k, field in enumerate(owner._arguments())
        ]
        return inspect.Signature(arguments)


class Part:
    """A part of a network: its class is the kind, its attributes are the options.

    Parts are data without weights. They do not change, are compared by their options, and may be used several times.
    """

    kind: ClassVar[str] = ""
    """The name, as in files and on the command line."""

    _fields: ClassVar[tuple[Field, ...]] = ()
    _positional: ClassVar[int] = 0
    """The number of arguments that need no name."""
    _inputs: ClassVar[str | None] = None
    """Of a layer, the size by which the input is checked, the key `inputs` in files."""

    __signature__ = _Signature()

    def __init__(self, *args: Any, **options: Any) -> None:
        cls = type(self)
        if not self.kind:
            raise TypeError(f"{cls.__name__} is a base class: use one of its subclasses")
        if len(args) > self._positional:
            raise TypeError(
                f"{cls.__name__} takes {self._positional} arguments without a name, {len(args)} were given\n"
                f"  help: name the others: {', '.join(field.name for field in self._fields[self._positional:])}"
            )
        given = dict(zip(cls.__match_args__, args))
        for name, value in options.items():
            if name in given:
                raise TypeError(f"{cls.__name__}: `{name}` was given twice")
            given[name] = value
        values = {field.name: given.pop(field.name, field.default) for field in self._fields}
        for name in given:
            raise TypeError(f"{cls.__name__} has no argument `{name}`; it has {', '.join(values)}")
        for name, value in values.items():
            if value is ...:
                raise TypeError(f"{cls.__name__}: `{name}` is missing\n  help: give `{name}`, {self._doc_of(name)}")
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} is {value}; give a finite number")
            if hasattr(value, "requires_grad"):
                raise TypeError(f"{name} is a tensor; give a number, and trainable={{{name!r}: \"layer\"}} to train it")
        self.__dict__.update(values)

    __match_args__: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _arguments(cls) -> list[Field]:
        """The fields as a signature has them: behind an argument with a default, others have one as well."""
        found: list[Field] = []
        for k, field in enumerate(cls._fields):
            late = k < cls._positional and field.default is ... and any(one.default is not ... for one in found)
            found.append(field._replace(annotation=f"{field.annotation} | None", default=None) if late else field)
        return found

    @classmethod
    def _doc_of(cls, name: str) -> str:
        doc = next(field.doc for field in cls._fields if field.name == name)
        return doc[:1].lower() + doc[1:].rstrip(".")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} does not change; make a new one with {name}={value!r}")

    def options(self) -> dict[str, Any]:
        """The options that differ from the defaults.

        Returns
        -------
        dict
            Names and values.

        Examples
        --------
        >>> spikelet.Lif(tau=4.0, v_reset=None).options()
        {'tau': 4.0, 'v_reset': None}
        """
        found = {}
        for name, _, default, _ in self._fields:
            value = getattr(self, name)
            if default is ... or type(value) is not type(default) or value != default:
                found[name] = value
        return found

    def spec(self) -> dict[str, Any]:
        """The part as a file has it.

        Returns
        -------
        dict
            A table of TOML or JSON.

        Examples
        --------
        >>> spikelet.surrogate.Atan(alpha=3.0).spec()
        {'name': 'atan', 'alpha': 3.0}
        """
        # `lambda_` stands for `lambda`, a word of Python.
        return {"name": self.kind, **{name.rstrip("_"): _plain(value) for name, value in self.options().items()}}

    def __repr__(self) -> str:
        options, given, bare = self.options(), [], True
        for k, (name, _, default, _) in enumerate(self._fields):
            bare = bare and k < self._positional and name in options and (default is ... or name == self._inputs)
            if name in options:
                given.append(repr(options[name]) if bare else f"{name}={options[name]!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return type(self) is type(other) and self.spec() == other.spec()

    def __hash__(self) -> int:
        return hash((type(self), json.dumps(self.spec(), sort_keys=True)))


class Surrogate(Part):
    """A surrogate gradient. See `spikelet.surrogate` for all of them."""

    def __mul__(self, factor: float) -> Scaled:
        """Return the surrogate with its derivative multiplied by a factor."""
        return Scaled(self, float(factor))

    __rmul__ = __mul__


class Scaled(Surrogate):
    """A surrogate whose derivative is multiplied by a factor: `2.0 * Atan()`.

    Parameters
    ----------
    surrogate : Surrogate
        The surrogate.
    factor : float
        The factor.
    """

    kind = "scaled"
    _fields = (Field("surrogate", "Surrogate", ..., "The surrogate."), Field("factor", "float", ..., "The factor."))
    _positional = 2
    __match_args__ = ("surrogate", "factor")

    surrogate: Surrogate
    factor: float

    def spec(self) -> dict[str, Any]:
        given = self.surrogate.spec()
        return {**given, "factor": self.factor * float(given.get("factor", 1.0))}


SurrogateLike = Union[Surrogate, str, Mapping[str, Any]]
"""A surrogate, its name, or a table with `name` and constants."""


class Encoder(Part):
    """An encoder. See `spikelet.encoder` for all of them."""

    def text(self) -> str:
        """The encoder as the command line takes it.

        Returns
        -------
        str
            The name, with constants that are not the defaults.

        Examples
        --------
        >>> spikelet.encoder.Latency(code="log").text()
        'latency code="log"'
        """
        options = [f"{name}={json.dumps(_plain(value))}" for name, value in self.options().items()]
        return " ".join([self.kind, *options])


class Trainable:
    """How a constant is trained.

    Parameters
    ----------
    granularity : {"layer", "channel", "neuron", "step", "step_channel"}
        One value for the layer, for each channel (axis 2 of `[T, N, C, ...]`), for each neuron, for each time step, or for
        each time step and channel.
    above : float, optional
        The constant stays above this value: `above + log(1 + exp(p))`, where p is the parameter.
    between : tuple of float, optional
        The constant stays between two values: `low + (high - low) * sigmoid(p)`.
    clamp : tuple of float, optional
        The constant is p, clamped to two values.
    start : mapping, optional
        The distribution of the initial values: `{"uniform": {"low": 0.0, "high": 1.0}}`, or
        `{"normal": {"mean": 2.0, "deviation": 0.1}}`. By default all are the value of the constant.
    frozen : bool
        Whether the values are stored with the model, but not trained.

    Examples
    --------
    >>> spikelet.Lif(tau=4.0, trainable={"tau": spikelet.Trainable("channel", above=1.0)}).spec()["trainable"]
    {'tau': {'granularity': 'channel', 'bound': {'above': {'low': 1.0}}}}
    """

    def __init__(
        self,
        granularity: str = "layer",
        *,
        above: float | None = None,
        between: tuple[float, float] | None = None,
        clamp: tuple[float, float] | None = None,
        start: Mapping[str, Any] | None = None,
        frozen: bool = False,
    ) -> None:
        bounds: dict[str, Any] = {} if above is None else {"above": {"low": float(above)}}
        for name, limits in {"between": between, "clamp": clamp}.items():
            if limits is None:
                continue
            if len(limits) != 2:
                raise ValueError(f"{name} is {limits!r}; give two values, (low, high)")
            bounds[name] = {"low": float(limits[0]), "high": float(limits[1])}
        if len(bounds) > 1:
            raise ValueError(f"a trainable constant has one bound, {', '.join(bounds)} were given")
        self._spec: dict[str, Any] = {"granularity": granularity}
        given = {"bound": bounds, "start": start, "frozen": frozen}
        self._spec.update((name, value) for name, value in given.items() if value)

    def spec(self) -> dict[str, Any]:
        """The settings as a file has them.

        Returns
        -------
        dict
            A table of TOML or JSON.
        """
        return dict(self._spec)

    def __eq__(self, other: object) -> bool:
        return self._spec == other._spec if isinstance(other, Trainable) else NotImplemented

    def __hash__(self) -> int:
        return hash(json.dumps(self._spec, sort_keys=True))

    def __repr__(self) -> str:
        return f"Trainable({', '.join(f'{name}={value!r}' for name, value in self._spec.items())})"


class Neuron(Part):
    """A neuron. See `spikelet.neuron` for all of them."""

    surrogate: SurrogateLike | None
    trainable: Mapping[str, Any] | Sequence[str] | str | None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        surrogate, trainable = getattr(self, "surrogate", None), getattr(self, "trainable", None)
        if not isinstance(surrogate, (Surrogate, str, Mapping, type(None))):
            raise TypeError(
                f"surrogate is {surrogate!r}; give one of spikelet.surrogate, such as surrogate.Atan(alpha=2.0), or its name"
            )
        if not isinstance(trainable, (Mapping, str, list, tuple, type(None))):
            raise TypeError(f"trainable is {trainable!r}; give names of constants, or a mapping such as {{\"tau\": \"channel\"}}")

    def _trainable(self) -> dict[str, Any] | None:
        """The settings of the trainable constants by name, if they are given."""
        given = getattr(self, "trainable", None)
        if given is None:
            return None
        names = [given] if isinstance(given, str) else given
        return {name: _plain(names[name]) if isinstance(names, Mapping) else {} for name in names}

    def spec(self) -> dict[str, Any]:
        spec, trainable = super().spec(), self._trainable()
        return spec if trainable is None else {**spec, "trainable": trainable}


class Layer(Part):
    """A layer of a network. See `spikelet.layer` for all of them."""

    main: ClassVar[str | None] = None
    """The option that is the value of the layer's key in files."""
    _axes: ClassVar[int] = 0
    """The number of axes of a window, or 0: the size of the window is then an integer for each axis."""

    name: str | None

    def __init__(self, *args: Any, **options: Any) -> None:
        if self._inputs and self.main and len(args) == 1:
            name = type(self).__name__
            raise TypeError(
                f"{name}({args[0]!r}): one size was given\n"
                f"  help: give both, `{name}({self._inputs}, {self.main})`, or that of the output, `{name}({self.main}={args[0]!r})`"
            )
        super().__init__(*args, **options)

    def spec(self) -> dict[str, Any]:
        options = {name: _value(value) for name, value in self.options().items()}
        for name, annotation, *_ in self._fields:
            if self._axes and annotation == SIZES and isinstance(options.get(name), int):
                options[name] = [options[name]] * self._axes
                break
        name = options.pop("name", None)
        spec = {self.kind: options.pop(self.main)} if self.main in options else {"layer": self.kind}
        if self._inputs in options:
            spec["inputs"] = options.pop(self._inputs)
        spec.update(options)
        return spec if name is None else {**spec, "name": name}


LayerLike = Union[Layer, Neuron, str, Mapping[str, Any], Sequence["LayerLike"]]
"""A layer, a neuron, or a layer as files have it; a list where a layer has several branches."""


def _is_layer(item: Any) -> bool:
    return isinstance(item, (Layer, Neuron)) or hasattr(item, "_layers")


def _value(value: Any) -> Any:
    """The value of a layer's key: layers inside are layers as files have them."""
    if isinstance(value, (list, tuple)):
        return [layer_spec(item) if _is_layer(item) else _value(item) for item in value]
    if isinstance(value, Layer):
        return value.spec()
    if isinstance(value, Mapping):
        return _plain(value)
    return _plain(value)


def layer_spec(layer: Any) -> Any:
    """The layer as a file has it.

    Parameters
    ----------
    layer : Layer, Neuron, Sequential, str, mapping or list
        A layer, a neuron, the name of a layer, or a table of a file.

    Returns
    -------
    dict, str or list
        JSON.
    """
    if isinstance(layer, Neuron):
        return {"neuron": layer.spec()}
    if isinstance(layer, Layer):
        return layer.spec()
    inner = getattr(layer, "_layers", None)
    if inner is not None:
        return {"layers": [layer_spec(item) for item in inner]}
    if isinstance(layer, str):
        return layer
    if isinstance(layer, Mapping):
        return _plain(layer)
    if isinstance(layer, (list, tuple)):
        return [layer_spec(item) for item in layer]
    hint = ""
    if isinstance(layer, type) and issubclass(layer, Part):
        hint = f": call it, `{layer.__name__}(…)`"
    elif type(layer).__module__.startswith("torch"):
        hint = ": modules of torch are no layers of the engine; see `spikelet.torch`"
    raise TypeError(
        f"layer: {layer!r} was given{hint}\n"
        "  help: give layers of `spikelet.layer`, neurons of `spikelet.neuron`, or tables as in files"
    )
