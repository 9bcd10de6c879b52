// Cosmos DB for tests: the emulator @vercel/cosmosdb-server, put right where the service behaves otherwise.
// Prints its port, then serves over plain http until standard input ends, so it never outlives its parent.
// Left as it is: no prefix of a hierarchical key scopes a query, so queries must repeat it in WHERE.
const { readFileSync } = require("node:fs");
const Module = require("node:module");

// Its parser reads a nested condition again for each alternative of the grammar, which takes it seconds. Here each
// rule remembers what it has read at each position.
const parserFile = require.resolve("@zeit/cosmosdb-query/lib/parser");
const remembering = `
  const peg$known = new Map();
  const peg$once = (rule) => {
    const key = rule.name + " " + peg$currPos;
    if (!peg$known.has(key)) peg$known.set(key, { node: rule(), end: peg$currPos });
    const { node, end } = peg$known.get(key);
    peg$currPos = end;
    return node;
  };
`;
const parser = new Module(parserFile, module);
parser._compile(
  readFileSync(parserFile, "utf8")
    .replace("function peg$parsesql() {", (first) => remembering + first)
    .replace(
      /function (peg\$parse(\w+))\(\) \{/g,
      (_, rule, name) => `function ${rule}() { return peg$once(peg$read_${name}); } function peg$read_${name}() {`,
    ),
  parserFile,
);
require.cache[parserFile] = parser;

const emulator = (name) => require(`@vercel/cosmosdb-server/lib/${name}`);
const Documents = emulator("account/documents").default;
const operations = emulator("handler/_document-operations");
const partitionHeader = emulator("utils/get-partition-from-header");
const getValue = emulator("utils/get-value").default;
const readItems = emulator("handler/_read-items").default;
const readJson = emulator("json").default;

const MOST_BYTES = 2 * 1024 * 1024;
const MOST_OPERATIONS = 100;
const MOST_ID_BYTES = 1023;
const CONTAINER_IS_MISSING = "1003";

// The emulator knows keys of one path: make one string of all values, of a document as of a header.
const keyOf = (documents, document) =>
  documents._partitionKeyPath.map((path) => getValue(path.slice(1).split("/"), document));
Documents.prototype._getPartition = function (document) {
  return JSON.stringify(keyOf(this, document));
};
partitionHeader.parsePartitionKey = (header) => JSON.stringify(JSON.parse(header));

// It keeps expired items; hidden is as good as gone, for a new item takes the place of a hidden one.
const expired = (documents, document) => {
  const { defaultTtl } = documents._parent.read();
  const ttl = defaultTtl == null ? -1 : document.ttl ?? defaultTtl;
  return ttl > 0 && document._ts + ttl <= Date.now() / 1000;
};
const findItem = Documents.prototype._item;
Documents.prototype._item = function (...where) {
  const found = findItem.apply(this, where);
  const document = found.read();
  return document && expired(this, document) ? this._newItem() : found;
};

// The service names a range with a string, and so it is looked up in what the client knows of its session.
const Ranges = emulator("account/partition-key-ranges").default;
const createRange = Ranges.prototype.create;
Ranges.prototype.create = function (range) {
  return createRange.call(this, { ...range, id: String(range.id) });
};

const answer = (res, status, code, message) => {
  res.statusCode = status;
  return { code, message };
};

// What the service refuses before it looks at a document: no such container, too large, half a key.
const guarded = (handle) => async (account, req, res, { dbId, collId, docId }) => {
  const collection = account.database(dbId).collection(collId);
  if (!collection.read()) {
    res.setHeader("x-ms-substatus", CONTAINER_IS_MISSING);
    return answer(res, 404, "NotFound", "Owner resource does not exist");
  }
  if (Number(req.headers["content-length"] ?? 0) > MOST_BYTES) {
    req.resume();
    return answer(res, 413, "RequestEntityTooLarge", "Request size is too large");
  }
  const header = req.headers["x-ms-documentdb-partitionkey"];
  const key = header === undefined ? null : JSON.parse(header);
  if (key?.length !== collection.documents._partitionKeyPath.length && handle !== queryDocuments) {
    return answer(res, 400, "BadRequest", "The partition key does not have all of its components");
  }
  const answered = await handle({ collection, documents: collection.documents, header, key, docId, req, res });
  tellSession(collection.documents, req, res, `dbs/${dbId}/colls/${collId}`);
  return answered;
};

// The emulator has no sessions. Its client sends the highest number that it was told along with its reads.
const tellSession = (documents, req, res, path) => {
  if (req.method !== "GET" && !isQuery(req)) documents.writes = (documents.writes ?? 0) + 1;
  res.setHeader("x-ms-session-token", `0:-1#${documents.writes ?? 0}`);
  res.setHeader("x-ms-documentdb-partitionkeyrangeid", "0");
  res.setHeader("x-ms-alt-content-path", path);
};
const isQuery = (req) => req.headers["x-ms-documentdb-isquery"]?.toLowerCase() === "true";

const unfitBody = (documents, header, body) => {
  if (/[/\\?#]/.test(body.id) || Buffer.byteLength(body.id ?? "") > MOST_ID_BYTES) return "The id is not allowed";
  if (documents._getPartition(body) !== JSON.stringify(JSON.parse(header))) {
    return "The partition key is not that of the item";
  }
  return null;
};

// `kind` is an operation of the emulator, and so are the fields of `input`. Its conditional upsert takes any
// If-None-Match for none.
const perform = (collection, header, kind, input) => {
  const { documents } = collection;
  const problem = input.resourceBody && unfitBody(documents, header, input.resourceBody);
  if (problem) return { statusCode: 400, body: { code: "BadRequest", message: problem } };
  const id = input.id ?? input.resourceBody.id;
  const present = collection.document(id, JSON.stringify(JSON.parse(header))).read();
  if (present && kind !== "read" && (input.ifNoneMatch === "*" || input.ifNoneMatch === present._etag)) {
    return { statusCode: 412, body: { code: "PreconditionFailed", message: "The item is there" } };
  }
  return operations[`${kind}Operation`](collection, { ...input, id, partitionKey: header });
};

const respond = (res, result) => {
  res.statusCode = result.statusCode;
  return result.body;
};

// The emulator fails where there is no document to read.
const readDocument = ({ collection, header, docId, req, res }) => {
  const result = perform(collection, header, "read", { id: docId });
  const unchanged = result.statusCode === 200 && req.headers["if-none-match"] === result.body._etag;
  return respond(res, unchanged ? { ...result, statusCode: 304 } : result);
};

const writeDocument = (kind) => async ({ collection, header, docId, req, res }) => {
  const resourceBody = kind === "delete" ? undefined : await readJson(req);
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = req.headers;
  return respond(res, perform(collection, header, kind, { id: docId, resourceBody, ifMatch, ifNoneMatch }));
};

// A query sees its partition only, and no expired items. A whole key scopes it, whatever WHERE says.
// The emulator sorts by any path, the service by those that are indexed. Of two entries the longer one counts.
const isSortable = (collection, { query = "" }) => {
  const path = /ORDER BY c\.([\w.]+)/i.exec(query)?.[1].replaceAll(".", "/");
  const { includedPaths = [], excludedPaths = [] } = collection.read().indexingPolicy ?? {};
  const longest = (entries) =>
    Math.max(-1, ...entries.map((each) => each.path).filter((each) => `/${path}/?`.startsWith(each.replace(/\*$/, ""))).map((each) => each.length));
  return !path || path === "id" || longest(includedPaths) > longest(excludedPaths);
};

const queryDocuments = ({ collection, documents, header, key, req, res }) =>
  readItems(req, res, "Documents", async (page) => {
    const asked = await readJson(req);
    if (!isSortable(collection, asked)) return answer(res, 400, "BadRequest", "The order-by path is not indexed");
    const whole = key?.length === documents._partitionKeyPath.length && typeof key[0] !== "object";
    const seen = [...documents._data].filter(
      ([, item]) =>
        !expired(documents, item.read()) &&
        (!whole || documents._getPartition(item.read()) === JSON.stringify(JSON.parse(header))),
    );
    try {
      return Object.create(documents, { _data: { value: new Map(seen) } }).query(asked, page);
    } catch (error) {
      if (!error.badRequest) throw error;
      return answer(res, 400, "BadRequest", error.message);
    }
  });

// A batch is atomic: the first operation that fails undoes those before it, and each has a status of its own.
const runBatch = async ({ collection, documents, header, req, res }) => {
  const batch = await readJson(req);
  if (batch.length > MOST_OPERATIONS) return answer(res, 400, "BadRequest", "Batch has too many operations");
  const before = { _data: new Map(documents._data), _index: new Map(documents._index) };
  const results = [];
  for (const { operationType, ...input } of batch) {
    results.push(perform(collection, header, operationType.toLowerCase(), input));
    if (results.at(-1).statusCode >= 400) break;
  }
  const failed = results.at(-1).statusCode >= 400;
  if (failed) Object.assign(documents, before);
  res.statusCode = failed ? 207 : 200;
  return batch.map((_, n) => {
    if (failed) return { statusCode: n === results.length - 1 ? results[n].statusCode : 424, requestCharge: 0 };
    const { statusCode, body } = results[n];
    return { statusCode, requestCharge: 1, eTag: body?._etag, resourceBody: body };
  });
};

const handlers = {
  "read-document": readDocument,
  "create-document": writeDocument("create"),
  "upsert-document": writeDocument("upsert"),
  "replace-document": writeDocument("replace"),
  "delete-document": writeDocument("delete"),
  "query-documents": queryDocuments,
  "batch-documents": runBatch,
};
for (const [name, handle] of Object.entries(handlers)) emulator(`handler/${name}`).default = guarded(handle);

// Loaded last, for its routes take the handlers as they are then.
const server = emulator("index").createHttpServer({ keepAlive: true });
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${server.address().port}\n`));
process.stdin.on("end", () => process.exit()).resume();
