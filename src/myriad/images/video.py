"""Frames of video files, read by OpenCV; a frame is named after its file and its time."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np

from myriad.errors import InputError
from myriad.images.listing import ImageList, is_video_name
from myriad.images.reading import MAX_PIXELS, BadImage

MAX_FRAMES = 100_000
"""Maximum number of frames of a video."""
_FRAME = re.compile(r"(.+)@(\d+(?:\.\d+)?)s")


def name_frame(video: str, seconds: float) -> str:
    """Return the name of a frame: ``clip.mp4@12.5s``."""
    return f"{video}@{seconds:g}s"


def split_frame(name: str) -> tuple[str, float] | None:
    """Return the video and the time that the name of a frame says; None for another name."""
    match = _FRAME.fullmatch(name)
    if match is None or not is_video_name(match.group(1)):
        return None
    return match.group(1), float(match.group(2))


def list_frames(path: Path, every: float) -> list[float]:
    """Return the times of the frames of a video, one each `every` seconds, from its beginning.

    Raises `BadImage` for a file that cannot be opened.
    """
    capture = _open(path)
    try:
        n_frames = capture.get(cv2.CAP_PROP_FRAME_COUNT)
        rate = capture.get(cv2.CAP_PROP_FPS)
    finally:
        capture.release()
    if not (np.isfinite(rate) and rate > 0 and np.isfinite(n_frames) and n_frames >= 1):
        raise BadImage("a video of unknown duration")
    last = (n_frames - 1) / rate
    n = min(int(last / every) + 1, MAX_FRAMES)
    return [round(number * every, 3) for number in range(n)]


def read_frame(path: Path, seconds: float) -> bytes:
    """Return the frame of a video at a time, as the content of a PNG file."""
    capture = _open(path)
    try:
        capture.set(cv2.CAP_PROP_POS_MSEC, 1000.0 * seconds)
        done, pixels = capture.read()
    finally:
        capture.release()
    if not done or pixels is None:
        raise BadImage(f"a video without a frame at {seconds:g} s")
    done, content = cv2.imencode(".png", pixels, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise BadImage("a frame that cannot be converted")
    return content.tobytes()


def _open(path: Path) -> cv2.VideoCapture:
    if not os.path.isfile(path):
        raise BadImage("missing file")
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")  # errors are ours to report
    capture = cv2.VideoCapture(str(path))
    size = capture.get(cv2.CAP_PROP_FRAME_WIDTH) * capture.get(cv2.CAP_PROP_FRAME_HEIGHT)
    if not capture.isOpened() or not 0 < size <= MAX_PIXELS:
        capture.release()
        raise BadImage("a video that cannot be opened")
    return capture


def check_every(every: float | None) -> None:
    """Raise `InputError` for an invalid interval between frames, in seconds."""
    if every is not None and not 0.001 <= every <= 1e6:
        raise InputError(f"--every must be at least 0.001 seconds, not {every:g}.")


def name_frames(video: str, path: Path, every: float) -> list[str]:
    """Return the names of the frames of a video; if it cannot be opened, one, a bad image."""
    try:
        times = list_frames(path, every)
    except BadImage:
        times = [0.0]
    return [name_frame(video, seconds) for seconds in times]


def expand_videos(images: ImageList, every: float) -> ImageList:
    """Return a list in which each video is replaced by its frames, which are one group."""
    paths: list[str] = []
    index: list[int] = []
    groups: list[int] = []
    before = [-1] * len(images) if images.groups is None else images.groups.tolist()
    first = max(before, default=-1) + 1
    for i, path in enumerate(images.paths):
        names, group = [path], before[i]
        if is_video_name(path):
            names = name_frames(path, images.root / path, every)
            group, first = (first, first + 1) if group < 0 else (group, first)
        paths += names
        index += [i] * len(names)
        groups += [group] * len(names)
    chosen = images.select(np.array(index, np.int64))
    grouped = any(group >= 0 for group in groups)
    return replace(chosen, paths=paths, groups=np.array(groups, np.int32) if grouped else None)
