"""`likewise export`: a run's classifier as one ONNX file, which needs nothing of Likewise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.items import encoder_for
from likewise.cli.options import EncoderMoved, RunFolder
from likewise.cli.outputs import check_file, writing

if TYPE_CHECKING:
    from likewise.estimators.inputs import InputForm

EXAMPLE = """\
  import json, onnxruntime

  session = onnxruntime.InferenceSession({path!r})
  (probabilities,) = session.run(None, {{{feeds}}})  # {kind}
  names = json.loads(session.get_modelmeta().custom_metadata_map["likewise.classes"])
  classes = [names[k] for k in probabilities.argmax(1)]"""


def export(
    run: RunFolder,
    onnx: Annotated[Path, typer.Option(help="Write to this .onnx file.")],
    encoder: EncoderMoved = None,
) -> None:
    """Write the classifier as an ONNX file, which agrees with torch."""
    check_file(onnx, "--onnx", (".onnx",))

    from likewise.estimators import export_onnx, load_classifier
    from likewise.estimators.onnx_file import export_encoded_onnx

    model = load_classifier(run)
    form, in_use = model.input_form_, model.naming_.columns >= 0
    shared: dict[str, Any] = {
        "mean": form.mean,
        "std": form.std,
        "outputs": model.naming_.columns[in_use].tolist(),
        "class_names": [str(name) for name in model.classes_[in_use].tolist()],
    }
    seen = None if model.encoder_ is None else encoder_for(model, encoder)
    with writing(onnx, "--onnx"):
        if seen is None:
            shared |= {"input_shape": form.shape, "images": form.images, "unit_length": form.unit_length}
            difference = export_onnx(model.network_, onnx, **shared)
        else:
            difference = export_encoded_onnx(model.network_, seen, onnx, **shared)
    typer.echo(f"Wrote {onnx}; its probabilities and torch's differ by at most {difference:.1g}. To use it:\n")
    feeds, kind = _inputs(form, None if seen is None else seen.facts)
    typer.echo(EXAMPLE.format(path=str(onnx), feeds=feeds, kind=f"{kind} -> float32 (batch, {int(in_use.sum())})"))
    if seen is not None:
        typer.echo(
            f"\nThe encoder {seen.facts['name']} is inside; the metadata likewise.input say how to prepare items."
        )


def _inputs(form: InputForm, encoder: dict[str, Any] | None) -> tuple[str, str]:
    """What a session is given, and its type."""
    if encoder is not None and encoder["takes"] == "texts":
        return '"ids": ids, "mask": mask', "int64 (batch, tokens) twice"
    if encoder is not None:
        size = encoder["preprocessing"]["size"]
        return '"images": images', f"uint8 (batch, 3, {size}, {size})"
    shape = ", ".join(map(str, ("batch", *form.shape)))
    name = "images" if form.images else "features"
    return f'"{name}": {name}', f"{'uint8' if form.images else 'float32'} ({shape})"
