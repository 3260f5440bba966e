"""The page in a real browser: drop an image, see the label, explain, correct; nothing from afar."""

import base64
import json
from urllib.parse import urlsplit

import pytest

from myriad.images.manifest import list_manifest
from myriad.models import load_model
from tests.accessibility import find_violations, needs_axe
from tests.serving.browser import needs_browser, open_browser
from tests.serving.calling import Server

DROP = """
const [name, text] = arguments;
const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const transfer = new DataTransfer();
transfer.items.add(new File([bytes], name, { type: "image/png" }));
const settings = { dataTransfer: transfer, bubbles: true, cancelable: true };
document.dispatchEvent(new DragEvent("drop", settings));
"""
NAMES = """
const seen = [...document.querySelectorAll("button, a, select, input")];
const isNamed = (e) => e.textContent.trim() || e.ariaLabel || e.labels?.length;
return seen.filter((e) => e.offsetParent && !isNamed(e)).map((e) => e.outerHTML);
"""


@needs_browser
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
class TestPage:
    @pytest.fixture(scope="class")
    def kept(self, tmp_path_factory):
        return tmp_path_factory.mktemp("page") / "feedback"

    @pytest.fixture(scope="class")
    def server(self, image_model, kept):
        with Server(image_model, "--feedback", str(kept)) as server:
            yield server

    @pytest.fixture(scope="class")
    def driver(self, tmp_path_factory):
        with open_browser(tmp_path_factory.mktemp("browser")) as driver:
            yield driver

    @pytest.fixture
    def page(self, driver, server):
        driver.get_log("browser")
        driver.get_log("performance")
        driver.get(server.address + "/")
        wait(driver, "#about:not(:empty)")
        yield driver
        said = [entry["message"] for entry in driver.get_log("browser")]
        assert [one for one in said if "status of 422" not in one] == []
        asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        addresses = [
            one["params"]["request"]["url"]
            for one in asked
            if one["method"] == "Network.requestWillBeSent"
        ]
        assert addresses
        for address in addresses:
            parts = urlsplit(address)
            assert parts.scheme in ("blob", "data") or parts.port == server.port, address

    def test_a_dropped_image_has_its_label(self, page, letter, image_model):
        drop(page, "dropped.png", letter[0])
        wait(page, ".card .label")
        assert text(page, ".verdict") == letter[1]
        assert text(page, ".name") == "dropped.png"
        assert len(find_all(page, ".label")) == 5
        assert text(page, ".label .value").endswith("%")
        wait(page, ".label .thumb img")
        wait(page, ".set:not([hidden])")
        assert letter[1] in text(page, ".set")
        assert page.execute_script(NAMES) == []
        find_all(page, ".remove")[0].click()
        assert find_all(page, ".card") == []

    @needs_axe
    @pytest.mark.parametrize("dark", [False, True])
    def test_axe_finds_nothing_wrong(self, page, letter, dark):
        drop(page, "letter.png", letter[0])
        wait(page, ".label .thumb img")
        find_all(page, ".explain")[0].click()
        wait(page, ".heat:not([hidden])")
        assert find_violations(page, dark=dark) == []
        find_all(page, ".wrong")[0].click()
        wait(page, "#found li")
        assert find_violations(page, dark=dark) == []

    def test_many_files_are_chosen_and_bad_ones_say_why(self, page, letters, tmp_path):
        files = [str(path) for path in sorted(letters.rglob("0002.png"))]
        broken = tmp_path / "broken.jpg"
        broken.write_bytes(b"\xff\xd8\xff nothing")
        find_all(page, "#files")[0].send_keys("\n".join([*files, str(broken)]))
        wait(page, ".verdict.error")
        wait(page, ".card .label", n=5 * len(files))
        assert "truncated JPEG" in text(page, ".verdict.error")
        find_all(page, "#clear")[0].click()
        assert find_all(page, ".card") == []

    def test_a_class_is_explained_and_compared(self, page, letter):
        drop(page, "letter.png", letter[0])
        wait(page, ".label .explain")
        find_all(page, ".explain")[0].click()
        wait(page, ".heat:not([hidden])")
        assert letter[1] in find_all(page, ".heat")[0].get_attribute("alt")
        second = find_all(page, ".label .class")[1].text
        page.execute_script(
            "const s = document.querySelector('.against'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('change'))",
            second,
        )
        wait(page, f".heat[alt$='and not {second}']")
        find_all(page, ".hide-heat")[0].click()
        assert find_all(page, ".heat:not([hidden])") == []

    def test_the_right_label_is_found_and_kept(self, page, letter, image_model, kept):
        from selenium.webdriver.common.keys import Keys

        wanted = load_model(image_model).class_names[3]
        drop(page, "wrong.png", letter[0])
        wait(page, ".wrong:not([hidden])")
        find_all(page, ".wrong")[0].click()
        wait(page, "#found li")
        find_all(page, "#search")[0].send_keys(wanted)
        wait(page, "#found[aria-busy=false] li:only-child[aria-selected=true]")
        assert text(page, "#found li") == wanted
        find_all(page, "#search")[0].send_keys(Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ENTER)
        wait(page, ".wrong:disabled")
        assert text(page, ".wrong") == f"Saved as {wanted}"
        assert list_manifest(kept / "manifest.csv").class_names == [wanted]

    def test_the_camera_takes_a_picture(self, page):
        find_all(page, "#open-camera")[0].click()
        wait(page, "dialog#camera[open]")
        waiting(page, "return document.querySelector('#video').videoWidth > 0")
        find_all(page, "#shoot")[0].click()
        wait(page, ".card .label")
        assert text(page, ".name") == "camera.jpg"

    def test_a_phone_and_the_dark(self, page, letter):
        page.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 360, "height": 700, "deviceScaleFactor": 2, "mobile": True},
        )
        drop(page, "letter.png", letter[0])
        wait(page, ".card .label")
        width = "return document.documentElement.scrollWidth"
        assert page.execute_script(width) <= 360
        ground = "return getComputedStyle(document.body).backgroundColor"
        found = []
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            found.append(page.execute_script(ground))
        assert found[0] != found[1]
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def find_all(driver, selector):
    return driver.find_elements("css selector", selector)


def text(driver, selector):
    return find_all(driver, selector)[0].text


def waiting(driver, script):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 60, poll_frequency=0.05).until(lambda d: d.execute_script(script))


def wait(driver, selector, n=1):
    """Wait until the page has `n` elements that match."""
    waiting(driver, f"return document.querySelectorAll({json.dumps(selector)}).length >= {n}")


def drop(driver, name, content):
    driver.execute_script(DROP, name, base64.b64encode(content).decode())
