"""Write the experiments that `arithmos list` shows without loading them: python tools/listed.py."""

from arithmos.listed import FILE, listed, written
from arithmos.papers.catalogue import OWN

if __name__ == "__main__":
    text = written(listed(OWN))
    FILE.write_text(text, encoding="utf-8")
    print(f"{len(text.splitlines())} lines in {FILE.name}")
