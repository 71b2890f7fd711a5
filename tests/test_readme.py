"""What the README shows runs as it is printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_python_block_runs(block, capsys):
    exec(compile(block, "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("3 [")


def test_there_is_a_block_to_run():
    assert BLOCKS
