// Written from the OpenAPI document by `python -m scripts.describe_web_types`.

export interface Schemas {
  Action: "context_created" | "context_changed" | "context_deleted" | "context_removed" | "role_granted" | "self_grant" | "role_withdrawn" | "document_added" | "document_taken_back" | "link_made" | "link_withdrawn" | "session_expired" | "document_expired";
  AskRequest: {
    blob_names: Array<string | Schemas["BlobName"]> | null;
    contexts: Array<Schemas["ContextRef"]>;
    tools: Record<string, boolean>;
    model: string | null;
    replaces: string | null;
    feature_flags: Schemas["FeatureFlags"];
    closest_passages: boolean;
    question: string;
    conversation_id: string | null;
  };
  AuditResponse: {
    entries: Array<Schemas["AuditView"]>;
    next_cursor: string | null;
  };
  AuditView: {
    at: string;
    actor: string;
    action: Schemas["Action"] | string;
    context_id: string | null;
    conversation_id: string | null;
    principal: string | null;
    role_before: Schemas["Role"] | string | null;
    role_after: Schemas["Role"] | string | null;
    document_id: string | null;
    trace_id: string;
  };
  AuthMode: "local" | "easyauth" | "jwt" | "oidc";
  BlobName: {
    blob_name: string;
    context: Schemas["DocumentContext"] | null;
  };
  Body_upload: {
    file: Array<string>;
  };
  Body_upload_to_context: {
    file: Array<string>;
  };
  CallTrace: {
    role: string;
    model: string;
    calls: number;
    input_tokens: number;
    output_tokens: number;
    estimated: boolean;
    duration_ms: number | null;
    cost_usd: number | null;
  };
  Can: {
    ask: boolean;
    upload: boolean;
    create_contexts: boolean;
    administer: boolean;
  };
  ChatRequest: {
    blob_names: Array<string | Schemas["BlobName"]> | null;
    contexts: Array<Schemas["ContextRef"]>;
    tools: Record<string, boolean>;
    model: string | null;
    replaces: string | null;
    feature_flags: Schemas["FeatureFlags"];
    closest_passages: boolean;
    messages: Array<Schemas["SaidMessage"]>;
    session_id: string | null;
  };
  ChatSession: {
    sessionId: string;
    title: string | null;
    messageCount: number;
    lastMessageAt: string;
    createdAt: string;
    messages: Array<Schemas["WorkspaceMessage"]> | null;
  };
  ChatSessionResponse: {
    session: Schemas["ChatSession"];
    earlierBeforeSeq: number | null;
  };
  ChatSessionsResponse: {
    sessions: Array<Schemas["ChatSession"]>;
    nextCursor: string | null;
  };
  Citation: {
    document_id: string;
    blob_name: string;
    page: number;
    url: string | null;
    document_version: string;
    media_type: string;
    context_type: string | null;
    context_id: string | null;
    context_name: string | null;
    focus: boolean;
    page_id: string;
    quote: string;
    start: number;
    end: number;
    check: "quoted" | "supported" | "reworded" | "differs" | "unsupported" | "picture";
    missing: Array<string>;
    reason: string;
    closest: boolean;
    by_code: boolean;
    rectangles: Array<Schemas["Rectangle"]>;
    page_label: string | null;
    marks: Array<Schemas["Mark"]>;
    verified: boolean;
  };
  CitedPage: {
    documentId: string;
    pageNumber: number;
    pageId: string;
  };
  CompletionRequest: {
    model: string;
    messages: Array<Schemas["Message"]>;
    stream: boolean;
    stream_options: Schemas["StreamOptions"] | null;
    metadata: Record<string, string> | null;
    n: number | null;
    tool_choice: string | Record<string, unknown> | null;
    response_format: Record<string, unknown> | null;
    max_tokens: number | null;
  };
  ContextAbove: {
    context_id: string;
    type: Schemas["ContextType"];
    name: string;
  };
  ContextChange: {
    name: string | null;
    description: string | null;
    tools_off: Array<string> | null;
  };
  ContextDocumentsResponse: {
    context_id: string;
    documents: Array<Schemas["DocumentView"]>;
    next_cursor: string | null;
  };
  ContextRef: {
    type: string;
    id: string;
    active: boolean;
  };
  ContextType: "organization" | "folder" | "usecase" | "workspace";
  ContextUploadResponse: {
    context_id: string;
    documents: Array<Schemas["DocumentView"]>;
    errors: Array<Schemas["FieldProblem"]>;
  };
  ContextView: {
    context_id: string;
    type: Schemas["ContextType"];
    name: string;
    description: string;
    tools_off: Array<string>;
    switched_off: Array<Schemas["ToolOff"]>;
    role: Schemas["Role"] | null;
    path: Array<Schemas["ContextAbove"]>;
    version: number;
    updated_at: string;
  };
  ContextsResponse: {
    contexts: Array<Schemas["ContextView"]>;
    next_cursor: string | null;
  };
  ConversationChange: {
    title: string | null;
    is_pinned: boolean | null;
  };
  ConversationResponse: {
    conversation_id: string;
    title: string | null;
    title_by: Schemas["TitleBy"] | null;
    is_pinned: boolean;
    turn_count: number;
    last_mcp_tool_used: string | null;
    created_at: string;
    updated_at: string;
    passage: string | null;
    turn_id: string | null;
    home: Schemas["SessionContextView"] | null;
    contexts: Array<Schemas["SessionContextView"]>;
    turns: Array<Schemas["TurnView"]>;
    earlier_before_seq: number | null;
    next_seq: number | null;
    history: Array<Record<string, unknown>> | null;
  };
  ConversationView: {
    conversation_id: string;
    title: string | null;
    title_by: Schemas["TitleBy"] | null;
    is_pinned: boolean;
    turn_count: number;
    last_mcp_tool_used: string | null;
    created_at: string;
    updated_at: string;
    passage: string | null;
    turn_id: string | null;
  };
  ConversationsResponse: {
    conversations: Array<Schemas["ConversationView"]>;
    next_cursor: string | null;
  };
  Correction: {
    before: string;
    after: string;
  };
  CriticSummary: {
    objections: Array<Schemas["Objection"]>;
    grounded: boolean;
    citations: number;
    quoted: number;
    supported: number;
    reworded: number;
    differs: number;
    unsupported: number;
    picture: number;
    coverage: number;
    uncited: number;
    not_found: boolean;
    statuses: Array<Schemas["StatusMark"]>;
    closest_passages: boolean;
    action: "accept" | "revise" | "retrieve" | "label_unverified" | null;
    attempt: number | null;
    by: "code" | "model" | null;
    failure: string | null;
    attempts: number | null;
    earlier_actions: Array<"accept" | "revise" | "retrieve" | "label_unverified">;
    issues: Array<string>;
    verified: number;
  };
  Critique: {
    objections: Array<Schemas["Objection"]>;
    grounded: boolean;
    coverage: number;
    action: "accept" | "revise" | "retrieve" | "label_unverified";
    attempt: number;
    by: "code" | "model";
    failure: string | null;
    citations: Array<Schemas["Citation"]> | null;
    issues: Array<string>;
  };
  DayTotals: {
    day: string;
    turns: number;
    failed: number;
    input_tokens: number;
    output_tokens: number;
    cost_usd: number;
    unpriced: number;
    p50_ms: number;
    p95_ms: number;
  };
  DaysResponse: {
    days: Array<Schemas["DayTotals"]>;
  };
  Deletion: {
    state: Schemas["State"];
  };
  DependencyView: {
    name: string;
    backend: string;
    ok: boolean;
    latency_ms: number;
    detail: string | null;
  };
  DocumentContext: {
    type: string;
    id: string;
  };
  DocumentStatus: "uploaded" | "processing" | "completed" | "failed";
  DocumentView: {
    document_id: string;
    blob_name: string;
    version: string;
    status: Schemas["DocumentStatus"];
    readable: boolean;
    reason_code: string | null;
    reason: string | null;
    media_type: string;
    size: number;
    pages: number;
    pages_without_text: number;
    pages_by_ocr: number;
    tokens: number;
    summary_available: boolean;
    created_at: string;
    updated_at: string;
  };
  DocumentsResponse: {
    conversation_id: string;
    documents: Array<Schemas["DocumentView"]>;
  };
  ExportFormat: "markdown" | "pdf" | "docx";
  FailedView: {
    documents: number;
  };
  Failure: {
    code: string;
    message: string;
  };
  FeatureFlags: {
    lazy: boolean | null;
    critic: boolean | "off" | "on" | null;
    memory: boolean | null;
    model_searches: boolean | null;
    images: boolean | null;
  };
  Feedback: {
    rating: "up" | "down";
    reason: Schemas["FeedbackReason"] | null;
    comment: string | null;
    given_at: string;
  };
  FeedbackChange: {
    rating: "up" | "down";
    reason: Schemas["FeedbackReason"] | null;
    comment: string | null;
  };
  FeedbackReason: "wrong" | "incomplete" | "not_found" | "sources" | "unclear" | "other";
  FieldProblem: {
    field: string;
    reason: string;
    code: string | null;
  };
  FileRef: {
    file_id: string;
    blob_name: string;
  };
  FileStatus: {
    context_type: Schemas["PlaceType"] | null;
    context_id: string | null;
    context_name: string | null;
    focus: boolean | null;
    document_id: string | null;
    blob_name: string;
    status: "reused" | "created" | "failed";
    sent_as: "file" | "base64" | "text" | null;
    reason: string | null;
    pages: number;
    pages_without_text: number;
  };
  Grant: {
    role: Schemas["Role"];
    label: string;
  };
  GroundingTrace: {
    grounded: boolean;
    citations: number;
    verified: number;
    coverage: number;
    not_found: boolean;
    closest_passages: boolean;
  };
  Health: {
    status: string;
  };
  ImageCounts: {
    sent: number;
    failed: number;
    tokens: number;
  };
  InputItem: {
    role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
    content: string | Array<Schemas["Part"]> | null;
    type: "message";
  };
  JobProgress: {
    done: number;
    total: number;
    what: string;
  };
  JsonValue: unknown;
  KeyRequest: {
    name: string;
    only: "v1" | "mcp" | null;
  };
  KeyView: {
    key_id: string;
    name: string;
    created_at: string;
    ends_at: string;
    last_used: string | null;
    only: "v1" | "mcp" | null;
  };
  KeysResponse: {
    keys: Array<Schemas["KeyView"]>;
  };
  LazyCounts: {
    pages: number;
    summary_tokens: number;
    deferred_tokens: number;
    pages_read: number;
  };
  LeftOut: {
    type: string;
    id: string;
    reason: "not_readable" | "unknown" | "switched_off" | "too_many" | "groups_incomplete" | "unavailable";
  };
  LimitsView: {
    messages: Schemas["WindowView"] | null;
    uploads: Schemas["WindowView"] | null;
    upload_bytes: number;
    files_per_upload: number;
    documents_per_request: number;
    question_characters: number;
  };
  LinkRequest: {
    days: number;
  };
  LinkView: {
    link_id: string;
    created_at: string;
    ends_at: string;
    turn_count: number;
  };
  LinksResponse: {
    links: Array<Schemas["LinkView"]>;
  };
  LookupStep: {
    tool: string;
    status: "ok" | "failed" | "skipped";
    reason_code: "document_chat" | "found" | "nothing_found" | "below_threshold" | "failed" | "unavailable" | "switched_off" | "server_down" | "more_requested" | "read_in_full" | "summaries_only" | "model_called" | "model_call_failed" | "not_looked_up" | "left_out" | "images_sent" | "images_failed" | "images_left_out" | "no_images";
    hits: number;
    tokens: number;
    detail: string;
  };
  Mark: {
    start: number;
    end: number;
  };
  Me: {
    user_id: string;
    organization_id: string;
    name: string | null;
    roles: Array<string>;
    groups_complete: boolean;
    may_create: Array<Schemas["ContextType"]>;
    can: Schemas["Can"];
    sign_in: Schemas["SignIn"];
    limits: Schemas["LimitsView"];
    extensions: Array<string>;
    models: Array<Schemas["ModelView"]>;
    page_images: boolean;
    page_images_allowed: boolean;
    tools: Array<Schemas["ToolView"]>;
    direct_upload_origin: string | null;
    share_days: number;
    offline_model: boolean;
    version: string;
    languages: Array<string>;
  };
  MemberView: {
    context_id: string;
    principal: string;
    role: Schemas["Role"];
    label: string;
    granted_at: string;
  };
  MembersResponse: {
    members: Array<Schemas["MemberView"]>;
    next_cursor: string | null;
  };
  MemoryResponse: {
    notes: Array<Schemas["NoteView"]>;
  };
  Message: {
    role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
    content: string | Array<Schemas["Part"]> | null;
  };
  ModelView: {
    id: string;
    title: string;
    default: boolean;
    images: boolean;
  };
  NewContext: {
    type: Schemas["ContextType"];
    name: string;
    description: string;
    parent_id: string | null;
  };
  NewKey: {
    key_id: string;
    name: string;
    created_at: string;
    ends_at: string;
    last_used: string | null;
    only: "v1" | "mcp" | null;
    key: string;
  };
  NewLink: {
    link_id: string;
    created_at: string;
    ends_at: string;
    turn_count: number;
    secret: string;
  };
  NotSearched: {
    documents: Array<Schemas["UnsearchedDocument"]>;
    total: number;
  };
  NoteKind: "fact" | "preference" | "question";
  NoteView: {
    note_id: string;
    kind: Schemas["NoteKind"];
    text: string;
    last_seen: number;
  };
  Objection: {
    code: "differs" | "unsupported" | "uncited" | "unknown_source" | "empty_citation" | "too_many_brackets" | "cut" | "not_searched" | "not_read" | "not_fitting" | "nothing_searched" | "pages_unread" | "no_further_attempt" | "not_revised" | "revision_worse" | "other";
    text: string;
    claim: string | null;
    name: string | null;
    page: number | null;
    number: number | null;
    missing: Array<string>;
  };
  PageCard: {
    page: number;
    label: string | null;
    summary: string;
    topics: Array<string>;
    has_image: boolean;
  };
  PageCardsResponse: {
    version: string;
    total: number;
    pages: Array<Schemas["PageCard"]>;
  };
  PageView: {
    page: number;
    label: string | null;
    text: string;
    width: number | null;
    height: number | null;
    version: string;
    media_type: string;
    boxes: Array<Schemas["WordBox"]> | null;
  };
  Part: {
    type: string;
    text: string;
  };
  PeopleResponse: {
    people: Array<Schemas["Person"]>;
    is_complete: boolean;
  };
  Person: {
    kind: "user" | "group";
    id: string;
    name: string;
    email: string;
  };
  PlaceType: "session" | "organization" | "folder" | "usecase" | "workspace";
  Plan: {
    rewritten_query: string;
    steps: Array<"retrieve" | "web_search" | "both" | "answer">;
    confidence: number;
    decided_by: "rules" | "model" | "fallback";
    fallback: string | null;
    escalation: string | null;
    tools_off: Array<Schemas["ToolOff"]>;
    documents: Array<string>;
    web: "planned" | "no_documents" | "not_planned" | "not_needed" | "named_documents" | "switched_off" | "unavailable";
  };
  PlanTrace: {
    steps: Array<"retrieve" | "web_search" | "both" | "answer">;
    confidence: number;
    decided_by: "rules" | "model" | "fallback";
    fallback: "not_planned" | "not_available" | null;
    escalated: boolean;
  };
  PrincipalKind: "user" | "group" | "everyone";
  Problem: {
    type: string;
    title: string;
    status: number;
    detail: string;
    trace_id: string;
    code: string;
    retryable: boolean;
    retry_after: number | null;
    dependency: string | null;
    conversation_id: string | null;
    turn_id: string | null;
    documents: Record<string, number> | null;
    errors: Array<Schemas["FieldProblem"]>;
  };
  ProposalState: "open" | "done" | "declined" | "undone";
  ProposalView: {
    proposal_id: string;
    document_id: string;
    blob_name: string;
    context_type: Schemas["PlaceType"];
    context_id: string;
    context_name: string;
    state: Schemas["ProposalState"];
    created_at: string;
  };
  ProposalsResponse: {
    proposals: Array<Schemas["ProposalView"]>;
  };
  ReadableRef: {
    type: string;
    id: string;
    name: string;
    role: string;
  };
  Readiness: {
    status: string;
    dependencies: Array<Schemas["DependencyView"]>;
  };
  ReadingResponse: {
    files: Record<string, Schemas["JobProgress"]>;
  };
  Rectangle: {
    left: number;
    top: number;
    right: number;
    bottom: number;
  };
  ResponseRequest: {
    model: string;
    input: string | Array<Schemas["InputItem"]>;
    stream: boolean;
    previous_response_id: string | null;
    conversation: string | Record<string, string> | null;
    metadata: Record<string, string> | null;
    tool_choice: string | Record<string, unknown> | null;
    text: Schemas["TextOptions"] | null;
    background: boolean | null;
  };
  RetrievalStep: {
    method: "semantic" | "hybrid" | "vector" | "lexical" | "widened_lexical";
    threshold: number | null;
    hits: number;
    served: boolean;
    note: string;
  };
  Role: "viewer" | "editor" | "admin";
  Route: {
    intent: string;
    model: string;
    retriever: "document_chat" | "search" | "summaries" | "tools" | "web" | "none";
    max_output_tokens: number | null;
  };
  SaidMessage: {
    role: "user" | "assistant" | "system" | "developer" | "tool" | "function";
    content: string;
    file_id: string | null;
  };
  SearchTrace: {
    method: "semantic" | "hybrid" | "vector" | "lexical" | "widened_lexical";
    threshold: number | null;
    hits: number;
    served: boolean;
  };
  SelectionTrace: {
    method: "none" | "lexical" | "embeddings";
    summary_points: number;
    notes: number;
    left_out: number;
  };
  SessionContextView: {
    type: string;
    context_id: string | null;
    name: string | null;
    gone: boolean;
  };
  SharedConversation: {
    title: string | null;
    owner_name: string | null;
    created_at: string;
    ends_at: string;
    turns: Array<Schemas["SharedTurn"]>;
    next_seq: number | null;
  };
  SharedTurn: {
    seq: number;
    place: number;
    status: Schemas["TurnStatus"];
    question: string;
    blob_names: Array<string>;
    answer: string;
    answer_kind: "answer" | "closest_passages" | "not_found" | null;
    citations: Array<Schemas["Citation"]>;
    metadata: Record<string, Schemas["JsonValue"]>;
    created_at: string;
  };
  SignIn: {
    mode: Schemas["AuthMode"];
    sign_in_url: string | null;
    sign_out_url: string | null;
  };
  State: "present" | "deleting";
  StatusMark: {
    at: number;
    status: "none" | "talk";
  };
  StopView: {
    turn_id: string;
    status: Schemas["TurnStatus"];
  };
  StreamOptions: {
    include_usage: boolean;
  };
  SuggestionsResponse: {
    suggestions: Array<string>;
    by: "model" | "code";
  };
  TelemetryResponse: {
    turns: Array<Schemas["TurnSummary"]>;
    next_cursor: string | null;
  };
  TextOptions: {
    format: Record<string, unknown> | null;
  };
  TicketRequest: {
    file_name: string;
    size: number;
  };
  TimelineStep: {
    kind: "plan" | "tool" | "model" | "answer" | "critique" | "reset" | "revised" | "store";
    name: string;
    offset_ms: number;
    duration_ms: number;
    failed: boolean;
  };
  TitleBy: "file" | "words" | "model" | "user";
  ToolOff: {
    tool: string;
    context_type: string;
    context_name: string;
    context_id: string;
  };
  ToolStep: {
    name: string;
    status: "finished" | "failed" | "unfinished";
    duration_ms: number | null;
    message: string | null;
    code: string | null;
    arguments: Record<string, Schemas["JsonValue"]>;
    hits: number | null;
  };
  ToolTrace: {
    name: string;
    status: "finished" | "failed" | "unfinished";
    duration_ms: number | null;
    error_code: string | null;
    hits: number | null;
  };
  ToolView: {
    name: string;
    title: string;
    description: string;
    available: boolean;
    kind: "read" | "update";
  };
  TraceResponse: {
    trace_id: string;
    turns: Array<Schemas["TurnTrace"]>;
    next_cursor: string | null;
  };
  TurnChoices: {
    tools: Record<string, boolean>;
    model: string | null;
    feature_flags: Record<string, Schemas["JsonValue"]>;
    closest_passages: boolean;
  };
  TurnContext: {
    type: string;
    id: string;
    active: boolean;
    name: string;
  };
  TurnContexts: {
    focus: Schemas["ReadableRef"] | null;
    active: Array<Schemas["ReadableRef"]>;
    historical: Array<Schemas["ReadableRef"]>;
    used: Array<Schemas["UsedContext"]>;
    left_out: Array<Schemas["LeftOut"]>;
  };
  TurnMetadata: {
    trace_id: string;
    route: Schemas["Route"] | Record<string, unknown>;
    plan: Schemas["Plan"] | Record<string, unknown>;
    retrieval_mode: "inline" | "rag" | "mixed" | "web" | "none";
    retrieval_reason: string;
    retrieval_steps: Array<Schemas["RetrievalStep"]>;
    lookups: Array<Schemas["LookupStep"]>;
    context_budget: Record<string, number>;
    summary_selection: Record<string, Schemas["JsonValue"]>;
    critic_summary: Schemas["CriticSummary"] | Record<string, unknown>;
    lazy: Schemas["LazyCounts"];
    images: Schemas["ImageCounts"];
    contexts: Schemas["TurnContexts"] | null;
    files: Array<Schemas["FileStatus"]>;
    not_searched: Schemas["NotSearched"];
    unknown_files: Array<Schemas["UnknownFile"]>;
    usage: Schemas["Usage"];
    timings_ms: Record<string, number>;
    timeline: Array<Schemas["TimelineStep"]>;
    tools: Array<Schemas["ToolStep"]>;
    critiques: Array<Schemas["Critique"]>;
    withdrawn: Array<string>;
    corrections: Array<Schemas["Correction"]>;
  };
  TurnResult: {
    conversation_id: string;
    turn_id: string;
    status: "committed" | "stopped";
    answer: string;
    answer_kind: "answer" | "closest_passages" | "not_found";
    citations: Array<Schemas["Citation"]>;
    uploaded_file_refs: Array<Schemas["FileRef"]>;
    last_mcp_tool_used: string | null;
    metadata: Schemas["TurnMetadata"];
  };
  TurnStatus: "pending" | "committed" | "failed" | "stopped";
  TurnSummary: {
    trace_id: string;
    turn_id: string;
    attempt: string;
    user_id: string;
    conversation_id: string;
    started_at: string;
    duration_ms: number;
    first_token_ms: number | null;
    status: "done" | "failed" | "stopped";
    error_code: string | null;
    intent: string | null;
    model: string | null;
    retriever: "document_chat" | "search" | "summaries" | "tools" | "web" | "none" | null;
    rating: "up" | "down" | null;
    usage: Schemas["Usage"];
    cost_usd: number | null;
  };
  TurnTrace: {
    trace_id: string;
    turn_id: string;
    attempt: string;
    organization_id: string;
    user_id: string;
    conversation_id: string;
    started_at: string;
    duration_ms: number;
    first_token_ms: number | null;
    status: "done" | "failed" | "stopped";
    error_code: string | null;
    intent: string | null;
    model: string | null;
    retriever: "document_chat" | "search" | "summaries" | "tools" | "web" | "none" | null;
    plan: Schemas["PlanTrace"] | null;
    retrieval_mode: "inline" | "rag" | "mixed" | "web" | "none";
    searches: Array<Schemas["SearchTrace"]>;
    context_budget: Record<string, unknown>;
    history_turns: number;
    selection: Schemas["SelectionTrace"];
    lazy: Schemas["LazyCounts"];
    images: Schemas["ImageCounts"];
    tools: Array<Schemas["ToolTrace"]>;
    calls: Array<Schemas["CallTrace"]>;
    usage: Schemas["Usage"];
    cost_usd: number | null;
    verdicts: Array<Schemas["VerdictTrace"]>;
    grounding: Schemas["GroundingTrace"] | null;
    rating: "up" | "down" | null;
    rating_reason: Schemas["FeedbackReason"] | null;
    timeline: Array<Schemas["TimelineStep"]>;
    left_out: number;
  };
  TurnView: {
    turn_id: string;
    seq: number;
    status: Schemas["TurnStatus"];
    question: string;
    blob_names: Array<string>;
    contexts: Array<Schemas["TurnContext"]>;
    choices: Schemas["TurnChoices"];
    answer: string | null;
    answer_kind: "answer" | "closest_passages" | "not_found" | null;
    citations: Array<Schemas["Citation"]>;
    metadata: Schemas["TurnMetadata"] | Record<string, unknown>;
    failure: Schemas["Failure"] | null;
    created_at: string;
    finished_at: string | null;
    replaces: string | null;
    place: number;
    replaced_by: string | null;
    feedback: Schemas["Feedback"] | null;
    result: Record<string, Schemas["JsonValue"]> | null;
  };
  UnknownFile: {
    name: string;
    similar: string | null;
  };
  UnsearchedDocument: {
    blob_name: string;
    status: Schemas["DocumentStatus"];
    reason_code: string | null;
    reason: string | null;
  };
  UploadResponse: {
    conversation_id: string;
    documents: Array<Schemas["DocumentView"]>;
    errors: Array<Schemas["FieldProblem"]>;
  };
  UploadTicketView: {
    blob_name: string;
    url: string;
    headers: Record<string, string>;
    expires_at: string;
  };
  Usage: {
    model_calls: number;
    input_tokens: number;
    output_tokens: number;
    reasoning_tokens: number;
    estimated: boolean;
  };
  UsedContext: {
    type: string;
    id: string;
    name: string;
    focus: boolean;
    cited: number;
    shown: number;
  };
  VerdictTrace: {
    attempt: number;
    action: "accept" | "revise" | "retrieve" | "label_unverified";
    by: "code" | "model";
    grounded: boolean;
    coverage: number;
    issues: number;
    failed: boolean;
  };
  WindowView: {
    limit: number;
    seconds: number;
  };
  Withdrawn: {
    withdrawn: number;
  };
  WordBox: {
    rectangles: Array<Schemas["Rectangle"]>;
  };
  WorkspaceAnswer: {
    conversation_id: string;
    turn_id: string;
    status: "committed" | "stopped";
    answer: string;
    answer_kind: "answer" | "closest_passages" | "not_found";
    citations: Array<Schemas["Citation"]>;
    uploaded_file_refs: Array<Schemas["FileRef"]>;
    last_mcp_tool_used: string | null;
    metadata: Schemas["TurnMetadata"];
    session_id: string;
    sessionId: string;
    message: Schemas["WorkspaceMessage"];
  };
  WorkspaceMessage: {
    id: string;
    role: "user" | "assistant";
    content: string;
    citations: Array<Schemas["CitedPage"]>;
    createdAt: string;
  };
  WorkspaceQuestion: {
    blob_names: Array<string | Schemas["BlobName"]> | null;
    contexts: Array<Schemas["ContextRef"]>;
    tools: Record<string, boolean>;
    model: string | null;
    replaces: string | null;
    feature_flags: Schemas["FeatureFlags"];
    closest_passages: boolean;
    message: string;
    session_id: string | null;
    stream: boolean;
  };
}
