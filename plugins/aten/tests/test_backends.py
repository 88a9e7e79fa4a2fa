"""Backends made of an array namespace: what `register_backend` gives, what it says where something
is missing.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

import dovetail_aten as at
from dovetail_aten.backends import NamespaceArrays, devices, register_backend, use_cpu_fallback
from dovetail_dispatcher import Library, ops
from dovetail_dispatcher.table import registry
from dovetail_kernel import (
    DTYPES,
    Backend,
    Device,
    DispatchKey,
    backend,
    bfloat16,
    float32,
    float64,
    get_default_device,
    int64,
    plugin_manager,
    set_default_device,
)

autograd = plugin_manager.load_transform("autograd")

pytestmark = pytest.mark.cpu_only(reason="the tests make backends of their own")
_numbers = count()


def new_name() -> str:
    """Return a device type that is not taken: backends cannot be taken back."""
    return f"board{next(_numbers)}"


@pytest.fixture(scope="module")
def board() -> Backend:
    """NumPy under another name."""
    return register_backend(new_name(), np)


class Frozen(np.ndarray[Any, Any]):
    """An array that refuses to be written."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("an immutable array was written to")

    def reshape(self, *shape: Any) -> Any:
        """Return another shape; there is no ``copy``, as for JAX's arrays."""
        return super().reshape(*shape)


class FrozenArrays(NamespaceArrays):
    """Immutable arrays, with the methods that NumPy's functions cannot stand for."""

    array_types = (Frozen,)
    mutable_arrays = False

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        return super().asarray(value, native_dtype).view(Frozen)

    def to_host(self, array: Any) -> Any:
        return array.view(np.ndarray)

    def embed(self, value: Any, shape: Any, key: Any, fill: Any) -> Any:
        made = np.full(shape, fill, value.dtype)
        made[key] = value
        return made

    def index_put(self, array: Any, key: Any, values: Any, accumulate: bool) -> Any:
        made = np.array(array)
        (np.add.at if accumulate else np.ndarray.__setitem__)(made, key, values)
        return made.view(Frozen)


@pytest.fixture(scope="module")
def frozen() -> Backend:
    """A backend whose arrays cannot be written."""
    return register_backend(new_name(), np, FrozenArrays)


def without(*names: str) -> SimpleNamespace:
    """Return NumPy without some names."""
    return SimpleNamespace(
        **{name: getattr(np, name) for name in dir(np) if name not in names and name[0] != "_"}
    )


# -- registering -----------------------------------------------------------------------------------


def test_a_backend_has_keys_of_its_own(board: Backend) -> None:
    name = board.name.upper()
    assert {board.key_name, f"Autograd{name}"} == {name, f"Autograd{name}"}
    assert DispatchKey[name].backend is board
    assert board.bit not in (backend("cpu").bit, backend("cuda").bit, backend("meta").bit)


def test_there_is_no_limit_to_their_number() -> None:
    made = [register_backend(new_name(), np) for _ in range(4)]
    assert len({each.bit for each in made}) == len({each.component for each in made}) == 4
    x, y = (at.ones(2, device=each.name) for each in made[:2])
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        x + y


def test_a_tensor_is_made_moved_and_printed_there(board: Backend) -> None:
    x = at.tensor([1.0, 2.0], device=board.name)
    assert str(x.device) == f"{board.name}:0"
    assert repr(x) == f"tensor([1., 2.], device='{board.name}:0')"
    assert x.to("cpu").device.type == "cpu"
    assert x.cpu().to(f"{board.name}:0").device == x.device
    assert x.to(Device(board.name)) is x
    assert x.cpu().numpy().tolist() == [1, 2]
    with pytest.raises(
        TypeError, match=r"can't convert .* device type tensor to numpy\. Use Tensor\.cpu\(\)"
    ):
        x.numpy()


