"""The area under the curve, on one random label and one random wrong class [HM, 5.1].

The loss of a pair is that of `ranking`, and so is what a step does; a row of several labels is one
sample of its pairs.
"""

from __future__ import annotations

from myriad.objectives.ranking import pick

__all__ = ["pick"]
