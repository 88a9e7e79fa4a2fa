"""The base operator library of Dovetail: the Tensor class, its operators, and the functions that make tensors."""

from dovetail_kernel import hookimpl, plugin_manager, set_tensor_class

from . import library as _library

_library.define_operators()

from ._generated import functions  # noqa: E402 - the functions look their operators up
from ._generated.functions import *  # noqa: E402, F403 - what is imported below replaces some
from ._generated.functions import *  # noqa: E402, F403 - its __all__ says which
from .factories import (  # noqa: E402
    arange,
    empty,
    empty_like,
    empty_strided,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    scalar_tensor,
    zeros,
    zeros_like,
)
from .from_data import as_tensor, asarray, from_numpy, tensor  # noqa: E402
from .generator import Generator, default_generator, initial_seed, manual_seed, seed  # noqa: E402
from .printing import get_printoptions, printoptions, set_printoptions  # noqa: E402
from .tensor import Tensor  # noqa: E402

__all__ = [
    "Generator",
    "Tensor",
    "arange",
    "as_tensor",
    "asarray",
    "default_generator",
    "empty",
    "empty_like",
    "empty_strided",
    "eye",
    "from_numpy",
    "full",
    "full_like",
    "functions",
    "get_printoptions",
    "initial_seed",
    "linspace",
    "manual_seed",
    "ones",
    "ones_like",
    "printoptions",
    "rand",
    "rand_like",
    "randint",
    "randint_like",
    "randn",
    "randn_like",
    "randperm",
    "scalar_tensor",
    "seed",
    "set_printoptions",
    "tensor",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__  # noqa: PLE0605 - a list, generated

__all__ += functions.__all__

set_tensor_class(Tensor)


@hookimpl
def dovetail_load() -> None:
    """Register the composite kernels, the choice of backends and the formulas (group ``dovetail.libraries``)."""
    _library.load()


plugin_manager.load_library("aten")
if plugin_manager.provides("dovetail.transforms", "autograd"):
    plugin_manager.load_transform("autograd")
