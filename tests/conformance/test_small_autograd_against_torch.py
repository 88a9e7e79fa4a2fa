"""Corners of autograd's interface: the same program gives the same result, or the same error, in
PyTorch.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")

import dovetail  # noqa: E402


def leaf(lib: Any) -> Any:
    return lib.ones(2, requires_grad=True)


def name(kind: Any) -> str | None:
    return None if kind is None else str(kind).rpartition(".")[2]


# -- the dtype of gradients ------------------------------------------------------------------------


def backward_in_another_dtype(lib: Any) -> Any:
    x = leaf(lib)
    x.grad_dtype = lib.float64
    for _ in range(2):
        (x * 2).sum().backward()
    return name(x.grad.dtype), x.grad.tolist()


def dtype_chosen_after_forward(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 2).sum()
    x.grad_dtype = lib.float64
    y.backward()
    return name(x.grad.dtype)


def any_dtype(lib: Any) -> Any:
    x = leaf(lib)
    x.grad_dtype = None
    (x * 2).sum().backward()
    first = name(x.grad.dtype)
    x.grad = lib.ones(2, dtype=lib.float64)
    (x * 2).sum().backward()
    return first, name(x.grad.dtype), x.grad.tolist(), name(x.grad_dtype)


def dtype_against_the_gradient(lib: Any) -> Any:
    x = leaf(lib)
    x.grad = lib.ones(2)
    x.grad_dtype = lib.float64


def set_dtype(lib: Any, tensor: Any, value: Any) -> Any:
    tensor.grad_dtype = value
    return name(tensor.grad_dtype)


# -- leaves that stop requiring grad, and tensors detached in place --------------------------------


def leaf_detached(lib: Any) -> Any:
    x = leaf(lib)
    y = (x * 3).sum()
    x.detach_()
    y.backward()
    return x.grad, x.requires_grad


def leaf_switched_off(lib: Any, again: bool) -> Any:
    x, w = leaf(lib), leaf(lib)
    seen: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))
    y = (x * w * 3).sum()
    x.requires_grad_(False)
    if again:
        x.requires_grad_(True)
    y.backward()
    return x.grad if x.grad is None else x.grad.tolist(), w.grad.tolist(), len(seen)


def saved_and_detached(lib: Any, create_graph: bool) -> Any:
    x = leaf(lib)
    y = x * 2
    z = (y * y).sum()
    y.detach_()
    return lib.autograd.grad(z, x, create_graph=create_graph)[0].tolist()


def saved_after_detach(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.detach_().requires_grad_()
    z = (y * y * x).sum()
    z.backward()
    return y.grad.tolist(), x.grad.tolist(), y._version


def written_after_detach(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    y.detach_()
    y.add_(1)
    z = (x * y).sum()
    version = y._version
    y.detach()[0] = 5
    z.backward()
    return version


# -- inference tensors -----------------------------------------------------------------------------


def inference(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.ones(2)


FORMULAS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "mul": lambda lib, x, i: x * i,
    "mul in place": lambda lib, x, i: (x * 1).mul_(i),
    "div": lambda lib, x, i: x / i,
    "div of it": lambda lib, x, i: i / x,
    "add": lambda lib, x, i: x + i,
    "mm": lambda lib, x, i: lib.mm(x[None], i[:, None]),
    "pow": lambda lib, x, i: lib.pow(i, x),
    "atan2": lambda lib, x, i: lib.atan2(x, i),
    "maximum": lambda lib, x, i: lib.maximum(x, i),
    "mse_loss": lambda lib, x, i: lib.nn.functional.mse_loss(x, i),
    "addcmul": lambda lib, x, i: lib.addcmul(x, i, i),
    "layer_norm": lambda lib, x, i: lib.nn.functional.layer_norm(x, (2,), i),
    "embedding": lambda lib, x, i: lib.nn.functional.embedding(i.long() - 1, x[:, None]),
    "cat": lambda lib, x, i: lib.cat([x, i]),
    "of its own": lambda lib, x, i: i.exp(),
}


def views_in_inference_mode(lib: Any) -> Any:
    n, i = lib.ones(2, 2), inference(lib)
    with lib.inference_mode():
        made = [n[0], n.t(), n.detach(), n.view(4), n.clone(), i[0]]
    return [each.is_inference() for each in (*made, i[0], i.view(2, 1), i + 1, i.data, i.detach())]


def view_written_in_inference_mode(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 1
    z = (y * y).sum()
    with lib.inference_mode():
        y[0].add_(1)
    z.backward()


def view_written_later(lib: Any) -> Any:
    n = leaf(lib)
    with lib.inference_mode():
        v = n[0]
    v.add_(1)


def printed_without_graph(lib: Any) -> Any:
    n = leaf(lib)
    with lib.no_grad():
        v = n[0]
        v.add_(1)
    return repr(v)


# -- modes and the engine --------------------------------------------------------------------------


def class_decorated(lib: Any) -> Any:
    @lib.no_grad()
    class Asks:
        def __init__(self) -> None:
            self.during = lib.is_grad_enabled()

        def later(self) -> bool:
            return lib.is_grad_enabled()

    return Asks().during, Asks().later()


def generator_decorated(lib: Any) -> Any:
    @lib.no_grad()
    def steps() -> Any:
        received = yield lib.is_grad_enabled()
        yield received, lib.is_grad_enabled()

    running = steps()
    seen = [next(running), lib.is_grad_enabled(), running.send(7), lib.is_grad_enabled()]
    running.close()
    return seen, lib.is_grad_enabled()


def multithreading(lib: Any) -> Any:
    enabled = lib._C._is_multithreading_enabled
    before = enabled()
    with lib.autograd.grad_mode.set_multithreading_enabled(False):
        inside = enabled()
    lib.autograd.grad_mode.set_multithreading_enabled(False)
    after_call = enabled()
    lib.autograd.grad_mode.set_multithreading_enabled(True)
    return before, inside, after_call, enabled()


def callback(lib: Any) -> Any:
    seen: list[str] = []
    engine = lib.autograd.Variable._execution_engine
    x = leaf(lib)

    def hook(grad: Any) -> None:
        engine.queue_callback(lambda: seen.append(f"end {x.grad.tolist()}"))
        seen.append("hook")

    x.register_hook(hook)
    (x * 2).sum().backward()
    return seen


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "gradients of another dtype": backward_in_another_dtype,
    "the dtype of gradients chosen after forward": dtype_chosen_after_forward,
    "gradients of any dtype": any_dtype,
    "another dtype than that of the gradient": dtype_against_the_gradient,
    "the dtype of gradients": lambda lib: name(leaf(lib).grad_dtype),
    "the dtype of gradients of a non-leaf": lambda lib: (leaf(lib) * 2).grad_dtype,
    "setting it on a non-leaf": lambda lib: set_dtype(lib, leaf(lib) * 2, lib.float64),
    "setting it to a number": lambda lib: set_dtype(lib, leaf(lib), 3),
    "setting it": lambda lib: set_dtype(lib, leaf(lib), lib.float16),
    "a leaf detached in place": leaf_detached,
    "a leaf switched off": lambda lib: leaf_switched_off(lib, False),
    "a leaf switched off and on": lambda lib: leaf_switched_off(lib, True),
    "a saved tensor detached in place": lambda lib: saved_and_detached(lib, False),
    "a saved tensor detached in place, with create_graph": lambda lib: saved_and_detached(
        lib, True
    ),
    "saved after it was detached in place": saved_after_detach,
    "written after it was detached in place": written_after_detach,
    "views in inference mode": views_in_inference_mode,
    "a view written in inference mode": view_written_in_inference_mode,
    "a view of inference mode written later": view_written_later,
    "a view whose graph was lost is printed": printed_without_graph,
    "a class decorated": class_decorated,
    "a generator decorated": generator_decorated,
    "multithreading": multithreading,
    "a callback": callback,
    "a callback outside": lambda lib: lib.autograd.Variable._execution_engine.queue_callback(print),
    "Variable": lambda lib: (
        isinstance(lib.ones(1), lib.autograd.Variable),
        isinstance(1, lib.autograd.Variable),
        lib.autograd.Variable(lib.ones(1), requires_grad=True).requires_grad,
    ),
}
PROGRAMS |= {
    f"an inference tensor in {each}": lambda lib, f=formula: (
        f(lib, leaf(lib), inference(lib)).requires_grad
    )
    for each, formula in FORMULAS.items()
}


def _asks_for_grad(warning: Any) -> bool:
    """Whether it is the warning of reading ``.grad`` of a non-leaf, which PyTorch gives of its own
    reading too.
    """
    return str(warning.message).startswith("The .grad attribute of a Tensor")


def outcome(program: Callable[[Any], Any], lib: Any) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = program(lib)
        except Exception as error:
            result = type(error).__name__, str(error).replace("torch.", "dovetail.")[:35]
    return result, [
        (each.category, str(each.message)[:60]) for each in caught if not _asks_for_grad(each)
    ]


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_program_gives_the_same_in_torch(program: str) -> None:
    assert outcome(PROGRAMS[program], dovetail) == outcome(PROGRAMS[program], torch)


def test_a_decorated_async_function_has_the_mode_while_it_runs() -> None:
    # PyTorch leaves the mode before the coroutine runs.
    @dovetail.no_grad()
    async def asks() -> bool:
        await asyncio.sleep(0)
        return dovetail.is_grad_enabled()

    async def both() -> tuple[bool, bool]:
        return await asks(), dovetail.is_grad_enabled()

    assert asyncio.run(both()) == (False, True)


# -- writing to saved tensors ----------------------------------------------------------------------


def written(
    lib: Any, write: Callable[[Any], object], *, inside: bool = True, clear: bool = False
) -> Any:
    x = leaf(lib)
    y = x * 2
    with lib.autograd.graph.allow_mutation_on_saved_tensors() as context:
        z = (y * y).sum()
        write(y)
        if clear:
            context.clear()
        if inside:
            z.backward()
    if not inside:
        z.backward()
    return x.grad.tolist()


def written_result(lib: Any) -> Any:
    x = leaf(lib)
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x * 2).exp()
        z = y.sin().sum()
        y.zero_()
        z.backward()
    return [round(value, 3) for value in x.grad.tolist()]


def written_and_differentiated_twice(lib: Any) -> Any:
    x = leaf(lib)
    y = x * 2
    with lib.autograd.graph.allow_mutation_on_saved_tensors():
        z = (y * y).sum()
        y.mul_(3)
        (first,) = lib.autograd.grad(z, x, create_graph=True)
        return first.tolist(), lib.autograd.grad(first.sum(), x)[0].tolist()


def allowed_twice(lib: Any) -> None:
    allow = lib.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), allow():
        pass


WRITES: dict[str, Callable[[Any], Any]] = {
    "a write": lambda lib: written(lib, lambda y: y.mul_(3)),
    "a write to a view": lambda lib: written(lib, lambda y: y[0].mul_(3)),
    "no write": lambda lib: written(lib, lambda y: None),
    "backward outside": lambda lib: written(lib, lambda y: y.mul_(3), inside=False),
    "backward after clear": lambda lib: written(lib, lambda y: y.mul_(3), clear=True),
    "a saved result": written_result,
    "two derivatives": written_and_differentiated_twice,
    "inside another one": allowed_twice,
}


@pytest.mark.parametrize("program", WRITES)
def test_saved_tensors_may_be_written_where_that_is_allowed(program: str) -> None:
    assert outcome(WRITES[program], dovetail) == outcome(WRITES[program], torch)
