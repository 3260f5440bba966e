"""The multinomial logistic loss, ``log sum_c exp(s_c) - s_y`` [LS], also truncated [LHS, 2.3].

The truncated top-k entropy loss is the same without the k - 1 largest wrong scores, which k
guesses allow for. It is not convex.

Its exponentials are computed many at once, in vector registers, for arguments up to 700.
"""

from __future__ import annotations

import numpy as np

from myriad._jit import inlined, intrinsic, ir, jit, jit_fused, jit_reassociated, types

LOWEST = -700.0  # below, the result is that of LOWEST, 1e-304
LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0  # 1.5 * 2^52: adding it rounds a number to an integer
BIAS, MANTISSA = np.int64(1023), np.int64(52)


@inlined
def small_exponential(r):
    """Return exp(r) for ``|r| <= log(2) / 2``, by its Taylor series: correct to 2e-16."""
    p = (1.0 / 479001600.0 * r + 1.0 / 39916800.0) * r + 1.0 / 3628800.0
    p = ((p * r + 1.0 / 362880.0) * r + 1.0 / 40320.0) * r + 1.0 / 5040.0
    p = ((p * r + 1.0 / 720.0) * r + 1.0 / 120.0) * r + 1.0 / 24.0
    return (((p * r + 1.0 / 6.0) * r + 0.5) * r + 1.0) * r + 1.0


@jit
def exponentiate(x, powers):
    """Replace each number of `x` by its exponential, to a relative error of 1e-15.

    ``exp(x) = 2^n exp(x - n log 2)`` with n the integer nearest to ``x / log 2``; the power of 2 is
    made by writing n into the exponent bits of a float.

    Parameters
    ----------
    x, powers : float64 arrays of shape (n,), the numbers and work space; both are changed in place.
    """
    # log 2 is a sum of two floats, so that n log 2 is exact to more digits than one float holds.
    for c in range(len(x)):
        number = LOWEST if x[c] < LOWEST else x[c]
        rounded = number * LOG2_E + ROUNDER
        n = rounded - ROUNDER
        powers[c] = rounded  # n is in the low bits of its mantissa
        x[c] = small_exponential((number - n * LN2_HIGH) - n * LN2_LOW)
    bits = powers.view(np.int64)
    for c in range(len(x)):
        bits[c] = (bits[c] + BIAS) << MANTISSA  # higher bits are shifted out
    for c in range(len(x)):
        x[c] *= powers[c]


SINGLE = np.float32
LOWEST_SINGLE = SINGLE(-87.0)  # below, the result is that of LOWEST_SINGLE, 2e-38
LOG2_E_SINGLE, ROUNDER_SINGLE = SINGLE(LOG2_E), SINGLE(12582912.0)  # 1.5 * 2^23
LN2_HIGH_SINGLE, LN2_LOW_SINGLE = SINGLE(0.693359375), SINGLE(-2.12194440e-4)
BIAS_SINGLE, MANTISSA_SINGLE = np.int32(127), np.int32(23)
C2, C3, C4 = SINGLE(1 / 2), SINGLE(1 / 6), SINGLE(1 / 24)
C5, C6, C7 = SINGLE(1 / 120), SINGLE(1 / 720), SINGLE(1 / 5040)
ONE = SINGLE(1.0)


@jit_fused
def exponentiate_single(x, powers):
    """Replace each number of `x` by its exponential, to a relative error of 3e-7.

    As `exponentiate`, for float32 arrays and arguments up to 87.
    """
    for c in range(len(x)):
        number = LOWEST_SINGLE if x[c] < LOWEST_SINGLE else x[c]
        rounded = number * LOG2_E_SINGLE + ROUNDER_SINGLE
        n = rounded - ROUNDER_SINGLE
        powers[c] = rounded
        r = (number - n * LN2_HIGH_SINGLE) - n * LN2_LOW_SINGLE
        p = ((C7 * r + C6) * r + C5) * r + C4
        x[c] = (((p * r + C3) * r + C2) * r + ONE) * r + ONE
    bits = powers.view(np.int32)
    for c in range(len(x)):
        bits[c] = (bits[c] + BIAS_SINGLE) << MANTISSA_SINGLE  # higher bits are shifted out
    for c in range(len(x)):
        x[c] *= powers[c]


@jit_reassociated
def total(x):
    """Return the sum of the numbers, summed in vector registers."""
    sum_ = 0.0
    for c in range(len(x)):
        sum_ += x[c]
    return sum_


SIGN, MAGNITUDE, LOWEST_BITS = np.int32(31), np.int32(0x7FFFFFFF), np.int32(-0x80000000)


@jit
def largest(scores):
    """Return the largest of the scores."""
    top = scores[0]
    for c in range(1, len(scores)):
        top = max(top, scores[c])
    return top


@jit
def largest_single(scores):
    """Return the largest of float32 scores, found in vector registers; NaN where there is one.

    The largest integer can be found side by side in vector registers, the largest float not,
    because of NaN. Read as integers, the bits of floats are in the order of the floats once all
    bits but the sign are inverted in negative numbers.
    """
    bits, top = scores.view(np.int32), LOWEST_BITS
    for c in range(len(bits)):
        top = max(top, bits[c] ^ ((bits[c] >> SIGN) & MAGNITUDE))
    return float_of(top ^ ((top >> SIGN) & MAGNITUDE))


@intrinsic
def float_of(typing, bits):
    """Return the float32 number that has these 32 bits."""

    def write(context, builder, signature, values):
        return builder.bitcast(values[0], ir.FloatType())

    return types.float32(types.int32), write


@jit
def hide_largest(products, biases, sigma, label, n_hidden):
    """Set the products of the wrong classes of the largest scores to minus infinity.

    Of equal scores those of the lowest classes are hidden.

    Parameters
    ----------
    products : float array of shape (n_classes,); changed in place. The scores are ``sigma *
        products + biases``.
    n_hidden : how many, fewer than there are wrong classes.
    """
    for _ in range(n_hidden):
        largest_score, found = -np.inf, -1
        for c in range(len(products)):
            score = sigma * products[c] + biases[c]
            if score > largest_score and c != label:
                largest_score, found = score, c
        if found >= 0:
            products[found] = -np.inf


@jit
def probabilities(products, biases, sigma, out, work):
    """Write the probability of each class; the scores are ``sigma * products + biases``.

    Parameters
    ----------
    out, work : float arrays of one type and of shape (n_classes,), the result and work space; both
        are changed in place.
    """
    for c in range(len(products)):
        out[c] = sigma * products[c] + biases[c]
    # exp(s_c - max s) / sum: no exponential overflows, and at least one of them is 1.
    top = largest_single(out) if out.itemsize == 4 else largest(out)
    for c in range(len(products)):
        out[c] -= top
    if out.itemsize == 4:
        exponentiate_single(out, work)
    else:
        exponentiate(out, work)
    scale = out.dtype.type(1.0 / total(out))
    for c in range(len(products)):
        out[c] *= scale
