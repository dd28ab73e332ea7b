"""Text from files and users, made safe for a terminal, a page, a comment or LaTeX."""

TEX = {
    **{character: "\\" + character for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
"""Characters with a meaning in TeX, and how to print them."""


def escaped(character: str) -> str:
    r"""Return a character as an escape with its code point.

    Example:
        >>> print(escaped("\x1b"), escaped("\u202e"), escaped("/"))
        \x1b \u202e \x2f
    """
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def printable(text: str) -> str:
    r"""Return text with escapes for what cannot be printed: controls, and marks that reorder or hide other characters.

    Line ends are kept.

    Example:
        >>> print(printable("a\x1b[31mb\u202ec\nd"))
        a\x1b[31mb\u202ec
        d
    """
    if all(line.isprintable() for line in text.split("\n")):
        return text
    return "".join(c if c.isprintable() or c == "\n" else escaped(c) for c in text)
