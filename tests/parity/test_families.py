"""Every published family against the reference library: the same numbers, gradients and files.

The models are tiny and random, so nothing is downloaded. The properties run over the table of families; a family
without a case fails the first test.
"""

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from headwise.models.build import build
from headwise.models.causal_lm import CausalLM
from headwise.models.classifier import Classifier
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.weights import set_weights
from headwise.models.masked_lm import MaskedLM
from headwise.models.published.exchange import Imported, export_published, import_published
from headwise.models.published.formats.huggingface import read_folder, write_folder
from headwise.models.published.rules import Rule
from headwise.models.vision import VisionTransformer

hf = pytest.importorskip("transformers", reason="the reference library is a development dependency")

from tests.parity.cases import CASES, FAMILIES_WITHOUT_A_CASE, Case  # noqa: E402

TOLERANCE = 1e-5
LENGTH = 11


def test_every_family_has_a_case() -> None:
    assert not FAMILIES_WITHOUT_A_CASE


class Pair:
    """A model of the reference library and the same one as ours."""

    def __init__(self, case: Case, folder: Path) -> None:
        torch.manual_seed(7)
        self.reference = case.make().eval()
        with torch.no_grad():
            for parameter in self.reference.parameters():  # zeros and ones would hide mistakes
                if parameter.requires_grad:  # else it is a table that is computed
                    parameter.add_(torch.randn_like(parameter) * 0.05)
        self.reference.save_pretrained(folder)
        self.foreign = read_folder(folder)
        self.imported: Imported = import_published(self.foreign)
        config, vocabulary = self.imported.config, self.imported.vocabulary
        self.ours: nn.Module = build(config, vocabulary, self.imported.ids.pad).eval()
        set_weights(self.ours, self.imported.weights, case.name)
        self.body = self.ours.body if isinstance(self.ours, Classifier) else self.ours
        generator = torch.Generator().manual_seed(11)
        if isinstance(self.body, VisionTransformer):
            size = config.image_patches.image_size
            self.inputs = torch.randn(3, config.image_patches.channels, size, size, generator=generator)
        else:
            self.inputs = torch.randint(4, vocabulary, (3, LENGTH), generator=generator)
            self.inputs[1, 7:] = self.imported.ids.pad
            self.inputs[2, 3:] = self.imported.ids.pad
        self.target = torch.randint(4, max(vocabulary, 5), (3, 6), generator=generator)
        self.segments = torch.zeros_like(self.inputs)
        if config.embedding.segments > 1:
            self.segments[:, 4:] = 1

    @property
    def real(self) -> Tensor:
        """Which logits count."""
        if self.imported.config.classes or isinstance(self.ours, VisionTransformer):
            return torch.ones(len(self.inputs), dtype=torch.bool)
        if isinstance(self.ours, EncoderDecoder):
            return torch.ones_like(self.target, dtype=torch.bool)
        return self.inputs != self.imported.ids.pad

    def their_output(self, **more: Any) -> Any:
        if isinstance(self.body, VisionTransformer):
            return self.reference(self.inputs, output_hidden_states=True, **more)
        mask = (self.inputs != self.imported.ids.pad).long()
        if isinstance(self.ours, EncoderDecoder):
            more["decoder_input_ids"] = self.target
        if self.imported.config.embedding.segments > 1:
            more["token_type_ids"] = self.segments
        return self.reference(self.inputs, attention_mask=mask, output_hidden_states=True, **more)

    def their_logits(self) -> Tensor:
        output = self.their_output()
        for name in ("logits", "prediction_logits", "last_hidden_state"):
            if hasattr(output, name):
                logits: Tensor = getattr(output, name)
                return logits
        raise AssertionError(f"no logits in {type(output)}")

    def our_logits(self) -> Tensor:
        logits: Tensor
        if isinstance(self.ours, EncoderDecoder):
            logits = self.ours(self.inputs, self.target)
        elif isinstance(self.ours, VisionTransformer):
            logits = self.ours.encode(self.inputs).memory
        elif isinstance(self.body, MaskedLM) and not self.imported.config.classes:
            hidden = self.body.encode(self.inputs, self.segments).memory
            logits = self.body.head(hidden) if self.body.head is not None else hidden
        elif isinstance(self.body, MaskedLM):
            logits = self.ours(self.inputs, self.segments)
        else:
            logits = self.ours(self.inputs)
        return logits

    def our_hidden(self) -> Tensor:
        """Of the last layer."""
        if isinstance(self.ours, EncoderDecoder):
            return self.ours.decode(self.target, self.ours.encode(self.inputs)).hidden
        if isinstance(self.body, CausalLM):
            return self.body.decode(self.inputs).hidden
        if isinstance(self.body, MaskedLM):
            return self.body.encode(self.inputs, self.segments).memory
        hidden: Tensor = self.body.encode(self.inputs).memory
        return hidden


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.name)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return Pair(request.param, tmp_path_factory.mktemp("published"))


def difference(one: Tensor, other: Tensor) -> float:
    return (one - other).abs().max().item()


