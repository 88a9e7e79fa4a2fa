"""`trace`: functions and modules as programs of recorded calls, one for each signature."""

from __future__ import annotations

import copy
import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dovetail_aten as aten
from dovetail_aten import Tensor
from dovetail_autograd import no_grad
from dovetail_kernel import TensorBase, get_default_dtype, warn_user

from ..nn import Module
from ..random import fork_rng
from ..testing import assert_close
from .program import Program, Setting
from .recording import TracerWarning, is_tracing, record
from .script_classes import ScriptFunction, ScriptModule
from .values import replaced, signature_of, tensors_of

_MOST_PROGRAMS = 64
"""How many signatures of one function are kept."""


class TracingCheckError(Exception):
    """Raised if tracing a function again gives different calls."""


class TracedFunction(ScriptFunction):
    """A function as programs of recorded calls; created by `trace`.

    Parameters
    ----------
    function
        The recorded function.
    module
        The module of the method, or None.
    """

    def __init__(self, function: Callable[..., object], module: Module | None = None) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._modules: dict[str, Any] = {}
        if module is not None:
            named = module.named_modules(prefix="self")
            self._modules = {path: each for path, each in named}
        self._programs: dict[Any, Program] = {}
        self._last: Program | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Make the recorded calls for other tensors; record for tensors of another signature.

        Within another trace and inside transforms the function itself is called.
        """
        tensors = list(tensors_of((args, kwargs)))
        if is_tracing() or any([not each._backend.is_device for each in tensors]):
            return self._function(*args, **kwargs)
        key = self._signature(args, kwargs, tensors)
        program = self._programs.get(key)
        if program is None:
            result, program = record(self._function, self._modules, args, kwargs)
            self._keep(key, program)
            return result
        self._last = program
        return program.run(args, kwargs)

    def _keep(self, key: object, program: Program) -> None:
        if len(self._programs) >= _MOST_PROGRAMS:
            del self._programs[next(iter(self._programs))]
        self._programs[key] = self._last = program

    def _signature(
        self, args: tuple[object, ...], kwargs: Mapping[str, object], tensors: Sequence[TensorBase]
    ) -> Any:
        """Return all that a program depends on."""
        modules = self._modules.values()
        own = {id(each) for m in modules for each in _tensors_of_its_own(m)}
        shared = [id(each) for each in tensors if id(each) in own]
        held = [
            (each.dtype, each.device, each.requires_grad)
            for m in modules
            for each in _tensors_of_its_own(m)
        ]
        return (
            *(signature_of((args, kwargs), {}), tuple(shared), Setting.now(), tuple(held)),
            *(tuple([each.training for each in modules]), get_default_dtype()),
        )

    @property
    def graph(self) -> str:
        """The calls of the last program, one per line."""
        return self._program().graph()

    @property
    def code(self) -> str:
        """The recorded calls as Python text, for reading."""
        return self._program().code(getattr(self._function, "__name__", "forward"))

    def _program(self) -> Program:
        if self._last is None:
            raise RuntimeError("nothing has been traced yet. Call the function once.")
        return self._last

    def graph_for(self, *args: Any, **kwargs: Any) -> str:
        """Run the program for these arguments, and return its text."""
        self(*args, **kwargs)
        return self.graph


def _tensors_of_its_own(module: Module) -> list[Tensor]:
    tables = (module._parameters, module._buffers)
    return [each for table in tables for each in table.values() if each is not None]


class TopLevelTracedModule(ScriptModule):
    """A module whose methods are programs of recorded calls; created by `trace`.

    It shares the parameters, buffers and submodules of the traced module: training one trains the
    other.
    """

    def __init__(self, module: Module, methods: Sequence[str]) -> None:
        self.__dict__["_traced"] = module
        super().__init__()
        for table in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[table] = getattr(module, table)
        traced = {}
        for name in methods:
            function = module if name == "forward" else getattr(module, name)
            traced[name] = TracedFunction(function, module)
        self.__dict__["_methods"] = traced

    @property
    def training(self) -> bool:
        """The training mode of the traced module."""
        return bool(self._traced.training)

    @training.setter
    def training(self, mode: bool) -> None:
        self._traced.training = mode

    @property
    def original_name(self) -> str:
        """The name of the traced class."""
        return type(self._traced).__name__

    def __getattr__(self, name: str) -> Any:
        methods = self.__dict__.get("_methods", {})
        return methods[name] if name in methods else super().__getattr__(name)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the recorded calls; see `TracedFunction`."""
        return self._methods["forward"](*args, **kwargs)

    @property
    def graph(self) -> str:
        """The calls of the last program of ``forward``."""
        return str(self._methods["forward"].graph)

    @property
    def code(self) -> str:
        """The recorded calls as Python text, for reading."""
        return str(self._methods["forward"].code)

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return the name of the traced class."""
        return f"original_name={self.original_name}"

    def __deepcopy__(self, memo: dict[int, object]) -> Any:
        made = TopLevelTracedModule(copy.deepcopy(self._traced, memo), tuple(self._methods))
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol: object) -> Any:
        return TopLevelTracedModule, (self._traced, tuple(self._methods))


def trace(
    func: Callable[..., object],
    example_inputs: object = None,
    optimize: object = None,
    check_trace: bool = True,
    check_inputs: object = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: object = None,
    _compilation_unit: object = None,
    example_kwarg_inputs: Mapping[str, object] | None = None,
    _store_inputs: bool = True,
) -> Any:
    """Record the operators that a function or module calls for example inputs; return a callable
    program.

    Calling the result replays these calls, with gradients, random numbers and writes to buffers as
    in the original, and with the module's current parameters. A program belongs to one signature
    (shapes, strides, dtypes, devices, `requires_grad`, training and grad mode); for another
    signature, the function is recorded again. Python values computed from tensors (``if x.sum() >
    0``) become constants, with a `TracerWarning`.

    Parameters
    ----------
    func
        A function of tensors, a module, or a bound method of one.
    example_inputs
        A tensor, or a tuple of tensors and of lists, tuples and dicts of them.
    optimize, strict, _force_outplace, _module_class, _compilation_unit, _store_inputs
        Accepted and ignored.
    check_trace : bool, default True
        Whether to trace again and run the program, and compare calls and results.
    check_inputs
        Tuples of other inputs for the comparison of results. Default: the example inputs.
    check_tolerance : float, default 1e-5
        Relative and absolute tolerance of that comparison.
    example_kwarg_inputs
        Inputs by name, instead of `example_inputs`.

    Returns
    -------
    TracedFunction or TopLevelTracedModule
        A module for a module. ``graph`` and ``code`` show the program.

    Raises
    ------
    RuntimeError
        For inputs and results that are not tensors, for a constant that requires grad, and for
        tensors not created by operators.
    NotImplementedError
        For a function that calls ``backward`` or reads ``grad``.
    TracingCheckError
        If tracing again gives different calls.

    Examples
    --------
    ::

        traced = dovetail.jit.trace(model, dovetail.randn(8, 3))
        traced(x).sum().backward()
        print(traced.code)
    """
    kwargs = dict(example_kwarg_inputs or {})
    if example_inputs is None:
        if example_kwarg_inputs is None:
            raise RuntimeError("example_kwarg_inputs should be a dict, or give example_inputs.")
        example_inputs = ()
    args = _as_arguments(example_inputs)
    owner = getattr(func, "__self__", None)
    if isinstance(func, TopLevelTracedModule | TracedFunction):
        return func
    if isinstance(func, Module) or (isinstance(owner, Module) and func.__name__ == "forward"):
        whole: Any = func if isinstance(func, Module) else owner
        made: Any = TopLevelTracedModule(whole, ("forward",))
        traced = made._methods["forward"]
    else:
        module = owner if isinstance(owner, Module) else None
        made = traced = TracedFunction(func, module)
    _first_run(traced, args, kwargs, check_trace, check_inputs, check_tolerance)
    return made


def trace_module(
    mod: Module,
    inputs: Mapping[str, object],
    optimize: object = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: object = None,
    _compilation_unit: object = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Return a module with the recorded calls of several of its methods for example inputs.

    Parameters
    ----------
    mod
        The module.
    inputs
        Example inputs by the name of a method: each a tensor, or a tuple of them.
    optimize, check_trace, check_tolerance, strict, _force_outplace, _module_class
        As for `trace`.
    _compilation_unit, _store_inputs
        Accepted and ignored.
    check_inputs
        A list of dicts like `inputs`. Default: `inputs`.
    example_inputs_is_kwarg : bool, default False
        Whether the inputs of each method are a dict of keyword arguments.

    Raises
    ------
    AttributeError
        If `mod` is not a module, or if `inputs` is not a dict.
    """
    if not isinstance(mod, Module):
        raise AttributeError("expected dovetail.nn.Module as the first argument")
    if not isinstance(inputs, dict):
        raise AttributeError("expected a dictionary of (method_name, input) pairs")
    made = TopLevelTracedModule(mod, tuple(inputs))
    for name, given in inputs.items():
        args, kwargs = ((), dict(given)) if example_inputs_is_kwarg else (_as_arguments(given), {})
        checks = None if check_inputs is None else [each[name] for each in check_inputs]
        _first_run(made._methods[name], args, kwargs, check_trace, checks, check_tolerance)
    return made


