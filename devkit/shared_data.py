"""Where tests find the repository, its sample document, and the data folder that may be next to it."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HANDBOOK = ROOT / "examples" / "harbour-handbook.pdf"
SHARED = ROOT.parent / "shared"

needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder ../shared with the test documents is not there"
)