def test_hidden_states_and_logits_agree_with_padding(pair: Pair) -> None:
    with torch.no_grad():
        theirs, ours = pair.their_logits(), pair.our_logits()
        assert ours.shape == theirs.shape
        assert difference(ours[pair.real], theirs[pair.real]) < TOLERANCE
        output = pair.their_output()
        states = output.get("decoder_hidden_states") or output.get("hidden_states")
        hidden = pair.our_hidden()
        if output.get("pooler_output") is not None:
            assert difference(pair.body.pool(hidden), output.pooler_output) < TOLERANCE
        if isinstance(pair.body, VisionTransformer) or pair.imported.config.classes:
            return  # the reference gives these before its last norm
        scale = pair.imported.config.output.scale
        assert difference((hidden * scale)[pair.real], (states[-1] * scale)[pair.real]) < TOLERANCE


def test_loss_and_gradients_agree(pair: Pair, tmp_path: Path) -> None:
    theirs, ours = pair.their_logits()[pair.real], pair.our_logits()[pair.real]
    generator = torch.Generator().manual_seed(3)
    wanted = torch.randint(0, theirs.size(-1), theirs.shape[:-1], generator=generator)
    their_loss = nn.functional.cross_entropy(theirs.flatten(0, -2), wanted.flatten())
    our_loss = nn.functional.cross_entropy(ours.flatten(0, -2), wanted.flatten())
    assert abs(our_loss.item() - their_loss.item()) < TOLERANCE
    pair.reference.zero_grad()
    pair.ours.zero_grad()
    their_loss.backward()
    our_loss.backward()
    expected = their_gradients(pair, tmp_path)
    for name, parameter in pair.ours.named_parameters():
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        if name in expected:
            assert difference(gradient, expected[name]) < TOLERANCE, name


def their_gradients(pair: Pair, folder: Path) -> dict[str, Tensor]:
    """Under our names: they take the way of the weights, as the file's names are not always those of the modules."""
    holder = copy.deepcopy(pair.reference)
    with torch.no_grad():
        for held, parameter in zip(holder.parameters(), pair.reference.parameters(), strict=True):
            if parameter.requires_grad:
                held.copy_(torch.zeros_like(held) if parameter.grad is None else parameter.grad)
    holder.save_pretrained(folder)
    imported = import_published(read_folder(folder))
    rules = [name for name in imported.family.names(imported.config) if isinstance(name, Rule)]
    buffers = dict(pair.reference.named_buffers())  # which have no gradient
    learned = {ours for each in rules if each.theirs not in buffers for ours in each.ours}
    return {name: tensor for name, tensor in imported.weights.items() if name in learned}


def test_cached_steps_agree_with_the_reference(pair: Pair) -> None:
    if isinstance(pair.ours, EncoderDecoder):
        with torch.no_grad():
            whole = pair.their_logits()
            encoded, cache = pair.ours.encode(pair.inputs), ()
            for t in range(pair.target.size(1)):
                output = pair.ours.decode(pair.target[:, t : t + 1], encoded, cache)
                cache = output.cache
                assert difference(pair.ours.output_projection(output.hidden)[:, 0], whole[:, t]) < TOLERANCE
    elif isinstance(pair.ours, CausalLM):
        row = pair.inputs[:1]
        with torch.no_grad():
            theirs = pair.reference(row, use_cache=True)
            has_cache = "past_key_values" in theirs  # GPT of 2018 reads all of the text again for each token
            cache, their_cache = (), None
            for t in range(row.size(1)):
                token = row[:, t : t + 1]
                output = pair.ours.decode(token, cache)
                cache = output.cache
                expected = theirs.logits[:, t : t + 1]
                if has_cache:
                    step = pair.reference(token, past_key_values=their_cache, use_cache=True)
                    expected, their_cache = step.logits, step.past_key_values
                assert difference(pair.ours.output_projection(output.hidden), expected) < TOLERANCE
    else:
        pytest.skip("an encoder has no cache")


def test_padding_at_the_start_agrees(pair: Pair) -> None:
    if not isinstance(pair.ours, CausalLM):
        pytest.skip("only decoders alone are padded at the start")
    tokens = pair.inputs.flip(1)
    mask = tokens != pair.imported.ids.pad
    positions = (mask.long().cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        theirs = pair.reference(tokens, attention_mask=mask.long(), position_ids=positions).logits
        ours = pair.ours(tokens, mask, positions)
    assert difference(ours[mask], theirs[mask]) < TOLERANCE


def test_weights_survive_out_and_back_byte_for_byte(pair: Pair, tmp_path: Path) -> None:
    imported = pair.imported
    config, tensors = export_published(
        imported.config,
        imported.weights,
        imported.vocabulary,
        imported.ids,
        imported.family.model_type,
        imported.labels,
    )
    for name, tensor in tensors.items():
        original = pair.foreign.tensors[name]
        assert tensor.dtype == original.dtype
        assert torch.equal(tensor, original), name
    write_folder(tmp_path, config, tensors)
    again = type(pair.reference).from_pretrained(tmp_path).eval()
    for name, tensor in pair.reference.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    before, pair.reference = pair.reference, again
    with torch.no_grad():
        after = pair.their_logits()
        pair.reference = before
        assert difference(after, pair.their_logits()) < 1e-6  # kernels differ by where in memory a tensor lies
    back = import_published(read_folder(tmp_path))
    assert back.config == imported.config
    for name, tensor in imported.weights.items():
        assert torch.equal(back.weights[name], tensor), name
