"""What translation asks of the loop: the loss of a batch, and how to validate."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from headwise.data.batches import Batch, ordered_batches
from headwise.data.prepared import ValidSet
from headwise.decode.translator import TranslateOptions, Translator
from headwise.evaluate import compare
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder import LoadedModel
from headwise.train.loss import TokenLoss, projected_cross_entropy


def teacher_forcing(smoothing: float) -> Callable[[nn.Module, Batch], TokenLoss]:
    """The objective: the whole target in one pass under the causal mask, each token predicted from those
    of the reference before it."""

    def objective(model: nn.Module, batch: Batch) -> TokenLoss:
        assert isinstance(model, EncoderDecoder)
        shown, wanted = batch.target[:, :-1], batch.target[:, 1:]
        hidden: Tensor = model.decode(shown, model.encode(batch.source)).hidden
        real = wanted != model.pad
        return projected_cross_entropy(hidden[real], model.output_projection.weight, wanted[real], smoothing)

    return objective


def validator(
    loaded: LoadedModel, sets: Sequence[ValidSet], batch_tokens: int, pairs: int, bleu: bool
) -> Callable[[nn.Module], dict[str, float]]:
    """Metrics over the first `pairs` pairs (0: all) of each validation set: loss a token, and greedy BLEU.

    With several directions the figures are means over them, beside each direction's own.
    """
    device = next(loaded.model.parameters()).device
    objective = teacher_forcing(0.0)

    def loss_of(model: nn.Module, valid: ValidSet) -> float:
        nll, tokens = 0.0, 0
        language = valid.target_language
        for batch in ordered_batches(valid.corpus, loaded.tokenizer, batch_tokens, language, pairs):
            nll += objective(model, batch.to(device)).nll.item()
            tokens += batch.target_tokens
        return nll / max(tokens, 1)

    def bleu_of(translator: Translator, valid: ValidSet) -> float:
        sources, targets = valid.sources[: pairs or None], valid.targets[: pairs or None]
        greedy = TranslateOptions(beam=1, alignments=False)
        results = translator.translate(sources, valid.source_language, valid.target_language, options=greedy)
        return compare([result.text for result in results], targets).bleu

    def validate(model: nn.Module) -> dict[str, float]:
        metrics = {"loss": [loss_of(model, valid) for valid in sets]}
        if bleu:
            translator = Translator(loaded, str(device))
            metrics["bleu"] = [bleu_of(translator, valid) for valid in sets]
        means = {name: sum(values) / len(values) for name, values in metrics.items()}
        if len(sets) > 1:
            for i, valid in enumerate(sets):
                direction = f"{valid.source_language}-{valid.target_language}"
                means |= {f"{name} {direction}": values[i] for name, values in metrics.items()}
        return means

    return validate
