"""The text functions that the campaign measures, and those that it does not, with the reason."""

from collections.abc import Mapping

from resilience import text_calls, text_calls_at_edges
from resilience.text_calls import Call

CALLS: Mapping[str, Call] = {
    **text_calls.TEXT,
    **text_calls.SEARCH,
    **text_calls.GROUNDING,
    **text_calls.ANALYSIS,
    **text_calls.OFFLINE,
    **text_calls.CONVERSATIONS,
    **text_calls.EXPORTS,
    **text_calls_at_edges.REQUESTS,
    **text_calls_at_edges.TURNS,
    **text_calls_at_edges.STORES,
}

IN_CHILDREN = frozenset({"export as PDF"})
"""The calls that the product makes only in a separate process."""

_PASSED_ON = "passes the text on, or stores it"
_COUNTED = "counts tokens of a text, and TiktokenCounter.count is measured"
_NAMES = "reads names and settings, which are short"
EXCUSED: Mapping[str, str] = {
    name: reason
    for reason, names in (
        (
            _PASSED_ON,
            "orc_core.analysis.llm.PageReader.__init__ orc_core.analysis.models.DocumentAnalysis.failed"
            " orc_core.search.hybrid.search_pages orc_core.llm.served_models.ServedModels.__init__"
            " orc_core.llm.served_models.ServedModels.problem orc_core.llm.served_models.ServedModels.window"
            " orc_core.search.hybrid.text_to_embed orc_core.search.hybrid.serve"
            " orc_core.search.hybrid.with_vectors"
            " orc_core.search.hybrid.followed_by orc_core.search.hybrid.Rungs.retrieval"
            " mcp_server.tools.attachments.document_content"
            " mcp_server.tools.attachments.question_content orc.graphs.answer_stream.AnswerStream.__init__"
            " orc.graphs.answer_stream.AnswerStream.write"
            " mcp_server.tools.registration.Reporter.working mcp_server.tools.registration.success"
            " mcp_server.tools.attachments.none_readable mcp_server.tools.attachments.without_gone"
            " mcp_server.tools.document_context.pages_of mcp_server.tools.document_context.passage_source"
            " mcp_server.tools.parts.NoteTaker.__init__ mcp_server.tools.registration.CallProgress.working"
            " mcp_server.tools.scope_filter.page_text orc.graphs.retrieval.failed_step"
            " orc.graphs.sources.SourceRegistry.__init__ orc.graphs.sources.SourceRegistry.of"
            " orc.graphs.tool_context.ToolContext.__init__"
            " orc.graphs.tool_context.with_sources"
            " orc.graphs.utils.cited_first orc.memory.client_history.latest_turns"
            " orc.memory.models.memory_from orc.memory.replaced.gaps orc.memory.replaced.without_replaced"
            " orc.memory.notes.freshness orc.memory.notes.Asked.share"
            " orc.memory.summary.Summarizer.__init__ orc.graphs.plan_rules.fallback_plan"
            " orc.graphs.context_builder.context_event orc.graphs.query_planner.recalled_for"
            " orc.graphs.plan_rules.plan_by_rules"
            " mcp_server.tools.registration.document_line mcp_server.tools.registration.page_line"
            " orc_core.llm.messages.contexts_message mcp_server.tools.document_context.with_origin"
            " orc.graphs.origins.Origins.note orc_core.documents.text_extraction.TextExtraction.is_text_of"
            " orc.api.web.page_of orc.graphs.revision.start_revision orc.graphs.cited_pages.key_of"
            " orc_core.markdown.brackets.rounded_end"
            " orc_core.grounding.sources.picture_parts"
            " orc_core.documents.image_limits.with_image_tokens mcp_server.tools.page_images.with_pictures"
            " orc_core.documents.text_extraction.failure orc_core.models.in_order_of"
            " orc_core.names.missing_document"
            " orc.api.responses.stream orc.api.web.Asset.of orc.api.web.Asset.response"
            " orc.conversations.transitions.ask_to_stop orc.conversations.transitions.fail_turn"
            " orc.conversations.transitions.history_of"
            " orc.conversations.transitions.renew_turn orc.conversations.transitions.reopen_turn"
            " orc.conversations.transitions.replaced_turn orc.exports.service.too_long"
            " orc.turns.event_log.RecentTurns.add orc.turns.event_log.RecentTurns.find"
            " orc.turns.results.live_log orc.turns.requests.TurnRequest.was_sent_as"
            " orc.turns.requests.TurnRequest.conversation_for orc.turns.results.in_flight"
            " orc.turns.spans.begin_turn_span"
            " orc.turns.results.result_of orc.turns.results.stopped_result_of orc.turns.results.telemetry_of",
        ),
        (
            _COUNTED,
            "orc_core.analysis.llm.batches orc_core.offline.model.OfflineModel.get_num_tokens"
            " orc.graphs.cited_pages.around_quotes"
            " mcp_server.tools.document_context.fit_to_window"
            " mcp_server.tools.document_context.refuse_too_long"
            " orc.graphs.prompts.newest_messages orc.graphs.prompts.shrink_to_window"
            " orc.graphs.prompts.sources_prompt orc.graphs.query_planner.planning_prompt"
            " orc_core.llm.tokens.TokenCounter.count"
            " orc_core.llm.tokens.section_tokens orc_core.llm.tokens.tools_tokens",
        ),
        (
            _NAMES,
            "orc_core.search.statistics.ScopeStatistics.only_on_first_pages"
            " orc_core.search.candidates.best_documents orc_core.search.candidates.document_terms"
            " orc_core.search.vocabulary.Vocabulary.__init__ mcp_server.tools.scope_filter.named_ids"
            " orc_core.analysis.allowance.DailyTokens.add orc_core.analysis.allowance.DailyTokens.are_used_up"
            " orc_core.offline.model.OfflineModel.bind_tools orc_core.search.postings.DocumentIndex.find"
            " orc_core.search.postings.DocumentIndex.terms_with_prefix"
            " mcp_server.tools.attachments.file_statuses"
            " mcp_server.tools.pages.page_reference mcp_server.tools.registration.offer"
            " orc.graphs.plan_rules.check_intents orc.graphs.query_planner.ordered_steps"
            " orc.graphs.query_planner.plan_schema orc_core.names.Owner.of_context orc_core.names.is_reserved"
            " orc_core.names.name_in_context orc_core.documents.image_limits.ImageLimits.why_none"
            " orc_core.grounding.sources.picture_label"
            " orc_core.ocr.tesseract.Tesseract.__init__"
            " orc_core.storage.blob.documents.AzureBlobStore.__init__"
            " orc_core.storage.blob.documents.BlobPageStore.__init__ orc_core.text.normal_forms.is_mark"
            " orc.api.turn_schemas.SessionContextView.of_context"
            " orc.conversations.session_contexts.turns_with orc.exports.rendering.PdfRenderer.__init__",
        ),
    )
    for name in names.split()
}
"""Public functions that take text and are not measured, with the reason."""

