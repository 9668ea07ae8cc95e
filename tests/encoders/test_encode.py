"""Items to features: in their order, each once, and what is said of those that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from likewise.encoders.cache import FeatureCache
from likewise.encoders.encode import encode
from likewise.encoders.pretrained import Pretrained
from likewise.errors import InputError

WORDS = ["a", "tree", "house", "owl", "sea", "window", "ox"]
EXPECTED = [[1, 1], [4, 2], [5, 3], [3, 1], [3, 2], [6, 2], [2, 1]]


@pytest.mark.parametrize("by_length", [False, True])
def test_rows_are_in_the_order_of_the_items(counting: Callable[..., Pretrained], by_length: bool) -> None:
    computed: list[list[str]] = []
    done: list[int] = []
    encoded = encode(counting(computed, by_length), WORDS, batch_size=3, on_items=done.append)
    np.testing.assert_array_equal(encoded.rows, EXPECTED)
    assert [len(batch) for batch in computed] == [3, 3, 1]
    assert sum(done) == 7
    if by_length:
        assert [len(word) for batch in computed for word in batch] == sorted(map(len, WORDS))


def test_items_that_cannot_be_used_are_told_apart(counting: Callable[..., Pretrained]) -> None:
    encoded = encode(counting([]), ["bad", *WORDS, "bad"], batch_size=3)
    assert encoded.unusable == {0: "it is bad", 8: "it is bad"}
    np.testing.assert_array_equal(encoded.rows[1:8], EXPECTED)


def test_a_killed_computation_resumes(counting: Callable[..., Pretrained], tmp_path: Path) -> None:
    computed: list[list[str]] = []
    encoder = counting(computed)

    def fails_at_the_second(batch: Sequence[Any], *further: Any) -> torch.Tensor:
        if computed:
            raise KeyboardInterrupt
        return encoder.compute(batch, *further)

    cache = FeatureCache(tmp_path, 2, encoder.facts)
    with pytest.raises(KeyboardInterrupt):
        encode(replace(encoder, compute=fails_at_the_second), WORDS, batch_size=3, cache=cache)
    again = FeatureCache(tmp_path, 2, encoder.facts)
    np.testing.assert_array_equal(encode(encoder, WORDS, batch_size=3, cache=again).rows, EXPECTED)
    assert computed == [WORDS[:3], WORDS[3:6], WORDS[6:]]  # the first batch was not computed twice
    np.testing.assert_array_equal(encode(encoder, WORDS, cache=again).rows, EXPECTED)
    assert len(computed) == 3


def test_the_cache_knows_a_photo_by_its_content(photos: list[Path], tmp_path: Path) -> None:
    computed: list[int] = []

    def compute(batch: Sequence[Any], *_: Any) -> torch.Tensor:
        computed.append(len(batch))
        return torch.tensor([[float(len(content))] for content in batch])

    encoder = Pretrained("size", "photos", "", "abc", 1, {}, lambda content: content, compute)
    cache = FeatureCache(tmp_path / "cache", 1, encoder.facts)
    before = encode(encoder, photos, cache=cache).rows
    moved = photos[0].rename(photos[0].with_name("moved.png"))
    assert encode(encoder, [moved, *photos[1:]], cache=cache).rows.tolist() == before.tolist()
    assert computed == [7]
    moved.write_bytes(b"other")
    assert encode(encoder, [moved, tmp_path / "none.png"], cache=cache).unusable == {1: "No such file or directory"}
    assert computed == [7, 1]


def _answering(rows: Callable[[int], list[list[float]]]) -> Pretrained:
    compute = lambda batch, *_: torch.tensor(rows(len(batch)))  # noqa: E731
    return Pretrained("odd", "anything", "", "", 0, {}, lambda item: item, compute)


def test_an_encoder_that_gives_rubbish_is_refused() -> None:
    with pytest.raises(InputError, match="odd gave NaN or infinite features for 'a'"):
        encode(_answering(lambda n: [[float("nan")]] * n), ["a", "b"])
    with pytest.raises(InputError, match=r"gave features of shape \(1, 1\) for 2 items"):
        encode(_answering(lambda n: [[1.0]]), ["a", "b"])
    with pytest.raises(InputError, match="gave 1 features after 2; give one whose features are always as many"):
        encode(_answering(lambda n: [[1.0] * n] * n), ["a", "b", "c"], batch_size=2)
