"""What the recipes of transfer learn from, and the piles that they find classes in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

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
from likewise.paper.transfer_entries import VALIDATION, Part, TransferRecipe


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
    first, last = (_classes(cifar.train, range(start, start + 5)) for start in (0, 5))
    each = recipe.pile_items // 5
    some = torch.cat([torch.nonzero(last.labels == number).flatten()[:each] for number in range(5)])
    pile = last.subset(torch.sort(some).values) if each else last
    return Task(first, {"-".join(names[5:]): pile}, cifar.mean, cifar.std)


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


def _classes(items: Items, numbers: range) -> Items:
    chosen = items.subset(torch.nonzero((items.labels >= numbers.start) & (items.labels < numbers.stop)).flatten())
    names = items.class_names[numbers.start : numbers.stop]
    return Items(chosen.inputs, chosen.labels - numbers.start, names)
