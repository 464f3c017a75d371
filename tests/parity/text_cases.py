"""Tokenizers in the styles of released models, and what the `tokenizers` library makes of nasty texts.

write_tokenizers(FOLDER) writes NAME.json and NAME.cases.json: {"texts": [{"text", "ids", "plain"}],
"decodings": [{"ids", "text", "skipped"}]}; texts are hexadecimal UTF-8. Fixed seeds.
"""
import inspect
import itertools
import json
import os
import random
import textwrap

from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

PATTERNS = {
    "llama3": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
              r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen2": r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
             r"|\s*[\r\n]+|\s+(?!\S)|\s+",
    "v3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
          r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "kimi": r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
            r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
            r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
            r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}
# Assigned in Unicode 13 at the latest, so that the tables of different libraries agree.
SCRIPTS = [(0x20, 0x7E), (0xA1, 0x17F), (0x370, 0x377), (0x391, 0x3A1), (0x410, 0x44F), (0x5D0, 0x5EA), (0x620, 0x64A),
           (0x64B, 0x652), (0x905, 0x939), (0x93E, 0x94D), (0xE01, 0xE3A), (0x10D0, 0x10FA), (0x1100, 0x1112),
           (0x1E00, 0x1EF9), (0x2010, 0x2027), (0x20A0, 0x20BF), (0x2150, 0x2188), (0x2190, 0x21FF), (0x24B6, 0x24E9),
           (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x4FFF), (0xAC00, 0xAD00), (0xF900, 0xF910), (0xFB00, 0xFB06),
           (0xFF01, 0xFF5E), (0x1D400, 0x1D430), (0x1F130, 0x1F149), (0x1F300, 0x1F5FF), (0x20000, 0x20100)]
ODD = ["\0", "\x01", "\x04", "\x1c", "\x7f", "\x85", "\xa0", "\xad", "\u0130", "\u017f", "\u0345", "\u1680", "\u180e",
       "\u2003", "\u200b", "\u200c", "\u200d", "\u2028", "\u2029", "\u202f", "\u2060", "\u3000", "\ufe0f", "\ufeff",
       "\ufffd", "\uffff", "\U0010ffff", "\U000e0001", "e\u0301\u0323", "\u1100\u1161\u11a8", "\u2581", "\u2581\u2581",
       "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1e9\U0001f1ea", "\U0001f44d\U0001f3fd", "\r\n", "\r", "\n\n",
       "\t", "    ", "'s", "'S", "'LL", "it's", "1234567", "3.14", "\u0661\u0662", "\u00bd", "\u2167", "<s>", "</s>",
       "<|end|>", "<tool>", "word", "<0x0A>", "<0xE4>", "<unk>", "\u00c7\u0327", "\ufb01", "\u00df", "\u01c5", "http://a.b/c?d=e"]
ADDED = [AddedToken("<s>", special=True), AddedToken("</s>", special=True), AddedToken("<|end|>", special=True),
         AddedToken("<|end|>!", special=True), AddedToken("<tool>", lstrip=True, rstrip=True, normalized=False),
         AddedToken("word", single_word=True, normalized=True), AddedToken("  pad", lstrip=True, normalized=True),
         AddedToken("\u00c9t\u00e9", normalized=True)]


def corpus():
    """English, code and words of every script."""
    rng = random.Random(7)
    text = [inspect.getsource(textwrap), inspect.getsource(random)[:40000], textwrap.__doc__ * 3]
    for low, high in SCRIPTS * 4:
        words = ["".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6))) for _ in range(6)]
        text.append(" ".join(rng.choice(words) for _ in range(60)))
    return [line for block in text for line in block.split("\n")]


def texts(seed, count):
    rng = random.Random(seed)

    def run():
        kind = rng.randrange(8)
        if kind < 3:
            low, high = rng.choice(SCRIPTS)
            return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 8)))
        if kind < 6:
            return rng.choice(ODD)
        if kind == 6:
            return rng.choice(" \t\n\u3000") * rng.randint(1, 6)
        return rng.choice(["the ", "The answer is ", "def f(x):\n    return x", "Hello, world!", "wordy word ", "don't"])

    out = ["", " ", "  ", "\n", "a", " a", "a ", " a b", "<s>", "<s> a", "a <tool> b", " word ", "swords word", "word",
           "\u00c9t\u00e9 E\u0301te\u0301", "    indented\n\n\n\tcode()  \n", "\u2581a", " \u2581 ", "a\0b", "\r\n\r\n"]
    out += ["".join(run() for _ in range(rng.randint(1, 12))) for _ in range(count)]
    return out + ["ab" * 300, "a" * 2000, " " * 700, "7" * 1000, "\U0001f642" * 100, "ha " * 400, "\u4f60\u597d" * 150,
                  "".join(chr(c) for c in range(32, 0x250))]


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern if isinstance(pattern, Regex) else Regex(pattern), behavior, invert)


def byte_level(*before, regex=False, prefix=False):
    last = pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)
    return pre_tokenizers.Sequence([*before, last]) if before else last


