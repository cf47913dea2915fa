"""The keys of a ``config.json``, each read with its type or refused; must not know a family.

A key that nobody read and that is not known to be harmless is reported: it may change the
arithmetic without our knowing.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

from model.config import Activation
from model.errors import ModelError

MAX_BYTES = 4_000_000  # of one JSON file; label lists can be long
LARGEST = 2**31 - 1

# By the names of `transformers`. gelu_fast and gelu_pytorch_tanh write out gelu_new otherwise.
ACTIVATIONS: dict[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_new",
    "gelu_fast": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
}

# Of no consequence for a run of the trained model: training, heads, generation, book-keeping.
# fmt: off
HARMLESS = frozenset((
    "architectures", "model_type", "n_ctx", "_name_or_path", "name_or_path",
    "transformers_version", "torch_dtype", "dtype", "use_cache", "initializer_range",
    "initializer_factor", "id2label", "label2id", "num_labels", "problem_type", "finetuning_task",
    "task_specific_params", "bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id",
    "cls_token_id", "mask_token_id", "unk_token_id", "decoder_start_token_id", "output_attentions",
    "output_hidden_states", "output_past", "return_dict", "use_return_dict", "torchscript",
    "use_bfloat16", "tf_legacy_loss", "chunk_size_feed_forward", "gradient_checkpointing",
    "tokenizer_class", "prefix", "max_length", "min_length", "do_sample", "early_stopping",
    "num_beams", "num_beam_groups", "diversity_penalty", "temperature", "top_k", "top_p",
    "typical_p", "repetition_penalty", "length_penalty", "no_repeat_ngram_size",
    "encoder_no_repeat_ngram_size", "bad_words_ids", "num_return_sequences", "output_scores",
    "return_dict_in_generate", "forced_bos_token_id", "forced_eos_token_id",
    "remove_invalid_values", "exponential_decay_length_penalty", "suppress_tokens",
    "begin_suppress_tokens", "cross_attention_hidden_size", "tie_encoder_decoder",
    "classifier_dropout", "attn_implementation", "_attn_implementation",
    "_attn_implementation_autoset", "_num_labels", "directionality", "language", "pooler_fc_size",
    "pooler_num_attention_heads", "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type",
    "type", "hidden_dropout", "hidden_dropout_prob", "attention_dropout", "dropout",
    "attention_probs_dropout_prob", "attn_pdrop", "embd_pdrop", "resid_pdrop", "qa_dropout",
    "seq_classif_dropout", "summary_type", "summary_use_proj", "summary_activation",
    "summary_proj_to_labels", "summary_first_dropout", "predict_special_tokens",
))
# fmt: on


def read_json(path: Path) -> dict[str, object]:
    """One JSON object from a file of a folder.

    Raises:
        ModelError: ``json_unreadable`` with the file's name.
    """
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_BYTES else b""
        value = json.loads(data)
        # Half a surrogate pair can be escaped in JSON, and is no text.
        json.dumps(value, ensure_ascii=False).encode()
    except (OSError, ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ModelError("json_unreadable", field="model", file=path.name)
    return value


class Fields:
    """The values of one ``config.json``; remembers which of them were read.

    Every reader takes the names that a value may stand under, the first one first. A null counts
    as absent. What cannot be used raises ``config_value`` or ``config_not_supported``.
    """

    def __init__(self, values: Mapping[str, object]) -> None:
        self._values = values
        self._read: set[str] = set()

    def whole(self, *names: str, default: int, smallest: int = 1) -> int:
        """A whole number."""
        name, value = self._get(names, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _unusable(name, value)
        if not smallest <= value <= LARGEST:
            raise _unusable(name, value)
        return value

    def number(self, *names: str, default: float) -> float:
        """A finite number, not below 0."""
        name, value = self._get(names, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _unusable(name, value)
        try:
            number = float(value)
        except OverflowError:
            raise _unusable(name, value) from None
        if not math.isfinite(number) or number < 0:
            raise _unusable(name, value)
        return number

    def flag(self, *names: str, default: bool) -> bool:
        """True or false."""
        name, value = self._get(names, default)
        if not isinstance(value, bool):
            raise _unusable(name, value)
        return value

    def activation(self, *names: str, default: str) -> Activation:
        """The FFN's function, by our name."""
        name, value = self._get(names, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise ModelError(
                "config_not_supported",
                field="model",
                key=name,
                value=_short(value),
                supported=list(ACTIVATIONS),
            )
        return ACTIVATIONS[value]

    def must_be(self, name: str, *supported: object) -> None:
        """Refuse any value but these; the first one is what an absent key stands for."""
        _, value = self._get((name,), supported[0])
        if not any(type(value) is type(one) and value == one for one in supported):
            raise ModelError(
                "config_not_supported",
                field="model",
                key=name,
                value=_short(value),
                supported=[_short(one) for one in supported],
            )

    def group(self, name: str) -> "Fields | None":
        """The keys of an object inside, or null where it is absent."""
        _, value = self._get((name,), None)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _unusable(name, value)
        return Fields({f"{name}.{key}": inner for key, inner in value.items()})

    def unknown(self) -> list[str]:
        """Keys that nobody read and that are not known to be harmless, sorted."""
        return sorted(set(self._values) - self._read - HARMLESS)

    def _get(self, names: tuple[str, ...], default: object) -> tuple[str, object]:
        present = [name for name in names if self._values.get(name) is not None]
        self._read.update(names)
        values = [self._values[name] for name in present]
        if any(value != values[0] for value in values[1:]):
            raise ModelError("config_contradiction", field="model", keys=present)
        return (present[0], values[0]) if present else (names[0], default)


def _unusable(name: str, value: object) -> ModelError:
    return ModelError("config_value", field="model", key=name, value=_short(value))


def _short(value: object) -> str:
    """A value as its JSON, cut where it would not fit into a sentence."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"
