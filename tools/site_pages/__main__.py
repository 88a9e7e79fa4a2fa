"""``python tools/site_pages`` writes the drawings and the numbers that the READMEs show."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from site_pages import ROOT
from site_pages.counts import write_counts
from site_pages.drawings import write_drawings

write_drawings(ROOT / "docs" / "drawings")
write_counts(ROOT)
