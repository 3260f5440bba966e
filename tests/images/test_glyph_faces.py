from __future__ import annotations

import numpy as np
import pytest

from myriad.images.glyph_faces import (
    FACES,
    draw_character,
    identify_drawing,
    iterate_distinct,
    list_tiers,
)


def test_tiers_hold_each_character_once():
    tiers = list_tiers()
    characters = [character for tier in tiers for character in tier]
    assert len(characters) == len(set(characters)) > 2200
    assert "".join(tiers[0]) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert set(characters).isdisjoint({" ", "\u00a0", "\u0301", "\n", "\u200b", "\u00ad"})


@pytest.mark.parametrize("face", FACES)
def test_no_character_is_the_box_of_missing_ones(face):
    box = identify_drawing(face, "\U0010fffe")
    assert all(identify_drawing(face, c) != box for tier in list_tiers()[:4] for c in tier)


def test_ink_stands_on_the_base_line():
    ink, base = draw_character("DejaVuSans", "H", 100)
    assert ink.max() == 255
    assert ink.any(axis=0).all()
    assert ink.any(axis=1).all()
    assert abs(base - ink.shape[0]) <= 1
    assert 70 <= base <= 76  # the height of capitals is 0.729 em
    ink, base = draw_character("DejaVuSans", "p", 100)
    assert ink.shape[0] - base == pytest.approx(21, abs=2)
    ink, base = draw_character("DejaVuSans", "'", 100)
    assert base > ink.shape[0] + 30
    assert not ink.flags.writeable


@pytest.mark.parametrize("pair", ["AΑ", "BВ", "oо", "ΩΩ", "KK"])
def test_what_is_drawn_alike_is_found(pair):
    assert all(identify_drawing(face, pair[0]) == identify_drawing(face, pair[1]) for face in FACES)


@pytest.mark.parametrize("pair", ["AB", "oO", "-_", ".·", "'`", "CG", "éè", "Il"])
def test_what_is_drawn_otherwise_is_kept_apart(pair):
    assert all(identify_drawing(face, pair[0]) != identify_drawing(face, pair[1]) for face in FACES)


def test_distinct_characters_differ_in_every_face():
    walk = iterate_distinct()
    characters = [c for tier in (next(walk) for _ in range(6)) for c in tier]
    assert "A" in characters
    assert "Α" not in characters
    for face in FACES:
        drawings = {
            (ink.shape, base, ink.tobytes())
            for ink, base in (draw_character(face, c, 48) for c in characters)
        }
        assert len(drawings) == len(characters)
        assert all(np.frombuffer(data, np.uint8).any() for _, _, data in drawings)
