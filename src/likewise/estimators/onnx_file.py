"""A trained classifier as one self-contained ONNX file, compared with torch before it is written.

The normalisation is inside, and the encoder where there is one. So the file takes the items as the user has them, from
pixels, features or token ids to probabilities, and needs nothing of Likewise:

    session = onnxruntime.InferenceSession("model.onnx")
    (probabilities,) = session.run(None, {"images": images})  # uint8 (batch, C, H, W) -> float32 (batch, K)
    names = json.loads(session.get_modelmeta().custom_metadata_map["likewise.classes"])
"""

from __future__ import annotations

import copy
import io
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from likewise import __version__
from likewise.datasets import normalise, to_unit_length
from likewise.encoders import Encoder
from likewise.encoders.pretrained import run_network
from likewise.errors import InputError
from likewise.storage.atomic_files import write_atomically
from likewise.training import predict_logits

TOLERANCE = 1e-4  # between the probabilities of torch and those of the file; rounding alone makes some 1e-7
LARGEST_FILE = 2**31 - 1  # bytes: protobuf, in which ONNX is written, holds no more
OPSET = 18  # what the exporter writes without converting it, and what runtimes since 2023 read


def export_onnx(
    network: nn.Module,
    path: Path | str,
    *,
    input_shape: Sequence[int],  # of one item: (C, H, W) or (d,)
    mean: Sequence[float],
    std: Sequence[float],
    images: bool,
    unit_length: bool = False,
    outputs: Sequence[int],
    class_names: Sequence[str],
    batch_sizes: Sequence[int] = (1, 2, 17),
) -> float:
    """Write the network as an ONNX file, and return the largest difference between its probabilities and torch's.

    The input is `images`, uint8 (batch, C, H, W), or `features`, float32 (batch, d), not normalised: with
    `unit_length` the file brings them to length 1 itself. The output is
    `probabilities`, float32 (batch, K): the softmax over the logits of `outputs` alone, which stand for `class_names`.
    The batch may have any size. The metadata are `likewise.classes` (JSON), `likewise.input` and `likewise.version`.

    Before it is written, the file is run on random items, as many at once as each of `batch_sizes` says: if it differs
    from torch by more than 1e-4, that is an InputError and `path` stays as it was. So does the network, in any case.

    >>> import tempfile
    >>> from likewise.networks import build
    >>> path = Path(tempfile.mkdtemp()) / "model.onnx"
    >>> network, form = build("linear", 2, (3,)), {"mean": [0.0] * 3, "std": [1.0] * 3, "images": False}
    >>> difference = export_onnx(network, path, input_shape=(3,), **form, outputs=[0, 1], class_names=["ant", "bee"])
    >>> path.exists(), difference < 1e-4
    (True, True)
    """
    for name in ("onnx", "onnxruntime", "onnxscript"):  # before any work
        _package(name)
    path, shape, kept = Path(path), tuple(input_shape), [int(output) for output in outputs]
    mean, std = tuple(map(float, mean)), tuple(map(float, std))
    if images and len(shape) != 3:
        raise InputError(f"input_shape must be (channels, height, width) for images, got {shape}.")
    if unit_length and len(shape) != 1:
        raise InputError(f"unit_length is for feature vectors, and input_shape is {shape}; leave it out.")
    if not kept or len(kept) != len(class_names):
        raise InputError(f"There must be a name for each kept output, got {len(class_names)} for {len(kept)} outputs.")
    if not batch_sizes or min(batch_sizes) < 1:
        raise InputError(f"batch_sizes must be one or more positive numbers, got {tuple(batch_sizes)}.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the file to write, such as {path / 'model.onnx'}.")
    _check_size(path, sum(each.numel() * each.element_size() for each in (*network.parameters(), *network.buffers())))

    twin = twin_of(network)
    batches = [_random_items(n, shape, mean, std, images) for n in batch_sizes]
    rows = [to_unit_length(batch) if unit_length else batch for batch in batches]
    expected = [probabilities_of(twin, batch, mean, std, kept) for batch in rows]
    kind = "uint8: the bytes of the images, 0 to 255" if images else "float32: the features, not normalised"
    about = metadata(class_names, kind)
    graph = _Classifier(twin, mean, std, unit_length, kept)
    example, name = _random_items(3, shape, mean, std, images), "images" if images else "features"
    return write_checked(path, graph, {name: example}, [{name: batch} for batch in batches], expected, about)


