"""The families of candidates, by name: a new one is one line here."""

from __future__ import annotations

from myriad.training.automatic.discriminant_families import Discriminant, ProjectedSoftmax
from myriad.training.automatic.dual_family import Dual
from myriad.training.automatic.family import Family
from myriad.training.automatic.gradient_families import OneVsRest, Sampled, Softmax

FAMILIES: dict[str, type[Family]] = {
    family.name: family
    for family in (Softmax, Dual, Discriminant, ProjectedSoftmax, OneVsRest, Sampled)
}
