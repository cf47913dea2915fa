"""Every limit in force, in one place for `GET /limits`; must not know how a limit is enforced."""

from dataclasses import dataclass

from app.settings import Settings
from app.strict_json import MAX_DEPTH
from model import limits as of_the_model

BODY_BYTES = 1_000_000
"""Of one request's body; the longest sensible one, a 64 × 64 matrix in full precision, has 90,000."""

BODY_SECONDS = 30
"""In which a body must have arrived; a stalled upload ends then."""

TEXT_CHARACTERS = 2_000
"""Unicode code points of one text, looked at before it is cut into tokens."""

INCLUDE_ENTRIES = 256
POINT_CHARACTERS = 200
MODEL_CHARACTERS = 200

VECTOR_COMPONENTS = 4_096
"""Of a vector typed by hand."""

MATRIX_COMPONENTS = 64
"""Rows and columns of a matrix typed by hand."""

RETRY_SECONDS = 2
"""After which a refused client may ask again."""
