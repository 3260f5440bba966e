"""Find, read and split images; draw the built-in data set."""

from myriad.images.augmentation import augment_images, take_view
from myriad.images.finding import find_images, list_inputs
from myriad.images.glyphs import GlyphSet, choose_glyphs, count_classes, draw_glyph, write_glyphs
from myriad.images.listing import ImageFiles, ImageList, require_classes, require_training_images
from myriad.images.manifest import ONE_LABEL, SeveralLabels
from myriad.images.reading import MAX_PIXELS, BadImage, read_image
from myriad.images.splitting import fill_splits, split_images

__all__ = [
    "MAX_PIXELS",
    "ONE_LABEL",
    "BadImage",
    "GlyphSet",
    "ImageFiles",
    "ImageList",
    "SeveralLabels",
    "augment_images",
    "choose_glyphs",
    "count_classes",
    "draw_glyph",
    "fill_splits",
    "find_images",
    "list_inputs",
    "read_image",
    "require_classes",
    "require_training_images",
    "split_images",
    "take_view",
    "write_glyphs",
]
