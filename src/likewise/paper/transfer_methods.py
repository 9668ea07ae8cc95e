"""How the recipes of transfer find the classes of a pile: as the paper does it, and as `discover` does it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn

from likewise.clustering import METHODS as RIVALS
from likewise.criteria import KCL, MCL
from likewise.datasets import (
    OMNIGLOT_MEAN,
    OMNIGLOT_STD,
    ImageFiles,
    ImagesOnDisk,
    Items,
    list_imagenet,
    load,
    load_omniglot,
    random_classes,
)
from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer, SimilarityNetwork
from likewise.evaluation import PairQuality, n_dominant, pair_quality
from likewise.networks import SimilarityModule, build
from likewise.pairs import Pairs
from likewise.paper.transfer_entries import (
    EARLY_STEPS,
    EARLY_STOPPED,
    MOST_OUTPUTS,
    VALIDATION,
    Part,
    TransferEntry,
    TransferRecipe,
)
from likewise.supervision import label_objective, transfer_objective
from likewise.training import (
    NetworkInputs,
    Settings,
    TensorBatches,
    embed_items,
    predict_logits,
    train,
    train_similarity,
)


# What the recipes of transfer learn from, and the piles that they find classes in.
@dataclass(frozen=True)
class Task:
    known: Items  # each label a class of its own, over all alphabets
    piles: dict[str, Items]  # their labels are for judging alone
    mean: tuple[float, ...]
    std: tuple[float, ...]


def transfer_task(recipe: TransferRecipe, part: Part, data: Path | None) -> Task:
    match recipe.name:
        case "imagenet":
            return imagenet(recipe, data)
        case "cifar10":
            return five_of_cifar10(recipe, data)
        case "cifar100":
            return eighty_of_cifar100(recipe, data)
        case "mnist-digits":
            return mnist_to_digits(data)
    return omniglot(part, data)


def omniglot(part: Part, data: Path | None) -> Task:
    """The background characters and the evaluation alphabets; or 25 of the background alphabets and the other five."""
    background = load_omniglot("background", data)
    if part == "evaluation":
        known, piles = background, load_omniglot("evaluation", data)
    else:
        known = {name: items for name, items in background.items() if name not in VALIDATION}
        missing = [name for name in VALIDATION if name not in background]
        if missing:
            lacks = ", ".join(missing)
            raise InputError(f"Omniglot's background lacks {lacks}; delete it and run `likewise data get omniglot`.")
        piles = {name: background[name] for name in VALIDATION}
    return Task(all_characters(known), piles, OMNIGLOT_MEAN, OMNIGLOT_STD)


def all_characters(alphabets: dict[str, Items]) -> Items:
    """The drawings of all alphabets, and each character a class of its own."""
    labels, names = [], list[str]()
    for alphabet, items in alphabets.items():
        labels.append(items.labels + len(names))
        names += [f"{alphabet}/{name}" for name in items.class_names]
    return Items(torch.cat([items.inputs for items in alphabets.values()]), torch.cat(labels), tuple(names))


def five_of_cifar10(recipe: TransferRecipe, data: Path | None) -> Task:
    """The training images of the first five classes, and some of those of the other five, the first of each class."""
    cifar = load("cifar10", data)
    names = cifar.train.class_names
    pile = _first_of_each(_classes(cifar.train, range(5, 10)), recipe.pile_items)
    return Task(_classes(cifar.train, range(5)), {"-".join(names[5:]): pile}, cifar.mean, cifar.std)


def eighty_of_cifar100(recipe: TransferRecipe, data: Path | None) -> Task:
    """The training images of the first eighty classes, and random subsets of the other twenty."""
    cifar = load("cifar100", data)
    piles = {}
    for number in range(recipe.subsets):
        drawn = np.sort(80 + np.random.default_rng(number).permutation(20)[: recipe.classes])
        piles[f"subset{number}"] = _first_of_each(_classes(cifar.train, drawn.tolist()), recipe.pile_items)
    return Task(_classes(cifar.train, range(80)), piles, cifar.mean, cifar.std)


def mnist_to_digits(data: Path | None) -> Task:
    """MNIST's training images, and scikit-learn's digits enlarged to their size."""
    mnist, digits = load("mnist", data), load("digits")
    inputs = torch.cat([digits.train.inputs, digits.test.inputs])
    large = F.interpolate(inputs.float(), size=mnist.train.inputs.shape[-2:], mode="bilinear", align_corners=False)
    labels = torch.cat([digits.train.labels, digits.test.labels])
    pile = Items(large.round().to(torch.uint8), labels, digits.train.class_names)
    return Task(mnist.train, {"digits": pile}, mnist.mean, mnist.std)


def imagenet(recipe: TransferRecipe, data: Path | None) -> Task:
    known, unlabelled = list_imagenet(data)
    piles = [random_classes(unlabelled, recipe.classes, number) for number in range(recipe.subsets)]
    return Task(
        on_disk(known, recipe.size),
        {f"subset{number}": on_disk(files, recipe.size) for number, files in enumerate(piles)},
        (0.485, 0.456, 0.406),
        (0.229, 0.224, 0.225),
    )


def on_disk(files: ImageFiles, size: int) -> Items:
    inputs = cast(Tensor, ImagesOnDisk(files, size))  # as far as batches and predictions go
    return Items(inputs, torch.from_numpy(np.asarray(files.labels)), files.class_names)


def _classes(items: Items, numbers: Sequence[int]) -> Items:
    """The items of some classes, which are numbered from 0 in this order."""
    place = torch.full((items.n_classes,), -1)
    place[list(numbers)] = torch.arange(len(numbers))
    chosen = items.subset(torch.nonzero(place[items.labels] >= 0).flatten())
    return Items(chosen.inputs, place[chosen.labels], tuple(items.class_names[number] for number in numbers))


def _first_of_each(items: Items, most: int) -> Items:
    """The first items of each class, at most so many in all; 0: all."""
    if not most:
        return items
    each = most // items.n_classes
    some = torch.cat([torch.nonzero(items.labels == number).flatten()[:each] for number in range(items.n_classes)])
    return items.subset(torch.sort(some).values)


MOST_JUDGED = 2000  # items of a pile on whose pairs the similarity is judged

Similarity = SimilarityModule | SimilarityNetwork


@dataclass(frozen=True)
class Learned:
    """From the classes that are known."""

    similarity: Similarity
    backbone: nn.Module | None  # that the classifiers start from; None: from random weights


@dataclass(frozen=True)
class Found:
    outputs: NDArray[np.int64]  # (n,) the output that each item fell in
    n_outputs: int
    n_classes: int  # how many classes there are said to be
    quality: PairQuality | None  # of the similarity on this pile, where it was used


def learn_known(entry: TransferEntry, task: Task, run: Path, backbone_run: Path | None = None) -> Learned:
    """Train the similarity network of the recipe on what is known in the folder `run`, or resume there.

    Where classifiers start from a network that tells the known classes apart, that comes first, or from `backbone_run`.
    """
    recipe, known = entry.recipe, task.known
    if recipe.name == "best":
        network = SimilarityNetwork(
            recipe.network,
            epochs=entry.similarity.epochs,
            augment=recipe.augmentation,
            precision=entry.similarity.precision,
            random_state=entry.seed,
            verbose=True,
            run=run,
        ).fit(known.inputs.numpy(), known.labels.numpy(), known.groups())
        return Learned(network, None)
    backbone = build(
        recipe.similarity_network or recipe.network, known.n_classes, tuple(known.inputs.shape[1:]), seed=entry.seed
    )
    pile = NetworkInputs(known.inputs, task.mean, task.std, recipe.augmentation)
    if backbone_run is not None:
        backbone.load_state_dict(load_file(backbone_run / "model.safetensors"))
    elif recipe.backbone is not None:
        settings = replace(recipe.backbone, seed=entry.seed)
        batches = _batches(pile, known.labels, settings)
        train(
            backbone,
            batches,
            label_objective(nn.CrossEntropyLoss()),
            settings,
            run=run / "backbone",
            progress="backbone",
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entry.seed)
        module = SimilarityModule(copy.deepcopy(backbone), hidden=recipe.similarity_hidden)
    train_similarity(
        module, pile, known.labels, entry.similarity, items=recipe.similarity_items, run=run, progress="similarity"
    )
    return Learned(module, None if recipe.backbone is None else backbone)


def find(entry: TransferEntry, learned: Learned, task: Task, name: str, run: Path) -> Found:
    """The classes of one pile; its labels say only how many there are, where that is known, and judge the pairs."""
    items, similarity = task.piles[name], learned.similarity
    labels = items.labels.numpy()
    n_classes = items.n_classes if entry.classes == "true" else None
    if isinstance(similarity, SimilarityNetwork):
        discoverer = CategoryDiscoverer(
            n_classes,
            max_classes=MOST_OUTPUTS,
            similarity=similarity,
            epochs=entry.training.epochs if entry.method == "mcl" else 0,
            precision=entry.training.precision,
            verbose=True,
            random_state=entry.seed,
            run=run,
        ).fit(items.inputs.numpy())
        predicted = similarity.similarity(items.inputs.numpy())
        return Found(discoverer.labels_, discoverer.n_classes_, discoverer.n_classes_, quality_of(predicted, labels))
    n_outputs = n_classes or MOST_OUTPUTS
    pile = NetworkInputs(items.inputs, task.mean, task.std, entry.recipe.augmentation)
    if entry.method in ("mcl", "kcl"):
        outputs = _learn(entry, learned, pile, n_outputs, run)
        rows = torch.linspace(0, len(outputs) - 1, min(len(outputs), MOST_JUDGED)).long()
        predicted = embed_items(similarity, replace(pile, inputs=pile.inputs[rows])).probability().numpy()
        return Found(outputs, n_outputs, n_dominant(outputs, n_outputs), quality_of(predicted, labels[rows]))
    return _cluster(entry, learned, pile, labels, n_outputs)


def _learn(entry: TransferEntry, learned: Learned, pile: NetworkInputs, n_outputs: int, run: Path) -> NDArray[np.int64]:
    """A classifier; its teacher looks at each batch as it does, and says 0 or 1 of each pair."""
    fresh = build(entry.recipe.network, n_outputs, tuple(pile.inputs.shape[1:]), seed=entry.seed)
    network: nn.Module = fresh
    if learned.backbone is not None:
        network = copy.deepcopy(learned.backbone)
        network.last = fresh.last
    teacher = cast(SimilarityModule, learned.similarity)
    criterion = MCL() if entry.method == "mcl" else KCL(constant_target=True)  # as the reference code has it
    objective = transfer_objective(lambda inputs: teacher.similarity(inputs, adapt=True), criterion)
    batches = _batches(pile, torch.full((len(pile.inputs),), -1), entry.training)
    train(network, batches, objective, entry.training, run=run, progress=run.name)
    return predict_logits(network, pile.inputs, mean=pile.mean, std=pile.std).argmax(1).numpy()


def _batches(pile: NetworkInputs, labels: Tensor, settings: Settings) -> TensorBatches:
    return TensorBatches(
        pile.inputs,
        labels,
        settings.batch_size,
        seed=settings.seed,
        mean=pile.mean,
        std=pile.std,
        augment=pile.augment,
    )


def _cluster(
    entry: TransferEntry, learned: Learned, pile: NetworkInputs, labels: NDArray[np.int64], n_outputs: int
) -> Found:
    """A method of constrained clustering, told 0 or 1 of every pair; on pixels, or where there are any on features."""
    method = RIVALS[EARLY_STOPPED.get(entry.method, entry.method)]
    usual = method().get_params()
    options: dict[str, object] = {"n_clusters": n_outputs}
    if entry.method in EARLY_STOPPED:
        options["early_stopping"] = EARLY_STEPS
    if "random_state" in usual:  # skms draws nothing
        options["random_state"] = entry.seed
    if method.finds_n_clusters and entry.classes != "true":
        options["n_clusters"] = None
    if "contradictions" in usual:
        options["contradictions"] = "repair" if usual["contradictions"] == "refuse" else "accept"
    if learned.backbone is None:
        items = pile.inputs.flatten(1).numpy() / 255
    else:
        items = predict_logits(Features(learned.backbone), pile.inputs, mean=pile.mean, std=pile.std).numpy()
    pairs, quality = None, None
    if method.uses_pairs:
        predicted = embed_items(cast(SimilarityModule, learned.similarity), pile).probability().numpy()
        pairs, quality = Pairs.from_matrix(predicted > 0.5), quality_of(predicted, labels)
    fitted = method(**options).fit(items, pairs=pairs)
    outputs = np.asarray(fitted.labels_, dtype=np.int64)
    n_found = max(n_outputs, int(outputs.max()) + 1)  # more where the method finds their number: some have few items
    return Found(outputs, n_found, n_dominant(outputs, n_found), quality)


class Features(nn.Module):
    """A network's features in the place of its logits."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.network.features(x)  # type: ignore[operator]
        return features


def quality_of(predicted: NDArray[np.float32], labels: NDArray[np.int64]) -> PairQuality:
    above = np.triu_indices(len(labels), 1)
    return pair_quality(predicted[above], (labels[:, None] == labels)[above])
