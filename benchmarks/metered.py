"""`python -m benchmarks.metered FILE COMMAND ...` runs a command of likewise and writes what it cost to FILE.

The cost is that of this process alone, which is why it is a process of its own: JSON with the seconds of CPU of all its
threads and the most memory it had.
"""

from __future__ import annotations

import json
import runpy
import sys
import time
from pathlib import Path

from likewise.benchmarks.measure import MEBIBYTE, peak_bytes

if __name__ == "__main__":
    _, file, *sys.argv[1:] = sys.argv
    try:
        runpy.run_module("likewise", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    cost = {"cpu_seconds": round(time.process_time(), 2), "mebibytes": round(peak_bytes() / MEBIBYTE, 1)}
    Path(file).write_text(json.dumps(cost), encoding="utf-8")
    sys.exit(code)
