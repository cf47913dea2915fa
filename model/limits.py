"""The limits that the models hold to, in one place; the reasons stand beside them."""

MAX_NUMBERS = 4_000_000  # 16 MB as float32
MAX_NUMBERS_AS_TEXT = 2_000_000  # about 20 MB of decimals
# Of one run, shares of all heads and blocks, which its summary keeps: 1.6 GB.
MAX_SHARES = 24 * 64 * 512**2

# Of the random model: a block of these sizes still answers within seconds on a laptop.
MAX_D_MODEL = 1024
MAX_HEADS = 64
MAX_LAYERS = 24
MAX_D_MLP = 4096
MAX_N_CTX = 512
MAX_PARAMETERS = 40_000_000
MAX_SEED = 2**32 - 1
MIN_EPS, MAX_EPS = 0.0, 1e6

RANDOM_MODELS_BYTES = 512 * 1024 * 1024
CHECKPOINTS_BYTES = 4 * 1024**3  # of the weights of all loaded folders
TOP_K = 5

# Of GET /cost. With n_ctx · d_model bounded besides, every count stays below 2^53, which is the
# largest run of whole numbers that a JSON reader with float64 keeps exact.
MAX_COST_D_MODEL = 16_384
MAX_COST_HEADS = 256
MAX_COST_D_MLP = 65_536
MAX_COST_N_CTX = 131_072
MAX_COST_LAYERS = 128
MAX_COST_KERNEL = 63
MAX_COST_COMPONENTS = 2**26

# Of POST /experiments: small models, many of them. The product of sizes, depths and seeds is
# bounded besides, so that the longest takes about a minute of one core.
MAX_EXPERIMENT_D_MODEL = 256
MAX_EXPERIMENT_HEADS = 16
MAX_EXPERIMENT_D_MLP = 1024
MAX_EXPERIMENT_N_CTX = 129
MAX_EXPERIMENT_DEPTH = 48
MAX_EXPERIMENT_DEPTHS = 48
MAX_EXPERIMENT_SEEDS = 64
MAX_EXPERIMENT_D_HEAD = 1024
MAX_EXPERIMENT_D_HEADS = 16
MAX_EXPERIMENT_SAMPLES = 8192
MAX_EXPERIMENT_MULTIPLY_ADDS = 400_000_000_000

# Of a closer look at a run.
MAX_TOP_K = 50
MAX_INDEX = 2**31 - 1  # of a layer, position, unit or token; what the run has is less
MAX_REPETITION_ROWS = 16
MAX_REPETITION_SEGMENT = 128
