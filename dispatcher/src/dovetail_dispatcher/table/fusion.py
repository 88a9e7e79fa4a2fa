"""Fusion: a composite that calls one operator on the result of another, computed and recorded as
one call.

It shows nowhere. The node of a fused call becomes the two nodes of the calls that it stands for as
soon as the graph is looked at, and a call is fused only where nothing stands between: both
operators run the kernels and the derivatives of the library that declares the fusion, on plain
tensors, with no mode or trace around them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)  # frozen and slots would take a millisecond of every import
class Fusion:
    """What ``outer(..., inner(x), ...)`` comes to.

    Attributes
    ----------
    operator
        Qualified name of the composite, ``aten::linear``.
    inner, outer
        Qualified names of the operators that it calls. `inner` has one differentiable input.
    inputs
        Arguments of the composite in the order of the differentiable inputs of `outer`, that of
        `inner` in the place of its result.
    place
        Which of them is the input of `inner`. Where it needs no gradient, nothing is fused.
    unless
        Condition on the arguments, as text of Python, under which the composite itself is to run.
    takes
        Whether a call whose arguments have these dtype bits is fused.
    helper
        Helper of the array kernels that computes the result from `arguments`. Without it the
        backend does not fuse.
    arguments
        Arguments of the composite that `helper` takes.
    kept
        Slots for the further arrays that `helper` returns.
    saved
        What else backward needs: slot of the node to argument of the composite.
    saved_arrays
        Arrays of arguments as they are at the call, whatever array the tensor is given later.
    backward
        ``backward(node, k, edges, grad)``: one gradient per name in `inputs`, as the array body of
        a `Formula`.
    source
        The slot that what `inner` returned is made from; if `inner` is a view, its saved input.
    inner_result
        ``inner_result(node)``: the array of the result of `inner`.
    inner_shape
        ``inner_shape(shape)``: the shape of that, from the shape of its input.
    inner_results, outer_results
        Results that the two nodes save: their slot to the slot in `kept`.
    inner_values, outer_values
        Slots of the two nodes that are the same for every call.
    """

    operator: str
    inner: str
    outer: str
    inputs: tuple[str, ...]
    place: int
    unless: str
    takes: Callable[[int], bool]
    helper: str
    arguments: tuple[str, ...]
    saved: Mapping[str, str]
    backward: Callable[..., Any]
    source: str
    inner_result: Callable[[Any], Any]
    inner_shape: Callable[[tuple[int, ...]], tuple[int, ...]]
    saved_arrays: Mapping[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    inner_results: Mapping[str, str] = field(default_factory=dict)
    outer_results: Mapping[str, str] = field(default_factory=dict)
    inner_values: Mapping[str, Any] = field(default_factory=dict)
    outer_values: Mapping[str, Any] = field(default_factory=dict)
