"""The paths by which PyTorch's programs import layers: ``dovetail.nn.modules.linear.Linear`` is
``dovetail.nn.Linear``.

A path has the layers that `dovetail.nn` has. What else their own modules define, base classes such
as ``_Loss``, is found there too.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dovetail_kernel import defining_module

from . import utils as utils

_NN: Final = __name__.rpartition(".")[0]

_PATHS: Final = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU "
    "LogSigmoid LogSoftmax Mish MultiheadAttention PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid "
    "Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "batchnorm": "BatchNorm1d BatchNorm2d BatchNorm3d LazyBatchNorm1d LazyBatchNorm2d "
    "LazyBatchNorm3d SyncBatchNorm",
    "channelshuffle": "ChannelShuffle",
    "container": "Container ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d LazyConv1d "
    "LazyConv2d LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d",
    "distance": "CosineSimilarity PairwiseDistance",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "flatten": "Flatten Unflatten",
    "fold": "Fold Unfold",
    "instancenorm": "InstanceNorm1d InstanceNorm2d InstanceNorm3d LazyInstanceNorm1d "
    "LazyInstanceNorm2d LazyInstanceNorm3d",
    "lazy": "LazyModuleMixin",
    "linear": "Bilinear Identity LazyLinear Linear",
    "linear_cross_entropy_options": "LinearCrossEntropyOptions",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CosineEmbeddingLoss CrossEntropyLoss "
    "GaussianNLLLoss HingeEmbeddingLoss HuberLoss KLDivLoss L1Loss LinearCrossEntropyLoss MSELoss "
    "MarginRankingLoss MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss "
    "NLLLoss2d PoissonNLLLoss SmoothL1Loss SoftMarginLoss TripletMarginLoss "
    "TripletMarginWithDistanceLoss",
    "module": "Module register_module_backward_hook register_module_buffer_registration_hook "
    "register_module_forward_hook register_module_forward_pre_hook "
    "register_module_full_backward_hook register_module_full_backward_pre_hook "
    "register_module_module_registration_hook register_module_parameter_registration_hook",
    "normalization": "CrossMapLRN2d GroupNorm LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d "
    "ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d "
    "ReplicationPad2d ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "pixelshuffle": "PixelShuffle PixelUnshuffle",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
    "MaxUnpool2d MaxUnpool3d",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "sparse": "Embedding EmbeddingBag",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}
"""What PyTorch has at each path, in alphabetical order."""


class _Path(ModuleType):
    """A module that holds what `dovetail.nn` has of its names."""

    def __init__(self, name: str, names: str) -> None:
        super().__init__(f"{__name__}.{name}", f"The layers of ``{name}`` that `dovetail.nn` has.")
        self._names = names.split()

    @property
    def __all__(self) -> list[str]:
        nn = import_module(_NN)
        return [name for name in self._names if _of(nn, name) is not None]

    def __getattr__(self, name: str) -> Any:
        nn = import_module(_NN)
        if not name.startswith("__"):
            if name in self._names and (found := _of(nn, name)) is not None:
                return found
            for module in self._defining():
                if hasattr(module, name):
                    return getattr(module, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def _defining(self) -> list[ModuleType]:
        """Return the modules that define the layers, and those of the bases that these share."""
        layers = [getattr(self, own) for own in self.__all__]
        names = [
            defining_module(base)
            for layer in layers
            for base in getattr(layer, "__mro__", (layer,))
        ]
        return [sys.modules[name] for name in dict.fromkeys(names) if name.startswith(_NN)]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


def _of(nn: ModuleType, name: str) -> Any:
    """Return what `nn` calls `name`, or, of hooks and lazy modules, what their modules do."""
    found = getattr(nn, name, None)
    for place in ("hooks", "lazy"):
        if found is None:
            found = getattr(import_module(f"{_NN}.{place}"), name, None)
    return found


for _name, _names in _PATHS.items():
    sys.modules[f"{__name__}.{_name}"] = globals()[_name] = _Path(_name, _names)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        paths = [path for path in _PATHS if path != "lazy"]
        layers = [each for path in paths for each in globals()[path].__all__]
        return sorted(each for each in layers if not each.startswith("register_"))
    for path, names in _PATHS.items():
        if name in names.split():
            return getattr(globals()[path], name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
