"""Semi-supervised learning: the shared objective, and each regulariser against its equation, written out in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.supervision.semi import (
    METHODS,
    Aids,
    AveragedNetwork,
    SemiBatch,
    Weights,
    find_method,
    natural_weights,
    pi_model,
    pseudo_label,
    pseudo_mcl,
    pseudo_mcl_plus,
    semi_objective,
    spn_mcl,
)
from likewise.training import Batch

LABELLED, ITEMS, K = 3, 4, 5
INPUTS = torch.randn(LABELLED + 2 * ITEMS, 6, generator=torch.Generator().manual_seed(0))
LABELS = torch.tensor([2, 0, 2, *[-1] * (2 * ITEMS)])


def network() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(6, K)


def batch(labels: Tensor = LABELS) -> Batch:
    return Batch(INPUTS, labels, torch.arange(len(INPUTS)))


def test_the_weights_are_those_of_appendix_c() -> None:
    for n_labelled, n_items in ((4000, 50000), (50, 1442), (7, 7)):
        alpha, beta = natural_weights(n_labelled, n_items)
        assert alpha + beta == pytest.approx(1)
        assert beta / alpha == pytest.approx(n_items / n_labelled)


@pytest.mark.parametrize("class_weight", [None, [0.5, 1.0, 2.0, 1.0, 1.0]])
def test_cross_entropy_of_the_labelled_rows_and_the_regulariser_of_the_rest(class_weight: list[float] | None) -> None:
    shown: list[SemiBatch] = []

    def regulariser(seen: SemiBatch) -> Tensor:
        shown.append(seen)
        return seen.item_logits.sum()

    model = network()
    told = None if class_weight is None else torch.tensor(class_weight)
    loss, logits = semi_objective(regulariser, LABELLED, Weights(0.25, 0.5), told)(model, batch())
    values = model(INPUTS).double().tolist()
    counts = class_weight or [1.0] * K
    total = sum(
        counts[label] * -math.log(math.exp(row[label]) / sum(map(math.exp, row)))
        for row, label in zip(values, [2, 0, 2], strict=False)
    )
    supervised = total / sum(counts[label] for label in (2, 0, 2))
    expected = 0.25 * supervised + 0.5 * sum(sum(row) for row in values[LABELLED:])
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    assert torch.equal(logits, model(INPUTS))
    (seen,) = shown
    assert torch.equal(seen.items, INPUTS[LABELLED:])
    assert seen.network is model


def test_labels_of_further_rows_are_not_learned_from() -> None:
    objective = semi_objective(lambda seen: seen.logits.sum() * 0, LABELLED, Weights(1, 1))
    known = LABELS.clone()
    known[LABELLED:] = 4
    assert objective(network(), batch())[0].item() == objective(network(), batch(known))[0].item()


def test_other_items_are_seen_beside_the_same_labelled_rows() -> None:
    norm = nn.BatchNorm1d(6, affine=False)
    with torch.no_grad():
        seen = SemiBatch(norm, INPUTS, norm(INPUTS), LABELLED)
        assert torch.equal(seen.again(seen.items), seen.item_logits)
        others = seen.items + 3
        whole = norm(torch.cat([INPUTS[:LABELLED], others]))
        assert torch.equal(seen.again(others), whole[LABELLED:])
    assert torch.equal(seen.items, INPUTS[LABELLED:])  # as it was


def test_an_averaged_network_follows_once_a_step() -> None:
    model = AveragedNetwork(network())
    objective = semi_objective(lambda seen: seen.logits.sum() * 0, LABELLED, Weights(1, 1))
    for steps in (1, 2):
        objective(model, batch())
        assert int(model.steps) == steps


def test_the_average_is_the_recursion() -> None:
    model = AveragedNetwork(nn.Linear(1, 1, bias=False).double())
    expected = float(model.average.weight)
    for t, weight in enumerate([3.0, -1.0, 4.0, 1.5]):
        model.network.weight.data.fill_(weight)
        model.follow()
        d = min(0.999, (1 + t) / (10 + t))
        expected = d * expected + (1 - d) * weight
        assert abs(float(model.average.weight) - expected) < 1e-12


def test_it_reaches_back_over_a_thousand_steps_at_most() -> None:
    model = AveragedNetwork(nn.Linear(1, 1, bias=False).double())
    model.steps += 10**6
    model.average.weight.data.fill_(0)
    model.network.weight.data.fill_(1)
    model.follow()
    assert abs(float(model.average.weight) - 0.001) < 1e-12


def test_the_network_is_trained_and_the_average_answers() -> None:
    torch.manual_seed(0)
    model = AveragedNetwork(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    inputs = torch.randn(8, 2)
    model.network[0].weight.data.add_(1)
    model.train()
    assert not model.average.training
    before = {name: value.clone() for name, value in model.average.state_dict().items()}
    model(inputs)
    assert all(torch.equal(value, before[name]) for name, value in model.average.state_dict().items())
    model.eval()
    assert torch.equal(model(inputs), model.average(inputs))
    assert not torch.equal(model(inputs), model.network(inputs))
    wanted = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert wanted == {f"network.{name}" for name, _ in model.network.named_parameters()}


def test_what_batch_norm_counted_is_copied_and_all_is_part_of_the_state() -> None:
    model = AveragedNetwork(nn.BatchNorm1d(2))
    model.network(torch.randn(4, 2))
    model.follow()
    assert int(model.average.num_batches_tracked) == 1
    other = AveragedNetwork(nn.BatchNorm1d(2))
    other.load_state_dict(model.state_dict())
    assert int(other.steps) == 1
    assert torch.equal(other.average.running_mean, model.average.running_mean)
    assert not torch.equal(other.average.running_mean, other.network.running_mean)


FIRST_ROWS, B, OUTPUTS = 2, 6, 3


def seen(views: int, sharpness: float = 3.0) -> SemiBatch:
    """Logits that are the inputs themselves, some sure and some not, after two labelled rows."""
    random = torch.Generator().manual_seed(4)
    logits = sharpness * torch.randn(FIRST_ROWS + views * B, OUTPUTS, generator=random)
    return SemiBatch(nn.Identity(), logits, logits.clone().requires_grad_(), FIRST_ROWS)


def probabilities(logits: Tensor) -> list[list[float]]:
    return logits.detach().double().softmax(1).tolist()


def s_hat(p: list[float], q: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(p, q, strict=True))


def pair_loss(same: float, similarity: float) -> float:
    return -same * math.log(similarity) - (1 - same) * math.log(1 - similarity)


def test_pseudo_label() -> None:
    given = seen(1)
    loss = pseudo_label(given)
    p = probabilities(given.item_logits)
    assert loss.item() == pytest.approx(sum(-math.log(max(row)) for row in p) / B, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    for row, slope in zip(p, gradient[FIRST_ROWS:].tolist(), strict=True):  # (p - onehot) / b: the label is constant
        expected = [(q - (q == max(row))) / B for q in row]
        assert slope == pytest.approx(expected, abs=1e-6)
    assert not gradient[:FIRST_ROWS].any()


def test_pi_model() -> None:
    given = seen(2)
    p = probabilities(given.item_logits)
    expected = sum((p[i][k] - p[i + B][k]) ** 2 for i in range(B) for k in range(OUTPUTS)) / (B * OUTPUTS)
    loss = pi_model(given)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    assert all(gradient[FIRST_ROWS + i].abs().max() > 0 for i in range(2 * B))  # through both views


def test_pseudo_mcl() -> None:
    given = seen(2)
    p = probabilities(given.item_logits)
    losses, kinds = [], set()
    for i in range(2 * B):
        for j in range(i + 1, 2 * B):
            similarity = s_hat(p[i], p[j])
            same = float(similarity > 0.5 or j - i == B)
            kinds.add((similarity > 0.5, j - i == B))
            losses.append(pair_loss(same, similarity))
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}  # every case is there
    assert pseudo_mcl(given).item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_pseudo_mcl_plus() -> None:
    given = seen(2, sharpness=6.0)
    p = probabilities(given.item_logits)
    weak, strong = p[:B], p[B:]
    losses, unsure = [], 0
    for i in range(B):
        for j in range(B):
            judged = s_hat(weak[i], weak[j])
            known = judged > 0.95 or judged < 0.05
            unsure += not known
            if i < j and known:
                losses.append(pair_loss(float(judged > 0.5), s_hat(strong[i], strong[j])))
            if known or i == j:
                same = 1.0 if i == j else float(judged > 0.5)
                losses.append(pair_loss(same, s_hat(strong[i], weak[j])))
    assert 0 < unsure < B * B
    loss = pseudo_mcl_plus(given)
    assert loss.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    assert not gradient[: FIRST_ROWS + B].any()  # the weak views teach, and do not learn
    assert gradient[FIRST_ROWS + B :].abs().max(1).values.min() > 0


def test_spn_mcl() -> None:
    given = seen(1)
    said = torch.rand(B, B, generator=torch.Generator().manual_seed(0))
    said = (said + said.T) / 2
    asked: list[Tensor] = []

    def similarity(items: Tensor) -> Tensor:
        asked.append(items)
        return said

    p = probabilities(given.item_logits)
    pairs = [(i, j) for i in range(B) for j in range(i + 1, B)]
    expected = sum(pair_loss(float(said[i, j] > 0.5), s_hat(p[i], p[j])) for i, j in pairs) / len(pairs)
    assert spn_mcl(similarity)(given).item() == pytest.approx(expected, rel=1e-5)
    assert torch.equal(asked[0], given.items)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.regulariser])
def test_a_gradient_reaches_the_network_from_bfloat16_too(name: str) -> None:
    method = METHODS[name]
    torch.manual_seed(0)
    network = nn.Linear(OUTPUTS, OUTPUTS)
    inputs = torch.randn(FIRST_ROWS + method.views * B, OUTPUTS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network(inputs)
        assert logits.dtype == torch.bfloat16
        assert method.regulariser is not None
        regulariser = method.regulariser(Aids(1.0, lambda items: (items @ items.T).sigmoid()))
        loss = regulariser(SemiBatch(network, inputs, logits, FIRST_ROWS))
    loss.backward()
    assert loss.dtype == torch.float32
    assert network.weight.grad is not None
    assert float(network.weight.grad.abs().sum()) > 0


def test_the_methods_of_the_paper_and_ours() -> None:
    assert list(METHODS) == ["supervised", "pseudo-label", "pi-model", "vat", "spn-mcl", "pseudo-mcl", "pseudo-mcl+"]
    beyond: Callable[[str], tuple[bool, ...]] = lambda name: (  # noqa: E731
        METHODS[name].strong,
        METHODS[name].averaged,
        METHODS[name].balanced,
    )
    assert {name for name in METHODS if any(beyond(name))} == {"pseudo-mcl+"}
    with pytest.raises(InputError, match=r"no method 'mixmatch'; choose one of supervised, .*, pseudo-mcl\+\."):
        find_method("mixmatch")
