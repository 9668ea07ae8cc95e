"""From clusters to a classifier: its first weights and the loss against loops in float64, views, refusals."""

from __future__ import annotations

import copy
import math
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.networks import CosineHead, SimilarityModule, build
from likewise.training import NetworkInputs, Settings, embed_items, learn_consensus, mean_probabilities, predict_logits
from likewise.training.discovery import SHARPNESS, prototype_classifier
from likewise.training.randomness import AUGMENT, generator

N, K = 30, 3
PARTITION = torch.arange(N) % K


def items(seed: int = 0) -> Tensor:
    """Three groups that overlap."""
    draw = torch.Generator().manual_seed(seed)
    return 1.5 * torch.randn(K, 5, generator=draw)[PARTITION] + torch.randn(N, 5, generator=draw)


def module(head: Literal["pairs", "cosine"]) -> SimilarityModule:
    torch.manual_seed(0)
    return SimilarityModule(build("mlp", 1, (5,)), hidden=8, head=head)


def prototypes(g: np.ndarray, partition: list[int], n_clusters: int, directions: bool) -> list[np.ndarray]:
    """The mean of each cluster, or its direction."""
    out = []
    for k in range(n_clusters):
        mean = sum(g[i] for i in range(len(g)) if partition[i] == k) / partition.count(k)
        out.append(mean / math.sqrt(mean @ mean) if directions else mean)
    return out


def sharpness(g: np.ndarray, means: list[np.ndarray], partition: list[int]) -> float:
    """By which the logit of an item's own cluster is `SHARPNESS` above that of the others, on average."""
    own, others = [], []
    for i in range(len(g)):
        for k, mean in enumerate(means):
            (own if k == partition[i] else others).append(g[i] @ mean - mean @ mean / 2)
    return SHARPNESS / (sum(own) / len(own) - sum(others) / len(others))


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_the_nearest_prototype_wins(head: Literal["pairs", "cosine"]) -> None:
    x, network = items(), module(head)
    seen = embed_items(network, NetworkInputs(x))
    f = seen.features[0].double().numpy()
    if isinstance(network.head, CosineHead):
        z = f @ network.head.first.weight.detach().double().numpy().T + network.head.first.bias.detach().numpy()
        lengths = [math.sqrt(row @ row) for row in z]
        g, shown = np.stack([z[i] / lengths[i] for i in range(N)]), z / (sum(lengths) / N)
    else:
        g, shown = f, f
    means = prototypes(g, PARTITION.tolist(), K, directions=head == "cosine")
    c = sharpness(g, means, PARTITION.tolist())
    logits = predict_logits(prototype_classifier(seen, PARTITION, K), x)
    for i in range(N):
        expected = [c * (shown[i] @ mean - mean @ mean / 2) for mean in means]
        assert logits[i].tolist() == pytest.approx(expected, abs=2e-3)
        if head == "cosine":
            nearest = max(range(K), key=lambda k: g[i] @ means[k])
        else:
            nearest = min(range(K), key=lambda k: (g[i] - means[k]) @ (g[i] - means[k]))
        assert int(logits[i].argmax()) == nearest
    assert len(logits.argmax(1).unique()) == K


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_several_views_make_the_prototypes(head: Literal["pairs", "cosine"]) -> None:
    x, network = items(), module(head)
    seen = embed_items(
        network, NetworkInputs(x, augment=lambda x, draw: x + 0.3 * torch.randn(x.shape, generator=draw)), views=3
    )
    assert not torch.equal(seen.features[0], seen.features[1])
    last = prototype_classifier(seen, PARTITION, K).last
    assert isinstance(last, nn.Linear)
    g = seen.embedding.double().numpy()
    means = prototypes(g, PARTITION.tolist(), K, directions=head == "cosine")
    c = sharpness(g, means, PARTITION.tolist())
    weight = np.stack([c * mean for mean in means])
    if isinstance(network.head, CosineHead):
        first = network.head.first
        lengths = [float(first(row).detach().norm()) for view in seen.features for row in view]
        weight = weight @ first.weight.detach().double().numpy() / (sum(lengths) / len(lengths))
    np.testing.assert_allclose(last.weight.detach().numpy(), weight, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("head", ["pairs", "cosine"])
def test_outputs_without_a_cluster_are_chosen_by_none(head: Literal["pairs", "cosine"]) -> None:
    x, network = items(), module(head)
    seen = embed_items(network, NetworkInputs(x))
    before = copy.deepcopy(network.state_dict())
    usual = predict_logits(prototype_classifier(seen, PARTITION, K), x)
    gap = torch.tensor([0, 2, 3])[PARTITION]  # nothing is in 1, and there are 4 and 5 besides
    logits = predict_logits(prototype_classifier(seen, gap, 6), x)
    assert torch.equal(logits.argmax(1), torch.tensor([0, 2, 3])[usual.argmax(1)])
    assert (logits.softmax(1)[:, [1, 4, 5]] < 1e-6).all()
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())  # it was copied


