"""Runs the code generator of the base library even if the modules that it generates are broken.

``python -m dovetail_aten.codegen`` imports the package `dovetail_aten` first, and with it the
generated modules. Here an empty package stands in its place, through which the generator finds its
own modules.
"""

import runpy
import sys
from pathlib import Path
from types import ModuleType

package = ModuleType("dovetail_aten")
package.__path__ = [str(Path(__file__).resolve().parents[1] / "plugins/aten/src/dovetail_aten")]
sys.modules["dovetail_aten"] = package
sys.argv[0] = "python tools/codegen.py"
runpy.run_module("dovetail_aten.codegen", run_name="__main__", alter_sys=False)
