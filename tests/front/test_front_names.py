"""What the front end adds to the packages below: questions, ``_C``, modules that are imported on
demand.
"""

import subprocess
import sys
import warnings

import pytest

import dovetail
from dovetail import _C
from dovetail.library import _scoped_library


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (dovetail.ones(1, dtype=dovetail.int32), 1.5, dovetail.float32),
        (dovetail.ones(1, dtype=dovetail.int32), dovetail.tensor(1), dovetail.int32),
        (dovetail.tensor(1.0, dtype=dovetail.float64), dovetail.ones(1), dovetail.float32),
        (dovetail.ones(1, dtype=dovetail.bool), 1, dovetail.int64),
        (1, 2j, dovetail.complex64),
    ],
)
def test_result_type_promotes_by_the_three_classes(first, second, expected) -> None:
    assert dovetail.result_type(first, second) == expected


def test_numel_counts_elements() -> None:
    assert dovetail.numel(dovetail.ones(2, 3)) == 6


def test_is_inference_tells_where_a_tensor_was_made() -> None:
    with dovetail.inference_mode():
        made = dovetail.ones(1)
    assert dovetail.is_inference(made)
    assert not dovetail.is_inference(dovetail.ones(1))


def test_broadcast_shapes_takes_ints_for_one_dimension() -> None:
    assert dovetail.broadcast_shapes((3, 1), 4) == (3, 4)


def test_broadcast_shapes_refuses_shapes_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="cannot be broadcast to a single shape"):
        dovetail.broadcast_shapes((2,), (3,))


def test_the_default_generator_is_the_one_that_manual_seed_seeds() -> None:
    dovetail.manual_seed(7)
    assert dovetail.default_generator.initial_seed() == 7


def test_modules_are_imported_when_first_asked_for() -> None:
    program = """
import sys, dovetail
for name in ("nn", "optim", "autograd", "library", "cuda", "serialization"):
    assert f"dovetail.{name}" not in sys.modules, name
dovetail.nn.Linear, dovetail.optim.SGD, dovetail.autograd.grad
dovetail.library.Library, dovetail.save
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_autograd_fallback_mode_warn_gives_no_gradient_and_a_warning() -> None:
    before = _C._get_autograd_fallback_mode()
    _C._set_autograd_fallback_mode("warn")
    try:
        with _scoped_library("front_names", "DEF") as library:
            library.define("f(Tensor x) -> Tensor")
            library.array_impl("f", lambda x: x * 3, dovetail.get_default_device().type.upper())
            x = dovetail.ones(2, requires_grad=True)
            y = dovetail.ops.front_names.f(x).sum()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                y.backward()
    finally:
        _C._set_autograd_fallback_mode(before)
    assert x.grad is None
    assert str(caught[0].message).startswith(
        "front_names::f: an autograd kernel was not registered to the Autograd key"
    )


def test_c_has_the_names_of_the_dispatcher() -> None:
    assert _C._dispatch_has_kernel("aten::add.Tensor")
    assert "_dispatch_dump_table" in _C.__all__
