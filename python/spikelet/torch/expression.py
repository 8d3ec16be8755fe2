"""Expressions of the equations of a neuron: see `spikelet.torch.neuron`.

An equation is traced once: operators on expressions record terms, which are compiled. The functions here take expressions and
numbers.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, NoReturn, Union

__all__ = [
    "Expression", "abs", "atan", "cos", "detach", "erf", "exp", "floor", "log", "maximum", "minimum", "round", "sigmoid",
    "sin", "sqrt", "tanh", "where",
]

Operand = Union["Expression", float, int]


class Trace:
    """The terms of an equation, each once."""

    def __init__(self) -> None:
        self.terms: list[Any] = []
        self._known: dict[Any, int] = {}

    def term(self, kind: str, *values: Any) -> Expression:
        """Record a term, or find it."""
        key = (kind, *values)
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = len(self.terms)
            if kind == "input":
                self.terms.append("input")
            elif kind == "apply":
                self.terms.append({"apply": list(values)})
            else:
                self.terms.append({kind: values[0]})
        return Expression(self, index)

    def operand(self, value: Any) -> int:
        """Return the index of an expression or a number."""
        if isinstance(value, Expression):
            if value._trace is not self:
                raise TypeError("an expression of another equation was given; use the arguments of the function that is traced")
            return value._index
        # bool is a number, and so are the scalars of numpy.
        if isinstance(value, numbers.Real) or hasattr(value, "__float__") and getattr(value, "shape", None) == () and not hasattr(
            value, "requires_grad"
        ):
            return self.term("number", float(value))._index
        if hasattr(value, "requires_grad"):
            raise TypeError(
                "a tensor was given in the equation of a neuron; declare it under params, as a parameter that starts at a number"
            )
        raise TypeError(f"{value!r} was given in the equation of a neuron, expected an expression or a number")

    def apply(self, function: str, *operands: Any) -> Expression:
        """Record a function of operands."""
        return self.term("apply", function, *(self.operand(operand) for operand in operands))


class Expression:
    """A value of the equation of a neuron: a state, the input, a constant, or a function of these."""

    __slots__ = ("_index", "_trace")
    # numpy's scalars leave operators to the expression.
    __array_ufunc__ = None

    def __init__(self, trace: Trace, index: int) -> None:
        self._trace = trace
        self._index = index

    def __add__(self, other: Operand) -> Expression:
        return self._trace.apply("add", self, other)

    def __radd__(self, other: Operand) -> Expression:
        return self._trace.apply("add", other, self)

    def __sub__(self, other: Operand) -> Expression:
        return self._trace.apply("sub", self, other)

    def __rsub__(self, other: Operand) -> Expression:
        return self._trace.apply("sub", other, self)

    def __mul__(self, other: Operand) -> Expression:
        return self._trace.apply("mul", self, other)

    def __rmul__(self, other: Operand) -> Expression:
        return self._trace.apply("mul", other, self)

    def __truediv__(self, other: Operand) -> Expression:
        return self._trace.apply("div", self, other)

    def __rtruediv__(self, other: Operand) -> Expression:
        return self._trace.apply("div", other, self)

    def __pow__(self, other: Operand) -> Expression:
        return self._trace.apply("pow", self, other)

    def __rpow__(self, other: Operand) -> Expression:
        return self._trace.apply("pow", other, self)

    def __neg__(self) -> Expression:
        return self._trace.apply("neg", self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return self._trace.apply("abs", self)

    def __lt__(self, other: Operand) -> Expression:
        return self._trace.apply("lt", self, other)

    def __le__(self, other: Operand) -> Expression:
        return self._trace.apply("le", self, other)

    def __gt__(self, other: Operand) -> Expression:
        return self._trace.apply("gt", self, other)

    def __ge__(self, other: Operand) -> Expression:
        return self._trace.apply("ge", self, other)

    def __eq__(self, other: object) -> Any:
        return self._trace.apply("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self._trace.apply("ne", self, other)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a condition on an expression has no truth value, since the equation is traced once for all time steps; use "
            "where(condition, a, b), and two comparisons instead of a chained one"
        )

    def __float__(self) -> NoReturn:
        raise TypeError("an expression is not a number; use the functions of spikelet.torch.expression instead of those of math")

    def __iter__(self) -> NoReturn:
        raise TypeError("an expression is one value of each neuron, it has no elements")

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        name = getattr(function, "__name__", str(function))
        raise TypeError(
            f"`{name}` of torch was called in the equation of a neuron; use spikelet.torch.expression.{name} if there is one, and "
            "declare tensors under params"
        )


def _function(name: str, symbol: str, summary: str) -> Callable[[Operand], Expression]:
    def function(x: Operand) -> Expression:
        if not isinstance(x, Expression):
            raise TypeError(f"{name}({x!r}): expected an expression; compute with numbers by the module math")
        return x._trace.apply(symbol, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = summary
    return function


exp = _function("exp", "exp", "Exponential function.")
log = _function("log", "ln", "Natural logarithm.")
sqrt = _function("sqrt", "sqrt", "Square root.")
sin = _function("sin", "sin", "Sine.")
cos = _function("cos", "cos", "Cosine.")
atan = _function("atan", "atan", "Arc tangent.")
tanh = _function("tanh", "tanh", "Hyperbolic tangent.")
sigmoid = _function("sigmoid", "sigmoid", "Logistic function.")
erf = _function("erf", "erf", "Error function.")
floor = _function("floor", "floor", "Largest integer not above x; its gradient is 0.")
round = _function("round", "round", "Nearest integer, ties to even; its gradient is 0.")
abs = _function("abs", "abs", "Absolute value.")
detach = _function("detach", "detach", "The same value, without a gradient.")


def _trace_of(*operands: Any) -> Trace:
    for operand in operands:
        if isinstance(operand, Expression):
            return operand._trace
    raise TypeError("expected at least one expression; compute with numbers by the module math")


def minimum(a: Operand, b: Operand) -> Expression:
    """Return the smaller of two values."""
    return _trace_of(a, b).apply("min", a, b)


def maximum(a: Operand, b: Operand) -> Expression:
    """Return the larger of two values."""
    return _trace_of(a, b).apply("max", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Expression:
    """Return `a` where the condition holds, else `b`."""
    return _trace_of(condition, a, b).apply("where", condition, a, b)
