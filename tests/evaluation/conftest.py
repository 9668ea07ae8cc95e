"""Random labelings that are the same in every run, and no limit on their time: a busy machine is not an error."""

from hypothesis import settings

settings.register_profile("likewise", deadline=None, derandomize=True, database=None)
settings.load_profile("likewise")
