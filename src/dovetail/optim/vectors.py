"""Steps of many small parameters at once: they are concatenated to one vector, to which the rule of
the optimizer is applied.

The states are stored in vectors too; the ``state`` of an optimizer contains views of them. A state
that was replaced is copied back into its vector.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from operator import attrgetter, is_
from typing import Any, Protocol, TypeAlias
from weakref import ref

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.front_end import copy_each
from dovetail_kernel import dispatch_state

from ..nn.parameter import Parameter
from .optimizer import ParamGroup

Pair: TypeAlias = tuple[Tensor, Tensor]
"""A parameter and its gradient."""

GREATEST = 4096
"""Elements of a parameter from which on copying it costs more than calling operators for it."""
FEWEST = 3
"""Parameters that are worth a vector."""


class Stepping(Protocol):
    """What is asked of an optimizer: see `ElementwiseOptimizer`."""

    param_groups: list[ParamGroup]
    state: defaultdict[Any, Any]
    _numbers: tuple[str, ...]

    def _begun(self, parameter: Tensor, group: ParamGroup) -> dict[str, Any]: ...

    def _apply(
        self, parameter: Tensor, gradient: Tensor, values: dict[str, Any], group: ParamGroup
    ) -> None: ...


_PLAIN = dispatch_state(0)
_arrays = attrgetter("array")


class Memory:
    """Remembers where tensors lie, without holding it: storages may still be resized."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._arrays = [_remembered(tensor.array) for tensor in tensors]

    def is_of(self, tensors: Sequence[Tensor]) -> bool:
        """Say whether tensors lie there."""
        return all(map(is_, map(_arrays, tensors), [array() for array in self._arrays]))


def _remembered(array: object) -> Callable[[], Any]:
    """Return a function that returns an array while there is one."""
    try:
        return ref(array)
    except TypeError:  # it takes no weak references
        return lambda: array


def _is_shared(tensor: Tensor) -> bool:
    """Say whether other processes may write to a tensor: what lies in its place must be it."""
    return tensor.device.type == "cpu" and tensor.is_shared()


def may_join(group: ParamGroup, pairs: Sequence[Pair], fewest: int) -> bool:
    """Return whether the parameters of a group can be updated together: no step is recorded or
    intercepted.
    """
    return (
        len(pairs) >= fewest
        and group["foreach"] is not False
        and not group["differentiable"]
        and dispatch_state() is _PLAIN
    )


class Vectors:
    """The vectors of an optimizer: for each group, a plan that assigns parameters to vectors."""

    def __init__(self) -> None:
        self._plans: dict[int, Plan] = {}

    def step(self, optimizer: Stepping, group: ParamGroup, pairs: list[Pair]) -> list[Pair]:
        """Update small parameters; return the others."""
        parameters = [parameter for parameter, _ in pairs]
        plan = self._plans.get(id(group))
        if plan is None or not plan.is_of(parameters):
            present = {id(each) for each in optimizer.param_groups}
            self._plans = {key: each for key, each in self._plans.items() if key in present}
            self._plans[id(group)] = Plan(parameters)
            return pairs
        if not plan.is_made:
            plan.make(optimizer)
        others = [pairs[place] for place in plan.others]
        for vector, places in plan.vectors:
            gradients = [pairs[place][1] for place in places]
            if not (vector.fits(gradients) and vector.step(optimizer, group, gradients)):
                others += [pairs[place] for place in places]
        return others


class Plan:
    """Which parameters of a group lie in which vector, and which in none.

    It is made when the same parameters come for the second time: those that never do would leave
    their states in ever new vectors.
    """

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self._parameters = list(parameters)
        self._memory = Memory(parameters)
        self.is_made = False

    def make(self, optimizer: Stepping) -> None:
        """Lay small parameters of one kind, which have taken as many steps, into vectors."""
        parameters = self._parameters
        kinds: dict[tuple[Any, ...], list[int]] = {}
        for place, parameter in enumerate(parameters):
            is_small = (
                type(parameter) in (Parameter, Tensor)
                and parameter.numel() <= GREATEST
                and not _is_shared(parameter)
            )
            state = optimizer.state.get(parameter, {})
            numbers = [state[name].item() for name in optimizer._numbers if name in state]
            kind = (parameter.dtype, parameter.device, *numbers) if is_small else (None,)
            kinds.setdefault(kind, []).append(place)
        self.others = kinds.pop((None,), [])
        self.vectors: list[tuple[Vector, list[int]]] = []
        for places in kinds.values():
            members = [parameters[place] for place in places]
            if len(members) < FEWEST or _overlap(members):
                self.others += places
            else:
                self.vectors.append((Vector(members), places))
        self.is_made = True

    def is_of(self, parameters: Sequence[Tensor]) -> bool:
        """Say whether these are the parameters, with the memory they had."""
        return (
            len(parameters) == len(self._parameters)
            and all(map(is_, parameters, self._parameters))
            and self._memory.is_of(parameters)
        )


