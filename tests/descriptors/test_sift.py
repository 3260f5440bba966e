"""Dense SIFT against its definition and against OpenCV; oriented gradients against arctan2."""

import cv2
import numpy as np
import pytest
from skimage import data

from myriad.descriptors import DenseSIFT
from myriad.descriptors.sift import allocate_planes, orient_gradients
from myriad.errors import InputError
from myriad.serialisation import flatten, restore
from tests.reference import sift as reference


def photograph(height, width):
    return cv2.resize(
        data.camera()[100:400, 100:450], (width, height), interpolation=cv2.INTER_AREA
    )


def cosines(a, b):
    return (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))


def centres_in_pixels(local, height, width):
    return local.positions * (width, height) - 0.5


@pytest.mark.parametrize("smoothing", [0.0, 1 / 6])
def test_agrees_with_the_definition(smoothing):
    image = photograph(50, 61)
    sift = DenseSIFT(step=11, scales=3, min_side=1, contrast=0.0, smoothing=smoothing, root=False)
    local = sift.describe(image)
    centres = centres_in_pixels(local, 50, 61)
    done = 0
    for bin_width, count in ((6.0, 3 * 4), (6 * 2**0.5, 3 * 4), (12.0, 2 * 3)):
        part = slice(done, done + count)
        expected = reference.describe(image / 255.0, centres[part], bin_width, smoothing)
        np.testing.assert_allclose(local.values[part], expected, atol=5e-4)
        assert cosines(local.values[part], expected).min() > 0.999999
        done += count
    assert done == len(local)


@pytest.mark.parametrize(
    ("patch", "step", "window"),
    [(8, 3, "gaussian"), (19, 7, "gaussian"), (40, 10, "gaussian"), (24, 9, "flat")],
)
def test_agrees_with_the_definition_for_any_patch_step_and_window(patch, step, window):
    image = photograph(44, 52)
    geometry = {"patch": patch, "step": step, "scales": 1, "min_side": 1, "window": window}
    local = DenseSIFT(contrast=0.0, root=False, **geometry).describe(image)
    some = np.linspace(0, len(local) - 1, 6).astype(int)
    centres = centres_in_pixels(local, 44, 52)[some]
    expected = reference.describe(image / 255.0, centres, patch / 4, 0.0, window == "flat")
    np.testing.assert_allclose(local.values[some], expected, atol=5e-4)


@pytest.mark.parametrize("name", ["camera", "astronaut"])
def test_agrees_with_opencv(name):
    """OpenCV rounds to bytes and blurs by one more filter, hence not exactly 1; its y points up."""
    image = (
        data.camera() if name == "camera" else cv2.cvtColor(data.astronaut(), cv2.COLOR_RGB2GRAY)
    )
    image = cv2.resize(image, (300, 200), interpolation=cv2.INTER_AREA)
    sift = DenseSIFT(scales=1, step=9, contrast=0.0, min_side=1, smoothing=1 / 6, root=False)
    local = sift.describe(image)
    centres = centres_in_pixels(local, 200, 300)
    points = [cv2.KeyPoint(float(x), float(y), 4.0, 0.0) for x, y in centres]  # 4 px: 6 px bins
    found, theirs = cv2.SIFT_create(sigma=1.0).compute(image, points)
    assert len(found) == len(points)
    ours = local.values.reshape(-1, 16, 8)[:, :, [0, 7, 6, 5, 4, 3, 2, 1]].reshape(-1, 128)
    usable = np.linalg.norm(theirs, axis=1) > 0
    assert cosines(ours[usable], theirs[usable]).mean() > 0.98


def test_usual_number_of_descriptors():
    local = DenseSIFT().describe(photograph(270, 370))
    assert 10_000 <= len(local) <= 11_500
    assert local.values.dtype == local.positions.dtype == np.float32
    assert local.values.shape == (len(local), 128)
    assert 0 <= local.positions.min() <= local.positions.max() <= 1


@pytest.mark.parametrize("window", ["gaussian", "flat"])
def test_values_are_unit_vectors_or_zero(window):
    image = photograph(140, 150)
    image[:, :90] = 30
    values = DenseSIFT(window=window).describe(image).values
    norms = np.linalg.norm(values, axis=1)
    assert np.all((np.abs(norms - 1) < 1e-5) | (norms == 0))
    assert 0.05 < (norms == 0).mean() < 0.9
    assert values.min() >= 0


def test_windows_are_alike_but_not_the_same():
    image = photograph(140, 150)
    gaussian = DenseSIFT(contrast=0.0).describe(image).values
    flat = DenseSIFT(contrast=0.0, window="flat").describe(image).values
    similarity = cosines(gaussian, flat)
    assert 0.97 < similarity.mean() < 0.9999


def test_a_mirrored_image_has_mirrored_descriptors():
    image = photograph(130, 160)
    sift = DenseSIFT(scales=1, contrast=0.0)
    plain, mirrored = sift.describe(image), sift.describe(np.ascontiguousarray(image[:, ::-1]))
    columns = len(np.unique(plain.positions[:, 0]))
    grid = mirrored.values.reshape(-1, columns, 4, 4, 8)[:, ::-1, :, ::-1]
    mirrored = grid[..., [4, 3, 2, 1, 0, 7, 6, 5]].reshape(-1, 128)
    np.testing.assert_allclose(mirrored, plain.values, atol=2e-4)


