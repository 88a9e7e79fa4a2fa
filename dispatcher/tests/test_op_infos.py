"""The record of an operator's samples, and where libraries say that theirs are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dovetail_dispatcher import Library
from dovetail_dispatcher.sockets import CHECKS, TENSOR_FUNCTION
from dovetail_dispatcher.table.updates.transactions import transaction
from dovetail_dispatcher.testing import (
    Check,
    CheckSkipped,
    ErrorInput,
    OpInfo,
    SampleInput,
    Skip,
    checks,
    current_sample,
    find_op_info,
    floating_types,
    floating_types_and,
    integral_types,
    op_infos,
    operators_without_op_info,
    part_of_samples,
    register_op_infos,
    sample_tensor,
    samples_in_part,
)
from dovetail_kernel import Device, TensorBase, complex64, float16, float32, float64, int64, uint8
from dovetail_kernel import bool as bool_

META = Device("meta")


@pytest.fixture
def library() -> Iterator[Library]:
    made = Library("sampled", "DEF")
    made.define("f(Tensor x) -> Tensor")
    made.define("g.Scalar(Tensor x, int n) -> Tensor")
    yield made
    made._destroy()


def no_samples(*_: Any) -> list[SampleInput]:
    return []


def op_info(name: str = "sampled::f", **fields: Any) -> OpInfo:
    given = {"dtypes": floating_types(), "sample_inputs_func": no_samples, **fields}
    return OpInfo(name=name, **given)


# -- samples ---------------------------------------------------------------------------------------


def test_a_sample_is_called_with_its_input_first() -> None:
    sample = SampleInput(1, 2, 3, key=4)
    assert (sample.input, sample.args, sample.kwargs) == (1, (2, 3), {"key": 4})
    assert sample.arguments == (1, 2, 3)
    assert SampleInput().arguments == ()


def test_a_transformation_reaches_tensors_in_lists_and_keywords_and_keeps_the_name() -> None:
    x = TensorBase.__new__(TensorBase)
    sample = SampleInput([x, 1], (x, None), key=x).with_metadata(name="lists")
    made = sample.transform(lambda tensor: "tensor")
    assert made.arguments == (["tensor", 1], ("tensor", None))
    assert made.kwargs == {"key": "tensor"}
    assert made.name == "lists"
    assert sample.tensors() == [x, x, x]


# -- OpInfo ----------------------------------------------------------------------------------------


def test_a_name_without_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="'f' has no namespace"):
        op_info("f")


def test_an_operator_without_derivative_has_none_of_any_kind() -> None:
    info = op_info(supports_autograd=False)
    assert (info.supports_gradgrad, info.supports_forward_ad) == (False, False)
    assert op_info(supports_gradgrad=False).supports_forward_ad is True


def test_the_operator_is_that_of_the_table(library: Library) -> None:
    assert op_info("sampled::g.Scalar").operator.schema.overload_name == "Scalar"
    assert op_info().op is op_info("sampled::f.default").op
    with pytest.raises(RuntimeError, match="Could not find schema for sampled::h"):
        _ = op_info("sampled::h").operator


def test_sample_and_error_inputs_are_made_by_the_functions() -> None:
    def samples(info: OpInfo, device: Device, dtype: Any, requires_grad: bool) -> Any:
        yield SampleInput(info.name, device, dtype, requires_grad)

    def errors(info: OpInfo, device: Device) -> Any:
        yield ErrorInput(SampleInput(device), ValueError, "no")

    info = op_info(sample_inputs_func=samples, error_inputs_func=errors)
    (sample,) = info.sample_inputs(META, float32, True)
    assert sample.arguments == ("sampled::f", META, float32, True)
    (error,) = info.error_inputs(META)
    assert (error.error_type, error.sample_input.input) == (ValueError, META)
    assert op_info().error_inputs(META) == []


def test_a_skip_leaves_out_a_check_a_dtype_a_device_or_a_sample() -> None:
    whole, by_dtype = Skip("meta", "a"), Skip("vmap", "b", frozenset({float32}))
    by_device, by_sample = Skip("out", "c", device_type="cpu"), Skip("errors", "d", sample="mask")
    info = op_info(skips=(whole, by_dtype, by_device, by_sample))
    assert info.skip_of("meta", META) is whole
    assert info.skip_of("vmap", META) is None
    assert info.skip_of("vmap", META, float32) is by_dtype
    assert info.skip_of("vmap", META, float64) is None
    assert (info.skip_of("out", META), info.skip_of("out", Device("cpu"))) == (None, by_device)
    assert info.skip_of("errors", META, float32, "") is None
    assert info.skip_of("errors", META, float32, "mask") is by_sample


# -- checks ----------------------------------------------------------------------------------------


def test_a_check_is_skipped_with_the_reason_of_the_operator_or_its_own() -> None:
    def fails(info: OpInfo, device: Device) -> None:
        raise AssertionError(f"{info.name} on {device}")

    check = Check("meta", "It fails", fails)
    with pytest.raises(AssertionError, match="sampled::f on meta"):
        check.run(op_info(), META)
    with pytest.raises(CheckSkipped, match="no shapes"):
        check.run(op_info(skips=(Skip("meta", "no shapes"),)), META)
    other = Check("meta", "It fails", fails, lambda info: "not about it")
    with pytest.raises(CheckSkipped, match="not about it"):
        other.run(op_info(), META)


# -- the registry ----------------------------------------------------------------------------------


def test_op_infos_are_loaded_once_in_order_of_their_names(library: Library) -> None:
    loaded: list[str] = []

    def loader() -> list[OpInfo]:
        loaded.append("first")
        return [op_info("sampled::g.Scalar"), op_info()]

    register_op_infos("sampled", loader)
    assert loaded == []
    names = [info.name for info in op_infos("sampled")]
    assert (
        names == [info.name for info in op_infos("sampled")] == ["sampled::f", "sampled::g.Scalar"]
    )
    assert loaded == ["first"]
    assert find_op_info("sampled::f") is op_infos("sampled")[0]
    assert find_op_info("sampled::h") is find_op_info("elsewhere::h") is None


def test_an_operator_without_samples_is_named_with_its_place(library: Library) -> None:
    register_op_infos("sampled", lambda: [op_info()])
    (missing,) = operators_without_op_info("sampled")
    assert missing.startswith("sampled::g.Scalar, defined at ")
    assert "test_op_infos.py" in missing


def test_several_libraries_may_describe_operators_of_a_namespace(library: Library) -> None:
    register_op_infos("sampled", lambda: [op_info()])
    assert len(op_infos("sampled")) == 1
    register_op_infos("sampled", lambda: [op_info("sampled::g.Scalar")])
    assert operators_without_op_info("sampled") == []


@pytest.mark.parametrize(
    ("infos", "complaint"),
    [
        ([], "namespace 'sampled' has no OpInfo. Register them"),
        ([op_info(), op_info()], "two OpInfo describe sampled::f"),
        ([op_info("other::f")], "OpInfo of other::f are registered for namespace 'sampled'"),
    ],
)
def test_what_does_not_fit_is_refused(infos: list[OpInfo], complaint: str) -> None:
    register_op_infos("sampled", lambda: infos)
    with pytest.raises(RuntimeError, match=complaint):
        op_infos("sampled")


def test_a_plugin_that_fails_to_load_leaves_no_samples() -> None:
    with pytest.raises(ZeroDivisionError), transaction():
        register_op_infos("sampled", lambda: [op_info()])
        raise ZeroDivisionError
    with pytest.raises(RuntimeError, match="has no OpInfo"):
        op_infos("sampled")


# -- dtypes and tensors ----------------------------------------------------------------------------


def test_kinds_of_dtypes_are_those_of_their_names() -> None:
    assert floating_types() == {float32, float64}
    assert floating_types_and(float16) == {float16, float32, float64}
    assert int64 in integral_types()
    assert float32 not in integral_types()


class Made:
    """A tensor as far as samples need one."""

    def __init__(self, values: list[Any], dtype: Any, device: Any) -> None:
        self.values, self.dtype, self.requires_grad = values, dtype, False

    def reshape(self, shape: tuple[int, ...]) -> Made:
        self.shape = shape
        return self

    def detach(self) -> Made:
        return self

    def requires_grad_(self) -> None:
        self.requires_grad = True


@pytest.mark.parametrize("asked", [False, True])
def test_a_sample_lies_between_its_limits_and_requires_grad_if_it_can(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TENSOR_FUNCTION, "plug", Made)
    limits: Any = {"low": 2, "high": 5, "requires_grad": asked}
    for dtype in (float32, complex64, int64):
        made = sample_tensor((4, 25), dtype=dtype, **limits)
        parts = [part for each in made.values for part in (each.real, each.imag)]
        parts = parts if dtype is complex64 else made.values
        assert made.shape == (4, 25) and len(made.values) == 100
        assert all(2 <= part < 5 for part in parts)
        assert max(parts) > 4 or (dtype is int64 and max(parts) == 4)
        assert made.requires_grad is (asked and dtype is not int64)


def test_a_tensor_needs_a_library_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TENSOR_FUNCTION, "plug", None)
    with pytest.raises(RuntimeError, match="no library has said how tensors are made"):
        sample_tensor((2,), dtype=float32)


def test_samples_that_may_not_be_negative_are_made_of_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dtypes: list[Any] = []

    class Whole(Made):
        def to(self, dtype: Any) -> Whole:
            dtypes.append((self.dtype, dtype))
            return self

    monkeypatch.setattr(TENSOR_FUNCTION, "plug", Whole)
    values = sample_tensor((50,), dtype=uint8).values
    assert dtypes == [(int64, uint8)]
    assert min(values) >= 0 and all(isinstance(each, int) for each in values)
    assert set(sample_tensor((50,), dtype=bool_).values) == {False, True}


# -- checks ----------------------------------------------------------------------------------------


def test_checks_are_those_that_the_front_end_has(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Check(name, "", lambda info, device: None) for name in ("first", "second"))
    monkeypatch.setattr(CHECKS, "plugs", (lambda: [first], lambda: [second]))
    assert checks() == (first, second)
    monkeypatch.setattr(CHECKS, "plugs", ())
    with pytest.raises(RuntimeError, match="import dovetail"):
        checks()


def test_parts_of_samples_are_all_of_them_and_never_none() -> None:
    samples = [SampleInput(number) for number in range(7)]
    assert samples_in_part(samples, "a") is samples
    found: list[Any] = []
    for part in (1, 2, 3):
        token = part_of_samples.set((part, 3))
        try:
            found += samples_in_part(samples, "a")
            assert len(samples_in_part(samples[:1], "a")) == 1 and samples_in_part([], "a") == []
        finally:
            part_of_samples.reset(token)
    assert sorted(each.input for each in found) == list(range(7))


def test_a_check_that_fails_names_the_sample() -> None:
    sample = SampleInput(1, [2.5, "a"], (3,), key=None).with_metadata(name="odd")

    def failing(info: OpInfo, device: Device) -> None:
        current_sample.set(sample)
        raise ValueError("no")

    with pytest.raises(CheckSkipped, match="of no use"):
        Check("skipped", "", failing, lambda info: "of no use").run(op_info(), META)
    with pytest.raises(ValueError, match="no") as caught:
        Check("failing", "", failing).run(op_info(), META)
    (note,) = caught.value.__notes__
    assert "SampleInput(1, [2.5, 'a'], (3), key=None) (odd)" in note
    assert current_sample.get() is None