def _overlap(parameters: Sequence[Tensor]) -> bool:
    """Say whether parameters may share memory, or one is there twice."""
    places = {parameter.untyped_storage().place() for parameter in parameters}
    return len(places) < len(parameters)


class Parts:
    """A vector and its parts, which have the shapes given."""

    def __init__(self, vector: Tensor, shapes: Sequence[Sequence[int]], sizes: list[int]) -> None:
        self.vector = vector
        self.tensors = [
            part.view(shape) for part, shape in zip(vector.split(sizes), shapes, strict=True)
        ]
        self._memory = Memory(self.tensors)

    def are(self, tensors: Sequence[Tensor]) -> bool:
        """Say whether tensors lie where the parts lie."""
        return self._memory.is_of(tensors)


class Vector:
    """Parameters that take their steps together."""

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        like = parameters[0]
        self._parameters = list(parameters)
        self._shapes = [parameter.shape for parameter in parameters]
        self._array_shapes = [parameter.array.shape for parameter in parameters]
        self._sizes = [parameter.numel() for parameter in parameters]
        self._values = self._laid(like)
        self._gradients = self._laid(like)
        self._states: dict[str, Parts] = {}

    def _laid(self, like: Tensor) -> Parts:
        vector = aten.empty(sum(self._sizes), dtype=like.dtype, device=like.device)
        return Parts(vector, self._shapes, self._sizes)

    def fits(self, gradients: Sequence[Tensor]) -> bool:
        """Say whether gradients have the dtypes and shapes of the parameters, and are plain."""
        arrays = [*map(_arrays, gradients)]
        return (
            {*map(type, gradients)} == {Tensor}
            and {array.dtype for array in arrays} == {self._gradients.vector.array.dtype}
            and [array.shape for array in arrays] == self._array_shapes
        )

    def step(self, optimizer: Stepping, group: ParamGroup, gradients: Sequence[Tensor]) -> bool:
        """Take a step; return False if the states differ too much to take it at once."""
        states = [optimizer._begun(parameter, group) for parameter in self._parameters]
        names = states[0].keys()
        if any([state.keys() != names for state in states]):
            return False
        values: dict[str, Any] = {}
        for name in names:
            parts = self._joined(name, states, name in optimizer._numbers)
            if parts is None:
                return False
            values[name] = parts.vector
            if name in optimizer._numbers:
                numbers = set(parts.vector.tolist())
                if len(numbers) > 1:
                    return False
                values[name] = numbers.pop()
        copy_each(self._gradients.tensors, gradients)
        copy_each(self._values.tensors, self._parameters)
        optimizer._apply(self._values.vector, self._gradients.vector, values, group)
        copy_each(self._parameters, self._values.tensors)
        for name in optimizer._numbers:
            self._states[name].vector.fill_(values[name])
        for name in values.keys() - names:
            self._install(name, Parts(values[name], self._shapes, self._sizes), states)
        return True

    def _joined(self, name: str, states: Sequence[dict[str, Any]], is_number: bool) -> Parts | None:
        """Return the parts where a state lies, which is copied there if it lies elsewhere."""
        tensors = [state[name] for state in states]
        parts = self._states.get(name)
        if parts is not None and parts.are(tensors):
            return parts
        first = tensors[0]
        shapes = [first.shape] * len(tensors) if is_number else self._shapes
        for tensor, shape in zip(tensors, shapes, strict=True):
            if _is_shared(tensor):
                return None
            if (tensor.dtype, tensor.device) != (first.dtype, first.device):
                return None
            if tensor.shape != shape or not (
                is_number or tensor.dtype == self._values.vector.dtype
            ):
                return None
        sizes = [1] * len(tensors) if is_number else self._sizes
        vector = aten.empty(sum(sizes), dtype=first.dtype, device=first.device)
        parts = Parts(vector, shapes, sizes)
        copy_each(parts.tensors, tensors)
        self._install(name, parts, states)
        return parts

    def _install(self, name: str, parts: Parts, states: Sequence[dict[str, Any]]) -> None:
        """Let the states of the parameters be the parts."""
        self._states[name] = parts
        for state, part in zip(states, parts.tensors, strict=True):
            state[name] = part
