"""The dependencies: known vulnerabilities, licences, lowest and highest declared versions.

    python -m tests.supply_chain                    # audit, licences, whether versions resolve
    python -m tests.supply_chain --install lowest   # install the lowest versions, and use them

`--install` makes a virtual environment in a temporary folder, installs the package with the lowest
(or `highest`) versions that it declares, and runs the command there, as a user without a home
folder if this process may become one. Where an index or a database cannot be reached, it says so
and goes on. The exit status is 1 if a dependency has a known vulnerability or no licence, or if an
installation does not work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
NOBODY = 65534
UNREACHED = ("ConnectionError", "Max retries", "NameResolution", "timed out", "HTTPError", "Proxy")


def read_requirements(extras: tuple[str, ...] = ("serve", "cluster")) -> list[Requirement]:
    """Return the declared dependencies, with those of some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = list(project["dependencies"])
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


def find_all(requirements: list[Requirement]) -> dict[str, Distribution]:
    """Return the installed packages that the requirements need, directly or not, by name."""
    found: dict[str, Distribution] = {}
    waiting = list(requirements)
    while waiting:
        requirement = waiting.pop()
        name = requirement.name.lower().replace("_", "-")
        if name in found or not _applies(requirement):
            continue
        try:
            found[name] = distribution(requirement.name)
        except PackageNotFoundError:
            continue
        waiting += [Requirement(text) for text in found[name].requires or []]
    return dict(sorted(found.items()))


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def name_licence(package: Distribution) -> str:
    """Return the licence of a package: as stated, as classified, or the title of its text."""
    stated = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    if stated.strip() not in ("", "UNKNOWN") and "\n" not in stated.strip():
        return stated.strip()[:60]
    classified = [
        text.rpartition(" :: ")[2]
        for text in package.metadata.get_all("Classifier") or []
        if text.startswith("License ::") and not text.endswith("OSI Approved")
    ]
    return ", ".join(classified) or _read_title(package)


def _read_title(package: Distribution) -> str:
    """Return the first line of words in the text of a licence; empty without one."""
    for path in package.files or []:
        if path.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            lines = path.read_text().splitlines()
            return next((line.strip()[:60] for line in lines if line.strip(" =-*")), "")
    return ""


def bound(requirement: Requirement, which: str) -> str:
    """Return the requirement of the lowest version of a dependency, or of any below its bound."""
    lowest = [spec.version for spec in requirement.specifier if spec.operator in (">=", "==", "~=")]
    if which == "lowest" and lowest:
        return f"{requirement.name}=={lowest[0]}"
    return f"{requirement.name}{requirement.specifier}"


def audit(packages: dict[str, Distribution]) -> int:
    """Look for known vulnerabilities of the installed versions; return 1 if there are some."""
    pinned = "".join(f"{name}=={package.version}\n" for name, package in packages.items())
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "requirements.txt")
        listed.write_text(pinned)
        command = [sys.executable, "-m", "pip_audit", "--no-deps", "--disable-pip", "-r", listed]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            print("Audit: the database did not answer within 5 minutes; nothing was audited.")
            return 0
    if "No module named" in done.stderr:
        print("Audit: pip-audit is not installed (pip install pip-audit); nothing was audited.")
        return 0
    if done.returncode and any(word in done.stderr for word in UNREACHED):
        print("Audit: the database cannot be reached; nothing was audited.")
        return 0
    lines = done.stdout.splitlines()
    unknown = sum("could not be audited" in line for line in lines)
    if unknown:
        print(f"Audit: {unknown} of {len(packages)} packages are not in the database reached.")
    if unknown < len(packages):
        print("\n".join(line for line in lines if "could not be audited" not in line))
        print(done.stderr.strip().rpartition("\n")[2])
    return int(done.returncode != 0)


def list_licences(packages: dict[str, Distribution]) -> int:
    """Print the licence of every package; return how many state none."""
    missing = 0
    for name, package in packages.items():
        licence = name_licence(package)
        missing += not licence
        print(f"{name:34} {package.version:14} {licence or 'NOT STATED'}")
    return missing


def run_pip(python: Path | str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run pip to install something."""
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *words]
    return subprocess.run([str(word) for word in command], capture_output=True, text=True)


def resolve(which: str, folder: Path) -> str:
    """Return why the lowest or highest versions cannot be had together; empty if they can."""
    constraints = write_constraints(which, folder)
    done = run_pip(
        sys.executable, "--dry-run", "--ignore-installed", "-c", constraints, f"{ROOT}[serve]"
    )
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def write_constraints(which: str, folder: Path) -> Path:
    """Write the file that tells pip the versions."""
    path = folder / f"{which}.txt"
    path.write_text("".join(f"{bound(one, which)}\n" for one in read_requirements(("serve",))))
    return path


def install(which: str, folder: Path) -> str:
    """Install the package in an environment of its own, and train there; return what failed."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    done = run_pip(python, "-c", write_constraints(which, folder), f"{ROOT}[serve]")
    if done.returncode:
        return done.stderr.strip().rpartition("\n")[2]
    os.chmod(folder, 0o755)
    work = folder / "work"
    work.mkdir()
    work.chmod(0o777)
    plain: dict[str, Any] = {}
    if os.getuid() == 0 and _is_executable_by_all(Path(sys.executable).resolve()):
        plain = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    else:
        print("The command runs as the present user: another one could not start this Python.")
    words = ["demo", "--classes", "10", "--images", "5", "--out", "shown", "--json", "--quiet"]
    done = subprocess.run(
        [folder / "venv" / "bin" / "myriad", *words],
        cwd=work,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        **plain,
    )
    return "" if done.returncode == 0 else done.stderr + done.stdout


def _is_executable_by_all(path: Path) -> bool:
    """Return whether all users may execute a file: it and all folders above are open to them."""
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


def main(arguments: list[str]) -> int:
    """Run the checks; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.supply_chain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--install", choices=("lowest", "highest"))
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.install:
            wrong = install(given.install, folder)
            print(wrong or f"The {given.install} declared versions work.")
            return int(bool(wrong))
        packages = find_all(read_requirements())
        failed = list_licences(packages)
        failed += audit(packages)
        for which in ("lowest", "highest"):
            wrong = resolve(which, folder)
            print(f"The {which} declared versions: {wrong or 'can be installed together'}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
