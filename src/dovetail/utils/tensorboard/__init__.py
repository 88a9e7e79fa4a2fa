"""Curves, histograms, images and texts for TensorBoard, as in ``torch.utils.tensorboard``.

Requires the ``tensorboard`` package, which writes the files.
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
