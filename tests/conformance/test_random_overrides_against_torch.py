"""Random expressions over tensors of overriding classes, under random stacks of function modes:
handlers see the same functions, of the same classes and in the same order, on PyTorch and on
Dovetail, and the results are of the same class.

Where the two differ on purpose, and so are not drawn:

- when all handlers decline, an operator raises at once and names them, while PyTorch goes on to
  the reflected operator, and compares by identity at the end; of ``x == None`` none is asked;
- a mode that declines leaves the call to the arguments, where PyTorch calls itself without end;
- `types` has no classes whose ``__torch_function__`` is disabled;
- `output_nr` is a slot, which nobody is asked for, and a loop over a tensor asks for `unbind`
  alone.
"""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from typing import Any

import pytest
import torch

import dovetail

PROGRAMS = int(os.environ.get("DOVETAIL_PROGRAMS", "150"))
FIRST = int(os.environ.get("DOVETAIL_FIRST_PROGRAM", "0"))
KINDS = ("Logging", "Derived", "Plain", "Unit", "Unwrapping", "Tensor", "Parameter")

OF_ONE = """
x.exp()|x.sum()|x.mean()|x.abs()|-x|~(x > 0)|x.T|x.mT|x.shape|x.dtype|x.ndim|x.numel()|x.dim()
x.size()|x.size(0)|x.stride()|x.is_floating_point()|x.requires_grad|x.grad|x.grad_fn|x.is_leaf
x.clone()|x.detach()|x.long()|x.double()|x.float()|x.int()|x.bool()|x.tolist()|x.view(-1)
x.reshape(3, 2)|x.flatten()|x.permute(1, 0)|x.transpose(0, 1)|x.unsqueeze(0)|x.squeeze()|x[0]
x[0, 1]|x[:, 1]|x[x > 0]|x[..., None]|len(x)|x.max()|x.max(0)|x.argmax()|x.sort(0)|x.cumsum(0)
x.softmax(0)|x.relu()|l.relu(x)|F.relu(x)|F.softmax(x, 0)|F.gelu(x)|F.silu(x)
F.dropout(x, 0.5, False)|F.layer_norm(x, (3,))|F.log_softmax(x, 1)|F.linear(x, x)
l.zeros_like(x)|l.ones_like(x)
l.empty_like(x).shape|x.new_zeros(2)|x.new_ones(2, 2)|x.contiguous()|x.is_contiguous()|x.data
x.storage_offset()|x.data_ptr() > 0|x.element_size()|x.itemsize|x.nbytes|x.is_cuda|x.is_cpu
x.is_meta|x.is_sparse|x.is_nested|x.norm()|l.norm(x)|x.std()|x.var(0)|x.any()|x.all()|x.unbind()
x.chunk(2)|x.split(1)|l.split(x, 1)|x.tril()|x.topk(1)|x.to(l.float64)|x.to("cpu")|x.cpu()
x.type()|x.type(l.float64)|l.is_tensor(x)|l.numel(x)|l.is_floating_point(x)|l.diagonal(x)
x.diagonal()
x.clamp(0, 1)|l.clamp(x, min=0)|x.round()|x.isnan()|l.isfinite(x)|x.nonzero()|x.flip(0)|x.roll(1)
x.repeat(2, 1)|x.expand(2, 2, 3)|x.logsumexp(0)|x.prod()|x.amax(1)|x.as_subclass(l.Tensor)
x._version|x.is_inference()|x.retains_grad|x.T.shape|x[0].tolist()|bool(x[0, 0])
float(x[0, 0])|int(x[0, 0])
x[0, 0].item()|complex(x[0, 0])|x[0].sum().item()|1.5 - x|2 / x|2**x|x // 2|x % 2|x**2|abs(x)|3 * x
x + 1|x - 1|x / 2|x > 1|x == 1|x != 1|x <= 2|1 < x|x.add(1, alpha=2)|l.add(x, 1)|x.sub(1)|x.eq(1)
l.add(input=x, other=2)|x.is_complex()|l.Tensor.item(x[0, 0])|l.Tensor.ndim.__get__(x)
""".replace("\n", "|")

