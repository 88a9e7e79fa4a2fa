"""Records a run of a PyTorch program for ``dovetail compare`` and `dovetail.compare_runs`.

`record` needs PyTorch and Dovetail in one process. The file that it writes can be compared with a
run of the same program in Dovetail anywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dovetail.utils import Fingerprint


def fingerprints(values: Any) -> list[dict[str, Any]]:
    """Return the fingerprints of all tensors in `values`."""
    tensors = [each.detach() for each in tree_leaves(values) if isinstance(each, torch.Tensor)]
    return [
        Fingerprint.of_array(numpy.asarray(each), str(each.dtype).removeprefix("torch.")).as_dict()
        for each in tensors
    ]


class Recorder(TorchDispatchMode):
    """Records every operator that PyTorch runs below autograd."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[dict[str, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator, and note what it got and returned."""
        kwargs = kwargs or {}
        given = fingerprints((args, kwargs))
        returned = func(*args, **kwargs)
        written = args if func._schema.is_mutable else ()
        self.spans.append(
            {
                "name": func.name(),
                "kind": "call",
                "fingerprints": {"given": given, "results": fingerprints((returned, written))},
            }
        )
        return returned


def record(path: str | Path, function: Callable[..., Any], *args: Any) -> Any:
    """Call ``function(*args)``, write its operators to a file, and return its result."""
    with Recorder() as recorder:
        result = function(*args)
    Path(path).write_text(json.dumps({"spans": recorder.spans}), encoding="utf-8")
    return result
