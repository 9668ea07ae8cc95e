"""What a fit from answers costs, beside the same network given labels for as many steps: work follows what is told.

900 feature vectors of 1,280 numbers and 60,000 images of 28 x 28, each with 1,000 random answers; `PairClassifier` has
its defaults. The items are the photos' features and MNIST where they are in the data folder, and else made up.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.benchmarks.measure import Outcome
from likewise.datasets import load, load_feature_set
from likewise.datasets.download import survey
from likewise.datasets.source_files import find
from likewise.estimators import PairClassifier
from likewise.pairs import Pairs
from likewise.storage.records import machine, read_json
from likewise.storage.run_folder import finished_stages
from likewise.supervision import label_objective
from likewise.training import Settings, TensorBatches, train

ANSWERS = 1000
BUDGETS = {"features": 10.0, "images": 240.0}  # seconds, on two idle cores
EPOCHS = 10  # that the labelled steps are divided into


@dataclass(frozen=True)
class Pile:
    """Items to learn from answers, and the truth that the answers come from."""

    case: str  # a key of BUDGETS
    source: str
    inputs: Tensor  # float (n, d) or uint8 (n, C, H, W)
    labels: Tensor  # int64 (n,)


@dataclass(frozen=True)
class Cost:
    case: str
    source: str
    items: int
    shape: tuple[int, ...]
    classes: int
    answers: int
    network: str
    steps: dict[str, int]  # of each stage
    seconds: float  # of the fit, all of it
    cpu_seconds: float
    labelled_seconds: float  # of as many steps with labels
    labelled_cpu_seconds: float

    @property
    def ratio(self) -> float:
        """By CPU time, which other programs do not spoil."""
        return round(self.cpu_seconds / self.labelled_cpu_seconds, 2)


def open_pile(case: str, data: Path | None) -> Pile:
    """The real items where they are there."""
    if case == "features":
        path = find("photos", ("photos-lite0.npz",), data)
        items = load_feature_set(path).train if path else None
    else:
        missing = next(dataset.missing for dataset in survey(data) if dataset.name == "mnist")
        items = None if missing else load("mnist", data).train
    if items is not None:
        return Pile(case, "photos" if case == "features" else "mnist", items.inputs, items.labels)
    return synthetic_features() if case == "features" else synthetic_images()


def synthetic_features(n_items: int = 900, n_features: int = 1280, n_classes: int = 30) -> Pile:
    """Directions around those of the classes, of unit length as embeddings are."""
    random = torch.Generator().manual_seed(0)
    labels = torch.arange(n_items) % n_classes
    centres = torch.randn(n_classes, n_features, generator=random)
    features = centres[labels] + 2 * torch.randn(n_items, n_features, generator=random)
    return Pile("features", "made up", nn.functional.normalize(features, dim=1), labels)


def synthetic_images(n_items: int = 60_000, side: int = 28, n_classes: int = 10) -> Pile:
    """Coarse patterns, one for each class, under noise."""
    random = torch.Generator().manual_seed(0)
    labels = torch.arange(n_items) % n_classes
    coarse = torch.randint(256, (n_classes, 1, 4, 4), generator=random).float()
    patterns = nn.functional.interpolate(coarse, size=(side, side))
    images = torch.empty(n_items, 1, side, side, dtype=torch.uint8)
    for rows in torch.split(torch.arange(n_items), 10_000):
        noise = 64 * torch.randn(len(rows), 1, side, side, generator=random)
        images[rows] = (patterns[labels[rows]] + noise).clamp(0, 255).to(torch.uint8)
    return Pile("images", "made up", images, labels)


def measure(pile: Pile, answers: int = ANSWERS, *, epochs: int | None = None) -> Cost:
    """Fit, then train the same network with labels for as many steps, augmented alike."""
    n_classes = int(pile.labels.max()) + 1
    pairs = Pairs.from_labels(pile.labels.numpy(), n=answers, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        classifier = PairClassifier(n_classes, epochs=epochs, run=run)
        inputs = pile.inputs.numpy()
        spent = timed(lambda: classifier.fit(inputs, pairs=pairs))
        stages = finished_stages(run)
        settings = read_json(min(run.rglob("config.json")))["settings"]
    steps = {name: int(stage["steps"]) for name, stage in stages.items()}
    labelled = timed(labelled_training(classifier, pile, sum(steps.values()), settings["batch_size"]))
    return Cost(
        case=pile.case,
        source=pile.source,
        items=len(pile.labels),
        shape=tuple(pile.inputs.shape[1:]),
        classes=n_classes,
        answers=answers,
        network=type(classifier.network_).__name__,
        steps=steps,
        seconds=spent[0],
        cpu_seconds=spent[1],
        labelled_seconds=labelled[0],
        labelled_cpu_seconds=labelled[1],
    )


def labelled_training(classifier: PairClassifier, pile: Pile, steps: int, batch_size: int) -> Callable[[], object]:
    """What trains a network like the classifier's with labels for so many steps."""
    form = classifier.input_form_
    epochs = max(n for n in range(1, EPOCHS + 1) if steps % n == 0)
    rows = torch.randint(len(pile.labels), (steps // epochs * batch_size,), generator=torch.Generator().manual_seed(0))
    batches = TensorBatches(
        pile.inputs[rows],
        pile.labels[rows],
        batch_size,
        mean=form.mean,
        std=form.std,
        augment=form.augmentation(classifier.augment),
    )
    settings = Settings(epochs=epochs, batch_size=batch_size, learning_rate=1e-3, device="cpu")
    network = copy.deepcopy(classifier.network_)
    return lambda: train(network, batches, label_objective(nn.CrossEntropyLoss()), settings, progress=False)


def timed(call: Callable[[], object]) -> tuple[float, float]:
    """Seconds, and seconds of CPU over all threads."""
    clock, cpu = time.perf_counter(), time.process_time()
    call()
    return round(time.perf_counter() - clock, 3), round(time.process_time() - cpu, 3)


def judge(cost: Cost) -> tuple[str, float, str]:
    """The bar, what was measured, and the verdict."""
    budget = BUDGETS[cost.case]
    items = " x ".join(map(str, cost.shape))
    bar = f"{cost.items:,} items of {items} from {cost.answers:,} answers in at most {budget:g} seconds"
    return bar, cost.seconds, "pass" if cost.seconds <= budget else "miss"


def record(costs: Sequence[Cost]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    return {
        **machine(),
        "costs": [{**asdict(cost), "ratio": cost.ratio} for cost in costs],
        "bars": [
            {"bar": bar, "measured": measured, "verdict": verdict} for bar, measured, verdict in map(judge, costs)
        ],
    }


def report(costs: Sequence[Cost]) -> Iterator[str]:
    """The lines to print: a case a line, and its bar."""
    yield "case      items    network     steps   seconds   of CPU   labels  ratio"
    for cost in costs:
        yield (
            f"{cost.case:<9} {cost.source:<8} {cost.network:<9} {sum(cost.steps.values()):>7,} {cost.seconds:>9.1f} "
            f"{cost.cpu_seconds:>8.1f} {cost.labelled_cpu_seconds:>8.1f} {cost.ratio:>6.2f}"
        )
    for cost in costs:
        bar, measured, verdict = judge(cost)
        yield f"{verdict:<9} {bar}: {measured:.1f}"


def run(case: Sequence[str] | None, data: Path | None) -> Outcome:
    costs = [measure(open_pile(name, data)) for name in case or ("features", "images")]
    return record(costs), report(costs)
