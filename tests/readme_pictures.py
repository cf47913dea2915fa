"""The README's pictures of the running page: `PYTHONPATH=. python tests/readme_pictures.py`."""

import shutil
import sys
import tempfile
from pathlib import Path

from conftest import CHROMIUM, CHROMIUM_FLAGS, ROOT, serving
from playwright.sync_api import sync_playwright

FOLDER = ROOT / "static" / "img"
SERVE = [sys.executable, "-m", "app", "--host", "127.0.0.1", "--port", "{port}"]
SENTENCE = "吾輩は猫である。The+cat+sat+on+the+mat."
PICTURES = {
    "add-en-light": ("en", "light", f"/?lang=en#text={SENTENCE}&norm=post&step=add1"),
    "norm-ja-dark": ("ja", "dark", f"/?lang=ja#text={SENTENCE}&norm=pre&step=ln1.normalize"),
    "attention-ja-light": ("ja", "light", f"/?lang=ja#text={SENTENCE}&norm=post&step=attn.softmax"),
}


def main() -> None:
    """Take every picture anew."""
    FOLDER.mkdir(exist_ok=True)
    executable = next(filter(None, map(shutil.which, CHROMIUM)), None)
    with (
        tempfile.TemporaryDirectory() as home,
        serving(SERVE, Path(home)) as base,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(CHROMIUM_FLAGS), headless=True
        )
        for picture, (lang, theme, address) in PICTURES.items():
            page = browser.new_page(
                base_url=base,
                locale=lang,
                color_scheme=theme,
                reduced_motion="reduce",
                viewport={"width": 1100, "height": 720},
            )
            page.goto(address)
            page.wait_for_selector("#card-body .main-svg", state="attached")
            # The second look at the run comes when the page is idle; its result belongs in.
            page.wait_for_timeout(6000)
            page.screenshot(path=FOLDER / f"{picture}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