OF_TWO = """
x + y|x - y|x * y|x / y|x @ y.T|x > y|x == y|x != y|l.add(x, y)|l.cat([x, y])|l.stack((x, y))
l.where(x > 0, x, y)|x.where(x > 0, y)|l.matmul(x, y.T)|F.mse_loss(x, y)|F.l1_loss(x, y)
x.type_as(y)
x.expand_as(y)|x.view_as(y)|x.is_same_size(y)
l.allclose(x, y)|l.equal(x, y)|x.equal(y)|x.lerp(y, 0.5)
l.maximum(x, y)|l.lerp(x, y, 0.5)|l.addcmul(x, x, y)|l.einsum("ij,ij->i", x, y)|x.to(y)
l.outer(x[0], y[0])|l.result_type(x, y)|x.masked_fill(y > 0, 1.0)|y[x > 0]|l.atan2(x, y)
l.dot(x[0], y[0])|x.pow(y)|x.fmod(y)|l.hstack([x, y])|l.vstack((x, y))|x.__add__(y)|x.__radd__(y)
""".replace("\n", "|")

NAMES = {
    "__rdiv__": "__rtruediv__",
    "bitwise_not": "__invert__",
    "__eq__": "eq",
    "__floordiv__": "floor_divide",
    "__rsub__": "rsub",
    "__pow__": "pow",
}


def name_of(func: Any) -> str:
    name = str(getattr(func, "__name__", func))
    return NAMES.get(name, name)


def classes(lib: Any, log: list[Any]) -> dict[str, Any]:
    """Return the families of subclasses by name; those that look note what they are asked."""

    def note(cls: Any, func: Any, types: Any) -> None:
        overriding = [each.__name__ for each in types if each.__name__ in KINDS[:5]]
        log.append((cls.__name__, name_of(func), overriding))

    class Logging(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            note(cls, func, types)
            return super().__torch_function__(func, types, args, kwargs or {})

    class Derived(Logging):
        pass

    class Plain(lib.Tensor):  # type: ignore[misc,name-defined]
        pass

    class Unit(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            note(cls, func, types)
            result = super().__torch_function__(func, types, args, kwargs or {})
            if isinstance(result, cls):
                result.unit = len(args)
            return result

    class Unwrapping(lib.Tensor):  # type: ignore[misc,name-defined]
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            note(cls, func, types)
            with lib._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    families = (Logging, Derived, Plain, Unit, Unwrapping)
    return {cls.__name__: cls for cls in families}


def outcomes(lib: Any, kinds: tuple[str, str], depth: int, expressions: list[str]) -> list[Any]:
    log: list[Any] = []
    families = classes(lib, log)

    class Mode(lib.overrides.TorchFunctionMode):  # type: ignore[misc,name-defined]
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            log.append(("mode", name_of(func)))
            return func(*args, **(kwargs or {}))

    def made(kind: str, values: Any) -> Any:
        tensor = lib.tensor(values)
        if kind == "Parameter":
            return lib.nn.Parameter(tensor)
        return tensor if kind == "Tensor" else tensor.as_subclass(families[kind])

    x = made(kinds[0], [[1.0, -2.0, 3.0], [4.0, 0.5, -6.0]])
    y = made(kinds[1], [[0.5, 1.0, 2.0], [1.0, -0.3, 4.0]])
    names = {"x": x, "y": y, "l": lib, "F": lib.nn.functional}
    found = []
    for expression in expressions:
        log.clear()
        try:
            with ExitStack() as stack:
                for _ in range(depth):
                    stack.enter_context(Mode())
                result = eval(expression, names)
        except Exception as error:
            kind = type(error).__name__
        else:
            several = isinstance(result, list | tuple) and result
            kind = type(result[0] if several else result).__name__
        found.append((expression, kind, list(log)))
    return found


@pytest.mark.filterwarnings("ignore")
def test_handlers_see_the_same_calls() -> None:
    one, two = ([e.strip() for e in text.split("|") if e.strip()] for text in (OF_ONE, OF_TWO))
    differing = {}
    for seed in range(FIRST, FIRST + PROGRAMS):
        draw = random.Random(seed)
        first = draw.choice(KINDS)
        kinds = first, draw.choice((first, "Tensor"))
        depth = draw.choice((0, 0, 1, 2))
        expressions = [draw.choice(one if draw.random() < 0.7 else two) for _ in range(4)]
        ours, theirs = (outcomes(lib, kinds, depth, expressions) for lib in (dovetail, torch))
        for mine, other in zip(ours, theirs, strict=True):
            if mine != other:
                differing[seed, kinds, depth, mine[0]] = mine[1:], other[1:]
    assert differing == {}
