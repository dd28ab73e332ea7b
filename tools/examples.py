"""Generate the example pages of the documentation site: executed notebooks, and scripts with their output.

MkDocs calls `on_files`; the others are plain functions, which the tests call too.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
SCRIPTS = sorted(EXAMPLES.glob("*.py"))


def output(script: Path) -> str:
    """Return the stored output of a script."""
    return (EXAMPLES / "output" / f"{script.stem}.txt").read_text(encoding="utf-8")


def scripts_page() -> str:
    """Return the page with all scripts and their output."""
    sections = [
        "# Example scripts",
        "The scripts are in `examples/`. To run one: `python examples/ten_parameters.py`.",
    ]
    for script in SCRIPTS:
        sections += [f"## {script.name}", _fenced("python", script.read_text(encoding="utf-8"))]
        sections += ["Output:", _fenced("text", output(script))]
    return "\n\n".join(sections) + "\n"


def notebook_pages(notebook: Path) -> dict[str, str]:
    """Return a notebook as a page, and its figures, by their path in the site."""
    made, sections = {}, []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            sections.append(source.replace("](../docs/", "](../"))
            continue
        sections.append(_fenced("python", source))
        if printed := "".join("".join(one["text"]) for one in cell["outputs"] if one["output_type"] == "stream"):
            sections.append(_fenced("text", printed))
        for shown in (one["data"] for one in cell["outputs"] if "data" in one):
            if "image/svg+xml" in shown:
                picture = f"{notebook.stem}-{len(made) + 1}.svg"
                made[f"examples/{picture}"] = "".join(shown["image/svg+xml"])
                sections.append(f"![{cell['metadata']['alt']}]({picture})")
            else:
                sections.append(_shown(shown))
    link = f"The notebook is `examples/{notebook.name}`."
    return made | {f"examples/{notebook.stem}.md": "\n\n".join([sections[0], link, *sections[1:]]) + "\n"}


def _shown(data: dict[str, Any]) -> str:
    if "text/html" not in data:
        return _fenced("text", "".join(data["text/plain"]))
    table = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
    return re.sub(r' border="1" class="dataframe"| style="[^"]*"', "", table)  # the site has its own style


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.strip()}\n```"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages and figures."""
    made = {"examples/scripts.md": scripts_page()}
    for notebook in NOTEBOOKS:
        made |= notebook_pages(notebook)
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files
