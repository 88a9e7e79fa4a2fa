"""An operator library as the generator sees it: its folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .entries import FAMILIES
from .errors import DeclarationError, Location

NATIVE_FUNCTIONS = "native_functions.yaml"
DERIVATIVES = "derivatives.yaml"
DEPRECATED = "deprecated.yaml"
DOCUMENTATION = "docs.yaml"
"""Files of a library, or of each of its families."""

BASE = "dovetail_aten"
"""The base library, whose operators every formula may call."""


@dataclass(frozen=True)
class Library:
    """An operator library: its declarations, and the names of its generated modules.

    Attributes
    ----------
    package
        Import name of the library, ``dovetail_aten``.
    folder
        Folder of that package, with ``native_functions.yaml`` and, if anything is differentiable,
        ``derivatives.yaml``; or with a folder ``declarations``, which has them by family.
    derivative_helpers
        Module file, or package folder, with the helper functions of formulas; None if there are
        none.
    composites
        Package folder with the composite kernels; None if there are none.
    tensor_methods
        Whether to write the class of tensor methods.
    """

    package: str
    folder: Path
    derivative_helpers: Path | None = None
    composites: Path | None = None
    tensor_methods: bool = False

    @classmethod
    def of_folder(cls, folder: Path) -> Library:
        """Return the library whose package is `folder`, with what is found there.

        Raises
        ------
        DeclarationError
            If there are no declarations, or both in one file and by family.
        """
        folder = folder.resolve()
        _declarations(folder)
        places = [folder / "derivative_helpers.py", folder / "derivative_helpers"]
        composites = folder / "composites"
        return cls(
            package=folder.name,
            folder=folder,
            derivative_helpers=next((place for place in places if place.exists()), None),
            composites=composites if composites.is_dir() else None,
            tensor_methods=folder.name == BASE,
        )

    @property
    def declarations(self) -> tuple[Path, ...]:
        """The folders with declarations: that of the package, or one per family."""
        return _declarations(self.folder)

    @property
    def is_split(self) -> bool:
        """Whether declarations, and generated modules, are split by family."""
        return self.declarations != (self.folder,)

    @property
    def has_rules(self) -> bool:
        """Whether there are folders with the rules that declarations name or imply."""
        return (self.folder / "meta").is_dir() and (self.folder / "batching").is_dir()

    @property
    def output(self) -> Path:
        """Folder of the generated modules."""
        return self.folder / "_generated"


def _declarations(folder: Path) -> tuple[Path, ...]:
    whole = folder / NATIVE_FUNCTIONS
    families = sorted([path.parent for path in (folder / FAMILIES).glob(f"*/{NATIVE_FUNCTIONS}")])
    if whole.exists() and families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"{FAMILIES}/{families[0].name} declares operators too.",
            "Move its entries to the families.",
        )
    if not whole.exists() and not families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"there is no such file, nor {FAMILIES}/<family>/{NATIVE_FUNCTIONS}.",
            "Give the folder of a package that has it.",
        )
    return tuple(families) or (folder,)