def test_brightness_and_contrast_do_not_matter():
    image = photograph(130, 130) // 2
    sift = DenseSIFT(contrast=0.0)
    plain, brighter = sift.describe(image), sift.describe(image * 2 + 1)
    assert cosines(plain.values, brighter.values).mean() > 0.9999


def test_root_is_the_square_root_of_the_l1_normalised():
    image = photograph(128, 128)
    image[:, :60] = 9
    plain = DenseSIFT(root=False).describe(image).values
    root = DenseSIFT(root=True).describe(image).values
    empty = ~plain.any(axis=1)
    assert 0 < empty.sum() < len(empty)
    assert not root[empty].any()
    plain, root = plain[~empty], root[~empty]
    np.testing.assert_allclose(root**2, plain / plain.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("shape", [(1, 1), (2, 900), (5, 4), (23, 24), (700, 30), (1, 4000)])
def test_every_image_has_descriptors(shape):
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    local = DenseSIFT().describe(image)
    assert len(local) >= 40
    assert np.isfinite(local.values).all()


def test_a_small_picture_has_several_hundred_descriptors_at_all_scales():
    assert 1000 <= len(DenseSIFT().describe(photograph(64, 64))) <= 1500


def test_a_constant_image_has_zero_descriptors():
    local = DenseSIFT().describe(np.full((150, 200), 77, np.uint8))
    assert len(local) > 1000
    assert not local.values.any()


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize(
    ("patch", "smoothing"), [(8, 0.2), (24, 0.0)], ids=["tail of a Gaussian", "rim of a window"]
)
def test_tiny_gradients_have_finite_descriptors(patch, smoothing, root):
    """Patches that hardly touch the edge have histograms whose squares vanish in float32."""
    image = np.full((61, 73), 100, np.uint8)
    image[19:, 40:] = 101
    geometry = {"patch": patch, "step": 1, "scales": 3, "min_side": 1}
    sift = DenseSIFT(contrast=0.0, smoothing=smoothing, root=root, **geometry)
    values = sift.describe(image).values
    assert np.isfinite(values).all()
    norms = np.linalg.norm(values, axis=1)
    assert np.all((np.abs(norms - 1) < 1e-5) | (norms == 0))
    assert 0 < (norms == 0).mean() < 1


def test_strided_images_are_read_correctly():
    image = photograph(150, 160)
    wide = np.zeros((150, 320), np.uint8)
    wide[:, ::2] = image
    sift = DenseSIFT(scales=2)
    np.testing.assert_array_equal(sift.describe(wide[:, ::2]).values, sift.describe(image).values)


@pytest.mark.parametrize(
    "image",
    [
        np.zeros((0, 5), np.uint8),
        np.zeros((5, 5), np.float32),
        np.zeros((5, 5, 3), np.uint8),
        [[1, 2], [3, 4]],
    ],
)
def test_refuses_what_is_no_grey_image(image):
    with pytest.raises(InputError, match=r"\(height, width\)"):
        DenseSIFT().describe(image)


@pytest.mark.parametrize(
    "options",
    [
        {"patch": 4},
        {"step": 0},
        {"step": 2.5},
        {"scales": 0},
        {"scales": True},
        {"max_pixels": 10},
        {"patch": 100, "max_pixels": 5000},
        {"min_side": 0},
        {"contrast": "high"},
        {"smoothing": -0.1},
        {"contrast": float("nan")},
        {"window": "round"},
        {"root": 2},
    ],
)
def test_refuses_bad_settings(options):
    with pytest.raises(InputError):
        DenseSIFT(**options)


def test_survives_a_round_trip():
    settings, arrays = flatten(DenseSIFT(step=5, root=False))
    again = restore(settings, arrays)
    assert arrays == {}
    assert (type(again), again.step, again.root) == (DenseSIFT, 5, False)


@pytest.mark.parametrize("shape", [(2, 2), (13, 29), (30, 8)])
def test_agrees_with_arctangent(shape):
    image = np.random.default_rng(0).random(shape, dtype=np.float32)
    planes = allocate_planes(*shape)
    planes[:] = np.nan  # everything must be written
    orient_gradients(image, planes)
    expected = reference.oriented_gradient(image.astype(np.float64))
    np.testing.assert_allclose(planes, expected, atol=1e-5)


@pytest.mark.parametrize("orientation", range(8))
def test_a_slope_along_an_orientation_fills_that_one_only(orientation):
    angle = orientation * np.pi / 4
    y, x = np.mgrid[:6, :7]
    image = (0.1 * (np.cos(angle) * x + np.sin(angle) * y)).astype(np.float32)
    planes = allocate_planes(*image.shape)
    orient_gradients(image, planes)
    expected = np.zeros(8)
    expected[orientation] = 0.1
    np.testing.assert_allclose(planes, np.broadcast_to(expected, planes.shape), atol=1e-6)


def test_a_constant_image_has_no_gradient():
    planes = allocate_planes(5, 5)
    orient_gradients(np.full((5, 5), 0.7, np.float32), planes)
    assert not planes.any()


def test_empty_patches_may_be_left_out():
    image = photograph(80, 90)
    image[:, :45] = 100
    kept = DenseSIFT(min_side=1).describe(image)
    left_out = DenseSIFT(min_side=1, keep_empty=False).describe(image)
    full = kept.values.any(axis=1)
    assert 0 < full.sum() < len(full)
    np.testing.assert_array_equal(left_out.values, kept.values[full])
    np.testing.assert_array_equal(left_out.positions, kept.positions[full])
    assert len(DenseSIFT(keep_empty=False).describe(np.full((60, 60), 7, np.uint8))) == 0