def _as_arguments(example_inputs: Any) -> tuple[Any, ...]:
    if isinstance(example_inputs, TensorBase | dict):
        return (example_inputs,)
    return tuple(example_inputs)


def _first_run(
    traced: TracedFunction,
    args: tuple[Any, ...],
    kwargs: dict[str, object],
    check_trace: bool,
    check_inputs: Any,
    tolerance: float,
) -> None:
    """Record a function, and check the program on the same inputs, or on others."""
    tensors = list(tensors_of((args, kwargs)))
    key = traced._signature(args, kwargs, tensors)
    _, program = record(traced._function, traced._modules, args, kwargs)
    traced._keep(key, program)
    if not check_trace:
        return
    for given in [(args, kwargs)] if check_inputs is None else check_inputs:
        inputs = given if check_inputs is None else (_as_arguments(given), {})
        _check(traced, program if check_inputs is None else None, inputs, tolerance)
    traced._last = program


def _check(
    traced: TracedFunction, program: Program | None, inputs: tuple[object, object], tolerance: float
) -> None:
    """Compare the program with a second recording; tensors of the modules stay as they are."""
    held = [t for m in traced._modules.values() for t in (*m._parameters.values(),)]
    held += [t for m in traced._modules.values() for t in m._buffers.values()]
    held = [each for each in held if each is not None]
    kept = [(each, each._version, each.detach().clone()) for each in held]

    @no_grad()
    def restore() -> None:
        for tensor, version, value in kept:
            if tensor._version != version:
                tensor.copy_(value)

    def fresh() -> Any:
        copies: dict[int, Tensor] = {}  # a tensor that is given twice is one again

        def copied(tensor: Tensor) -> Tensor:
            if id(tensor) not in copies:
                copies[id(tensor)] = _copied(tensor)
            return copies[id(tensor)]

        return replaced(inputs, Tensor, copied)

    args, kwargs = fresh()
    with warnings.catch_warnings(), fork_rng():
        warnings.simplefilter("ignore", TracerWarning)
        expected, again = record(traced._function, traced._modules, args, kwargs)
    restore()
    if program is not None and (difference := program.same_calls(again)):
        raise TracingCheckError(
            f"Tracing failed sanity checks!\nERROR: Graphs differed across invocations!\n"
            f"\t{difference}\nWhat decides it is Python, outside of the tensors: make it an "
            "argument, or pass check_trace=False."
        )
    args, kwargs = fresh()
    with fork_rng():
        actual = (program or again).run(args, kwargs)
    restore()
    pairs = zip(tensors_of(actual), tensors_of(expected), strict=True)
    for number, (ours, theirs) in enumerate(pairs, 1):
        try:
            assert_close(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        except AssertionError as error:
            warn_user(
                f"Output nr {number}. of the traced function does not match the corresponding "
                f"output of the Python function. Detailed error:\n{error}",
                TracerWarning,
            )


def _copied(tensor: Tensor) -> Tensor:
    copied: Any = aten.clone(tensor.detach())
    return copied.requires_grad_() if tensor.requires_grad else copied  # type: ignore[no-any-return]
