"""Make the links of README work where it is shown outside the repository, as on PyPI.

    python tools/absolute_links.py README.md https://github.com/owner/name v0.1.0

rewrites the file: links to files of the repository become addresses of that release,
and pictures those of the files themselves. Other links stay.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

#: A link to a file, and whether it is a picture.
LINK = re.compile(
    r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<file>[^)\s]+)\)"
)


def absolute_links(text: str, address: str, release: str) -> str:
    """The text with links to the files of a release at the address of a repository."""

    def rewrite(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        target = f"{address.rstrip('/')}/{kind}/{release}/{link['file']}"
        return f"{link['picture']}[{link['text']}]({target})"

    return LINK.sub(rewrite, text)


if __name__ == "__main__":
    file, address, release = sys.argv[1:]
    path = Path(file)
    path.write_text(absolute_links(path.read_text("utf-8"), address, release), "utf-8")
