"""`addnorm fetch`: a model folder from a hub into the models' folder; must not know its files."""

import argparse
import sys

from app import i18n
from app.command.body import Refused
from app.settings import SettingError, Settings
from model.checkpoints.fetch import fetch
from model.errors import ModelError


def main(options: argparse.Namespace, lang: str) -> int:
    """Fetch one model; 2 where it is refused."""

    def say(file: str) -> None:
        print(i18n.t(lang, "cli.fetching", file=file), file=sys.stderr, flush=True)

    try:
        parent = Settings.from_environment().models_dir
        # Settings made from the environment always name a folder.
        assert parent is not None
        folder = fetch(options.repository, parent, say=say)
    except ModelError as error:
        Refused(error.code, error.field, error.params).say(lang)
        return 2
    except SettingError as error:
        print(i18n.t(lang, "cli.bad_setting", name=error.name, value=error.value), file=sys.stderr)
        return 2
    print(i18n.t(lang, "cli.fetched", model=folder.name, folder=str(folder)))
    return 0
