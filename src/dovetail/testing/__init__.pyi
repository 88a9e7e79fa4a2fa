from dovetail_dispatcher.testing import Check as Check
from dovetail_dispatcher.testing import CheckSkipped as CheckSkipped
from dovetail_dispatcher.testing import ErrorInput as ErrorInput
from dovetail_dispatcher.testing import OpInfo as OpInfo
from dovetail_dispatcher.testing import SampleInput as SampleInput
from dovetail_dispatcher.testing import Skip as Skip
from dovetail_dispatcher.testing import TensorMaker as TensorMaker
from dovetail_dispatcher.testing import all_types as all_types
from dovetail_dispatcher.testing import all_types_and as all_types_and
from dovetail_dispatcher.testing import all_types_and_complex as all_types_and_complex
from dovetail_dispatcher.testing import all_types_and_complex_and as all_types_and_complex_and
from dovetail_dispatcher.testing import checks as checks
from dovetail_dispatcher.testing import complex_types as complex_types
from dovetail_dispatcher.testing import find_op_info as find_op_info
from dovetail_dispatcher.testing import floating_and_complex_types as floating_and_complex_types
from dovetail_dispatcher.testing import (
    floating_and_complex_types_and as floating_and_complex_types_and,
)
from dovetail_dispatcher.testing import floating_types as floating_types
from dovetail_dispatcher.testing import floating_types_and as floating_types_and
from dovetail_dispatcher.testing import integral_types as integral_types
from dovetail_dispatcher.testing import integral_types_and as integral_types_and
from dovetail_dispatcher.testing import op_infos as op_infos
from dovetail_dispatcher.testing import operators_without_op_info as operators_without_op_info
from dovetail_dispatcher.testing import register_op_infos as register_op_infos
from dovetail_dispatcher.testing import sample_tensor as sample_tensor

from .closeness import assert_allclose as assert_allclose
from .closeness import assert_close as assert_close
from .random_tensors import make_tensor as make_tensor
from .runs import Outcome as Outcome
from .runs import check_op_info as check_op_info
from .runs import check_op_infos as check_op_infos
