"""The checklist of a release: ``python .ci/release.py``. It needs the packages build and twine.

It builds the distributions from this checkout and prints one line for each check. It ends with
status 1 if one failed. Publishing is left to the workflow of the tag.

    --unreleased   between releases: do not ask for a section of this version in CHANGELOG.md, for
                   public addresses, nor that everything is committed
    --out FOLDER   keep the distributions there
    --quick        leave out the installation in a new environment
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LARGEST_WHEEL = 2_000_000
NEEDED = ("py.typed", "cli/schemas/train.json", "report/templates/report.html")
NEEDED += ("serving/assets/page.html", "cli/main.py")
DEMO = ["demo", "--classes", "10", "--images", "8", "--quiet", "--json", "--out", "shown"]

Check = tuple[str, Callable[[], str]]
"""What is checked, and a function that returns what was found or raises an AssertionError."""


def read_version() -> str:
    """Return the version of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def check_citation() -> str:
    """The version to cite is this one."""
    stated = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert stated, "CITATION.cff has no version"
    assert stated[1] == read_version(), f"CITATION.cff says {stated[1]}"
    return stated[1]


def check_changelog() -> str:
    """The changelog begins with an empty Unreleased and a dated section of this version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, first, second, *_ = [*re.split(r"^## ", text, flags=re.MULTILINE), "", ""]
    assert first.strip() == "Unreleased", "CHANGELOG.md has no empty '## Unreleased' at its top"
    found = re.match(rf"{re.escape(read_version())} - \d{{4}}-\d\d-\d\d\n", second)
    assert found, f"below it, CHANGELOG.md has no '## {read_version()} - YEAR-MONTH-DAY'"
    return found[0].strip()


def check_clean() -> str:
    """Everything is committed."""
    changed = run("git", "status", "--porcelain")
    assert not changed, f"not committed: {' '.join(changed.split())}"
    return run("git", "rev-parse", "--short", "HEAD").strip()


def build(folder: Path) -> str:
    """The distributions are built."""
    run(sys.executable, "-m", "build", "--outdir", str(folder))
    return ", ".join(
        f"{path.name} {path.stat().st_size:,} bytes" for path in sorted(folder.iterdir())
    )


def check_metadata(folder: Path) -> str:
    """PyPI would accept the distributions, and show the README."""
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, folder.iterdir()))
    return "twine check"


def check_wheel(folder: Path) -> str:
    """The wheel is pure, small and complete."""
    wheel = find_wheel(folder)
    assert wheel.name.endswith("-py3-none-any.whl"), f"{wheel.name} is not for every system"
    assert wheel.stat().st_size < LARGEST_WHEEL, f"{wheel.stat().st_size:,} bytes are too many"
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in NEEDED if f"myriad/{name}" not in names]
    assert not missing, f"missing: {', '.join(missing)}"
    strange = [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]
    assert not strange, f"compiled files: {', '.join(sorted(strange)[:3])}"
    return f"{len(names)} files"


def check_addresses(folder: Path) -> str:
    """PyPI can link to the project, and show the pictures and follow the links of the README."""
    wheel = find_wheel(folder)
    distribution = wheel.name.removesuffix("-py3-none-any.whl")
    metadata = zipfile.ZipFile(wheel).read(f"{distribution}.dist-info/METADATA").decode()
    urls = re.findall(r"^Project-URL: ", metadata, re.MULTILINE)
    assert urls, "pyproject.toml has no [project.urls]"
    relative = re.findall(r"\]\((?!https?://|#)([^)]+)\)", metadata)
    assert not relative, f"the README has relative links: {len(relative)}, such as {relative[0]}"
    return f"{len(urls)} addresses"


def check_installation(folder: Path) -> str:
    """In a new environment the wheel installs, and the demonstration runs."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        venv.create(home / "new", with_pip=True)
        programs = home / "new" / ("Scripts" if sys.platform == "win32" else "bin")
        run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(find_wheel(folder)))
        said = run(str(programs / "myriad"), "--version", cwd=home).strip()
        assert said == f"myriad {read_version()}", said
        run(str(programs / "myriad"), *DEMO, cwd=home)
        assert (home / "shown" / "report.html").is_file(), "the demonstration wrote no report"
    return said


def find_wheel(folder: Path) -> Path:
    """Return the wheel among the distributions."""
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(*command: str, cwd: Path = ROOT) -> str:
    """Return what a command prints; raises an AssertionError with its last lines if it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise AssertionError(f"{' '.join(command[:4])} failed: {' '.join(last)}")
    return done.stdout


def list_checks(folder: Path, *, unreleased: bool, quick: bool) -> Iterator[Check]:
    """Yield the checks in their order."""
    yield "version", read_version
    yield "citation", check_citation
    if not unreleased:
        yield "changelog", check_changelog
        yield "all committed", check_clean
    yield "build", lambda: build(folder)
    yield "metadata", lambda: check_metadata(folder)
    yield "wheel", lambda: check_wheel(folder)
    if not unreleased:
        yield "addresses", lambda: check_addresses(folder)
    if not quick:
        yield "new environment", lambda: check_installation(folder)


def main() -> int:
    """Run the checklist; return the exit status."""
    parser = argparse.ArgumentParser(description="The checklist of a release.")
    parser.add_argument("--unreleased", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.out or Path(temporary)).resolve()
        for name, check in list_checks(folder, unreleased=given.unreleased, quick=given.quick):
            try:
                print(f"ok      {name}: {check()}", flush=True)
            except (AssertionError, OSError, ValueError) as problem:
                failed += 1
                print(f"FAILED  {name}: {problem}", flush=True)
    print("Left to do by hand: read the changelog, tag the commit, push the tag.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
