"""What tests of pages look at: the tabs, what is shown, asked for and reported."""

import orjson

from tests.page.browser import Browser

TABS = ("overview", "compare", "examples", "side-info", "failures", "reproduce")


def requests(browser: Browser) -> list[str]:
    entries = [orjson.loads(entry["message"])["message"] for entry in browser.log("performance")]
    sent = (entry for entry in entries if entry["method"] == "Network.requestWillBeSent")
    return [entry["params"]["request"]["url"] for entry in sent]


def errors(browser: Browser) -> list[str]:
    return [entry["message"] for entry in browser.log("browser")]


def axe_violations(browser: Browser, axe: str) -> list[tuple[str, list[str]]]:
    browser.run(axe)
    script = "axe.run(document, arguments[0]).then(found => arguments[1](found.violations))"
    found = browser.run_async(script, {"resultTypes": ["violations"]})
    return [(one["id"], [node["html"][:200] for node in one["nodes"]][:3]) for one in found]


def cells(browser: Browser, selector: str) -> list[list[str]]:
    of_row = "row => [...row.children].map(cell => cell.innerText)"
    script = f"return [...document.querySelectorAll(arguments[0])].map({of_row})"
    found: list[list[str]] = browser.run(script, selector)
    return found
