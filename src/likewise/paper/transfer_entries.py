"""Tables 2, 3 and 5 of the paper (transfer): the recipes, and which methods and numbers of outputs are meant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from likewise.clustering import METHODS as RIVALS
from likewise.datasets import Augmentation
from likewise.paper.recipe import Schedule, check_least, check_name, compress, files, one_of, read_file
from likewise.training.settings import Settings

TABLE2, TABLE3 = "table2", "table3"
COUNTING = ("mcl", "kcl", "skms")  # the methods of Table 5
EARLY_STOPPED = {f"{name}-early": name for name in ("skkm", "sklr", "skms")}  # with a regulariser of ours, and without
EARLY_STEPS = 50
MOST_OUTPUTS = 100  # the paper's K where the number of classes is not known
VALIDATION = ("Alphabet_of_the_Magi", "Japanese_(katakana)", "Latin", "Cyrillic", "Grantha")  # of the background

Part = Literal["evaluation", "validation"]


Figures = Annotated[Mapping[str, float], one_of("acc", "acc_100", "nmi", "nmi_100", "difference")]


@dataclass(frozen=True)
class TransferRecipe:
    table: str
    name: str
    network: str
    similarity: Schedule
    training: Schedule
    augmentation: Augmentation
    expect: Mapping[str, Figures]  # method -> figure -> the paper's
    # figure -> what ours should reach
    aim: Annotated[Mapping[str, float], one_of("acc", "acc_100", "difference")] = field(default_factory=dict)
    similarity_items: int = 4  # of each class in a batch of the similarity network
    similarity_hidden: int = 256  # units of its head
    similarity_network: str = ""  # its backbone; empty: `network`, from which the classifiers then start
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
    return sorted((read_file(TransferRecipe, file) for file in files(table)), key=lambda recipe: recipe.name)


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
        changes = ((self.epochs, epochs), (self.similarity_epochs, similarity_epochs))
        return [f"{number}{word}" for number, word in changes if number]

    def _compressed(self, settings: Settings, epochs: int | None) -> Settings:
        epochs = epochs or settings.epochs
        return replace(settings, epochs=epochs, drops=compress(settings.drops, settings.epochs, epochs), seed=self.seed)


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
    check_least(epochs=(epochs, 1), similarity_epochs=(similarity_epochs, 1), seed=(seed, 0))
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
