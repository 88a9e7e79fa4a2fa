"""Functions that are operators themselves, so that calling them costs nothing more."""

import dovetail_aten as aten

from ... import _nn

__all__ = [
    "gelu",
    "linear",
    "logsigmoid",
    "one_hot",
    "pad",
    "prelu",
    "relu_",
    "sigmoid",
    "softplus",
    "tanh",
]

gelu = _nn.gelu
linear = _nn.linear
logsigmoid = _nn.log_sigmoid
one_hot = _nn.one_hot
pad = _nn.pad
prelu = aten.prelu
relu_ = aten.relu_
sigmoid = aten.sigmoid
softplus = _nn.softplus
tanh = aten.tanh
