"""Headings and leads of an answer that state nothing."""

import pytest

from core.grounding.claims import only_introduces

LEADS = """
The limits are:
You should know the following:
Before you go you should do the following:
The following conditions apply:
Here are the main points about leave:
There are three exceptions:
According to the lease, the tenant must:
What tenants may do:
Notice period and termination
1. Travel costs
Section 4.2
Is smoking allowed?
Die Frist beträgt:
Folgende Regeln gelten:
旅费
"""
STATEMENTS = """
Smoking is allowed in every flat
All pets are permitted, including smoking and dogs:
You may smoke everywhere, as everybody knows:
You may smoke everywhere:
Dogs are allowed:
There is free parking everywhere:
Smoking permitted everywhere
The contract allows smoking:
No pets:
Fee: 99 euros
The 3 limits are:
Three months notice period for tenants
Rauchen ist überall erlaubt
Fumer est permis partout:
所有房间都可以吸烟
"""


@pytest.mark.parametrize("text", LEADS.strip().splitlines())
def test_introductions_state_nothing(text: str) -> None:
    assert only_introduces(text)


@pytest.mark.parametrize("text", STATEMENTS.strip().splitlines())
def test_a_statement_is_no_introduction(text: str) -> None:
    assert not only_introduces(text)
