"""The lowest layer: files that appear whole or not at all, JSON records, run folders, and the machine."""
