"""Learning from answers: the two stages, the new starts, and what is measured on the way."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likewise import Pairs
from likewise.criteria import MatrixTable
from likewise.datasets import Augmentation, Jitter
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.networks import build
from likewise.supervision import AnswerKnowledge, Known, LabelKnowledge, smooth_objective
from likewise.training import (
    Batch,
    Learned,
    NetworkInputs,
    Settings,
    answer_loss,
    answers,
    grouping,
    hold_out,
    learn_answers,
)
from likewise.training.forward import Objective

K = 3
LABELS = np.arange(240) % K
POINTS = (
    torch.randn(240, 2, generator=torch.Generator().manual_seed(0))
    + 9 * torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[torch.from_numpy(LABELS)]
)
PILE = NetworkInputs(POINTS)
PAIRS = Pairs.from_labels(LABELS, n=300)
SETTINGS = Settings(batch_size=40, learning_rate=0.01, schedule="one-cycle", precision="float32")


def fresh(seed: int) -> nn.Module:
    return build("mlp", K, (2,), seed=seed)


def learn(make: Callable[[int], nn.Module] = fresh, pairs: Pairs = PAIRS, **options: object) -> Learned:
    kept, held_out = hold_out(pairs, 0.1, 0)
    implied = options.get("noise", 0.0) == 0.0
    known = AnswerKnowledge(kept, implied=implied)
    return learn_answers(make, PILE, known, kept, held_out, SETTINGS, epochs=6, progress=False, **options)  # type: ignore[arg-type]


def acc(network: nn.Module) -> float:
    counts = confusion(PILE.logits(network).argmax(1), LABELS, K, K)
    return accuracy(counts, match_outputs(counts))


def test_both_stages_learn() -> None:
    learned = learn()
    assert acc(learned.first) > 0.95
    assert acc(learned.network) > 0.95
    assert learned.starts == 1
    assert [row["epoch"] for row in learned.history] == list(range(1, len(learned.history) + 1))
    assert learned.history[-1]["held_out_accuracy"] > 0.9


def test_items_that_were_not_grouped_are_learned_by_smoothness(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three items are in no group; the border between two classes lies where no items are."""
    monkeypatch.setattr(grouping, "ITEMS", 80)
    monkeypatch.setattr(grouping, "MOST_ITEMS", 80)
    made = []

    def spy(
        known: Known, radius: float, *, neighbours: Callable[[Tensor], Tensor] | None, **options: float
    ) -> Objective:
        made.append((radius, neighbours is not None))
        assert neighbours is None or neighbours(torch.arange(5)).shape == (5, 2)
        return smooth_objective(known, radius, neighbours=neighbours, **options)

    monkeypatch.setattr(answers, "smooth_objective", spy)
    learned = learn(grouped=K, pairs=Pairs.from_labels(LABELS[:70], n=150).index(len(LABELS)))
    radius = pytest.approx(answers.SURROUNDINGS * PILE.spacing(0))
    assert made == [(radius, False), (radius, True)]
    assert learned.grouped
    assert acc(learned.network) > 0.97


def test_without_the_second_stage() -> None:
    learned = learn(unlabelled=False)
    assert learned.network is learned.first
    assert not learned.unlabelled
    assert {row["stage"] for row in learned.history} == {1.0}


class Merging(nn.Module):
    """Can only ever tell two classes apart."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layer(inputs)
        return torch.cat([logits, torch.full((len(logits), 1), -30.0)], 1)


def test_a_start_that_merges_classes_is_begun_anew() -> None:
    made: list[int] = []

    def make(seed: int) -> nn.Module:
        made.append(seed)
        return Merging() if len(made) == 1 else fresh(seed)

    learned = learn(make, unlabelled=False)
    assert learned.starts == 2
    assert len(set(made)) == 2
    assert acc(learned.network) > 0.95


def test_new_starts_end_at_the_limit() -> None:
    learned = learn(lambda seed: Merging(), unlabelled=False, starts=2)
    assert learned.starts == 2
    assert acc(learned.network) < 0.7


def test_a_second_stage_that_does_harm_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pseudo-similarity that says "different" of everything."""
    place = "likewise.supervision.answers.pseudo_similarity"
    monkeypatch.setattr(place, lambda logits, index: MatrixTable(torch.zeros(len(index), len(index))))
    learned = learn()
    assert not learned.unlabelled
    assert learned.network is learned.first
    assert {row["stage"] for row in learned.history} == {1.0}


