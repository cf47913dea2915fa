"""Options of a command line to the checked body that the API takes; must not know its meaning."""

import sys
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from app import i18n
from app.strict_json import printable
from app.validation import problem_fields

Body = TypeVar("Body", bound=BaseModel)


class Refused(Exception):
    """A refusal by code, as the API would give it."""

    def __init__(self, code: str, field: str | None, params: Mapping[str, object]) -> None:
        super().__init__(code)
        self.code = code
        self.field = field
        self.params = params

    def say(self, lang: str) -> None:
        """Write the sentence, and the field it is about, to the error stream."""
        sentence = i18n.t(lang, f"error.{self.code}", **self.params)
        where = f"{self.field}: " if self.field else ""
        print(printable(where + sentence), file=sys.stderr)


def checked(body: type[Body], values: dict[str, object]) -> Body:
    """A body from what was given.

    Raises:
        Refused: what the API would refuse.
    """
    try:
        return body.model_validate({k: v for k, v in values.items() if v is not None})
    except ValidationError as error:
        raise Refused(*problem_fields(error.errors(), values)) from None
