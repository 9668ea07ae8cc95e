"""What pretrained encoders are worth on photographs, questions, drawings and CIFAR-10, and what they cost.

    photos      photos.zip: 30 classes of 40; the first 30 files of each are learned from, the last 10 are unseen
    banking77   banking77/train.csv and test.csv: questions of 77 intents, as MiniLM sees them
    drawings    alphabets of Omniglot's evaluation; 15 drawings of each character are learned from, 5 are unseen
    cifar10     as EfficientNet-lite0 sees it at 160 pixels; ImageNet's labels cover the classes of CIFAR-10
    tuning      photos.zip again, with the encoder's last blocks trained, and with augmented views of each photo
    speed       the encoder of photos beside its bare forward pass on decoded batches, and beside decoding alone

Accuracies are of unseen items in %; those without labels are after the best matching. Nothing was chosen by them.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from likewise.benchmarks import photographs
from likewise.benchmarks.measure import Outcome
from likewise.benchmarks.photographs import cpu_seconds, published_features, unpacked
from likewise.datasets import load, load_omniglot
from likewise.datasets.source_files import find
from likewise.encoders import Encoder
from likewise.encoders.encode import THREADS
from likewise.encoders.pretrained import run_network
from likewise.errors import InputError
from likewise.estimators import PairClassifier, SemiSupervisedClassifier
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.pairs import Pairs
from likewise.storage.records import machine

SETS = ("photos", "banking77", "drawings", "cifar10", "tuning", "speed")
ALPHABETS, DRAWERS = 5, 15  # the first by name; drawings of each character that are learned from, of 20
DRAWS = 10  # of answers about photographs
ROUNDS = 3  # of measuring the speed, of which the fastest counts
COVERED = "ImageNet's labels cover these classes, so the encoder has learned them from labels."
CLUSTERED = 10_000  # items that k-means looks at, at most
CROSS_ENTROPY_STEPS = 2000  # at most, of logistic regression

Features = NDArray[np.float32]
Labels = NDArray[np.int64]


def run(
    case: Sequence[str] | None = None, data: Path | None = None, n_items: int | None = None, seed: int = 0
) -> Outcome:
    """The figures of the chosen sets, or of all that are in the data folder."""
    chosen = case or [name for name in SETS if _is_there(name, data)]
    if not chosen:
        raise InputError(
            "None of photos.zip, banking77/train.csv, Omniglot and CIFAR-10 is in the data folder; give --data."
        )
    measure: dict[str, Callable[[], dict[str, Any]]] = {
        "photos": lambda: photos(_photos(data), seed),
        "banking77": lambda: banking77(data, seed),
        "drawings": lambda: drawings(data, seed),
        "cifar10": lambda: cifar10(data, n_items, seed),
        "tuning": lambda: tuning(_photos(data), seed),
        "speed": lambda: speed(_photos(data)),
    }
    record = {**machine(), "seed": seed, "sets": {name: measure[name]() for name in chosen}}
    return record, list(_lines(record["sets"]))  # type: ignore[arg-type]


def photos(archive: Path, seed: int) -> dict[str, Any]:
    """`PairClassifier` on the files themselves, from 1,000 random answers, beside features of the same photographs.

    These were computed elsewhere and kept in 16 bits. Ours rounded likewise show what rounding alone changes in a fit.
    """
    with unpacked(archive) as pictures:
        draws = range(seed, seed + DRAWS)
        models, spent, right = zip(*(pictures.learned(draw) for draw in draws), strict=True)
        name = models[0].encoder_["name"]  # chosen by itself, as these are photos
        encoder = Encoder(name)
        again = cpu_seconds(lambda: encoder.transform([pictures.paths[row] for row in pictures.seen]))
        X, y, seen, last = encoder.transform(pictures.paths), pictures.y, pictures.seen, pictures.last
        features = {"ours in 16 bits": X.astype(np.float16).astype(np.float32)}
        published = published_features(pictures, archive.with_name("photos-lite0.npz"))
        if published is not None:
            features["computed elsewhere"] = published
        beside = {way: [pictures.learned_from(rows, draw) for draw in draws] for way, rows in features.items()}
        answers = f"{photographs.ANSWERS:,} random answers"
        return {
            "items": len(X),
            "encoder": name,
            "least_cosine": None if published is None else float((X * published).sum(1).min()),
            "cpu_seconds": in_seconds(
                {"first fit, encoder included": spent[0], "second fit": spent[1], "encode again": again}
            ),
            "draws": {"from the files": right, **beside},
            "accuracy": {
                f"{answers}, mean of {DRAWS} draws": float(np.mean(right)),
                f"{answers}, worst draw": min(right),
                **{f"{answers}, features {way}": float(np.mean(those)) for way, those in beside.items()},
                "k-means": k_means(X[seen], X[last], y[last], pictures.n_classes, seed),
                "logistic regression, all labels": probe(X[seen], y[seen], X[last], y[last]),
            },
        }


def tuning(archive: Path, seed: int) -> dict[str, Any]:
    """The same answers with the encoder as it is, with its last blocks trained, and with views of each photo."""
    ways: dict[str, dict[str, Any]] = {"as it is": {}, "fine-tuned": {"fine_tune": True}, "four views": {"views": 4}}
    with unpacked(archive) as pictures:
        learned = {way: pictures.learned(seed, **options) for way, options in ways.items()}
        return {
            "items": len(pictures.paths),
            "cpu_seconds": in_seconds({way: spent for way, (_, spent, _) in learned.items()}),
            "kept": {
                "fine-tuned": learned["fine-tuned"][0].encoder_weights_ is not None,
                "four views": learned["four views"][0].unlabelled_,
            },
            "accuracy": {way: accuracy for way, (_, _, accuracy) in learned.items()},
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
            "5,000 random answers": from_answers(encoder, X, random, unseen, truth, len(names), seed),
            "5,000 answers, half same": from_answers(
                encoder, X, half_same(y, 5000, seed), unseen, truth, len(names), seed
            ),
            "semi, 5 labels per class": semi(encoder, X, few, unseen, truth, seed),
            "logistic regression, 5 labels per class": probe(X[few >= 0], y[few >= 0], unseen, truth),
            "logistic regression, all labels": probe(X, y, unseen, truth),
        },
    }


def drawings(data: Path | None, seed: int) -> dict[str, Any]:
    """2,000 random answers about each alphabet, the number of characters not given: the means over the alphabets."""
    accuracies: dict[str, list[float]] = {}
    n_items = 0
    for alphabet in list(load_omniglot("evaluation", data, size=105).values())[:ALPHABETS]:
        y, ink = alphabet.labels.numpy(), list(255 - alphabet.inputs.numpy())  # as it was drawn, black on white
        place = np.concatenate([np.arange(size) for size in np.bincount(y)])[np.argsort(np.argsort(y, kind="stable"))]
        seen, last, n_classes = place < DRAWERS, place >= DRAWERS, int(y.max()) + 1
        pairs = Pairs.from_labels(y[seen], n=min(2000, math.comb(int(seen.sum()), 2)), random_state=seed)
        n_items += len(y)
        for encoder in (Encoder("drawings"), Encoder("efficientnet-lite0")):
            X, kind = encoder.encode(ink).rows, encoder.facts["name"]
            model = PairClassifier(encoder=kind, random_state=seed).fit(X[seen], pairs=pairs)
            figures = {
                "2,000 random answers": 100 * model.score(X[last], y[last]),
                "k-means": k_means(X[seen], X[last], y[last], n_classes, seed),
                "logistic regression, all labels": probe(X[seen], y[seen], X[last], y[last]),
            }
            for what, value in figures.items():
                accuracies.setdefault(f"{what}, {kind}", []).append(value)
    return {"items": n_items, "accuracy": {what: float(np.mean(values)) for what, values in accuracies.items()}}


def cifar10(data: Path | None, n_items: int | None, seed: int) -> dict[str, Any]:
    """Few labels, beside a linear probe with as many; `n_items` of the training images are encoded, or all."""
    data_set = load("cifar10", data)
    encoder = Encoder("efficientnet-lite0")
    n = n_items or len(data_set.train)
    X, unseen = (encoder.encode(list(part.numpy())).rows for part in (data_set.train.inputs[:n], data_set.test.inputs))
    y, truth = data_set.train.labels[:n].numpy(), data_set.test.labels.numpy()
    accuracies = {}
    for labels in (4, 25, 200):
        few = few_labels(y, labels, seed)
        accuracies[f"logistic regression, {10 * labels} labels"] = probe(X[few >= 0], y[few >= 0], unseen, truth)
        if labels < 200:
            accuracies[f"semi, {10 * labels} labels"] = semi(encoder, X, few, unseen, truth, seed)
    accuracies["k-means"] = k_means(X, unseen, truth, 10, seed)
    accuracies["k-means, the five last classes"] = k_means(X[y > 4], unseen[truth > 4], truth[truth > 4] - 5, 5, seed)
    return {"items": n, "note": COVERED, "accuracy": accuracies}


def in_seconds(spent: dict[str, float]) -> dict[str, float]:
    """As a record has them."""
    return {name: round(seconds, 2) for name, seconds in spent.items()}


def speed(archive: Path, n: int = 320) -> dict[str, Any]:
    """CPU seconds of the whole encoder, its network alone, decoding alone, and decoding as one writes it with Pillow.

    Decoding continues in threads while the network computes, so that it costs CPU time, but on two cores no time.
    """
    with unpacked(archive) as pictures:
        paths = pictures.paths[:n]
        encoder = Encoder(cache=False)
        pretrained = encoder.pretrained
        network = pretrained.network
        assert network is not None
        size, shorter = pretrained.preprocessing["size"], pretrained.preprocessing["resize"]

        def with_pillow(path: Path) -> NDArray[np.uint8]:
            picture = Image.open(path).convert("RGB")
            sides = [round(side * shorter / min(picture.size)) for side in picture.size]
            left, top = ((side - size) // 2 for side in sides)
            box = (left, top, left + size, top + size)
            resized = picture.resize((sides[0], sides[1]), Image.Resampling.BICUBIC).crop(box)
            return np.ascontiguousarray(np.asarray(resized).transpose(2, 0, 1))

        with ThreadPoolExecutor(THREADS) as pool:
            decoded = list(pool.map(lambda path: pretrained.prepare(path.read_bytes()), paths))
            starts = range(0, len(decoded), encoder.batch_size)
            batches = [decoded[start : start + encoder.batch_size] for start in starts]
            calls: dict[str, Callable[[], object]] = {
                "encoder": lambda: encoder.transform(paths),
                "forward alone": lambda: [pretrained.compute(b, torch.device("cpu"), "float32") for b in batches],
                "forward alone by torch": lambda: [
                    run_network(network, (torch.from_numpy(np.stack(b)),), torch.device("cpu"), "float32")
                    for b in batches
                ],
                "decoding alone": lambda: list(pool.map(lambda path: pretrained.prepare(path.read_bytes()), paths)),
                "decoding by Pillow's loop": lambda: list(pool.map(with_pillow, paths)),
            }
            rounds = [{name: cpu_seconds(call) for name, call in calls.items()} for _ in range(ROUNDS)]
    spent = {name: min(each[name] for each in rounds) for name in calls}
    encoding, forward, by_torch, decoding, pillow = spent.values()
    ratios = {
        "(encoder - decoding)/forward": (encoding - decoding) / forward,
        "decoding/Pillow's loop": decoding / pillow,
        "forward/forward by torch": forward / by_torch,
    }
    return {
        "items": len(paths),
        "cpu_seconds": in_seconds(spent),
        "ratios": {name: round(ratio, 3) for name, ratio in ratios.items()},
    }


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


def from_answers(
    encoder: Encoder, X: Features, pairs: Pairs, unseen: Features, truth: Labels, n_classes: int, seed: int
) -> float:
    model = PairClassifier(n_classes, encoder=encoder.facts["name"], random_state=seed).fit(X, pairs=pairs)
    return 100 * model.score(unseen, truth)


def semi(encoder: Encoder, X: Features, few: Labels, unseen: Features, truth: Labels, seed: int) -> float:
    model = SemiSupervisedClassifier("pseudo-mcl+", encoder=encoder.facts["name"], random_state=seed).fit(X, few)
    return float(100 * (model.predict(unseen) == truth).mean())


def k_means(X: Features, unseen: Features, truth: Labels, n_classes: int, seed: int) -> float:
    """The best of ten starts, over 10,000 of the items where there are more."""
    some = np.random.default_rng(seed).permutation(len(X))[:CLUSTERED]
    clusters = KMeans(n_classes, n_init=10, random_state=seed).fit(X[some]).predict(unseen)
    counts = confusion(clusters.astype(np.int64), truth, n_classes, n_classes)
    return 100 * accuracy(counts, match_outputs(counts))


def probe(X: Features, y: Labels, unseen: Features, truth: Labels) -> float:
    """A linear classifier with scikit-learn's own regularisation, on features of deviation 1."""
    scale = X.std(0).clip(1e-6)
    model = LogisticRegression(max_iter=CROSS_ENTROPY_STEPS).fit(X / scale, y)
    return float(100 * model.score(unseen / scale, truth))


def _is_there(name: str, data: Path | None) -> bool:
    files = dict.fromkeys(("photos", "tuning", "speed"), "photos.zip") | {
        "banking77": "train.csv",
        "drawings": "images_evaluation.zip",
        "cifar10": "cifar-10-batches-bin",
    }
    return find({"drawings": "omniglot"}.get(name, name), [files[name]], data) is not None


def _photos(data: Path | None) -> Path:
    archive = find("photos", ["photos.zip"], data)
    if archive is None:
        raise InputError("photos.zip is not in the data folder; give --data, or leave photos and speed out.")
    return archive


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
        for what, value in figures.get("kept", {}).items():
            yield f"  {what:<42} {'kept' if value else 'not kept'}"
        for what, value in figures.get("ratios", {}).items():
            yield f"  {what:<42} {value:6.3f}"
        if "note" in figures:
            yield f"  {figures['note']}"
