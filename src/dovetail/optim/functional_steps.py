"""Steps of optimizers with states owned by the caller: the implementation of `adam` and the other
functional forms.

The rule of the optimizer is applied to each parameter; parameters and states change in place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Final

from dovetail_aten import Tensor

from .elementwise import ElementwiseOptimizer
from .options import check_implementation

_PAIRS: Final = {
    "betas": ("beta1", "beta2"),
    "etas": ("etaminus", "etaplus"),
    "step_sizes": ("step_size_min", "step_size_max"),
}
"""Options of two numbers, and the parameters that have them."""

_ACCEPTED: Final = ("has_complex", "has_sparse_grad")

_DOCSTRING: Final = """Take a step of `{kind}` in place, with states owned by the caller.

Parameters
----------
params, {gradients}
    Parameters and their gradients.
{states}
    The states: a list for each, with a value for each parameter. A value None is replaced by the
    initial state. Lists of states that the options do not use are not read.
grad_scale, found_inf
    Must be None: `amp.GradScaler` unscales the gradients before a step.
has_complex, has_sparse_grad
    Accepted and ignored: gradients and parameters have their layouts and dtypes.
{options}
    The options of `{kind}`.

Raises
------
RuntimeError
    If the step counts are not tensors.
IndexError
    If a list is shorter than the list of parameters; nothing is changed then.
AssertionError
    For flags that contradict each other, and for gradients that are still scaled.
"""


def functional_step(
    kind: type[ElementwiseOptimizer],
    lists: str,
    flags: str,
    options: str,
    only: Mapping[str, Callable[[dict[str, Any]], bool]] | None = None,
) -> Callable[..., None]:
    """Return the functional form of an optimizer, with PyTorch's parameters.

    Parameters
    ----------
    kind
        The optimizer whose rule is applied.
    lists
        Names of the lists behind ``params``: the gradients, and the entries of the state in the
        plural, ``state_steps`` for ``step``.
    flags
        Names of the parameters behind these, which have defaults.
    options
        Names of the keyword-only parameters, which have none.
    only
        For lists that only some options use: a function that tells whether the options use them.
    """
    conditions = only or {}
    gradients, *states = lists.split()
    entries = {each: _entry(each) for each in states}
    name = kind.__name__.lower()
    signature = Signature(
        [
            *[_parameter(each, "list[Tensor]") for each in ("params", gradients, *states)],
            *[_parameter(each, *_FLAGS.get(each, ("bool", False))) for each in flags.split()],
            *[
                Parameter(each, Parameter.KEYWORD_ONLY, annotation=_OPTIONS.get(each, "float"))
                for each in options.split()
            ],
        ],
        return_annotation="None",
    )

    def step(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        refuse_scaling(given.pop("grad_scale", None), given.pop("found_inf", None))
        params, grads = given.pop("params"), given.pop(gradients)
        state = {entry: given.pop(name) for name, entry in entries.items()}
        for name, is_read in conditions.items():
            if not is_read(given):
                del state[entries[name]]
        for pair, (first, second) in _PAIRS.items():
            if first in given:
                given[pair] = given.pop(first), given.pop(second)
        for name in _ACCEPTED:
            given.pop(name, None)
        take_steps(kind, params, grads, state, **given)

    step.__name__ = step.__qualname__ = name
    step.__module__ = kind.__module__
    step.__signature__ = signature  # type: ignore[attr-defined]
    rest = {*_ACCEPTED, "grad_scale", "found_inf"}
    step.__doc__ = _DOCSTRING.format(
        kind=kind.__name__,
        gradients=gradients,
        states=", ".join(states),
        options=", ".join([each for each in f"{flags} {options}".split() if each not in rest]),
    )
    return step


def _parameter(name: str, annotation: str, default: object = Parameter.empty) -> Parameter:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(name, kind, default=default, annotation=annotation)


_FLAGS: Final = {
    **dict.fromkeys(("foreach", "fused"), ("bool | None", None)),
    **dict.fromkeys(("grad_scale", "found_inf"), ("Tensor | None", None)),
}
"""Types and defaults of flags that are not bools."""

_OPTIONS: Final = {
    **dict.fromkeys(("lr", "beta1", "beta2"), "float | Tensor"),
    **dict.fromkeys(("amsgrad", "centered", "maximize", "nesterov"), "bool"),
}
"""Types of options that are not numbers alone."""


def _entry(name: str) -> str:
    """Return the entry of a state that a list has a value of for each parameter."""
    return name.removeprefix("state_").removesuffix("_list").removesuffix("s")


def take_steps(
    kind: type[ElementwiseOptimizer],
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    states: dict[str, Any],
    **options: Any,
) -> None:
    """Take a step for each parameter.

    Parameters
    ----------
    kind
        The optimizer whose rule is applied.
    params, grads
        Parameters and their gradients, dense.
    states
        A list for each entry of the state, with a value for each parameter. The rule replaces a
        value None in the list.
    **options
        Options of a parameter group; missing options have their defaults.

    Raises
    ------
    RuntimeError
        If the step counts are not tensors.
    IndexError
        If a list is shorter than the list of parameters; nothing is changed then.
    AssertionError
        For flags that contradict each other, as in the step of the optimizer.
    """
    check_states(params, {"grad": grads, **states}, states.get("step", ()))
    group = {"maximize": False, **kind._later_options, "params": params, **options}
    check_implementation(group, kind._captured)
    rule = kind.__new__(kind)  # without parameters of its own
    for place, parameter in enumerate(params):
        state = {name: values[place] for name, values in states.items()}
        present = {name: value for name, value in state.items() if value is not None}
        rule._take_step(parameter, grads[place], present, group)
        for name, value in present.items():
            if value is not state[name]:
                states[name][place] = value


def refuse_scaling(grad_scale: Tensor | None, found_inf: Tensor | None) -> None:
    """Raise AssertionError if gradients are still scaled: call `GradScaler.unscale_` first."""
    if grad_scale is not None or found_inf is not None:
        raise AssertionError(
            "Expected grad_scale and found_inf to be None. Call GradScaler.unscale_ before."
        )


def check_states(
    params: Sequence[Tensor], lists: dict[str, Any], state_steps: Sequence[Any] = ()
) -> None:
    """Raise RuntimeError if the step counts are not tensors, IndexError if a list is shorter than
    the list of parameters.
    """
    if not all([isinstance(each, Tensor) for each in state_steps]):
        raise RuntimeError(
            "API has changed, `state_steps` argument must contain a list of singleton tensors. "
            "Pass a tensor(0.0) for each parameter."
        )
    for name, values in lists.items():
        if len(values) < len(params):
            raise IndexError(
                f"list index out of range: there are {len(params)} parameters, but {len(values)} "
                f"values of {name!r}. Pass one for each parameter."
            )
