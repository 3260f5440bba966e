from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from myriad.errors import InputError, WorkError
from myriad.images import find_images, read_image
from myriad.images.glyph_faces import FACES, identify_drawing
from myriad.images.glyphs import (
    choose_glyphs,
    count_classes,
    draw_glyph,
    name_character,
    write_glyphs,
)
from myriad.progress import Progress


@pytest.fixture(scope="module")
def glyphs():
    return choose_glyphs(40)


class TestChoice:
    def test_familiar_characters_first(self):
        few = choose_glyphs(62)
        assert "".join(few.characters) == (
            "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        )
        assert all(ord(character) < 128 for character in choose_glyphs(94).characters)
        assert all(ord(character) < 0x100 for character in choose_glyphs(150).characters)

    def test_names(self, glyphs):
        assert name_character("A") == "U+0041 LATIN CAPITAL LETTER A"
        assert glyphs.class_names == sorted(set(glyphs.class_names))
        assert glyphs.class_names == [name_character(c) for c in glyphs.characters]
        allowed = set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+- ")
        assert set("".join(choose_glyphs(400).class_names)) <= allowed

    def test_seed_samples_the_last_tier(self):
        assert choose_glyphs(40, seed=1) == choose_glyphs(40, seed=1)
        assert choose_glyphs(40, seed=1).characters != choose_glyphs(40, seed=2).characters

    def test_look_alikes_are_one_class(self):
        glyphs = choose_glyphs(300)
        assert glyphs.ceiling == 100.0
        assert len(set(glyphs.characters)) == 300
        assert "A" in glyphs.characters
        assert "Α" not in glyphs.characters
        for face in FACES:
            assert len({identify_drawing(face, c) for c in glyphs.characters}) == 300

    def test_confusables_have_a_ceiling(self):
        glyphs = choose_glyphs(320, confusables=True)
        assert {"A", "Α", "А"} <= set(glyphs.characters)
        # the definition: in each face, one in g guesses among g similar classes is right
        right = []
        for face in FACES:
            drawings = [identify_drawing(face, c) for c in glyphs.characters]
            right.append(np.mean([1.0 / drawings.count(one) for one in drawings]))
        assert glyphs.ceiling == pytest.approx(100.0 * np.mean(right))
        assert 80.0 < glyphs.ceiling < 99.0
        assert choose_glyphs(62, confusables=True).ceiling == 100.0

    def test_limits(self):
        available = count_classes()
        assert 2000 <= available < count_classes(confusables=True)
        assert len(choose_glyphs(available).characters) == available
        with pytest.raises(InputError, match=f"the fonts hold {available} characters that do not"):
            choose_glyphs(available + 1)
        with pytest.raises(InputError, match=r"the fonts hold \d+ characters\."):
            choose_glyphs(10_000, confusables=True)
        with pytest.raises(InputError, match="At least 10 classes"):
            choose_glyphs(9)


class TestDrawing:
    def test_form(self, glyphs):
        for size in (32, 96, 200):
            image = draw_glyph(glyphs, 3, 5, seed=0, size=size)
            assert image.shape == (size, size)
            assert image.dtype == np.uint8

    def test_depends_on_character_number_and_seed_alone(self, glyphs):
        image = draw_glyph(glyphs, 3, 5, seed=7)
        np.testing.assert_array_equal(draw_glyph(glyphs, 3, 5, seed=7), image)
        for label, number, seed in ((4, 5, 7), (3, 6, 7), (3, 5, 8)):
            assert (draw_glyph(glyphs, label, number, seed=seed) != image).mean() > 0.5
        other = choose_glyphs(62)
        label = other.characters.index(glyphs.characters[3])
        np.testing.assert_array_equal(draw_glyph(other, label, 5, seed=7), image)

    def test_threads_draw_the_same(self, glyphs):
        jobs = [(label, number) for label in range(40) for number in range(5)]
        alone = [draw_glyph(glyphs, *job, seed=0) for job in jobs]
        with ThreadPoolExecutor(8) as executor:
            together = list(executor.map(lambda job: draw_glyph(glyphs, *job, seed=0), jobs))
        np.testing.assert_array_equal(together, alone)

    def test_ink_can_be_seen_and_is_not_cut_off(self):
        glyphs = choose_glyphs(200)
        dark = 0
        for label in range(200):
            image = draw_glyph(glyphs, label, label, seed=1).astype(float)
            border = np.concatenate([image[:6].ravel(), image[-6:].ravel()])
            deviation = np.abs(image - np.median(border))
            assert np.percentile(deviation, 99.5) > 25, glyphs.class_names[label]
            dark += np.median(image) < 128
        assert 50 < dark < 150

    def test_classes_can_be_told_apart(self):
        """The nearest blurred training image is right far more often than chance, not always."""
        glyphs = choose_glyphs(30)

        def signature(label, number):
            image = draw_glyph(glyphs, label, number, seed=0).astype(float)
            centred = np.abs(image - np.median(image))[12:84, 12:84]
            small = centred.reshape(12, 6, 12, 6).mean(axis=(1, 3)).ravel()
            return small / np.linalg.norm(small)

        known = np.array([signature(label, n) for label in range(30) for n in range(20)])
        asked = np.array([signature(label, n) for label in range(30) for n in range(20, 24)])
        nearest = (asked @ known.T).argmax(axis=1) // 20
        accuracy = np.mean(nearest == np.repeat(np.arange(30), 4))
        assert 0.2 < accuracy < 0.99


class TestWriting:
    def test_layout(self, glyphs, tmp_path):
        write_glyphs(tmp_path, glyphs, images=10, seed=3, size=32, threads=2)
        images = find_images(tmp_path)
        assert images.class_names == glyphs.class_names
        assert len(images) == 400
        counts = {part: int((images.splits == part).sum()) for part in ("train", "val", "test")}
        assert counts == {"train": 280, "val": 40, "test": 80}
        at = images.paths.index(f"val/{glyphs.class_names[2]}/0008.png")
        drawn = draw_glyph(glyphs, 2, 7, seed=3, size=32)
        np.testing.assert_array_equal(read_image(images.read(at)), drawn)

    def test_goes_on_where_it_was_broken_off(self, tmp_path):
        glyphs = choose_glyphs(10)
        write_glyphs(tmp_path, glyphs, images=4, seed=0, size=32)
        files = sorted(tmp_path.rglob("*.png"))
        content = {path: path.read_bytes() for path in files}
        files[0].unlink()
        files[1].write_bytes(content[files[1]][:-5])
        files[2].write_bytes(b"")
        kept = files[3].stat().st_mtime_ns
        write_glyphs(tmp_path, glyphs, images=4, seed=0, size=32, threads=1)
        assert {path: path.read_bytes() for path in sorted(tmp_path.rglob("*.png"))} == content
        assert files[3].stat().st_mtime_ns == kept

    def test_tells_its_progress(self, tmp_path):
        class Counting(Progress):
            done = 0

            @contextmanager
            def step(self, title, total=None, unit=""):
                self.total = total

                def advance(n):
                    self.done += n

                yield advance

        progress = Counting()
        glyphs = choose_glyphs(10)
        write_glyphs(tmp_path, glyphs, images=3, seed=0, size=32, progress=progress)
        assert progress.done == progress.total == 30

    @pytest.mark.parametrize(
        ("images", "splits", "expected"),
        [
            (40, (0.7, 0.1, 0.2), (28, 4, 8)),
            (3, (0.5, 0.0, 0.5), (2, 0, 1)),
            (5, (1, 0, 0), (5, 0, 0)),
        ],
    )
    def test_shares(self, tmp_path, images, splits, expected):
        glyphs = choose_glyphs(10)
        write_glyphs(tmp_path, glyphs, images=images, seed=0, size=16, splits=splits)
        counts = [len(list((tmp_path / part).rglob("*.png"))) for part in ("train", "val", "test")]
        assert tuple(n // 10 for n in counts) == expected

    @pytest.mark.parametrize("splits", [(0.5, 0.5), (0.9, 0.2, 0.1), (1.2, -0.1, -0.1)])
    def test_bad_shares(self, tmp_path, splits):
        with pytest.raises(InputError, match="sum to 1"):
            write_glyphs(tmp_path, choose_glyphs(10), images=3, seed=0, splits=splits)

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").touch()
        with pytest.raises(WorkError, match="cannot be written"):
            write_glyphs(tmp_path / "file", choose_glyphs(10), images=3, seed=0)

    def test_no_images(self, tmp_path):
        with pytest.raises(InputError, match="At least one image"):
            write_glyphs(tmp_path, choose_glyphs(10), images=0, seed=0)
