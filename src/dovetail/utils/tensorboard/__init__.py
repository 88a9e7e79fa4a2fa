"""Curves, histograms, pictures and texts for TensorBoard, as ``torch.utils.tensorboard``.

Files are written by the ``tensorboard`` package, which has to be installed.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("tensorboard") is None:
    raise ModuleNotFoundError(
        "dovetail.utils.tensorboard needs the tensorboard package. Install it: "
        "pip install tensorboard",
        name="tensorboard",
    )

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