def test_it_can_be_the_default_device(board: Backend) -> None:
    with Device(board.name):
        assert at.rand(2).device.type == board.name
        assert at.tensor([1]).device.type == board.name
    set_default_device(board.name)
    try:
        assert at.zeros(1).device.type == get_default_device().type == board.name
    finally:
        set_default_device(None)


@pytest.mark.parametrize(
    "make",
    [
        at.zeros,
        at.ones,
        at.empty,
        at.rand,
        at.randn,
        lambda n, **o: at.full((n,), 3.0, **o),
        at.arange,
        at.eye,
    ],
)
def test_factories_take_the_device(board: Backend, make: Callable[..., Any]) -> None:
    assert make(3, device=f"{board.name}:0").device == Device(board.name, 0)


def test_an_index_beyond_the_devices_is_refused(board: Backend) -> None:
    with pytest.raises(
        RuntimeError, match=r"invalid device ordinal: .*:1 was requested, but there is 1 device"
    ):
        at.ones(2, device=f"{board.name}:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        at.ones(2).to(f"{board.name}:7")


def test_gradients_are_computed_there_in_arrays(board: Backend) -> None:
    x = at.tensor([0.5, 1.5], device=board.name, requires_grad=True)
    (x.exp() * x + x[0]).sum().backward()
    assert x.grad.device == x.device
    host = at.tensor([0.5, 1.5], requires_grad=True)
    (host.exp() * host + host[0]).sum().backward()
    assert x.grad.tolist() == host.grad.tolist()


def test_seeds_are_those_of_all_devices(board: Backend) -> None:
    at.manual_seed(3)
    first = at.rand(4, device=board.name).tolist()
    at.manual_seed(3)
    assert at.rand(4, device=board.name).tolist() == first
    generator = at.Generator(board.name).manual_seed(3)
    assert at.rand(4, device=board.name, generator=generator).tolist() == first


def test_a_name_that_is_taken_is_refused(board: Backend) -> None:
    with pytest.raises(
        RuntimeError,
        match=f"device type '{board.name}' is registered already, with arrays of ndarray",
    ):
        register_backend(board.name, np)
    with pytest.raises(RuntimeError, match="device type 'cpu' is registered already"):
        register_backend("cpu", np)


@pytest.mark.parametrize("name", ["meta", "loopback"])
def test_a_name_that_an_installed_plugin_provides_is_refused(name: str) -> None:
    with pytest.raises(
        RuntimeError, match=f"device type '{name}' is (registered already|provided by an installed)"
    ):
        register_backend(name, np)


def test_a_device_type_of_pytorch_has_pytorchs_keys() -> None:
    made = register_backend("ipu", np)
    assert (made.key_name, made.bit) == ("IPU", backend("ipu").bit)
    assert (at.ones(2, device="ipu") + 1).device == Device("ipu", 0)


def test_a_name_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(RuntimeError, match="cannot be a device type: use lower-case letters"):
        register_backend("Board", np)


def test_a_failed_registration_leaves_no_trace() -> None:
    name = new_name()

    def fail(xp: Any, kernel: Any, capabilities: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        register_backend(name, np, kernels=[fail])
    with pytest.raises(RuntimeError, match="device type at start of device string"):
        Device(name)
    assert register_backend(name, np).is_attached


def test_a_kernel_of_the_backend_takes_the_place_of_the_generic_one() -> None:
    def define(xp: Any, kernel: Any, capabilities: Any) -> None:
        kernel("exp", xp.zeros_like)

    name = register_backend(new_name(), np, kernels=[define]).name
    assert at.exp(at.ones(2, device=name)).tolist() == [0, 0]


def test_devices_lists_what_is_there_and_why_not(board: Backend) -> None:
    found = {each.name: each for each in devices()}
    assert found[board.name].is_available
    assert (found[board.name].count, found[board.name].loaded, found[board.name].distribution) == (
        1,
        True,
        None,
    )
    assert found["cpu"].distribution == "dovetail-cpu"
    cuda = found["cuda"]
    assert cuda.is_available == (cuda.unavailable_because is None) == (cuda.count > 0)
    if not cuda.is_available:
        assert "CuPy" in str(cuda.unavailable_because) or "CUDA" in str(cuda.unavailable_because)


# -- what is missing -------------------------------------------------------------------------------


def test_an_operator_whose_function_the_namespace_has_not_is_left_out() -> None:
    made = register_backend(new_name(), without("exp2"))
    x = at.ones(2, device=made.name)
    with pytest.raises(NotImplementedError) as error:
        at.exp2(x)
    assert f"Could not run 'aten::exp2' with arguments from the '{made.key_name}' backend" in str(
        error.value
    )
    assert f"Library.impl('exp2', fn, '{made.key_name}')" in str(error.value)
    Library("aten", "IMPL", made.key_name)  # is what takes it


def _standard(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    return np.argsort(x, axis=axis, stable=stable)


def _kind_alone(a: Any, axis: int = -1, kind: str | None = None) -> Any:
    return np.argsort(a, axis=axis, kind=kind)  # type: ignore[call-overload]


@pytest.mark.parametrize("argsort", [_standard, _kind_alone])
def test_a_stable_order_is_asked_for_as_the_namespace_knows_it(argsort: Any) -> None:
    namespace = without("argsort")
    namespace.argsort = argsort
    made = register_backend(new_name(), namespace)
    x = at.tensor([1.0, 0.0] * 50, device=made.name)
    assert at.sort(x)[1].tolist() == [*range(1, 100, 2), *range(0, 100, 2)]
    assert at.sort(x, descending=True)[1].tolist() == [*range(0, 100, 2), *range(1, 100, 2)]


def test_a_function_that_a_kernel_misses_is_named_with_the_remedy() -> None:
    made = register_backend(new_name(), without("take_along_axis"))
    x = at.ones(2, 2, device=made.name)
    with pytest.raises(NotImplementedError) as error:
        at.gather(x, 0, at.zeros(1, 2, dtype=at.arange(1).dtype, device=made.name))
    assert "needs 'take_along_axis', which its namespace" in str(error.value)
    assert f"Library('aten', 'IMPL', '{made.key_name}').array_impl(...)" in str(error.value)


def test_a_method_that_the_author_has_to_write_is_named() -> None:
    name = new_name()
    register_backend(name, without("ix_"))
    x = at.zeros(3, device=name)
    with pytest.raises(
        NotImplementedError,
        match=r"has no 'ix_'\. Write .*NamespaceArrays\.scatter\(self, array, dim",
    ):
        at.scatter(x, 0, at.tensor([1], device=name), at.ones(1, device=name))


def test_a_namespace_without_arrays_is_refused_with_what_to_write() -> None:
    with pytest.raises(
        NotImplementedError, match=r"has no 'ndarray'\. Write .*array_types = \(the class of your"
    ):
        register_backend(new_name(), SimpleNamespace())


def test_a_dtype_that_the_library_has_not_is_refused_with_a_way_out(board: Backend) -> None:
    with pytest.raises(
        TypeError,
        match=r"bfloat16 is not supported on board\d+: numpy has no bfloat16\. Convert to",
    ):
        at.ones(2, device=board.name, dtype=bfloat16)
    with pytest.raises(
        TypeError,
        match=r"bfloat16 is not supported on board\d+: numpy has no bfloat16\. Convert to",
    ):
        at.ones(2, dtype=bfloat16).to(board.name)


def test_an_operator_to_leave_out_must_exist() -> None:
    with pytest.raises(
        ValueError, match=r"the base library has no array kernel 'exq'\. Did you mean 'exp'"
    ):
        register_backend(new_name(), np, without=["exq"])


# -- the cpu fallback ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def partial() -> Backend:
    """A backend without some kernels, that falls back to the cpu."""
    return register_backend(
        new_name(), np, without=["exp2", "sort", "nan_to_num", "eye", "stack"], cpu_fallback=True
    )


def test_without_fallback_a_missing_kernel_is_an_error() -> None:
    name = register_backend(new_name(), np, without=["exp2"]).name
    with pytest.raises(NotImplementedError, match="Could not run 'aten::exp2'"):
        at.exp2(at.ones(1, device=name))


def test_the_fallback_computes_on_copies_and_warns_once_for_each_operator(partial: Backend) -> None:
    x = at.tensor([3.0, 1.0], device=partial.name)
    with pytest.warns(UserWarning) as caught:
        found = at.exp2(x)
        at.exp2(x)
        values, places = at.sort(x)
    assert [found.device, values.device, places.device] == [x.device] * 3
    assert (found.tolist(), values.tolist(), places.tolist()) == ([8, 2], [1, 3], [1, 0])
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2
    assert texts[0].startswith(
        f"The operator 'aten::exp2' is not currently supported on the {partial.name} backend and "
        "will fall back to run"
    )
    assert f"Library('aten', 'IMPL', '{partial.key_name}').array_impl('exp2', fn)" in texts[0]
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("ignore:The operator:UserWarning")
def test_the_fallback_writes_back_and_counts_the_write(partial: Backend) -> None:
    x = at.tensor([1.0, 2.0], device=partial.name)
    view = x[1:]
    assert at.nan_to_num_(view) is view
    before = x._version
    x.exp2_()
    assert x.tolist() == [2, 4]
    assert x._version == before + 1
    out = at.empty(0, device=partial.name)
    assert at.exp2(x, out=out) is out
    assert out.tolist() == [4, 16]


@pytest.mark.filterwarnings("ignore:The operator:UserWarning")
def test_the_fallback_takes_lists_factories_and_gradients(partial: Backend) -> None:
    x = at.tensor([1.0, 2.0], device=partial.name, requires_grad=True)
    both = at.stack([x, x])
    assert both.device == x.device
    (at.exp2(x) * both).sum().backward()
    assert x.grad.device == x.device
    host = at.tensor([1.0, 2.0], requires_grad=True)
    (at.exp2(host) * at.stack([host, host])).sum().backward()
    assert x.grad.tolist() == host.grad.tolist()
    assert at.eye(2, device=partial.name).tolist() == [[1, 0], [0, 1]]


def test_a_view_does_not_fall_back() -> None:
    partial = register_backend(new_name(), np, without=["expand"], cpu_fallback=True)
    with pytest.raises(
        RuntimeError,
        match=r"aten::expand appears to be a view operator, but it has no implementation",
    ):
        at.ones(1, device=partial.name).expand(3)


def test_the_fallback_can_be_switched_on_by_the_user() -> None:
    name = register_backend(new_name(), np, without=["exp2"]).name
    use_cpu_fallback(name)
    use_cpu_fallback(name)
    with pytest.warns(UserWarning, match="will fall back to run on the CPU"):
        assert at.exp2(at.ones(1, device=name)).tolist() == [2]


@pytest.mark.parametrize("name", ["cpu", "meta"])
def test_the_cpu_has_no_fallback(name: str) -> None:
    with pytest.raises(RuntimeError, match="there is no cpu fallback for"):
        use_cpu_fallback(name)


def test_a_function_that_is_missing_at_registration_is_named() -> None:
    name = new_name()

    def define(xp: Any, kernel: Any, _capabilities: Any) -> None:
        kernel("exp", xp.exp_of(2))

    with pytest.raises(
        NotImplementedError,
        match=rf"backend '{name}' needs 'exp_of', which its namespace \S+ lacks\. Add a function "
        rf"of that name to the namespace, or .*Library\('aten', 'IMPL', '{name.upper()}'\)",
    ):
        register_backend(name, np, kernels=[define])


def test_a_namespace_may_have_dtypes_by_name_alone() -> None:
    names = {each.name: np.dtype(each.name) for each in (float32, int64, float64)}
    namespace = without("dtype", "bool", "float16", "uint8", "int8", "int16", "int32")
    for each in ("complex64", "complex128", "uint16", "uint32", "uint64"):
        delattr(namespace, each)
    vars(namespace).update(names, bool=np.dtype(bool))
    made = register_backend(new_name(), namespace)
    x = at.ones(3, device=made.name)
    assert ((x + 1).sum().item(), x.dtype) == (6, float32)


def test_the_kernels_of_every_family_are_made_for_a_namespace_of_few_dtypes() -> None:
    few = {"bool", "int64", "float32"}
    names = {"bool_", "bfloat16"} | {each.name for each in DTYPES}
    made = register_backend(new_name(), without(*(names - few)))
    key = DispatchKey[made.key_name]
    kernels = [each for op in registry.all_operators() for each in op.kernels.get(key, ())]
    assert len(kernels) > 500
    assert all(callable(each.fn) for each in kernels)
    x = at.tensor([-1.0, 0.5, 2.0] * 3000, device=made.name, dtype=float32)
    assert at.relu(x)[:3].tolist() == [0, 0.5, 2]
    assert ops.aten.leaky_relu(x, 0.5)[:3].tolist() == [-0.5, 0.5, 2]


# -- immutable arrays ------------------------------------------------------------------------------


def test_a_write_in_place_gives_an_immutable_tensor_a_new_array(frozen: Backend) -> None:
    x = at.ones(2, 2, device=frozen.name)
    array = x.array
    assert x.add_(at.tensor([1.0, 2.0], device=frozen.name)) is x
    assert x.tolist() == [[2, 3], [2, 3]]
    assert array.tolist() == [[1, 1], [1, 1]]
    assert x._version == 1
    x.mul_(2).zero_().fill_(7)
    assert (x.tolist(), x.dtype) == ([[7, 7], [7, 7]], float32)
    x.copy_(at.ones(2))
    assert x.tolist() == [[1, 1], [1, 1]]


def test_out_takes_results_of_immutable_arrays(frozen: Backend) -> None:
    out = at.empty(0, device=frozen.name)
    assert at.add(at.ones(3, device=frozen.name), 1, out=out) is out
    assert out.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda x: x[0].add_(1), [[1, 2, 3], [3, 4, 5]]),
        (lambda x: x.t().zero_(), [[0, 0, 0], [0, 0, 0]]),
        (lambda x: x.__setitem__(0, 9.0), [[9, 9, 9], [3, 4, 5]]),
        (lambda x: x.detach().mul_(2), [[0, 2, 4], [6, 8, 10]]),
        (lambda x: x.data.mul_(2), [[0, 2, 4], [6, 8, 10]]),
        (lambda x: x.t()[1:].t()[1].fill_(7), [[0, 1, 2], [3, 7, 7]]),
        (lambda x: x.view(-1)[::2].neg_(), [[0, 1, -2], [3, -4, 5]]),
        (lambda x: x.split(2, 1)[1].add_(10), [[0, 1, 12], [3, 4, 15]]),
        (lambda x: x.unbind(1)[2].sub_(2), [[0, 1, 0], [3, 4, 3]]),
        (lambda x: x.diagonal().zero_(), [[0, 1, 2], [3, 0, 5]]),
        (lambda x: x.expand(2, 3).add_(1), [[1, 2, 3], [4, 5, 6]]),
        (lambda x: x.squeeze().unsqueeze(0).add_(1), [[1, 2, 3], [4, 5, 6]]),
        (lambda x: x.__setitem__((0, slice(1, None)), x[1, :2]), [[0, 3, 4], [3, 4, 5]]),
        (lambda x: x.__setitem__(x > 3, -1.0), [[0, 1, 2], [3, -1, -1]]),
    ],
)
def test_a_write_to_a_view_of_an_immutable_tensor_is_seen_by_all_that_share_its_memory(
    frozen: Backend, write: Callable[[Any], Any], expected: list[list[float]]
) -> None:
    x = at.arange(6.0, device=frozen.name).reshape(2, 3).clone()
    rows, columns, line, same = x.unbind(0), x.t(), x.view(-1)[1:], x.detach()
    write(x)
    assert x.tolist() == same.tolist() == [row.tolist() for row in rows] == expected
    assert columns.t().tolist() == expected
    assert line.tolist() == [*expected[0], *expected[1]][1:]
    assert x._version == rows[0]._version == line._version
    x.mul_(2)
    assert rows[1].tolist() == [2 * each for each in expected[1]]


