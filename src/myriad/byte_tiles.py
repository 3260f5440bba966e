"""Products of small integers: a tile of 6 x 16 sums of bytes times bytes.

With AVX2 one instruction (`vpmaddubsw`) multiplies 32 unsigned bytes with 32 signed ones and adds
neighbours, in 16 bits. Eight such sums are added before they are widened to 32 bits: so a product
of bytes takes about a third of the time of one of float32. The sums are integers, so they are
exact if nothing overflows 16 bits: the sum of ``|weight|`` over the 16 numbers that share 16 bits
must be at most `MAX_WEIGHT_SUM`, for bytes of rows up to `MAX_ROW_VALUE`.

Only processors with AVX2 have it; `is_available` returns whether this one does.
"""

from __future__ import annotations

from llvmlite import ir

from myriad._jit import has_instructions, intrinsic, types

ROWS, LANES = 6, 16
DEPTH = 32
"""Numbers of a row that are multiplied before sums are widened; rows are padded to a multiple."""
MAX_ROW_VALUE = 127
"""Largest byte of a row."""
MAX_WEIGHT_SUM = 32767 // MAX_ROW_VALUE
"""Largest sum of ``|weight|`` over 16 numbers, so that no sum of 16 bits overflows."""

_STEP, _HALF = 4, 8  # numbers of a row in 32 bits; classes in a vector register
_BYTE, _SHORT, _INT, _WORD = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_BYTES, _SHORTS = ir.VectorType(_BYTE, 32), ir.VectorType(_SHORT, 16)
_INTS = ir.VectorType(_INT, _HALF)


def is_available() -> bool:
    """Return whether kernels are compiled for a processor that multiplies bytes with AVX2."""
    return has_instructions("avx2")


@intrinsic
def multiply_byte_tile(typing, X, row, W, panel, depth, out):
    """Write the products of 6 rows of bytes with a panel of 16 classes into `out`.

    Parameters
    ----------
    X : uint8 array of shape (n, m), C-contiguous, m a multiple of `DEPTH`, of which `row` to
        ``row + 5`` are used, the last one repeated where there are no more.
    W : int8 array of shape (n_panels, m // 4, 16, 4), C-contiguous: ``W[p, j, lane, i]`` is number
        ``4 j + i`` of class ``16 p + lane``. Panel number `panel` is used.
    out : int32 array of shape (6, 16), C-contiguous; written.
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
    sums = builder.bitcast(target.data, _INTS.as_pointer())
    addresses = [builder.gep(sums, [_WORD(i)]) for i in range(2 * ROWS)]
    for address in addresses:
        builder.store(ir.Constant(_INTS, None), address, align=4)
    _add_over_depth(builder, rows, lanes, depth, m, addresses)
    return context.get_dummy_value()


def _add_over_depth(builder, rows, lanes, depth, m, addresses):
    """Write the loop over the depth, which adds to 2 x 8 sums of each row.

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
    k, sums = builder.phi(_WORD), [builder.phi(_SHORTS) for _ in range(2 * ROWS)]
    panel = builder.gep(lanes, [builder.mul(k, _WORD(LANES))])
    panel = builder.bitcast(panel, _BYTES.as_pointer())
    halves = [builder.load(builder.gep(panel, [_WORD(i)]), align=1) for i in range(2)]
    grown = []
    for i, row in enumerate(rows):
        # Four numbers of a row, in each of the 8 groups of four bytes.
        four = builder.bitcast(builder.gep(row, [k]), _INT.as_pointer())
        spread = builder.bitcast(_broadcast(builder, builder.load(four, align=1)), _BYTES)
        for half in range(2):
            product = builder.call(multiply, [spread, halves[half]])
            grown.append(builder.add(sums[2 * i + half], product))
    following = builder.add(k, _WORD(_STEP))
    k.add_incoming(first, before)
    k.add_incoming(following, loop)
    for sum_, new in zip(sums, grown, strict=True):
        sum_.add_incoming(ir.Constant(_SHORTS, None), before)
        sum_.add_incoming(new, loop)
    after = builder.append_basic_block("added")
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)
    return grown


def _broadcast(builder, number):
    undefined = ir.Constant(_INTS, ir.Undefined)
    one = builder.insert_element(undefined, number, _INT(0))
    everywhere = ir.Constant(ir.VectorType(_INT, _HALF), [0] * _HALF)
    return builder.shuffle_vector(one, undefined, everywhere)


def _declare(builder, name, result, operand):
    """Return an instruction of the processor with two operands, as a function."""
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(result, [operand, operand]), name)
