"""Checkpoints measured against `transformers`, and the memory of a large folder: `make bench`."""

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from model.checkpoints.collection import Checkpoints
from model.hooks import Recorder, recording
from model.memory import keep_freed_memory
from model.points import catalogue
from model.runnable import Runnable
from tests.bench import LENGTHS, in_turns, milliseconds, ratio
from tests.checkpoint_folders import GPT2_VOCABULARY, byte_level_tokenizer

# all-MiniLM-L6-v2.
MINILM = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "max_position_embeddings": 512,
}
# 1 GiB in float32: GPT-2 with a few wide blocks.
LARGE = {"vocab_size": 4096, "n_embd": 2048, "n_layer": 5, "n_head": 16, "n_positions": 512}


def saved(folder: Path, kind: str, **sizes: int) -> nn.Module:
    """A random model of `transformers`, saved by it."""
    import transformers

    model_class = getattr(transformers, kind)
    config = model_class.config_class(**sizes)
    config._attn_implementation = "eager"
    model: nn.Module = model_class(config).eval().requires_grad_(False)
    model.save_pretrained(folder)
    byte_level_tokenizer(GPT2_VOCABULARY).save(str(folder / "tokenizer.json"))
    return model


def loaded(parent: Path, name: str) -> Runnable:
    runnable = Checkpoints(parent).load(name, None, None)
    assert runnable is not None
    return runnable


def peer_cost(runnable: Runnable, peer: nn.Module, n: int) -> str:
    """One row: both without outputs, with states and patterns, and ours with every point."""
    ids = torch.randint(1, 30522, (n,), generator=torch.Generator().manual_seed(n))
    names = catalogue(runnable.config, n)
    everything = frozenset(name for name in names if not name.endswith("attn.result"))
    # What the peer returns: the state before each block and after the last, and the patterns.
    last_state = runnable.config.last_state
    same = frozenset(n for n in names if n.endswith((".resid_pre", ".pattern")) or n == last_state)

    def recorded(keep: frozenset[str]) -> Recorder:
        with recording(Recorder(keep)) as recorder:
            runnable.hooked(ids)
        return recorder

    def with_outputs() -> Tensor:
        out = peer(ids[None], output_hidden_states=True, output_attentions=True)
        last: Tensor = out.hidden_states[-1]
        assert len(out.attentions) == runnable.config.n_layers
        return last

    last = recorded(everything).values[last_state]
    assert torch.allclose(last, with_outputs()[0], atol=1e-4)
    seconds = in_turns(
        lambda: peer(ids[None]),
        with_outputs,
        lambda: runnable.plain(ids),
        lambda: recorded(same),
        lambda: recorded(everything),
    )
    times = "  ".join(f"{milliseconds(seconds, who):12.2f}" for who in range(5))
    return f"{n:6}  {times}  {ratio(seconds, 3, 1):12.3f}  {ratio(seconds, 4, 1):12.3f}"


def speed(parent: Path) -> None:
    peer = saved(parent / "minilm", "BertModel", **MINILM)
    runnable = loaded(parent, "minilm")
    print("\nMiniLM's shape as a BERT folder against transformers eager, ms")
    print("theirs / ours with the same states and patterns / ours with all points; budget: <= 1")
    heads = ("their plain", "with outputs", "our plain", "the same", "all points", "same / theirs")
    print(f"{'tokens':>6}  " + "  ".join(f"{head:>12}" for head in (*heads, "all / theirs")))
    with torch.no_grad():
        for threads in (1, 2):
            torch.set_num_threads(threads)
            print(f"{threads} thread{'s' if threads > 1 else ''}")
            for n in LENGTHS:
                print(peer_cost(runnable, peer, n), flush=True)


def resident(which: str) -> int:
    """Bytes of this process in memory, mapped files included: now (`VmRSS`) or at most (`VmHWM`).

    Not `ru_maxrss`, which a process inherits from the one that started it.
    """
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(status.split(f"{which}:")[1].split()[0])


def memory_of_a_load(parent: str) -> None:
    """Run in a process of its own: peak of memory while a folder is loaded and run once."""
    torch.set_num_threads(1)
    checkpoints = Checkpoints(Path(parent))

    def load_and_run(name: str) -> Runnable:
        runnable = checkpoints.load(name, None, None)
        assert runnable is not None
        with torch.no_grad():
            runnable.hooked(torch.arange(16))
        return runnable

    # What the libraries take at their first use is not the folder's.
    load_and_run("small")
    gc.collect()
    before = resident("VmRSS")
    runnable = load_and_run("large")
    assert next(iter(runnable.plain.parameters())).dtype == torch.float32
    peak = resident("VmHWM")
    size = sum(file.stat().st_size for file in (Path(parent) / "large").glob("*.safetensors"))
    print(
        f"folder {size / 2**20:8.0f} MiB   peak above the start {(peak - before) / 2**20:8.0f} MiB"
        f"   ratio {(peak - before) / size:5.2f}   budget: <= 1.1"
    )


def memory(parent: Path) -> None:
    print("\nMemory of a large folder, loaded and run once")
    saved(parent / "large", "GPT2LMHeadModel", **LARGE)
    saved(parent / "small", "GPT2LMHeadModel", **{**LARGE, "n_embd": 64, "n_layer": 1})
    gc.collect()
    code = f"from tests.bench_peers import memory_of_a_load; memory_of_a_load({str(parent)!r})"
    subprocess.run([sys.executable, "-c", code], check=True)


def main() -> None:
    """Measure and print."""
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as parent:
        speed(Path(parent))
        if sys.platform == "linux":
            memory(Path(parent))


if __name__ == "__main__":
    main()