def test_what_an_array_of_numpy_shares_with_an_immutable_tensor_is_not_written(
    frozen: Backend,
) -> None:
    x = at.ones(2, 2, device=frozen.name)
    array = x.array
    x[0] = 5
    assert array.tolist() == [[1, 1], [1, 1]]
    assert x.tolist() == [[5, 5], [1, 1]]


def test_a_write_to_elements_that_share_memory_is_refused_for_immutable_arrays(
    frozen: Backend,
) -> None:
    x = at.ones(1, 2, device=frozen.name)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.expand(3, 2).add_(1)
    assert x.tolist() == [[1, 1]]


def test_a_write_to_memory_whose_sharing_nothing_tells_is_refused(frozen: Backend) -> None:
    x = at.ones(2, 2, device=frozen.name)
    view = x[0]
    view.array = view.array.copy()  # no operator did that
    other = x.t()
    x.untyped_storage().noted_views.clear()
    with pytest.raises(RuntimeError, match=r"several tensors share, .* clone\(\) the tensor first"):
        x.add_(1)
    assert (x.tolist(), view.tolist(), other.tolist()) == (
        [[1, 1], [1, 1]],
        [1, 1],
        [[1, 1], [1, 1]],
    )


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y[0].mul_(3),
        lambda y: y.t()[1:].add_(y.t()[:1].clone()),
        lambda y: y.view(-1)[::2].copy_(y.view(-1)[1::2].clone()),
        lambda y: y[1].t()[0].zero_(),
        lambda y: y.__setitem__((slice(None), 0), y[:, 1].clone()),
    ],
)
def test_writes_to_views_of_immutable_tensors_are_differentiated(
    frozen: Backend, board: Backend, write: Callable[[Any], Any]
) -> None:
    found = []
    for each in (frozen, board):
        x = at.arange(1.0, 5.0, device=each.name).reshape(2, 2).clone().requires_grad_()
        y = x * x
        view = y[0]
        write(y)
        (y * y + view).sum().backward()
        found.append((y.tolist(), x.grad.tolist(), type(y.grad_fn).__name__))
    assert found[0] == found[1]


