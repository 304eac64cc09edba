"""`whyidle tokenize` gives the tokens of Hugging Face's `tokenizers`, in files that are read as they were meant.

They need the program with its feature `feed` (``WHYIDLE_TEST_PROGRAM``, else ``whyidle`` on the path) and the packages
``tokenizers``, ``pyarrow`` and ``zstandard``; without one of them they say that they are skipped.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from whyidle import TokenDataset
from whyidle.feed.token_files import TokenFile

tokenizers = pytest.importorskip("tokenizers")
pa = pytest.importorskip("pyarrow")
zstandard = pytest.importorskip("zstandard")

PROGRAM = os.environ.get("WHYIDLE_TEST_PROGRAM") or shutil.which("whyidle") or ""
EOS = "<|endoftext|>"


def has_tokenize() -> bool:
    return bool(PROGRAM) and "tokenize" in subprocess.run([PROGRAM, "-h"], capture_output=True, text=True).stdout


pytestmark = pytest.mark.skipif(not has_tokenize(), reason="no whyidle with its feature `feed`")


def documents(count: int = 400, seed: int = 0) -> list[str]:
    """Texts with what tokenizers stumble over: spaces, line ends, accents, Chinese, emoji, digits, special tokens."""
    rng = random.Random(seed)
    words = (
        "the of and GPU waits for data naïve café Straße 数据 加载 慢 👩‍🔬 🙂 don't I'll 3.14159 1,000,000 x86_64 \t \n\n "
        "\r\n \u00a0 \u2028 \u0301 ﬁ Ω≈ç "
        "foo_bar camelCase HTTPServer ... --- <|endoftext|> [CLS] \u200b \ufeff مرحبا नमस्ते 가나다"
    ).split(" ")
    texts = ["".join(rng.choice(words) + rng.choice(["", " ", "  "]) for _ in range(rng.randrange(60))) for _ in range(count)]
    return [*texts, "a", " ", "\n", "x" * 5000, "é" * 999]


def trained(kind: str):
    """A small tokenizer of a kind that models use."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    corpus = documents(300, seed=9)
    if kind == "byte-level":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=600, special_tokens=[EOS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
    elif kind == "split":
        # The expression of GPT-4 and Llama 3, which needs look-ahead.
        pattern = (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        trainer = trainers.BpeTrainer(
            vocab_size=700, special_tokens=[EOS], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
        )
    elif kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=500, special_tokens=["[UNK]", "[CLS]", "[SEP]", EOS], show_progress=False
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=400, special_tokens=["<unk>", EOS], unk_token="<unk>", show_progress=False
        )
    tokenizer.train_from_iterator(corpus, trainer)
    if kind == "wordpiece":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
        )
    # As a model's own file may have it: it must not shorten what is written.
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


