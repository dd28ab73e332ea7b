"""Typeset the mathematics of the documentation site as MathML, which browsers draw without a script.

Pages write `$…$` and `$$…$$`, docstrings `:math:` and `.. math::` as Sphinx has them. The font with the shapes that
mathematics needs (STIX Two Math, from the package ziamath) is a file of the site: nothing is fetched.

MkDocs calls `on_files` and `on_page_content`; the others are plain functions, which the tests call too.
"""

import html
import re
from importlib.metadata import distribution
from pathlib import Path
from textwrap import dedent
from typing import Any

from griffe import Extension, Object
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

FONT = "fonts/STIXTwoMath-Regular.ttf"

DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)\.\. math::[ \t]*(?P<latex>.*(?:\n(?P=indent)[ \t]+\S.*|\n[ \t]*(?=\n(?P=indent)[ \t]+\S))*)$",
    re.MULTILINE,
)
BAR = '<mo stretchy="false">&#x0007C;</mo>'
"""Bar of a magnitude, which MathML takes for an operator with spaces around it."""
ARITHMATEX = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)

FUNCTION = re.compile(r"(?<=[\w}])\s*(?=\\(?:log|ln|exp|min|max|cos|tanh)\b)")
ARGUMENT = re.compile(r"\\(?:log|ln|exp|min|max|cos|tanh)\b(?=\s*[\w\\|])(?!\s*\\(?:left|big|,))")
"""Where the name of a function needs a space on its left and on its right, which MathML leaves to its author."""


def dollars(text: str) -> str:
    """Rewrite Sphinx's mathematics in a docstring as that of the pages."""
    text = DIRECTIVE.sub(
        lambda found: f"{found['indent']}$${' '.join(dedent(found['latex']).split())}$$",
        text,
    )
    return re.sub(r":math:`([^`]+)`", r"$\1$", text)


def typeset(content: str) -> str:
    """Replace the LaTeX in the HTML of a page by MathML."""
    return ARITHMATEX.sub(lambda found: mathml(html.unescape(found[3]), block=found[2] == "["), content)


def mathml(latex: str, *, block: bool) -> str:
    r"""Return a formula as MathML; one on lines of its own breaks at every `\qquad` where the page is narrow."""
    if block:
        parts = "".join(_converted(part, "block") for part in latex.split(r"\qquad"))
        return f'<div class="formula" tabindex="0">{parts}</div>'
    return _converted(latex, "inline")


def _converted(latex: str, display: str) -> str:
    spaced = FUNCTION.sub(r"\\,\g<0>", " ".join(latex.split()))
    made = re.sub(r"<mo>(min|max)</mo>", r"<mi>\1</mi>", convert(ARGUMENT.sub(r"\g<0>\\,", spaced), display=display))
    return made.replace(BAR, BAR.replace(">", ' lspace="0" rspace="0">', 1))


class Docstrings(Extension):
    """Convert docstrings, which are written for a terminal, to the Markdown of the site."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring:  # "Examples" is the spelling of mkdocstrings
            obj.docstring.value = dollars(re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the font."""
    font = Path(str(distribution("ziamath").locate_file(f"ziamath/{FONT}")))
    files.append(File.generated(config, FONT, abs_src_path=str(font)))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Typeset the formulas of a page."""
    return typeset(content)
