"""Parts of a network with options: layers, neurons, surrogates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Union

__all__ = [
    "Encoder",
    "Layer",
    "LayerLike",
    "Neuron",
    "Part",
    "SizedLayer",
    "Surrogate",
    "SurrogateLike",
    "both_sizes",
    "layer_spec",
]


def _plain(value: Any) -> Any:
    """A value as JSON has it; `None` is written as in files."""
    if value is None:
        return "none"
    if isinstance(value, Part):
        return value.spec()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        return value.item()  # a scalar of numpy
    return value


class Part:
    """A part of a network: its class is the kind, its attributes are the options.

    Parts are data without weights. They are compared by their options, and may be used several times.
    """

    kind: ClassVar[str] = ""
    """The name, as in files and on the command line."""

    def __init__(self) -> None:
        raise TypeError(f"{type(self).__name__} is a base class: use one of its subclasses")

    @classmethod
    def _parameters(cls) -> Iterator[tuple[str, Any]]:
        """The names of the arguments with their defaults, `...` for those without."""
        init = cls.__init__
        code = init.__code__
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        positional = names[: code.co_argcount - 1]
        defaults = dict(zip(positional[::-1], (init.__defaults__ or ())[::-1]))
        defaults.update(init.__kwdefaults__ or {})
        for name in names:
            yield name, defaults.get(name, ...)

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
        for name, default in self._parameters():
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
        given = []
        required = {name for name, default in self._parameters() if default is ...}
        for name, value in self.options().items():
            given.append(repr(value) if name in required else f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(given)})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return type(self) is type(other) and self.spec() == other.spec()

    __hash__ = None  # type: ignore[assignment]


class Surrogate(Part):
    """A surrogate gradient. See `spikelet.surrogate` for all of them."""


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
        'latency:code="log"'
        """
        options = [f"{name}={json.dumps(_plain(value))}" for name, value in self.options().items()]
        return self.kind + (":" + ",".join(options) if options else "")


class Neuron(Part):
    """A neuron. See `spikelet.neuron` for all of them."""

    def spec(self) -> dict[str, Any]:
        spec = super().spec()
        trainable = spec.get("trainable")
        if isinstance(trainable, str):
            spec["trainable"] = {trainable: {}}
        elif isinstance(trainable, list):
            spec["trainable"] = {name: {} for name in trainable}
        return spec


class Layer(Part):
    """A layer of a network. See `spikelet.layer` for all of them."""

    main: ClassVar[str | None] = None
    """The option that is the value of the layer's key in files."""

    name: str | None

    def _named(self, spec: dict[str, Any]) -> dict[str, Any]:
        if self.name is not None:
            spec["name"] = self.name
        return spec

    def spec(self) -> dict[str, Any]:
        options = self.options()
        options.pop("name", None)
        spec: dict[str, Any] = {}
        if self.main is not None and self.main in options:
            spec[self.kind] = _value(options.pop(self.main))
        else:
            spec["layer"] = self.kind
        for name, value in options.items():
            spec[name] = _value(value)
        return self._named(spec)


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


def both_sizes(first: int | None, second: int | None) -> tuple[int | None, int]:
    """The sizes of input and output; one size is that of the output."""
    given, made = (None, first) if second is None else (first, second)
    if made is None:
        raise TypeError("layer: there is no size\n  help: give that of the output, or those of input and output")
    return given, made


class SizedLayer(Layer):
    """A layer with a size of its output, and one by which its input is checked."""

    sizes: ClassVar[tuple[str, str]]

    def options(self) -> dict[str, Any]:
        return {name: value for name, value in super().options().items() if name != self.sizes[0] or value is not None}

    def spec(self) -> dict[str, Any]:
        options = {name: _value(value) for name, value in self.options().items()}
        given, made = self.sizes
        spec = {self.kind: options.pop(made)}
        if given in options:
            spec["inputs"] = options.pop(given)
        options.pop("name", None)
        return self._named({**spec, **options})

    def __repr__(self) -> str:
        options = self.options()
        parts = [repr(options.pop(name)) for name in self.sizes if name in options]
        return f"{type(self).__name__}({', '.join([*parts, *(f'{name}={value!r}' for name, value in options.items())])})"


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
