"""Products of small integers: a tile of 12 x 16 sums of bytes times bytes.

Rows are unsigned bytes and weights signed ones. There are two ways to write the code:

- With AVX-512 VNNI one instruction (`vpdpbusd`) multiplies 64 pairs of bytes, and adds each four
  neighbours to a sum of 32 bits: a quarter of the instructions that float32 takes.
- With AVX2 one instruction (`vpmaddubsw`) multiplies 32 pairs and adds each two neighbours, in 16
  bits. Eight such sums are added before they are widened to 32 bits, which takes about a third of
  the time of float32. The sums are exact only if nothing overflows 16 bits: hence the smaller
  `Limits`.

Where there is AVX-512 without VNNI, products of float32 are about as fast as those of bytes.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from llvmlite import ir

from myriad._jit import has_instructions, intrinsic, types

ROWS, LANES = 12, 16
DEPTH = 32
"""Numbers of a row that share sums of 16 bits; rows are padded to a multiple."""

_STEP, _HALF = 4, 8  # numbers of a row in 32 bits; classes in a vector register of AVX2
_BYTE, _SHORT, _INT, _WORD = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES, _SHORTS = ir.VectorType(_BYTE, 32), ir.VectorType(_SHORT, 16)
_INTS, _SUMS = ir.VectorType(_INT, _HALF), ir.VectorType(_INT, LANES)


class Limits(NamedTuple):
    """The largest numbers whose products are exact.

    Attributes
    ----------
    row : of a row's bytes.
    weight : of a weight's absolute value.
    weight_sum : of the sum of the absolute values of 16 weights whose products share 16 bits.
    """

    row: int
    weight: int
    weight_sum: int


def is_available() -> bool:
    """Return whether kernels are compiled for a processor on which bytes are worth it."""
    return _has_vnni() or (has_instructions("avx2") and not has_instructions("avx512f"))


@functools.cache
def find_limits() -> Limits:
    """Return the limits on this processor."""
    if _has_vnni():
        return Limits(row=255, weight=127, weight_sum=16 * 127)
    return Limits(row=127, weight=127, weight_sum=32767 // 127)


def _has_vnni() -> bool:
    return has_instructions("avx512vnni")


@intrinsic
def multiply_byte_tile(typing, X, row, W, panel, depth, out):
    """Write the products of 12 rows of bytes with a panel of 16 classes into `out`.

    Parameters
    ----------
    X : uint8 array of shape (n, m), C-contiguous, m a multiple of `DEPTH`, of which `row` to
        ``row + 11`` are used, the last one repeated where there are no more.
    W : int8 array of shape (n_panels, m // 4, 16, 4), C-contiguous: ``W[p, j, lane, i]`` is number
        ``4 j + i`` of class ``16 p + lane``. Panel number `panel` is used.
    out : int32 array of shape (12, 16), C-contiguous; written.
    """
    return types.void(X, row, W, panel, depth, out), _write_tile


def _write_tile(context, builder, signature, values):
    """Write the code of `multiply_byte_tile`."""
    X, row, W, panel, depth, out = values
    left, right, target = (
        context.make_array(signature.args[number])(context, builder, value)
        for number, value in ((0, X), (2, W), (5, out))
    )
    m = builder.extract_value(left.shape, 1)
    last = builder.sub(builder.extract_value(left.shape, 0), _WORD(1))
    data = builder.bitcast(left.data, _BYTE.as_pointer())
    rows = []
    for i in range(ROWS):
        wanted = builder.add(row, _WORD(i))
        used = builder.select(builder.icmp_signed("<", wanted, last), wanted, last)
        rows.append(builder.gep(data, [builder.mul(used, m)]))
    size = builder.mul(m, _WORD(LANES))
    lanes = builder.gep(builder.bitcast(right.data, _BYTE.as_pointer()), [builder.mul(panel, size)])
    if _has_vnni():
        sums = builder.bitcast(target.data, _SUMS.as_pointer())
        for i, sum_ in enumerate(_add_fours(builder, rows, lanes, m)):
            builder.store(sum_, builder.gep(sums, [_WORD(i)]), align=4)
        return context.get_dummy_value()
    sums = builder.bitcast(target.data, _INTS.as_pointer())
    addresses = [builder.gep(sums, [_WORD(i)]) for i in range(2 * ROWS)]
    for address in addresses:
        builder.store(ir.Constant(_INTS, None), address, align=4)
    half = ROWS // 2
    _add_over_depth(builder, rows[:half], lanes, depth, m, addresses[:ROWS])
    _add_over_depth(builder, rows[half:], lanes, depth, m, addresses[ROWS:])
    return context.get_dummy_value()


def _add_fours(builder, rows, lanes, m):
    """Write the loop over the depth by VNNI; return 16 sums of each row."""
    name = "llvm.x86.avx512.vpdpbusd.512"
    kind = ir.FunctionType(_SUMS, [_SUMS] * 3)
    add = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    before, loop = builder.block, builder.append_basic_block("fours")
    builder.branch(loop)
    builder.position_at_end(loop)
    k, sums = builder.phi(_WORD), [builder.phi(_SUMS) for _ in rows]
    panel = builder.gep(lanes, [builder.mul(k, _WORD(LANES))])
    weights = builder.load(builder.bitcast(panel, _SUMS.as_pointer()), align=1)
    grown = [
        builder.call(add, [sum_, _load_four(builder, row, k, _SUMS), weights])
        for row, sum_ in zip(rows, sums, strict=True)
    ]
    _close_loop(builder, k, _WORD(0), m, before, loop, sums, grown)
    return grown


def _close_loop(builder, k, first, end, before, loop, sums, grown):
    """Write the end of a loop over bytes, whose variables are `k` and the sums, zero at first."""
    following = builder.add(k, _WORD(_STEP))
    k.add_incoming(first, before)
    k.add_incoming(following, loop)
    for sum_, new in zip(sums, grown, strict=True):
        sum_.add_incoming(ir.Constant(sum_.type, None), before)
        sum_.add_incoming(new, loop)
    after = builder.append_basic_block("added")
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)


def _add_over_depth(builder, rows, lanes, depth, m, addresses):
    """Write the loop over the depth by AVX2, which adds to 2 x 8 sums of each of 6 rows.

    The sums of 16 bits fill 12 of the 16 vector registers; those of 32 bits stay in memory.
    """
    widen = _declare(builder, "llvm.x86.avx2.pmadd.wd", _INTS, _SHORTS)
    ones = ir.Constant(_SHORTS, [1] * 16)
    before, loop = builder.block, builder.append_basic_block("parts")
    builder.branch(loop)
    builder.position_at_end(loop)
    first = builder.phi(_WORD)
    following = builder.add(first, depth)
    shorts = _add_bytes(builder, rows, lanes, first, following)
    for address, short in zip(addresses, shorts, strict=True):
        wide = builder.call(widen, [short, ones])
        builder.store(builder.add(builder.load(address, align=4), wide), address, align=4)
    first.add_incoming(_WORD(0), before)
    first.add_incoming(following, builder.block)
    after = builder.append_basic_block("summed")
    builder.cbranch(builder.icmp_signed("<", following, m), loop, after)
    builder.position_at_end(after)


def _add_bytes(builder, rows, lanes, first, end):
    """Write the loop over bytes `first` to `end`; return 2 sums of 16 bits for each row."""
    multiply = _declare(builder, "llvm.x86.avx2.pmadd.ub.sw", _SHORTS, _BYTES)
    before, loop = builder.block, builder.append_basic_block("bytes")
    builder.branch(loop)
    builder.position_at_end(loop)
    k, sums = builder.phi(_WORD), [builder.phi(_SHORTS) for _ in range(2 * len(rows))]
    panel = builder.gep(lanes, [builder.mul(k, _WORD(LANES))])
    panel = builder.bitcast(panel, _BYTES.as_pointer())
    halves = [builder.load(builder.gep(panel, [_WORD(i)]), align=1) for i in range(2)]
    grown = []
    for i, row in enumerate(rows):
        spread = builder.bitcast(_load_four(builder, row, k, _INTS), _BYTES)
        for half in range(2):
            product = builder.call(multiply, [spread, halves[half]])
            grown.append(builder.add(sums[2 * i + half], product))
    _close_loop(builder, k, first, end, before, loop, sums, grown)
    return grown


def _load_four(builder, row, k, kind):
    """Return numbers `k` to ``k + 3`` of a row, as 32 bits, in all elements of a vector."""
    four = builder.bitcast(builder.gep(row, [k]), _INT.as_pointer())
    undefined = ir.Constant(kind, ir.Undefined)
    one = builder.insert_element(undefined, builder.load(four, align=1), _INT(0))
    everywhere = ir.Constant(ir.VectorType(_INT, kind.count), [0] * kind.count)
    return builder.shuffle_vector(one, undefined, everywhere)


def _declare(builder, name, result, operand):
    """Return an instruction of the processor with two operands, as a function."""
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(result, [operand, operand]), name)
