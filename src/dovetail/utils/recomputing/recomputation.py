"""The saved tensors of one checkpointed call: indices in the graph, recomputed when backward needs
them.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from typing import Any, Final
from weakref import ref

from dovetail_aten import Tensor
from dovetail_autograd import current_graph_task_id, default_engine, enable_grad
from dovetail_kernel import Guard, restoring

from ...autograd.graph import saved_tensors_hooks

_HINT: Final = (
    "The function has to do the same both times: look for what depends on global state, the mode "
    "of a module, or "
    "random numbers of its own. checkpoint(..., debug=True) names the places where tensors were "
    "saved."
)


class CheckpointError(RuntimeError):
    """Raised if the second call of a checkpointed function saves other tensors than the first."""


class _Stop(BaseException):
    """All that backward needs is there. Not an Exception, which the function might catch."""


class _Number:
    """Stands in a node of the graph for a saved tensor."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: int) -> None:
        self.value = value


class Frame:
    """One checkpointed call.

    Parameters
    ----------
    again
        Function that repeats the call.
    early_stop
        Whether the second call stops when the last tensor is saved.
    compares
        Whether to compare shape, dtype and device.
    debug
        Whether to record the source lines at which tensors are saved.
    """

    def __init__(
        self, again: Callable[[], None], early_stop: bool, compares: bool, debug: bool
    ) -> None:
        self._again = again
        self._early_stop = early_stop
        self._compares = compares
        self._debug = debug
        self._is_complete = False
        self._numbers: list[ref[_Number]] = []
        self._metadata: list[dict[str, Any]] = []
        self._places: list[str] = []
        # Per backward under way, what was computed again and not yet used.
        self._found: dict[int, dict[int, Tensor]] = {}

    @restoring(*saved_tensors_hooks.variables)
    def record(self, function: Callable[[], object]) -> Any:
        """Return ``function()``: the first call."""
        with saved_tensors_hooks(self._pack, self._unpack):
            result = function()
        self._is_complete = True
        return result

    def _pack(self, tensor: Tensor) -> _Number:
        number = _Number(len(self._numbers))
        self._numbers.append(ref(number))
        self._metadata.append(_metadata(tensor))
        if self._debug:
            self._places.append(_place())
        return number

    def _unpack(self, number: _Number) -> Tensor:
        task = current_graph_task_id()
        found = self._found.get(task)
        if found is None or number.value not in found:
            if task < 0:  # a node is looked at outside of any backward
                return self._computed()[number.value]
            if found is None:
                default_engine.queue_callback(lambda: self._found.pop(task, None))
            found = self._found[task] = self._computed()
        return found.pop(number.value)

    @restoring(*Guard.variables, *saved_tensors_hooks.variables)
    def _computed(self) -> dict[int, Tensor]:
        """Make the call again and return the saved tensors whose numbers are still in use."""
        found: dict[int, Tensor] = {}
        metadata: list[dict[str, Any]] = []
        places: list[str] = []
        expected = len(self._numbers)

        def pack(tensor: Tensor) -> Tensor:
            index = len(metadata)
            metadata.append(_metadata(tensor))
            if self._debug:
                places.append(_place())
            plain = tensor.detach() if tensor.requires_grad else tensor
            if index < expected and self._numbers[index]() is not None:
                found[index] = plain
            if self._early_stop and self._is_complete and index == expected - 1:
                raise _Stop
            return plain

        try:
            with saved_tensors_hooks(pack, lambda tensor: tensor), enable_grad():
                self._again()
        except _Stop:
            pass
        if self._is_complete:
            self._compare(metadata, places)
        return found

    def _compare(self, metadata: list[dict[str, object]], places: list[str]) -> None:
        if len(metadata) > len(self._metadata):
            raise CheckpointError(
                "dovetail.utils.checkpoint: trying to save more tensors during recomputation than "
                "during the original "
                f"forward pass: {len(metadata)} instead of {len(self._metadata)}. "
                f"{_HINT}{self._where(places)}"
            )
        if len(metadata) < len(self._metadata):
            raise CheckpointError(
                "dovetail.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self._metadata)}\n"
                "Number of tensors saved during recomputation: "
                f"{len(metadata)}.\n{_HINT}{self._where(places)}"
            )
        if not self._compares:
            return
        different = [
            f"tensor at position {index}:\nsaved metadata: {first}\nrecomputed metadata: {second}"
            for index, (first, second) in enumerate(zip(self._metadata, metadata, strict=True))
            if first != second
        ]
        if different:
            listed = "\n".join(different)
            raise CheckpointError(
                "dovetail.utils.checkpoint: Recomputed values for the following tensors have "
                "different metadata than "
                f"during the forward pass.\n{listed}\n{_HINT}{self._where(places)}"
            )

    def _where(self, places: list[str]) -> str:
        if not self._debug:
            return ""
        first, second = "\n  ".join(self._places), "\n  ".join(places)
        return f"\nSaved in the first call:\n  {first}\nSaved in the second call:\n  {second}"


def _metadata(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def _place() -> str:
    """Return the innermost line that is not Dovetail's own."""
    frame: Any = _getframe(1)
    while frame is not None and _is_own(frame):
        frame = frame.f_back
    return "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_own(frame: Any) -> bool:
    module: str = frame.f_globals.get("__name__") or ""
    return module.startswith("dovetail") or str(frame.f_code.co_filename).startswith("<")
