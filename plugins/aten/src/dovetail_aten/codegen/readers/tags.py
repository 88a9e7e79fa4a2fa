"""Tags of an operator: those of its entry, and those that follow from its schema."""

from __future__ import annotations

from dovetail_dispatcher import FunctionSchema

from ..errors import DeclarationError
from .entries import Entry
from .variants import schema_kind

TAGS = (
    "core", "cudagraph_unsafe", "data_dependent_output", "dynamic_output_shape", "flexible_layout",
    "generated",
    "inplace", "inplace_view", "maybe_aliasing_or_mutating", "needs_contiguous_strides",
    "needs_exact_strides",
    "needs_fixed_stride_order", "nondeterministic_bitwise", "nondeterministic_seeded", "out",
    "out_variant",
    "pointwise", "pt2_compliant_tag", "reduction", "view_copy",
)  # fmt: skip


def read_tags(entry: Entry, schema: FunctionSchema) -> tuple[str, ...]:
    """Return the tags of an entry, sorted, with those that follow from its schema. Raises
    DeclarationError for a tag that PyTorch has not, or a random operator without the tag that says
    so.
    """
    tags = set(entry.names("tags"))
    if unknown := sorted(tags - set(TAGS)):
        raise DeclarationError(
            entry.lines["tags"],
            f"illegal tag {', '.join(unknown)}.",
            f"Tags are: {', '.join(TAGS)}.",
        )
    name = schema.name.partition("::")[2]
    random = any([a.real_type.schema_str.startswith("Generator") for a in schema.arguments])
    random = random or "rand" in name or ("dropout" in name and "backward" not in name)
    if random and "nondeterministic_seeded" not in tags:
        raise DeclarationError(
            entry.where,
            f"nondeterministic_seeded tag missing for {name}.",
            "Add it: its results depend on the seed.",
        )
    return with_automatic_tags(tags, schema)


def with_automatic_tags(tags: set[str], schema: FunctionSchema) -> tuple[str, ...]:
    """Return `tags` and those that follow from the schema, sorted."""
    added = {"inplace": {"inplace"}, "out": {"out"}}.get(schema_kind(schema), set())
    if schema.name.startswith("aten::"):
        added.add("pt2_compliant_tag")
    return tuple(sorted(tags | added))
