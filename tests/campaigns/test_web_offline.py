"""What the page does without a model: answers are quotes, and all else is as with one."""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from devkit.browser import Program
from devkit.doubles.openai_double import OpenAIDouble
from devkit.in_process import InProcess, Variant, running_here
from devkit.visits import visiting
from tests.web import test_access as access
from tests.web import test_asking as asking
from tests.web import test_files as files
from tests.web import test_page as page
from tests.web import test_panel as panel
from tests.web import test_sessions as sessions
from tests.web import test_sign_in as sign_in
from tests.web import test_viewers as viewers

Case = Callable[..., Awaitable[None]]
CASES: tuple[Case, ...] = (
    access.test_a_file_that_changed_since_shows_no_rectangles,
    access.test_a_session_is_exported_with_the_keyboard,
    access.test_everything_can_be_done_with_the_keyboard,
    access.test_small_windows_and_large_letters_hide_nothing,
    asking.test_a_long_limit_gives_the_question_back,
    asking.test_a_question_survives_a_reload_before_the_api_had_it,
    asking.test_a_short_limit_is_waited_for_and_can_be_left,
    asking.test_each_refusal_has_words_and_a_trace_to_copy,
    files.test_a_file_that_is_removed_while_it_is_read_is_removed_once_it_is_stored,
    files.test_a_file_that_is_removed_while_it_is_sent_is_not_stored,
    files.test_files_that_were_not_searched_are_named_above_the_answer,
    files.test_the_next_question_does_not_find_a_removed_file,
    files.test_twenty_files_at_once_become_ready_and_a_damaged_one_says_why,
    page.test_a_failure_says_why_and_keeps_the_question,
    page.test_a_quote_is_marked_on_the_picture_of_its_page,
    page.test_a_second_visit_loads_nothing_that_the_browser_has,
    page.test_a_shared_document_is_asked_by_its_context,
    page.test_a_tool_that_is_switched_off_is_not_used_until_it_is_on_again,
    page.test_the_menu_switches_tools_and_gives_the_focus_back,
    panel.test_a_document_without_pictures_is_asked_for_none,
    panel.test_one_turns_to_the_last_page_and_no_further,
    sessions.test_another_window_shows_what_happens_in_this_one,
    sessions.test_how_an_answer_came_about_is_what_its_metadata_says,
    sessions.test_the_title_follows_an_edited_question,
    sign_in.test_what_was_written_outlives_the_sign_in_and_not_the_sign_out,
    viewers.test_a_session_of_another_user_does_not_open,
    viewers.test_viewers_see_why_tools_that_change_something_are_off,
)


@pytest.fixture(scope="module")
def modelless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    """The product without a model."""
    folder = tmp_path_factory.mktemp("modelless")
    with running_here(folder, {"page": Variant()}, common={}, tools={}) as here:
        yield here


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_page_works_without_a_model(
    program: Program, modelless: InProcess, tmp_path: Path, case: Case
) -> None:
    double = OpenAIDouble()
    async with visiting(program, modelless, double) as visit:
        await visit.open()
        assert len(await visit.texts(".composer .badge")) == 1
        given = {"visit": visit, "program": program, "tmp_path": tmp_path}
        await case(**{name: given[name] for name in inspect.signature(case).parameters})
        assert double.requests == []
        assert (visit.page.problems, visit.page.violations) == ([], [])
        assert visit.strangers() == set()
        assert await visit.kept_texts() == []
