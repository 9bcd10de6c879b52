// The shapes that the page works with: those of the API, and what the page adds.
import type { Child, ReadonlySignal, Signal } from "../vendor/ui.js";
import type { Schemas } from "./api.js";

export type { Child, ReadonlySignal, Signal };

export type Mark = Schemas["Mark"];
export type Citation = Schemas["Citation"];
export type Document = Schemas["DocumentView"];
export type ConversationHead = Schemas["ConversationView"];
export type TurnResult = Omit<Schemas["TurnResult"], "citations"> & { citations: Citation[] };
export type Metadata = Schemas["TurnMetadata"];
export type Problem = Pick<Schemas["Problem"], "status" | "detail" | "code" | "trace_id"> & Partial<Schemas["Problem"]>;
export type Context = Schemas["ContextView"];
export type Feedback = Pick<Schemas["Feedback"], "rating" | "reason" | "comment">;
export type Lookup = Schemas["LookupStep"];
export type Objection = Pick<Schemas["Objection"], "code" | "text"> & Partial<Schemas["Objection"]>;
export type StoredTurn = Schemas["TurnView"];
export type Conversation = Schemas["ConversationResponse"];
export type Me = Schemas["Me"];
export type ToolOff = Schemas["ToolOff"];
export type ToolInfo = Schemas["ToolView"];
export type Proposal = Schemas["ProposalView"];
export type Reading = Schemas["ReadingResponse"];
export type PageText = Schemas["PageView"];
export type PageCard = Schemas["PageCard"];
export type PageCards = Schemas["PageCardsResponse"];
export type Heads = Schemas["ConversationsResponse"];
export type ContextsPage = Schemas["ContextsResponse"];
export type Member = Schemas["MemberView"];
export type People = Schemas["PeopleResponse"];
export type Person = Schemas["PeopleResponse"]["people"][number];
export type Role = Schemas["Role"];
export type ApiKey = Schemas["KeyView"];
export type ShareLink = Schemas["LinkView"];
export type SharedConversation = Schemas["SharedConversation"];

// --- Turns

export type TurnState =
  | "waiting" | "streaming" | "elsewhere" | "stopping"
  | "answered" | "stopped" | "failed" | "interrupted" | "refused";

export interface Step { kind: "plan" | "tool" | "critique" | "route" | "context"; text: string; failed?: boolean }

/** What a turn looks like at a moment. A new object with every change. */
export interface TurnView {
  key: string;
  turnId: string | null;
  seq: number;
  state: TurnState;
  question: string;
  files: string[];
  contexts: { type: string; id: string; name?: string }[];
  tools: Record<string, boolean>;
  model: string | null;
  text: string;
  kind: string;
  citations: Citation[];
  /** While the answer is written: markers so far. */
  marks: Place[];
  /** While the answer is written: whether its checks are known already. */
  judged?: boolean;
  withdrawn: { text: string; objections: Objection[] } | null;
  status: Step | null;
  metadata: Partial<Metadata> | null;
  problem: Problem | null;
  replaces: string | null;
  /** The `seq` of its first version; 0: not known yet. */
  place: number;
  feedback: Feedback | null;
  suggestions: string[];
  retryAt: number | null;
  /** Whether it is asked once the files are uploaded. */
  waits: boolean;
  createdAt: string;
}

/** Where a marker is in the text of an answer, in UTF-16 units, with the index of its citation. */
export interface Place { start: number; end: number; index: number }
/** What is shown at the place with this number. */
export type ChildAt = (place: number) => Child;

/** A question as it is sent, and what its turn shows. The same key never asks twice. */
export interface Question { key: string; body: Record<string, unknown>; shown?: Partial<TurnView> }
/** Why the last question was not taken, and from when on one may ask again, in ms (0: at any time). */
export interface Refusal { problem: Problem; until: number }
/** What the API has of a turn whose ratings are still being sent, and how many those are. */
export interface Rating { kept: Feedback | null; waiting: number }
/** What a session is asked with, as the browser keeps it. `pictures` is null if the server decides. */
export interface Choices {
  contexts: { type: string; id: string; name: string }[];
  toolsOff: string[];
  pictures: boolean | null;
  model: string;
}
/** How a turn is asked for again, and what it was. */
export interface Retry { path: string; key: string; before: TurnView }

// --- Files

export interface Upload {
  key: string;
  /** The id of the session or context that it goes to. */
  place: string;
  name: string;
  size: number;
  state: "waiting" | "sending" | "failed";
  sent: number;
  /** How much of it the server has read, once it says so. */
  read?: number;
  /** Whether it may take the place of a file of its name in a context; whether nothing is said of that. */
  replace: boolean;
  quiet: boolean;
  /** The version of the document that it takes the place of. */
  replaces?: string;
  /** Why it failed, if it did; when it was chosen. */
  problem: Pick<Problem, "code" | "detail" | "status">;
  at: string;
  /** What can be done if the name is taken. */
  taken?: Taken;
}
export interface Taken { replace: () => void; both: () => void }

