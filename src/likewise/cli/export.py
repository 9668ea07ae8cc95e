"""`likewise export`: a run's classifier as one ONNX file, which needs nothing of Likewise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.options import RunFolder
from likewise.cli.places import check_file, writing

EXAMPLE = """\
  import json, onnxruntime

  session = onnxruntime.InferenceSession({path!r})
  (probabilities,) = session.run(None, {{"{name}": {name}}})  # {kind}
  names = json.loads(session.get_modelmeta().custom_metadata_map["likewise.classes"])
  classes = [names[k] for k in probabilities.argmax(1)]"""


def export(
    run: RunFolder,
    onnx: Annotated[Path, typer.Option(help="Write to this .onnx file.")],
) -> None:
    """Write the classifier as an ONNX file, which agrees with torch."""
    check_file(onnx, "--onnx", (".onnx",))

    from likewise.estimators import export_onnx, load_classifier

    model = load_classifier(run)
    form, found = model.input_form_, model.naming_.columns >= 0
    with writing(onnx, "--onnx"):
        difference = export_onnx(
            model.network_,
            onnx,
            input_shape=form.shape,
            mean=form.mean,
            std=form.std,
            images=form.images,
            unit_length=form.unit_length,
            outputs=model.naming_.columns[found].tolist(),
            class_names=[str(name) for name in model.classes_[found].tolist()],
        )
    shape = ", ".join(map(str, ("batch", *form.shape)))
    kind = f"{'uint8' if form.images else 'float32'} ({shape}) -> float32 (batch, {int(found.sum())})"
    typer.echo(f"Wrote {onnx}; its probabilities and torch's differ by at most {difference:.1g}. To use it:\n")
    typer.echo(EXAMPLE.format(path=str(onnx), name="images" if form.images else "features", kind=kind))
