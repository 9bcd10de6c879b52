// The Tesseract engine, compiled to WebAssembly, behind as much of the program's command line as Orc uses:
//   tesseract.mjs --list-langs
//   tesseract.mjs stdin stdout -l eng --dpi 300 tsv
import { buffer } from "node:stream/consumers";
import { dirname } from "node:path";
import { createRequire } from "node:module";
import { parseArgs } from "node:util";

const require = createRequire(import.meta.url);
const LANGUAGES = dirname(require.resolve("@tesseract.js-data/eng/4.0.0_best_int/eng.traineddata.gz"));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "list-langs": { type: "boolean" },
    l: { type: "string", short: "l", default: "eng" },
    dpi: { type: "string", default: "300" },
  },
});

if (values["list-langs"]) {
  process.stdout.write(`List of available languages in "${LANGUAGES}" (1):\neng\n`);
} else if (positionals.join(" ") !== "stdin stdout tsv" || values.l !== "eng") {
  process.exit(1);
} else {
  const { createWorker, OEM } = require("tesseract.js");
  const worker = await createWorker("eng", OEM.LSTM_ONLY, { langPath: LANGUAGES, cacheMethod: "none" });
  await worker.setParameters({ user_defined_dpi: values.dpi });
  const { data } = await worker.recognize(await buffer(process.stdin), {}, { tsv: true });
  process.stdout.write(data.tsv);
  await worker.terminate();
}