/** Where files are uploaded to. */
export interface Target {
  id: string;
  /** That of its documents in the API. */
  address: string;
  /** Whether no file of this name may be sent yet. */
  holds?: (name: string) => boolean;
  /** The document of this name, if it is known. */
  known: (name: string) => Document | undefined;
  /** Asks the server for the document of this name, if not all are known. */
  find?: (name: string) => Promise<Document | undefined>;
  /** The bytes of the document that is about to be replaced. */
  content: (earlier?: Document) => Promise<File | null>;
  /** `wanted` is null if the upload was cancelled meanwhile. */
  arrived: (stored: Document[], upload: Upload, wanted: Upload | null) => void;
  /** Lists the files again. */
  again?: () => void;
}

/** How much of the work on a document is done. */
export interface Progress { done: number; total: number }
/** The request of an upload. */
export interface Sending { request: XMLHttpRequest; upload: Upload; file: File; target: Target }
/** A removal that can be taken back until it is being carried out. */
export interface Removal { key: string; session: string; name: string; document: Document }

/** What is shown of a file. */
export interface FileWidget {
  id: string;
  name: string;
  bytes: number;
  pages: number;
  /** When it was stored; "" for uploads. */
  added: string;
  status: string;
  state: "failed" | "busy" | "ready";
  /** null: it is not known how far. */
  progress?: number | null;
  asked?: boolean;
  taken?: Taken;
  onAsk?: () => void;
  onReplace?: () => void;
  onRemove?: () => void;
}

export interface ShelfProperties {
  rows: FileWidget[];
  /** Whether the list was read: until then, nobody knows that it is empty. */
  isKnown?: boolean;
  target: Target;
  mayChange?: boolean;
  onAdd: (files: File[]) => void;
  onRemoveAll?: (rows: FileWidget[]) => void;
  /** Files beyond those of the list are found by the API. */
  onQuery?: (text: string) => void;
}

// --- Sources

/** A cited page with its number, and the indexes of its citations. */
export interface Source { key: string; citation: Citation; number: number; indexes: number[] }
/** The quote that is shown while the pointer or the focus is on its marker. */
export interface Peeked { citation: Citation; at: DOMRect }

/** `path` is that of the document in the API, `panel` has the focus once it is opened. */
export interface PageProperties { turn: TurnView; index: number; path: string; panel: Ref<HTMLElement> }
export interface PictureProperties {
  citation: Citation;
  path: string;
  number: number;
  index: number;
  zoom: number;
  setZoom: (zoom: number) => void;
  enlarge: (steps: number) => void;
  onFail: (error: unknown) => void;
}
export interface ToolbarProperties {
  source: number;
  sources: number;
  quotes: number;
  number: number;
  total: number;
  onStep: (by: number) => void;
  onPage: ((by: number) => void) | null;
}

// --- Telemetry

export type Day = Schemas["DayTotals"];
export type Trace = Schemas["TurnTrace"];
export type TraceSummary = Schemas["TurnSummary"];
export type TelemetryPage = Schemas["TelemetryResponse"];
export interface Series { name: keyof Day; words: string; colour: number }
export interface Filters { from: string; to: string; status: string; user_id: string; model: string; trace_id: string }

export interface PlotProperties {
  title: string;
  days: Day[];
  series: Series[];
  format: (value: number) => string;
  lines?: boolean;
  onDay: (day: string) => void;
}
export interface TurnsProperties {
  turns: TraceSummary[];
  chosen: TraceSummary | null;
  onChoose: (turn: TraceSummary) => void;
}

// --- The page

/** `source` is the number of the citation of `turn` that is open, 0 for all of them; without it, `turn` was found by a search. */
export interface Address { view: "session" | "shared" | "contexts" | "telemetry"; id: string | null; turn?: string; source?: number }
export type Kept = "localStorage" | "sessionStorage";

export interface Preferences {
  theme: "" | "light" | "dark";
  language: string;
  sendKey: "enter" | "ctrl";
  folded: boolean;
  /** In pixels; 0: a part of the window. */
  panelWidth: number;
  /** That of the list of sessions; 0: the usual one. */
  listWidth: number;
}

export interface Notice {
  key: string;
  text: string;
  kind: "info" | "error";
  actions?: { label: string; run: () => void }[];
  seconds?: number;
}

/** What is done in a while, or as the page is left (`keepalive`), unless it is taken back. `focus` is what has the focus then. */
export interface Deed {
  key: string;
  focus: string;
  act: (keepalive: boolean) => Promise<void>;
  undo: () => void;
  ending?: Promise<void>;
}

export interface Ref<T> { current: T | null }
export interface ButtonProperties {
  name: string;
  label: string;
  onClick: (event: MouseEvent) => void;
  pressed?: boolean;
  disabled?: boolean;
  id?: string;
  class?: string;
}
export interface ToggleProperties {
  icon: string;
  label: string;
  detail?: string;
  pressed: boolean;
  disabled?: boolean;
  onClick: () => void;
}
export interface ChoiceProperties {
  label: string;
  value: string;
  options: [value: string, text: string][];
  onChange: (value: string) => void;
}
export interface DialogProperties { label: string; onClose: () => void; class?: string; children?: Child }

// --- Requests

/** What a request sends. */
export interface Sent {
  json?: unknown;
  form?: FormData;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The request ends although the page is left. */
  keepalive?: boolean;
}

export interface SseEvent { id: string; event: string; data: string }
export type Words = Record<string, string | Record<string, string>>;
