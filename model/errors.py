"""The one exception of the package: a code and parameters; must not know any sentence."""


class ModelError(Exception):
    """A refusal that a caller can act on.

    Args:
        code: stable name of the fault, such as ``text_too_long``.
        field: the part of the request at fault, such as ``text`` or ``config.n_heads``.
        params: the numbers and names that a message needs; plain JSON values.
    """

    def __init__(self, code: str, field: str | None = None, **params: object) -> None:
        super().__init__(f"{code} {params}")
        self.code = code
        self.field = field
        self.params = params
