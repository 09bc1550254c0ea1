"""What each step of the tour shows, as Markdown, in the order of the tour."""

import copy
import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from headwise.config import TrainConfig
from headwise.decode.alignment import align, pharaoh
from headwise.decode.engines.plain import DecoderStepper
from headwise.nn.attention import MultiHeadAttention, explicit_attention
from headwise.nn.masks import EVERYTHING, additive, causal_mask
from headwise.nn.positions import Sinusoidal
from headwise.nn.stack import Layer
from headwise.train.step.loss import plain_cross_entropy, projected_cross_entropy
from tour import pictures, search
from tour.one_pass import SENTENCE, Pass
from tour.text import difference, number, numbers, rms, shape, share, table, tiny

ELSEWHERE = "The apple is red."


def model_facts(p: Pass) -> str:
    config, tokenizer = p.translator.config, p.translator.tokenizer
    parameters = sum(each.numel() for each in p.model.parameters())
    state = "" if p.finished else "\n\n*Made from a checkpoint of a run that was still going.*"
    facts = {
        "encoder layers": config.encoder_side.layers,
        "decoder layers": config.layers,
        "$D$": config.width,
        "$H$": config.attention.heads,
        "$D/H$": config.width // config.attention.heads,
        "$F$": config.feed_forward.hidden,
        "$V$": tokenizer.size,
        "parameters": parameters,
    }
    translation = p.translator.translate(SENTENCE).text
    shown = table(list(facts), [[f"{value:,}" for value in facts.values()]])
    return f'{shown}\n\nIts translation, by beam search: **"{translation}"**{state}'


def tokens(p: Pass) -> str:
    tokenizer = p.translator.tokenizer
    words = [str(word) if word >= 0 else "-" for word in tokenizer.word_ids(p.source)]
    rows = zip(map(str, range(len(p.source))), p.pieces(p.source), map(str, p.source), words, strict=True)
    back = tokenizer.decode(p.source)
    return table(["position", "piece", "id", "word"], rows) + f'\n\nDecoded again: "{back}"'


def byte_pieces(p: Pass) -> str:
    text = "I ate a 🍏."
    return f'"{text}" → ' + " ".join(p.pieces(p.translator.tokenizer.encode(text)))


def embeddings(p: Pass) -> str:
    x = p.model.source_embedding(torch.tensor(p.source))
    rows = [[piece, *numbers(row[:6]), number(rms(row))] for piece, row in zip(p.pieces(p.source), x, strict=True)]
    weight = F.normalize(p.model.source_embedding.weight, dim=-1)
    near = (weight @ weight[p.source[p.noun]]).topk(6)
    first, *others = p.pieces(near.indices.tolist())
    found = ", ".join(f"{piece} ({number(c)})" for piece, c in zip(others, near.values[1:], strict=True))
    shown = table(["token", *(f"dim {place}" for place in range(6)), "RMS of all"], rows)
    return f"{shown}\n\nNearest to {first} in $E$, by cosine: {found}."


def positions(p: Pass) -> str:
    width = p.translator.config.width
    encoding = Sinusoidal(width)
    sinusoids = encoding.table(torch.arange(101))
    pictures.positions(sinusoids[:64])
    rows = [[str(place), *numbers(row[:8])] for place, row in enumerate(sinusoids[: len(p.source)])]
    step = 7
    angles = step / 10000.0 ** (torch.arange(0, width, 2).double() / width)
    turns = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]], dtype=torch.float64) for a in angles]
    shifted = sinusoids[:-step].double() @ torch.block_diag(*turns).T  # type: ignore[no-untyped-call]
    off = (sinusoids[step:].double() - shifted).abs().max()
    shown = table(["position", *(f"dim {place}" for place in range(8))], rows)
    return (
        f"{shown}\n\n$M_{step}$, applied to positions 0 to {100 - step}, gives positions {step} to 100 "
        f"within {tiny(off)}."
    )


def query_key_value(p: Pass) -> str:
    parts = [p.heads("encoder", part, p.head) for part in ("query", "key", "value")]
    rows = [
        [piece, *(" ".join(numbers(part[place, :4])) for part in parts)]
        for place, piece in enumerate(p.pieces(p.source))
    ]
    header = ["token", *(f"{name} (head {p.head + 1})" for name in ("query", "key", "value"))]
    return table(header, rows)