KINDS = ["byte-level", "split", "wordpiece", "unigram"]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The file of each tokenizer, and the tokenizer without what it does to batches."""
    folder = tmp_path_factory.mktemp("tokenizers")
    made = {}
    for kind in KINDS:
        tokenizer = trained(kind)
        path = folder / f"{kind}.json"
        tokenizer.save(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        made[kind] = (path, tokenizer)
    return made


def tokenize(*arguments, code: int = 0, **more) -> subprocess.CompletedProcess[str]:
    command = [PROGRAM, "tokenize", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, **more)
    assert done.returncode == code, done.stderr
    return done


def lines_of(path: Path, texts: list[str], **more) -> Path:
    path.write_text("".join(json.dumps({"id": at, "text": text, **more}) + "\n" for at, text in enumerate(texts)))
    return path


def wanted(tokenizer, texts: list[str], special: bool = False, eos: int | None = None) -> list[list[int]]:
    rows = [tokenizer.encode(text, add_special_tokens=special).ids for text in texts if text]
    return [row if eos is None or row[-1] == eos else [*row, eos] for row in rows if row]


def flat(rows: list[list[int]]) -> list[int]:
    return [token for row in rows for token in row]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("special", [False, True])
def test_tokens_are_those_of_hugging_face(tmp_path, models, kind, special):
    path, tokenizer = models[kind]
    texts = documents()
    source = lines_of(tmp_path / "in.jsonl", texts)
    more = ["--special"] if special else []
    tokenize(source, "--tokenizer", path, "-o", tmp_path / "out", "--eos", EOS, *more)
    rows = wanted(tokenizer, texts, special, tokenizer.token_to_id(EOS))
    file = TokenFile(tmp_path / "out" / "tokens.bin")
    assert file.tokens.tolist() == flat(rows)
    about = json.loads((tmp_path / "out" / "tokens.json").read_text())
    assert (about["documents"], about["tokens"]) == (len(rows), len(file))
    assert about["files"][0]["sha256"] == hashlib.sha256((tmp_path / "out" / "tokens.bin").read_bytes()).hexdigest()
    assert about["eos"] == tokenizer.token_to_id(EOS) and about["vocabulary"] == tokenizer.get_vocab_size()
    assert sorted(os.listdir(tmp_path / "out")) == ["tokens.bin", "tokens.json"]


def forms(folder: Path, texts: list[str]) -> dict[str, Path]:
    """The same documents in each form."""
    import pyarrow.feather
    import pyarrow.parquet

    plain = lines_of(folder / "plain.jsonl", texts)
    made = {"jsonl": plain}
    made["gz"] = folder / "in.jsonl.gz"
    half = plain.read_bytes()[: plain.stat().st_size // 2]
    # Two members, as `cat a.gz b.gz` makes.
    made["gz"].write_bytes(gzip.compress(half) + gzip.compress(plain.read_bytes()[len(half) :]))
    made["zst"] = folder / "in.jsonl.zst"
    pack = zstandard.ZstdCompressor(level=3).compress
    made["zst"].write_bytes(pack(half) + pack(plain.read_bytes()[len(half) :]))
    table = pa.table({"id": list(range(len(texts))), "text": texts})
    for compression in ("none", "snappy", "gzip", "zstd", "lz4"):
        made[f"parquet-{compression}"] = folder / f"{compression}.parquet"
        pa.parquet.write_table(
            table, made[f"parquet-{compression}"], compression=compression, row_group_size=150, data_page_version="2.0"
        )
    made["parquet-large"] = folder / "large.parquet"
    large = table.set_column(1, "text", table["text"].cast(pa.large_string()))
    pa.parquet.write_table(large, made["parquet-large"], use_dictionary=False)
    made["feather"] = folder / "in.feather"
    pa.feather.write_feather(table, made["feather"], compression="lz4", chunksize=150)
    made["arrow-stream"] = folder / "in.arrow"
    with pa.ipc.new_stream(made["arrow-stream"], large.schema) as writer:
        writer.write_table(large, max_chunksize=99)
    return made


def test_every_form_of_input_gives_the_same(tmp_path, models):
    path, tokenizer = models["byte-level"]
    texts = [text for text in documents() if text]
    rows = wanted(tokenizer, texts)
    for name, source in forms(tmp_path, texts).items():
        tokenize(source, "--tokenizer", path, "-o", tmp_path / name)
        assert TokenFile(tmp_path / name / "tokens.bin").tokens.tolist() == flat(rows), name
        about = json.loads((tmp_path / name / "tokens.json").read_text())
        assert about["documents"] == len(rows) and about["inputs"][0]["notes"] == {}, name


def test_text_fields_and_folders(tmp_path, models):
    path, tokenizer = models["byte-level"]
    text = "First line.\r\nSecond line, é.\n\nLast"
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "b.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (folder / "a.jsonl").write_text('{"content": {"body": "nested"}, "text": 1}\n')
    (folder / ".hidden").write_text("no")
    rows = wanted(tokenizer, ["First line.", "Second line, é.", "Last"])
    tokenize(folder / "b.txt", "--tokenizer", path, "-o", tmp_path / "lines")
    assert TokenFile(tmp_path / "lines" / "tokens.bin").tokens.tolist() == flat(rows)
    tokenize(folder / "b.txt", "--tokenizer", path, "-o", tmp_path / "whole", "--whole")
    assert TokenFile(tmp_path / "whole" / "tokens.bin").tokens.tolist() == tokenizer.encode(text).ids
    tokenize(folder, "--tokenizer", path, "-o", tmp_path / "folder", "--field", "content.body")
    rows = [tokenizer.encode("nested").ids, *rows]
    assert TokenFile(tmp_path / "folder" / "tokens.bin").tokens.tolist() == flat(rows)


class Megatron:
    """Megatron's own way to read, after megatron/core/datasets/indexed_dataset.py (`_IndexReader`, `_MMapBinReader`)."""

    DTYPES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16}

    def __init__(self, prefix: str) -> None:
        with open(prefix + ".idx", "rb") as stream:
            assert stream.read(9) == b"MMIDIDX\x00\x00"
            assert struct.unpack("<Q", stream.read(8))[0] == 1
            self.dtype = self.DTYPES[struct.unpack("<B", stream.read(1))[0]]
            sequences = struct.unpack("<Q", stream.read(8))[0]
            documents = struct.unpack("<Q", stream.read(8))[0]
            offset = stream.tell()
        buffer = memoryview(np.memmap(prefix + ".idx", mode="r", order="C"))
        self.lengths = np.frombuffer(buffer, dtype=np.int32, count=sequences, offset=offset)
        self.pointers = np.frombuffer(buffer, dtype=np.int64, count=sequences, offset=offset + self.lengths.nbytes)
        self.documents = np.frombuffer(
            buffer, dtype=np.int64, count=documents, offset=offset + self.lengths.nbytes + self.pointers.nbytes
        )
        assert self.lengths.shape[0] == sequences == self.documents[-1]
        self.data = memoryview(np.memmap(prefix + ".bin", mode="r", order="C"))

    def __getitem__(self, sequence: int) -> np.ndarray:
        length, pointer = self.lengths[sequence], self.pointers[sequence]
        return np.frombuffer(self.data, dtype=self.dtype, count=length, offset=pointer)


