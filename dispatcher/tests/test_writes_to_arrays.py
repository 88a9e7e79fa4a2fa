"""Results of array kernels are written: in place, into `out=`, and to immutable arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.calls.arrays import immutable_array_writes
from dovetail_kernel import TensorBase, backend, share_storage, wrap
from dovetail_kernel.keys import inference_mode_on
from dovetail_kernel.keys.state import StateGuard
from dovetail_kernel.sockets import Socket

Tensors = Callable[..., TensorBase]


@pytest.fixture
def lib(library: Callable[..., Library]) -> Library:
    """Operators that write: in place, into one ``out=`` and into two."""
    lib = library("wr", "DEF")
    for schema, kernel in (
        ("double_(Tensor(a!) x) -> Tensor(a!)", lambda x: x * 2),
        ("sums_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x + y),
        ("double.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", lambda x: x * 2),
        (
            "both.out(Tensor x, *, Tensor(a!) a, Tensor(b!) b) -> (Tensor(a!), Tensor(b!))",
            lambda x: (x + 1, x * 2),
        ),
    ):
        lib.define(schema)
        lib.array_impl(schema.partition("(")[0], kernel, "CPU")
    return lib


# -- in place --------------------------------------------------------------------------------------


def test_the_result_is_written_into_the_memory_of_the_argument(
    lib: Library, tensor: Tensors
) -> None:
    x = tensor([1.0, 2.0])
    array = x.array
    assert ops.wr.double_(x) is x
    assert x.array is array and array.tolist() == [2.0, 4.0] and x._version == 1


def test_a_result_is_broadcast_to_the_argument_and_never_the_other_way(
    lib: Library, tensor: Tensors
) -> None:
    x = tensor([[1.0, 2.0], [3.0, 4.0]])
    ops.wr.sums_(x, tensor([10.0, 20.0]))
    assert x.array.tolist() == [[11.0, 22.0], [13.0, 24.0]]
    y = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast"):
        ops.wr.sums_(y, tensor([[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]))
    assert y.array.tolist() == [1.0, 2.0] and y._version == 0


def test_a_result_that_cannot_be_cast_changes_nothing(lib: Library, tensor: Tensors) -> None:
    x = tensor([1, 2], "int64")
    with pytest.raises(RuntimeError, match="can't be cast"):
        ops.wr.sums_(x, tensor([0.5, 0.5]))
    assert x.array.tolist() == [1, 2] and x._version == 0


def test_a_read_only_array_is_left_for_a_copy(lib: Library, tensor: Tensors) -> None:
    fixed = np.array([1.0, 2.0], "float32")
    fixed.flags.writeable = False
    x = wrap(fixed, backend("cpu"))
    ops.wr.double_(x)
    assert (x.array.tolist(), fixed.tolist()) == ([2.0, 4.0], [1.0, 2.0])


def test_elements_that_share_memory_are_not_written(lib: Library) -> None:
    x = wrap(np.broadcast_to(np.ones(1, "float32"), (3,)), backend("cpu"))
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        ops.wr.double_(x)
    assert x.array.tolist() == [1.0] * 3


def test_an_inference_tensor_is_written_in_inference_mode_alone(
    lib: Library, tensor: Tensors
) -> None:
    with StateGuard(inference_mode_on):
        x = tensor([1.0])
        ops.wr.double_(x)
    for call in (lambda: ops.wr.double_(x), lambda: ops.wr.double.out(tensor([1.0]), out=x)):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside"):
            call()
    assert x.array.tolist() == [2.0]


# -- out= ------------------------------------------------------------------------------------------


def test_a_result_is_written_into_out_and_cast(lib: Library, tensor: Tensors) -> None:
    out = tensor([0.0, 0.0], "float64")
    assert ops.wr.double.out(tensor([1.0, 2.0]), out=out) is out
    assert out.array.tolist() == [2.0, 4.0] and out.array.dtype == np.float64
    whole = tensor([0], "int64")
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        ops.wr.double.out(tensor([1.5]), out=whole)
    assert whole.array.tolist() == [0]


def test_an_empty_out_is_resized_and_another_with_a_warning(lib: Library, tensor: Tensors) -> None:
    empty, other = tensor(np.zeros((0,), "float32")), tensor([[0.0] * 4])
    ops.wr.double.out(tensor([1.0, 2.0]), out=empty)
    assert empty.array.tolist() == [2.0, 4.0]
    with pytest.warns(UserWarning, match=r"resized since it had shape \[1, 4\], .*\[2\]"):
        ops.wr.double.out(tensor([1.0, 2.0]), out=other)
    assert other.array.tolist() == [2.0, 4.0]


def test_a_resized_out_lies_in_memory_as_the_result_does(lib: Library, tensor: Tensors) -> None:
    lib.define("turned.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.array_impl("turned.out", lambda x: (x * 2).T, "CPU")
    out = tensor(np.zeros(0, "float32"))
    ops.wr.turned.out(tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), out=out)
    assert out.array.tolist() == [[2.0, 8.0], [4.0, 10.0], [6.0, 12.0]]
    assert out.array.strides == (4, 12)


def test_an_empty_part_of_enough_memory_is_resized_within_it(lib: Library, tensor: Tensors) -> None:
    x = tensor([5.0, 6.0, 7.0])
    part = wrap(np.ndarray((0,), "float32", x.array, 4), backend("cpu"))  # a slice would not begin
    part._storage = share_storage(x)
    ops.wr.double.out(tensor([1.0, 2.0]), out=part)
    assert (part.array.tolist(), x.array.tolist()) == ([2.0, 4.0], [5.0, 2.0, 4.0])


def test_an_out_that_shares_too_little_memory_is_not_resized(lib: Library, tensor: Tensors) -> None:
    x = tensor([0.0, 0.0])
    view = wrap(x.array[1:], backend("cpu"))
    view._storage = share_storage(x)
    with (
        pytest.raises(RuntimeError, match=r"not resizable: out= of shape \[1\] is a view"),
        pytest.warns(UserWarning, match="was resized"),
    ):
        ops.wr.double.out(tensor([1.0, 2.0]), out=view)
    held = np.zeros(1, "float32")
    exported = wrap(held, backend("cpu"))
    with (
        pytest.raises(RuntimeError, match=r"with an array .* that would not see the result"),
        pytest.warns(UserWarning, match="was resized"),
    ):
        ops.wr.double.out(tensor([1.0, 2.0]), out=exported)
    assert held.tolist() == [0.0] and x.array.tolist() == [0.0, 0.0]


def test_an_out_on_another_backend_is_refused(lib: Library, tensor: Tensors) -> None:
    out = tensor([0.0], device="meta")
    with pytest.raises(RuntimeError):
        ops.wr.double.out(tensor([1.0]), out=out)


def test_several_outs_are_written(lib: Library, tensor: Tensors) -> None:
    a, b = tensor(np.zeros(0, "float32")), tensor([0.0, 0.0])
    results = ops.wr.both.out(tensor([1.0, 2.0]), a=a, b=b)
    assert results[0] is a and results[1] is b
    assert (a.array.tolist(), b.array.tolist()) == ([2.0, 3.0], [2.0, 4.0])
    assert (a._version, b._version) == (1, 1)


@pytest.mark.parametrize(
    "second",
    [
        lambda tensor: tensor([0], "int64"),
        lambda tensor: wrap(np.broadcast_to(np.ones(1, "float32"), (2,)), backend("cpu")),
    ],
    ids=["no such dtype", "shared elements"],
)
def test_of_several_outs_all_are_written_or_none(
    lib: Library, tensor: Tensors, second: Any
) -> None:
    a, b = tensor(np.zeros(0, "float32")), second(tensor)
    before = b.array.tolist()
    with pytest.raises(RuntimeError):
        ops.wr.both.out(tensor([1.0, 2.0]), a=a, b=b)
    assert a.array.shape == (0,) and b.array.tolist() == before
    assert (a._version, b._version) == (0, 0)


def test_a_read_only_out_is_left_for_a_copy(lib: Library, tensor: Tensors) -> None:
    fixed = np.zeros(2, "float32")
    fixed.flags.writeable = False
    a, b = tensor([0.0, 0.0]), wrap(fixed, backend("cpu"))
    ops.wr.both.out(tensor([1.0, 2.0]), a=a, b=b)
    assert (b.array.tolist(), fixed.tolist()) == ([2.0, 4.0], [0.0, 0.0])


# -- arrays that cannot be written -----------------------------------------------------------------


class FirstRows:
    """The view that ``wr::rows`` is: the first rows of its base, as a copy."""

    shows_all = False

    def __init__(self, count: int) -> None:
        self.count = count

    def show(self, base: Any) -> Any:
        """Return the rows."""
        return wrap(base.array[: self.count].copy(), base._backend)

    def put(self, base: Any, part: Any) -> Any:
        """Return the base with other first rows."""
        return wrap(np.concatenate([part.array, base.array[self.count :]]), base._backend)


@pytest.fixture
def immutable(lib: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arrays of the CPU cannot be written, and ``wr::rows`` shows the first rows of one."""
    arrays = type(backend("cpu").arrays)
    monkeypatch.setattr(arrays, "mutable_arrays", False)
    monkeypatch.setattr(
        arrays,
        "overwritten",
        lambda self, array, source: np.array(np.broadcast_to(source, array.shape), array.dtype),
    )
    socket = Socket("tests", "now", lambda op, args, kwargs, place: FirstRows(*args[-1:]))
    monkeypatch.setattr(immutable_array_writes, "VIEW_MAKER", socket)
    lib.define("rows(Tensor(a) x, int count) -> Tensor(a)")
    lib.array_impl("rows", lambda x, count: x[:count].copy(), "CPU")
    lib.define("put_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.array_impl("put_", lambda x, y: y, "CPU")


@pytest.mark.usefixtures("immutable")
def test_a_tensor_gets_another_array(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0, 2.0])
    array = x.array
    assert ops.wr.put_(x, tensor([5.0])) is x
    assert x.array.tolist() == [5.0, 5.0] and array.tolist() == [1.0, 2.0] and x._version == 1


