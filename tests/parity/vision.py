"""Vision."""

from collections.abc import Callable
from typing import Any

import transformers as hf

SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 12,
    "patch_size": 4,
}


def body(pooler: bool = True, **changes: Any) -> Callable[[], Any]:
    return lambda: hf.ViTModel(hf.ViTConfig(**{**SMALL, **changes}), add_pooling_layer=pooler)


def classifier(**changes: Any) -> Callable[[], Any]:
    return lambda: hf.ViTForImageClassification(hf.ViTConfig(**{**SMALL, "num_labels": 5, **changes}))


CASES: dict[tuple[str, str], Callable[[], Any]] = {
    ("vit", "plain"): body(),
    ("vit", "no-pooler"): body(pooler=False),
    ("vit", "pooler-of-another-kind"): body(pooler_act="gelu"),
    ("vit", "grey-one-patch"): body(num_channels=1, image_size=6, patch_size=6),
    ("vit", "many-patches-odd-heads"): body(image_size=28, patch_size=2, num_attention_heads=3, hidden_size=33),
    ("vit", "classifier"): classifier(),
    ("vit", "classifier-no-biases"): classifier(qkv_bias=False, layer_norm_eps=1e-3, hidden_act="gelu_new"),
    ("vit", "classifier-four-channels"): classifier(num_channels=4, image_size=15, patch_size=5, hidden_act="relu"),
    ("vit", "classifier-pairs-of-sizes"): classifier(image_size=[8, 8], patch_size=[4, 4], num_labels=1),
}
