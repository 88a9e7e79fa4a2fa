from .devices import ready_backend as ready_backend
from .error_state import find_error_state as find_error_state
from .generator import default_generator as default_generator
from .matmul_precision import tell_tf32 as tell_tf32
from .namespace_arrays import NamespaceArrays as NamespaceArrays
from .wrapped_numbers import number_as as number_as
