"""Wrapper subclasses that say their own sizes and strides, and copies, files, texts and steps of
instances of subclasses, do the same on PyTorch and on Dovetail.
"""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest
from same_programs import Programs, assert_same

import dovetail

programs = Programs()


def wrapper(lib: Any, answers: dict[str, Any], policy: str | None, log: list[str]) -> Any:
    """Return a wrapper of zeros (2, 3) that answers operators by name, and runs others on these."""

    class Asked(lib.Tensor):  # type: ignore[misc,name-defined]
        @staticmethod
        def __new__(cls: Any) -> Any:
            return lib.Tensor._make_wrapper_subclass(
                cls, (2, 3), dispatch_sizes_strides_policy=policy
            )

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(func.__name__)
            name = func.__name__.partition(".")[0]
            return answers[name] if name in answers else func(lib.zeros(2, 3), *args[1:])

    return Asked()


@programs("a policy asks for the sizes, or for the strides alone")
def _(lib: Any) -> Any:
    found: list[Any] = []
    answers = {"sym_size": (4, 5), "sym_stride": (7, 1), "sym_numel": 20, "dim": 2}
    for policy in (None, "strides", "sizes"):
        x = wrapper(lib, answers, policy, [])
        found.append((tuple(x.size()), tuple(x.shape), x.size(1), x.stride(), x.stride(0)))
        found.append((x.numel(), x.nelement(), len(x)))
    return found


@programs("None stands for what the wrapper was made with")
def _(lib: Any) -> Any:
    x = wrapper(lib, {"sym_size": None, "sym_stride": None, "sym_numel": None}, "sizes", [])
    return tuple(x.size()), x.stride(), x.numel()


@programs("the class hears which operators ask")
def _(lib: Any) -> Any:
    log: list[str] = []
    x = wrapper(lib, {}, "sizes", log)
    log.clear()
    return tuple(x.size()), sorted(set(log))


@programs("a class that answers nothing is refused")
def _(lib: Any) -> Any:
    x = wrapper(lib, {"sym_size": NotImplemented}, "sizes", [])
    try:
        return x.size()
    except TypeError as error:
        return "sym_size" in str(error)


@programs("questions about geometry are operators")
def _(lib: Any) -> Any:
    x = lib.zeros(2, 3, 4, 5).to(memory_format=lib.channels_last)
    ops = lib.ops.aten
    named = ("size", "sym_size", "stride", "sym_stride", "dim", "numel", "sym_numel")
    found = [getattr(ops, name).default(x) for name in (*named, "storage_offset", "is_contiguous")]
    found += [ops.size.int(x, -1), ops.sym_stride.int(x, 1), ops.sym_storage_offset.default(x[1])]
    found.append(ops.is_contiguous.memory_format(x, lib.channels_last))
    views = (x, x[:, :2], x[:1, :1], lib.zeros(0, 3)[:, ::2], lib.zeros(3).expand(2, 3))
    return found, [ops.is_non_overlapping_and_dense.default(view) for view in views]


@programs("the slots of a class go along into copies")
def _(lib: Any) -> Any:
    class Slotted(lib.Tensor):  # type: ignore[misc,name-defined]
        __slots__ = ("log", "unset")

        def new_empty(self, shape: Any) -> Any:
            return lib.Tensor._make_subclass(type(self), lib.empty(shape))

    x = lib.Tensor._make_subclass(Slotted, lib.ones(2))
    x.log, x.note = [1], "n"
    made = copy.deepcopy(x)
    return type(made).__name__, made.log == x.log, made.log is x.log, made.note, made.tolist()


