"""Kernels that gather rows from an array, or from several memory-mapped files, into one array."""

from __future__ import annotations

from myriad._jit import intrinsic, ir, jit, jit_reassociated, types


@jit_reassociated
def copy_rows(X, index, out):
    """Copy rows of `X`; return their sum of squares, which is not finite if a number is not.

    Parameters
    ----------
    X : float array of shape (n, m).
    index : int64 array of shape (k,), rows of `X`.
    out : float array of shape (k, m); changed in place.
    """
    total = out.dtype.type(0.0)
    for i in range(len(index)):
        row, copy = X[index[i]], out[i]
        for j in range(len(copy)):
            number = out.dtype.type(row[j])
            copy[j] = number
            total += number * number
    return total


@intrinsic
def copy_bytes(typing, address, out, offset, n_bytes):
    """Copy bytes from an address to `offset` bytes behind the first of `out`."""

    def write(context, builder, signature, values):
        address, out, offset, n_bytes = values
        pointer = ir.IntType(8).as_pointer()
        found = context.make_array(signature.args[1])(context, builder, out)
        target = builder.gep(builder.bitcast(found.data, pointer), [offset])
        copy = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, ir.IntType(64)])
        source = builder.inttoptr(address, pointer)
        builder.call(copy, [target, source, n_bytes, ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.void(types.int64, out, types.int64, types.int64), write


@jit
def copy_from(addresses, out):
    """Copy rows of bytes from their addresses, without a Python object for each file's array.

    Parameters
    ----------
    addresses : int64 array of shape (m,), where each row begins; it must stay mapped meanwhile.
    out : uint8 array of shape (m, width), C-contiguous; changed in place.
    """
    for i in range(len(addresses)):
        copy_bytes(addresses[i], out, i * out.shape[1], out.shape[1])
