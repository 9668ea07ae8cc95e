"""WordLlama for texts: the mean of a vector for each token, from the package wordllama. It ignores word order."""

from __future__ import annotations

from safetensors.torch import load_file
from torch import Tensor, nn

from likewise.encoders.pretrained import Pretrained, file_of, package_folder, package_version
from likewise.encoders.texts import token_encoder
from likewise.errors import InputError

NAME = "wordllama"
MOST_TOKENS = 4096


class MeanVector(nn.Module):
    """Token ids (b, t) and their mask (b, t) to the mean of their vectors (b, d)."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        n, width = vectors.shape
        self.vectors = nn.Embedding(n, width, _weight=vectors.float())

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        counted = mask[:, :, None].to(self.vectors.weight.dtype)
        summed: Tensor = (self.vectors(ids) * counted).sum(1)
        return summed / counted.sum(1).clamp_min(1)


def load() -> Pretrained:
    folder = package_folder(NAME, NAME, "'likewise[text]'")
    weights = file_of(folder, "weights/l2_supercat_256.safetensors", NAME, NAME)
    try:
        vectors = load_file(weights)["embedding.weight"]
    except Exception as error:  # SafetensorError, KeyError: a damaged file, or another one
        raise InputError(
            f"{weights} does not hold the vectors of {NAME} ({error}); pip install --force-reinstall {NAME}."
        ) from error
    return token_encoder(
        NAME,
        MeanVector(vectors),
        file_of(folder, "tokenizers/l2_supercat_tokenizer_config.json", NAME, NAME),
        width=vectors.shape[1],
        version=package_version(NAME),
        most_tokens=MOST_TOKENS,
        special_tokens=False,
    )
