"""`record`: runs a function and records its calls on tensors.

Calls are recorded above autograd, so that a replay records graphs, draws random numbers, and writes
in place like the original.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from dovetail_autograd import applies_are_asked
from dovetail_dispatcher import TorchFunctionMode, overridden_name
from dovetail_kernel import Guard, TensorBase, restoring, warn_user

from .program import Attribute, Place, Program, Setting, Step
from .values import replaced, tensors_of


class TracerWarning(Warning):
    """Warning category of tracing: the value of a tensor became a constant."""


_recorder: ContextVar[Recorder | None] = ContextVar("dovetail_recorder", default=None)

_KINDS = {
    "__bool__": "Python boolean",
    "__float__": "Python float",
    "__index__": "Python index",
    "__int__": "Python integer",
    "item": "Python number",
    "numpy": "NumPy array",
    "__array__": "NumPy array",
    "tolist": "Python list",
}
"""What methods make of a tensor."""

_FACTS = frozenset(
    {
        *("dim", "ndimension", "size", "numel", "nelement", "stride", "element_size", "__len__"),
        *("is_contiguous", "is_complex", "is_floating_point", "is_signed", "is_inference"),
        *("get_device", "storage_offset", "is_same_size", "type", "result_type", "can_cast"),
        *("is_shared", "is_pinned", "sparse_dim", "dense_dim", "dim_order", "_is_view", "__repr__"),
        *("__format__", "is_conj", "is_neg", "is_distributed", "promote_types"),
    }
)
"""Functions whose results follow from the signature of the arguments."""

_MEMORY = frozenset(
    {"storage", "untyped_storage", "data_ptr", "__dlpack__", "__cuda_array_interface__"}
)
"""Methods that hand out the memory of a tensor, where no call is seen."""


def is_tracing() -> bool:
    """Return whether `trace` is recording."""
    return _recorder.get() is not None


def current_recorder() -> Recorder | None:
    """Return the active recorder of `trace`, or None."""
    return _recorder.get()


class Recorder(TorchFunctionMode):
    """Notes every call that it is asked about.

    Parameters
    ----------
    attributes
        Tensors that modules hold, by name.
    inputs
        The tensors among the arguments.
    """

    def __init__(self, attributes: dict[str, Attribute], inputs: list[TensorBase]) -> None:
        self.entry = Setting.now()
        self.attributes = attributes
        self.used: dict[str, Attribute] = {}
        self.constants: dict[str, TensorBase] = {}
        self.steps: list[Step] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no tensor gets the identity of another
        # The collector does not name what gc.freeze() set apart, then as little as later.
        self._known = {id(each): each for each in gc.get_objects() if _is_tensor(each)}
        self._objects = {name: each.get() for name, each in attributes.items()}
        self._held = {id(each): name for name, each in self._objects.items()}
        self.inputs = [self._name(each, "input") for each in inputs]

    def _name(self, tensor: TensorBase, prefix: str) -> str:
        if id(tensor) not in self._names:
            self._names[id(tensor)] = f"{prefix}_{len(self._names)}"
            self._kept.append(tensor)
        return self._names[id(tensor)]

    def place(self, tensor: TensorBase) -> Place:
        """Return what stands for a tensor that a call is given.

        Raises
        ------
        RuntimeError
            If it was made by something that was not seen, or is a constant that requires grad.
        """
        key = id(tensor)
        if key in self._names:
            return Place(self._names[key])
        if key in self._held:
            name = self._names[key] = self._held[key]
            self.used[name] = self.attributes[name]
            return Place(name)
        if key not in self._known and any([each is tensor for each in gc.get_objects()]):
            raise RuntimeError(
                f"jit.trace: a tensor of shape {list(tensor.shape)} was made during the trace by "
                "something that is not an operator, so that it would stay a constant. Make it by "
                "functions of dovetail, or by an autograd.Function; transforms such as vmap are "
                "applied to the traced function."
            )
        if tensor.requires_grad:
            raise RuntimeError(
                "Cannot insert a Tensor that requires grad as a constant. Consider making it a "
                "parameter or input, or detaching the gradient. To trace what holds it, give the "
                "module to jit.trace."
            )
        name = self._name(tensor, "constant")
        self.constants[name] = tensor
        return Place(name)

    def is_new(self, name: str, tensor: TensorBase) -> bool:
        """Return whether a module has another tensor of this name than at the beginning."""
        return self._objects.get(name) is not tensor

    def __torch_function__(
        self, func: Any, types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Make the call, and note it unless it only asks for something."""
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        owner = getattr(func, "__self__", None)
        if name == "backward" or (
            isinstance(owner, property) and getattr(owner.fget, "__name__", "") in ("grad", "_grad")
        ):
            raise NotImplementedError(
                f"jit.trace: {overridden_name(func)} within a traced function is not recorded. Use "
                "autograd.grad, or call backward on what the traced function returns."
            )
        given = tuple(args), dict(kwargs)
        templates = replaced(given, TensorBase, self.place)
        before = Setting.now()
        asked = applies_are_asked.get()
        try:
            applies_are_asked.set(False)
            result = func(*args, **kwargs)
        finally:
            applies_are_asked.set(asked)
        found = list(tensors_of(result))
        if not found and not self._is_effect(name, result):
            return result
        names = tuple([self._result(each) for each in found])
        elsewhere = before if before != self.entry else None
        self.steps.append(Step(func, templates[0], templates[1], names, elsewhere))
        return result

    def _result(self, tensor: TensorBase) -> str:
        if id(tensor) in self._held:
            return self.place(tensor).name
        return self._name(tensor, "value")

    def _is_effect(self, name: str, result: object) -> bool:
        """Return whether a call without tensors in its result is to be made again; warn if a value
        of a tensor becomes a constant by it.
        """
        if name in ("__get__", *_FACTS):
            return False
        if name in _MEMORY:
            _warn("its memory")
            return False
        if result is None:
            return True
        if name in _KINDS or _is_plain(result):
            _warn(f"a {_KINDS.get(name, 'Python value')}")
            return False
        return True