def test_places_in_memory_are_those_of_immutable_tensors_that_are_no_views(frozen: Backend) -> None:
    x = at.arange(6.0, device=frozen.name).reshape(2, 3).clone()
    with pytest.raises(NotImplementedError, match=r"as_strided of a view: .*Take it of a clone"):
        x.t().as_strided((2, 2), (1, 1))
    for view in (x.t(), x[1], x[:, ::2]):
        assert copy.deepcopy(view).tolist() == view.tolist()
        assert pickle.loads(pickle.dumps(view)).tolist() == view.tolist()


def test_gradients_accumulate_in_immutable_arrays(frozen: Backend) -> None:
    x = at.tensor([1.0, 2.0], device=frozen.name, requires_grad=True)
    for _ in range(2):
        (x * x).sum().backward()
    assert x.grad.tolist() == [4, 8]


def test_immutable_parameters_are_updated_in_place(frozen: Backend) -> None:
    at.manual_seed(0)
    x, y = at.randn(16, 4, device=frozen.name), at.randn(16, 1, device=frozen.name)
    weight = at.randn(4, 1, device=frozen.name, requires_grad=True)
    losses = []
    for _ in range(10):
        loss = ((x @ weight - y) ** 2).mean()
        loss.backward()
        with autograd.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
            weight.grad.zero_()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    assert weight.requires_grad and weight.is_leaf
    assert weight._version == 10


