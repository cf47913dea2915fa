"""Files as bytes on the wire, compressed once, with an ETag; must not know what they hold."""

import asyncio
import gzip
import hashlib
import importlib.util
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from app import negotiation
from app.places import IS_CHECKOUT

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}
_SCRIPTS = {".css", ".js"}
_COMMENT = re.compile(rb"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*$)", re.MULTILINE | re.DOTALL)
_INDENT = re.compile(rb"^[ \t]+", re.MULTILINE)
_COMPRESSED_ALREADY = {".png", ".webp", ".woff2"}

FOREVER = "public, max-age=31536000, immutable"
ASK_AGAIN = "no-cache"


@dataclass(frozen=True)
class Asset:
    """A body with its type; what is derived from it is made once, on first use."""

    body: bytes
    suffix: str

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()[:16]

    @cached_property
    def gzipped(self) -> bytes | None:
        if self.suffix in _COMPRESSED_ALREADY or len(self.body) < 500:
            return None
        return gzip.compress(self.body, compresslevel=6, mtime=0)

    def reply(self, request: Request, cache: str, **headers: str) -> Response:
        """The asset, compressed where the client can read it, or 304 where it has it already."""
        packed = self.gzipped if negotiation.accepts_gzip(request.scope) else None
        etag = f'"{self.digest}{"-gzip" if packed else ""}"'
        common = {"ETag": etag, "Cache-Control": cache, "Vary": "Accept-Encoding", **headers}
        known = request.headers.get("if-none-match", "")
        if etag in [tag.strip().removeprefix("W/") for tag in known.split(",")]:
            return Response(status_code=304, headers=common)
        if packed:
            common["Content-Encoding"] = "gzip"
        return Response(packed or self.body, headers=common, media_type=_TYPES[self.suffix])


class Folder:
    """The files below a folder that browsers may have, by their path within it.

    Paths are looked up, never joined, so none can climb out.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._listed: dict[str, Path] = {}
        self._version = ""

    def files(self) -> dict[str, Path]:
        if IS_CHECKOUT or not self._listed:
            self._listed = {
                path.relative_to(self.root).as_posix(): path
                for path in sorted(self.root.rglob("*"))
                if path.suffix in _TYPES and path.is_file()
            }
        return self._listed

    def get(self, name: str) -> Asset | None:
        path = self.files().get(name)
        return None if path is None else _read(path, path.stat().st_mtime_ns)

    def version(self) -> str:
        """Changes when any file does; stands in a path, so that imported modules have it too."""
        if self._version and not IS_CHECKOUT:
            return self._version
        digest = hashlib.sha256()
        for name, path in self.files().items():
            digest.update(f"{name}:{_read(path, path.stat().st_mtime_ns).digest};".encode())
        self._version = digest.hexdigest()[:12]
        return self._version


@lru_cache(maxsize=1024)
def _read(path: Path, _changed: int) -> Asset:
    body = path.read_bytes()
    return Asset(without_comments(body) if path.suffix in _SCRIPTS else body, path.suffix)


def without_comments(script: bytes) -> bytes:
    """A script or style sheet as browsers need it: without indentation and lines of comment.

    No line moves, so that the place an error names is the place in the file. Right as long as no
    template literal spans lines, which a test holds for every script.
    """
    return _INDENT.sub(b"", _COMMENT.sub(lambda comment: b"\n" * comment[0].count(b"\n"), script))


def plotly_version() -> str:
    return version("plotly")


@lru_cache(maxsize=1)
def _plotly() -> Asset:
    spec = importlib.util.find_spec("plotly")
    assert spec is not None and spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / "package_data" / "plotly.min.js"
    asset = Asset(path.read_bytes(), ".js")
    _ = asset.gzipped, asset.digest
    return asset


async def plotly() -> Asset:
    """The charts' script out of the installed wheel; compressing its 4.8 MB takes a while, once."""
    return await asyncio.to_thread(_plotly)