def _is_plain(result: object) -> bool:
    if isinstance(result, list | tuple):
        return all([_is_plain(each) for each in result])
    return isinstance(result, bool | int | float | complex | str) or hasattr(result, "__array__")


def _is_tensor(value: object) -> bool:
    return issubclass(type(value), TensorBase)


def _warn(what: str) -> None:
    warn_user(
        f"Converting a tensor to {what} might cause the trace to be incorrect. We can't record the "
        "data flow of Python values, so this value will be treated as a constant in the future. "
        "This means that the trace might not generalize to other inputs!",
        TracerWarning,
    )


@restoring(*Guard.variables, _recorder, applies_are_asked)
def record(
    function: Callable[..., object],
    modules: Mapping[str, object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> tuple[Any, Program]:
    """Run a function; return its result and the program of its calls.

    Parameters
    ----------
    modules
        Modules whose tensors are attributes, by their names in the text of the program.
    """
    before = _attributes(modules)
    recorder = Recorder(before, list(tensors_of((args, kwargs))))
    outer, asked = _recorder.get(), applies_are_asked.get()
    try:
        _recorder.set(recorder)
        applies_are_asked.set(True)
        result = recorder.around(function, *args, **kwargs)
    finally:
        _recorder.set(outer)
        applies_are_asked.set(asked)
    assignments = []
    for name, attribute in _attributes(modules).items():
        tensor = attribute.get()
        if recorder.is_new(name, tensor):
            assignments.append((attribute, recorder.place(tensor)))
    _check_result(result)
    output = replaced(result, TensorBase, recorder.place)
    return result, Program(
        recorder.inputs, recorder.used, recorder.constants, recorder.steps, assignments, output
    )


def _attributes(modules: Mapping[str, object]) -> dict[str, Attribute]:
    found = {}
    for path, module in modules.items():
        for table in ("_parameters", "_buffers", "__dict__"):
            for key, value in getattr(module, table).items():
                if isinstance(value, TensorBase):
                    found[f"{path}.{key}"] = Attribute(module, table, key)
    return found


def _check_result(result: Any) -> None:
    """Raise an error for anything except a tensor or a list, tuple or dict of tensors."""
    items = result.values() if isinstance(result, dict) else result
    if isinstance(result, list | tuple | dict):
        for each in items:
            _check_result(each)
    elif not isinstance(result, TensorBase) and result is not None:
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from "
            f"traced functions, but got {type(result).__name__}."
        )
