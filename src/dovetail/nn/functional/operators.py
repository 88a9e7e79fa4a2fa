"""Functions that are operators themselves, without call overhead."""

import dovetail_aten as aten

from ... import _nn

__all__ = [
    "adaptive_avg_pool1d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "bilinear",
    "celu_",
    "channel_shuffle",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_tbc",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "elu_",
    "gelu",
    "hardshrink",
    "hardtanh_",
    "leaky_relu_",
    "linear",
    "logsigmoid",
    "native_channel_shuffle",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "pixel_shuffle",
    "pixel_unshuffle",
    "prelu",
    "relu_",
    "rrelu_",
    "scaled_dot_product_attention",
    "selu_",
    "sigmoid",
    "softplus",
    "softshrink",
    "tanh",
    "threshold_",
]

bilinear = aten.bilinear
adaptive_avg_pool1d = aten.adaptive_avg_pool1d
avg_pool1d = aten.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d
celu_ = aten.celu_
cosine_similarity = aten.cosine_similarity
channel_shuffle = aten.channel_shuffle
conv1d = aten.conv1d
conv2d = aten.conv2d
conv3d = aten.conv3d
conv_tbc = aten.conv_tbc
conv_transpose1d = aten.conv_transpose1d
conv_transpose2d = aten.conv_transpose2d
conv_transpose3d = aten.conv_transpose3d
elu_ = _nn.elu_
gelu = _nn.gelu
hardshrink = aten.hardshrink
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
linear = _nn.linear
logsigmoid = _nn.log_sigmoid
native_channel_shuffle = aten.native_channel_shuffle
one_hot = _nn.one_hot
pad = _nn.pad
pairwise_distance = aten.pairwise_distance
pdist = aten.pdist
pixel_shuffle = aten.pixel_shuffle
pixel_unshuffle = aten.pixel_unshuffle
prelu = aten.prelu
relu_ = aten.relu_
rrelu_ = aten.rrelu_
scaled_dot_product_attention = _nn.scaled_dot_product_attention
selu_ = aten.selu_
sigmoid = aten.sigmoid
softplus = _nn.softplus
softshrink = _nn.softshrink
tanh = aten.tanh
threshold_ = aten.threshold_
