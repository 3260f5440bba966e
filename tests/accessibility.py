"""Checks of accessibility by axe-core, where it is installed.

It is not part of this project: ``npm install axe-core`` anywhere, and set ``AXE_CORE`` to the path
of its ``axe.min.js``.
"""

import os
from pathlib import Path

import pytest

from tests.serving.browser import BROWSER, DRIVER

AXE = Path(os.environ.get("AXE_CORE", "node_modules/axe-core/axe.min.js"))
needs_axe = pytest.mark.skipif(
    not AXE.is_file() or BROWSER is None or DRIVER is None,
    reason="axe-core (AXE_CORE=.../axe.min.js) or Chromium is not installed",
)
RUN = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then(
  (found) => done(found.violations.map((v) => [v.id, v.impact, v.nodes.map((n) => n.html)])),
  (error) => done([["axe failed", String(error), []]]),
);
"""


def find_violations(driver, *, dark: bool = False) -> list[str]:
    """Return what axe-core finds wrong with the page that a driver shows."""
    scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
    driver.execute_script(AXE.read_text(encoding="utf-8"))
    driver.set_script_timeout(60)
    found = driver.execute_async_script(RUN)
    return [f"{rule} ({impact}): {' '.join(nodes)[:300]}" for rule, impact, nodes in found]
