"""`likewise label`: a page in the browser that asks which items are the same, and a store of the answers."""

from __future__ import annotations

import errno
import getpass
import socket
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.items import LoadedItems, open_to_learn, read_all
from likewise.cli.options import PLACE, STORE, EncoderName, Grey, ItemsPath, Seed, Size, Strict, TextColumns
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.labelling.gate import Doorkeeper
    from likewise.labelling.shown_items import ShownItems

EVERYWHERE = ("0.0.0.0", "::", "")  # all addresses of this machine


def label(
    items: ItemsPath,
    store: Annotated[str, typer.Option(metavar=PLACE, help=STORE)],
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A finished run, whose network sees the items in place of the plain features.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(min=2, help="How many classes there are. Default: estimated.", show_default=False),
    ] = None,
    annotator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The annotator, as the store names you. Default: your account.",
            show_default=False,
        ),
    ] = None,
    annotators: Annotated[
        Path | None,
        typer.Option(help="A text file with a name in each line. Each person gets an address.", show_default=False),
    ] = None,
    overlap: Annotated[
        float, typer.Option(min=0, max=1, help="The share of pairs that two people are asked about.")
    ] = 0.0,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on. 0.0.0.0: every address of this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on. 0: any that is free.")] = 0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name by which people reach this machine.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write to this folder what the page learns. Default: beside the store.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")] = True,
    encoder: EncoderName = "auto",
    text: TextColumns = None,
    size: Size = 32,
    grey: Grey = False,
    strict: Strict = False,
    seed: Seed = 0,
) -> None:
    """Answer on a page which items are the same."""
    _check_installed()
    from likewise.encoders.cache import cache_folder
    from likewise.labelling.api import Labelling
    from likewise.labelling.gate import Doorkeeper, check_people, load_key, read_people
    from likewise.labelling.learning import Learner
    from likewise.labelling.server import create_app
    from likewise.labelling.session import LabellingSession
    from likewise.pairs.store import create_store
    from likewise.querying import QuestionChooser

    _check_host(host, annotators)
    people = read_people(annotators) if annotators else check_people([annotator or _account()], "--annotator")
    options = _fit_options(encoder=encoder, text=text, size=size, grey=grey, strict=strict, classes=classes, seed=seed)
    with _listen(host, port) as listening, ExitStack() as opened:
        is_new = "://" not in store and not Path(store).exists()  # then it appears only when the items could be read
        answers = None if is_new else opened.enter_context(create_store(store))
        shown, names, X = read_items(items, from_, encoder=encoder, text=text, size=size, grey=grey, strict=strict)
        chooser = QuestionChooser(X, n_classes=classes, seed=seed)
        if answers is None:
            answers = opened.enter_context(create_store(store))
        session = LabellingSession(shown, names, chooser, answers, overlap=overlap)
        if session.elsewhere:
            warnings.warn(
                f"{answers.name} has {session.elsewhere:,} answers about items that are not in {items}; they stay.",
                stacklevel=1,
            )
        door = Doorkeeper(people, load_key(cache_folder() / "labelling", _place(store)))
        learner = Learner(out or _beside(store), items.absolute(), options)
        app = create_app(Labelling(session, door, learner), names=[*_own_names(host), *(allow_host or [])])
        address = _print_addresses(items, answers.name, listening, door, host)
        if browser and not annotators:
            import webbrowser

            webbrowser.open(address)
        try:
            _serve(app, listening)
        finally:
            learner.stop()


def _check_installed() -> None:
    for name in ("fastapi", "uvicorn", "sqlalchemy"):
        if find_spec(name) is None:
            raise InputError(f"likewise label needs {name}; pip install 'likewise[label]'.")


def _account() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # an account without a name
        return "me"


