from __future__ import annotations

import io
import pickle
import tarfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from myriad.errors import InputError
from myriad.images import archive as archive_room
from myriad.images.archive import open_archive
from myriad.images.finding import find_images
from myriad.images.reading import BadImage, read_image
from tests.images.pictures import colour_picture, encode

PNG = encode(colour_picture(), "PNG")


def pack(path, members):
    """Write a .zip or .tar of {name: bytes}."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
            for name, data in members.items():
                target.writestr(name, data)
    else:
        with tarfile.open(path, "w") as target:
            for name, data in members.items():
                member = tarfile.TarInfo(name)
                member.size = len(data)
                target.addfile(member, io.BytesIO(data))
    return path


def numbered(n_images, folder="c{}/{}.png"):
    return {
        folder.format(i % 3, i): encode(np.full((4, 4), i, np.uint8), "PNG")
        for i in range(n_images)
    }


@pytest.fixture(params=[".zip", ".tar"])
def suffix(request):
    return request.param


def test_like_a_folder(tmp_path, suffix):
    members = {"b/1.png": PNG, "a/deep/2.png": PNG, "a/notes.txt": b"x", "b/.3.png": PNG}
    images = find_images(pack(tmp_path / f"data{suffix}", members))
    assert images.paths == ["a/deep/2.png", "b/1.png"]
    assert images.class_names == ["a", "b"]
    assert images.ignored == 2
    np.testing.assert_array_equal(read_image(images.read(1), colour=True), colour_picture())


def test_parts(tmp_path, suffix):
    members = {"train/a/1.png": PNG, "test/b/1.png": PNG}
    images = find_images(pack(tmp_path / f"data{suffix}", members))
    assert images.splits.tolist() == ["test", "train"]


@pytest.mark.parametrize("wrapper", ["flowers/", "./", "x/y/"])
def test_a_folder_around_everything_is_passed_over(tmp_path, suffix, wrapper):
    members = {f"{wrapper}a/1.png": PNG, f"{wrapper}b/2.png": PNG, f"{wrapper}cover.png": PNG}
    members["__MACOSX/flowers/._1.png"] = b"junk"
    images = find_images(pack(tmp_path / f"data{suffix}", members))
    assert images.class_names == ["a", "b"]
    assert len(images) == 2
    assert "cover.png" in images.warnings[0]
    assert images.read(0) == PNG


def test_a_part_around_everything_is_a_part(tmp_path, suffix):
    images = find_images(pack(tmp_path / f"d{suffix}", {"test/a/1.png": PNG, "test/b/1.png": PNG}))
    assert set(images.splits) == {"test"}
    assert images.class_names == ["a", "b"]


@pytest.mark.parametrize(
    "name", ["../evil/1.png", "/etc/1.png", "a/../../1.png", "..\\x.png", "C:/1.png"]
)
def test_names_that_point_outside_are_refused(tmp_path, suffix, name):
    path = pack(tmp_path / f"data{suffix}", {"a/1.png": PNG, name: PNG})
    with pytest.raises(InputError, match="points outside the archive"):
        find_images(path)


def test_threads_read_at_the_same_time(tmp_path, suffix):
    members = numbered(90)
    images = find_images(pack(tmp_path / f"data{suffix}", members))
    with ThreadPoolExecutor(8) as executor:
        read = list(executor.map(images.read, list(range(len(images))) * 4))
    assert read == [members[path] for path in images.paths] * 4


def test_goes_to_another_process(tmp_path, suffix):
    images = find_images(pack(tmp_path / f"data{suffix}", numbered(6)))
    again = pickle.loads(pickle.dumps(images))
    assert [again.read(i) for i in range(6)] == [images.read(i) for i in range(6)]
    assert again.fingerprint() == images.fingerprint()


def test_member_larger_than_the_limit(tmp_path, suffix, monkeypatch):
    images = find_images(pack(tmp_path / f"data{suffix}", {"a/1.png": bytes(5000), "b/1.png": PNG}))
    monkeypatch.setattr("myriad.images.reading.MAX_FILE_BYTES", 4000)
    with pytest.raises(BadImage, match="5000 bytes, more than the limit of 4000"):
        images.read(0)


def test_stated_size_of_a_zip_member_is_what_is_read(tmp_path):
    path = pack(tmp_path / "bomb.zip", {"a/1.png": bytes(1_000_000), "b/1.png": PNG})
    data = path.read_bytes()
    path.write_bytes(data.replace((1_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little")))
    images = find_images(path)
    assert images.archive.sizes["a/1.png"] == 100
    with pytest.raises(BadImage, match="damaged member"):
        images.read(0)


def test_damaged_member(tmp_path):
    path = pack(tmp_path / "data.zip", {"a/1.png": PNG, "b/1.png": PNG})
    data = bytearray(path.read_bytes())
    data[60:80] = bytes(20)
    path.write_bytes(data)
    with pytest.raises(BadImage, match="damaged member of the archive"):
        find_images(path).read(0)


def test_encrypted_archive(tmp_path):
    path = pack(tmp_path / "data.zip", {"a/1.png": PNG, "b/1.png": PNG})
    data = bytearray(path.read_bytes())
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + offset] |= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="is encrypted: unpack it"):
        find_images(path)


def test_tar_cut_short(tmp_path):
    members = {"a/1.png": PNG, "b/1.png": bytes(50_000)}
    path = pack(tmp_path / "data.tar", members)
    path.write_bytes(path.read_bytes()[:40_000])
    with pytest.raises((InputError, BadImage), match=r"damaged|truncated"):
        find_images(path).read(1)


TAR_FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def pack_tar(path, members, form):
    with tarfile.open(path, "w", format=form) as target:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            target.addfile(member, io.BytesIO(data))
    return path.read_bytes()


def make_long_members(n_images):
    """Return members with names that are too long for a plain header, and some empty ones."""
    members = {
        f"class {i % 3}/{'x' * 60 * (i % 2)}/{'y' * 60}{i}.png": data
        for i, data in enumerate(numbered(n_images).values())
    }
    return members | {"class 0/empty.png": b"", "notes/last.txt": b"z" * 512}


@pytest.mark.parametrize("form", TAR_FORMATS.values(), ids=TAR_FORMATS.keys())
def test_tar_cut_anywhere_is_never_taken_for_a_whole_one(tmp_path, form):
    path = tmp_path / "data.tar"
    data = pack_tar(path, make_long_members(5), form)
    complete = find_images(path)
    end = len(data.rstrip(b"\0"))
    end += -end % 512 + 512  # the first block of zeros ends here
    cuts = [cut + extra for cut in range(0, len(data), 512) for extra in (0, 1, 100, 257, 511)]
    for cut in cuts:
        path.write_bytes(data[:cut])
        if cut >= end:
            assert find_images(path).paths == complete.paths
        else:
            with pytest.raises(InputError, match=r"truncated|damaged"):
                find_images(path)


@pytest.mark.parametrize("form", TAR_FORMATS.values(), ids=TAR_FORMATS.keys())
@pytest.mark.parametrize("junk", [b"\0" * 512, b"\xa5" * 512, b"\0" * 511 + b"1"])
def test_a_block_of_junk_in_a_tar_never_hides_an_image(tmp_path, form, junk):
    path = tmp_path / "data.tar"
    members = make_long_members(5)
    data = pack_tar(path, members, form)
    for start in range(0, len(data.rstrip(b"\0")), 512):
        path.write_bytes(data[:start] + junk + data[start + 512 :])
        try:
            images = find_images(path)
        except InputError:
            continue
        assert len(images) + len(images.warnings) == len(members) - 1


@pytest.mark.parametrize("between", [0, 512, 10_000])
def test_several_tars_in_one_are_refused(tmp_path, between):
    data = pack(tmp_path / "one.tar", numbered(6)).read_bytes()
    other = pack(tmp_path / "two.tar", numbered(6, "d{}/{}.png")).read_bytes()
    (tmp_path / "both.tar").write_bytes(data + bytes(between) + other)
    with pytest.raises(InputError, match=r"several \.tar files in one"):
        find_images(tmp_path / "both.tar")


@pytest.mark.parametrize("zeros", [512, 1024, 3 << 20])
def test_a_tar_may_end_in_any_number_of_zero_blocks(tmp_path, zeros):
    path = pack(tmp_path / "data.tar", numbered(6))
    data = path.read_bytes().rstrip(b"\0")
    path.write_bytes(data + bytes(-len(data) % 512 + zeros))
    assert len(find_images(path)) == 6


def test_zip_cut_anywhere_is_refused(tmp_path):
    path = pack(tmp_path / "data.zip", numbered(6))
    data = path.read_bytes()
    for cut in range(0, len(data), 7):
        path.write_bytes(data[:cut])
        with pytest.raises(InputError, match="damaged or not an archive"):
            find_images(path)


def test_links_and_folders_in_a_tar_are_passed_over(tmp_path):
    path = pack(tmp_path / "data.tar", {"a/1.png": PNG, "b/1.png": PNG})
    with tarfile.open(path, "a") as target:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            member = tarfile.TarInfo(f"b/{ord(kind)}.png")
            member.type, member.linkname = kind, "/etc/passwd"
            target.addfile(member)
    assert find_images(path).paths == ["a/1.png", "b/1.png"]


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tgz", "x.tar.xz"])
def test_compressed_tars_are_refused_with_advice(tmp_path, name):
    (tmp_path / name).write_bytes(b"\x1f\x8b")
    with pytest.raises(InputError, match=r"pack the images as \.zip or plain \.tar"):
        find_images(tmp_path / name)


@pytest.mark.parametrize("data", [b"", b"not an archive at all" * 100, b"PK\x05\x06" + bytes(5)])
def test_no_archive(tmp_path, suffix, data):
    path = tmp_path / f"data{suffix}"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"damaged or not an archive|holds no images"):
        find_images(path)


def test_no_images(tmp_path, suffix):
    path = pack(tmp_path / f"data{suffix}", {"a/1.txt": b"x"})
    with pytest.raises(InputError, match="holds no images"):
        find_images(path)


def test_names_that_are_not_unicode(tmp_path):
    path = pack(tmp_path / "data.tar", {"a/1.png": PNG, "b/1.png": PNG, "b/caf\udce9.png": PNG})
    images = find_images(path)
    assert images.paths == ["a/1.png", "b/1.png"]
    assert images.ignored == 1
    assert "1 names in" in images.warnings[0]


def test_missing_member(tmp_path, suffix):
    archive = open_archive(pack(tmp_path / f"data{suffix}", {"a/1.png": PNG}))
    with pytest.raises(BadImage, match="missing from the archive"):
        archive.read("a/2.png")


def test_nothing_is_written(tmp_path, suffix):
    images = find_images(pack(tmp_path / f"data{suffix}", numbered(6)))
    for i in range(6):
        images.read(i)
    assert [path.name for path in tmp_path.rglob("*")] == [f"data{suffix}"]


def test_gone(tmp_path):
    with pytest.raises(InputError, match="cannot be opened"):
        archive_room.open_archive(tmp_path / "gone.zip")
