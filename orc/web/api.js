// Requests to the API, and streams of its events.

/** @import { Problem, Sent, SseEvent } from "./types/page.js" */

const BASE = "/api";

/** The API refused a request, and says why. */
export class ApiError extends Error {
  /** @param {Problem} problem @param {number} retryAfter seconds */
  constructor(problem, retryAfter = 0) {
    super(problem.detail);
    this.problem = problem;
    this.retryAfter = retryAfter;
  }
}

/**
 * Send a request below `/api`. Throws ApiError for a problem document, TypeError if there is no connection.
 * @param {string} method @param {string} path @param {Sent} [sent]
 */
export async function request(method, path, sent = {}) {
  const headers = new Headers(sent.headers);
  const init = /** @type {RequestInit} */ ({ method, headers, signal: sent.signal, redirect: "manual", keepalive: sent.keepalive });
  if (sent.json !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(sent.json);
  }
  if (sent.form) init.body = sent.form;
  const response = await fetch(BASE + path, init);
  // The API redirects nowhere: a proxy does, to its sign-in.
  if (response.type === "opaqueredirect") throw new ApiError(readProblem(401, "", ""));
  if (!response.ok) throw await problemOf(response);
  return response;
}

/** @param {Response} response */
async function problemOf(response) {
  const text = await response.text().catch(() => "");
  const seconds = Number(response.headers.get("retry-after")) || 0;
  return new ApiError(readProblem(response.status, text, response.headers.get("x-trace-id") ?? ""), seconds);
}

/** The problem document in a response, or one for what is none. @param {number} status @param {string} text @param {string} traceId @returns {Problem} */
export function readProblem(status, text, traceId) {
  try {
    const found = JSON.parse(text);
    if (typeof found?.detail === "string" && typeof found.status === "number") return found;
  } catch {
    // Not JSON.
  }
  return {
    status,
    detail: "",
    trace_id: traceId,
    code: `http_${status}`,
    retryable: status >= 500 || status === 429,
  };
}

/** @template T @param {string} path @param {AbortSignal} [signal] @returns {Promise<T>} */
export async function get(path, signal) {
  return (await request("GET", path, { signal })).json();
}

/** @template T @param {string} method @param {string} path @param {unknown} [json] @returns {Promise<T>} */
export async function send(method, path, json) {
  const response = await request(method, path, { json });
  const text = await response.text();
  return JSON.parse(text || "null");
}

/** The events of a response, as they arrive. @param {Response} response @returns {AsyncGenerator<SseEvent>} */
export async function* eventsOf(response) {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new SseParser();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Cuts text into events; one that is not complete at the end is dropped. */
class SseParser {
  #rest = "";
  #event = { id: "", event: "", data: "" };

  /** @param {string} text @returns {Generator<SseEvent>} */
  *push(text) {
    this.#rest += text;
    const lines = this.#rest.split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#take(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event) yield event;
    }
  }

  /** @param {string} line */
  #take(line) {
    if (line === "") {
      const event = this.#event;
      this.#event = { id: "", event: "", data: "" };
      return event.data ? event : null;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "data") this.#event.data += (this.#event.data && "\n") + value;
    else if (field === "id" || field === "event") this.#event[field] = value;
    return null;
  }
}

/** @param {number} ms */
export const pause = (ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** Save a file that the API makes. @param {string} path @param {string} fallback its name if the response has none */
export async function download(path, fallback) {
  const response = await request("GET", path);
  const disposition = response.headers.get("content-disposition") ?? "";
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const plain = /filename="([^"]+)"/i.exec(disposition)?.[1];
  save(await response.blob(), encoded ? decodeURIComponent(encoded) : (plain ?? fallback));
}

/** Have the browser save this as a file. @param {Blob} content @param {string} name */
export function save(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
