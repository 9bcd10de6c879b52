// Uses the client that openapi-fetch makes of the types of the OpenAPI document: uploads, asks, reads a stream.
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema";

const client = createClient<paths>({ baseUrl: process.argv[2] });
const conversation_id: string = randomUUID();

const form = new FormData();
form.append("file", new Blob(["The quay opens at seven."], { type: "text/plain" }), "a.txt");
const uploaded = await client.POST("/api/conversations/{conversation_id}/documents", {
  params: { path: { conversation_id } },
  body: { file: [] },
  bodySerializer: () => form,
});
if (!uploaded.data) throw new Error(uploaded.error.detail);

const question: components["schemas"]["AskRequest"] = { conversation_id, question: "When does the quay open?", feature_flags: { critic: "off" } };
const asked = await client.POST("/api/orc", { body: question });
if (!asked.data || typeof asked.data === "string") throw new Error("no answer");
const citations = (asked.data.citations ?? []).filter((each) => each.verified).map((each) => each.quote);

const streamed = await client.POST("/api/orc/stream", { body: question, parseAs: "stream" });
if (!streamed.data) throw new Error("no stream");
let events = "";
const decoder = new TextDecoder();
for await (const piece of streamed.data) events += decoder.decode(piece, { stream: true });

const refused = await client.GET("/api/conversations/{conversation_id}", {
  params: { path: { conversation_id: randomUUID() } },
});
console.log(
  JSON.stringify({
    stored: uploaded.data.documents.map((document) => document.blob_name),
    answer: asked.data.answer,
    citations,
    kinds: [...events.matchAll(/^event: (\w+)$/gm)].map((match) => match[1]),
    refused: refused.error?.code,
  }),
);