@pytest.mark.parametrize("shard", [None, 3000])
def test_megatron_reads_its_own_documents(tmp_path, models, shard):
    path, tokenizer = models["byte-level"]
    texts = documents()
    more = ["--shard-size", shard] if shard else []
    source = lines_of(tmp_path / "in.jsonl", texts)
    tokenize(source, "--tokenizer", path, "-o", tmp_path / "out", "--format", "megatron", "--eos", EOS, *more)
    rows = wanted(tokenizer, texts, eos=tokenizer.token_to_id(EOS))
    about = json.loads((tmp_path / "out" / "tokens.json").read_text())
    assert len(about["files"]) == 1 if shard is None else len(about["files"]) > 3
    read = []
    for facts in about["files"]:
        file = tmp_path / "out" / facts["name"]
        theirs = Megatron(str(file.with_suffix("")))
        read += [theirs[at].tolist() for at in range(len(theirs.lengths))]
        ours = TokenFile(file)
        assert ours.starts.tolist() == [0, *np.cumsum(theirs.lengths).tolist()]
        assert len(ours) == facts["tokens"] and (not shard or len(ours) <= max(shard, theirs.lengths.max()))
        assert len(TokenDataset(file, 64, documents="separate")) > 0
    assert read == rows


def test_large_vocabularies_take_four_bytes(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({f"w{at}": at for at in range(70_000)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "t.json"))
    (tmp_path / "in.txt").write_text("w69999 w1 w65536\n")
    for form, dtype in [("nanogpt", "uint32"), ("megatron", "int32")]:
        done = tokenize(tmp_path / "in.txt", "--tokenizer", tmp_path / "t.json", "-o", tmp_path / form, "--format", form)
        assert dtype in done.stdout
        file = TokenFile(tmp_path / form)
        assert file.tokens.tolist() == [69999, 1, 65536] and file.dtype == np.dtype(dtype)


def test_bad_lines_are_counted_and_strict_stops(tmp_path, models):
    path, tokenizer = models["byte-level"]
    source = tmp_path / "in.jsonl"
    good = [json.dumps({"text": f"good {at}"}) for at in range(5)]
    bad = ['{"text": "cut', "nonsense", '{"text": 3}', "{}", '{"text": ""}', '{"text": "\\ud800"}', "[1]", ""]
    rows = [good[0], *bad[:4], good[1], good[2], *bad[4:], good[3]]
    source.write_bytes("\n".join(rows).encode() + b"\n\xff\xfe\n" + good[4].encode())
    done = tokenize(source, "--tokenizer", path, "-o", tmp_path / "out")
    assert TokenFile(tmp_path / "out" / "tokens.bin").tokens.tolist() == flat(
        wanted(tokenizer, [f"good {at}" for at in range(5)])
    )
    notes = json.loads((tmp_path / "out" / "tokens.json").read_text())["inputs"][0]["notes"]
    assert notes == {"malformed-line": 4, "no-text": 3, "empty-document": 1}
    assert "4 lines" in done.stderr and "3 records" in done.stderr
    done = tokenize(source, "--tokenizer", path, "-o", tmp_path / "strict", "--strict", code=1)
    assert "--strict" in done.stderr
    # Less strict, it goes on where it stood.
    tokenize(source, "--tokenizer", path, "-o", tmp_path / "strict")
    assert (tmp_path / "strict" / "tokens.bin").read_bytes() == (tmp_path / "out" / "tokens.bin").read_bytes()


def test_what_is_wrong_is_said(tmp_path, models):
    path, _ = models["byte-level"]
    source = lines_of(tmp_path / "in.jsonl", ["a"])
    out = tmp_path / "out"
    common = ["--tokenizer", path, "-o", out]

    def says(words, *arguments, code=2):
        assert words in tokenize(*arguments, code=code).stderr

    says("no such file", tmp_path / "none", *common)
    says("cannot be used as a tokenizer", source, "--tokenizer", source, "-o", out)
    says(EOS, source, *common, "--eos", "<eos>")
    says("--field", source, *common, "--field", "body", code=1)
    (tmp_path / "list.json").write_text(json.dumps([{"text": "a"}]))
    says("one object per line", tmp_path / "list.json", *common)
    (tmp_path / "x.bin").write_bytes(bytes(99))
    says("binary", tmp_path / "x.bin", *common)
    (tmp_path / "empty").write_bytes(b"")
    says("empty", tmp_path / "empty", *common)
    import pyarrow.parquet

    pa.parquet.write_table(pa.table({"body": ["a"], "n": [1]}), tmp_path / "x.parquet")
    says("its columns: body", tmp_path / "x.parquet", *common)
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "x.parquet").read_bytes()[:-9])
    says("cannot be read", tmp_path / "cut.parquet", *common)
    tokenize(source, *common)
    assert "whole already" in tokenize(source, *common).stdout
    says("not overwritten", source, *common, "--eos", EOS)
    before = (out / "tokens.bin").read_bytes()
    tokenize(source, *common, "--eos", EOS, "--force")
    assert (out / "tokens.bin").read_bytes() != before
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "tokens.bin").write_bytes(b"mine")
    says("not overwritten", source, "--tokenizer", path, "-o", mine)
    assert (mine / "tokens.bin").read_bytes() == b"mine"
    done = tokenize(source, "--tokenizer", path, "-o", mine, "--lang", "zh", code=2)
    assert "已经存在" in done.stderr


