"""Runs of a program under a configuration: in this process, or in a separate process."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Final, NamedTuple, Protocol, Self, TypeVar

import numpy as np

import dovetail_autograd
from dovetail_aten import Tensor, from_numpy, manual_seed
from dovetail_autograd import set_grad_enabled
from dovetail_autograd.transforms import pytree
from dovetail_dispatcher import _C, Trace
from dovetail_kernel import Device, restoring

from ...nn import Module
from ...random import fork_rng
from ..explanation import explain
from .recording import RecordedSpan, ValueObserver, copied, recorded_spans, values_in
from .settings import Settings, device_of, in_force, placed
from .values import Value, copied_array

T = TypeVar("T")

_SEED: Final = 0


class Outcome(NamedTuple):
    """The outcome of a run.

    Attributes
    ----------
    spans
        Its calls and nodes; empty for a run without a trace.
    results
        The tensors that the program returned, then the gradients of its arguments.
    error
        Type and text of the exception that ended it; None if none did.
    """

    spans: list[RecordedSpan]
    results: list[Value]
    error: str | None


class Repeated(NamedTuple):
    """What a single call gave.

    Attributes
    ----------
    results
        The tensors that it returned or wrote.
    kernels
        ``key: kernel at file:line``, with the conditions that were asked.
    error
        Type and text of the exception that ended it; None if none did.
    """

    results: list[Value]
    kernels: tuple[str, ...]
    error: str | None


class Runner(Protocol):
    """Runs a program, and single calls of it, under one configuration."""

    can_repeat: bool = True
    """Whether calls can be made again."""

    def run(self, program: object, *, traced: bool, backward: bool) -> Outcome:
        """Run a program, which consists of a function, arguments and keyword arguments."""

    def repeat(self, name: str, arguments: Sequence[object], records: bool) -> Repeated:
        """Call an operator with recorded arguments: see `repeat`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None


class _Saved(Runner):
    """Returns a run that was saved."""

    can_repeat = False

    def __init__(self, spans: list[RecordedSpan]) -> None:
        self._spans = spans

    def run(self, program: object, *, traced: bool, backward: bool) -> Outcome:
        return Outcome(self._spans, [], None)

    def repeat(self, name: str, arguments: Sequence[object], records: bool) -> Repeated:
        raise NotImplementedError(f"{name} cannot be called again in a saved run")


class _Here(Runner):
    """Runs in this process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def run(self, program: object, *, traced: bool, backward: bool) -> Outcome:
        return run(self.settings, program, traced=traced, backward=backward)

    def repeat(self, name: str, arguments: Sequence[object], records: bool) -> Repeated:
        return repeat(self.settings, name, arguments, records)


class _Elsewhere(Runner):
    """Runs in a process of its own, with or without compiled code."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._pool = ProcessPoolExecutor(1, get_context("spawn"))
        variable, before = "DOVETAIL_NATIVE", os.environ.get("DOVETAIL_NATIVE")
        os.environ[variable] = "1" if settings.native else "0"
        try:
            self._made(int)  # starts the process, which reads the variable
        finally:
            if before is None:
                del os.environ[variable]
            else:
                os.environ[variable] = before

    def run(self, program: object, *, traced: bool, backward: bool) -> Outcome:
        try:
            packed = pickle.dumps(program)
        except (pickle.PicklingError, AttributeError, TypeError, RuntimeError) as error:
            raise TypeError(
                "compare_runs(): a run with the setting 'native' has a process of its own, and the "
                f"program cannot be sent there ({error}). Pass a function of a module, not a "
                "lambda, an inner function or an operator, and arguments that can be pickled."
            ) from None
        return self._made(_run_packed, self.settings, packed, traced, backward)

    def repeat(self, name: str, arguments: Sequence[object], records: bool) -> Repeated:
        return self._made(repeat, self.settings, name, arguments, records)

    def _made(self, function: Callable[..., T], *args: Any) -> T:
        """Return ``function(*args)``, called in the process."""
        try:
            return self._pool.submit(function, *args).result()
        except BrokenProcessPool as error:
            raise RuntimeError(
                "compare_runs(): the process of a run with the setting 'native' ended before its "
                "result was there; what it wrote to stderr says why. It imports the program first: "
                "in a script, call compare_runs below 'if __name__ == \"__main__\":'."
            ) from error

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)


def runner_of(settings: Settings | list[RecordedSpan]) -> Runner:
    """Return the runner for a configuration or a saved run."""
    if isinstance(settings, list):
        return _Saved(settings)
    return _Here(settings) if settings.native is None else _Elsewhere(settings)


def _run_packed(settings: Settings, packed: bytes, traced: bool, backward: bool) -> Outcome:
    return run(settings, pickle.loads(packed), traced=traced, backward=backward)


