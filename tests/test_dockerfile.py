"""The Dockerfile, which tests cannot build: its files, its extras and its command exist."""

import json
import shlex
import tomllib
from fnmatch import fnmatch
from pathlib import Path

from myriad.options import options_of
from myriad.serving.options import ServeOptions

ROOT = Path(__file__).resolve().parent.parent


def read_steps() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def arguments_of(name: str) -> list[str]:
    return [rest for step, rest in read_steps() if step == name]


def test_copied_files_exist_and_are_sent_to_the_builder():
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    sent = [line[1:] for line in lines if line.startswith("!")]
    for copied in arguments_of("COPY"):
        words = [word for word in shlex.split(copied) if not word.startswith("--")]
        if "--from=build" in copied:
            continue
        for source in words[:-1]:
            assert (ROOT / source).exists()
            assert any(fnmatch(source, pattern) for pattern in sent)


def test_what_the_package_needs_to_build_is_copied():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    copied = " ".join(arguments_of("COPY"))
    assert project["readme"] in copied
    assert all(name in copied for name in project["license-files"])
    (install,) = [step for step in arguments_of("RUN") if "pip install" in step]
    extras = install.partition('".[')[2].partition("]")[0].split(",")
    assert set(extras) <= project["optional-dependencies"].keys()
    assert "serve" in extras


def test_the_server_is_not_root_and_its_command_is_understood():
    assert arguments_of("USER") == ["myriad"]
    (entry,) = arguments_of("ENTRYPOINT")
    command = json.loads(entry)
    assert command[:3] == ["myriad", "serve", "/model"]
    flags = [word for word in command if word.startswith("--")]
    assert set(flags) <= {known.flag for known in options_of(ServeOptions).values()}
    (health,) = arguments_of("HEALTHCHECK")
    compile(json.loads(health.partition("CMD ")[2])[2], "healthcheck", "exec")
    assert "/v2/health/ready" in health
