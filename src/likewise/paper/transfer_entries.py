"""Tables 2, 3 and 5 of the paper (transfer): the recipes, and which methods and numbers of outputs are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from typing import Literal

from likewise.clustering import METHODS as RIVALS
from likewise.datasets import Augmentation
from likewise.errors import InputError
from likewise.paper.entries import check_name, compress
from likewise.paper.recipe import (
    AUGMENTATION,
    NUMBER,
    TABLE,
    TEXT,
    TRAINING,
    WHOLE,
    Kind,
    checked,
    files,
    read_toml,
)
from likewise.training.settings import Settings

TABLE2, TABLE3 = "table2", "table3"
COUNTING = ("mcl", "kcl", "skms")  # the methods of Table 5
EARLY_STOPPED = {f"{name}-early": name for name in ("skkm", "sklr", "skms")}  # with a regulariser of ours, and without
EARLY_STEPS = 50
MOST_OUTPUTS = 100  # the paper's K where the number of classes is not known
VALIDATION = ("Alphabet_of_the_Magi", "Japanese_(katakana)", "Latin", "Cyrillic", "Grantha")  # of the background

Part = Literal["evaluation", "validation"]


@dataclass(frozen=True)
class TransferRecipe:
    name: str
    network: str
    similarity: Settings
    items: int  # of each class in a batch of the similarity network
    hidden: int  # units of its head
    similarity_network: str  # its backbone; `network` where the classifiers start from it
    training: Settings
    augmentation: Augmentation
    expect: Mapping[str, Mapping[str, float]]  # method -> figure -> the paper's
    aim: Mapping[str, float]  # figure -> ours should be that good
    table: str = TABLE2
    backbone: Settings | None = None  # of the classes that are known, first of all; None: weights are random at first
    size: int = 32  # of images that have to be resized
    subsets: int = 1  # how many piles of random classes
    classes: int = 0  # of each pile
    pile_items: int = 0  # at most so many; 0: all

    @property
    def methods(self) -> tuple[str, ...]:
        """`best` is one way to do it, and the partition that it starts from; with others all have the same pairs."""
        if self.table == TABLE3:
            return ("mcl", "kcl", "k-means", "lsc", "lpnmf")
        return ("mcl", "spectral") if self.name == "best" else ("mcl", "kcl", *RIVALS, *EARLY_STOPPED)


def transfer_recipes(table: str = TABLE2) -> list[TransferRecipe]:
    """The packaged recipes of a table.

    >>> [recipe.name for recipe in transfer_recipes()]
    ['best', 'paper']
    >>> [recipe.name for recipe in transfer_recipes("table3")]
    ['cifar10', 'cifar100', 'imagenet', 'mnist-digits']
    """
    return sorted((read_transfer_recipe(file) for file in files(table)), key=lambda recipe: recipe.name)


def read_transfer_recipe(file: Traversable) -> TransferRecipe:
    """Read one TOML file; an unknown, missing or wrong key is an InputError that names the file and the key."""
    name = file.name
    top = checked(name, "", read_toml(file), TOP, required=set(TOP) - OPTIONAL)
    similarity = checked(name, "similarity", top["similarity"], TRAINING | SIMILARITY, required={"epochs"})
    items, hidden = similarity.pop("items", 4), similarity.pop("hidden", 256)
    similarity_network = similarity.pop("network", top["network"])
    return TransferRecipe(
        name=top["name"],
        network=top["network"],
        similarity=Settings(**similarity),
        items=items,
        hidden=hidden,
        similarity_network=similarity_network,
        training=Settings(**checked(name, "training", top["training"], TRAINING, required={"epochs"})),
        augmentation=Augmentation(**checked(name, "augmentation", top["augmentation"], AUGMENTATION)),
        expect={method: checked(name, f"expect.{method}", value, FIGURES) for method, value in top["expect"].items()},
        aim=checked(name, "aim", top.get("aim", {}), {key: FIGURES[key] for key in ("acc", "acc_100", "difference")}),
        table=top["table"],
        backbone=Settings(**checked(name, "backbone", top["backbone"], TRAINING)) if "backbone" in top else None,
        pile_items=top.get("items", 0),
        **{key: top[key] for key in ("size", "subsets", "classes") if key in top},
    )


TOP: dict[str, Kind] = {
    **dict.fromkeys(("table", "name", "network"), TEXT),
    **dict.fromkeys(("size", "subsets", "classes", "items"), WHOLE),
    **dict.fromkeys(("backbone", "similarity", "training", "augmentation", "expect", "aim"), TABLE),
}
OPTIONAL = {"size", "subsets", "classes", "items", "backbone", "aim"}
SIMILARITY: dict[str, Kind] = {"items": WHOLE, "hidden": WHOLE, "network": TEXT}
FIGURES: dict[str, Kind] = dict.fromkeys(("acc", "acc_100", "nmi", "nmi_100", "difference"), NUMBER)


@dataclass(frozen=True)
class TransferEntry:
    """One method on all alphabets of a part, with as many outputs as classes or not knowing how many these are.

    >>> entry = TransferEntry(transfer_recipes()[1], "mcl", "100", epochs=5)
    >>> entry.name, entry.command
    ('paper-mcl-100-seed0-5ep', 'likewise paper table2 --recipe paper --method mcl --classes 100 --epochs 5')
    """

    recipe: TransferRecipe
    method: str
    classes: str  # "true" or "100"
    part: Part = "evaluation"
    seed: int = 0
    epochs: int | None = None  # of the classifier; None = as the recipe has it
    similarity_epochs: int | None = None

    @property
    def name(self) -> str:
        parts = [self.recipe.name, self.method, self.classes]
        parts += ["validation"] if self.part == "validation" else []
        return "-".join([*parts, f"seed{self.seed}", *self._changes("ep", "spn")])

    @property
    def similarity_name(self) -> str:
        """Of the similarity network that all methods of the recipe share."""
        length = [f"{self.similarity_epochs}spn"] if self.similarity_epochs else []
        return "-".join([self.recipe.name, "similarity", self.part, f"seed{self.seed}", *length])

    @property
    def similarity(self) -> Settings:
        return self._compressed(self.recipe.similarity, self.similarity_epochs)

    @property
    def training(self) -> Settings:
        return self._compressed(self.recipe.training, self.epochs)

    @property
    def command(self) -> str:
        """The command line that runs this entry and no other."""
        parts = [
            f"likewise paper {self.recipe.table} --recipe",
            self.recipe.name,
            "--method",
            self.method,
            "--classes",
            self.classes,
        ]
        parts += ["--alphabets validation"] if self.part == "validation" else []
        parts += [f"--seed {self.seed}"] if self.seed else []
        parts += [f"--epochs {self.epochs}"] if self.epochs else []
        parts += [f"--similarity-epochs {self.similarity_epochs}"] if self.similarity_epochs else []
        return " ".join(parts)

    def _changes(self, epochs: str, similarity_epochs: str) -> list[str]:
        given = ((self.epochs, epochs), (self.similarity_epochs, similarity_epochs))
        return [f"{number}{word}" for number, word in given if number]

    def _compressed(self, whole: Settings, epochs: int | None) -> Settings:
        epochs = epochs or whole.epochs
        return replace(whole, epochs=epochs, drops=compress(whole.drops, whole.epochs, epochs), seed=self.seed)


def select_transfer(
    recipes: Sequence[TransferRecipe],
    *,
    recipe: str | None = None,
    method: str | None = None,
    classes: str | None = None,
    alphabets: str = "evaluation",
    seed: int = 0,
    epochs: int | None = None,
    similarity_epochs: int | None = None,
) -> list[TransferEntry]:
    """The entries that fit every filter given; none is an InputError.

    >>> [entry.name for entry in select_transfer(transfer_recipes(), recipe="paper", method="csp")]
    ['paper-csp-true-seed0', 'paper-csp-100-seed0']
    """
    for option, number, least in (
        ("epochs", epochs, 1),
        ("similarity-epochs", similarity_epochs, 1),
        ("seed", seed, 0),
    ):
        if number is not None and number < least:
            raise InputError(f"--{option} must be {least} or more, got {number}.")
    check_name("--recipe", recipe, [one.name for one in recipes])
    check_name("--classes", classes, ["true", "100"])
    check_name("--alphabets", alphabets, ["evaluation", "validation"])
    chosen = [one for one in recipes if recipe in (None, one.name)]
    check_name("--method", method, list(dict.fromkeys(name for one in chosen for name in one.methods)))
    return [
        TransferEntry(one, each, number, alphabets, seed, epochs, similarity_epochs)  # type: ignore[arg-type]
        for one in chosen
        for each in one.methods
        if method in (None, each)
        for number in ("true", "100")
        if classes in (None, number)
    ]