def write_checked(
    path: Path,
    graph: nn.Module,
    example: dict[str, Tensor],  # the inputs by their names, in the order of the graph's
    batches: Sequence[dict[str, Tensor]],
    expected: Sequence[Tensor],  # the probabilities of each batch
    about: dict[str, str],
    dynamic: Sequence[dict[int, Any]] | None = None,  # dimensions of each input that may differ; by default the first
) -> float:
    """Write a graph with the output `probabilities`, if it agrees with what is expected; gives their difference."""
    onnx, onnxruntime, _ = (_package(name) for name in ("onnx", "onnxruntime", "onnxscript"))
    content = _convert(graph, example, dynamic, about)
    _check_size(path, len(content))
    computed = _run(onnx, onnxruntime, content, batches)
    difference = max(float((a - b).abs().max()) for a, b in zip(computed, expected, strict=True))
    if not difference <= TOLERANCE:  # NaN is no agreement either
        raise InputError(
            f"{path} was not written: the exported network does not agree with torch, its probabilities differ by up "
            f"to {difference:.2g}; see that the network computes the same whenever it is called in evaluation mode."
        )
    write_atomically(path, content)
    return difference


def metadata(class_names: Sequence[str], kind: str) -> dict[str, str]:
    """What a file says of itself; `kind` is of its input."""
    return {
        "likewise.classes": json.dumps([str(name) for name in class_names], ensure_ascii=False),
        "likewise.input": kind,
        "likewise.version": __version__,
    }


def twin_of(network: nn.Module) -> nn.Module:
    """A copy on the CPU in evaluation mode: whatever the trace does to it, the network itself stays as it was."""
    try:
        return copy.deepcopy(network).cpu().eval()
    except Exception as error:
        raise InputError(
            f"The network cannot be exported to ONNX, because it cannot be copied: {_reason(error)}"
        ) from error


class _Classifier(nn.Module):
    """What the file computes: from the items as the user has them to the probabilities of the kept outputs."""

    def __init__(
        self, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...], unit_length: bool, kept: list[int]
    ) -> None:
        super().__init__()
        self.network = network
        self.mean, self.std, self.unit_length = mean, std, unit_length
        self.outputs: Tensor
        self.register_buffer("outputs", torch.tensor(kept))

    def forward(self, items: Tensor) -> Tensor:
        items = to_unit_length(items) if self.unit_length else items
        logits: Tensor = self.network(normalise(items, self.mean, self.std)).float()  # (b, outputs of the network)
        return logits.index_select(1, self.outputs).softmax(1)  # (b, K)


def probabilities_of(
    network: nn.Module, items: Tensor, mean: tuple[float, ...], std: tuple[float, ...], outputs: list[int]
) -> Tensor:
    """The same by the way of `predict_logits`, as everywhere else in Likewise: what the file must agree with."""
    try:
        logits = predict_logits(network, items, mean=mean, std=std)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"The network cannot take items of shape {tuple(items.shape[1:])}: {_reason(error)}"
        ) from error
    if logits.ndim != 2 or not all(0 <= output < logits.shape[1] for output in outputs):
        raise InputError(f"The network's logits have shape {tuple(logits.shape)}, which has no outputs {outputs}.")
    if not logits.isfinite().all():
        raise InputError("The network's own logits are not finite, so there is nothing to export; train it again.")
    return logits[:, outputs].softmax(1)


def _random_items(
    n: int, shape: tuple[int, ...], mean: tuple[float, ...], std: tuple[float, ...], images: bool
) -> Tensor:
    generator = torch.Generator().manual_seed(n)
    if images:
        return torch.randint(256, (n, *shape), dtype=torch.uint8, generator=generator)
    items = torch.randn((n, *shape), generator=generator)
    if len(mean) != shape[0] or len(std) != shape[0]:  # none are given, or `normalise` will say what is wrong
        return items
    by_column = (-1, *[1] * (len(shape) - 1))
    return items * torch.tensor(std).view(by_column) + torch.tensor(mean).view(by_column)


def _convert(
    graph: nn.Module, example: dict[str, Tensor], dynamic: Sequence[dict[int, Any]] | None, about: dict[str, str]
) -> bytes:
    """The graph as the bytes of an ONNX file.

    It is traced here, and not by `torch.onnx.export`, which would try other ways after a failure: some of them fix the
    batch size without a word, and bury the first error.
    """
    batch = torch.export.Dim("batch")
    try:
        with _quiet(), torch.no_grad():
            shapes = tuple(dynamic or [{0: batch}] * len(example))
            traced = torch.export.export(graph, tuple(example.values()), dynamic_shapes=shapes, strict=False)
            program: Any = torch.onnx.export(
                traced, dynamo=True, input_names=list(example), output_names=["probabilities"], opset_version=OPSET
            )
            # Each node carries the lines of source that made it, with the paths of this machine.
            import_module("onnx_ir.passes.common").ClearMetadataAndDocStringPass()(program.model)
            program.model.metadata_props.update(about)
            content: bytes = program.model_proto.SerializeToString()
    except Exception as error:
        raise InputError(f"The network cannot be exported to ONNX: {_reason(error)}") from error
    return content


