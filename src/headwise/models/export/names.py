"""What is told of ONNX folders; it is known without ONNX too."""

ENCODER, DECODER, WEIGHTS = "encoder.onnx", "decoder.onnx", "weights.bin"
OPSET = 17
"""Has LayerNormalization, and has been read by every onnxruntime since 1.12 (2022)."""
