"""A browser for tests of pages, and what they ask it.

Needs Chromium and its driver (Debian: chromium, chromium-driver), selenium and axe-core-python.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from selenium.webdriver import Chrome

NO_SELENIUM = "selenium is not installed: .venv/bin/pip install selenium"
webdriver = pytest.importorskip("selenium.webdriver", reason=NO_SELENIUM)
WebDriverWait = pytest.importorskip("selenium.webdriver.support.wait").WebDriverWait
Keys = webdriver.Keys
WebDriverException = pytest.importorskip("selenium.common").WebDriverException

CSS = "css selector"
MATHML = "http://www.w3.org/1998/Math/MathML"
# The last five keep it from asking the network at its start.
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--force-prefers-reduced-motion"  # pages on disk appear at once
)


@contextmanager
def chrome(profile: Path) -> Iterator[Chrome]:
    """Open Chromium without a window; tests skip where there is none."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("no Chromium here; on Debian: apt install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS.split(), f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    browser.set_page_load_timeout(30)
    browser.set_script_timeout(100)
    yield browser
    browser.quit()


def drawn(browser: Chrome, selector: str) -> list[dict[str, Any]]:
    """Return name space and size of every element that is shown."""
    return browser.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map(e => ({space: e.namespaceURI,"
        " width: e.getBoundingClientRect().width, height: e.getBoundingClientRect().height}))",
        selector,
    )


def until(browser: Chrome, holds: Callable[[Chrome], Any]) -> None:
    """Wait until something holds on a page, also on a machine that is busy."""
    WebDriverWait(browser, 60).until(holds)


def attacked(browser: Chrome) -> object:
    return browser.execute_script("return window.attacked ?? null")


def complaints(browser: Chrome) -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def refused(browser: Chrome) -> list[str]:
    """Return what the content security policy had to stop: nothing should have got that far."""
    return [message for message in complaints(browser) if "Content Security Policy" in message]


def shown(browser: Chrome, selector: str) -> list[str]:
    return [e.text for e in browser.find_elements(CSS, selector) if e.is_displayed()]


@contextmanager
def phone(browser: Chrome) -> Iterator[None]:
    size = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@contextmanager
def scheme(browser: Chrome, name: str) -> Iterator[None]:
    media = {"features": [{"name": "prefers-color-scheme", "value": name}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def check(browser: Chrome, address: str) -> None:
    """A page is for everyone, light and dark, on a desk and on a phone."""
    for name in ("light", "dark"):
        with scheme(browser, name):
            check_once(browser, address)
            with phone(browser):
                check_once(browser, address)


def check_once(browser: Chrome, address: str) -> None:
    """No rule of axe is broken, at any level, and nothing is too wide."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    browser.get(address)
    until(browser, lambda _: browser.find_element(CSS, "h1").is_displayed())
    browser.execute_script((Path(axe.__file__).parent / "axe.min.js").read_text("utf-8"))
    found = browser.execute_async_script("axe.run().then(arguments[0])")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    width = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width[0] <= width[1]


def jumps(browser: Chrome, address: str) -> float:
    """Return the cumulative layout shift of a first visit."""
    moving = {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", moving)
    browser.execute_cdp_cmd("Network.clearBrowserCache", {})
    browser.get(address)
    shift: float = browser.execute_async_script(
        """const done = arguments[0]; let sum = 0;
        new PerformanceObserver(list => {
          for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        document.fonts.ready.then(() => setTimeout(() => done(sum), 500));"""
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    return shift


def press(browser: Chrome, key: str) -> None:
    """Press a key, and wait for the next page."""
    body = browser.find_element(CSS, "body")
    body.send_keys(key)
    until(browser, lambda _: gone(body))


def gone(element: Any) -> bool:
    try:
        element.is_enabled()
    except WebDriverException:
        return True
    return False


def copied(browser: Chrome, formula: Any, box: str, act: Callable[[], Any]) -> None:
    """Check that an act copies the LaTeX of a formula, which can then be pasted into a box."""
    latex = formula.get_attribute("title")
    act().perform()
    status = browser.find_element(CSS, ".copied")
    until(browser, lambda _: status.text)
    assert status.text == f"Copied: {latex}"
    field = browser.find_element(CSS, box)
    field.clear()
    field.send_keys(Keys.CONTROL, "v")
    assert field.get_property("value") == latex