def test_a_backbone_without_a_last_layer_is_refused() -> None:
    class Bare(nn.Module):
        n_features = 5

        def features(self, x: Tensor) -> Tensor:
            return x

    seen = embed_items(SimilarityModule(Bare(), head="cosine"), NetworkInputs(items()), adapt=False)
    with pytest.raises(InputError, match=r"^A classifier is made of Bare by replacing its last layer; give a backbone"):
        prototype_classifier(seen, PARTITION, K)


def test_the_mean_over_views_against_a_loop() -> None:
    x, network = items(), build("mlp", K, (5,), seed=1)

    def augment(x: Tensor, draw: torch.Generator) -> Tensor:
        return x + torch.randn(x.shape, generator=draw)

    found = mean_probabilities(
        network, NetworkInputs(x, mean=(0.5,) * 5, std=(2.0,) * 5, augment=augment), views=3, seed=4
    )
    draw = generator(4, AUGMENT, 0)
    views = [x, augment(x, draw), augment(x, draw)]
    network.eval()
    with torch.no_grad():
        expected = sum(network((view - 0.5) / 2).softmax(1) for view in views) / 3
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(1), torch.ones(N))
    assert not torch.allclose(found, predict_logits(network, (x - 0.5) / 2).softmax(1), atol=1e-3)
    once = mean_probabilities(network, NetworkInputs(x), views=3)  # without augmentation all views are the items
    torch.testing.assert_close(once, predict_logits(network, x).softmax(1))


def test_the_loss_is_mcl_over_the_pairs_of_all_items_seen_twice() -> None:
    x = items()[:7]
    opinions = torch.tensor([[0, 0], [0, 1], [1, 1], [1, 0], [2, 2], [2, 2], [0, 2]])
    network = nn.Linear(5, K)
    p = network(x).softmax(1).detach().double().tolist()
    total, count = 0.0, 0
    rows = [*range(7), *range(7)]
    for a in range(14):
        for b in range(a):
            i, j = rows[a], rows[b]
            agreed = sum(int(opinions[i, r] == opinions[j, r]) for r in range(2)) / 2
            s = sum(p[i][k] * p[j][k] for k in range(K))
            total -= agreed * math.log(s) + (1 - agreed) * math.log(1 - s)
            count += 1
    result = learn_consensus(network, NetworkInputs(x), opinions, Settings(epochs=1, batch_size=7), progress=False)
    assert result.history[0]["loss"] == pytest.approx(total / count, rel=1e-5)


def test_what_the_opinions_agree_on_is_learned_and_a_run_goes_on(tmp_path: Path) -> None:
    x = 3 * torch.eye(K, 5)[PARTITION] + 0.3 * torch.randn(N, 5, generator=torch.Generator().manual_seed(0))
    stray = (PARTITION + (torch.arange(N) % 10 == 0)) % K  # one of four opinions has three items elsewhere
    opinions = torch.stack([PARTITION, PARTITION, PARTITION, stray], 1)
    networks = [build("mlp", K, (5,), seed=5) for _ in range(3)]
    settings = Settings(epochs=12, batch_size=10, learning_rate=0.01)
    runs = (None, tmp_path, tmp_path)  # the last finds a run that is finished
    results = [
        learn_consensus(network, NetworkInputs(x), opinions, settings, run=run, config={"items": 1}, progress=False)
        for network, run in zip(networks, runs, strict=True)
    ]
    said = [predict_logits(network, x) for network in networks]
    found = said[0].argmax(1)
    assert torch.equal(found[:, None] == found, PARTITION[:, None] == PARTITION)
    assert torch.equal(said[1], said[0])
    assert torch.equal(said[2], said[0])
    assert results[2].history == results[0].history
    with pytest.raises(InputError, match=r"config\.items"):
        learn_consensus(
            networks[0], NetworkInputs(x), opinions, settings, run=tmp_path, config={"items": 2}, progress=False
        )
