"""A slow network: convolutions by their definition, batch normalisation on its own."""

import numpy as np


def pad_same(x, width, stride):
    """Pad as TensorFlow does: ceil(n / stride) positions remain, the odd pixel goes to the end."""
    amounts = []
    for n in x.shape[1:]:
        total = max((-(-n // stride) - 1) * stride + width - n, 0)
        amounts.append((total // 2, total - total // 2))
    return np.pad(x, [(0, 0), *amounts])


def convolve(x, kernel, stride=1, apart=False):
    """Convolve x (channels, height, width) with kernel (out, in, width, width), by definition."""
    width = kernel.shape[2]
    padded = pad_same(x, width, stride)
    high = -(-x.shape[1] // stride)
    wide = -(-x.shape[2] // stride)
    out = np.zeros((len(kernel), high, wide))
    for i in range(high):
        for j in range(wide):
            top, left = i * stride, j * stride
            patch = padded[:, top : top + width, left : left + width]
            if apart:
                out[:, i, j] = (patch * kernel[:, 0]).sum(axis=(1, 2))
            else:
                out[:, i, j] = (patch[None] * kernel).sum(axis=(1, 2, 3))
    return out


def normalise(x, weights, name, epsilon=1e-3):
    gamma, beta, mean, variance = (
        weights[f"{name}.{part}"][:, None, None]
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    return gamma * (x - mean) / np.sqrt(variance + epsilon) + beta


def relu6(x):
    return np.minimum(np.maximum(x, 0), 6)


def bottleneck(x, weights, name, stride):
    y = x
    if f"{name}._expand_conv.weight" in weights:
        y = convolve(y, weights[f"{name}._expand_conv.weight"])
        y = relu6(normalise(y, weights, f"{name}._bn0"))
    y = convolve(y, weights[f"{name}._depthwise_conv.weight"], stride, apart=True)
    y = relu6(normalise(y, weights, f"{name}._bn1"))
    y = normalise(convolve(y, weights[f"{name}._project_conv.weight"]), weights, f"{name}._bn2")
    return x + y if stride == 1 and x.shape == y.shape else y


def embed(image, weights, strides):
    """Return the pooled features of an image (3, height, width) by EfficientNet-Lite."""
    x = convolve(image, weights["_conv_stem.weight"], 2)
    x = relu6(normalise(x, weights, "_bn0"))
    for number, stride in enumerate(strides):
        x = bottleneck(x, weights, f"_blocks.{number}", stride)
    x = relu6(normalise(convolve(x, weights["_conv_head.weight"]), weights, "_bn1"))
    return x.mean(axis=(1, 2))
