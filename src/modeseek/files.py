"""Files that are written whole or not at all: beside their place, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

#: A full disk, a file too large for it, and a quota; these errors name no file.
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)

#: Files begun and not yet in their place, for :func:`remove_unfinished`.
_unfinished: set[Path] = set()


@contextmanager
def replacing(path: str | os.PathLike[str], *, force: bool = True) -> Iterator[Path]:
    """Give a file to write that takes the place of ``path`` when all went well.

    It is in the same folder, has the same ending and does not exist yet. When the block
    raises, it is removed and whatever stood at ``path`` is as it was. Links are
    followed, and a device or a pipe is written to, not replaced. Without ``force`` a
    file that is there is refused, before anything is written and again at the end.
    """
    place = Path(os.path.realpath(path))
    if is_stream(place):
        with place.open("wb") as stream, draining(stream) as spool:
            yield spool
        return
    refuse_existing(place, force)
    unfinished = place.with_name(f".{secrets.token_hex(6)}{place.suffix}")
    _unfinished.add(unfinished)
    try:
        yield unfinished
        refuse_existing(place, force)
        if place.exists():
            shutil.copymode(place, unfinished)
        os.replace(unfinished, place)
    except OSError as error:
        # Say it of the file that was asked for, not of one that nobody knows.
        concerns_it = error.errno in FULL or unfinished.name in str(error)
        if error.errno is not None and concerns_it:
            what = os.strerror(error.errno)
            raise OSError(error.errno, what, str(path)) from error
        raise
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        _unfinished.discard(unfinished)


def refuse_existing(path: Path, force: bool) -> None:
    """Refuse a path that cannot or must not be written, before any work is done."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
    if path.exists() and not force and not is_stream(path):
        raise FileExistsError(errno.EEXIST, "exists already", str(path))
    if not path.parent.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "no such folder", str(path.parent))


def is_stream(path: Path) -> bool:
    """Whether something is there that is neither file nor folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextmanager
def spooled(stream: BinaryIO) -> Iterator[Path]:
    """Copy standard input or a pipe to a temporary file, to be read more than once."""
    with _temporary() as path:
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
        yield path


@contextmanager
def draining(stream: BinaryIO) -> Iterator[Path]:
    """Give a temporary file to write, which is copied to a stream in the end.

    The stream, standard output or a pipe, gets nothing if the block raises.
    """
    with _temporary() as path:
        yield path
        with path.open("rb") as copy:
            shutil.copyfileobj(copy, stream, 1 << 20)
        stream.flush()


def output_file(path: Path | None, *, force: bool) -> AbstractContextManager[Path]:
    """Give a file to write that goes to its place when all went well.

    No path is standard output; ``force`` replaces a file that is there.
    """
    if path is None:
        return draining(sys.stdout.buffer)
    return replacing(path, force=force)


def require_files(*files: str | Path) -> None:
    """Refuse files that cannot be read, before anything that takes time; - is one."""
    for file in files:
        if str(file) == "-":
            continue
        if stat.S_ISDIR(os.stat(file).st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(file))
        if not os.access(file, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))


@contextmanager
def input_file(file: str) -> Iterator[tuple[Path, str]]:
    """Give a file to read, as often as need be, and what messages call it.

    - is standard input, which is copied first, as a pipe is.
    """
    with ExitStack() as stack:
        path, name = Path(file), file
        if file == "-":
            path, name = (
                stack.enter_context(spooled(sys.stdin.buffer)),
                "standard input",
            )
        elif is_stream(path):
            pipe = stack.enter_context(path.open("rb"))
            path = stack.enter_context(spooled(pipe))
        yield path, name


@contextmanager
def _temporary() -> Iterator[Path]:
    handle, name = tempfile.mkstemp(prefix="modeseek-")
    os.close(handle)
    path = Path(name)
    _unfinished.add(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _unfinished.discard(path)


def remove_unfinished() -> None:
    """Remove files that are not complete: for a process that ends at once."""
    for unfinished in list(_unfinished):
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def beside_file(file: str, new: str) -> str:
    """Name of a file beside another one, with a new ending; - is called table."""
    path = Path("table" if file == "-" else file)
    return str(path.with_name(path.name.removesuffix(ending(file)) + new))


def ending(file: str) -> str:
    """Ending of a file, with that of its compression."""
    path = Path(file)
    if path.suffix.lower() in (".gz", ".bz2"):
        return path.with_suffix("").suffix + path.suffix
    return path.suffix
