"""`Program`: the recorded calls of a function, and their replay."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dovetail_aten.autocast import get_autocast_dtype, set_autocast_dtype
from dovetail_dispatcher import overridden_name
from dovetail_kernel import TensorBase, set_state, state

from .values import replaced, tensors_of


class Setting(NamedTuple):
    """State on which calls depend besides their arguments: the dispatcher's state, with grad mode
    and autocast, and the dtypes of autocast.
    """

    state: int
    autocast: tuple[Any, ...]

    @classmethod
    def now(cls) -> Setting:
        """Return the current state."""
        return cls(state(), tuple([get_autocast_dtype(kind) for kind in _KINDS]))

    def enter(self) -> None:
        """Apply the state to this task."""
        set_state(self.state)
        for kind, dtype in zip(_KINDS, self.autocast, strict=True):
            set_autocast_dtype(kind, dtype)


_KINDS = ("cpu", "cuda")


class Place(NamedTuple):
    """Placeholder for a tensor in a recorded argument."""

    name: str

    def __repr__(self) -> str:
        return self.name


class Attribute(NamedTuple):
    """A tensor attribute of a module, which is looked up in each run."""

    owner: Any
    table: str
    key: str

    def get(self) -> Any:
        return getattr(self.owner, self.table)[self.key]

    def set(self, value: object) -> None:
        getattr(self.owner, self.table)[self.key] = value


class Step(NamedTuple):
    """A call.

    Attributes
    ----------
    function
        The called function, as seen by a `TorchFunctionMode`, or the ``apply`` of a Function.
    args, kwargs
        Its arguments, with placeholders for tensors.
    results
        Names of the tensors in its result.
    setting
        The state of the call, if it differs from the initial one (grad mode or autocast).
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[str, ...]
    setting: Setting | None


class Program:
    """The recorded calls of a function for arguments of one signature.

    Parameters
    ----------
    inputs
        Names of the tensors among the arguments, in order.
    attributes
        Tensors of modules, by name.
    constants
        Other tensors from outside, by name.
    steps
        The calls.
    assignments
        Tensors that the function assigned to modules, by the attribute that they replace.
    output
        The result, with placeholders for tensors.
    """

    def __init__(
        self,
        inputs: Sequence[str],
        attributes: dict[str, Attribute],
        constants: dict[str, TensorBase],
        steps: Sequence[Step],
        assignments: Sequence[tuple[Attribute, Place]],
        output: object,
    ) -> None:
        self.inputs = tuple(inputs)
        self.attributes = attributes
        self.constants = constants
        self.steps = tuple(steps)
        self.assignments = tuple(assignments)
        self.output = output
        self._last_uses = self._find_last_uses()

    def _find_last_uses(self) -> list[list[str]]:
        """Return, for each step, the results that nothing needs any more when it is done."""
        needed = {place.name for place in _places((self.output, [p for _, p in self.assignments]))}
        drops: list[list[str]] = []
        for step in reversed(self.steps):
            named = {place.name for place in _places((step.args, step.kwargs))} | set(step.results)
            drops.append(sorted(named - needed))
            needed |= named
        return drops[::-1]

    def run(self, args: tuple[object, ...], kwargs: Mapping[str, object]) -> Any:
        """Replay the calls for other arguments of the same signature, and return the result.

        Raises
        ------
        RuntimeError
            If a call returns a different number of tensors.
        """
        values: dict[str, Any] = dict(
            zip(self.inputs, list(tensors_of((args, kwargs))), strict=False)
        )
        values |= self.constants
        for name, attribute in self.attributes.items():
            values[name] = attribute.get()

        def fill(place: Place) -> Any:
            return values[place.name]

        before = Setting.now()
        for step, drops in zip(self.steps, self._last_uses, strict=True):
            inner_args = replaced(step.args, Place, fill)
            inner_kwargs = replaced(step.kwargs, Place, fill) if step.kwargs else step.kwargs
            if step.setting is None:
                result = step.function(*inner_args, **inner_kwargs)
            else:
                try:
                    step.setting.enter()
                    result = step.function(*inner_args, **inner_kwargs)
                finally:
                    before.enter()
            found = tuple(tensors_of(result))
            if len(found) != len(step.results):
                raise RuntimeError(
                    f"{overridden_name(step.function)} gave {len(found)} tensors in this run and "
                    f"{len(step.results)} while it was traced: how many depends on values. Call "
                    "the function itself."
                )
            values.update(zip(step.results, found, strict=True))
            for name in drops:
                values.pop(name, None)
        for attribute, place in self.assignments:
            attribute.set(values[place.name])
        return replaced(self.output, Place, fill)

    def same_calls(self, other: Program) -> str:
        """Return the first difference between the calls of two programs; empty if there is none."""
        for number, (first, second) in enumerate(zip(self.steps, other.steps, strict=False)):
            if first.function != second.function or repr(_shown(first)) != repr(_shown(second)):
                return f"call {number}: {_line(first)} and {_line(second)}"
        if len(self.steps) != len(other.steps):
            return f"{len(self.steps)} calls and {len(other.steps)}"
        return ""

    def graph(self) -> str:
        """Return the calls, one per line, with arguments and results."""
        names = [*self.inputs, *self.attributes, *self.constants]
        lines = [f"graph({', '.join(['%' + name for name in names])}):"]
        lines += [f"  {_line(step, '%')}" for step in self.steps]
        lines += [f"  {name_of(a)} = %{place.name}" for a, place in self.assignments]
        return "\n".join([*lines, f"  return {_text(self.output, '%')}"]) + "\n"

    def code(self, name: str) -> str:
        """Return the calls as Python text, for reading."""
        lines = [f"def {name}({', '.join(self.inputs)}):"]
        lines += [f"    {_line(step)}" for step in self.steps]
        lines += [f"    {name_of(a)} = {place.name}" for a, place in self.assignments]
        return "\n".join([*lines, f"    return {_text(self.output)}"]) + "\n"


def name_of(attribute: Attribute) -> str:
    """Return a name for the place that a module has for a tensor."""
    return f"{type(attribute.owner).__name__}.{attribute.key}"


def _places(tree: object) -> list[Place]:
    found: list[Place] = []

    def note(place: Place) -> Place:
        found.append(place)
        return place

    replaced(tree, Place, note)
    return found


class _Text(str):
    """A text that is its own representation."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _text(tree: object, mark: str = "") -> str:
    return repr(replaced(tree, Place, lambda place: _Text(mark + place.name)))


def _shown(step: Step) -> tuple[Any, ...]:
    return _text(step.args), _text(step.kwargs), step.results, step.setting


def _line(step: Step, mark: str = "") -> str:
    args = [_text(each, mark) for each in step.args]
    args += [f"{name}={_text(each, mark)}" for name, each in step.kwargs.items()]
    call = f"{_function_name(step.function)}({', '.join(args)})"
    if not step.results:
        return call
    return f"{', '.join([mark + name for name in step.results])} = {call}"


def _function_name(function: Callable[..., object]) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):  # the apply of a Function
        return f"{owner.__name__}.{function.__name__}"
    return overridden_name(function)
