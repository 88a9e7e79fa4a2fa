"""`TorchFunctionMode`: a context in which calls of functions, methods and properties go through a
handler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dovetail_kernel.keys import STATE

from .intercepted_functions import hold_functions, release_functions
from .mode_stacks import Mode, function_modes


class TorchFunctionMode(Mode):
    """Subclass it, override ``__torch_function__``, and enter an instance: ``with MyMode():``.

    The innermost mode is asked first. While its handler runs it is not active, so calling ``func``
    there goes to the next mode out, then to the overriding arguments, then to the function itself.
    Modes belong to the task that entered them.

    Notes
    -----
    Seen are the operators' functions and methods, properties and other methods of tensors,
    factories, ``ops.*``, those of ``nn.functional``, and functions that call
    `handle_torch_function`; not, for their own sake, other Python functions made of these. A
    function and the method of the same name are one object here: ``Tensor.add is dovetail.add``. A
    call of a packet of overloads, ``ops.aten.add``, is seen as that of the overload which it
    chooses.
    """

    variables = (STATE, function_modes.variable)
    _stack = function_modes

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Return the result of the call ``func(*args, **kwargs)``, or NotImplemented.

        Parameters
        ----------
        func
            What was called: ``dovetail.add``, ``Tensor.shape.__get__``, ``ops.aten.add.Tensor``.
        types
            The classes of the overriding arguments, in the order in which they are asked.
        args, kwargs
            The arguments, without those at the end that equal their default.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} must override __torch_function__(func, types, args, kwargs)"
        )

    def save(self) -> Any:
        """Return the active modes, and the handle of the interception."""
        return super().save(), object()

    def change(self) -> Any:
        """Enable the check for modes, and push this mode."""
        _, holder = self._saved[0]  # type: ignore[index]
        hold_functions(holder)
        return super().change()

    def restore(self, saved: Any) -> None:
        """Restore the previous modes."""
        modes, holder = saved
        super().restore(modes)
        release_functions(holder)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> Any:
        """Call `func`."""
        return func(*args, **(kwargs or {}))
