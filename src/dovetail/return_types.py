"""Results with names, as ``torch.return_types``: ``dovetail.max(x, 1)`` is a
`dovetail.return_types.max`.
"""

from dovetail_aten.calling.return_types import (
    max,
    max_out,
    min,
    min_out,
    sort,
    sort_out,
    topk,
    topk_out,
)

__all__ = ["max", "max_out", "min", "min_out", "sort", "sort_out", "topk", "topk_out"]
