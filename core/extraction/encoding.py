"""From bytes of unknown encoding to text."""

import codecs
import re
import unicodedata

from core.errors import UnsupportedDocument

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 4096
_NOT_WESTERN = re.compile(r"[šžťýŠŽÝ]|(?<=[^\W\d_])[¡-¶¸-¿×÷](?=[^\W\d_])")
_CONTROL = re.compile("[\x01-\x08\x0e-\x1a\x1c-\x1f\x7f]")


def decode(data: bytes) -> str:
    """The text in its most likely encoding. Raises UnsupportedDocument for bytes that are no text."""
    text = _unicode(data)
    if text is None:
        text = _legacy(data)
    if text is None or len(_CONTROL.findall(text[:100_000])) > 0.05 * min(len(text), 100_000):
        raise UnsupportedDocument("The file is not text, although its name says so. Upload a text file.")
    return text


def _unicode(data: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    encoding = _unmarked_wide(data[:_SAMPLE]) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


def _unmarked_wide(sample: bytes) -> str | None:
    """UTF-16 or UTF-32 without a byte order mark, told by where the zero bytes stand."""
    zeros = [sample[place::4].count(0) * 4 > len(sample) * 0.6 for place in range(4)]
    patterns = {
        (True, True, True, False): "utf-32-be",
        (False, True, True, True): "utf-32-le",
        (True, False, True, False): "utf-16-be",
        (False, True, False, True): "utf-16-le",
    }
    return patterns.get((zeros[0], zeros[1], zeros[2], zeros[3]))


def _legacy(data: bytes) -> str | None:
    """The detector's guess, but for Latin text cp1252 before its rarer relatives.

    Short Western texts fit a dozen code pages, and the detector takes the first by name.
    """
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    if best is None:
        return None
    text = str(best)
    if _is_latin(text):
        western = data.decode("cp1252", errors="replace")
        if "\ufffd" not in western and not _NOT_WESTERN.search(western):
            return western
    return text


def _is_latin(text: str) -> bool:
    letters = {character for character in text[:100_000] if character.isalpha() and not character.isascii()}
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)
