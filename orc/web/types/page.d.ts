// The shapes that the page works with: those of the API, and what the page adds.
import type { Schemas } from "./api.js";

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
export type ToolInfo = Schemas["ToolView"];
export type PageText = Schemas["PageView"];
export type PageCard = Schemas["PageCard"];

export type TurnState =
  | "waiting" | "streaming" | "elsewhere" | "stopping"
  | "answered" | "stopped" | "failed" | "interrupted" | "refused";

export interface Step { kind: "plan" | "tool" | "critique" | "route"; text: string; failed?: boolean }

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
  /** While the answer is written: markers so far, with the index of their citation. */
  marks: { start: number; end: number; index: number }[];
  withdrawn: { text: string; objections: Objection[] } | null;
  status: Step | null;
  metadata: Partial<Metadata> | null;
  problem: Problem | null;
  replaces: string | null;
  feedback: Feedback | null;
  suggestions: string[];
  retryAt: number | null;
  createdAt: string;
}

export type Upload = {
  key: string;
  /** The id of the conversation that it was attached to. */
  session: string;
  name: string;
  size: number;
  state: "waiting" | "sending" | "failed";
  sent: number;
  /** The version of the document that it takes the place of. */
  replaces?: string;
  /** Why it failed, in the language of the page. */
  reason: () => string;
};

export interface SseEvent { id: string; event: string; data: string }
export type Words = Record<string, string | Record<string, string>>;
