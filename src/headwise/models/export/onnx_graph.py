"""A graph of ONNX operations, put together one by one, and the file of weights that several graphs share.

Values are names, as in ONNX itself: an operation takes the names of its inputs and gives that of its output.
"""

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper
from torch import Tensor

from headwise.models.export.names import OPSET

Array = NDArray[Any]

IR_VERSION = 8
INLINE = 1024
"""Bytes up to which a constant lies in the graph itself."""
ALIGNED = 4096
"""Where weights begin in their file, so that it can be mapped into memory."""
MIDDLE = 128
"""What 0 is among the unsigned bytes of a quantised matrix."""

KINDS = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}


class Store:
    """A file that holds each array once, however many graphs use it."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.name = Path(file.name).name
        self._places: dict[bytes, tuple[int, int]] = {}

    def place(self, content: bytes) -> tuple[int, int]:
        """Where the content begins, and its length."""
        digest = hashlib.sha256(content).digest()
        if digest not in self._places:
            self.file.write(b"\0" * (-self.file.tell() % ALIGNED))
            self._places[digest] = self.file.tell(), len(content)
            self.file.write(content)
        return self._places[digest]


class Graph:
    """Nodes and constants so far. `precision` is that of the weights: float32, float16 or int8, where matrices are
    bytes with a scale a row and what they are multiplied by is rounded to bytes as it comes."""

    def __init__(self, store: Store, precision: str) -> None:
        self.store = store
        self.quantised = precision == "int8"
        self.real = "float16" if precision == "float16" else "float32"
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, kind: str, shape: Sequence[int | str]) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, KINDS[kind], shape))
        return name

    def output(self, value: str, name: str, kind: str, shape: Sequence[int | str]) -> None:
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, KINDS[kind], shape))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """An operation with one output."""
        return self.split_op(kind, inputs, 1, **attributes)[0]

    def split_op(self, kind: str, inputs: Sequence[str], outputs: int, **attributes: Any) -> list[str]:
        """An operation with several."""
        first = len(self._nodes)
        names = [f"{kind}_{first}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, names, f"{kind}_{first}", **attributes))
        return names

    def whole(self, number: int) -> str:
        """A single whole number."""
        return self.constant(number, "int64")

    def constant(self, value: Array | Tensor | Sequence[int] | float, kind: str = "") -> str:
        """A constant of a kind, by default this graph's kind of real numbers; lists are of whole numbers."""
        if isinstance(value, Tensor):
            value = value.detach().float().numpy()
        array = np.asarray(value, kind or ("int64" if isinstance(value, list | tuple) else self.real))
        content = np.ascontiguousarray(array).tobytes()
        key = str(array.dtype), array.shape, content if len(content) <= INLINE else hashlib.sha256(content).digest()
        if key not in self._constants:
            tensor = TensorProto(
                name=f"constant_{len(self._constants)}", data_type=KINDS[str(array.dtype)], dims=array.shape
            )
            if len(content) <= INLINE:
                tensor.raw_data = content
            else:
                offset, length = self.store.place(content)
                tensor.data_location = TensorProto.EXTERNAL
                for name, fact in (("location", self.store.name), ("offset", offset), ("length", length)):
                    tensor.external_data.add(key=name, value=str(fact))
            self._constants[key] = tensor
        return self._constants[key].name

    def cast(self, x: str, kind: str) -> str:
        return self.op("Cast", x, to=KINDS[kind])

    def linear(self, x: str, weight: Tensor, bias: Tensor | None) -> str:
        """[..., in] times a matrix [out, in]."""
        if self.quantised:
            matrix, scales = quantised(weight)
            y = self._product_of_bytes(x, self.constant(matrix.T, "uint8"), scales)
        else:
            y = self.op("MatMul", x, self.constant(weight.T))
        return y if bias is None else self.op("Add", y, self.constant(bias))

    def project(self, x: str, weight: Tensor, bias: Tensor | None) -> str:
        """[N, in] times a matrix [out, in] that may be an embedding too: it is taken as it is, so that it is there
        only once."""
        if self.quantised:
            matrix, scales = quantised(weight)
            turned = self.op("Transpose", self.constant(matrix, "uint8"), perm=[1, 0])
            y = self._product_of_bytes(x, turned, scales)
            return y if bias is None else self.op("Add", y, self.constant(bias))
        biases = [] if bias is None else [self.constant(bias)]
        return self.op("Gemm", x, self.constant(weight), *biases, transB=1)

    def embed(self, tokens: str, weight: Tensor, scale: float) -> str:
        """[...] ids -> [..., D]."""
        if self.quantised:
            matrix, scales = quantised(weight)
            rows = self.cast(self.op("Gather", self.constant(matrix, "uint8"), tokens), self.real)
            rows = self.op("Sub", rows, self.constant(float(MIDDLE)))
            return self.op("Mul", rows, self.op("Gather", self.constant(scales[:, None] * scale), tokens))
        rows = self.op("Gather", self.constant(weight), tokens)
        return rows if scale == 1 else self.op("Mul", rows, self.constant(scale))

    def _product_of_bytes(self, x: str, matrix: str, scales: Array) -> str:
        """The activations become bytes of one scale; onnxruntime runs these operations as one."""
        rounded, scale, zero = self.split_op("DynamicQuantizeLinear", [x], 3)
        product = self.op("MatMulInteger", rounded, matrix, zero, self.constant(MIDDLE, "uint8"))
        return self.op(
            "Mul", self.cast(product, "float32"), self.op("Mul", scale, self.constant(scales.astype(np.float32)))
        )

    def reshape(self, x: str, *shape: int) -> str:
        """0: as it was; -1: whatever is left."""
        return self.op("Reshape", x, self.constant(shape))

    def transpose(self, x: str, *order: int) -> str:
        return self.op("Transpose", x, perm=order)

    def unsqueeze(self, x: str, *axes: int) -> str:
        return self.op("Unsqueeze", x, self.constant(axes))

    def split(self, x: str, sizes: Sequence[int], axis: int = -1) -> list[str]:
        if len(sizes) == 1:
            return [x]
        return self.split_op("Split", [x, self.constant(tuple(sizes))], len(sizes), axis=axis)

    def layer_norm(self, x: str, weight: Tensor, bias: Tensor, epsilon: float) -> str:
        return self.op("LayerNormalization", x, self.constant(weight), self.constant(bias), axis=-1, epsilon=epsilon)

    def rms_norm(self, x: str, weight: Tensor, epsilon: float) -> str:
        """In float32 throughout: squares of float16 numbers soon have no room in it."""
        x = self.cast(x, "float32")
        mean = self.op("ReduceMean", self.op("Mul", x, x), axes=[-1])
        root = self.op("Sqrt", self.op("Add", mean, self.constant(epsilon, "float32")))
        y = self.op("Mul", self.op("Div", x, root), self.constant(weight, "float32"))
        return self.cast(y, self.real)

    def activation(self, name: str, x: str) -> str:
        return {"relu": self._relu, "silu": self._silu, "gelu": self._gelu, "gelu_tanh": self._gelu_tanh}[name](x)

    def _relu(self, x: str) -> str:
        return self.op("Relu", x)

    def _silu(self, x: str) -> str:
        return self.op("Mul", x, self.op("Sigmoid", x))

    def _gelu(self, x: str) -> str:
        risen = self.op("Add", self.op("Erf", self.op("Div", x, self.constant(math.sqrt(2)))), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, risen), self.constant(0.5))

    def _gelu_tanh(self, x: str) -> str:
        cube = self.op("Mul", self.op("Mul", self.op("Mul", x, x), x), self.constant(0.044715))
        inner = self.op("Mul", self.op("Add", x, cube), self.constant(math.sqrt(2 / math.pi)))
        risen = self.op("Add", self.op("Tanh", inner), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, risen), self.constant(0.5))

    def save(self, path: Path, producer: str) -> None:
        graph = helper.make_graph(
            self._nodes, path.stem, self._inputs, self._outputs, initializer=list(self._constants.values())
        )
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="headwise",
            producer_version=producer,
        )
        path.write_bytes(model.SerializeToString())
        onnx.checker.check_model(str(path))


def quantised(weight: Tensor) -> tuple[Array, Array]:
    """A matrix [out, in] as unsigned bytes around the middle, and a scale for each row.

    Unsigned, because processors without VNNI instructions add up pairs of products in 16 bits, which those of
    unsigned and signed bytes can overflow.
    """
    values = weight.detach().float().numpy()
    largest = np.abs(values).max(axis=1)
    scales = np.where(largest > 0, largest / 127, 1).astype(np.float32)
    return (np.rint(values / scales[:, None]) + MIDDLE).astype(np.uint8), scales
