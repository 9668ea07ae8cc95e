"""One training loop for every paradigm. A killed run resumes to the same weights."""

from likewise.storage.records import read_json, write_json
from likewise.storage.run_folder import write_model
from likewise.training.answers import Learned, learn_answers
from likewise.training.batches import Augment, Batch, Batches, LoaderBatches, TensorBatches
from likewise.training.discovery import learn_consensus, mean_probabilities, prototype_classifier
from likewise.training.few_labels import FewLabelsLearned, learn_few_labels
from likewise.training.forward import Objective, resolve_device
from likewise.training.holding_out import hold_out
from likewise.training.inputs import NetworkInputs, evaluating, features_of, predict_logits
from likewise.training.labelled import Measurement, measure, train_labelled
from likewise.training.loop import Evaluate, OnEpoch, TrainingResult, train
from likewise.training.optimizers import MakeOptimizer
from likewise.training.orders import LEAST_STEPS, AnswerOrder, ClassOrder
from likewise.training.settings import Settings
from likewise.training.similarity import EmbeddedItems, embed_items, quarter_turns, train_similarity
from likewise.training.stopping import Diverged, Interrupted
from likewise.training.turns import answer_loss

__all__ = [
    "LEAST_STEPS",
    "AnswerOrder",
    "Augment",
    "Batch",
    "Batches",
    "ClassOrder",
    "Diverged",
    "EmbeddedItems",
    "Evaluate",
    "FewLabelsLearned",
    "Interrupted",
    "Learned",
    "LoaderBatches",
    "MakeOptimizer",
    "Measurement",
    "NetworkInputs",
    "Objective",
    "OnEpoch",
    "Settings",
    "TensorBatches",
    "TrainingResult",
    "answer_loss",
    "embed_items",
    "evaluating",
    "features_of",
    "hold_out",
    "learn_answers",
    "learn_consensus",
    "learn_few_labels",
    "mean_probabilities",
    "measure",
    "predict_logits",
    "prototype_classifier",
    "quarter_turns",
    "read_json",
    "resolve_device",
    "train",
    "train_labelled",
    "train_similarity",
    "write_json",
    "write_model",
]
