"""Headings and leads of an answer that state nothing."""

import pytest

from orc_core.grounding.claims import only_introduces

LEADS = """
The limits are:
You should know the following:
The following conditions apply:
Here are the main points about leave:
There are three exceptions:
According to the lease, the tenant must:
Notice period and termination
1. Travel costs
Die Frist beträgt:
Folgende Regeln gelten:
旅费
"""
STATEMENTS = """
All pets are permitted, including smoking and dogs:
No pets:
Fee: 99 euros
The 3 limits are:
Section 4.2
所有房间都可以吸烟
"""


@pytest.mark.parametrize("text", LEADS.strip().splitlines())
def test_introductions_state_nothing(text: str) -> None:
    assert only_introduces(text)


@pytest.mark.parametrize("text", STATEMENTS.strip().splitlines())
def test_a_statement_is_no_introduction(text: str) -> None:
    assert not only_introduces(text)