def test_the_number_of_threads_changes_nothing(tmp_path, models):
    path, _ = models["byte-level"]
    sources = [lines_of(tmp_path / f"{at}.jsonl", documents(1500, seed=at)) for at in range(3)]
    made = set()
    for threads in (1, 2, 3, 8):
        out = tmp_path / str(threads)
        tokenize(*sources, "--tokenizer", path, "-o", out, "--threads", threads, "--format", "megatron", "--shard-size", "20k")
        made.add(contents(out))
    assert len(made) == 1


def contents(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """All files of a folder that is whole."""
    return tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir()))


@pytest.mark.skipif(os.name == "nt", reason="kills")
@pytest.mark.parametrize("form", ["nanogpt", "megatron"])
def test_a_kill_at_any_moment_loses_and_repeats_nothing(tmp_path, models, form):
    path, _ = models["byte-level"]
    texts = [text for text in documents(6000) if text]
    made = forms(tmp_path, texts)
    sources = [made[name] for name in ("jsonl", "gz", "zst", "parquet-zstd", "feather", "arrow-stream")]
    common = [*sources, "--tokenizer", path, "--format", form, "--shard-size", "100k", "--threads", 1]
    start = time.perf_counter()
    tokenize(*common, "-o", tmp_path / "whole")
    took = time.perf_counter() - start
    whole = contents(tmp_path / "whole")
    rng = random.Random(1)
    kills = resumed = 0
    while kills < int(os.environ.get("WHYIDLE_TEST_KILLS", "12")):
        out = tmp_path / "killed"
        shutil.rmtree(out, ignore_errors=True)
        for _ in range(200):
            command = [PROGRAM, "tokenize", *map(str, common), "-o", str(out), "--save-every", "0"]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                _, said = process.communicate(timeout=rng.uniform(0, took * 1.2))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                continue
            assert process.returncode == 0, said
            resumed += "went on" in said
            break
        assert contents(out) == whole
    assert resumed > 0, "no kill fell into the writing"


def test_what_a_kill_left_beside_whole_files_is_removed(tmp_path, models):
    path, _ = models["byte-level"]
    source, out = lines_of(tmp_path / "in.jsonl", documents(50)), tmp_path / "out"
    common = [source, "--tokenizer", path, "--format", "megatron", "-o", out]
    tokenize(*common)
    whole = contents(out)
    # The moment after the summary is written, and before the rest is removed.
    (out / ".tokens.bin.lengths").write_bytes(b"\0" * 40)
    (out / ".tokenize.json").write_text("{}")
    tokenize(*common)
    assert contents(out) == whole


@pytest.mark.parametrize("cut", ["gz", "zst", "parquet-snappy", "feather", "arrow-stream"])
def test_a_file_that_is_cut_short_keeps_what_came_before(tmp_path, models, cut):
    path, tokenizer = models["byte-level"]
    texts = [text for text in documents(3000) if text]
    source = forms(tmp_path, texts)[cut]
    source.write_bytes(source.read_bytes()[: source.stat().st_size * 2 // 3])
    done = tokenize(source, "--tokenizer", path, "-o", tmp_path / "out", code=2 if cut.startswith("parquet") else 0)
    if cut.startswith("parquet"):  # Its description stands at the end.
        assert "cannot be read" in done.stderr
        return
    tokens = TokenFile(tmp_path / "out" / "tokens.bin").tokens.tolist()
    rows = wanted(tokenizer, texts)
    count = json.loads((tmp_path / "out" / "tokens.json").read_text())["documents"]
    assert 0 < count < len(rows) and tokens == flat(rows[:count])
    assert "damaged" in done.stderr