def _check_host(host: str, annotators: Path | None) -> None:
    """Refuse to serve beyond this machine without a token for each person."""
    if _is_loopback(host):
        return
    if annotators is None:
        raise InputError(f"--host {host} lets others answer too; name them in a file, and give it as --annotators.")
    warnings.warn(
        f"--host {host} can be reached from other machines, and what is sent is not encrypted; use it in a network "
        "that you trust, or behind a proxy with TLS.",
        stacklevel=1,
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    """Open the listening socket before anything slow is done."""
    try:
        resolved = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, place = resolved[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(
            f"--host {host} is not an address of this machine ({error.strerror}); give another."
        ) from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(128)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"Port {port} is in use; give --port another, or leave it out for a free one.") from error
        raise InputError(f"{host}:{port} cannot be listened on ({error.strerror}); give another.") from error
    return listening


def _own_names(host: str) -> list[str]:
    return [] if _is_loopback(host) else [socket.gethostname(), socket.getfqdn(), host]


def _place(store: str) -> str:
    return store if "://" in store else str(Path(store).absolute())


def _beside(store: str) -> Path:
    return Path("likewise-runs") if "://" in store else Path(f"{store}.runs")


def _fit_options(**arguments: Any) -> list[str]:
    """The options of `likewise fit` for the same items."""
    options = []
    for name, value in arguments.items():
        if value is True:
            options.append(f"--{name}")
        elif value is not None and value is not False:
            options += [f"--{name}", str(value)]
    return options


def read_items(
    items: Path, run: Path | None, *, encoder: str, text: str | None, size: int, grey: bool, strict: bool
) -> tuple[ShownItems, Sequence[str], NDArray[np.float32]]:
    """What the page shows of the items, their names, and what the chooser sees of them."""
    if run is not None:
        stream = _open_for_run(run, items)
    else:
        arguments = {"encoder": encoder, "text": text, "size": size, "grey": grey}
        stream = open_to_learn(items, arguments, strict=strict)
    loaded = read_all(stream)
    if len(loaded.items) < 2:
        raise InputError(f"{items} holds one item only; give at least two.")
    names = loaded.items.ids or [str(row) for row in range(len(loaded.items))]
    X = _features(loaded) if run is None else _learned(run, loaded, items)
    if (X[:1] == X).all():
        raise InputError(f"All items in {items} look the same; give items that differ, or another --encoder.")
    return _shown(items, loaded), names, X


def _open_for_run(run: Path, items: Path) -> Any:
    from likewise.cli.items import open_for
    from likewise.cli.run_files import columns_of, require_fit
    from likewise.estimators import load_classifier

    require_fit(run)
    model = load_classifier(run)
    return open_for(model, items, columns=columns_of(run, model))


def _learned(run: Path, loaded: LoadedItems, items: Path) -> NDArray[np.float32]:
    """What a run's network sees in the items."""
    import numpy as np

    from likewise.cli.items import check_shape
    from likewise.estimators import load_classifier

    model = load_classifier(run)
    check_shape(loaded.items, model, items)
    return np.asarray(model.transform(loaded.X), dtype=np.float32)


def _features(loaded: LoadedItems) -> NDArray[np.float32]:
    import numpy as np

    values = np.asarray(loaded.X)
    flat: NDArray[np.float32] = values.reshape(len(values), -1).astype(np.float32)
    return flat / np.float32(255) if values.dtype == np.uint8 else flat


def _shown(items: Path, loaded: LoadedItems) -> ShownItems:
    from likewise.datasets import load_arrays
    from likewise.labelling.shown_items import PictureArray, PictureFiles, Rows, TextItems

    if loaded.texts is not None:
        return TextItems(loaded.texts)
    if items.is_dir():
        return PictureFiles(items, loaded.items.ids)
    inputs = loaded.items.inputs if loaded.encoder is None else load_arrays(items).inputs
    if inputs.ndim == 4:
        return PictureArray(inputs.numpy())
    return Rows(loaded.items.columns, inputs.numpy())


def _print_addresses(items: Path, store: str, listening: socket.socket, door: Doorkeeper, host: str) -> str:
    """Say where the page is; the address of the first person."""
    port = listening.getsockname()[1]
    name = socket.gethostname() if host in EVERYWHERE else host
    at = f"http://{f'[{name}]' if ':' in name else name}:{port}/"
    typer.echo(f"Answers about {items} are kept in {store}. Open:")
    addresses = [f"{at}?token={door.token(person)}" for person in door.people]
    for person, address in zip(door.people, addresses, strict=True):
        typer.echo(f"  {address}" if len(door.people) == 1 else f"  {person}: {address}")
    typer.echo("Ctrl-C ends it; every answer is saved by then.")
    return addresses[0]


def _serve(app: Any, listening: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, proxy_headers=False, timeout_keep_alive=30
    )
    uvicorn.Server(config).run(sockets=[listening])
