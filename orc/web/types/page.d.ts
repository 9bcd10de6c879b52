// The shapes that the page works with: those of the API, and what the page adds.
import type { Schemas } from "./api.js";

export interface Mark { start: number; end: number }
export type Citation = Schemas["Citation"] & {
  marks: Mark[];
  document_version: string;
  media_type: string;
  page_label: string | null;
  context_type: string;
  context_id: string;
  context_name: string;
};
export type Document = Schemas["DocumentView"];
export type ConversationHead = Schemas["ConversationView"];
export type TurnResult = Omit<Schemas["TurnResult"], "citations"> & {
  citations: Citation[];
  status?: string;
};
export type Metadata = Schemas["TurnMetadata"];
export type Problem = Schemas["Problem"];
export type Context = Schemas["ContextView"];
export interface Feedback { rating: "up" | "down"; reason?: string | null; comment?: string | null }
export interface StoredTurn {
  turn_id: string;
  seq: number;
  status: "pending" | "committed" | "failed" | "stopped";
  question: string;
  blob_names: string[];
  contexts: { type: string; id: string; name?: string }[];
  choices: { tools?: Record<string, boolean>; model?: string | null };
  answer: string | null;
  answer_kind?: string;
  citations: Citation[];
  metadata: Partial<Metadata> | null;
  failure: { code: string; message: string } | null;
  created_at: string;
  finished_at: string | null;
  replaces: string | null;
  replaced_by: string | null;
  feedback: Feedback | null;
}
export interface Conversation extends ConversationHead {
  turns: StoredTurn[];
  earlier_before_seq: number | null;
}
export type Me = Schemas["Me"];
export type ToolInfo = Schemas["ToolView"];
export interface PageText {
  page: number; label: string | null; text: string; width: number | null; height: number | null;
  version: string; media_type: string;
}
export interface PageCard {
  page: number; label: string | null; summary: string | null; topics: string[]; has_image: boolean;
}

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
  withdrawn: { text: string; reason: string } | null;
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
  name: string;
  size: number;
  state: "waiting" | "sending" | "failed";
  sent: number;
  reason: string;
};

export interface SseEvent { id: string; event: string; data: string }
export type Words = Record<string, string | Record<string, string>>;
