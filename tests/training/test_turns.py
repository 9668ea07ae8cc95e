"""Network and answers judge each other: rates by groups, the temperature, resuming, and what is taught in the end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.special import log_softmax
from torch import nn

from likewise.evaluation import calibration
from likewise.networks import build
from likewise.pairs import Pairs, evidence
from likewise.pairs.posterior import infer
from likewise.pairs.rates import AnswersByAnnotator
from likewise.supervision import EvidenceKnowledge
from likewise.training import Learned, NetworkInputs, Settings, hold_out, learn_answers
from likewise.training.turns import ErrorRates, answer_loss, calibrated, evidence_at_first, temperature
from likewise.training.witnesses import answers_one_by_one, odds_by_pairs_of_groups, rates_by_groups, weighed

K = 3
LABELS = np.arange(240) % K
POINTS = (
    torch.randn(240, 2, generator=torch.Generator().manual_seed(0))
    + 5 * torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])[torch.from_numpy(LABELS)]
)
SETTINGS = Settings(batch_size=40, learning_rate=0.01, schedule="one-cycle", precision="float32")
TRUE = Pairs.from_labels(LABELS, n=900)


def said_by(rates: dict[str, tuple[float, float]], seed: int = 0) -> Pairs:
    """Answers of annotators with rates of false different and false same."""
    random = np.random.default_rng(seed)
    names = np.array([*rates])[random.integers(len(rates), size=len(TRUE))]
    e, d = np.array([rates[name] for name in names]).T
    chance = random.random(len(TRUE))
    same = np.where(TRUE.same > 0.5, chance >= e, chance < d)
    return Pairs.from_arrays(np.stack([TRUE.left, TRUE.right], 1), same, annotator=names).index(240)


def fresh(seed: int) -> nn.Module:
    return build("mlp", K, (2,), seed=seed)


def learn(turns: str, run: Path | None = None) -> Learned:
    kept, held_out = hold_out(said_by({"ann": (0.1, 0.1), "bob": (1.0, 1.0)}), 0.1, 0, law=False)
    first = evidence_at_first(kept)
    return learn_answers(
        fresh,
        NetworkInputs(POINTS),
        EvidenceKnowledge(first),
        first,
        held_out,
        SETTINGS,
        epochs=3,
        grouped=K,
        raw_answers=kept,
        turns=turns,  # type: ignore[arg-type]
        run=run,
        config={"answers": 1},
        progress=False,
    )


@pytest.mark.parametrize("turns", ["joint", "pairs"])
def test_turns_find_the_rates_and_resume_to_the_same_network(turns: str, tmp_path: Path) -> None:
    whole = learn(turns, tmp_path)
    assert whole.judgement is not None
    assert np.sort(whole.judgement.rates.false_same) == pytest.approx([0.1, 1.0], abs=0.06)
    assert np.sort(whole.judgement.rates.false_different) == pytest.approx([0.1, 1.0], abs=0.12)
    stages = sorted(path.name for path in tmp_path.iterdir())
    last = tmp_path / ("unlabelled" if "unlabelled" in stages else stages[0])
    for name in ("checkpoint.safetensors", "metrics.json"):
        (last / name).unlink()
    again = learn(turns, tmp_path)
    assert again.history == whole.history
    for name, tensor in whole.network.state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name])


def test_annotators_are_told_apart_by_groups_that_are_not_the_classes() -> None:
    """A tenth of the items is in another group; the rates are of the annotators, not of the groups."""
    rates = {"good": (0.05, 0.05), "hasty": (0.35, 0.02), "guessing": (0.5, 0.5), "reversed": (0.95, 0.95)}
    pairs = said_by(rates)
    group = np.where(np.random.default_rng(1).random(240) < 0.1, (LABELS + 1) % K, LABELS)
    odds, told = answers_one_by_one(pairs, 240, 4)
    together = group[odds.ends[:, 0]] == group[odds.ends[:, 1]]
    (false_different, false_same), _ = rates_by_groups(told, together)
    expected = np.array([rates[name] for name in pairs.annotators]).T
    assert false_different == pytest.approx(expected[0], abs=0.2)
    assert false_same == pytest.approx(expected[1], abs=0.12)
    found = weighed(odds, told, together)
    assert found is not None
    says_same = pairs.same > 0.5
    credit = dict.fromkeys(rates, 0.0) | {
        name: float(np.where(says_same, found.credit, -found.credit)[pairs.annotator == place].mean())
        for place, name in enumerate(pairs.annotators)
    }
    assert credit["good"] > 0.8
    assert abs(credit["guessing"]) < 0.15
    assert credit["reversed"] < -0.6


def test_annotators_who_are_alike_are_not_weighed() -> None:
    odds, told = answers_one_by_one(said_by({"ann": (0.05, 0.05), "bob": (0.05, 0.05)}), 240, 4)
    assert weighed(odds, told, LABELS[odds.ends[:, 0]] == LABELS[odds.ends[:, 1]]) is None


def test_a_network_that_is_too_sure_is_tempered() -> None:
    """Its outputs are wrong for a fifth of the items, though sure; and the same outputs with honest logits are not."""
    random = np.random.default_rng(0)
    seen = np.where(random.random(240) < 0.2, (LABELS + 1) % K, LABELS)
    none = ErrorRates(np.array([0.02]), np.array([0.02]))
    sure, honest = (height * np.eye(K)[seen] for height in (20.0, np.log(0.8 / 0.1)))
    assert temperature(sure, TRUE, none) > 5
    assert temperature(honest, TRUE, none) == pytest.approx(1, abs=0.25)


def test_pair_by_pair_each_answer_meets_its_own_items_alone() -> None:
    pairs = said_by({"ann": (0.1, 0.2)})
    logits = 3 * np.eye(K)[LABELS]
    found = infer(pairs, None, logits, None, (0.1, 0.2), 0.0, joint=False)
    p = np.exp(log_softmax(logits, axis=1))
    before = (p[pairs.left] * p[pairs.right]).sum(axis=1)
    same, different = np.where(pairs.same > 0.5, [[0.9], [0.2]], [[0.1], [0.8]])
    np.testing.assert_allclose(found.same, before * same / (before * same + (1 - before) * different), rtol=1e-9)
    both = np.concatenate([pairs.same, pairs.same])  # twice the same answer about a pair
    ends = np.tile(np.stack([pairs.left, pairs.right], 1), (2, 1))
    twice = infer(Pairs.from_arrays(ends, both).index(240), None, logits, None, (0.1, 0.2), 0.0, joint=False)
    expected = before * same**2 / (before * same**2 + (1 - before) * different**2)
    np.testing.assert_allclose(twice.same[: len(pairs)], expected, rtol=1e-9)


def test_evidence_adds_up_over_annotators() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 0), (1, 2)], [1, 0, 1], annotator=["a", "b", "c"])
    found = evidence(pairs, np.array([0.1, 0.3, 0.5]), np.array([0.2, 0.4, 0.5]))
    odds = (0.9 / 0.2) * (0.3 / 0.6)
    assert found.same == pytest.approx([odds / (1 + odds)])  # c guesses, and is left out
    assert AnswersByAnnotator.of(pairs).n_annotators == 3


@pytest.mark.parametrize("related", [True, False])
def test_untaught_answers_tell_whether_a_classifier_foretells_any(related: bool) -> None:
    """Thirty classes, so that few pairs are the same, and a tenth of the answers wrong."""
    random = np.random.default_rng(0)
    labels = random.integers(30, size=900)
    pairs = Pairs.from_labels(labels, n=3000)
    same = np.where(random.random(3000) < 0.1, 1 - pairs.same, pairs.same)
    ends = np.stack([pairs.left, pairs.right], 1)
    seen = labels if related else random.permutation(labels)
    untaught = np.arange(3000) < 300
    given = Pairs.from_arrays(ends, same).index(900)
    assert infer(given, None, 4 * np.eye(30)[seen], None, None, 0.01, untaught=untaught).supported is related


def too_sure(factor: float) -> tuple[nn.Module, NetworkInputs]:
    """A linear network that is right about three classes that overlap, but surer than it may be."""
    network = build("linear", K, (2,), seed=0)
    points = POINTS + 2 * torch.randn(240, 2, generator=torch.Generator().manual_seed(1))
    centres = 5 * torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    with torch.no_grad():
        network.last.weight.copy_(factor * centres / 5)  # the variance around a centre is 5
        network.last.bias.copy_(-factor * centres.square().sum(1) / 10)
    return network, NetworkInputs(points)


def test_probabilities_are_calibrated_by_held_out_answers() -> None:
    network, pile = too_sure(10.0)
    rates = ErrorRates(np.array([0.01]), np.array([0.01]))
    held_out, others = TRUE.select(np.arange(300)), TRUE.select(np.arange(300, 900))
    tempered = calibrated(network, pile, held_out, rates)
    before, after = (pile.logits(model) for model in (network, tempered))
    assert torch.equal(before.argmax(1), after.argmax(1))
    assert 4 < float(before.norm() / after.norm()) < 16
    (loss, _), (less, _) = (answer_loss(model, pile, others) for model in (network, tempered))
    assert less < loss
    errors = [
        calibration(same_of(logits, others), others.same > 0.5).error
        for logits in (before.softmax(1), after.softmax(1))
    ]
    assert errors[1] < errors[0]


def same_of(p: torch.Tensor, pairs: Pairs) -> np.ndarray:
    return (p[pairs.left] * p[pairs.right]).sum(1).numpy()


def test_what_is_calibrated_or_cannot_be_stays_as_it_is() -> None:
    rates = ErrorRates(np.array([0.01]), np.array([0.01]))
    network, pile = too_sure(10.0)
    assert calibrated(network, pile, TRUE.select(np.arange(20)), rates) is network  # too few answers
    own = nn.Sequential(nn.Linear(2, K))
    assert calibrated(own, pile, TRUE, rates) is own  # no layer is known to be the last
    apart = NetworkInputs(5 * torch.eye(K)[torch.from_numpy(LABELS)])
    sure = build("linear", K, (K,), seed=0)
    with torch.no_grad():
        sure.last.weight.copy_(2 * torch.eye(K))
        sure.last.bias.zero_()
    assert calibrated(sure, apart, TRUE, rates) is sure  # it is right about all answers, and may be sure


def test_who_takes_some_classes_for_others_counts_by_pairs_of_groups() -> None:
    """Ann knows the classes 0 to 2 and takes 3 for 0, 4 for 1, 5 for 2; bob makes no such mistakes."""
    random = np.random.default_rng(0)
    classes = np.arange(300) % 6
    i = random.integers(300, size=4000)
    ends = np.stack([i, (i + random.integers(1, 300, size=4000)) % 300], axis=1)
    by_ann = random.random(4000) < 0.5
    seen = np.where(by_ann[:, None], classes[ends] % 3, classes[ends])
    slip = random.random(4000) < 0.05
    pairs = Pairs.from_arrays(ends, (seen[:, 0] == seen[:, 1]) != slip, annotator=np.where(by_ann, "ann", "bob"))
    odds, told = answers_one_by_one(pairs.index(300), 300, 6)
    groups = np.where(random.random(300) < 0.1, (classes + 1) % 6, classes)
    local, known = odds_by_pairs_of_groups(told, groups[odds.ends], 6)
    ann = told.who == pairs.annotators.index("ann")
    assert (known == ann).all()  # two rates are enough for bob
    true = classes[odds.ends]
    mistaken = ann & (told.same > 0.5) & (true[:, 0] != true[:, 1]) & (true[:, 0] % 3 == true[:, 1] % 3)
    told_apart = ann & (told.same < 0.5) & (true[:, 0] % 3 != true[:, 1] % 3)
    assert abs(local[mistaken]).mean() < 0.8
    assert local[told_apart].mean() < -1.2
    found = weighed(odds, told, groups[odds.ends[:, 0]] == groups[odds.ends[:, 1]], groups)
    assert found is not None
    assert abs(found.credit[mistaken]).mean() < abs(found.credit[told_apart]).mean() < abs(found.credit[~ann]).mean()