def attention(p: Pass) -> str:
    query, key, value = (p.heads("encoder", part, p.head) for part in ("query", "key", "value"))
    products = key @ query[p.looking]
    scaled = products / math.sqrt(key.size(-1))
    weights = scaled.softmax(-1)
    rows = [
        [piece, *numbers(each), number(weight, 3), " ".join(numbers(row[:4]))]
        for piece, *each, weight, row in zip(p.pieces(p.source), products, scaled, weights, value, strict=True)
    ]
    output = weights @ value
    rows.append(["**output**", "", "", number(weights.sum(), 3), " ".join(numbers(output[:4]))])
    by_code = explicit_attention(query[None, None], key[None, None], value[None, None], None)[0][0, 0, p.looking]
    asks = p.pieces(p.source)[p.looking]
    header = [f"query of {asks} meets the key of", "$q \\cdot k$", "scaled", "weight", "value (first four)"]
    return (
        f"{table(header, rows)}\n\nThe last line is the sum of the values, each times its weight. "
        f"`explicit_attention` gives the same within {tiny((by_code - output).abs().max())}."
    )


def permutation(p: Pass) -> str:
    pictures.self_attention(p)
    layer = p.model.get_submodule("encoder.layers.0.self_attention")
    assert isinstance(layer, MultiHeadAttention)
    x = p.model.source_embedding(torch.tensor([p.source]))
    order = torch.arange(len(p.source)).flip(0)
    places = torch.arange(len(p.source))

    def moved(with_positions: bool) -> Tensor:
        def attend(y: Tensor) -> Tensor:
            y = p.model.source_positions.embed(y, places) if with_positions else y
            output: Tensor = layer(y, layer.keys_values(y)).output
            return output

        return (attend(x)[:, order] - attend(x[:, order])).abs().max()

    rows = [["none", difference(moved(False))], ["added", difference(moved(True))]]
    return table(["position encodings", "largest change of any output when the sentence is reversed"], rows)


def heads(p: Pass) -> str:
    pictures.inspected(p, "encoder", "encoder_heads")
    pieces = p.pieces(p.source)
    weights = p.maps["encoder"].weights[0][:, p.looking]  # [H, S]
    rows = [[str(head + 1), *numbers(row)] for head, row in enumerate(weights)]
    return table([f"weights of {pieces[p.looking]} on", *pieces], [[f"head {n}", *row] for n, *row in rows])


def feed_forward(p: Pass) -> str:
    name = "encoder.layers.0.feed_forward"
    x, y = p.seen[name]
    active = (p.seen[f"{name}.expand"].made > 0).float().mean(-1)
    rows = [
        [piece, share(part), number(rms(before)), number(rms(after))]
        for piece, part, before, after in zip(p.pieces(p.source), active, x, y, strict=True)
    ]
    module = p.model.get_submodule(name)
    alone = torch.stack([module(row[None, None])[0, 0] for row in x])
    shown = table(["token", "hidden units above 0", "RMS in", "RMS out"], rows)
    return f"{shown}\n\nEach token sent through alone gives the same within {tiny((alone - y).abs().max())}."


def add_and_norm(p: Pass) -> str:
    rows = []
    for index in range(len(p.model.encoder.layers)):
        for name in ("self_norm", "feed_forward_norm"):
            block, norm = p.seen[f"encoder.layers.{index}.{name}"], p.seen[f"encoder.layers.{index}.{name}.norm"]
            x = norm.given[0]
            plain = F.layer_norm(x, x.shape)
            added = block.made[0] - block.given[0]
            cells = [x.mean(), x.std(unbiased=False), plain.mean(), plain.std(unbiased=False)]
            sizes = [rms(norm.made[0]), rms(added), rms(block.made[0])]
            what = "self-attention" if name == "self_norm" else "feed-forward"
            rows.append([f"{index + 1}, {what}", *numbers([*cells, *sizes])])
    header = ["layer, sublayer", "mean in", "deviation in", "mean normed", "deviation normed"]
    return table([*header, "RMS after gain and bias", "RMS the sublayer adds", "RMS out"], rows)


def encoder(p: Pass) -> str:
    layers = len(p.model.encoder.layers)
    start = p.seen["encoder.layers.0"].given
    states = [p.seen[f"encoder.layers.{index}"].made for index in range(layers)]
    cosines = torch.stack([F.cosine_similarity(state, start, dim=-1) for state in states])  # [layers, S]
    header = ["token", *(f"after layer {index + 1}" for index in range(layers))]
    shown = table(header, [[piece, *numbers(row)] for piece, row in zip(p.pieces(p.source), cosines.T, strict=True)])

    other = p.translator.source_ids(ELSEWHERE)
    token = p.source[p.noun]
    if token not in other:
        return shown
    memory = p.model.encode(torch.tensor([other])).memory[0, other.index(token)]
    cosine = F.cosine_similarity(p.seen["encoder"].made[p.noun], memory, dim=-1)
    piece = p.pieces([token])[0]
    return (
        f'{shown}\n\nThe piece {piece} also occurs in "{ELSEWHERE}". Both times its embedding is the same; the two '
        f"memory vectors, each of which has read its own sentence, have a cosine of {number(cosine)}."
    )


