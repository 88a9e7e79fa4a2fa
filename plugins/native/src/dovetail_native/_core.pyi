from collections.abc import Callable
from typing import Any, final

import numpy as np

VERSION: str
SOURCE_HASH: str

@final
class UfuncLoop:
    """A ufunc whose loop is called directly where all operands have one dtype."""

    def __new__(cls, ufunc: np.ufunc) -> UfuncLoop: ...
    @property
    def __name__(self) -> str: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
