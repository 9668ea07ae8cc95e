"""What pretrained encoders are worth on photographs, questions and CIFAR-10, and what they cost.

    photos      photos.zip: 30 classes of 40; the first 30 files of each are learned from, the last 10 are unseen
    banking77   banking77/train.csv and test.csv: questions of 77 intents, as MiniLM sees them
    cifar10     as EfficientNet-lite0 sees it at 160 pixels; ImageNet's labels cover the classes of CIFAR-10
    speed       the encoder of photos beside its bare forward pass on decoded batches, and beside decoding alone

Accuracies are of unseen items in %; those without labels are after the best matching. Nothing was chosen by them.
"""

from __future__ import annotations

import csv
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from likewise.benchmarks.measure import Outcome
from likewise.datasets import load
from likewise.datasets.source_files import find
from likewise.encoders import Encoder
from likewise.encoders.encode import THREADS
from likewise.errors import InputError
from likewise.estimators import PairClassifier, SemiSupervisedClassifier
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.pairs import Pairs
from likewise.storage.machine import machine

SETS = ("photos", "banking77", "cifar10", "speed")
ANSWERS = 1000  # about photographs
UNSEEN = 10  # photographs of each class
CROSS_ENTROPY_STEPS = 2000  # at most, of logistic regression

Features = NDArray[np.float32]
Labels = NDArray[np.int64]


def run(
    case: Sequence[str] | None = None, data: Path | None = None, n_items: int | None = None, seed: int = 0
) -> Outcome:
    """The figures of the chosen sets, or of all that are in the data folder."""
    chosen = case or [name for name in SETS if _is_there(name, data)]
    if not chosen:
        raise InputError("None of photos.zip, banking77/train.csv and CIFAR-10 is in the data folder; give --data.")
    measure: dict[str, Callable[[], dict[str, Any]]] = {
        "photos": lambda: photos(_photos(data), seed),
        "banking77": lambda: banking77(data, seed),
        "cifar10": lambda: cifar10(data, n_items, seed),
        "speed": lambda: speed(_photos(data)),
    }
    record = {**machine(), "seed": seed, "sets": {name: measure[name]() for name in chosen}}
    return record, list(_lines(record["sets"]))  # type: ignore[arg-type]


