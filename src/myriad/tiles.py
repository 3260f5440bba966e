"""The micro-kernel of all products in training: a tile of 6 x 16 sums that stays in registers.

It is written in LLVM's intermediate representation, because no compiler derives it from a plain
loop: for each step of the depth it loads 16 contiguous numbers of a panel and multiplies them with
one number of each of 6 rows, broadcast to 16 lanes. With AVX2, 6 x 16 float32 sums take 12 of the
16 vector registers; two hold the panel's numbers and one the broadcast number.

AVX-512 has 32 registers of twice the width, in which 6 x 16 sums take only 6: too few for two
multipliers that begin a product each cycle and end it four cycles later. There a tile has 8 rows,
and two panels where there are two: 16 sums, and 10 numbers or vectors loaded for 16 products.

Every number of the result is summed in the same order, whichever tile it is in: a product of some
rows is bit for bit these rows of the whole product. So models do not depend on how work is cut into
tasks.
"""

from __future__ import annotations

import functools
import itertools

from llvmlite import ir

from myriad._jit import has_instructions, intrinsic, types

WIDE = has_instructions("avx512f")
"""Whether registers suffice for tiles of two panels of float32."""
ROWS, LANES = 8 if WIDE else 6, 16
SQUARE = 8

_WORD, _INT = ir.IntType(64), ir.IntType(32)


@intrinsic
def add_tile(typing, L, row, first, depth, P, panel, out, offset, fresh):
    """Add to `ROWS` x 16 numbers of `out`, or set them if `fresh`: rows of `L` times a panel.

    Parameters
    ----------
    L : float array of shape (n, m) with contiguous rows, of which `ROWS` are used from `row` on,
        the last one repeated where there are no more, and of these `depth` > 0 columns from `first`
        on.
    P : float array of shape (n_panels, m, 16), C-contiguous; panel number `panel` is used.
    out : float array with contiguous rows; changed in place: 16 columns of as many rows, the first
        number being `offset` numbers behind that of `out`.
    fresh : whether `out` is set instead of added to.
    """
    return types.void(L, row, first, depth, P, panel, out, offset, fresh), _write_tile


@intrinsic
def add_wide_tile(typing, L, row, first, depth, P, panel, out, offset, fresh):
    """Add to `ROWS` x 32 numbers of `out`, as `add_tile` does for two panels."""
    write = functools.partial(_write_tile, n_panels=2)
    return types.void(L, row, first, depth, P, panel, out, offset, fresh), write


@intrinsic
def add_packed_tile(typing, R, column, P, panel, out):
    """Add to `ROWS` x 16 numbers of a panel of `out`: columns of packed rows times a panel of `P`.

    Parameters
    ----------
    R : float array of shape (n_panels, m, 16), C-contiguous, rows as `panels.pack_rows` packs them;
        `ROWS` columns are used from `column` on, the last one repeated where there are no more,
        and summed over all rows.
    P : float array of shape (k, at least 16 n_panels, 16), C-contiguous; panel number `panel` is
        used.
    out : float array of shape (k, m, 16), C-contiguous; panel number `panel` is changed, from
        number `column` on.
    """
    return types.void(R, column, P, panel, out), _write_packed_tile


@intrinsic
def add_wide_packed_tile(typing, R, column, P, panel, out):
    """Add to two panels of `out`, as `add_packed_tile` does for `panel` and the next one."""
    write = functools.partial(_write_packed_tile, n_panels=2)
    return types.void(R, column, P, panel, out), write


def _write_tile(context, builder, signature, values, n_panels=1):
    """Write the code of `add_tile`, or of `add_wide_tile`."""
    L, row, first, depth, P, panel, out, offset, fresh = values
    (left, right, target), vector, size = _unpack_arrays(
        context, builder, signature, {0: L, 4: P, 6: out}
    )
    used = _repeat_last(builder, row, builder.extract_value(left.shape, 0))
    length = _row_length(builder, left, size)
    rows = [_address(builder, left.data, i, length, first) for i in used]
    start = builder.mul(first, _WORD(LANES))
    lanes, targets = [], []
    for i in range(n_panels):
        number, column = builder.add(panel, _WORD(i)), builder.add(offset, _WORD(i * LANES))
        lanes.append(
            _address(builder, right.data, number, _row_length(builder, right, size), start)
        )
        targets += _find_targets(
            builder, target, row, used, _row_length(builder, target, size), column, vector
        )
    zeros = [ir.Constant(vector, None)] * len(targets)
    sums = _sum_over_depth(builder, rows, lanes, depth, zeros, size)
    _store(builder, targets, sums, fresh, size)
    return context.get_dummy_value()


