"""Fusion: a composite that calls one operator on the result of another, computed and recorded as
one call.

It shows nowhere. The node of a fused call becomes the two nodes of the calls that it stands for as
soon as the graph is looked at, and a call is fused only where nothing stands between: both
operators run the kernels and the derivatives of the library that declares the fusion, on plain
tensors, with no mode or trace around them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, TypeAlias

from ..record import Record

INNER: Final = "result of the inner operator"
"""Stands for the result of the inner operator among the arguments of the outer one."""


class Always(Record):
    """A value that is the same in every fused call."""

    value: Any


Arguments: TypeAlias = Mapping[str, str | Always]
"""What an operator is given, by the names of its arguments."""


class Fusion:
    """The fused form of ``outer(..., inner(x), ...)``. A library defines a subclass for each
    composite.

    Attributes
    ----------
    operator
        Qualified name of the composite, ``aten::linear``.
    inner, outer
        Qualified names of the operators that it calls. `inner` is a view of one differentiable
        input.
    inner_arguments, outer_arguments
        Their arguments: an argument of the composite, an `Always`, or `INNER`. They also contain
        values that a formula saves and that cannot be derived from other values.
    dims
        Required numbers of dimensions of arguments; other calls are not fused.
    helper
        Helper of the array kernels that computes the result from `helper_arguments`, which are
        arguments of the composite. A backend without this helper does not fuse the calls.
    """

    operator: ClassVar[str]
    inner: ClassVar[str]
    inner_arguments: ClassVar[Arguments]
    outer: ClassVar[str]
    outer_arguments: ClassVar[Arguments]
    dims: ClassVar[Mapping[str, int]]
    helper: ClassVar[str]
    helper_arguments: ClassVar[tuple[str, ...]]

    def takes(self, dtype_bits: int) -> bool:
        """Return whether a call with arguments of these dtypes is fused."""
        raise NotImplementedError

    @staticmethod
    def backward(node: object, k: object, edges: object, grad: object) -> Any:
        """Return one gradient per input of `outer`, as the array body of a `Formula`; the gradient
        for `INNER` is that of the input of `inner`.

        A slot of the node named like that argument of the composite contains the input of `inner`,
        and ``<name>_array`` its original array.
        """
        raise NotImplementedError

    def inner_result(self, node: object) -> Any:
        """Return the array that `inner` would return."""
        raise NotImplementedError

    def inner_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the result of `inner` for an input of `shape`."""
        raise NotImplementedError
