"""Local descriptors to one vector an image."""

from myriad.signatures.bov import BagOfWordsSignature
from myriad.signatures.fisher import FisherSignature
from myriad.signatures.learning import learn_bov, learn_fisher, learn_vlad
from myriad.signatures.signature import Signature
from myriad.signatures.vlad import VladSignature

__all__ = [
    "BagOfWordsSignature",
    "FisherSignature",
    "Signature",
    "VladSignature",
    "learn_bov",
    "learn_fisher",
    "learn_vlad",
]
