"""English of the code: docstrings that name a thing or an action, and none of the phrases the house style avoids."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import arithmos

ROOT = Path(arithmos.__file__).parent

NO_FIRST_WORDS = re.compile(
    r"(What|Who|Whom|Whose|Which|Where|When|Why|How|That|There|Those|Such|So|It|They|Somebody|Someone|Something|Inside"
    r"|Adds|Applies|Asks|Calls|Changes|Collects|Compiles|Computes|Evaluates|Fills|Finds|Gives|Goes|Hands|Keeps|Looks"
    r"|Makes|Offers|Puts|Queues|Reads|Removes|Returns|Says|Sends|Shows|Starts|Takes|Tells|Trains|Waits|Watches|Writes)\b"
)
"""Words that start a clause or a statement, where a docstring needs an imperative or a noun."""

PHRASES = re.compile(
    r"""\b(
        unless\ told | foretold | beginnings? | the\ truth | for\ want\ of | in\ the\ air | without\ a\ word
      | (go|goes|going|gone|went)\ on\b(?!\ (the|a|an)\b)
      | (is|are)\ there\ twice
      | (one|once|twice|an?\ (row|line|bar|panel|group|matrix|name|test|weight|unit|bit|byte|stream|image|thread))
        \ an?\ (?!(few|little|lot)\b)[a-z]+
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
"""Phrases for which there are usual ones: "by default", "predicted", "resume", "one per run"."""


def docstrings(tree):
    """Yield the line and text of every docstring, including those of variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for item in node.body:
                match item:
                    case ast.Expr(value=ast.Constant(value=str(text))):
                        yield item.lineno, text.strip()


def prose(text):
    """Yield the line and text of every comment and string."""
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield token.start[0], " ".join(token.string.split())


def faults(text):
    """Yield the line and words of everything that the house style avoids."""
    for line, found in docstrings(ast.parse(text)):
        if NO_FIRST_WORDS.match(found):
            yield line, found.splitlines()[0]
    for line, words in prose(text):
        for found in PHRASES.finditer(words):
            yield line, found.group()


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_plain_english(path):
    assert list(faults(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "text",
    [
        '"""What is in a store."""',
        'class Progress:\n    """Somebody who watches a campaign."""',
        'SEEDS = 1\n"""How many seeds."""',
        'def load():\n    """Reads a store."""',
        '"""Seeds, one a run."""',
        "threads = 2  # all cores unless told",
        'say(f"{count} runs can go on")',
    ],
)
def test_the_rules_find_what_they_should(text):
    assert len(list(faults(text))) == 1