def masked(p: Pass) -> str:
    shown = p.pieces(p.target[:-1])
    row = min(2, len(shown) - 2)
    query, key = (p.heads("decoder", part, 0) for part in ("query", "key"))
    scores = query @ key.T / math.sqrt(key.size(-1))
    hidden = scores + additive(causal_mask(*scores.shape), scores.dtype)
    weights = hidden.softmax(-1)
    off = (weights - p.maps["decoder"].weights[0, 0]).abs().max()
    pictures.masked_attention(p)
    lines = [
        ["score", *numbers(scores[row])],
        ["score + mask", *numbers(hidden[row])],
        ["weight", *numbers(weights[row])],
        ["weight, had there been no mask", *numbers(scores[row].softmax(-1))],
    ]
    return (
        f"{table([f'head 1, {shown[row]} looks at', *shown], lines)}\n\n"
        f"The weights computed here and those captured inside the model differ by {tiny(off)}."
    )


def leak(p: Pass) -> str:
    *earlier, last = p.target[:-1]
    other = p.target[1]
    source, shown, changed = (torch.tensor([ids]) for ids in (p.source, [*earlier, last], [*earlier, other]))
    without = copy.deepcopy(p.model)
    for layer in without.decoder.layers:
        assert isinstance(layer, Layer)
        layer.pattern = EVERYTHING
    rows = []
    for name, model in (("with the mask", p.model), ("mask left out", without)):
        change = (model(source, shown) - model(source, changed))[0].abs().amax(-1)  # [T]
        rows.append([name, difference(change[:-1].max()), difference(change[-1])])
    before, after = p.pieces([last, other])
    return table([f"{before} → {after} as the last token", "change of any earlier logit", "of the logits there"], rows)


def cross(p: Pass) -> str:
    pictures.inspected(p, "cross", "cross_attention")
    layer = max(0, len(p.maps["cross"].weights) - 2)
    weights = p.maps["cross"].weights[layer].mean(0)  # [T, S]
    tokenizer, source = p.translator.tokenizer, p.pieces(p.source)
    rows = []
    for piece, row in zip(p.pieces(p.target[1:]), weights, strict=True):
        best = row.topk(2)
        found = [f"{source[int(i)]} {number(w)}" for w, i in zip(best.values, best.indices, strict=True)]
        rows.append([piece, *found])
    words = pharaoh(align(weights, tokenizer.word_ids(p.source), tokenizer.word_ids(p.target[1:])))
    shown = table(["writes", "looks most at", "then at"], rows)
    return (
        f"{shown}\n\nMean of the heads of decoder layer {layer + 1}. Summed over the pieces of each word, it is "
        f"a word alignment (source-target, counted from 0): `{words}`"
    )


def linear(p: Pass) -> str:
    logits, wanted = p.logits, p.target[1:]
    rows = []
    for shown, want, row in zip(p.pieces(p.target[:-1]), wanted, logits, strict=True):
        top = int(row.argmax())
        place = int((row > row[want]).sum()) + 1
        cells = [number(row.mean()), number(row.std()), f"{p.pieces([top])[0]} {number(row[top])}"]
        rows.append([shown, *cells, f"{p.pieces([want])[0]} {number(row[want])}", str(place)])
    header = ["after", "mean of all logits", "deviation", "highest", "the reference's", "its place"]
    sizes = f"{shape(*p.decoded.shape)} times {shape(*p.model.output_projection.weight.T.shape)}"
    return f"{table(header, rows)}\n\nHidden states {sizes} give logits {shape(*logits.shape)}."


def softmax(p: Pass) -> str:
    probabilities = p.logits.softmax(-1)
    rows = []
    for shown, row in zip(p.pieces(p.target[:-1]), probabilities, strict=True):
        best = row.topk(5)
        found = zip(p.pieces(best.indices.tolist()), best.values, strict=True)
        rows.append([shown, *(f"{piece} {share(value)}" for piece, value in found), share(best.values.sum())])
    return table(["after", "first", "second", "third", "fourth", "fifth", "together"], rows)


def decoder(p: Pass) -> str:
    rows = []
    for index in range(len(p.model.decoder.layers)):
        blocks = [p.seen[f"decoder.layers.{index}.{name}_norm"] for name in ("self", "cross", "feed_forward")]
        added = [rms(block.made[-1] - block.given[-1]) for block in blocks]
        rows.append([str(index + 1), *numbers([rms(blocks[0].given[-1]), *added, rms(blocks[-1].made[-1])])])
    header = [
        "layer",
        "comes in",
        "masked self-attention adds",
        "cross-attention adds",
        "feed-forward adds",
        "goes out",
    ]
    kept = p.model.decode(torch.tensor([p.target[:-1]]), p.model.encode(torch.tensor([p.source]))).cache[0]
    assert kept.past is not None
    assert kept.memory is not None
    return (
        f"{table(header, rows)}\n\nThe cache of a layer after {kept.length} tokens: keys and values of the target, "
        f"{shape(*kept.past.key.shape)} each, and of the memory, {shape(*kept.memory.key.shape)} each (batch, "
        "heads, tokens, width of a head)."
    )


