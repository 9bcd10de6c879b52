"""Pages that the API serves, each one file; a policy lets nothing run in them but what is in the file."""

import base64
import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


@cache
def page(name: str) -> tuple[str, dict[str, str]]:
    """The HTML and the headers of the page of this name, which calls only the API of the same origin."""
    html = (_FOLDER / f"{name}.html").read_text(encoding="utf-8")
    policy = "default-src 'none'"
    for kind, text in _INLINE.findall(html):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        policy += f"; {kind}-src 'sha256-{digest}'"
    policy += "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
    policy += "; frame-ancestors 'none'"
    headers = {
        "content-security-policy": policy,
        "cache-control": "no-cache",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
    return html, headers
