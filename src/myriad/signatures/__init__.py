"""Local descriptors to one vector an image."""

from myriad.signatures.bov import BagOfWordsSignature
from myriad.signatures.fisher import FisherSignature
from myriad.signatures.learning import MAPS, learn_bov, learn_fisher, learn_vlad
from myriad.signatures.pooled import PooledSignature
from myriad.signatures.signature import Signature
from myriad.signatures.vlad import VladSignature

__all__ = [
    "MAPS",
    "BagOfWordsSignature",
    "FisherSignature",
    "PooledSignature",
    "Signature",
    "VladSignature",
    "learn_bov",
    "learn_fisher",
    "learn_vlad",
]
