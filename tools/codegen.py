"""Runs the code generator of the base library even if the modules that it generates are broken.

``python -m dovetail_aten.codegen`` imports the package `dovetail_aten` first, and with it the
generated modules.
"""

import runpy
import sys
from pathlib import Path

hook = runpy.run_path(str(Path(__file__).resolve().parents[1] / "plugins/aten/hatch_build.py"))
sys.argv[0] = "python tools/codegen.py"
hook["run_generator"](sys.argv[1:])
