"""NumPy's functions that compute with threads of BLAS, so that a fork waits for them.

What a program computes with NumPy itself is out of reach: a fork meanwhile may hang.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import numpy

from dovetail_kernel.fork_locks import outside_forks

dot: Final[Any] = outside_forks(numpy.dot)
matmul: Final[Any] = outside_forks(numpy.matmul)


class _Namespace(ModuleType):
    """A module with some of its functions replaced."""

    def __init__(self, module: ModuleType, **replaced: Any) -> None:
        super().__init__(module.__name__, module.__doc__)
        self._module = module
        vars(self).update(replaced)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        setattr(self, name, found)
        return found


_LINALG: Final = _Namespace(
    numpy.linalg,
    **{
        name: outside_forks(getattr(numpy.linalg, name))
        for name in numpy.linalg.__all__
        if name != "LinAlgError"
    },
)
NUMPY: Final = _Namespace(numpy, dot=dot, matmul=matmul, linalg=_LINALG)
"""NumPy as the namespace of generic kernels."""
