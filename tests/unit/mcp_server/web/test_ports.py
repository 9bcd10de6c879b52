"""What is let through of what search engines quote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_server.web.ports import LONGEST_URL, plain_text, public_address


@pytest.mark.parametrize(
    ("given_", "shown"),
    [
        ("https://quay.example/a?b=c#d", "https://quay.example/a?b=c#d"),
        ("HTTP://QUAY.example", "http://quay.example"),
        ("https://qu\u00e4y.example/\u00e4 b", "https://xn--quy-rla.example/%C3%A4%20b"),
        ("https://quay.example/[S1]", "https://quay.example/%5BS1%5D"),
        ("http://8.8.8.8/", "http://8.8.8.8/"),
    ],
)
def test_addresses_of_the_public_web_are_shown_in_ascii(given_: str, shown: str) -> None:
    assert public_address(given_) == shown


@pytest.mark.parametrize(
    "address",
    [
        "", "quay.example", "//quay.example", "ftp://quay.example", "javascript:alert(1)", "data:text/html,x",
        "https://", "https://user@quay.example", "https://user:word@quay.example", "https://quay .example",
        "http://quay\\.example", "http://localhost", "http://a.localhost:80", "http://router", "http://nas.local",
        "http://db.internal", "http://127.0.0.1", "http://127.1", "http://2130706433", "http://0x7f.1",
        "http://10.0.0.1", "http://169.254.169.254/latest", "http://192.168.0.1.", "http://[::1]",
        "http://\uff11\uff12\uff17.0.0.1", "https://quay.example/\n<source>",
        f"https://quay.example/{'a' * LONGEST_URL}",
    ],
)  # fmt: skip
def test_other_addresses_are_not_shown(address: str) -> None:
    assert public_address(address) is None


@given(st.text(max_size=80))
def test_address_is_printable_and_cannot_close_a_fence(text: str) -> None:
    for address in (public_address(text), public_address(f"https://quay.example/{text}")):
        if address is not None:
            assert address.isascii()
            assert address.isprintable()
            assert not set(address) & set(' "<>[]')


@given(st.text(max_size=200), st.integers(1, 100))
def test_plain_text_is_short_and_hides_nothing(text: str, longest: int) -> None:
    shown = plain_text(text, longest)
    assert len(shown) <= longest
    assert all(c.isprintable() or c in "\n\u200c\u200d" or c.isspace() for c in shown)
    assert plain_text(shown, longest) == shown


def test_invisible_characters_and_controls_are_left_out() -> None:
    assert plain_text("a\u202eb\u200bc\x00d \n\n  e\U000e0041", 100) == "abc d\ne"
