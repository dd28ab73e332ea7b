"""Execute the example notebooks again, and store their output."""

import nbclient
import nbformat
from tools.examples import EXAMPLES, NOTEBOOKS

for path in NOTEBOOKS:
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(EXAMPLES)}}
    nbclient.NotebookClient(notebook, timeout=600, record_timing=False, resources=folder).execute()
    nbformat.write(notebook, path)
