"""Modules with a step mode and with states, as SpikingJelly's ``base`` has them."""

from __future__ import annotations

import copy
from typing import Any, Iterator

import torch
from torch import Tensor, nn

States = tuple[Any, ...]
Tensors = tuple[Tensor, ...]


class StepModule:
    """A module with a step mode: ``'s'`` for one step, ``'m'`` for sequences ``[T, N, ...]``."""

    def supported_step_mode(self) -> tuple[str, ...]:
        return ("s", "m")

    @property
    def step_mode(self) -> str:
        return self._step_mode

    @step_mode.setter
    def step_mode(self, value: str) -> None:
        if value not in self.supported_step_mode():
            raise ValueError(f'step_mode can only be {self.supported_step_mode()}, but got "{value}"!')
        self._step_mode = value


class MultiStepModule(StepModule):
    """A module for sequences only."""

    def supported_step_mode(self) -> tuple[str, ...]:
        return ("m",)


class MemoryModule(nn.Module, StepModule):
    """A module whose states are attributes; :meth:`reset` sets them back."""

    def __init__(self) -> None:
        super().__init__()
        self._memories: dict[str, Any] = {}
        self._memories_rv: dict[str, Any] = {}
        self._step_mode = "s"

    def materialize_states(self, inputs: Tensors, states: States, step_mode: str) -> States:
        return states

    def single_step_functional_forward(self, inputs: Tensors, states: States, **kwargs: Any) -> tuple[Tensors, States]:
        raise NotImplementedError(f"{self._get_name()} does not implement single_step_functional_forward.")

    def multi_step_functional_forward(self, inputs: Tensors, states: States, **kwargs: Any) -> tuple[Tensors, States]:
        steps = []
        for t in range(inputs[0].shape[0]):
            outputs, states = self.single_step_functional_forward(tuple(x[t] for x in inputs), states, **kwargs)
            steps.append(outputs)
        return tuple(torch.stack(step) for step in zip(*steps)), states

    def functional_forward(self, inputs: Tensors, states: States, **kwargs: Any) -> tuple[Tensors, States]:
        states = self.materialize_states(inputs, states, self.step_mode)
        if self.step_mode == "s":
            return self.single_step_functional_forward(inputs, states, **kwargs)
        return self.multi_step_functional_forward(inputs, states, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.step_mode == "s":
            return self.single_step_forward(*args, **kwargs)
        return self.multi_step_forward(*args, **kwargs)

    def single_step_forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        states = self.materialize_states((x, *args), tuple(self._memories.values()), "s")
        outputs, states = self.single_step_functional_forward((x, *args), states, **kwargs)
        self._memories.update(zip(self._memories, states))
        return outputs[0] if len(outputs) == 1 else outputs

    def multi_step_forward(self, x_seq: Tensor, *args: Any, **kwargs: Any) -> Any:
        states = self.materialize_states((x_seq, *args), tuple(self._memories.values()), "m")
        outputs, states = self.multi_step_functional_forward((x_seq, *args), states, **kwargs)
        self._memories.update(zip(self._memories, states))
        return outputs[0] if len(outputs) == 1 else outputs

    def extra_repr(self) -> str:
        return f"step_mode={self.step_mode}"

    def register_memory(self, name: str, value: Any) -> None:
        assert not hasattr(self, name), f"{name} has been set as a member variable!"
        self._memories[name] = value
        self.set_reset_value(name, value)

    def set_reset_value(self, name: str, value: Any) -> None:
        self._memories_rv[name] = copy.deepcopy(value)

    def reset(self) -> None:
        """Sets all states back to their reset values."""
        for key, value in self._memories_rv.items():
            self._memories[key] = copy.deepcopy(value)

    def detach(self) -> None:
        """Detaches all states from the graph."""
        for key, value in self._memories.items():
            if isinstance(value, Tensor):
                self._memories[key] = value.detach()

    def memories(self) -> Iterator[Any]:
        yield from self._memories.values()

    def named_memories(self) -> Iterator[tuple[str, Any]]:
        yield from self._memories.items()

    def __getattr__(self, name: str) -> Any:
        memories = self.__dict__.get("_memories")
        if memories is not None and name in memories:
            return memories[name]
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        memories = self.__dict__.get("_memories")
        if memories is not None and name in memories:
            memories[name] = value
        else:
            super().__setattr__(name, value)

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> MemoryModule:
        for memory in (self._memories, self._memories_rv):
            memory.update({key: fn(value) for key, value in memory.items() if isinstance(value, Tensor)})
        return super()._apply(fn, *args, **kwargs)

    def _replicate_for_data_parallel(self) -> MemoryModule:
        replica = super()._replicate_for_data_parallel()
        replica._memories = self._memories.copy()
        return replica
