"""Chromium as pages meet it: driven over its WebDriver with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_PATIENCE = 30.0  # seconds for what a page does on its own
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--force-color-profile=srgb", "--enable-precise-memory-info"),
)
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "PageUp": "\ue00e",
    "PageDown": "\ue00f",
    "End": "\ue010",
    "Home": "\ue011",
    "Left": "\ue012",
    "Up": "\ue013",
    "Right": "\ue014",
    "Down": "\ue015",
    "Shift": "\ue008",
}


class Browser:
    """One window."""

    def __init__(self, driver: str, session: str) -> None:
        self._at = f"{driver}/session/{session}"

    def call(self, what: str, value: Any = None, method: str = "POST") -> Any:
        return _call(f"{self._at}/{what}", value, method)

    def open(self, url: str | Path, fragment: str = "") -> None:
        place = url.as_uri() if isinstance(url, Path) else url
        self.call("url", {"url": "about:blank"})  # or another fragment would not load the page anew
        self.call("url", {"url": place + (f"#{fragment}" if fragment else "")})

    def run(self, script: str, *arguments: Any) -> Any:
        return self.call("execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script: str, *arguments: Any) -> Any:
        return self.call("execute/async", {"script": script, "args": list(arguments)})

    def wait(self, condition: str) -> None:
        """Wait until an expression is true in the page."""
        end = time.monotonic() + _PATIENCE
        while not self.run(f"return Boolean({condition})"):
            assert time.monotonic() < end, f"in vain: {condition}"
            time.sleep(0.01)

    def ready(self) -> None:
        self.wait("document.documentElement.dataset.ready")

    def resize(self, width: int, height: int) -> None:
        settings = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.devtools("Emulation.setDeviceMetricsOverride", settings)

    def colours(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", {"media": "", "features": features})

    def paper(self) -> None:
        """Look as a printer would, until colours are chosen again."""
        self.devtools("Emulation.setEmulatedMedia", {"media": "print"})

    def devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self.call("goog/cdp/execute", {"cmd": command, "params": parameters})

    def press(self, *keys: str) -> None:
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def click(self, selector: str) -> None:
        found = self.call("element", {"using": "css selector", "value": selector})[_ELEMENT]
        self.call(f"element/{found}/click", {})

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def log(self, kind: str) -> list[dict[str, Any]]:
        """Give what was logged since this was called last."""
        return list(self.call("se/log", {"type": kind}))

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("screenshot", method="GET")))


@contextmanager
def chromium(*options: str) -> Iterator[Browser]:
    """Start a browser with a folder of its own; both end with the block."""
    port = _free_port()
    driver = subprocess.Popen(
        ["chromedriver", f"--port={port}", "--log-level=OFF"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            session = _begin(f"http://127.0.0.1:{port}", Path(folder), options)
            browser = Browser(f"http://127.0.0.1:{port}", session)
            try:
                yield browser
            finally:
                browser.call("", method="DELETE")
        finally:
            driver.terminate()
            driver.wait()


def _begin(driver: str, folder: Path, more: Sequence[str]) -> str:
    binary = next(path for name in _CHROMIUM if (path := shutil.which(name)))
    options = {"binary": binary, "args": [*_OPTIONS, *more, f"--user-data-dir={folder}"]}
    wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": _LOGS}
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            return str(_call(f"{driver}/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"])
        except urllib.error.URLError:
            assert time.monotonic() < end, "chromedriver does not start"
            time.sleep(0.02)


_LOGS = {"browser": "ALL", "performance": "ALL"}


def _call(url: str, value: Any = None, method: str = "POST") -> Any:
    body = None if method != "POST" else json.dumps(value or {}).encode()
    request = urllib.request.Request(  # noqa: S310  our own driver
        url.rstrip("/"), body, {"Content-Type": "application/json"}, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310  our own driver
            return json.loads(reply.read())["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.loads(error.read())["value"]["message"]) from None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
