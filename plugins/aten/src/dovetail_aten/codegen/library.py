"""An operator library as the generator sees it: its folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import DeclarationError, Location
from .readers.entries import FAMILIES

NATIVE_FUNCTIONS = "native_functions.yaml"
DERIVATIVES = "derivatives.yaml"
DEPRECATED = "deprecated.yaml"
DOCUMENTATION = "docs.yaml"
"""Files of a library, or of each of its families."""

OF_FAMILIES: Final = {
    "meta": "shapes",
    "batching": "batching",
    "composites": "composites",
    "derivative_helpers": "formulas",
}
"""Folders of a package with functions that declarations name, and the module, or folder of modules,
that a family has in their place.
"""

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
        ``derivatives.yaml``; or with a folder of `FAMILIES`, which contains these files by family.
    tensor_methods
        Whether to generate the class of tensor methods.
    """

    package: str
    folder: Path
    tensor_methods: bool = False

    @classmethod
    def of_folder(cls, folder: Path) -> Library:
        """Return the library in the package folder `folder`.

        Raises
        ------
        DeclarationError
            If declarations are missing, or are both in one file and by family.
        """
        folder = folder.resolve()
        _declarations(folder)
        return cls(package=folder.name, folder=folder, tensor_methods=folder.name == BASE)

    @property
    def declarations(self) -> tuple[Path, ...]:
        """The folders with declarations: the folder of the package, or one per family."""
        return _declarations(self.folder)

    @property
    def is_split(self) -> bool:
        """Whether declarations, and generated modules, are split by family."""
        return self.declarations != (self.folder,)

    def modules(self, room: str) -> dict[Path, str]:
        """Return the modules of a subpackage, by file: those in the folder `room` of the package,
        or the module of that name, and the corresponding modules of the families (`OF_FAMILIES`).
        """
        files = [self.folder / f"{room}.py", *sorted((self.folder / room).glob("*.py"))]
        name = OF_FAMILIES[room]
        for families in FAMILIES:
            files += sorted((self.folder / families).glob(f"*/{name}.py"))
            files += sorted((self.folder / families).glob(f"*/{name}/*.py"))
        return {path: self._import_name(path) for path in files if path.exists()}

    def _import_name(self, path: Path) -> str:
        inner = path.relative_to(self.folder).with_suffix("")
        return ".".join([self.package, *[part for part in inner.parts if part != "__init__"]])

    @property
    def has_rules(self) -> bool:
        """Whether the library has folders with the rules that declarations name or imply."""
        return (self.folder / "meta").is_dir() and (self.folder / "batching").is_dir()

    @property
    def output(self) -> Path:
        """Folder of the generated modules."""
        return self.folder / "_generated"


def _declarations(folder: Path) -> tuple[Path, ...]:
    whole = folder / NATIVE_FUNCTIONS
    families = [
        path.parent
        for name in FAMILIES
        for path in sorted((folder / name).glob(f"*/{NATIVE_FUNCTIONS}"))
    ]
    if whole.exists() and families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"{families[0].parent.name}/{families[0].name} declares operators too.",
            "Move its entries to the families.",
        )
    if not whole.exists() and not families:
        raise DeclarationError(
            Location(str(whole), 1),
            f"there is no such file, nor {FAMILIES[0]}/<family>/{NATIVE_FUNCTIONS}.",
            "Give the folder of a package that has it.",
        )
    return tuple(families) or (folder,)