def model_parts(p: Pass) -> str:
    S, T = len(p.source), len(p.target) - 1
    config, vocabulary = p.translator.config, p.translator.tokenizer.size

    def size(module: torch.nn.Module) -> str:
        return f"{sum(each.numel() for each in module.parameters()):,}"

    D = config.width
    rows = [
        ["token ids", "", f"source {shape(S)}, target {shape(T)}"],
        ["embedding (shared)", size(p.model.source_embedding), f"{shape(S, D)}, {shape(T, D)}"],
        ["position encoding", size(p.model.source_positions), f"{shape(S, D)}, {shape(T, D)}"],
        [f"encoder, {config.encoder_side.layers} layers", size(p.model.encoder), f"memory {shape(S, D)}"],
        [f"decoder, {config.layers} layers", size(p.model.decoder), f"hidden {shape(T, D)}"],
        ["output projection", "the embedding's", f"logits {shape(T, vocabulary)}"],
        ["**all**", size(p.model), ""],
    ]
    longer = p.translator.source_ids("The boy has an apple in his pocket, and he does not want to eat it.")
    pad = p.translator.tokenizer.pad
    batch = torch.tensor([[*p.source, *[pad] * (len(longer) - S)], longer])
    both = p.model(batch, torch.tensor([p.target[:-1]] * 2))[0]
    return (
        f"{table(['part', 'parameters', 'what leaves it'], rows)}\n\nIn a batch with a longer sentence, padded with "
        f"{len(longer) - S} `<pad>`, the logits of our sentence change by {tiny((both - p.logits).abs().max())}."
    )


def teacher_forcing(p: Pass) -> str:
    pictures.warmup()
    smoothing, wanted = TrainConfig().label_smoothing, torch.tensor(p.target[1:])
    weight = p.model.output_projection.weight
    log_p = p.logits.log_softmax(-1)
    nll = -log_p.gather(1, wanted[:, None])[:, 0]
    smooth = (1 - smoothing) * nll - smoothing * log_p.mean(-1)
    pieces = zip(p.pieces(p.target[:-1]), p.pieces(p.target[1:]), nll, smooth, strict=True)
    rows = [[shown, want, share((-a).exp()), *numbers((a, b))] for shown, want, a, b in pieces]
    rows.append(["**mean**", "", "", *(f"**{number(each.mean())}**" for each in (nll, smooth))])
    header = ["shown", "wanted", "its probability", "loss, $\\varepsilon = 0$", f"loss, $\\varepsilon = {smoothing}$"]
    results = [f(p.decoded, weight, wanted, smoothing) for f in (projected_cross_entropy, plain_cross_entropy)]
    off = max(abs(float(result.loss) - float(smooth.sum())) for result in results)

    stepper = DecoderStepper(p.model)
    state, steps = stepper.start(torch.tensor([p.source])), []
    for token in p.target[:-1]:
        log_probabilities, state = stepper.step(torch.tensor([token]), state)
        steps.append(log_probabilities[0])
    summed = "exactly the sum of the last column" if off == 0 else f"the sum of the last column within {tiny(off)}"
    apart = (torch.stack(steps) - log_p).abs().max()
    return (
        f"{table(header, rows)}\n\nThe losses in the code, the fast and the plain one, give {summed}. "
        f"And step by step with the cache, as in translation, the log-probabilities of all "
        f"{log_p.size(1):,} tokens at all {len(log_p)} positions are those of the parallel pass within {tiny(apart)}."
    )


STEPS: dict[str, Callable[[Pass], str]] = {
    "model_facts": model_facts,
    "tokens": tokens,
    "byte_pieces": byte_pieces,
    "embeddings": embeddings,
    "positions": positions,
    "query_key_value": query_key_value,
    "attention": attention,
    "permutation": permutation,
    "heads": heads,
    "feed_forward": feed_forward,
    "add_and_norm": add_and_norm,
    "encoder": encoder,
    "masked": masked,
    "leak": leak,
    "cross": cross,
    "linear": linear,
    "softmax": softmax,
    "decoder": decoder,
    "model_parts": model_parts,
    "teacher_forcing": teacher_forcing,
    "greedy": search.greedy_steps,
    "beam": search.beam_steps,
}
