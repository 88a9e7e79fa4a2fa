"""The base operator library of Dovetail: the Tensor class, its operators, and functions that create
tensors.
"""

from dovetail_dispatcher.sockets import TENSOR_FUNCTION
from dovetail_kernel import forward_old_places, hookimpl, plugin_manager, publish, set_tensor_class

from . import library as _library  # first: it defines the operators that the functions look up
from ._generated import functions as functions
from ._generated.functions import *  # noqa: F403 - its __all__ says which
from .backend import matmul_precision as matmul_precision  # for the front end
from .backend.generator import (
    Generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from .backend.generator import default_generator as default_generator
from .backend.generator import rebuild_generator as rebuild_generator  # for pickles
from .calling import return_types as return_types
from .calling.signatures import shown_plainly as shown_plainly  # for the front end
from .tensor.copying import copy_each as copy_each  # for the front end: no name of its users
from .tensor.copying import rebuild_storage as rebuild_storage  # for pickles
from .tensor.copying import rebuild_tensor as rebuild_tensor  # for pickles
from .tensor.copying import storable as storable  # for the front end: no name of its users
from .tensor.creation.factories import (  # type: ignore[no-redef] # with requires_grad and out, which the operators have not
    arange,
    empty,
    empty_strided,
    eye,
    full,
    linspace,
    ones,
    scalar_tensor,
    zeros,
)
from .tensor.creation.like_factories import (
    empty_like,
    full_like,
    ones_like,
    rand_like,
    randint_like,
    randn_like,
    zeros_like,
)
from .tensor.creation.normal import normal  # type: ignore[no-redef]
from .tensor.creation.random_factories import rand, randint, randn, randperm  # type: ignore[no-redef]
from .tensor.creation.strided_factories import empty_permuted, from_file, frombuffer, logspace
from .tensor.creation.windows import (
    bartlett_window,
    blackman_window,
    hamming_window,
    hann_window,
    kaiser_window,
)
from .tensor.data.aliasing import asarray
from .tensor.data.from_data import as_tensor, from_dlpack, from_numpy, tensor
from .tensor.functions.distances import cdist  # type: ignore[assignment]
from .tensor.functions.einsum import einsum  # type: ignore[assignment]
from .tensor.functions.low_rank import lu, pca_lowrank, svd_lowrank
from .tensor.functions.nonzero import nonzero, unravel_index
from .tensor.functions.norms import norm  # type: ignore[no-redef]
from .tensor.functions.predicates import (
    detach_,
    get_device,
    is_inference,
    is_same_size,
    is_signed,
    numel,
)
from .tensor.functions.removed import eig, lstsq, matrix_rank, solve, symeig
from .tensor.functions.unique import unique, unique_consecutive  # type: ignore[assignment]
from .tensor.functions.variadic_functions import (  # type: ignore[assignment, no-redef]
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    broadcast_tensors,
    cartesian_prod,
    chain_matmul,
    meshgrid,
    tensordot,
)
from .tensor.functions.writes import check_write as check_write  # for the front end
from .tensor.legacy_constructors import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from .tensor.printing import get_printoptions, printoptions, set_printoptions
from .tensor.storage_classes.storages import (
    BFloat16Storage,
    BoolStorage,
    ByteStorage,
    CharStorage,
    ComplexDoubleStorage,
    ComplexFloatStorage,
    DoubleStorage,
    FloatStorage,
    HalfStorage,
    IntStorage,
    LongStorage,
    ShortStorage,
    TypedStorage,
    UntypedStorage,
    is_storage,
)
from .tensor.storage_classes.typed_storage import (
    rebuild_typed_storage as rebuild_typed_storage,  # for pickles
)
from .tensor.tensor_class import Tensor

__all__ = [
    "BFloat16Storage",
    "BFloat16Tensor",
    "BoolStorage",
    "BoolTensor",
    "ByteStorage",
    "ByteTensor",
    "CharStorage",
    "CharTensor",
    "ComplexDoubleStorage",
    "ComplexFloatStorage",
    "DoubleStorage",
    "DoubleTensor",
    "FloatStorage",
    "FloatTensor",
    "Generator",
    "HalfStorage",
    "HalfTensor",
    "IntStorage",
    "IntTensor",
    "LongStorage",
    "LongTensor",
    "ShortStorage",
    "ShortTensor",
    "Tensor",
    "TypedStorage",
    "UntypedStorage",
    "arange",
    "as_tensor",
    "asarray",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bartlett_window",
    "blackman_window",
    "block_diag",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "detach_",
    "eig",
    "einsum",
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "eye",
    "from_dlpack",
    "from_file",
    "from_numpy",
    "frombuffer",
    "full",
    "full_like",
    "get_device",
    "get_printoptions",
    "get_rng_state",
    "hamming_window",
    "hann_window",
    "initial_seed",
    "is_inference",
    "is_same_size",
    "is_signed",
    "is_storage",
    "kaiser_window",
    "linspace",
    "logspace",
    "lstsq",
    "lu",
    "manual_seed",
    "matrix_rank",
    "meshgrid",
    "nonzero",
    "norm",
    "normal",
    "numel",
    "ones",
    "ones_like",
    "pca_lowrank",
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
    "set_rng_state",
    "solve",
    "svd_lowrank",
    "symeig",
    "tensor",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "zeros",
    "zeros_like",
]
__all__ += functions.__all__
publish(__name__, "rebuild_generator rebuild_storage rebuild_tensor rebuild_typed_storage")

forward_old_places(__name__, f"{__name__}.old_places")
set_tensor_class(Tensor)
TENSOR_FUNCTION.fill(tensor)


@hookimpl
def dovetail_load() -> None:
    """Register the composite kernels, the choice of backends and the formulas (group
    ``dovetail.libraries``).
    """
    _library.load()


plugin_manager.load_library("aten")
if plugin_manager.provides("dovetail.transforms", "autograd"):
    plugin_manager.load_transform("autograd")
