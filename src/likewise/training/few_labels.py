"""Learn from a few labels and all items, in two stages (section 5.4 of the paper).

1. Supervised: cross-entropy on the labelled items alone, the same for every method.
2. The method: it continues from there with all items, by alpha L_sup + beta L_reg. SPN-MCL trains its similarity
   network in between, on the labelled items, from the features that the first stage found.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import Jitter, Strong
from likewise.distributed import current_share
from likewise.networks import SimilarityModule
from likewise.supervision import label_objective
from likewise.supervision.semi import Aids, AveragedNetwork, Method, natural_weights, semi_objective
from likewise.training.batches import Augment, Order, TensorBatches
from likewise.training.forward import Objective
from likewise.training.inputs import NetworkInputs
from likewise.training.loop import Evaluate, OnEpoch, TrainingResult, train
from likewise.training.orders import LEAST_STEPS, ClassOrder, FewLabelsOrder
from likewise.training.settings import Settings
from likewise.training.similarity import train_similarity

# Two views of each item of a batch, one gently augmented and one strongly.

NOISE = 0.3  # deviations of each feature: three times the gentle noise


@dataclass(frozen=True)
class TwoViews:
    """Rows of labelled items and the first half of the others are augmented gently, the second half strongly."""

    gentle: Augment | None
    strong: Augment
    labelled: int

    @classmethod
    def of(cls, pile: NetworkInputs, labelled: int) -> TwoViews:
        """For images the strong view has other light and a part missing; features have more noise."""
        if pile.inputs.ndim == 4:
            return cls(pile.augment, Strong(pile.augment), labelled)
        return cls(pile.augment, Jitter(NOISE, pile.std or (1.0,) * pile.inputs.shape[1]), labelled)

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        own = current_share(len(inputs))
        weak, strong = inputs.tensor_split([own.before(self.labelled + (own.n_rows - self.labelled) // 2)])
        strong = self.strong(strong, generator) if len(strong) else strong
        weak = self.gentle(weak, generator) if self.gentle is not None and len(weak) else weak
        return torch.cat([weak, strong])


LABELLED = 4  # in the second stage a batch has one labelled item beside so many of all
HIDDEN = 512  # units of the similarity network's head: a few labels cannot teach it more


@dataclass(frozen=True)
class FewLabelsLearned:
    """The network and how it was trained."""

    network: nn.Module
    first: nn.Module  # as it was after the supervised stage
    history: list[dict[str, float]]  # the column `stage` is 1 or 2
    settings: Settings  # of the last stage, as used
    stages: list[str]  # the folders of the stages that led here


@dataclass(frozen=True)
class Stages:
    """What all stages share; each is a run of the one training loop, with a folder of its own in `run`."""

    pile: NetworkInputs
    labels: Tensor  # int64 (n,): 0 to K - 1, or -1 where unknown
    run: Path | None
    config: Mapping[str, object]
    evaluate: Evaluate | None
    progress: bool
    on_epoch: OnEpoch | None
    names: list[str] = field(default_factory=list)  # of those that were run

    @property
    def labelled(self) -> Tensor:
        return torch.nonzero(self.labels >= 0).flatten()

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    def train(
        self,
        name: str,
        network: nn.Module,
        order: Order,
        objective: Objective,
        settings: Settings,
        *,
        number: int,
        augment: Augment | None,
        **extra: object,
    ) -> TrainingResult:
        pile = self.pile
        batches = TensorBatches(
            pile.inputs,
            self.labels,
            settings.batch_size,
            mean=pile.mean,
            std=pile.std,
            augment=augment,
            order=order,
            views=pile.views if number == 2 else None,
        )
        self.names.append(name)
        return train(
            network,
            batches,
            objective,
            settings,
            n_classes=self.n_classes,
            run=None if self.run is None else self.run / name,
            config={**self.config, **extra},
            evaluate=self._scores(number),
            progress=self.progress and name,
            on_epoch=self.on_epoch,
        )

    def _scores(self, number: int) -> Evaluate:
        def evaluate(network: nn.Module, confusion: np.ndarray) -> dict[str, float]:
            return {"stage": number, **(self.evaluate(network, confusion) if self.evaluate else {})}

        return evaluate


def learn_few_labels(
    network: nn.Module,  # fresh; it is trained in place in the first stage
    pile: NetworkInputs,
    labels: Tensor,
    method: Method,
    supervised: Settings,
    settings: Settings,  # of the second stage
    *,
    epsilon: float,  # VAT's, in the space of the normalised inputs
    run: Path | None = None,
    config: Mapping[str, object] | None = None,
    evaluate: Evaluate | None = None,
    progress: bool = True,
    on_epoch: OnEpoch | None = None,
) -> FewLabelsLearned:
    """Run both stages. A killed run resumes, and another method in the same folder reuses the finished first stage."""
    stages = Stages(pile, labels, run, config or {}, evaluate, progress, on_epoch)
    if method.needs_similarity:  # what it cannot be learned from is refused before anything is learned
        similarity_module(network, supervised)
        ClassOrder(labels, classes=2, items=2)
    first = supervise(stages, network, supervised)
    if method.regulariser is None:
        return FewLabelsLearned(network, network, first.history, first.settings, stages.names)
    similarity = learn_similarity(stages, network, supervised).similarity if method.needs_similarity else None
    regulariser = method.regulariser(Aids(epsilon, similarity))

    a_batch = max(1, settings.batch_size // LABELLED)
    order = FewLabelsOrder(
        stages.labelled, len(labels), settings.batch_size, a_batch=a_batch, views=method.views, seed=settings.seed
    )
    weights = natural_weights(len(stages.labelled), len(labels))
    class_weight = balanced(labels) if method.balanced else None
    learner = copy.deepcopy(network)
    learner = AveragedNetwork(learner) if method.averaged else learner
    extra = {"method": method.name} | ({"epsilon": epsilon} if method.name == "vat" else {})
    result = stages.train(
        method.name,
        learner,
        order,
        semi_objective(regulariser, order.a_batch, weights, class_weight),
        settings,
        number=2,
        augment=TwoViews.of(pile, order.a_batch) if method.strong else pile.augment,
        **extra,
    )
    learned = learner.average.requires_grad_() if isinstance(learner, AveragedNetwork) else learner
    later = [{**row, "epoch": len(first.history) + row["epoch"]} for row in result.history]
    return FewLabelsLearned(learned, network, first.history + later, result.settings, stages.names)


def supervise(stages: Stages, network: nn.Module, settings: Settings) -> TrainingResult:
    """Cross-entropy on the labelled items."""
    order = FewLabelsOrder(
        stages.labelled,
        len(stages.labels),
        settings.batch_size,
        a_batch=settings.batch_size,
        views=0,
        seed=settings.seed,
    )
    objective = label_objective(nn.CrossEntropyLoss())
    return stages.train("supervised", network, order, objective, settings, number=1, augment=stages.pile.augment)


def learn_similarity(stages: Stages, network: nn.Module, settings: Settings) -> SimilarityModule:
    """Same or different, from the labelled items; the features begin as those of the network."""
    similarity = similarity_module(network, settings)
    stages.names.append("similarity")
    train_similarity(
        similarity,
        stages.pile,
        stages.labels,
        settings,
        items=max(2, settings.batch_size // stages.n_classes),
        least_steps=LEAST_STEPS,
        run=None if stages.run is None else stages.run / "similarity",
        config=stages.config,
        progress=stages.progress and "similarity",
        on_epoch=stages.on_epoch,
    )
    return similarity


def similarity_module(network: nn.Module, settings: Settings) -> SimilarityModule:
    """A similarity network whose backbone is a copy of the network, and whose head depends on the seed alone."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return SimilarityModule(copy.deepcopy(network), hidden=HIDDEN)


def balanced(labels: Tensor) -> Tensor:
    """The weight of each class, (K,), that makes the labels of all classes count alike; their mean over labels is 1.

    >>> balanced(torch.tensor([0, 0, 0, 1, -1]))
    tensor([0.6667, 2.0000])
    """
    counts = torch.bincount(labels[labels >= 0])
    return counts.sum() / (len(counts) * counts)
