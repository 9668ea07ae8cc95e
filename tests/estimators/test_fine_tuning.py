"""Training an encoder's last blocks: on a small network of random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from likewise import PairClassifier, Pairs
from likewise.encoders import Encoder, load_encoder
from likewise.encoders.last_blocks import last_blocks, with_weights
from likewise.errors import InputError
from likewise.estimators import encoding
from likewise.estimators.encoding import encoder_again
from likewise.estimators.onnx_file import export_encoded_onnx

LABELS = np.arange(24) % 2
PAIRS = Pairs.from_labels(LABELS, n=120)
TEXTS = [f"my card number {n}" if n % 2 else f"it rains on day {n}" for n in range(24)]


class Small(nn.Module):
    """Four layers, of which the last quarter is one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 4, 8, 8)
        self.norm = nn.BatchNorm2d(4)
        self.second = nn.Conv2d(4, 6, 4, 4)
        self.last = nn.Linear(6, 5)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.last(self.second(self.norm(self.first(images)).relu()).relu().mean((2, 3)))  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def photos() -> np.ndarray:
    random = np.random.default_rng(0)
    images = random.integers(0, 120, (24, 3, 70, 70)).astype(np.uint8)
    images[LABELS == 1, 0] += 60
    return images


def tuned(encoder: object, **further: object) -> PairClassifier:
    quick = {"epochs": 2, "group_first": False, "starts": 1, "unlabelled": False, "noise": 0}
    options: dict[str, object] = {"held_out": 0.3, "fine_tune": True} | quick | further
    return PairClassifier(2, encoder=encoder, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plain(photos: np.ndarray) -> PairClassifier:
    """Fitted with the encoder as it is."""
    return tuned(Small(), fine_tune=False).fit(photos, pairs=PAIRS)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever held-out answers say, the outcome is kept."""
    monkeypatch.setattr(encoding, "is_supported", lambda *_: True)


@pytest.mark.usefixtures("kept")
def test_the_last_quarter_is_trained_saved_and_exported(
    photos: np.ndarray, plain: PairClassifier, tmp_path: Path
) -> None:
    own = Small()
    before = {name: value.clone() for name, value in own.state_dict().items()}
    model = tuned(own).fit(photos, pairs=PAIRS)
    assert all(torch.equal(before[name], value) for name, value in own.state_dict().items())  # it is copied
    assert model.encoder_weights_ is not None
    assert sorted(model.encoder_weights_) == ["network.last.bias", "network.last.weight"]
    assert not torch.equal(model.encoder_weights_["network.last.weight"], own.last.weight)
    assert [row["stage"] for row in model.history_][-2:] == [3, 3]
    assert plain.encoder_weights_ is None
    probabilities = model.predict_proba(photos)
    assert not np.allclose(probabilities, plain.predict_proba(photos), atol=1e-7)

    encoder = encoder_again(model)
    assert encoder is not None
    form, outputs = model.input_form_, model.naming_.columns.tolist()
    assert (
        export_encoded_onnx(
            model.network_,
            encoder,
            tmp_path / "model.onnx",
            mean=form.mean,
            std=form.std,
            outputs=outputs,
            class_names=[str(output) for output in outputs],
        )
        < 1e-4
    )
    pixels = np.stack([encoder.pretrained.prepare(photo) for photo in photos])
    (found,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"images": pixels})
    np.testing.assert_allclose(found, probabilities, atol=1e-4)

    model.save(tmp_path)
    again = PairClassifier.load(tmp_path).set_params(encoder=own)
    np.testing.assert_array_equal(again.predict_proba(photos), probabilities)
    features = (tmp_path / "encoder.safetensors").read_bytes()
    (tmp_path / "encoder.safetensors").write_bytes(features[:-1] + bytes([features[-1] ^ 1]))
    with pytest.raises(InputError, match="are not those that the model was saved with"):
        PairClassifier.load(tmp_path).set_params(encoder=own).predict(photos)
    (tmp_path / "encoder.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="is not a valid safetensors file"):
        PairClassifier.load(tmp_path)
    (tmp_path / "encoder.safetensors").unlink()
    with pytest.raises(InputError, match="is missing, which holds the fine-tuned weights"):
        PairClassifier.load(tmp_path)


@pytest.mark.usefixtures("kept")
def test_a_killed_fine_tuning_resumes_to_the_same_weights(photos: np.ndarray, tmp_path: Path) -> None:
    own = Small()
    whole = tuned(own, run=tmp_path / "whole").fit(photos, pairs=PAIRS)

    def stop(row: dict[str, float]) -> None:
        if row["stage"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuned(own, run=tmp_path / "killed", on_epoch=stop).fit(photos, pairs=PAIRS)
    resumed = tuned(own, run=tmp_path / "killed").fit(photos, pairs=PAIRS)
    assert whole.encoder_weights_ is not None
    assert resumed.encoder_weights_ is not None
    for name, value in whole.encoder_weights_.items():
        assert torch.equal(value, resumed.encoder_weights_[name])


def test_what_does_worse_on_held_out_answers_is_dropped(
    photos: np.ndarray, plain: PairClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "is_supported", lambda *_: False)
    model = tuned(Small()).fit(photos, pairs=PAIRS)
    assert model.encoder_weights_ is None
    assert "tuned" not in (model.encoder_ or {})
    monkeypatch.undo()
    answers = [(2, 0.0), (2, -0.1), (1, 3.0)]
    assert [encoding.is_supported(*given) for given in answers] == [True, False, False]
    np.testing.assert_array_equal(model.predict_proba(photos), plain.predict_proba(photos))


@pytest.mark.parametrize(("name", "items"), [("efficientnet-lite0@64", "photos"), ("minilm", "texts")])
def test_the_tail_on_the_front_is_the_encoder(name: str, items: str, photos: np.ndarray) -> None:
    encoder = load_encoder(name, unit_length=False, cache=False)
    given = list(photos[:5]) if items == "photos" else TEXTS[:5]
    cut = last_blocks(encoder.pretrained)
    with torch.no_grad():
        inputs = cut.inputs(given, encoder)
        found = cut.tail(inputs)
    torch.testing.assert_close(found, torch.from_numpy(encoder.transform(given)), atol=1e-4, rtol=1e-4)
    weights = {name: value + 0.1 for name, value in cut.weights().items()}
    changed = with_weights(encoder.pretrained, weights)
    assert changed.sha256 != encoder.pretrained.sha256
    cut.tail.load_state_dict(
        {n: v + 0.1 if v.requires_grad else v for n, v in cut.tail.named_parameters()}, strict=False
    )
    with torch.no_grad():
        expected = cut.tail(inputs)
    found = torch.from_numpy(Encoder(changed, unit_length=False, cache=False).transform(given))
    torch.testing.assert_close(found, expected, atol=1e-3, rtol=1e-3)


def test_what_cannot_be_fine_tuned_is_refused(photos: np.ndarray) -> None:
    for model, items, said in (
        (tuned("none"), photos, "fine_tune is for encoders, and these items have none"),
        (tuned(Small()), np.zeros((24, 5)), "X holds their features; give the items"),
        (tuned(Small(), held_out=0), photos, "held_out is 0; give a share"),
        (tuned(lambda items: np.ones((len(items), 2))), photos, "its network is no torch module here"),
    ):
        with pytest.raises(InputError, match=said):
            model.fit(items, pairs=PAIRS)
