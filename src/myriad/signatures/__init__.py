"""Images to one vector each: local descriptors pooled, or the embedding of a network."""

from myriad.signatures.backbone import Backbone
from myriad.signatures.backbones import EFFICIENTNET, is_backbone, open_backbone
from myriad.signatures.bov import BagOfWordsSignature
from myriad.signatures.fisher import FisherSignature
from myriad.signatures.learning import MAPS, learn_bov, learn_fisher, learn_vlad
from myriad.signatures.onnx_file import OnnxOptions, read_onnx
from myriad.signatures.pooled import PooledSignature
from myriad.signatures.signature import Signature
from myriad.signatures.vlad import VladSignature

__all__ = [
    "EFFICIENTNET",
    "MAPS",
    "Backbone",
    "BagOfWordsSignature",
    "FisherSignature",
    "OnnxOptions",
    "PooledSignature",
    "Signature",
    "VladSignature",
    "is_backbone",
    "learn_bov",
    "learn_fisher",
    "learn_vlad",
    "open_backbone",
    "read_onnx",
]
