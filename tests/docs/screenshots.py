"""Pictures of reports and of the page of a model, taken in Chromium."""

from contextlib import contextmanager
from pathlib import Path

from tests.serving.browser import open_browser
from tests.serving.calling import Server

LAPTOP = (1180, 900)


@contextmanager
def opened(folder: Path, size: tuple[int, int]):
    """Yield a browser window of a size."""
    with open_browser(folder / f"profile-{size[0]}") as driver:
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        yield driver


def shoot(driver, path: Path) -> Path:
    """Take a picture of the window."""
    driver.save_screenshot(str(path))
    return path


def photograph_report(page: Path, folder: Path) -> dict[str, Path]:
    """Return a picture of the head of a report."""
    with opened(folder, LAPTOP) as driver:
        driver.get(page.resolve().as_uri())
        return {"report.png": shoot(driver, folder / "report.png")}


def photograph_section(page: Path, section: str, folder: Path) -> Path:
    """Return a picture of a section of a page."""
    from selenium.webdriver.common.by import By

    with opened(folder, LAPTOP) as driver:
        driver.get(page.resolve().as_uri())
        found = folder / f"{section}.png"
        driver.find_element(By.ID, section).screenshot(str(found))
        return found


def photograph_page(model: Path, images: Path, folder: Path) -> dict[str, Path]:
    """Return a picture of the page of a model, with two images, one of them explained."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    chosen = [sorted(one.iterdir())[0] for one in sorted(images.iterdir())[:2]]
    with Server(model) as server, opened(folder, LAPTOP) as driver:
        driver.get(server.address + "/")
        wait = WebDriverWait(driver, 60)
        field = driver.find_element(By.CSS_SELECTOR, "#files")
        field.send_keys("\n".join(str(path.resolve()) for path in chosen))
        wait.until(lambda d: len(d.find_elements(By.CSS_SELECTOR, ".label .thumb img")) >= 10)
        driver.find_elements(By.CSS_SELECTOR, ".explain")[0].click()
        wait.until(lambda d: d.find_elements(By.CSS_SELECTOR, ".heat:not([hidden])"))
        driver.execute_script("window.scrollTo(0, 0)")
        return {"page.png": shoot(driver, folder / "page.png")}
