"""The command `addnorm`: serve, or print a run without a server; must not know how one is made.

Whatever needs PyTorch is imported by the command that uses it, so that help comes at once.
"""

import argparse
import io
import locale
import os
import sys
from collections.abc import Sequence

from app import i18n, settings

READER_GONE = 141
"""Exit status of a program whose reader went away: 128 and SIGPIPE, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the result is its exit status."""
    try:
        status = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # `addnorm … | head` is no mistake. What is still unwritten must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return status


def _run(arguments: Sequence[str] | None) -> int:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a character shows a stand-in for it instead of a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    lang = terminal_language()
    options = _parser(lang).parse_args(arguments)
    if options.models is not None:
        # Processes read their settings from the environment, those of other workers included.
        os.environ[settings.MODELS] = options.models
    if options.command == "trace":
        from app.command import trace

        return trace.main(options, lang)
    if options.command == "add-norm":
        from app.command import add_norm

        return add_norm.main(options, lang)
    if options.command == "fetch":
        from app.command import fetch

        return fetch.main(options, lang)
    from app.command import serve

    return serve.main(options, lang)


def terminal_language() -> str:
    """The language of the terminal, from LC_ALL, LC_MESSAGES or LANG."""
    named = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), None)
    name = named or locale.getlocale()[0] or ""
    return i18n.choose(None, name.partition(".")[0].replace("_", "-"))


def _parser(lang: str) -> argparse.ArgumentParser:
    def words(key: str) -> str:
        # argparse reads % as the beginning of a place of its own.
        return i18n.t(lang, f"cli.{key}").replace("%", "%%")

    parser = argparse.ArgumentParser(prog="addnorm", description=words("description"))
    parser.add_argument("--host", default="127.0.0.1", help=words("host"))
    parser.add_argument("--port", type=_port, default=8000, help=words("port"))
    parser.add_argument("--open", action="store_true", help=words("open"))
    parser.add_argument("--workers", type=_count, default=1, help=words("workers"))
    parser.add_argument("--models", metavar="DIR", help=words("models"))
    commands = parser.add_subparsers(dest="command", title=words("commands"), metavar="")

    trace = commands.add_parser("trace", help=words("trace"), description=words("trace"))
    trace.add_argument("text", metavar="TEXT", help=words("trace.text"))
    trace.add_argument("--pair", metavar="TEXT", help=words("trace.pair"))
    trace.add_argument("--model", help=words("trace.model"))
    trace.add_argument("--norm", choices=["pre", "post"], help=words("trace.norm"))
    trace.add_argument("--weights", choices=["pre", "post"], help=words("trace.weights"))
    trace.add_argument("--config", metavar="JSON", help=words("trace.config"))
    trace.add_argument(
        "--include", action="append", default=[], metavar="POINTS", help=words("trace.include")
    )
    trace.add_argument("--digits", type=int, help=words("trace.digits"))
    trace.add_argument("--verify", action="store_true", help=words("trace.verify"))
    trace.add_argument("--json", action="store_true", help=words("json"))

    fetch = commands.add_parser("fetch", help=words("fetch"), description=words("fetch"))
    fetch.add_argument("repository", metavar="ORG/NAME", help=words("fetch.repository"))

    bench = commands.add_parser("add-norm", help=words("add_norm"), description=words("add_norm"))
    bench.add_argument("--x", required=True, metavar="NUMBERS", help=words("add_norm.x"))
    bench.add_argument("--update", metavar="NUMBERS", help=words("add_norm.update"))
    bench.add_argument("--matrix", metavar="ROWS", help=words("add_norm.matrix"))
    bench.add_argument("--bias", metavar="NUMBERS", help=words("add_norm.bias"))
    bench.add_argument("--placement", choices=["pre", "post"], help=words("add_norm.placement"))
    bench.add_argument("--eps", metavar="NUMBER", help=words("add_norm.eps"))
    bench.add_argument("--gamma", metavar="NUMBERS", help=words("add_norm.gamma"))
    bench.add_argument("--beta", metavar="NUMBERS", help=words("add_norm.beta"))
    bench.add_argument("--json", action="store_true", help=words("json"))
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise ValueError(port)
    return port


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise ValueError(count)
    return count


if __name__ == "__main__":
    sys.exit(main())
