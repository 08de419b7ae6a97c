"""Take the pictures of docs/images: python -m tools.screenshots NAME=ADDRESS ...

Each page on a desktop and on a phone, light and dark: NAME.png, NAME-dark.png, NAME-phone.png,
NAME-phone-dark.png. Needs selenium, Chromium and its driver. Show the bundled sample only: pictures
of a real collection would hold its posts.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from selenium import webdriver

IMAGES = Path(__file__).parents[1] / "docs" / "images"
# Pages appear when their font is there, by an animation (style.css).
SHOWN = """return document.fonts.ready
    .then(() => Promise.all(document.getAnimations().map(each => each.finished))).then(() => 1)"""
SIZES = {"": (1120, 760), "-phone": (390, 760)}


def main() -> None:
    """Take them all."""
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    for argument in sys.argv[1:]:
        name, _, address = argument.partition("=")
        for size, (width, height) in SIZES.items():
            metrics = {"width": width, "height": height, "mobile": bool(size)}
            metrics["deviceScaleFactor"] = 1
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            for scheme, suffix in (("light", ""), ("dark", "-dark")):
                feature = {"name": "prefers-color-scheme", "value": scheme}
                browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
                browser.get(address)
                browser.execute_script(SHOWN)
                browser.save_screenshot(str(IMAGES / f"{name}{size}{suffix}.png"))
    browser.quit()


if __name__ == "__main__":
    main()
