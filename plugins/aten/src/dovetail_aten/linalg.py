"""The operators of linear algebra that are not functions at the top."""

from ._generated.linalg import *  # noqa: F403
from .array_kernels.matrix_checks import LinAlgError as LinAlgError  # noqa: PLC0414 - re-exported