@pytest.mark.usefixtures("immutable")
def test_every_tensor_on_the_memory_sees_a_write(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0, 2.0, 3.0, 4.0])
    three = ops.wr.rows(x, 3)
    two, other = ops.wr.rows(three, 2), ops.wr.rows(x, 1)
    ops.wr.put_(two, tensor([7.0, 8.0]))
    assert [each.array.tolist() for each in (x, three, two, other)] == [
        *([7.0, 8.0, 3.0, 4.0], [7.0, 8.0, 3.0], [7.0, 8.0], [7.0])
    ]
    ops.wr.put_(x, tensor([0.0]))
    assert [each.array.tolist() for each in (three, two, other)] == [[0.0] * 3, [0.0] * 2, [0.0]]
    assert x._version == two._version == other._version == 2


@pytest.mark.usefixtures("immutable")
def test_a_tensor_on_the_memory_that_does_not_say_how_is_not_left_behind(
    lib: Library, tensor: Tensors
) -> None:
    x = tensor([1.0, 2.0])
    stranger = wrap(x.array.copy(), backend("cpu"))
    stranger._storage = share_storage(x)
    with pytest.raises(RuntimeError, match="of which one does not say how: arrays of backend cpu"):
        ops.wr.put_(x, tensor([5.0]))
    assert x.array.tolist() == [1.0, 2.0]
    alias = wrap(x.array, backend("cpu"))  # the very array of the memory
    alias._storage = share_storage(x)
    del stranger
    ops.wr.put_(alias, tensor([5.0]))
    assert x.array.tolist() == alias.array.tolist() == [5.0, 5.0]


@pytest.mark.usefixtures("immutable")
def test_notes_of_views_that_are_gone_are_forgotten(lib: Library, tensor: Tensors) -> None:
    x = tensor([1.0, 2.0])
    kept = ops.wr.rows(x, 1)
    for _ in range(300):
        ops.wr.rows(x, 1)
    assert len(share_storage(x).noted_views) < 130
    ops.wr.put_(kept, tensor([9.0]))
    assert x.array.tolist() == [9.0, 2.0]


@pytest.mark.usefixtures("immutable")
def test_an_out_gets_another_array_too(lib: Library, tensor: Tensors) -> None:
    out, x = tensor(np.zeros(0, "float32")), tensor([0.0, 0.0, 0.0])
    ops.wr.double.out(tensor([1.0]), out=out)
    ops.wr.double.out(tensor([1.0, 2.0]), out=ops.wr.rows(x, 2))
    assert (out.array.tolist(), x.array.tolist()) == ([2.0], [2.0, 4.0, 0.0])
