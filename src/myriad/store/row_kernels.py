"""Rows gathered from wherever they lie, in one array or in several files."""

from __future__ import annotations

from llvmlite import ir

from myriad._jit import integer, intrinsic, jit, jit_reassociated, nothing

_BYTES, _WORD = ir.IntType(8).as_pointer(), ir.IntType(64)


@jit_reassociated
def copy_rows(X, index, out):
    """Copy rows of `X`; return the sum of their squares, which is not finite if a number is not.

    Parameters
    ----------
    X : float array of shape (n, m).
    index : int64 array of shape (k,), rows of `X`.
    out : float array of shape (k, m); changed.
    """
    total = out.dtype.type(0.0)
    for i in range(len(index)):
        row, place = X[index[i]], out[i]
        for j in range(len(place)):
            number = out.dtype.type(row[j])
            place[j] = number
            total += number * number
    return total


@intrinsic
def copy_bytes(typing, address, out, place, n_bytes):
    """Copy bytes from an address to `place` bytes behind the first of `out`."""

    def write(context, builder, signature, values):
        address, out, place, n_bytes = values
        found = context.make_array(signature.args[1])(context, builder, out)
        target = builder.gep(builder.bitcast(found.data, _BYTES), [place])
        copy = builder.module.declare_intrinsic("llvm.memcpy", [_BYTES, _BYTES, _WORD])
        source = builder.inttoptr(address, _BYTES)
        builder.call(copy, [target, source, n_bytes, ir.IntType(1)(0)])
        return context.get_dummy_value()

    return nothing(integer, out, integer, integer), write


@jit
def copy_from(addresses, out):
    """Copy rows of bytes from where they begin.

    Parameters
    ----------
    addresses : int64 array of shape (m,); each has as many bytes as a row of `out`.
    out : uint8 array of shape (m, width), C-contiguous; changed.
    """
    for i in range(len(addresses)):
        copy_bytes(addresses[i], out, i * out.shape[1], out.shape[1])
