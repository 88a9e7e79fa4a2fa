"""Checkpointing, as in ``torch.utils.checkpoint``: forward saves little, and backward recomputes
the rest.

A non-reentrant checkpoint replaces the saved tensors of the function by indices. When backward
needs the first of them, the function runs again until the last of them is saved. A reentrant
checkpoint runs the function without a graph; its node in the graph runs the function again and then
a nested backward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_aten.autocast import autocast
from dovetail_autograd import (
    Function,
    active_levels,
    backward,
    default_engine,
    enable_grad,
    is_grad_enabled,
    no_grad,
)
from dovetail_dispatcher import TorchDispatchMode
from dovetail_kernel import DecoratingGuard, publish, restoring, warn_user

from ..nn.modules.container import Sequential
from .recomputing.recomputation import CheckpointError, Frame
from .recomputing.selective_checkpoints import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    create_selective_checkpoint_contexts,
)
from .recomputing.states_of_calls import (
    AutocastStates,
    RngStates,
    get_device_states,
    set_device_states,
)

__all__ = [
    "SAC_IGNORED_OPS",
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]

_early_stop: ContextVar[bool | None] = ContextVar("dovetail_checkpoint_early_stop", default=None)
_debug: ContextVar[bool | None] = ContextVar("dovetail_checkpoint_debug", default=None)


def noop_context_fn() -> Contexts:
    """Return two contexts that do nothing: the default of `context_fn`."""
    return nullcontext(), nullcontext()


@restoring(*TorchDispatchMode.variables)
def checkpoint(
    function: Callable[..., object],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Return ``function(*args, **kwargs)`` without saving tensors for backward, which recomputes
    them.

    A non-reentrant checkpoint inside a transform of `dovetail.func` or a `dual_level` saves
    everything and recomputes nothing, because the tensors of a second call would not survive the
    transform.

    Parameters
    ----------
    function
        Function to call. Both calls must compute the same.
    args, kwargs
        Its arguments; keyword arguments require ``use_reentrant=False``.
    use_reentrant
        True: backward runs the function again with a graph, and a nested backward. Only tensors in
        `args` and parameters then get gradients, and only from ``backward()`` without ``inputs``.
        False: the graph is the same as for a plain call. Default: True, with a warning.
    context_fn
        Returns the context managers for the first and the second call. Requires
        ``use_reentrant=False``.
    determinism_check
        ``'default'`` compares shape, dtype and device of the recomputed tensors; ``'none'`` does
        not.
    debug
        Include in errors the source lines at which tensors were saved. Requires
        ``use_reentrant=False``.
    early_stop
        Stop the second call as soon as all saved tensors are recomputed.
    preserve_rng_state
        Restore the random state of the first call for the second, on cpu and the devices of `args`.

    Raises
    ------
    ValueError
        For keyword arguments or contexts with ``use_reentrant=True``, or another
        `determinism_check`.
    CheckpointError
        In backward, if the second call saves other tensors than the first.
    RuntimeError
        In backward with ``use_reentrant=True``, if it was called with ``inputs``, or if no output
        requires grad.
    """
    if use_reentrant is None:
        warn_user(
            "dovetail.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "use_reentrant=False "
            "is recommended, but if you need to preserve the current default behavior, you can "
            "pass "
            "use_reentrant=True."
        )
        use_reentrant = True
    if use_reentrant:
        if kwargs:
            raise ValueError(
                f"Unexpected keyword arguments: {', '.join(kwargs)}. Pass use_reentrant=False, "
                "which takes them."
            )
        if context_fn is not noop_context_fn or debug:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    first, second = context_fn()
    if not is_grad_enabled() or active_levels():
        with first:
            return function(*args, **kwargs)
    stop, verbose = _early_stop.get(), _debug.get()
    states = RngStates(args) if preserve_rng_state else None
    autocasts = AutocastStates(args)
    kept = _KeptArguments(args)

    @restoring(*TorchDispatchMode.variables, *autocast.variables)
    def again() -> None:
        with nullcontext() if states is None else states.restored(), autocasts.restored(), second:
            function(*kept.open(), **kwargs)

    frame = Frame(
        again,
        early_stop=early_stop if stop is None else stop,
        compares=determinism_check == "default",
        debug=debug if verbose is None else verbose,
    )
    with first:
        return frame.record(partial(function, *args, **kwargs))


