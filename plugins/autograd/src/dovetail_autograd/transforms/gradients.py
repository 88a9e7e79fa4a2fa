"""`grad`, `grad_and_value` and `vjp` as transforms of functions, on the ordinary graph.

The inputs are replaced by fresh leaves, and the graph from the results to those is differentiated.
Whatever else that graph leads to, such as the parameters of a surrounding `grad`, gets the
derivative of the gradient recorded; where it leads to nothing else, no more is recorded than is
needed, and nothing that is returned requires grad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, NamedTuple

from dovetail_kernel import TensorBase, set_state, state
from dovetail_kernel.keys import PYTHON_DISPATCH, STATE, inside_transform, outside_inference_mode
from dovetail_kernel.signature import GRAD, NO_GRAD
from dovetail_kernel.tensor import next_transform

from ..engine.active_levels import LEVELS
from ..engine.interface.backward import grad_or_zeros
from ..graph.engine_ops import filled_like, operator
from ..graph.function_node import DIFFERENTIABLE
from ..graph.saved_extras import EXTRAS, refuse_hooks
from ..graph.views import CreationMeta, view_meta
from .argnums import Argnums, checked_argnums, checked_outputs, replaced, selected, split_aux
from .forward_mode.duals import cut, is_tracked, is_tracked_inside, leads_elsewhere
from .pytree import Structure, flatten, map_leaves, unflatten
from .wrapped.captured_writes import as_input
from .wrapped.levels import Level, leaves_levels
from .wrapped.wrapped_calls import is_asked_before

_NO_HOOKS: Final = (
    "dovetail.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks, nor does "
    "linearize. Use autograd.grad where there are hooks."
)


class GradLevel(Level):
    """One reverse-mode transform in force: grad mode is on. It wraps nothing.

    Until `function_returned`, only what the transform knows may be written.

    Attributes
    ----------
    is_silent
        Whether grad mode is off outside.
    """

    variables = (STATE, LEVELS, EXTRAS)

    def change(self) -> GradLevel:
        """Become the innermost level, with grad mode on, and inference mode off."""
        refuse_hooks(_NO_HOOKS)
        self.outer_state = outside = outside_inference_mode(state())
        self.is_silent = bool(outside & NO_GRAD)
        set_state(outside)
        super().change()
        self.number = next_transform()
        set_state(inside_transform(outside))
        return self

    def function_returned(self) -> None:
        """Go on with grad mode on, as outside."""
        set_state((self.outer_state or 0) & ~NO_GRAD)

    def fresh(self, tensor: object) -> TensorBase:
        """Return `tensor` as a new input to differentiate by. Raises ValueError for anything but a
        tensor, and RuntimeError for a tensor whose dtype has no gradients.
        """
        if not isinstance(tensor, TensorBase):
            raise ValueError(
                f"Thing passed to transform API must be Tensor, got {type(tensor)}. Select the "
                "tensors with argnums."
            )
        if not tensor._signature & DIFFERENTIABLE:
            raise RuntimeError(
                "only Tensors of floating point dtype can require gradients, but an input to "
                "differentiate by is "
                f"{tensor.dtype}. Convert it, or leave it out of argnums."
            )
        for level in reversed(self._before):
            if tensor._signature & PYTHON_DISPATCH and is_asked_before(tensor, level):
                continue
            enclosed = level.enclose(tensor)
            if (
                enclosed is not None
            ):  # so that the calls inside of the level record nothing that leads to this leaf
                enclosed._signature |= GRAD
                return enclosed
        if tensor._signature & GRAD and not self.is_silent and tensor.requires_grad:
            alias: TensorBase = operator("alias", "default")(tensor)
            info = view_meta(alias)
            assert info is not None
            # It may not be written in place: that would write to the argument of the caller.
            info.creation_meta = CreationMeta.IN_CUSTOM_FUNCTION
            as_input(alias, self.number)
            return alias
        leaf = cut(tensor)
        leaf._signature |= GRAD
        as_input(leaf, self.number)
        for level in self._before:
            level.leaves.append(leaf)
        return leaf

    def is_tracked(self, outputs: Sequence[TensorBase], inputs: Sequence[TensorBase]) -> bool:
        """Return whether what was computed inside may be differentiated outside.

        That is so if the graph of `outputs` leads to anything that requires grad besides the fresh
        leaves among `inputs`.
        """
        if self.is_silent:
            return False
        return leads_elsewhere(
            outputs, [*self.leaves, *[each for each in inputs if each._grad_fn is None]]
        )


def differentiate(
    outputs: Sequence[TensorBase],
    inputs: Sequence[TensorBase],
    seeds: Sequence[TensorBase] | None,
    tracked: bool,
    retain_graph: bool,
) -> list[TensorBase]:
    """Return the gradients of `outputs` with respect to `inputs`: zeros where there is no
    dependence.

    Parameters
    ----------
    seeds
        The gradients to begin with; None for a scalar.
    tracked
        Whether the gradients themselves are going to be differentiated.
    retain_graph
        Whether the graph is going to be used again.

    Nothing is recorded, and no gradient requires grad, where grad mode is off.
    """
    used = [index for index, output in enumerate(outputs) if output.requires_grad]
    if not used:
        return [filled_like(each, 0) for each in inputs]
    chosen = [outputs[index] for index in used]
    given = None if seeds is None else [seeds[index] for index in used]
    # The physical calls of the backward are recorded if it is: that matters if one outside
    # differentiates them.
    inside = is_tracked_inside(*chosen, *inputs)
    wanted = tracked or inside or any([is_tracked(seed) for seed in given or ()])
    create_graph = wanted and not state() & NO_GRAD
    found = grad_or_zeros(chosen, inputs, given, retain_graph or create_graph, create_graph)
    keeps = create_graph and (tracked or any([seed.requires_grad for seed in given or ()]))
    return found if keeps else [released(each) for each in found]


def released(value: object) -> Any:
    """Return a result without the graph of a transform, where the outside asked for none; what is
    no tensor, as it is.
    """
    if isinstance(value, TensorBase) and value._signature & GRAD:
        return cut(value)
    return value


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func`.

    Parameters
    ----------
    func
        Function that returns a scalar tensor, or with `has_aux`, a scalar tensor and other tensors,
        possibly nested. Its arguments may be nested in tuples, lists and dicts.
    argnums
        Index of the positional argument to differentiate with respect to, or a tuple of indices.
        Default: the first.
    has_aux
        Whether `func` returns ``(output, aux)``. The result is then ``(gradient, aux)``. Default:
        False.

    Returns
    -------
    callable
        A function with the arguments of `func` that returns the gradient with the structure of the
        argument; a tuple for a tuple of `argnums`.

    Raises
    ------
    RuntimeError
        From the returned function, if the output is not a scalar tensor, or if `argnums` is out of
        range.
    ValueError
        If a selected argument contains anything but tensors.
    """

    @wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, _, aux = _differentiated(func, argnums, has_aux, False, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapper


def grad_and_value(
    func: Callable[..., object], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Return a function that computes the gradient of `func` and its value: ``(gradient, value)``.

    With `has_aux` it returns ``(gradient, (value, aux))``. Parameters and errors are those of
    `grad`.
    """

    @wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value, aux = _differentiated(func, argnums, has_aux, True, args, kwargs)
        return gradient, (value, aux) if has_aux else value

    return wrapper


@leaves_levels
def _differentiated(
    func: Callable[..., Any],
    argnums: Argnums,
    has_aux: bool,
    has_value: bool,
    args: tuple[object, ...],
    kwargs: dict[str, object],
) -> tuple[Any, Any, Any]:
    """Return the gradient of `func`, its value and its aux; None for one that is not wanted."""
    call = "grad_and_value(f)(*args)"
    chosen = checked_argnums(argnums, len(args))
    with GradLevel() as level:
        leaves, structure = flatten(selected(args, chosen))
        inputs = [level.fresh(each) for each in leaves]
        returned = func(*replaced(args, chosen, unflatten(structure, inputs)), **kwargs)
        level.function_returned()
        output, aux = split_aux(call, returned) if has_aux else (returned, None)
        _check_scalar(call, output)
        tracked = level.is_tracked([output], inputs)
        gradient = differentiate([output], inputs, None, tracked, retain_graph=False)
        keep = _identity if tracked else released
        value = keep(output) if has_value else None
        aux = map_leaves(keep, aux) if has_aux else None
    return unflatten(structure, gradient), value, aux


def _check_scalar(call: str, output: object) -> None:
    if not isinstance(output, TensorBase):
        raise RuntimeError(f"{call}: Expected f(*args) to return a Tensor, got {type(output)}")
    if output.array.shape:
        raise RuntimeError(
            f"{call}: Expected f(*args) to return a scalar Tensor, got tensor with "
            f"{output.array.ndim} dims. Maybe you "
            "wanted to use the vjp or jacrev APIs instead?"
        )


def _identity(value: object) -> Any:
    return value


class Pullback(NamedTuple):
    """Keeps of a function call that is going to be differentiated the flat inputs and outputs of
    its graph.
    """

    inputs: list[TensorBase]
    input_structure: Structure
    outputs: list[TensorBase]
    output_structure: Structure
    tracked: bool

    def __call__(self, seeds: Sequence[TensorBase]) -> Any:
        """Return the gradients for `seeds`, one per output, in the form of the inputs."""
        before = state()
        try:
            set_state(outside_inference_mode(before))
            found = differentiate(self.outputs, self.inputs, seeds, self.tracked, retain_graph=True)
        finally:
            set_state(before)
        return unflatten(self.input_structure, found)


@leaves_levels
def pull_back(
    func: Callable[..., object],
    args: tuple[object, ...],
    argnums: Argnums,
    has_aux: bool,
    call: str,
) -> tuple[Any, Pullback, Any]:
    """Call `func`, and return its output, how to pull gradients back to the arguments `argnums`,
    and its aux.
    """
    with GradLevel() as level:
        leaves, input_structure = flatten(selected(args, argnums))
        inputs = [level.fresh(each) for each in leaves]
        returned = func(*replaced(args, argnums, unflatten(input_structure, inputs)))
        level.function_returned()
        output, aux = split_aux(call, returned) if has_aux else (returned, None)
        outputs, output_structure = checked_outputs(call, output)
        tracked = level.is_tracked(outputs, inputs)
        keep = _identity if tracked else released
        pullback = Pullback(inputs, input_structure, outputs, output_structure, tracked)
        return map_leaves(keep, output), pullback, map_leaves(keep, aux)


def vjp(func: Callable[..., object], *primals: Any, has_aux: bool = False) -> Any:
    """Call `func`, and return its output and a function that computes vector-Jacobian products.

    Parameters
    ----------
    func
        Function that returns tensors, possibly nested.
    *primals
        Its arguments: tensors, possibly nested.
    has_aux
        Whether `func` returns ``(output, aux)``. Default: False.

    Returns
    -------
    tuple
        ``(output, vjp_fn)``, with `has_aux` ``(output, vjp_fn, aux)``. ``vjp_fn(cotangents)`` takes
        tensors with the structure of the output, and returns a gradient per primal; it may be
        called repeatedly.

    Raises
    ------
    RuntimeError
        If `func` returns anything but tensors, or if the cotangents have another structure than the
        output.
    """
    everything = tuple(range(len(primals)))
    output, pullback, aux = pull_back(func, primals, everything, has_aux, "vjp(f, *primals)")

    def vjp_fn(cotangents: object) -> Any:
        seeds, structure = flatten(cotangents)
        if structure != pullback.output_structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of "
                "outputs to the "
                f"function. cotangents: {structure}, primal output: {pullback.output_structure}"
            )
        return pullback(seeds)

    return (output, vjp_fn, aux) if has_aux else (output, vjp_fn)
