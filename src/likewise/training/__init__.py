"""One training loop for every paradigm, that a killed run takes up again to the same weights."""

from likewise.training.batches import Batch, Batches, TensorBatches
from likewise.training.divergence import Diverged
from likewise.training.interruption import Interrupted
from likewise.training.labelled import Measured, measure, train_labelled
from likewise.training.loader import LoaderBatches
from likewise.training.loop import Evaluate, TrainingResult, train
from likewise.training.precision import Objective, resolve_device
from likewise.training.predict import evaluating, predict_logits
from likewise.training.run_folder import write_json
from likewise.training.settings import Settings

__all__ = [
    "Batch",
    "Batches",
    "Diverged",
    "Evaluate",
    "Interrupted",
    "LoaderBatches",
    "Measured",
    "Objective",
    "Settings",
    "TensorBatches",
    "TrainingResult",
    "evaluating",
    "measure",
    "predict_logits",
    "resolve_device",
    "train",
    "train_labelled",
    "write_json",
]