def checkpoint_sequential(
    functions: Sequential | Sequence[Callable[..., object]],
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    *,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """Apply `functions` to `input` in order. They are split into `segments` equal parts, and all
    but the last part are checkpointed.

    Parameters
    ----------
    functions
        Modules or functions of one argument, or a Sequential of them.
    segments
        Number of parts: 1 up to the number of functions.
    input
        Input of the first function.
    use_reentrant, preserve_rng_state
        As for `checkpoint`.

    Raises
    ------
    ValueError
        For other keyword arguments, or a number of segments out of range.
    """
    if use_reentrant is None:
        warn_user(
            "dovetail.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should "
            "be passed "
            "explicitly. use_reentrant=False is recommended, but if you need to preserve the "
            "current default "
            "behavior, you can pass use_reentrant=True."
        )
        use_reentrant = True
    if kwargs:
        raise ValueError(
            f"Unexpected keyword arguments: {', '.join(kwargs)}. Bind them to the functions."
        )
    steps: list[Callable[..., Any]] = list(
        functions.children() if isinstance(functions, Sequential) else functions
    )
    if not 1 <= segments <= len(steps):
        raise ValueError(
            f"segments must be 1 to {len(steps)}, the number of functions, but got {segments}"
        )
    size = len(steps) // segments
    for start in range(0, size * (segments - 1), size):
        part = _in_turn(steps[start : start + size])
        input = checkpoint(
            part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return _in_turn(steps[size * (segments - 1) :])(input)


def _in_turn(steps: Sequence[Callable[..., object]]) -> Callable[[Any], Any]:
    def run(value: object) -> Any:
        for step in steps:
            value = step(value)
        return value

    return run


class set_checkpoint_early_stop(DecoratingGuard):
    """Context manager that overrides `early_stop` of the checkpoints inside."""

    variables = (_early_stop,)

    def __init__(self, enable: bool) -> None:
        self._wanted = enable

    def change(self) -> None:
        """Say so."""
        _early_stop.set(self._wanted)


class set_checkpoint_debug_enabled(DecoratingGuard):
    """Context manager that sets debug mode for the checkpoints inside; None uses their
    arguments.
    """

    variables = (_debug,)

    def __init__(self, enabled: bool | None) -> None:
        self._wanted = enabled

    def change(self) -> None:
        """Say so."""
        _debug.set(self._wanted)


class _KeptArguments:
    """The arguments of a checkpoint: tensors are saved in the graph, and so packed by a checkpoint
    around this one.
    """

    def __init__(self, args: Sequence[object]) -> None:
        self._places = [index for index, value in enumerate(args) if isinstance(value, Tensor)]
        self._args = [None if isinstance(value, Tensor) else value for value in args]
        tensors = [args[index] for index in self._places]
        # It is a node if something requires grad.
        self._node = _Keep.apply(aten.empty(0).requires_grad_(), *tensors).grad_fn

    def open(self) -> list[Any]:
        args = list(self._args)
        for index, tensor in zip(self._places, self._node.saved_tensors, strict=True):
            args[index] = tensor
        return args


class _Keep(Function):
    """Saves tensors."""

    @staticmethod
    def forward(ctx: Any, dummy: Tensor, *tensors: Tensor) -> Tensor:
        ctx.save_for_backward(*tensors)
        return aten.empty(0)

    @staticmethod
    def backward(ctx: object, *grads: Any) -> Any:
        raise AssertionError("the output of a node that only keeps tensors has no gradient")


class CheckpointFunction(Function):
    """A reentrant checkpoint: ``apply(function, preserve_rng_state, *args)``."""

    @staticmethod
    @restoring()
    def forward(
        ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any
    ) -> Any:
        check_backward_validity(args)
        ctx.run_function = function
        ctx.states = RngStates(args) if preserve_rng_state else None
        ctx.autocasts = AutocastStates(args)
        ctx.places = [index for index, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.args = [None if isinstance(value, Tensor) else value for value in args]
        ctx.save_for_backward(*[args[index] for index in ctx.places])
        with no_grad():
            return function(*args)

    @staticmethod
    @restoring(*autocast.variables)
    def backward(ctx: Any, *grads: Any) -> Any:
        if not default_engine.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, dovetail.utils.checkpoint is incompatible with .grad() "
                "or passing an "
                "`inputs` parameter to .backward(). To resolve this error, you can either set "
                "use_reentrant=False, or "
                "call .backward() without passing the `inputs` argument."
            )
        args = list(ctx.args)
        detached = detach_variable(tuple(ctx.saved_tensors))
        for index, tensor in zip(ctx.places, detached, strict=True):
            args[index] = tensor
        states = nullcontext() if ctx.states is None else ctx.states.restored()
        with states, ctx.autocasts.restored(), enable_grad():
            outputs = ctx.run_function(*args)
        pairs = [
            (output, grad)
            for output, grad in zip(
                outputs if isinstance(outputs, tuple) else (outputs,), grads, strict=True
            )
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return None, None, *[value.grad if isinstance(value, Tensor) else None for value in args]


def check_backward_validity(inputs: Sequence[object]) -> None:
    """Warn if no tensor in `inputs` requires grad: backward would compute nothing."""
    if not any([isinstance(value, Tensor) and value.requires_grad for value in inputs]):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: tuple[object, ...]) -> tuple[Any, ...]:
    """Return the arguments with their tensors detached; `requires_grad` is preserved.

    Raises
    ------
    RuntimeError
        If `inputs` is not a tuple.
    """
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value
        for value in inputs
    )


publish(__name__)