def test_what_immutable_arrays_need_is_named(frozen: Backend) -> None:
    x = at.zeros(3, device=frozen.name)
    with pytest.raises(
        NotImplementedError,
        match=r"says nothing of how to do this .*FrozenArrays\.index_add\(self, array",
    ):
        at.index_add(x, 0, at.tensor([0], device=frozen.name), at.ones(1, device=frozen.name))


# -- what tensors of two devices may do together ---------------------------------------------------


def test_copy_goes_from_any_device_to_any_other(board: Backend) -> None:
    there, here = at.zeros(2, 2, device=board.name), at.tensor([1.5, 2.5])
    assert there.copy_(here) is there
    assert there.tolist() == [[1.5, 2.5], [1.5, 2.5]]
    number = at.zeros(2, dtype=at.arange(1).dtype)
    assert number.copy_(there[0]).tolist() == [1, 2]
    assert (there._version, number._version) == (1, 1)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        here.copy_(there)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        there.copy_(at.zeros(2, device="meta"))


def test_a_copy_between_devices_has_gradients(board: Backend) -> None:
    x = at.ones(2, requires_grad=True)
    there = at.zeros(3, 2, device=board.name).copy_(x)
    (there * 2).sum().backward()
    assert (x.grad.tolist(), x.grad.device.type) == ([6, 6], "cpu")


