"""Loss surfaces drawn: heights and gaps, the marks on the axes, pictures, and the page with its script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.landscape import Surface
from likewise.reporting.surfaces import (
    Panel,
    draw_surface,
    for_script,
    height_marks,
    limits,
    picture,
    round_numbers,
    solutions_of,
    surface_panel,
    surfaces_figure,
    write_surfaces_page,
)

Read = Callable[[str], Any]
EVIL = "</script><script>\"&'"


@pytest.fixture
def surface() -> Surface:
    alpha, beta = np.linspace(-1, 1, 5), np.linspace(-1, 1, 4)
    bowl = (alpha[:, None] ** 2 + beta**2 + 0.01).astype(np.float32)
    values = np.stack([bowl, 5 * bowl, bowl])
    values[0, 0, :2] = np.nan
    about = {
        "projection": "random",
        "runs": ["run"],
        "items": 1000,
        "batch_size": 100,
        "grid": 5,
        "batch_norm": "stored",
    }
    return Surface(alpha, beta, ("mcl", "ce", "kcl"), values, {"mcl": 0.3, "ce": 2.3, "kcl": 3.6}, about)


def mutual(surface: Surface, **about: object) -> Surface:
    changed = {**surface.about, "projection": "mutual", "runs": ["a", "b", "c"], **about}
    return Surface(surface.alpha, surface.beta, surface.losses, surface.values, surface.chance, changed)


def test_cross_entropy_is_logarithmic_and_has_a_line_at_half_of_chance(surface: Surface) -> None:
    ce, mcl = surface_panel(surface, "ce"), surface_panel(surface, "mcl")
    np.testing.assert_allclose(ce.heights(), np.log10(surface["ce"]), rtol=1e-6)
    assert ce.line == 1.15
    assert ce.height(10.0) == 1.0
    np.testing.assert_allclose(mcl.heights(), surface["mcl"])
    assert (ce.title, mcl.title) == ("CE (logarithmic)", "MCL")


def test_what_is_not_finite_is_a_gap(surface: Surface) -> None:
    values = np.array([[0.0, np.inf], [np.nan, 1.0]])
    axes = np.array([0.0, 1.0])
    assert Panel("", axes, axes, values, logarithmic=True).gaps() == 3  # the logarithm of 0 is none
    assert Panel("", axes, axes, values).gaps() == 2
    assert limits(np.full((2, 2), np.nan)) == (0.0, 1.0)
    assert limits(np.full((2, 2), 3.0)) == (2.5, 3.5)


def test_marks_stand_within_the_axis() -> None:
    assert height_marks(0.002, 0.61, logarithmic=False) == {"0": 0.0, "0.2": 0.2, "0.4": 0.4, "0.6": 0.6}
    assert list(height_marks(-0.3, 0.2, logarithmic=True).values()) == [-0.3, pytest.approx(-0.05), 0.2]
    assert round_numbers(-1, 1) == [-1.0, -0.5, 0.0, 0.5, 1.0]


def test_a_figure_has_a_panel_for_each_loss_with_its_contours_and_gaps(surface: Surface) -> None:
    panels = [surface_panel(mutual(surface), loss) for loss in ("ce", "mcl", "kcl")]
    figure = surfaces_figure(panels, "A title")
    assert len(figure.axes) == 3
    quads = [axes.collections[-1].get_array().size for axes in figure.axes]  # the surface is drawn last
    assert quads[0] == quads[2] == 4 * 3
    assert [text.get_text() for text in figure.texts] == ["CE (logarithmic)", "MCL", "KCL", "A title"]
    assert [text.get_text().strip() for text in figure.axes[1].texts] == ["a", "b", "c"]
    views = {(axes.elev, axes.azim, *axes.get_xlim(), *axes.get_ylim()) for axes in figure.axes}
    assert len(views) == 1


def test_the_same_panels_give_the_same_bytes(surface: Surface) -> None:
    panels = [surface_panel(surface, "mcl")]
    assert picture(panels, "t") == picture(panels, "t")
    assert picture(panels, "t") != picture([surface_panel(surface, "kcl")], "t")


def test_an_empty_or_flat_surface_is_drawn_too(surface: Surface) -> None:
    for value in (np.nan, 1.0):
        empty = Panel("empty", surface.alpha, surface.beta, np.full((5, 4), value))
        assert picture([empty], "").startswith(b"\x89PNG")
    with pytest.raises(InputError, match="no surface to draw"):
        surfaces_figure([])


def test_solutions_are_named_by_their_criteria_where_these_differ(surface: Surface) -> None:
    assert solutions_of(surface) == []
    named = mutual(surface, criteria=["mcl", "ce", "kcl"])
    assert solutions_of(named) == [("MCL", 0.0, 0.0), ("CE", 1.0, 0.0), ("KCL", 0.0, 1.0)]
    for criteria in (["mcl", "mcl", "ce"], ["", "", ""]):
        assert [name for name, *_ in solutions_of(mutual(surface, criteria=criteria))] == ["a", "b", "c"]


@pytest.mark.parametrize(("name", "start"), [("s.png", b"\x89PNG"), ("s.svg", b"<?xml"), ("s.pdf", b"%PDF")])
def test_the_name_of_a_file_decides_its_kind(name: str, start: bytes, surface: Surface, tmp_path: Path) -> None:
    draw_surface(tmp_path / name, surface)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_the_page_holds_all_that_its_script_draws(surface: Surface, tmp_path: Path, read: Read) -> None:
    draw_surface(tmp_path / "s.html", surface)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    tree = read(page)
    assert len(tree.all("canvas", "surface")) == 3
    assert [figure.text.strip() for figure in tree.all("small")][1] == "2 points without a finite loss"
    found = re.search(r'id="surfaces">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    panels = json.loads(found[1])["panels"]
    heights = np.array(panels[2]["heights"], dtype=float)  # KCL's
    wanted = (surface["kcl"] - surface["kcl"].min()) / np.ptp(surface["kcl"])
    np.testing.assert_allclose(heights, wanted, atol=1e-4)
    assert panels[1]["heights"][0][:3] == [None, None, pytest.approx(panels[1]["heights"][0][2])]
    assert "http" not in page.replace("http://www.w3.org", "")


def test_logarithmic_marks_are_plain_numbers_on_the_page(surface: Surface) -> None:
    marks = dict(for_script(surface_panel(surface, "ce"))["marks"])
    low, high = np.log10(surface["ce"].min()), np.log10(surface["ce"].max())
    assert list(marks) == ["1", "10"]
    assert marks["1"] == pytest.approx((0 - low) / (high - low), abs=1e-3)


def test_a_title_cannot_end_the_script(surface: Surface, tmp_path: Path) -> None:
    panel = Panel(EVIL, surface.alpha, surface.beta, surface["kcl"], solutions=[(EVIL, 0.0, 0.0)])
    write_surfaces_page(tmp_path / "s.html", [panel], title=EVIL)
    page = (tmp_path / "s.html").read_text(encoding="utf-8")
    assert page.count("</script>") == 2
    with pytest.raises(InputError, match="no surface to draw"):
        write_surfaces_page(tmp_path / "t.html", [], title="t")
