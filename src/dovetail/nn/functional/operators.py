"""Functions that are operators themselves, so that calling them costs nothing more."""

import dovetail_aten as aten

from ... import _nn

__all__ = [
    "celu_",
    "elu_",
    "gelu",
    "hardshrink",
    "hardtanh_",
    "leaky_relu_",
    "linear",
    "logsigmoid",
    "one_hot",
    "pad",
    "prelu",
    "relu_",
    "rrelu_",
    "selu_",
    "sigmoid",
    "softplus",
    "softshrink",
    "tanh",
    "threshold_",
]

celu_ = aten.celu_
elu_ = _nn.elu_
gelu = _nn.gelu
hardshrink = aten.hardshrink
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
linear = _nn.linear
logsigmoid = _nn.log_sigmoid
one_hot = _nn.one_hot
pad = _nn.pad
prelu = aten.prelu
relu_ = aten.relu_
rrelu_ = aten.rrelu_
selu_ = aten.selu_
sigmoid = aten.sigmoid
softplus = _nn.softplus
softshrink = _nn.softshrink
tanh = aten.tanh
threshold_ = aten.threshold_