def test_the_loss_of_answers_against_a_loop() -> None:
    network = fresh(1)
    pairs = Pairs.from_arrays([(0, 1), (2, 3), (4, 7), (0, 7)], [1, 0, 0.8, 0], weight=[1, 2, 3, 4])
    contrary = Pairs.from_arrays(
        [(0, 1), (2, 3), (4, 7), (0, 7)] * 2, [1, 0, 0.8, 0, 0, 1, 0.2, 1], weight=[1, 2, 3, 4, 0, 0, 0, 0]
    )
    p = PILE.logits(network).double().softmax(1).numpy()
    for noise in (0.0, 0.2):
        total, denied = 0.0, 0
        for i, j, same, weight in zip(pairs.left, pairs.right, pairs.same.tolist(), pairs.weight, strict=True):
            s_hat = float(p[i] @ p[j])
            said = noise + (1 - 2 * noise) * s_hat
            total -= weight * (same * math.log(said) + (1 - same) * math.log(1 - said))
            denied += (s_hat > 0.5) != (same > 0.5)
        for given in (pairs, contrary):  # of which half have weight 0
            assert answer_loss(network, PILE, given, noise) == pytest.approx((total / 10, denied / 4), rel=1e-4)


def test_wrong_answers_are_outvoted() -> None:
    pairs = Pairs.from_labels(LABELS, n=3000)
    wrong = np.random.default_rng(1).random(3000) < 0.15
    noisy = Pairs.from_arrays(np.stack([pairs.left, pairs.right], 1), np.where(wrong, 1 - pairs.same, pairs.same))
    learned = learn(pairs=noisy, noise=None)
    assert learned.noise == pytest.approx(0.15, abs=0.05)
    assert acc(learned.network) > 0.95
    assert learned.starts < 3  # it denies the wrong answers, which are no reason to begin anew


def test_stages_resume(tmp_path: Path) -> None:
    whole = learn()
    begun = learn(run=tmp_path)
    (tmp_path / "unlabelled" / "checkpoint.safetensors").unlink()
    (tmp_path / "unlabelled" / "metrics.json").unlink()
    again = learn(run=tmp_path)
    for learned in (begun, again):
        assert learned.history == whole.history
        for name, tensor in whole.network.state_dict().items():
            assert torch.equal(tensor, learned.network.state_dict()[name])


def learn_labels(
    labels: np.ndarray = LABELS, weight: np.ndarray | None = None, settings: Settings = SETTINGS, **options: object
) -> Learned:
    """Every pair is known."""
    known = LabelKnowledge(labels, weight)
    return learn_answers(
        fresh,
        PILE,
        known,
        PAIRS,
        PAIRS,
        settings,
        epochs=3,
        unlabelled=False,
        progress=False,
        **options,  # type: ignore[arg-type]
    )


def objectives_of(monkeypatch: pytest.MonkeyPatch, learn_them: Callable[[], object]) -> set[str]:
    """Which losses a call learns with."""
    used: set[str] = set()
    for name in ("answers_objective", "joint_objective"):
        real = getattr(answers, name)

        def noted(*args: object, name: str = name, real: Callable[..., Objective] = real, **more: object) -> Objective:
            inner = real(*args, **more)

            def objective(network: nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
                used.add(name)
                return inner(network, batch)

            return objective

        monkeypatch.setattr(answers, name, noted)
    learn_them()
    return used


def test_joint_mcl_is_learned_where_no_pair_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert objectives_of(monkeypatch, learn_labels) == {"joint_objective"}


def test_mcl_is_learned_where_pairs_are_unknown_or_count_more_or_may_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.linspace(0.5, 1.5, len(LABELS), dtype=np.float32)
    for case in (
        lambda: learn(unlabelled=False),
        lambda: learn_labels(weight=weight),
        lambda: learn_labels(noise=0.1),
        lambda: learn_labels(noise=None),
    ):
        with monkeypatch.context() as patch:
            assert objectives_of(patch, case) == {"answers_objective"}


@pytest.mark.parametrize("patience", [0, 2])
def test_joint_mcl_resumes_to_the_same_network_without_its_memory(tmp_path: Path, patience: int) -> None:
    settings = dataclasses.replace(SETTINGS, patience=patience)

    def stop(row: dict[str, float]) -> None:
        if row["epoch"] == 2:
            raise KeyboardInterrupt

    whole = learn_labels(settings=settings)
    with pytest.raises(KeyboardInterrupt):
        learn_labels(settings=settings, run=tmp_path, on_epoch=stop)
    resumed = learn_labels(settings=settings, run=tmp_path)
    assert resumed.history == whole.history
    assert resumed.network.state_dict().keys() == fresh(0).state_dict().keys()
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, resumed.network.state_dict()[name])


def test_views_with_gentler_views_are_nearer() -> None:
    strong = Augmentation(degrees=10, crop_padding=4)
    pile = NetworkInputs(torch.zeros(3, 1, 8, 8, dtype=torch.uint8), (0.1,), (0.2,), strong)
    judged = pile.with_gentler_views()
    assert judged.augment == Augmentation(degrees=5, crop_padding=2)
    assert pile.augment is strong
    assert judged.inputs is pile.inputs
    assert (judged.mean, judged.std) == ((0.1,), (0.2,))
    jitter = Jitter(0.1, (1.0,))  # of features, which are judged as they were learned
    assert NetworkInputs(torch.zeros(3, 1), augment=jitter).with_gentler_views().augment is jitter
    assert NetworkInputs(torch.zeros(3, 1)).with_gentler_views().augment is None
