"""The base operator library of Dovetail: the Tensor class, its operators, and functions that create
tensors.
"""

from dovetail_dispatcher.sockets import TENSOR_FUNCTION
from dovetail_kernel import (
    attach_stub,
    forward_old_places,
    hookimpl,
    plugin_manager,
    set_tensor_class,
)

from . import library as _library  # first: it defines the operators that the functions look up
from .tensor.data.from_data import tensor as tensor  # over the folder of that name
from .tensor.tensor_class import Tensor as _Tensor

__getattr__ = attach_stub(
    __name__,
    publishes=True,
    pickled="make_subclass rebuild_generator rebuild_storage rebuild_tensor rebuild_typed_storage "
    "rebuild_wrapper",
)
forward_old_places(__name__, f"{__name__}.old_places")
set_tensor_class(_Tensor)
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