# -- running ---------------------------------------------------------------------------------------


@restoring(*Trace.variables)
def run(settings: Settings, program: object, *, traced: bool, backward: bool) -> Outcome:
    """Run a copy of a program under a configuration, from one seed.

    Parameters
    ----------
    backward
        Differentiate the results that require grad, unless the program runs backward itself.
    """
    observer = ValueObserver()
    trace = Trace(observer)
    error = None
    returned: Any = None
    with in_force(settings), _seeded(device_of(settings)):
        function, args, kwargs = placed(program, settings)
        leaves = _leaves((function, args, kwargs))
        try:
            if traced:
                with trace:
                    returned = _call(function, args, kwargs, backward, lambda: _has_nodes(trace))
            else:
                graded = [each.grad for each in leaves]
                returned = _call(
                    function, args, kwargs, backward,
                    lambda: any([a.grad is not b for a, b in zip(leaves, graded, strict=True)]),
                )  # fmt: skip
        except Exception as caught:
            error = f"{type(caught).__name__}: {caught}"
        grads = [each.grad for each in leaves if each.grad is not None]
        results = list(values_in(copied((pytree.flatten(returned)[0], grads))))
    return Outcome(recorded_spans(trace, observer), results, error)


def _call(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, object],
    backward: bool,
    has_run_backward: Callable[[], bool],
) -> Any:
    returned = function(*args, **kwargs)
    if backward and not has_run_backward():
        roots = [
            each
            for each in pytree.flatten(returned)[0]
            if isinstance(each, Tensor) and each.requires_grad and each.grad_fn is not None
        ]
        if roots:
            dovetail_autograd.backward(roots, [_cotangent(each) for each in roots])
    return returned


def _has_nodes(trace: Trace) -> bool:
    return any([span.kind == "node" for span in trace.spans])


def _cotangent(root: Tensor) -> Tensor:
    """Return a gradient with other values at every element, so that errors do not cancel."""
    values = np.cos(np.arange(root.numel(), dtype=np.float64)).reshape(tuple(root.shape))
    made: Tensor = from_numpy(values).to(device=root.device, dtype=root.dtype)
    return made


def _leaves(program: Any) -> list[Tensor]:
    """Return the tensors of a program whose gradients a run may compute."""
    found: dict[int, Tensor] = {}
    function, args, kwargs = program
    owner = getattr(function, "__self__", None)
    for leaf in pytree.flatten((function, owner, args, kwargs))[0]:
        tensors = leaf.parameters() if isinstance(leaf, Module) else [leaf]
        for each in tensors:
            if isinstance(each, Tensor) and each.requires_grad and each.is_leaf:
                found[id(each)] = each
    return list(found.values())


@restoring()
def repeat(settings: Settings, name: str, arguments: Sequence[object], records: bool) -> Repeated:
    """Call an operator under a configuration.

    Parameters
    ----------
    arguments
        All arguments in the order of the schema, with recorded values for tensors.
    records
        Whether the call records a graph.
    """
    base, _, overload = name.partition(".")
    op = _C._dispatch_find_schema_or_throw(base, "" if overload == "default" else overload)
    with in_force(settings), _seeded(device_of(settings)), set_grad_enabled(records):
        made = [_as_argument(each, records, op._schema.is_mutable) for each in arguments]
        pairs = list(zip(op._schema.arguments, made, strict=True))
        positional = [value for argument, value in pairs if not argument.kwarg_only]
        named = {argument.name: value for argument, value in pairs if argument.kwarg_only}
        kernels: tuple[str, ...] = ()
        try:
            explained = explain(op, *positional, **named)
            kernels = tuple([_step_text(each) for each in explained.chain])
            returned = op(*positional, **named)
        except Exception as caught:
            return Repeated([], kernels, f"{type(caught).__name__}: {caught}")
        written = made if op._schema.is_mutable else ()
        return Repeated(list(values_in(copied((returned, written)))), kernels, None)


def _step_text(step: Any) -> str:
    condition = f" (condition {step.condition!r}: {step.taken})" if step.condition else ""
    return f"{step.key}: {step.kernel} at {step.source}{condition}"


def _as_argument(value: object, records: bool, mutable: bool) -> Any:
    if isinstance(value, Value):
        assert value.array is not None
        tensor: Tensor = from_numpy(copied_array(value.array)).to(value.device)
        if records and value.requires_grad:
            tensor.requires_grad_()
            return tensor.clone() if mutable else tensor  # no operator writes to such a leaf
        return tensor
    if isinstance(value, list | tuple):
        return type(value)([_as_argument(each, records, mutable) for each in value])
    return value


@contextmanager
def _seeded(device: Device) -> Iterator[None]:
    with fork_rng(device_type=device.type):
        manual_seed(_SEED)
        yield
