"""Labels that say nothing: -1, as scikit-learn has it, and -100, which torch ignores in `nn.CrossEntropyLoss`."""

UNKNOWN = (-1, -100)
