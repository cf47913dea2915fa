"""Every limit in force, in one place for `GET /limits`; must not know how a limit is enforced."""

from dataclasses import dataclass

from app.settings import Settings
from model import limits as of_the_model
from model.analysis import naming

BODY_BYTES = 1_000_000
"""Of one request's body; the longest sensible one, four typed vectors, has about 400,000."""

BODY_SECONDS = 30
"""In which a body must have arrived; a stalled upload ends then."""

TEXT_CHARACTERS = 8_000
"""Unicode code points of one text, looked at before it is cut into tokens; GPT-2 reads as many."""

INCLUDE_ENTRIES = 256
POINT_CHARACTERS = 200
MODEL_CHARACTERS = 255  # as long as a folder may be called

VECTOR_COMPONENTS = 4_096
"""Of a vector typed by hand."""

MATRIX_COMPONENTS = 64
"""Rows and columns of a matrix typed by hand."""

DIRECTION_AXES = 2
"""Axes of a point before its last one: a vector of the stream is found by so many indices."""

RETRY_SECONDS = 2
"""After which a refused client may ask again."""


@dataclass(frozen=True)
class LimitsInForce:
    """The reply of `GET /limits`; each name says what is counted."""

    body_bytes: int
    body_seconds: int
    text_characters: int
    include_entries: int
    point_characters: int
    model_characters: int
    numbers: int
    numbers_as_text: int
    vector_components: int
    matrix_components: int
    d_model: int
    n_heads: int
    n_layers: int
    d_mlp: int
    n_ctx: int
    parameters: int
    seed: int
    eps: float
    shares: int
    checkpoints_bytes: int
    top_k: int
    most_top_k: int
    index: int
    direction_axes: int
    repetition_rows: int
    repetition_segment: int
    name_margin: float
    name_errors: float
    name_queries: int
    cost_d_model: int
    cost_n_heads: int
    cost_d_mlp: int
    cost_n_ctx: int
    cost_n_layers: int
    cost_kernel: int
    cost_components: int
    experiment_d_model: int
    experiment_n_heads: int
    experiment_d_mlp: int
    experiment_n_ctx: int
    experiment_depth: int
    experiment_depths: int
    experiment_seeds: int
    experiment_d_head: int
    experiment_d_heads: int
    experiment_samples: int
    experiment_multiply_adds: int
    runs_at_once: int
    runs_waiting: int
    retry_seconds: int


def in_force(settings: Settings) -> LimitsInForce:
    return LimitsInForce(
        body_bytes=BODY_BYTES,
        body_seconds=BODY_SECONDS,
        text_characters=TEXT_CHARACTERS,
        include_entries=INCLUDE_ENTRIES,
        point_characters=POINT_CHARACTERS,
        model_characters=MODEL_CHARACTERS,
        numbers=of_the_model.MAX_NUMBERS,
        numbers_as_text=of_the_model.MAX_NUMBERS_AS_TEXT,
        vector_components=VECTOR_COMPONENTS,
        matrix_components=MATRIX_COMPONENTS,
        d_model=of_the_model.MAX_D_MODEL,
        n_heads=of_the_model.MAX_HEADS,
        n_layers=of_the_model.MAX_LAYERS,
        d_mlp=of_the_model.MAX_D_MLP,
        n_ctx=of_the_model.MAX_N_CTX,
        parameters=of_the_model.MAX_PARAMETERS,
        seed=of_the_model.MAX_SEED,
        eps=of_the_model.MAX_EPS,
        shares=of_the_model.MAX_SHARES,
        checkpoints_bytes=of_the_model.CHECKPOINTS_BYTES,
        top_k=of_the_model.TOP_K,
        most_top_k=of_the_model.MAX_TOP_K,
        index=of_the_model.MAX_INDEX,
        direction_axes=DIRECTION_AXES,
        repetition_rows=of_the_model.MAX_REPETITION_ROWS,
        repetition_segment=of_the_model.MAX_REPETITION_SEGMENT,
        name_margin=naming.MARGIN,
        name_errors=naming.ERRORS,
        name_queries=naming.QUERIES,
        cost_d_model=of_the_model.MAX_COST_D_MODEL,
        cost_n_heads=of_the_model.MAX_COST_HEADS,
        cost_d_mlp=of_the_model.MAX_COST_D_MLP,
        cost_n_ctx=of_the_model.MAX_COST_N_CTX,
        cost_n_layers=of_the_model.MAX_COST_LAYERS,
        cost_kernel=of_the_model.MAX_COST_KERNEL,
        cost_components=of_the_model.MAX_COST_COMPONENTS,
        experiment_d_model=of_the_model.MAX_EXPERIMENT_D_MODEL,
        experiment_n_heads=of_the_model.MAX_EXPERIMENT_HEADS,
        experiment_d_mlp=of_the_model.MAX_EXPERIMENT_D_MLP,
        experiment_n_ctx=of_the_model.MAX_EXPERIMENT_N_CTX,
        experiment_depth=of_the_model.MAX_EXPERIMENT_DEPTH,
        experiment_depths=of_the_model.MAX_EXPERIMENT_DEPTHS,
        experiment_seeds=of_the_model.MAX_EXPERIMENT_SEEDS,
        experiment_d_head=of_the_model.MAX_EXPERIMENT_D_HEAD,
        experiment_d_heads=of_the_model.MAX_EXPERIMENT_D_HEADS,
        experiment_samples=of_the_model.MAX_EXPERIMENT_SAMPLES,
        experiment_multiply_adds=of_the_model.MAX_EXPERIMENT_MULTIPLY_ADDS,
        runs_at_once=settings.workers,
        runs_waiting=settings.queue,
        retry_seconds=RETRY_SECONDS,
    )