def photos(archive: Path, seed: int) -> dict[str, Any]:
    """`PairClassifier` on the files themselves, from 1,000 random answers."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
        paths = sorted(Path(folder).rglob("*.jpg"))
        classes, y = np.unique([path.parent.name for path in paths], return_inverse=True)
        last = np.concatenate([np.flatnonzero(y == k)[-UNSEEN:] for k in range(len(classes))])
        seen = np.setdiff1d(np.arange(len(paths)), last)
        pairs = Pairs.from_labels(y[seen], n=ANSWERS, random_state=seed)
        encoder = Encoder(cache=Path(folder) / "cache")
        first = cpu_seconds(lambda: encoder.transform(paths))
        again = cpu_seconds(lambda: encoder.transform(paths))
        X = encoder.transform(paths)
        model = PairClassifier(len(classes), encoder="efficientnet-lite0", random_state=seed)
        learned = cpu_seconds(lambda: model.fit(X[seen], pairs=pairs))
        return {
            "items": len(paths),
            "cpu_seconds": {"encode": first, "encode again": again, "fit": learned},
            "accuracy": {
                f"{ANSWERS:,} random answers": 100 * model.score([paths[row] for row in last], y[last]),
                "k-means": k_means(X[seen], X[last], y[last], len(classes), seed),
                "logistic regression, all labels": probe(X[seen], y[seen], X[last], y[last]),
            },
        }


def banking77(data: Path | None, seed: int) -> dict[str, Any]:
    """K-means, few labels, and answers of which one in 77 or one in two is "same"."""
    parts = [_questions(data, part) for part in ("train", "test")]
    names = sorted({name for _, labels in parts for name in labels})
    y, truth = (np.array([names.index(name) for name in labels]) for _, labels in parts)
    encoder = Encoder("minilm")
    X, unseen = (encoder.encode(texts).rows for texts, _ in parts)
    few = few_labels(y, 5, seed)
    random = Pairs.from_labels(y, n=5000, random_state=seed)
    return {
        "items": len(X),
        "accuracy": {
            "k-means": k_means(X, unseen, truth, len(names), seed),
            "5,000 random answers": from_answers(X, random, unseen, truth, len(names), seed),
            "5,000 answers, half same": from_answers(X, half_same(y, 5000, seed), unseen, truth, len(names), seed),
            "semi, 5 labels per class": semi(X, few, unseen, truth, seed),
            "logistic regression, 5 labels per class": probe(X[few >= 0], y[few >= 0], unseen, truth),
            "logistic regression, all labels": probe(X, y, unseen, truth),
        },
    }


def cifar10(data: Path | None, n_items: int | None, seed: int) -> dict[str, Any]:
    """Few labels, beside a linear probe with as many; `n_items` of the training images are encoded, or all."""
    given = load("cifar10", data)
    encoder = Encoder("efficientnet-lite0")
    n = n_items or len(given.train)
    X, unseen = (encoder.encode(list(part.numpy())).rows for part in (given.train.inputs[:n], given.test.inputs))
    y, truth = given.train.labels[:n].numpy(), given.test.labels.numpy()
    found = {}
    for labels in (4, 25, 200):
        few = few_labels(y, labels, seed)
        found[f"logistic regression, {10 * labels} labels"] = probe(X[few >= 0], y[few >= 0], unseen, truth)
        if labels < 200:
            found[f"semi, {10 * labels} labels"] = semi(X, few, unseen, truth, seed)
    return {"items": n, "accuracy": found | {"k-means": k_means(X, unseen, truth, 10, seed)}}


def speed(archive: Path, n: int = 320) -> dict[str, Any]:
    """CPU seconds for photographs of the whole encoder, of its network alone, and of decoding alone."""
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
        paths = sorted(Path(folder).rglob("*.jpg"))[:n]
        encoder = Encoder(cache=False)
        pretrained = encoder.pretrained
        with ThreadPoolExecutor(THREADS) as pool:

            def decode() -> list[Any]:
                return list(pool.map(lambda path: pretrained.prepare(path.read_bytes()), paths))

            decoded = decode()
            decoding = cpu_seconds(decode)
        starts = range(0, len(decoded), encoder.batch_size)
        batches = [decoded[start : start + encoder.batch_size] for start in starts]
        forward = cpu_seconds(lambda: [pretrained.compute(b, torch.device("cpu"), "float32") for b in batches])
        whole = cpu_seconds(lambda: encoder.transform(paths))
    ratio = whole / (forward + decoding)
    seconds = {"encoder": whole, "forward alone": forward, "decoding alone": decoding}
    return {"items": len(paths), "cpu_seconds": seconds, "encoder/(forward + decoding)": round(ratio, 3)}


def few_labels(y: Labels, per_class: int, seed: int) -> Labels:
    """So many labels of each class, drawn at random, and -1 for all other items."""
    random = np.random.default_rng(seed)
    few = np.full_like(y, -1)
    for k in np.unique(y):
        few[random.choice(np.flatnonzero(y == k), per_class, replace=False)] = k
    return few


def half_same(y: Labels, n: int, seed: int) -> Pairs:
    """Answers of which half are "same": a random item and another of its class, or a random one of another class."""
    random = np.random.default_rng(seed)
    asked: dict[tuple[int, int], bool] = {}
    while len(asked) < n:
        left, same = int(random.integers(len(y))), len(asked) % 2 == 0
        right = int(random.choice(np.flatnonzero((y == y[left]) == same)))
        if left != right:
            asked[min(left, right), max(left, right)] = same
    return Pairs.from_arrays(np.array(list(asked)), list(asked.values()))


def from_answers(X: Features, pairs: Pairs, unseen: Features, truth: Labels, n_classes: int, seed: int) -> float:
    model = PairClassifier(n_classes, random_state=seed).fit(X, pairs=pairs)
    return 100 * model.score(unseen, truth)


def semi(X: Features, few: Labels, unseen: Features, truth: Labels, seed: int) -> float:
    model = SemiSupervisedClassifier("pseudo-mcl+", random_state=seed).fit(X, few)
    return float(100 * (model.predict(unseen) == truth).mean())


def k_means(X: Features, unseen: Features, truth: Labels, n_classes: int, seed: int) -> float:
    found = KMeans(n_classes, n_init=10, random_state=seed).fit(X).predict(unseen)
    counts = confusion(found.astype(np.int64), truth, n_classes, n_classes)
    return 100 * accuracy(counts, match_outputs(counts))


def probe(X: Features, y: Labels, unseen: Features, truth: Labels) -> float:
    """A linear classifier with scikit-learn's own regularisation, on features of deviation 1."""
    scale = X.std(0).clip(1e-6)
    model = LogisticRegression(max_iter=CROSS_ENTROPY_STEPS).fit(X / scale, y)
    return float(100 * model.score(unseen / scale, truth))


def cpu_seconds(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return round(time.process_time() - started, 2)


def _is_there(name: str, data: Path | None) -> bool:
    files = {"photos": "photos.zip", "speed": "photos.zip", "banking77": "train.csv", "cifar10": "cifar-10-batches-bin"}
    return find(name, [files[name]], data) is not None


def _photos(data: Path | None) -> Path:
    found = find("photos", ["photos.zip"], data)
    if found is None:
        raise InputError("photos.zip is not in the data folder; give --data, or leave photos and speed out.")
    return found


def _questions(data: Path | None, part: str) -> tuple[list[str], list[str]]:
    path = find("banking77", [f"{part}.csv"], data)
    if path is None:
        raise InputError(f"banking77/{part}.csv is not in the data folder; give --data, or leave banking77 out.")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["category"] for row in rows]


def _lines(sets: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, figures in sets.items():
        yield f"{name}, {figures['items']:,} items"
        for what, value in figures.get("accuracy", {}).items():
            yield f"  {what:<42} {value:6.2f} %"
        for what, value in figures.get("cpu_seconds", {}).items():
            yield f"  {what:<42} {value:6.2f} CPU seconds"
        if "encoder/(forward + decoding)" in figures:
            yield f"  encoder/(forward + decoding)               {figures['encoder/(forward + decoding)']:6.3f}"
