"""Frames of videos: names, times, labels and groups, and videos that cannot be opened."""

import subprocess
import sys

import cv2
import numpy as np
import pytest

from myriad.errors import InputError
from myriad.images.finding import find_images, list_inputs
from myriad.images.listing import ImageFiles
from myriad.images.reading import BadImage, read_image
from myriad.images.video import list_frames, name_frame, split_frame


def write_video(path, n_frames=20, rate=10.0):
    """Write frames that grow brighter, 32 x 32 pixels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), rate, (32, 32))
    assert writer.isOpened()
    for number in range(n_frames):
        writer.write(np.full((32, 32, 3), 10 * number, np.uint8))
    writer.release()
    return path


def test_frames_are_read_at_their_times(tmp_path):
    path = write_video(tmp_path / "clip.avi")
    assert list_frames(path, 0.5) == [0.0, 0.5, 1.0, 1.5]
    inputs = list_inputs([str(path)], every=0.5)
    assert [one.name for one in inputs] == [name_frame("clip.avi", t) for t in (0, 0.5, 1, 1.5)]
    files = ImageFiles(tmp_path, [str(one) for one in inputs])
    means = [read_image(files.read(i)).mean() for i in range(4)]
    np.testing.assert_allclose(means, [0, 50, 100, 150], atol=12)
    assert list_frames(path, 60.0) == [0.0]


def test_names():
    assert split_frame("a/clip@2.mp4@12.5s") == ("a/clip@2.mp4", 12.5)
    assert split_frame("a@1s") is None
    assert split_frame("clip.mp4") is None


def test_labelled_videos_are_groups(tmp_path):
    for name in ("cat/1.avi", "cat/2.avi", "dog/1.avi"):
        write_video(tmp_path / name)
    (tmp_path / "dog" / "2.jpg").touch()
    images = find_images(tmp_path, every=1.0)
    assert len(images) == 7
    assert images.groups.tolist() == [0, 0, 1, 1, 2, 2, -1]
    assert [images.class_names[c] for c in images.labels] == ["cat"] * 4 + ["dog"] * 3
    assert read_image(images.read(1)).mean() == pytest.approx(100, abs=12)
    assert len(find_images(tmp_path)) == 1
    assert images.fingerprint() != find_images(tmp_path, every=0.5).fingerprint()


def test_bad_videos(tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    with pytest.raises(InputError, match=r"bad\.mp4 is a video that cannot be opened"):
        list_inputs([str(tmp_path / "bad.mp4")], every=1.0)
    (found,) = list_inputs([str(tmp_path)], every=1.0)
    with pytest.raises(BadImage, match="cannot be opened"):
        ImageFiles(tmp_path, [str(found)]).read(0)
    path = write_video(tmp_path / "clip.avi")
    with pytest.raises(InputError, match="is a video: say with --every"):
        list_inputs([str(path)])
    with pytest.raises(InputError, match="--every must be"):
        list_inputs([str(path)], every=0.0)
    with pytest.raises(BadImage, match="without a frame at 90 s"):
        ImageFiles(tmp_path, [name_frame("clip.avi", 90)]).read(0)


def test_the_library_prints_nothing_about_a_bad_video(tmp_path):
    (tmp_path / "bad.mp4").write_bytes(b"no video")
    source = "import sys; from myriad.images import list_inputs; list_inputs(sys.argv[1:], every=1)"
    command = [sys.executable, "-c", source, str(tmp_path / "bad.mp4")]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert "cannot be opened" in ended.stderr
    assert "moov" not in ended.stderr


def test_urls_are_refused(tmp_path):
    (tmp_path / "list.txt").write_text("https://example.org/a.jpg\n")
    (tmp_path / "list.csv").write_text("path,label\ns3://bucket/a.jpg,cat\n")
    with pytest.raises(InputError, match=r"list\.txt names a URL, 'https://example\.org/a\.jpg'"):
        list_inputs([str(tmp_path / "list.txt")])
    with pytest.raises(InputError, match="download them first"):
        list_inputs(["http://example.org/a.jpg"])
    with pytest.raises(InputError, match=r"list\.csv names a URL"):
        find_images(tmp_path / "list.csv")
    with pytest.raises(InputError, match=r"A list needs labels"):
        find_images(tmp_path / "list.txt")
    (tmp_path / "urls.csv").write_text("image_url,label\nhttps://example.org/a.jpg,cat\n")
    with pytest.raises(InputError, match=r"no column path.*download them first"):
        find_images(tmp_path / "urls.csv")
