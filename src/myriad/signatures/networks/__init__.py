"""Signatures of networks: EfficientNet and ONNX files, run by ONNX Runtime."""
