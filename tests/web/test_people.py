"""Who is given a role: people are found by name or e-mail address, and ids that cannot work are refused."""

from devkit.system import principal_headers
from devkit.visits import ADMINISTRATOR, Visit

ANNA, BEN = "aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"
IDENTITIES = {ANNA: ("Anna Owner", "anna@example.org"), BEN: ("Ben Viewer", "ben.viewer@example.org")}
ROWS = "[...document.querySelectorAll('.members li')].map((each) => each.textContent)"
FOUND = "[...document.querySelectorAll('.add-member li')]"


def headers_of(organization: str, user: str, *roles: str) -> dict[str, str]:
    name, email = IDENTITIES[user]
    return principal_headers(organization, user, *roles, name=name, email=email)


async def come(visit: Visit, user: str, place: str = "", *roles: str) -> None:
    """Open the page as this person, who is known to the sign-in by name and address."""
    await visit.page.call("Network.setExtraHTTPHeaders", headers=headers_of(visit.organization, user, *roles))
    await visit.page.open("about:blank")
    await visit.open(place)


def made_by(visit: Visit, user: str) -> str:
    with visit.client() as client:
        client.headers.update(headers_of(visit.organization, user, ADMINISTRATOR))
        made = client.post("/contexts", json={"type": "workspace", "name": "Staff documents"})
        assert made.status_code == 201, made.text
    identifier: str = made.json()["context_id"]
    return identifier


async def look_for(visit: Visit, words: str) -> None:
    await visit.click(".add-member:not([open]) summary")
    await visit.page.value("document.querySelector('.add-member input').focus()")
    await visit.page.call("Input.insertText", text=words)
    await visit.sees(".add-member [role=status] p")


async def test_a_person_who_has_signed_in_is_found_and_reads_what_is_shared(visit: Visit) -> None:
    page = visit.page
    await come(visit, BEN)
    context = made_by(visit, ANNA)
    await come(visit, ANNA, f"#/contexts/{context}")
    await look_for(visit, "viewer ben")
    assert await page.value(f"{FOUND}.map((each) => each.textContent)") == [
        "Ben Viewer ben.viewer@example.orgAddAdd Ben Viewer"
    ]
    await page.value(f"{FOUND}[0].querySelector('button').click()")
    await page.until(f"{ROWS}.some((each) => each.startsWith('Ben Viewer'))")
    shown = await page.value("document.querySelector('main').outerHTML")
    assert [each for each in (ANNA, BEN) if each in shown] == []
    await come(visit, BEN, f"#/contexts/{context}")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Staff documents'")


async def test_an_address_that_no_one_signs_in_with_is_refused_with_what_to_do(visit: Visit) -> None:
    page = visit.page
    context = made_by(visit, ANNA)
    await come(visit, ANNA, f"#/contexts/{context}")
    await look_for(visit, "ben.viewer@example.org")
    assert "has to do so once" in (await visit.texts(".add-member [role=status]"))[0]
    await page.value("document.querySelectorAll('.add-member input')[1].focus()")
    await page.call("Input.insertText", text="Ben")
    await page.press("Enter")
    await visit.sees(".add-member [role=alert]")
    assert "Ask the person to open Orc once" in (await visit.texts(".add-member [role=alert]"))[0]
    with visit.client() as client:
        client.headers.update(headers_of(visit.organization, ANNA))
        members = client.get(f"/contexts/{context}/members").json()["members"]
    assert [each["principal"] for each in members] == [f"user:{ANNA}"]
    page.problems.clear()


async def test_people_of_another_organization_are_not_found(visit: Visit) -> None:
    with visit.client() as client:
        client.headers.update(headers_of("elsewhere", BEN))
        assert client.get("/me").status_code == 200
    context = made_by(visit, ANNA)
    await come(visit, ANNA, f"#/contexts/{context}")
    await look_for(visit, "ben viewer")
    assert await visit.texts(".add-member li") == []


async def test_an_administrator_without_a_role_opens_what_is_listed_and_can_join(visit: Visit) -> None:
    page = visit.page
    made_by(visit, BEN)
    await come(visit, ANNA, "#/contexts", ADMINISTRATOR)
    await visit.click(".rows a")
    await page.until("document.querySelector('.crumbs strong')?.textContent === 'Staff documents'")
    # Nothing in it is read without a role.
    assert "You manage who can read this collection" in await page.value(
        "document.querySelector('.admin').textContent"
    )
    assert await visit.texts(".ask-about, .file-list") == []
    await look_for(visit, "anna@example")
    await page.value(f"{FOUND}[0].querySelector('button').click()")
    await visit.sees(".ask-about")
    await visit.sees(".file-list")
