"""A few labelled items in a CSV or Parquet file, with an id and a label in each row; every refusal names the line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.items import LoadedItems
from likewise.errors import InputError
from likewise.unknown import UNKNOWN

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.datasets.table import Rows

REMEDY = "Correct it, or give --items."  # of an id that is not there


@dataclass(frozen=True)
class FewLabels:
    """Rows without a label are left out."""

    rows: Rows
    numbers: list[int]  # of the rows
    ids: list[str]
    labels: list[str]

    def refuse(self, place: int, what: str) -> InputError:
        return InputError(f"{self.rows.path}, {self.rows.place(self.numbers[place])}: {what}")


def read_few_labels(path: Path) -> FewLabels:
    """The ids are in the column that a table of items has them in, the labels in the one called label or class."""
    import pyarrow.compute as pc

    from likewise.datasets.table import ID_NAMES, LABEL_NAMES
    from likewise.datasets.table_rows import CsvRows, ParquetRows

    if not path.is_file():
        raise InputError(f"{path} {'is not a file' if path.exists() else 'does not exist'}; give a table of labels.")
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InputError(f"{path} ends neither in .csv nor in .parquet; give a file that does.")
    rows: Rows = CsvRows(path) if path.suffix.lower() == ".csv" else ParquetRows(path)
    columns = [_called(ID_NAMES, rows), _called(LABEL_NAMES, rows)]
    _, texts = rows.read_text(columns)
    ids, labels = (pc.fill_null(pc.utf8_trim_whitespace(texts[column]), "").to_pylist() for column in columns)
    known = [row for row, label in enumerate(labels) if label not in ("", *map(str, UNKNOWN))]
    if not known:
        raise InputError(f"{path} holds no labels; give at least one row: an id and the name of its class.")
    return FewLabels(rows, known, [ids[row] for row in known], [labels[row] for row in known])


def positions(few: FewLabels, names: Sequence[str], n_items: int, remedy: str = REMEDY) -> list[int]:
    """The positions of the labelled items among all; an item that is missing is refused."""
    places = look_up(few, names, n_items)
    if -1 in places:
        place = places.index(-1)
        among = f"the {n_items:,} items" + (", counted from 0" if _are_counted(few, names) else "")
        raise few.refuse(place, f"the id is {few.ids[place]!r}, which is not among {among}. {remedy}")
    return places


def look_up(few: FewLabels, names: Sequence[str], n_items: int) -> list[int]:
    """The position of each labelled item, by its name, or by its row number where no name is a number; -1 if missing.

    An item that is labelled twice is refused.
    """
    by_name = {name.strip(): place for place, name in enumerate(names)}
    counted = _are_counted(few, names)
    places = [int(name) if counted else by_name.get(name, -1) for name in few.ids]
    places = [position if position < n_items else -1 for position in places]
    seen: set[int | str] = set()
    for place, (name, position) in enumerate(zip(few.ids, places, strict=True)):
        item = name if position < 0 else position
        if item in seen:
            raise few.refuse(place, f"the id {name!r} stands there twice. Keep one of the two.")
        seen.add(item)
    return places


def _are_counted(few: FewLabels, names: Sequence[str]) -> bool:
    from likewise.pairs.columns import ROW_NUMBER

    is_number = re.compile(ROW_NUMBER).match
    return not any(is_number(name.strip()) for name in names) and all(map(is_number, few.ids))


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Labels of some of the items that could be read."""

    positions: NDArray[np.int64]  # (m,)
    labels: NDArray[np.str_]  # (m,)

    def __len__(self) -> int:
        return len(self.labels)


def find_labels(few: FewLabels, loaded: LoadedItems, remedy: str = REMEDY) -> LabelledItems:
    """The labels with positions among the items; those of images that cannot be read are left out."""
    import numpy as np

    n_named = len(loaded.names) or len(loaded.items)
    places, labels = np.array(positions(few, loaded.names, n_named, remedy), dtype=np.int64), np.array(few.labels)
    if n_named == len(loaded.items):
        return LabelledItems(places, labels)
    readable = set(loaded.items.ids)
    is_readable = np.array([name in readable for name in loaded.names])
    kept = is_readable[places]
    if lost := int((~kept).sum()):
        what = "1 label of an image" if lost == 1 else f"{lost:,} labels of images"
        warnings.warn(f"Ignoring {what} that cannot be read.", stacklevel=2)
    return LabelledItems((np.cumsum(is_readable) - 1)[places[kept]], labels[kept])


def _called(names: Sequence[str], rows: Rows) -> str:
    for name in names:
        for column in rows.names:
            if column.casefold() == name:
                return column
    have = ", ".join(rows.names)
    raise InputError(f"{rows.path} has no column {names[0]!r} but {have}; name the columns id,label.")
