"""Every operator of the base library has a batching rule, or is made of those that have.

What they give under `vmap` is checked on the samples of each: `test_op_infos.py`.
"""

from __future__ import annotations

import dovetail  # noqa: F401  (defines the operators)
from dovetail_dispatcher.registration.batching_rules import load_batching_rules
from dovetail_dispatcher.table import registry
from dovetail_kernel import DispatchKey

LOOPED = {"_sparse_mm_reduce_impl"}
"""Operators without rule and without decomposition: one call per sample, and a warning. This one is
of sparse matrices, which no transform maps.
"""


def test_these_operators_are_called_sample_by_sample() -> None:
    load_batching_rules()
    looped = set()
    for op in registry.all_operators():
        decomposes = any(
            op.newest(key)
            for key in (
                DispatchKey.CompositeImplicitAutograd,
                DispatchKey.CompositeExplicitAutograd,
            )
        )
        takes_tensors = any("Tensor" in a.real_type.schema_str for a in op.schema.arguments)
        has_out = any(a.is_out for a in op.schema.arguments)
        if (
            op.namespace == "aten"
            and takes_tensors
            and not has_out
            and op.batching_rule is None
            and not decomposes
        ):
            looped.add(op.qualified_name.removeprefix("aten::"))
    assert looped == LOOPED
