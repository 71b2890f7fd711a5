"""Which function computes which equation, read from the page that says it.

``mathematics.md`` names under every numbered equation the functions that compute it:

    $$ ... $$ (label)

    *Computed by* {func}`modeseek.gradient.moments.compute_moments`, ...

So the page links to the functions; :func:`add_equations` links the functions back.
"""

import re
from pathlib import Path

PAGE = Path(__file__).parent / "mathematics.md"
EQUATION = re.compile(r"^\$\$ \(([\w-]+)\)$", flags=re.MULTILINE)
COMPUTED = re.compile(r"^\*Computed by\* (.*?)(?:\n\n|\Z)", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"\{(?:func|class|meth|data)\}`~?([\w.]+)`")


def functions_of_equations(text: str | None = None) -> dict[str, list[str]]:
    """Functions that compute each numbered equation, in the order of the page."""
    text = PAGE.read_text("utf-8") if text is None else text
    ends = [*(match.start() for match in EQUATION.finditer(text)), len(text)]
    found = {}
    for match, end in zip(EQUATION.finditer(text), ends[1:], strict=True):
        computed = COMPUTED.search(text, match.end(), end)
        found[match[1]] = NAME.findall(computed[1]) if computed else []
    return found


def equations_of_functions() -> dict[str, list[str]]:
    """Equations that each function computes."""
    found: dict[str, list[str]] = {}
    for label, names in functions_of_equations().items():
        for name in names:
            found.setdefault(name, []).append(label)
    return found


def add_equations(app, what, name, obj, options, lines):
    """Name at the end of a docstring the equations that its object computes."""
    labels = equations_of_functions().get(name, [])
    if labels:
        links = ", ".join(f":eq:`{label}`" for label in labels)
        lines += ["", f"*Computes* {links} of :doc:`/mathematics`.", ""]