def _write_packed_tile(context, builder, signature, values, n_panels=1):
    """Write the code of `add_packed_tile`, or of `add_wide_packed_tile`.

    It is the loop over panels of rows, around that over their lanes.
    """
    R, column, P, panel, out = values
    (left, right, target), vector, size = _unpack_arrays(
        context, builder, signature, {0: R, 2: P, 4: out}
    )
    used = _repeat_last(builder, column, builder.extract_value(left.shape, 1))
    length, none, starts, targets = _row_length(builder, left, size), _WORD(0), [], []
    for i in range(n_panels):
        here = builder.add(panel, _WORD(i))
        starts.append(_address(builder, right.data, here, _row_length(builder, right, size), none))
        offset = builder.mul(here, _row_length(builder, target, size))
        offset = builder.add(offset, builder.mul(column, _WORD(LANES)))
        targets += _find_targets(builder, target, column, used, _WORD(LANES), offset, vector)
    before, loop = builder.block, builder.append_basic_block("panels")
    builder.branch(loop)
    builder.position_at_end(loop)
    number, sums = builder.phi(_WORD), [builder.phi(vector) for _ in targets]
    first = builder.mul(number, length)
    rows = [_address(builder, left.data, i, _WORD(LANES), first) for i in used]
    lanes = [_address(builder, start, number, _WORD(LANES * LANES), none) for start in starts]
    grown = _sum_over_depth(builder, rows, lanes, _WORD(LANES), sums, size)
    following, after = builder.add(number, _WORD(1)), builder.append_basic_block("all")
    number.add_incoming(none, before)
    number.add_incoming(following, builder.block)
    for sum_, new in zip(sums, grown, strict=True):
        sum_.add_incoming(ir.Constant(vector, None), before)
        sum_.add_incoming(new, builder.block)
    more = builder.icmp_signed("<", following, builder.extract_value(left.shape, 0))
    builder.cbranch(more, loop, after)
    builder.position_at_end(after)
    _store(builder, targets, grown, ir.Constant(ir.IntType(1), 0), size)
    return context.get_dummy_value()


def _unpack_arrays(context, builder, signature, values):
    """Return the arrays among the arguments, the type of 16 of their numbers, and a number's size.

    Parameters
    ----------
    values : the value of each array by the number of its argument.
    """
    arrays = [
        context.make_array(signature.args[number])(context, builder, value)
        for number, value in values.items()
    ]
    number = context.get_data_type(signature.args[0].dtype)
    return arrays, ir.VectorType(number, LANES), context.get_abi_sizeof(number)


def _repeat_last(builder, first, n):
    """Return the numbers of `ROWS` of n rows from `first` on, the last one repeated."""
    last = builder.sub(n, _WORD(1))
    wanted = [builder.add(first, _WORD(i)) for i in range(ROWS)]
    return [builder.select(builder.icmp_signed("<", i, last), i, last) for i in wanted]


def _find_targets(builder, target, first, used, length, offset, vector):
    """Return the addresses that the sums are written to, and prefetch them.

    Parameters
    ----------
    first, used : the number of the first row of the tile, and those of all.
    length, offset : how many numbers a row has, and how many are before those of the first row.
    """
    targets = []
    for i in used:
        address = _address(builder, target.data, builder.sub(i, first), length, offset)
        targets.append(builder.bitcast(address, vector.as_pointer()))
    _prefetch(builder, targets)
    return targets


