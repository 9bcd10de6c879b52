"""Pages and small helpers shared by the tests of page analysis."""

from collections.abc import Sequence

from orc_core.analysis.document_context import DocumentContext
from orc_core.analysis.extractive import analyse_page
from orc_core.analysis.models import Entity, PageAnalysis, Relation
from orc_core.models import Document, Page

AGREEMENT = """Master Services Agreement

This agreement is made on 3 March 2024 between Northwind Traders GmbH (the “Supplier”) and Contoso Ltd.
(hereinafter the "Customer"). Contoso Ltd. owns Fabrikam Inc. since 2019. Dr. Maria Schmidt, managing
director of Contoso Ltd., signs for both. Fabrikam Inc. does not own Tailspin Toys. If Contoso Ltd. acquired
Litware AG, the price would change. Adatum Corp. was acquired by Contoso Ltd. in May 2021.
The Basic Licence costs EUR 1,200 per year and the fee may rise by 3.5 % after 90 days.
See Section 4.2 and Table 3 on page 2 for details; Appendix A lists the contacts (info@contoso.com).
The Transport Security Board (TSB) reviews the contract.
"""
PRICES = """4.2 Prices

Table 3: Prices by region

Region | Price
North | $ 10 million

Appendix A
Der Vertrag der Müller Maschinenbau GmbH & Co. KG vom 12. Januar 2023 endet am 31.12.2025.
Herr Peter Lange leitet die Contoso GmbH.
"""
CHINESE = (
    "东京大学的研究人员在2023年4月发表了关于机器学习的论文。机器学习模型的性能见表3和第4章。"
    "研究费用为500万円。研究人员认为机器学习很重要。"
)
CONTRACT = [Page(number=number, text=text) for number, text in enumerate((AGREEMENT, PRICES, CHINESE), 1)]


def analyse(*texts: str) -> list[PageAnalysis]:
    """The analyses of the pages of a document with these texts."""
    return analyse_pages([Page(number=number, text=text) for number, text in enumerate(texts, start=1)])


def analyse_pages(pages: Sequence[Page]) -> list[PageAnalysis]:
    context = DocumentContext.of(pages)
    return [analyse_page(page, context) for page in pages]


def triples(analysis: PageAnalysis) -> list[tuple[str, str, str]]:
    """The relations of a page without their evidence."""
    return [(each.source, each.type, each.target) for each in analysis.relations]


def page(
    number: int, *relations: tuple[str, str, str], names: Sequence[str] = (), kind: str = "other"
) -> PageAnalysis:
    """A page with these relations, whose names are all entities."""
    return PageAnalysis(
        page=number,
        entities=[Entity(name=name, type=kind) for name in names],
        relations=[
            Relation(source=source, type=kind_of, target=target, evidence=f"{source} {kind_of} {target}.")
            for source, kind_of, target in relations
        ],
    )


def document(etag: str = "1", document_id: str = "d1") -> Document:
    return Document(
        document_id=document_id,
        organization_id="o",
        user_id="u",
        conversation_id="c",
        blob_name="a.pdf",
        etag=etag,
        size=1,
    )