def _run(onnx: Any, onnxruntime: Any, content: bytes, batches: Sequence[dict[str, Tensor]]) -> list[Tensor]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors alone
    try:
        onnx.checker.check_model(content, full_check=True)
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        arrays = ({name: part.numpy() for name, part in batch.items()} for batch in batches)
        return [torch.from_numpy(session.run(["probabilities"], batch)[0]) for batch in arrays]
    except Exception as error:  # their errors have no other class in common
        raise InputError(f"The exported network cannot be run: {_reason(error)}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the exporter's log, the graphs that it prints, and its own deprecations; its errors say what matters."""
    loggers = {logger: logger.level for logger in map(logging.getLogger, ("torch", "onnxscript", "onnx_ir"))}
    unread = io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(unread), redirect_stderr(unread):
        for category in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", category)
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL + 1)
            yield
        finally:
            for logger, level in loggers.items():
                logger.setLevel(level)


def _reason(error: BaseException) -> str:
    """The first line of the error that began it all: the exporter wraps it in advice to its own developers."""
    while error.__cause__ is not None:
        error = error.__cause__
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _check_size(path: Path, size: int) -> None:
    if size > LARGEST_FILE:
        raise InputError(
            f"{path} was not written: the network takes {size / 2**30:.1f} GiB, and an ONNX file holds less than 2; "
            "use a smaller network."
        )


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(f"An ONNX file needs the package {name}; install likewise[onnx].") from error


def export_encoded_onnx(
    network: nn.Module,
    encoder: Encoder,
    path: Path | str,
    *,
    mean: Sequence[float],
    std: Sequence[float],
    outputs: Sequence[int],
    class_names: Sequence[str],
    batch_sizes: Sequence[int] = (1, 5),
) -> float:
    """Write encoder and network as an ONNX file, and return the largest difference of its probabilities from torch's.

    The input is `images`, uint8 (batch, 3, size, size), resized and cropped as the metadata `likewise.input` say; or
    `ids` and `mask`, int64 (batch, tokens), of the encoder's tokenizer. The output is as that of `export_onnx`.
    """
    pretrained = encoder.pretrained
    if pretrained.network is None:
        raise InputError(
            f"The encoder {pretrained.name} cannot be put into an ONNX file; write features with likewise encode, and "
            "fit to those."
        )
    encoding, twin = twin_of(pretrained.network), twin_of(network)
    mean, std, kept = tuple(map(float, mean)), tuple(map(float, std)), [int(output) for output in outputs]
    inputs = _random_tokens if pretrained.takes == "texts" else _random_images
    size = int(pretrained.preprocessing["size" if pretrained.takes == "photos" else "most_tokens"])
    batches = [inputs(n, size) for n in batch_sizes]
    cpu = torch.device("cpu")
    features = [to_unit_length(run_network(encoding, tuple(batch.values()), cpu, "float32")) for batch in batches]
    expected = [probabilities_of(twin, batch, mean, std, kept) for batch in features]
    if pretrained.takes == "texts":
        kind = f"int64 token ids of {pretrained.name}, at most {size}, and 1 for each of them, 0 for padding"
        batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens", min=2, max=size)
        dynamic = [{0: batch, 1: tokens}] * 2
        graph: nn.Module = _OfTexts(encoding, twin, mean, std, kept)
    else:
        kind = f"uint8: photos in RGB, prepared so: {pretrained.preprocessing}"
        dynamic = [{0: torch.export.Dim("batch")}]
        graph = _OfPhotos(encoding, twin, mean, std, kept)
    about = metadata(class_names, kind)
    return write_checked(Path(path), graph, inputs(3, size), batches, expected, about, dynamic)


class _WithEncoder(nn.Module):
    """From what the encoder takes to the probabilities of the kept outputs."""

    def __init__(
        self, encoder: nn.Module, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...], kept: list[int]
    ) -> None:
        super().__init__()
        self.encoder, self.network = encoder, network
        self.mean, self.std = mean, std
        self.outputs: Tensor
        self.register_buffer("outputs", torch.tensor(kept))

    def probabilities(self, features: Tensor) -> Tensor:
        logits: Tensor = self.network(normalise(to_unit_length(features), self.mean, self.std)).float()
        return logits.index_select(1, self.outputs).softmax(1)  # (b, K)


class _OfPhotos(_WithEncoder):
    def forward(self, images: Tensor) -> Tensor:
        return self.probabilities(self.encoder(images))


class _OfTexts(_WithEncoder):
    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.probabilities(self.encoder(ids, mask))


def _random_images(n: int, size: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(n)
    return {"images": torch.randint(256, (n, 3, size, size), dtype=torch.uint8, generator=generator)}


def _random_tokens(n: int, most: int) -> dict[str, Tensor]:
    """Sequences of different lengths, padded with 0."""
    generator = torch.Generator().manual_seed(n)
    lengths = torch.randint(2, min(most, 20), (n, 1), generator=generator)
    mask = (torch.arange(int(lengths.max())) < lengths).long()
    return {"ids": torch.randint(1, 1000, tuple(mask.shape), generator=generator) * mask, "mask": mask}
