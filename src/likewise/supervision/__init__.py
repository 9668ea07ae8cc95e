"""Where S comes from: one file per paradigm."""

from likewise.supervision.answers import (
    AnsweringNetwork,
    AnswerKnowledge,
    ClosureKnowledge,
    ConfusedNetwork,
    EvidenceKnowledge,
    Known,
    LabelKnowledge,
    answers_objective,
    confusion_objective,
)
from likewise.supervision.joint import PER_OUTPUT, RecentOutputs, joint_loss, joint_objective
from likewise.supervision.labels import label_objective, named_objective
from likewise.supervision.partitions import (
    consensus,
    consensus_objective,
    cosine_affinity,
    diffusion_rows,
    spectral_opinions,
    spectral_partition,
)
from likewise.supervision.pseudo import pseudo_similarity
from likewise.supervision.smooth import smooth_objective
from likewise.supervision.transfer import contrastive_objective, similarity_objective, transfer_objective

__all__ = [
    "PER_OUTPUT",
    "AnswerKnowledge",
    "AnsweringNetwork",
    "ClosureKnowledge",
    "ConfusedNetwork",
    "EvidenceKnowledge",
    "Known",
    "LabelKnowledge",
    "RecentOutputs",
    "answers_objective",
    "confusion_objective",
    "consensus",
    "consensus_objective",
    "contrastive_objective",
    "cosine_affinity",
    "diffusion_rows",
    "joint_loss",
    "joint_objective",
    "label_objective",
    "named_objective",
    "pseudo_similarity",
    "similarity_objective",
    "smooth_objective",
    "spectral_opinions",
    "spectral_partition",
    "transfer_objective",
]