@programs("_make_subclass asks no __torch_function__ about requires_grad")
def _(lib: Any) -> Any:
    asked: list[str] = []

    class Own(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            asked.append(str(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    x = lib.Tensor._make_subclass(Own, lib.ones(2), True)
    heard = list(asked)
    return heard, x.requires_grad, x.is_leaf


def boxed(lib: Any) -> Any:
    """Return a wrapper class that runs every operator on the tensor inside."""

    class Box(lib.Tensor):  # type: ignore[misc,name-defined]
        @staticmethod
        def __new__(cls: Any, inner: Any) -> Any:
            return lib.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def __repr__(self) -> str:  # type: ignore[override]
            text: str = super().__repr__(tensor_contents=f"inner={self.inner.tolist()}")
            return text

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def inner(value: Any) -> Any:
                return value.inner if isinstance(value, cls) else value

            out = func(*map(inner, args), **(kwargs or {}))
            if func.__name__.endswith("_.Tensor") or func.__name__ == "copy_.default":
                return args[0]
            return cls(out) if isinstance(out, lib.Tensor) else out

    return Box


@programs("a parameter of a wrapper names both, and no size beside its contents")
def _(lib: Any) -> Any:
    box = boxed(lib)
    return repr(box(lib.ones(2))), repr(lib.nn.Parameter(box(lib.ones(2))))


@programs("a parameter needs a class whose detach() returns that class")
def _(lib: Any) -> Any:
    class Plain(boxed(lib)):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func(*[getattr(value, "inner", value) for value in args], **(kwargs or {}))

    try:
        lib.nn.Parameter(Plain(lib.ones(2)))
    except RuntimeError as error:
        return "Plain" in str(error)
    return None


@programs("an optimizer takes the step of a wrapper by its class")
def _(lib: Any) -> Any:
    parameter = lib.nn.Parameter(boxed(lib)(lib.ones(2)))
    parameter.grad = parameter.detach() * 3
    lib.optim.SGD([parameter], lr=0.5).step()
    return parameter.inner.tolist()


@pytest.mark.parametrize("name", programs)
def test_wrappers_do_the_same(name: str) -> None:
    assert_same(programs[name])


class Held(dovetail.Tensor):
    """A wrapper whose class a file can name."""

    @staticmethod
    def __new__(cls: Any, inner: Any) -> Any:
        return dovetail.Tensor._make_wrapper_subclass(cls, inner.size(), dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*[getattr(value, "inner", value) for value in args], **(kwargs or {}))
        return cls(out) if isinstance(out, dovetail.Tensor) else out


class Slotted(dovetail.Tensor):
    """A tensor with data and a slot."""

    __slots__ = ("log",)


def slotted() -> Any:
    made = dovetail.Tensor._make_subclass(Slotted, dovetail.arange(3.0))
    made.log = [5]
    return made


def test_a_file_restores_instances_of_classes_that_are_allowed() -> None:
    stream = io.BytesIO()
    base = slotted()
    dovetail.save({"held": Held(dovetail.ones(2)), "own": base, "view": base.detach()}, stream)
    stream.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        dovetail.load(stream)
    stream.seek(0)
    with dovetail.serialization.safe_globals([Held, Slotted]):
        found = dovetail.load(stream)
    assert type(found["held"]) is Held
    assert found["held"].inner.tolist() == [1.0, 1.0]
    own = found["own"]
    assert (type(own), own.log, own.tolist()) == (Slotted, [5], [0, 1, 2])
    own.zero_()
    assert found["view"].tolist() == [0, 0, 0]


def test_pickles_restore_slots() -> None:
    made = pickle.loads(pickle.dumps(slotted()))
    assert (type(made), made.log, made.tolist()) == (Slotted, [5], [0, 1, 2])


def test_a_class_that_asks_itself_while_it_answers_hears_what_it_was_made_with() -> None:
    class Asking(dovetail.Tensor):  # of which PyTorch asks without end
        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return [3 * step for step in args[0].stride()] if "stride" in func.__name__ else None

    x = dovetail.Tensor._make_wrapper_subclass(
        Asking, (2, 3), dispatch_sizes_strides_policy="strides"
    )
    assert x.stride() == (9, 3)