_CHILD = "runs in the extraction child, which has limits"
_CONFIGURED = "reads settings, addresses, keys and headers"
_IDS = "reads ids, names and sort keys"
_SENT_ON = "passes text to a service or a store as it is"
_OWN_QUESTIONS = "runs in a command, on questions of the user's own file"
WITHOUT_TEXT: Mapping[str, str] = {
    place: reason
    for reason, places in (
        (_CHILD, "orc_core/extraction"),
        (
            _CONFIGURED,
            "orc_core/infra orc_core/bootstrap.py orc_core/storage/factory.py"
            " orc_core/llm/factory.py orc_core/llm/errors.py"
            " orc_core/llm/provider.py orc_core/llm/model_catalog.py orc_core/llm/retries.py"
            " orc_core/errors.py orc/bootstrap.py orc/cli orc/problems.py"
            " orc/readiness.py orc/settings.py orc/api/auth.py orc/api/issuer_keys.py"
            " orc/judges/building.py orc/judges/measured.py"
            " orc/api/origins.py orc/api/tracing.py orc/api/app.py mcp_server/auth.py mcp_server/bootstrap.py"
            " mcp_server/settings.py mcp_server/server.py mcp_server/web/http.py orc/api/pages",
        ),
        (
            _IDS,
            "orc_core/documents/jobs.py orc_core/documents/places.py orc_core/documents/scope.py"
            " orc_core/documents/stores.py"
            " orc_core/documents/pictures.py orc_core/storage/cosmos orc_core/storage/blob/account.py"
            " orc_core/storage/blob/client.py orc_core/storage/folder.py orc_core/storage/inspection.py"
            " orc_core/storage/backup.py orc_core/storage/queue.py orc/limits orc/user_limits.py"
            " orc/identity.py"
            " orc/contexts/ids.py orc/contexts/places.py orc/contexts/rights.py orc/contexts/service.py"
            " orc/contexts/cosmos.py orc/contexts/sqlite.py orc/traces orc/api/errors.py",
        ),
        (
            _SENT_ON,
            "orc_core/storage/sqlite orc_core/storage/ai_search/client.py orc_core/storage/ai_search/index.py"
            " orc_core/storage/ai_search/vectors.py orc_core/storage/upstash"
            " orc_core/storage/provider_files.py"
            " orc/judges/azure.py orc/judges/model.py orc_core/ocr/azure.py orc_core/ocr/rasterize.py"
            " orc_core/llm/openai_chat.py mcp_server/web/engines.py"
            " orc/tools/mcp_client.py orc/tools/mcp_messages.py orc/api/openai_errors.py"
            " orc/conversations/cosmos.py orc/conversations/sqlite.py",
        ),
        (_OWN_QUESTIONS, "orc/trial"),
    )
    for place in places.split()
}
"""Folders and modules whose functions work on no text, with the reason."""
