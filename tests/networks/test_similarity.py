"""The similarity network against the plain form, which writes out every pair: values, gradients, statistics, memory."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from likewise.errors import InputError
from likewise.networks import CosineHead, PairHead, SimilarityModule, build, heads, predicting

TILES = [1, 30, 200, 2**19]  # one pair at a time; parts of a row, the last of them shorter; some rows; all


def plain(head: PairHead, left: Tensor, right: Tensor | None = None) -> Tensor:
    """Linear, batch-norm, ReLU, linear by torch's own layers on n m rows [f_i ; f_j]."""
    right = left if right is None else right
    rows = [torch.cat([f, g]) for f in left for g in right]
    hidden = head.norm(head.first(torch.stack(rows)))
    logits: Tensor = head.last(hidden.relu())
    return logits.view(len(left), len(right))


def random(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def trained_head(n_features: int = 3, hidden: int = 7, dtype: torch.dtype = torch.float64) -> PairHead:
    """A head whose every parameter and statistic is something else than it began with; one last weight is zero."""
    torch.manual_seed(1)
    head = PairHead(n_features, hidden).to(dtype)
    for parameter in (head.norm.weight, head.norm.bias):
        nn.init.normal_(parameter, 1.0, 0.5)
    with torch.no_grad():
        head.last.weight[0, 0] = 0.0
        for _ in range(3):
            head(random(6, n_features, seed=9, dtype=dtype))
    return head


def everything(form: Callable[..., Tensor], head: PairHead, *features: Tensor) -> dict[str, Tensor]:
    """The logits, the gradient of a loss with respect to features and parameters, and the buffers afterwards."""
    head = copy.deepcopy(head)
    features = tuple(part.detach().clone().requires_grad_() for part in features)
    logits = form(head, *features)
    (logits * random(*logits.shape, seed=5, dtype=logits.dtype)).sin().sum().backward()
    gradients = {f"features {k}": part.grad for k, part in enumerate(features)}
    gradients |= {name: parameter.grad for name, parameter in head.named_parameters()}
    assert all(gradient is not None for gradient in gradients.values())
    return {"logits": logits.detach(), **gradients, **dict(head.named_buffers())}  # type: ignore[dict-item]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("sizes", [(2,), (5,), (4, 6), (1, 3), (3, 1)])
@pytest.mark.parametrize("tile", TILES)
def test_all_is_as_in_the_plain_form(
    monkeypatch: pytest.MonkeyPatch, tile: int, sizes: tuple[int, ...], training: bool
) -> None:
    monkeypatch.setattr(heads, "TILE", tile)
    head = trained_head().train(training)
    features = [random(size, 3, seed=k) for k, size in enumerate(sizes)]
    ours, expected = everything(PairHead.__call__, head, *features), everything(plain, head, *features)
    torch.testing.assert_close(ours, expected, rtol=1e-10, atol=1e-12)
    assert expected["first.weight"].abs().max() > 1e-3
    assert expected["last.weight"][0, 0] != 0  # a unit whose weight is zero still learns it
    assert int(expected["norm.num_batches_tracked"]) == 3 + training


@pytest.mark.parametrize("training", [True, False])
def test_float32_is_right_to_five_digits(training: bool) -> None:
    head, features = trained_head(24, 96).train(training), random(40, 24)
    exact = everything(plain, head, features)
    ours = everything(PairHead.__call__, copy.deepcopy(head).float(), features.float())
    for name, value in exact.items():
        assert float((ours[name] - value).abs().max()) <= 1e-5 * max(1.0, float(value.abs().max())), name


def test_a_bias_before_batch_norm_changes_nothing_and_two_outputs_are_their_difference() -> None:
    head, features = trained_head(), random(5, 3)
    layers = nn.Sequential(nn.Linear(6, 7), nn.BatchNorm1d(7), nn.ReLU(), nn.Linear(7, 2)).double()
    with torch.no_grad():
        layers[0].weight.copy_(head.first.weight)
        layers[1].load_state_dict(head.norm.state_dict())
        layers[3].weight[1] = layers[3].weight[0] + head.last.weight[0]
        layers[3].bias[1] = layers[3].bias[0] + head.last.bias[0]
    pairs = torch.cat([features.repeat_interleave(5, 0), features.repeat(5, 1)], 1)
    two = layers(pairs).softmax(1)[:, 1].view(5, 5)
    torch.testing.assert_close(head(features).sigmoid(), two)


def test_a_permutation_of_the_batch_permutes_rows_and_columns() -> None:
    head, features, order = trained_head(), random(6, 3), torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(head(features[order]), head(features)[order][:, order])


def test_running_statistics_may_be_plain_averages() -> None:
    ours, theirs = trained_head(), trained_head()
    ours.norm.momentum = theirs.norm.momentum = None
    for seed in range(3):
        ours(random(4, 3, seed=seed))
        plain(theirs, random(4, 3, seed=seed))
    torch.testing.assert_close(ours.state_dict(), theirs.state_dict())


def test_one_item_normalises_to_zero_and_teaches_batch_norm_nothing() -> None:
    head = trained_head()
    before = copy.deepcopy(head.state_dict())
    expected = head.norm.bias.relu() @ head.last.weight[0] + head.last.bias
    torch.testing.assert_close(head(random(1, 3)), expected[None])
    torch.testing.assert_close(head.state_dict(), before, rtol=0, atol=0)


def test_under_autocast_sums_stay_in_float32() -> None:
    head, features = trained_head(24, 96, torch.float32), random(20, 24, dtype=torch.float32).requires_grad_()
    exact = copy.deepcopy(head)(features)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = head(features)
    assert logits.dtype == torch.float32
    assert 0 < float((logits - exact).detach().abs().max()) < 0.05
    logits.sum().backward()
    assert features.grad is not None
    assert head.first.weight.grad is not None
    assert features.grad.dtype == head.first.weight.grad.dtype == torch.float32


def test_a_network_in_bfloat16_predicts_in_float32() -> None:
    network, left, right = network_and_features()
    exact = network.predict_similarity(left, right)
    predicted = network.bfloat16().predict_similarity(left.bfloat16(), right.bfloat16())
    assert predicted.dtype == torch.float32
    torch.testing.assert_close(predicted.double(), exact, rtol=0, atol=0.02)


def test_a_second_derivative_is_refused() -> None:
    features = random(4, 3).requires_grad_()
    logits = trained_head()(features).sum()
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(logits, features, create_graph=True)


class Largest(TorchDispatchMode):
    """The number of elements in the largest tensor that any operation gave."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            self.elements = max(self.elements, tensor.numel() if isinstance(tensor, Tensor) else 0)
        return out


def test_memory_grows_with_items_and_pairs_but_not_with_pairs_times_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    b, hidden = 40, 64
    monkeypatch.setattr(heads, "TILE", 1000)
    head, features = PairHead(3, hidden), random(b, 3, dtype=torch.float32).requires_grad_()
    with Largest() as ours:
        head(features).sum().backward()
    assert ours.elements == 2 * b * hidden  # what the first layer gives: both halves of each item
    with Largest() as naive:
        plain(head, features).sum().backward()
    assert naive.elements == b * b * hidden


def network_and_features() -> tuple[SimilarityModule, Tensor, Tensor]:
    torch.manual_seed(2)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=9).double()
    for seed in range(3):
        network(random(8, 4, seed=seed))
    return network, random(6, 256, seed=3), random(5, 256, seed=4)


@pytest.mark.parametrize("adapt", [False, True])
def test_prediction_is_the_mean_over_both_orders(adapt: bool) -> None:
    network, left, right = network_and_features()
    there, back = (copy.deepcopy(network.head).train(adapt) for _ in range(2))
    expected = (plain(there, left, right).sigmoid() + plain(back, right, left).sigmoid().T) / 2
    torch.testing.assert_close(network.predict_similarity(left, right, adapt=adapt), expected.detach())
    ordered = plain(copy.deepcopy(network.head).train(adapt), left).sigmoid().detach()
    predicted = network.predict_similarity(left, adapt=adapt)
    torch.testing.assert_close(predicted, (ordered + ordered.T) / 2)
    assert torch.equal(predicted, predicted.T)
    assert not torch.equal(predicted, network.predict_similarity(left, adapt=not adapt))


def test_prediction_of_ordered_pairs() -> None:
    network, left, right = network_and_features()
    head = copy.deepcopy(network.head).eval()
    torch.testing.assert_close(network.predict_similarity(left, symmetric=False), head(left).sigmoid().detach())
    ordered = network.predict_similarity(left, right, symmetric=False)
    torch.testing.assert_close(ordered, head(left, right).sigmoid().detach())
    assert not ordered.requires_grad


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("rows", [1, 4, 6, 100])
def test_blocks_of_rows_are_the_whole(rows: int, adapt: bool, symmetric: bool) -> None:
    network, left, right = network_and_features()
    for pair in ((left,), (left, right)):
        blocks = [*network.iter_similarity(*pair, rows=rows, adapt=adapt, symmetric=symmetric)]
        assert {len(block) for block in blocks[:-1]} <= {rows}
        torch.testing.assert_close(
            torch.cat(blocks), network.predict_similarity(*pair, adapt=adapt, symmetric=symmetric)
        )


def test_no_items_have_no_pairs() -> None:
    network, left, _ = network_and_features()
    none = left[:0]
    assert network.predict_similarity(none).shape == (0, 0)
    assert network.predict_similarity(none, left).shape == (0, 6)
    assert network.predict_similarity(left, none).shape == (6, 0)
    assert [*network.iter_similarity(none)] == []


def test_many_rows_are_made_symmetric() -> None:
    torch.manual_seed(0)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=2)
    features = random(300, 256, dtype=torch.float32)
    ordered = network.predict_similarity(features, symmetric=False)
    predicted = network.predict_similarity(features)
    torch.testing.assert_close(predicted, (ordered + ordered.T) / 2)
    assert torch.equal(predicted, predicted.T)


def test_blocks_of_predictions_need_no_more_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "TILE", 100)
    torch.manual_seed(0)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=4)
    features = random(50, 256, dtype=torch.float32)
    with Largest() as largest:
        for _ in network.iter_similarity(features, rows=3):
            pass
    assert largest.elements == max(50 * 2 * 4, 2 * 4 * 256)  # the first layer's outputs, and its weights


@pytest.mark.parametrize("adapt", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_similarity_of_inputs_leaves_the_network_as_it_was(training: bool, adapt: bool) -> None:
    network, _, _ = network_and_features()
    network.train(training)
    network.head.train(not training)
    x, before = random(7, 4, seed=8), copy.deepcopy(network.state_dict())
    predicted = network.similarity(x, adapt=adapt)
    torch.testing.assert_close(network.state_dict(), before, rtol=0, atol=0)
    assert (network.backbone.training, network.head.norm.training) == (training, not training)
    ordered = copy.deepcopy(network).train(adapt)(x).sigmoid().detach()
    torch.testing.assert_close(predicted, (ordered + ordered.T) / 2)


def test_predicting_ends_with_an_error_too() -> None:
    network = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout())

    def fail_while_predicting() -> None:
        with predicting(network, adapt=True):
            assert (network[0].training, network[1].training, network[0].track_running_stats) == (True, False, False)
            raise KeyError

    with pytest.raises(KeyError):
        fail_while_predicting()
    assert all(module.training for module in network.modules())
    assert network[0].track_running_stats


def test_names_and_widths() -> None:
    network = SimilarityModule(build("lenet", 2, (1, 8, 8)))
    assert (network.n_features, network.head.first.weight.shape) == (500, (2000, 1000))
    assert {name for name in network.state_dict() if not name.startswith("backbone.")} == {
        "head.first.weight",
        "head.last.bias",
        "head.last.weight",
        "head.norm.bias",
        "head.norm.num_batches_tracked",
        "head.norm.running_mean",
        "head.norm.running_var",
        "head.norm.weight",
        "offset",
        "slope",
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SimilarityModule(nn.Linear(3, 2)), "must have a method features"),
        (lambda: PairHead(0, 4), "at least 1, got 0 and 4"),
        (lambda: CosineHead(4, 0), "at least 1, got 4 and 0"),
        (lambda: CosineHead(3, 4)(torch.zeros(5, 2)), r"\(items, 3\), got \(5, 2\)"),
        (lambda: SimilarityModule(build("mlp", 1, (4,)), head="other"), "no head 'other'"),  # type: ignore[arg-type]
        (lambda: SimilarityModule(build("mlp", 1, (4,)), hidden=0), "at least 1, got 256 and 0"),
        (lambda: PairHead(3, 4)(torch.zeros(5, 2)), r"\(items, 3\), got \(5, 2\)"),
        (lambda: PairHead(3, 4)(torch.zeros(5, 3), torch.zeros(3)), r"\(items, 3\), got \(3,\)"),
        (lambda: network_and_features()[0].iter_similarity(torch.zeros(2, 256), rows=0), "rows must be at least 1"),
    ],
)
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


def test_cosine_head_is_the_angle_between_embeddings() -> None:
    torch.manual_seed(3)
    head = CosineHead(4, 5, temperature=0.2).double()
    left, right = random(3, 4, seed=1), random(2, 4, seed=2)
    for i, j in [(i, j) for i in range(3) for j in range(2)]:
        a, b = head.first(left[i]), head.first(right[j])
        expected = (a @ b) / (a.norm() * b.norm()) / 0.2
        torch.testing.assert_close(head(left, right)[i, j], expected)
    torch.testing.assert_close(head(left).diagonal(), torch.full((3,), 5.0, dtype=torch.float64))


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_calibration_acts_on_the_logits(head: Literal["pairs", "cosine"]) -> None:
    torch.manual_seed(3)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=7, head=head).double().eval()
    features = random(5, 256, seed=1)
    logits = network.head(features)
    network.slope.fill_(2.0)
    network.offset.fill_(-0.5)
    expected = torch.sigmoid(2 * logits - 0.5)
    torch.testing.assert_close(network.predict_similarity(features), ((expected + expected.T) / 2).detach())


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_listed_pairs_are_those_of_the_matrix(head: Literal["pairs", "cosine"]) -> None:
    torch.manual_seed(3)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=7, head=head).double()
    features, pairs = random(2, 6, 256, seed=1), torch.tensor([[0, 1], [5, 2], [3, 3], [1, 0], [4, 5]])
    whole = network.predict_similarity(features)
    torch.testing.assert_close(network.predict_listed(features, pairs, rows=2), whole[pairs[:, 0], pairs[:, 1]])


def test_views_are_averaged_within_the_head() -> None:
    torch.manual_seed(3)
    network = SimilarityModule(build("mlp", 1, (4,)), hidden=7, head="cosine").double()
    views = torch.stack([random(5, 256, seed=1), random(5, 256, seed=2), random(5, 256, seed=3)])
    z = torch.nn.functional.normalize(network.head.first(views), dim=2).mean(0)
    expected = torch.nn.functional.cosine_similarity(z[:, None], z[None], dim=2) / 0.1
    torch.testing.assert_close(network.predict_similarity(views), expected.sigmoid().detach())
    same = torch.stack([views[0], views[0]])
    torch.testing.assert_close(network.predict_similarity(same), network.predict_similarity(views[0]))
    network, left, right = network_and_features()
    torch.testing.assert_close(
        network.predict_similarity(left.expand(2, 6, 256), right.expand(2, 5, 256)),
        network.predict_similarity(left, right),
    )


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_the_head_on_another_backbone(head: Literal["pairs", "cosine"]) -> None:
    first, second = (build("mlp", 3, (5,), seed=seed) for seed in (1, 2))
    network = SimilarityModule(first, hidden=6, head=head)
    network.slope.fill_(2.0)
    other = network.with_backbone(second)
    assert other.backbone is second
    assert network.backbone is first
    x = torch.randn(7, 5)
    expected = (2 * network.head.eval()(second.eval().features(x))).sigmoid()  # type: ignore[operator]
    torch.testing.assert_close(other.similarity(x), (expected + expected.T) / 2)
    with torch.no_grad():
        other.head.first.weight.zero_()
    assert network.head.first.weight.abs().sum() > 0  # the head was copied


def test_a_backbone_that_does_not_say_its_width_is_told_it() -> None:
    backbone = build("mlp", 1, (4,))
    del backbone.n_features
    with pytest.raises(InputError, match="MLP does not say its n_features"):
        SimilarityModule(backbone)
    assert SimilarityModule(backbone, 256, hidden=3)(torch.randn(2, 4)).shape == (2, 2)