def test_indices_may_be_on_the_cpu(board: Backend) -> None:
    x = at.arange(4, device=board.name)
    assert x[at.tensor([1, 3])].tolist() == [1, 3]
    x[at.tensor([True, False, False, True])] = 0
    assert x.tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("index", [[4], [-5], [0, 9]])
def test_an_index_out_of_range_is_found_where_the_library_does_not(
    board: Backend, index: list[int]
) -> None:
    x = at.zeros(4, device=board.name)
    place = at.tensor(index, device=board.name)
    with pytest.raises(
        IndexError, match=r"index -?\d is out of bounds for dimension 0 with size 4"
    ):
        x[place]
    with pytest.raises(
        IndexError, match=r"index -?\d is out of bounds for dimension 0 with size 4"
    ):
        x[place] = 1


# -- several devices -------------------------------------------------------------------------------


class TwoDevices(NamespaceArrays):
    """NumPy arrays that are on one of two devices, the current one."""

    current = 0
    places: ClassVar[dict[int, int]] = {}

    def device_count(self) -> int:
        return 2

    @contextmanager
    def on_device(self, index: int) -> Iterator[None]:
        before, TwoDevices.current = TwoDevices.current, index
        yield
        TwoDevices.current = before

    def asarray(self, value: Any, native_dtype: Any = None) -> Any:
        made = np.array(value, native_dtype)
        self.places[id(made)] = self.current
        return made

    def device_index(self, array: Any) -> int:
        return self.places.get(id(array), 0)

    def to_device(self, array: Any, index: int) -> Any:
        with self.on_device(index):
            return self.asarray(array)


def test_an_index_chooses_the_device_of_new_tensors() -> None:
    class Places(SimpleNamespace):
        """NumPy, whose factories note the device."""

        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        def ones(self, shape: Any, dtype: Any) -> Any:
            return side.asarray(np.ones(shape, dtype))

    name = new_name()
    made = register_backend(name, Places(), TwoDevices)
    side = made.arrays
    assert [at.ones(2, device=f"{name}:{i}").device.index for i in (0, 1)] == [0, 1]
    assert at.ones(2, device=name).device.index == 0
    assert at.tensor([1.0], device=f"{name}:1").device.index == 1
    assert at.tensor([1.0]).to(f"{name}:1").device.index == 1
    x = at.tensor([1.0], device=f"{name}:0")
    assert x.to(f"{name}:1").device.index == 1
    assert x.to(f"{name}:0") is x