def trained(pre_tokenizer, normalizer=None, full_alphabet=True, size=900):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer
    if normalizer:
        tokenizer.normalizer = normalizer
    alphabet = pre_tokenizers.ByteLevel.alphabet() if full_alphabet else []
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet,
                                                                show_progress=False))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def sentence_piece(normalizer, pre_tokenizer, decoder, byte_fallback=True, unknown=True, fuse=True):
    """SentencePiece's BPE: characters of a few scripts, merges within words, runs of blanks; bytes for the rest."""
    base = Tokenizer(models.BPE())
    base.normalizer = normalizers.Replace(" ", "\u2581")
    base.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    lines = [line[:200] for line in corpus() if all(ord(c) < 0x450 for c in line)]
    base.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=700, show_progress=False))
    learned = json.loads(base.to_str())["model"]
    vocab = {"<unk>": 0}
    for byte in range(256 if byte_fallback else 0):
        vocab[f"<0x{byte:02X}>"] = len(vocab)
    for token in sorted(learned["vocab"], key=learned["vocab"].get):
        vocab.setdefault(token, len(vocab))
    merges = [tuple(m) for m in learned["merges"]]
    for n in (2, 4):  # runs of blanks
        half = "\u2581" * (n // 2)
        vocab.setdefault(half + half, len(vocab))
        if (half, half) not in merges:
            merges.append((half, half))
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, unk_token="<unk>" if unknown else None, fuse_unk=fuse,
                                     byte_fallback=byte_fallback))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    return tokenizer


def llama2_decoder():
    return decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(),
                              decoders.Strip(" ", 1, 0)])


def styles():
    yield "gpt2", trained(byte_level(regex=True))
    yield "prefix_space", trained(byte_level(regex=True, prefix=True))
    for name in ("llama3", "kimi"):
        yield name, trained(byte_level(split(PATTERNS[name])))
    yield "qwen2", trained(byte_level(split(PATTERNS["qwen2"])), normalizers.NFC())
    yield "v3", trained(byte_level(split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
                                   split(PATTERNS["v3"])))
    yield "v2", trained(byte_level(split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"),
                                   split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), pre_tokenizers.Digits(True)))
    yield "smollm2", trained(byte_level(pre_tokenizers.Digits(True), regex=True), full_alphabet=False)
    for behavior, invert in itertools.product(
            ("removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"), (False, True)):
        yield f"split_{behavior}_{invert}", trained(byte_level(split(r"[aeiou ]", behavior, invert)), size=400)
    yield "digits_punctuation", trained(byte_level(pre_tokenizers.Digits(False),
                                                   pre_tokenizers.Punctuation("contiguous")), size=400)
    yield "whitespace", trained(byte_level(pre_tokenizers.Whitespace()), size=400)
    yield "whitespace_split", trained(byte_level(pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()), size=400)
    yield "bert_words", trained(byte_level(pre_tokenizers.BertPreTokenizer()), size=400)
    yield "delimiter", trained(byte_level(pre_tokenizers.CharDelimiterSplit("e")), size=400)
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        yield form, trained(byte_level(regex=True), getattr(normalizers, form)(), size=400)
    yield "normalizers", trained(byte_level(regex=True), normalizers.Sequence([
        normalizers.Strip(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s{2,}"), " "),
        normalizers.Replace("the", "THE"), normalizers.NFD(), normalizers.StripAccents(), normalizers.Prepend("> ")]), size=400)
    yield "llama2", sentence_piece(normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]),
                                   None, llama2_decoder())
    for scheme, cut in itertools.product(("always", "first", "never"), (True, False)):
        metaspace = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=cut)
        yield f"metaspace_{scheme}_{cut}", sentence_piece(None, metaspace, decoders.Metaspace(prepend_scheme=scheme))
    yield "metaspace_fallback", sentence_piece(None, pre_tokenizers.Metaspace(), decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(), decoders.Strip("e", 1, 0)]))
    for name, options in {"unknown": {}, "unknown_apart": {"fuse": False}, "dropped": {"unknown": False}}.items():
        yield name, sentence_piece(normalizers.Replace(" ", "\u2581"), None, decoders.Sequence(
            [decoders.Fuse(), decoders.Replace("\u2581\u2581", "  "), decoders.Replace("\u2581", " "), decoders.Strip(" ", 2, 0)]),
            byte_fallback=False, **options)


def finished(name, tokenizer):
    """The tokenizer.json's text with added tokens, a post-processor and the fields that the library has no setter for."""
    tokenizer.add_special_tokens([t for t in ADDED if t.special])
    tokenizer.add_tokens([t for t in ADDED if not t.special])
    begin, end = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("</s>")
    if name in ("llama3", "llama2", "qwen2"):
        tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
            single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", begin)])])
    elif name == "gpt2":
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", end), ("<s>", begin))
    elif name == "smollm2":
        tokenizer.post_processor = processors.BertProcessing(("</s>", end), ("<s>", begin))
    value = json.loads(tokenizer.to_str())
    if name in ("llama3", "kimi"):
        value["model"]["ignore_merges"] = True
    if name in ("v3", "llama2"):  # as older files write them
        value["model"]["merges"] = [" ".join(m) for m in value["model"]["merges"]]
    return json.dumps(value, ensure_ascii=name == "v2")


def cases(tokenizer, seed, count):
    rng = random.Random(seed)
    out = {"texts": [], "decodings": []}
    for text in texts(seed, count):
        out["texts"].append({"text": text.encode().hex(), "ids": tokenizer.encode(text).ids,
                             "plain": tokenizer.encode(text, add_special_tokens=False).ids})
    size = tokenizer.get_vocab_size()
    sequences = [case["plain"] for case in out["texts"]]
    for _ in range(count):
        sequences.append([rng.randrange(min(size, 300) if rng.random() < 0.5 else size) for _ in range(rng.randint(1, 12))])
    for ids in sequences:
        out["decodings"].append({"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False).encode().hex(),
                                 "skipped": tokenizer.decode(ids, skip_special_tokens=True).encode().hex()})
    return out


def write_tokenizers(folder, count=150):
    for seed, (name, tokenizer) in enumerate(styles()):
        text = finished(name, tokenizer)
        with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as f:
            f.write(text)
        with open(os.path.join(folder, name + ".cases.json"), "w", encoding="utf-8") as f:
            json.dump(cases(Tokenizer.from_str(text), seed, count), f)


if __name__ == "__main__":
    import sys
    write_tokenizers(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 150)
