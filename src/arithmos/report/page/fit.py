"""Page of a fit: the formulas by size and error, with plots, figures and sources to copy, as one HTML file."""

from dataclasses import dataclass
from pathlib import Path

import altair as alt
import jinja2
import vl_convert

from ... import __version__
from ..._files import write_whole
from ..._text import printable
from ...export.excel import excel
from ...export.source import source
from ...regression.certificate import SAYS
from ...regression.from_csv import Fit
from ...regression.regressor import ParetoFormula
from ..charts.files import save, vega_lite
from ..charts.fit import draw
from .embedded import packed, packed_json, shortened

_VEGA_LITE = alt.SCHEMA_VERSION.rpartition(".")[0]
LANGUAGES = {"python": "Python", "numpy": "NumPy", "sympy": "SymPy", "latex": "LaTeX", "c": "C"}
"""Languages of the sources on the page, with their names."""


@dataclass(frozen=True)
class Choice:
    """Formula to choose on the page.

    Args:
        text: the formula with its target.
        one: its size and errors.
        sources: what to copy, by the name of the program; the spreadsheet comes first.
    """

    text: str
    one: ParetoFormula
    sources: dict[str, str]


def save_fit(fit: Fit, path: str | Path, data: str) -> Path:
    """Save a fit as a page if the path ends in .html, or as a chart.

    Args:
        fit: the fit.
        path: the file.
        data: name of the data, for the title of a page.
    """
    if Path(path).suffix.lower() != ".html":
        return save(draw(fit), path)
    write_whole(path, page_of(fit, data))
    return Path(path)


def page_of(fit: Fit, data: str) -> str:
    """Return the page of a fit; `data` is the name of the data, for the title."""
    loader = jinja2.PackageLoader("arithmos.report.page")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["printable"] = printable
    choices = [_choice(fit, one) for one in fit.model.formulas_]
    return environment.get_template("fit.html").render(
        fit=fit,
        data=data,
        choices=choices,
        says=SAYS,
        chart=packed_json(shortened(vega_lite(draw(fit, interactive=True)))),
        bundle=packed(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", _VEGA_LITE)),
        cells=dict(zip(fit.table.names, fit.cells, strict=True)),
        version=__version__,
    )


def _choice(fit: Fit, one: ParetoFormula) -> Choice:
    sources = {"Excel": excel(one.formula, fit.cells)[0]}
    sources |= {label: source(one.formula, language) for language, label in LANGUAGES.items()}
    return Choice(fit.line(one), one, sources)
