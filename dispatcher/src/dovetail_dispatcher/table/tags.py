"""Tags: facts about an operator that its schema does not say."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum


class Tag(Enum):
    """Properties that an operator may declare; PyTorch's core tags."""

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"

    def __repr__(self) -> str:
        return f"Tag.{self.name}"


def checked_tags(tags: Tag | Sequence[Tag]) -> tuple[Tag, ...]:
    """Return `tags` as a tuple. Raises TypeError if one of them is not a Tag."""
    given = (tags,) if isinstance(tags, Tag) else tuple(tags)
    for tag in given:
        if not isinstance(tag, Tag):
            raise TypeError(
                f"tags must be Tag or a sequence of Tag, but got {tag!r} of type "
                f"{type(tag).__name__}. Choose from: {', '.join(t.name for t in Tag)}."
            )
    return given
