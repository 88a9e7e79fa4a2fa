"""Copies and pickles of tensors, parameters, modules and generators: the same program gives the
same in PyTorch.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from devices import cpu_only_where

import dovetail


def pickled(value: Any, protocol: int = 4) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickled,
    "pickle protocol 2": lambda value: pickled(value, 2),
    "pickle protocol 5": lambda value: pickled(value, 5),
}


def leaf(lib: Any) -> Any:
    x = lib.arange(6.0).reshape(2, 3).clone().requires_grad_()
    x.grad = lib.ones(2, 3)
    x.note = [1]
    return x


def made(lib: Any) -> Any:
    return leaf(lib) * 2


def parameter(lib: Any) -> Any:
    p = lib.nn.Parameter(lib.ones(3))
    p.grad = lib.ones(3)
    p.note = [1]
    return p


def in_inference(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.ones(2)


TENSORS: dict[str, Callable[[Any], Any]] = {
    "a tensor": lambda lib: lib.arange(6).reshape(2, 3),
    "a leaf with a gradient": leaf,
    "what an operator made": made,
    "a view": lambda lib: lib.arange(6.0).reshape(2, 3).t()[1:],
    "an expanded tensor": lambda lib: lib.ones(1).expand(3),
    "every second element": lambda lib: lib.arange(6.0)[1::2],
    "a 0-dim tensor": lambda lib: lib.tensor(3.0),
    "a tensor without elements": lambda lib: lib.empty(0, 3),
    "bfloat16": lambda lib: lib.ones(2).bfloat16(),
    "complex numbers": lambda lib: lib.ones(2, dtype=lib.complex64),
    "the real part": lambda lib: lib.ones(2, dtype=lib.complex64).real,
    "on the meta device": lambda lib: lib.ones(2, 3, device="meta").t(),
    "a parameter": parameter,
    "a buffer": lambda lib: lib.nn.Buffer(lib.ones(2)),
    "an inference tensor": in_inference,
}


def facts(x: Any) -> Any:
    return {
        "type": type(x).__name__,
        "values": None if x.is_meta else x.tolist(),
        "shape": tuple(x.shape),
        "dtype": str(x.dtype).partition(".")[2],
        "device": str(x.device),
        "stride": x.stride(),
        "offset": x.storage_offset(),
        "bytes": x.untyped_storage().nbytes(),
        "requires_grad": x.requires_grad,
        "is_leaf": x.is_leaf,
        "is_inference": x.is_inference(),
        "grad": None if not x.is_leaf or x.grad is None else x.grad.tolist(),
        "attributes": {name: value for name, value in vars(x).items() if not name.startswith("__")},
    }


def outcome(program: Callable[[], Any]) -> Any:
    try:
        return program()
    except Exception as error:
        return type(error), str(error)[:90]


@pytest.mark.cpu_only(reason="the PyTorch of the tests is on the CPU, and the device is compared")
@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", TENSORS)
def test_a_copy_is_what_it_is_in_torch(name: str, way: str) -> None:
    def result(lib: Any) -> Any:
        return facts(COPIES[way](TENSORS[name](lib)))

    assert outcome(lambda: result(dovetail)) == outcome(lambda: result(torch))


def shared_by_a_deepcopy(lib: Any) -> Any:
    x = lib.arange(6.0).reshape(2, 3)
    a, b, c = copy.deepcopy((x, x[0], x.detach()))
    b.fill_(9)
    return a.tolist(), c.tolist(), a._base is None, b._base is None, x.tolist()


def gradient_in_the_memo(lib: Any) -> Any:
    x = leaf(lib)
    a, b = copy.deepcopy([x, x.grad])
    return a.grad is b


def hooks_stay_behind(lib: Any) -> Any:
    x = leaf(lib)
    x.register_hook(lambda grad: grad * 2)
    x.register_post_accumulate_grad_hook(lambda leaf: None)
    y = copy.deepcopy(x)
    return y._backward_hooks, y._post_accumulate_grad_hooks


def shared_parameters(lib: Any) -> Any:
    model = lib.nn.Module()
    model.a, model.b = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)
    model.b.weight = model.a.weight
    twins = copy.deepcopy(model), pickled(model)
    return [twin.a.weight is twin.b.weight for twin in twins]


def module_without_gradients(lib: Any) -> Any:
    model = lib.nn.Linear(2, 2)
    model(lib.ones(1, 2)).sum().backward()
    return [twin.weight.grad for twin in (copy.deepcopy(model), pickled(model))]


def module_with_a_result(lib: Any) -> Any:
    model = lib.nn.Linear(2, 2)
    model.cached = model.weight * 2
    return copy.deepcopy(model)


def say(module: Any, *rest: Any) -> None:
    module.said = getattr(module, "said", 0) + 1


def module_hooks(lib: Any) -> Any:
    model = lib.nn.Linear(2, 2)
    model.handle = model.register_forward_hook(say)
    said = []
    for twin in (copy.deepcopy(model), pickled(model)):
        twin(lib.ones(1, 2))
        twin.handle.remove()
        twin(lib.ones(1, 2))
        said.append(twin.said)
    model(lib.ones(1, 2))
    return said, model.said


def optimizer_goes_on(lib: Any) -> Any:
    model = lib.nn.Linear(2, 1)
    optimizer = lib.optim.Adam(model.parameters(), lr=0.1)
    pairs = [(model, optimizer)]

    def step(model: Any, optimizer: Any) -> Any:
        optimizer.zero_grad()
        model(lib.ones(1, 2)).sum().backward()
        optimizer.step()
        return model.weight.tolist()

    step(model, optimizer)
    pairs += [pickled(pairs[0]), copy.deepcopy(pairs[0])]
    results = [step(*pair) for pair in pairs]
    return results[0] == results[1] == results[2]


def generator_stands_where_it_stood(lib: Any) -> Any:
    generator = lib.Generator().manual_seed(3)
    lib.rand(3, generator=generator)
    lib.randint(9, (3,), generator=generator)
    twins = [
        generator,
        pickled(generator),
        copy.deepcopy(generator),
        copy.copy(generator),
        generator.clone_state(),
    ]
    drawn = [lib.rand(3, generator=twin).tolist() for twin in twins]
    return [each == drawn[0] for each in drawn], [twin.initial_seed() for twin in twins]


def state_of_a_generator(lib: Any) -> Any:
    generator = lib.Generator().manual_seed(3)
    state = generator.get_state()
    first = lib.randn(3, generator=generator).tolist()
    return (
        generator.set_state(state) is generator,
        lib.randn(3, generator=generator).tolist() == first,
        str(state.dtype)[-5:],
    )


def default_state(lib: Any) -> Any:
    state = lib.get_rng_state()
    first = lib.rand(3).tolist()
    lib.set_rng_state(state)
    return lib.rand(3).tolist() == first


def forked(lib: Any) -> Any:
    lib.manual_seed(1)
    first = lib.rand(3).tolist()
    lib.manual_seed(1)
    with lib.random.fork_rng():
        lib.manual_seed(7)
        lib.rand(3)
    return lib.rand(3).tolist() == first


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "deepcopy keeps shared memory": shared_by_a_deepcopy,
    "a gradient is copied once": gradient_in_the_memo,
    "hooks stay behind in a deepcopy": hooks_stay_behind,
    "shared parameters stay shared": shared_parameters,
    "gradients of parameters stay behind": module_without_gradients,
    "a module with a result of an operator": module_with_a_result,
    "hooks of modules and their handles": module_hooks,
    "an optimizer goes on": optimizer_goes_on,
    "a generator stands where it stood": generator_stands_where_it_stood,
    "the state of a generator": state_of_a_generator,
    "the state of the default generator": default_state,
    "a forked default generator": forked,
    "a state that is no tensor": lambda lib: lib.Generator().set_state(3),
    "a state of another dtype": lambda lib: lib.Generator().set_state(lib.ones(3)),
    "a node": lambda lib: pickled(made(lib).grad_fn),
    "a copy of a node": lambda lib: copy.deepcopy(made(lib).grad_fn),
}


@pytest.mark.parametrize(
    "name", cpu_only_where(PROGRAMS, lambda each: "generator" in each, "generators of the cpu")
)
def test_the_program_gives_the_same_in_torch(name: str) -> None:
    ours, theirs = (outcome(lambda lib=lib: PROGRAMS[name](lib)) for lib in (dovetail, torch))
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert ours[0] is theirs[0]
        shared = theirs[1].replace("torch", "dovetail")[:30]
        assert ours[1].startswith(shared)
    else:
        assert ours == theirs


def test_tensors_of_one_pickle_share_memory_as_before() -> None:
    # PyTorch keeps this in torch.save only; in a pickle every tensor gets a storage of its own.
    x = dovetail.arange(4.0)
    a, b = pickled((x, x[2:]))
    b.fill_(9)
    assert a.tolist() == [0, 1, 9, 9]
    assert a.untyped_storage() is b.untyped_storage()


def test_another_dtype_of_the_same_memory_is_pickled() -> None:
    x = dovetail.ones(2, dtype=dovetail.complex64)
    a, b = pickled((x, dovetail.view_as_real(x)))
    b.fill_(2)
    assert a.tolist() == [2 + 2j, 2 + 2j]


def test_a_tensor_over_foreign_memory_with_gaps_is_pickled() -> None:
    whole = numpy.arange(12.0).reshape(3, 4)

    class Foreign:
        __array_interface__ = whole[:, ::2].__array_interface__

    x = dovetail.from_numpy(numpy.asarray(Foreign()))
    assert pickled(x).tolist() == copy.deepcopy(x).tolist() == [[0, 2], [4, 6], [8, 10]]


def test_a_hook_that_is_left_out_is_told() -> None:
    x = leaf(dovetail)
    x.register_hook(say)
    with pytest.warns(
        UserWarning,
        match=r"backward hook <function say.*will not be serialized.*unserializable_hook",
    ):
        pickle.dumps(x)


def test_a_hook_marked_unserializable_is_left_out_quietly() -> None:
    x = leaf(dovetail)
    x.register_hook(dovetail.utils.hooks.unserializable_hook(lambda grad: None))
    pickle.dumps(x)


def test_hooks_of_an_unpickled_module_are_not_replaced_by_new_ones() -> None:
    model = dovetail.nn.Linear(2, 2)
    first = model.register_forward_hook(say)
    twin = pickled(model)
    first.remove()
    handle = twin.register_forward_hook(say)
    twin(dovetail.ones(1, 2))
    assert twin.said == 2
    handle.remove()


def test_a_subclass_is_copied_as_what_it_is() -> None:
    x = dovetail.ones(2).as_subclass(Marked)
    x.mark = 3
    assert [(type(y), y.mark) for y in (copy.copy(x), copy.deepcopy(x), pickled(x))] == [
        (Marked, 3)
    ] * 3


class Marked(dovetail.Tensor):
    """A subclass with nothing of its own."""


@pytest.mark.cpu_only(reason="the state of a generator of the CPU")
def test_a_state_of_another_size_is_refused() -> None:
    with pytest.raises(
        RuntimeError, match=r"Expected a generator state of size 5056 for cpu but found.*to be 3"
    ):
        dovetail.Generator().set_state(dovetail.ones(3, dtype=dovetail.uint8))


def test_the_packet_of_an_operator_is_not_pickled() -> None:
    with pytest.raises(RuntimeError, match=r"is not pickleable\. Pickle its name 'aten::add'"):
        pickle.dumps(dovetail.ops.aten.add)