def _prefetch(builder, addresses):
    """Write the prefetch of numbers that are changed once their sums are complete."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, _INT, _INT, _INT])
    name = "llvm.prefetch.p0i8"
    prefetch = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    for address in addresses:
        # For writing, into all levels of the cache, data.
        builder.call(prefetch, [builder.bitcast(address, byte), _INT(1), _INT(3), _INT(1)])


def _store(builder, addresses, sums, fresh, size):
    """Write the sums, or add them to the numbers before.

    All is loaded before anything is stored: the last row may be there several times.
    """
    before = [builder.load(address, align=size) for address in addresses]
    for address, old, new in zip(addresses, before, sums, strict=True):
        builder.store(builder.select(fresh, new, builder.fadd(old, new)), address, align=size)


def _sum_over_depth(builder, rows, lanes, depth, start, size):
    """Write the loop over the depth; return `start` plus the products of rows and lanes.

    Parameters
    ----------
    rows : the address of each row.
    lanes : the address of each panel.
    start : the sums to begin with: those of all rows with the first panel, then with the next.
    """
    vector = start[0].type
    name = f"llvm.fmuladd.v{LANES}f{8 * size}"
    fuse = builder.module.globals.get(name)
    if fuse is None:
        fuse = ir.Function(builder.module, ir.FunctionType(vector, [vector] * 3), name)
    before, loop = builder.block, builder.append_basic_block("tile")
    after = builder.append_basic_block("tiled")
    builder.branch(loop)
    builder.position_at_end(loop)
    # The loop's variables: the step k, and the sums, which LLVM keeps in registers throughout.
    k = builder.phi(_WORD)
    sums = [builder.phi(vector) for _ in start]
    side_by_side = []
    for panel in lanes:
        address = builder.gep(panel, [builder.mul(k, _WORD(LANES))])
        side_by_side.append(builder.load(builder.bitcast(address, vector.as_pointer()), align=size))
    everywhere = ir.Constant(ir.VectorType(_INT, LANES), [0] * LANES)
    undefined = ir.Constant(vector, ir.Undefined)
    spread = []
    for row in rows:
        one = builder.load(builder.gep(row, [k]))
        one = builder.insert_element(undefined, one, _INT(0))
        spread.append(builder.shuffle_vector(one, undefined, everywhere))
    grown = [
        builder.call(fuse, [left, right, sum_])
        for (right, left), sum_ in zip(itertools.product(side_by_side, spread), sums, strict=True)
    ]
    following = builder.add(k, _WORD(1))
    builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
    k.add_incoming(_WORD(0), before)
    k.add_incoming(following, loop)
    for sum_, first, new in zip(sums, start, grown, strict=True):
        sum_.add_incoming(first, before)
        sum_.add_incoming(new, loop)
    builder.position_at_end(after)
    return grown


@intrinsic
def transpose_square(typing, X, row, column, out, out_row, out_column):
    """Write the transpose of 8 x 8 numbers of `X`, from (`row`, `column`) on, into `out`.

    `X` and `out`, which is changed in place, are float arrays with contiguous rows.
    """
    return types.void(X, row, column, out, out_row, out_column), _write_square


def _write_square(context, builder, signature, values):
    """Write the code of `transpose_square`: blocks of 4, 2, 1 are swapped across the diagonal."""
    kinds = signature.args
    X, row, column, out, out_row, out_column = values
    source = context.make_array(kinds[0])(context, builder, X)
    target = context.make_array(kinds[3])(context, builder, out)
    number = context.get_data_type(kinds[0].dtype)
    size = context.get_abi_sizeof(number)
    vector = ir.VectorType(number, SQUARE)

    def find(array, first_row, i, first_column):
        length = _row_length(builder, array, size)
        address = _address(
            builder, array.data, builder.add(first_row, _WORD(i)), length, first_column
        )
        return builder.bitcast(address, vector.as_pointer())

    lines = [builder.load(find(source, row, i, column), align=size) for i in range(SQUARE)]
    # Three rounds: lines i and i + width exchange the halves that lie across the diagonal of their
    # block of 2 x width lanes; masks count the lanes of both lines from 0 to 15.
    for width in (4, 2, 1):
        for i in range(SQUARE):
            if not i & width:
                pair = lines[i], lines[i + width]
                masks: tuple[list[int], list[int]] = [], []
                for lane in range(SQUARE):
                    first = not lane & width
                    masks[0].append(lane if first else SQUARE + lane - width)
                    masks[1].append(lane + width if first else SQUARE + lane)
                lines[i], lines[i + width] = (
                    builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_INT, SQUARE), mask))
                    for mask in masks
                )
    for i, line in enumerate(lines):
        builder.store(line, find(target, out_row, i, out_column), align=size)
    return context.get_dummy_value()


@intrinsic
def set_zero(typing, numbers):
    """Set all numbers of a C-contiguous array to zero.

    Numba compiles ``numbers[...] = 0.0`` much longer, and once more for each number of dimensions.
    """
    return types.void(numbers), _write_zeros


def _write_zeros(context, builder, signature, values):
    """Write the code of `set_zero`."""
    array = context.make_array(signature.args[0])(context, builder, values[0])
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, ir.IntType(8), _WORD, ir.IntType(1)])
    name = "llvm.memset.p0i8.i64"
    fill = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    size = builder.mul(array.nitems, array.itemsize)
    builder.call(
        fill, [builder.bitcast(array.data, byte), ir.IntType(8)(0), size, ir.IntType(1)(0)]
    )
    return context.get_dummy_value()


def _row_length(builder, array, size):
    """Return how many numbers there are from the start of a row to that of the next."""
    return builder.sdiv(builder.extract_value(array.strides, 0), _WORD(size))


def _address(builder, data, row, row_length, column):
    """Return the address of a number."""
    return builder.gep(data, [builder.add(builder.mul(row, row_length), column)])
