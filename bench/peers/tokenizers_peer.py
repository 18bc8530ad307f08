"""tokenizers_peer.py FILE TEXT ROUNDS: Hugging Face's tokenizers on a text's bytes, in one thread.

FILE is a tokenizer.json, or a vocabulary in GGUF whose pre-tokenizer is llama-bpe, of which one is made. Prints the
best MB/s of processor time and the number of ids.
"""
import os, sys, time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Regex, Tokenizer, models, pre_tokenizers as P

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")


def of_gguf(path):
    import gguf
    fields = gguf.GGUFReader(path).fields

    def texts(key):
        f = fields["tokenizer.ggml." + key]
        return [bytes(f.parts[i]).decode() for i in f.data]
    merges = [tuple(m.split(" ")) for m in texts("merges")]
    t = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(texts("tokens"))}, merges=merges, ignore_merges=True))
    t.pre_tokenizer = P.Sequence([P.Split(Regex(LLAMA3), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    return t


path, text, rounds = sys.argv[1], open(sys.argv[2]).read(), int(sys.argv[3])
t = of_gguf(path) if path.endswith(".gguf") else Tokenizer.from_file(path)
best = 1e9
for _ in range(rounds):
    began = time.process_time()
    ids = t.encode(text, add_special_tokens=False).ids
    best = min(best, time.process_time() - began)
print(len(text.encode()) / best / 1e6, len(ids))
