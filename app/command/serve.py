"""`addnorm`: serve the application; must not know what it serves."""

import argparse
import contextlib
import os
import socket
import sys
import webbrowser

import uvicorn
from uvicorn.supervisors import Multiprocess

from app import i18n
from app.settings import SettingError, Settings


def main(options: argparse.Namespace, lang: str) -> int:
    """Serve until interrupted."""
    try:
        settings = Settings.from_environment()
    except SettingError as error:
        print(i18n.t(lang, "cli.bad_setting", name=error.name, value=error.value), file=sys.stderr)
        return 2
    if options.workers > 1:
        # Processes share the cores; each reads its settings from the environment.
        share = max(1, settings.workers // options.workers)
        os.environ.setdefault("ADDNORM_WORKERS", str(share))
    listener = _bind(options.host, options.port)
    if listener is None:
        print(i18n.t(lang, "cli.port_taken", port=str(options.port)), file=sys.stderr)
        return 1
    port = listener.getsockname()[1]
    address = f"http://{_reachable(options.host)}:{port}/"
    print(i18n.t(lang, "cli.serving", address=address), flush=True)
    if options.open:
        # The socket listens already: the browser's request waits until the application is up.
        webbrowser.open(address)
    config = uvicorn.Config(
        "app.main:app",
        workers=options.workers,
        # Addresses and bodies are the readers' own business: nothing of them is written down.
        access_log=False,
        log_level="warning",
        server_header=False,
    )
    with contextlib.suppress(KeyboardInterrupt):
        if options.workers > 1:
            Multiprocess(config, sockets=[listener]).run()
        else:
            uvicorn.Server(config).run(sockets=[listener])
    return 0


def _bind(host: str, port: int) -> socket.socket | None:
    """A listening socket, made before anything is loaded, so that a taken port is said at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    if os.name != "nt":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except OSError:
        listener.close()
        return None
    listener.set_inheritable(True)
    return listener


def _reachable(host: str) -> str:
    """A host that a browser on this machine can use for what the server listens on."""
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
