"""``dovetail.explain``: which kernels a call would run, also of modules and by the names of
functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from types import MethodType
from typing import Any, overload

from dovetail_aten import Tensor
from dovetail_dispatcher import (
    CustomOpDef,
    Explanation,
    FunctionExplanation,
    OpOverload,
    OpOverloadPacket,
    explain_function,
)
from dovetail_dispatcher import explain as explain_operator

from ..func import functional_call
from ..nn import Module


@overload
def explain(
    op: OpOverload | OpOverloadPacket | CustomOpDef, /, *args: Any, **kwargs: Any
) -> Explanation: ...


@overload
def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation: ...


def explain(op: object, /, *args: Any, **kwargs: Any) -> Explanation | FunctionExplanation:
    """Say which kernels a call would run, and why, without running them.

    Parameters
    ----------
    op
        An operator: ``ops.aten.add``, ``ops.aten.add.Tensor``, or a name, ``"aten::add.Tensor"``,
        ``"aten::add"``. Or a function (``dovetail.add``, ``nn.functional.linear``), a method
        (``Tensor.add``), a module (``nn.Linear(2, 3)``), or a name in this package
        (``"nn.functional.relu"``, ``"Tensor.add"``).
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation
        Of an operator: its keys, kernels and route; of a composite also what it calls.
    FunctionExplanation
        Of a function or module: the operators that it calls, as a tree.

    Raises
    ------
    RuntimeError
        If there is no such operator or name, or the arguments do not fit the schema.
    TypeError
        If it is nothing that can be explained.

    Notes
    -----
    What a composite, function or module calls is found by calling it on the meta device, on tensors
    that have shapes but no data. So the tensors and the parameters stay as they are, and no kernel
    runs on them; what a function does besides (printing, hooks, counting, calls on tensors that it
    captured or makes on another device) it does. What depends on data ends the tree, which says so.

    An operator on CUDA tensors is called once on copies of them, unless it draws random numbers, to
    list the kernels that it launches (`Explanation.launches`). Those of a function or a module are
    listed by `tracing`.

    Examples
    --------
    ::

        print(dovetail.explain(nn.functional.cross_entropy, logits, classes))
        dovetail.explain(model, x).records_graph
        dovetail.explain("nn.functional.prelu", x, weight).calls[0].calls
    """
    if isinstance(op, str) and "::" not in op:
        op = _of_name(op)
    if isinstance(op, MethodType) and op.__name__ == "forward" and isinstance(op.__self__, Module):
        op = op.__self__
    if isinstance(op, Module):
        return _of_module(op, args, kwargs)
    if isinstance(op, type) and issubclass(op, Module):
        raise TypeError(
            f"explain() takes a module, and {op.__name__} is a class of modules. Make one: "
            f"explain({op.__name__}(...), input)."
        )
    explained: Explanation | FunctionExplanation = explain_operator(op, *args, **kwargs)
    return explained


def _of_module(
    module: Module, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> FunctionExplanation:
    own: dict[str, Tensor] = dict(module.named_parameters(remove_duplicate=False))
    own.update(module.named_buffers(remove_duplicate=False))

    def call(own: Any, *args: Any, **kwargs: Any) -> Any:
        return functional_call(module, own, args, kwargs)

    return explain_function(call, (own, *args), kwargs, named=type(module).forward)


def _of_name(name: str) -> Any:
    """Return what this package calls `name`."""
    found: Any = import_module("dovetail")
    parts = name.removeprefix("dovetail.").split(".")
    for position, part in enumerate(parts):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = get_close_matches(part, _names(found), n=1)
            meant = ".".join([*parts[:position], *near])
            raise RuntimeError(
                f"dovetail has no function {name!r}.{f' Did you mean {meant!r}?' if near else ''} "
                "Give a name in this package, such as 'nn.functional.relu' or 'Tensor.add', or "
                "that of an operator: 'aten::relu'."
            ) from None
    if not callable(found):
        raise TypeError(
            f"dovetail.{'.'.join(parts)} is not a function but a {type(found).__name__}. Name a "
            "function, a method or an operator."
        )
    return found


def _names(holder: object) -> list[str]:
    return [name for name in dir(holder) if not name.startswith("_")]
