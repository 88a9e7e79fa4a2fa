"""Results with names, as ``torch.return_types``: ``dovetail.max(x, 1)`` is a
`dovetail.return_types.max`.
"""

from dovetail_aten import return_types as _types

__all__ = ["max", "max_out", "min", "min_out", "sort", "sort_out", "topk", "topk_out"]

max = _types.max
max_out = _types.max_out
min = _types.min
min_out = _types.min_out
sort = _types.sort
sort_out = _types.sort_out
topk = _types.topk
topk_out = _types.topk_out
