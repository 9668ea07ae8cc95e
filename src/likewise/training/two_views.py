"""Two views of each item of a batch, one gently augmented and one strongly."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.datasets import Jitter, Strong
from likewise.distributed import share_at_hand
from likewise.training.batches import Augment
from likewise.training.pile import Pile

NOISE = 0.3  # deviations of each feature: three times the gentle noise


@dataclass(frozen=True)
class TwoViews:
    """Rows of labelled items and the first half of the others are augmented gently, the second half strongly."""

    gentle: Augment | None
    strong: Augment
    labelled: int

    @classmethod
    def of(cls, pile: Pile, labelled: int) -> TwoViews:
        """For images the strong view has other light and a part missing; features have more noise."""
        if pile.inputs.ndim == 4:
            return cls(pile.augment, Strong(pile.augment), labelled)
        return cls(pile.augment, Jitter(NOISE, pile.std or (1.0,) * pile.inputs.shape[1]), labelled)

    def __call__(self, inputs: Tensor, generator: torch.Generator) -> Tensor:
        own = share_at_hand(len(inputs))
        weak, strong = inputs.tensor_split([own.before(self.labelled + (own.whole - self.labelled) // 2)])
        strong = self.strong(strong, generator) if len(strong) else strong
        weak = self.gentle(weak, generator) if self.gentle is not None and len(weak) else weak
        return torch.cat([weak, strong])
