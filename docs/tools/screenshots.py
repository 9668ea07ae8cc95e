"""Takes the pictures of docs/guide/labelling.md: answers questions on the real page, by the folders that photos are in.

python docs/tools/screenshots.py photos/          # a folder for each class; needs Chromium and playwright
"""

from __future__ import annotations

import argparse
import io
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from likewise.labelling.shown_items import opaque_ids

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-sync", "--no-first-run"]
SIZE = {"width": 1280, "height": 800}
COLOURS = 200  # of the PNG's palette


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--answers", type=int, default=60)
    given = parser.parse_args()
    names = sorted(str(path.relative_to(given.photos)) for path in given.photos.rglob("*") if path.is_file())
    classes = {item: Path(name).parent.name for item, name in zip(opaque_ids(names), names, strict=True)}
    with tempfile.TemporaryDirectory() as folder:
        command = ["label", str(given.photos), "--store", f"{folder}/answers.db", "--no-browser", "--annotator", "ann"]
        with subprocess.Popen(
            [sys.executable, "-m", "likewise", *command], stdout=subprocess.PIPE, text=True, cwd=folder
        ) as server:
            assert server.stdout is not None
            address = next(word for line in server.stdout for word in line.split() if "?token=" in word)
            take_pictures(address, classes, given.answers, given.out)
            server.terminate()


def take_pictures(address: str, classes: dict[str, str], answers: int, out: Path) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.set_default_timeout(60_000)
        page.goto(address)
        page.wait_for_selector("#stage[data-question]")
        for number in range(answers):
            left, right = (page.locator("#view .item").nth(each).get_attribute("data-item") for each in (0, 1))
            before = page.get_attribute("#stage", "data-question")
            page.keyboard.press("ArrowRight" if classes[left or ""] == classes[right or ""] else "ArrowLeft")
            page.wait_for_function("before => document.querySelector('#stage').dataset.question !== before", arg=before)
            page.wait_for_function("n => document.querySelector('#answered')?.textContent === n", arg=str(number + 1))
        name_groups(page, classes)
        save(page, out / "labelling-pair.png")
        page.click("#theme-button")
        page.click(".modes [data-view=grid]")
        page.wait_for_selector(".candidate")
        anchor = page.locator(".anchors .item").first.get_attribute("data-item")
        for candidate in page.locator(".candidate").all():
            if classes[candidate.get_attribute("data-item") or ""] != classes[anchor or ""]:
                candidate.click()
        page.mouse.move(640, 75)
        save(page, out / "labelling-grid.png")
        browser.close()


def name_groups(page: Any, classes: dict[str, str]) -> None:
    """Give the first few classes the names that most of their items have."""
    for number in range(3):
        page.locator(".card .open").nth(number).click()
        page.wait_for_selector("#group[open] .items img")
        shown = page.locator("#group .items img").all()
        items = [(each.get_attribute("src") or "").split("/")[3] for each in shown]
        named = [classes[item] for item in items]
        page.fill("#group-name", max(set(named), key=named.count))
        page.locator("#group-name").press("Tab")
        page.locator("#group .primary").click()
        page.wait_for_selector("#group", state="hidden")


def save(page: Any, path: Path) -> None:
    page.wait_for_load_state("networkidle")
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
