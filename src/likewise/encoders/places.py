"""Where features and weights are kept between runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path:
    """LIKEWISE_CACHE, else the platform's folder for caches; it may be deleted at any time."""
    chosen = os.environ.get("LIKEWISE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "likewise" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "likewise"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "likewise"
