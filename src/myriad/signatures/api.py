"""The names of `myriad.signatures` whose modules need NumPy and Numba, imported together."""

from myriad.signatures.bov import BagOfWordsSignature, learn_bov
from myriad.signatures.combined import CombinedSignature
from myriad.signatures.fisher import FisherSignature, learn_fisher
from myriad.signatures.histograms import HistogramSignature, learn_histograms
from myriad.signatures.networks.backbone import Backbone
from myriad.signatures.networks.onnx_file import read_onnx
from myriad.signatures.signature import PooledSignature, Signature, name_samples
from myriad.signatures.vlad import VladSignature, learn_vlad

__all__ = [
    "Backbone",
    "BagOfWordsSignature",
    "CombinedSignature",
    "FisherSignature",
    "HistogramSignature",
    "PooledSignature",
    "Signature",
    "VladSignature",
    "learn_bov",
    "learn_fisher",
    "learn_histograms",
    "learn_vlad",
    "name_samples",
    "read_onnx",
]
