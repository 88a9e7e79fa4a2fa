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

INSTRUCTION_SETS: list[str]
INSTRUCTION_SET: str

@final
class CompiledKernel:
    """The compiled kernel of an operator, which hands what it does not compute to a reference."""

    def __new__(cls, operator: str, reference: Callable[..., Any]) -> CompiledKernel: ...
    @property
    def __name__(self) -> str: ...
    @property
    def __wrapped__(self) -> Callable[..., Any]: ...
    @property
    def compiled_at(self) -> str: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def kernel_names() -> list[str]: ...
