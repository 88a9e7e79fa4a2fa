"""Norms of gradients, clipping, and parameters as one vector, beside PyTorch."""

import pytest
from same_programs import Programs, assert_same, plain

programs = Programs()


def parameter(lib, *gradient):
    made = lib.nn.Parameter(lib.zeros(len(gradient)))
    made.grad = lib.tensor(gradient)
    return made


def clipped(lib, name, gradient, *args, **options):
    made = parameter(lib, *gradient)
    return getattr(lib.nn.utils, name)([made], *args, **options), made.grad


def total(lib, *tensors, **options):
    return lib.nn.utils.get_total_norm([lib.tensor(each) for each in tensors], **options)


for order in (0, 1, 2, 3, float("inf"), -float("inf"), "inf", -1, 0.5):
    programs(f"the norm of order {order!r}")(
        lambda lib, order=order: plain(total(lib, [3.0, 4.0], [0.0, 1.0], norm_type=order), 4)
    )
CALLS = {
    "clips by norm": lambda lib: clipped(lib, "clip_grad_norm_", [3.0, 4.0], 1),
    "clips by norm, not needed": lambda lib: clipped(lib, "clip_grad_norm_", [3.0, 4.0], 9),
    "clips by norm, foreach": lambda lib: clipped(
        lib, "clip_grad_norm_", [3.0, 4.0], 1, foreach=True
    ),
    "clips by the name of old": lambda lib: clipped(lib, "clip_grad_norm", [3.0, 4.0], 1),
    "clips by a norm given": lambda lib: clipped(
        lib, "clip_grads_with_norm_", [3.0, 4.0], 1.0, lib.tensor(10.0)
    ),
    "clips by value": lambda lib: clipped(lib, "clip_grad_value_", [3.0, -4.0], 2),
    "clips nothing": lambda lib: lib.nn.utils.clip_grad_norm_([], 1),
    "clips what a generator does not yield": lambda lib: lib.nn.utils.clip_grad_norm_(
        (p for p in ()), 1
    ),
    "clips no gradients": lambda lib: lib.nn.utils.clip_grad_norm_(
        [lib.nn.Parameter(lib.ones(2))], 1, error_if_nonfinite=True
    ),
    "refuses nan": lambda lib: total(lib, [3.0, float("nan")], error_if_nonfinite=True),
    "refuses infinity": lambda lib: clipped(
        lib, "clip_grad_norm_", [float("inf")], 1, error_if_nonfinite=True
    ),
    "nan is the norm": lambda lib: repr(total(lib, [float("nan")], norm_type=float("inf"))),
    "one tensor": lambda lib: lib.nn.utils.get_total_norm(lib.tensor([3.0, 4.0])),
    "a generator": lambda lib: lib.nn.utils.get_total_norm(x for x in [lib.tensor([3.0, 4.0])]),
    "complex": lambda lib: total(lib, [3.0 + 4.0j]),
    "integers": lambda lib: total(lib, [3, 4]),
    "small integers": lambda lib: lib.nn.utils.get_total_norm([lib.ones(2, dtype=lib.int8)]),
    "nothing": lambda lib: total(lib, []),
    "without a graph": lambda lib: (
        lib.nn.utils.get_total_norm([lib.ones(2, requires_grad=True)]).requires_grad
    ),
    "double and single": lambda lib: plain(
        lib.nn.utils.get_total_norm([lib.ones(2), lib.ones(2).double()]), 4
    ),
    "a vector of parameters": lambda lib: lib.nn.utils.parameters_to_vector(
        [lib.ones(2, 2), lib.zeros(1)]
    ),
    "a vector of none": lambda lib: lib.nn.utils.parameters_to_vector([]),
    "a vector of two devices": lambda lib: (
        lib.nn.utils.parameters_to_vector([lib.ones(2), lib.ones(2, device="meta")]).shape
    ),
    "parameters of a list": lambda lib: lib.nn.utils.vector_to_parameters([1.0], [lib.ones(1)]),
}
for name, call in CALLS.items():
    programs(name)(lambda lib, call=call: plain(call(lib)))


@programs("clips what a generator yields")
def _(lib):
    made = parameter(lib, 3.0, 4.0)
    return plain([lib.nn.utils.clip_grad_norm_((p for p in [made]), 1), made.grad])


@programs("parameters of a vector")
def _(lib):
    a, b = lib.zeros(2), lib.zeros(1, 1)
    lib.nn.utils.vector_to_parameters(lib.arange(5.0), [a, b])
    return plain([a, b])


@programs("parameters of a short vector")
def _(lib):
    return lib.nn.utils.vector_to_parameters(lib.arange(2.0), [lib.zeros(2), lib.zeros(1)])


@pytest.mark.parametrize("name", programs)
def test_gradients_are_clipped_alike(name: str) -> None:
    words = 0 if "short vector" in name or "two devices" in name else 9
    assert_same(programs[name], words=words, warns="old" not in name)
