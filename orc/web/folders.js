// Files that were dropped or chosen with their folders.
import { t } from "./i18n.js";
import { me, notify } from "./store.js";
import { renamed } from "./uploads.js";

/** Files of a drop, also those in folders. @param {File[]} files @param {FileSystemEntry[]} entries @returns {Promise<File[]>} */
export async function filesOf(files, entries) {
  const found = (await Promise.all(entries.map((each) => filesIn(each, "")))).flat();
  return found.length ? distinct(found) : files;
}

/** @param {FileSystemEntry} entry @param {string} folder @returns {Promise<{file: File, folder: string}[]>} */
async function filesIn(entry, folder) {
  if (entry.isFile) {
    const file = await new Promise((resolve) => {
      /** @type {FileSystemFileEntry} */ (entry).file(resolve, () => resolve(null));
    });
    return file ? [{ file, folder }] : [];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  const found = [];
  for (;;) {
    // A browser gives a hundred at a time.
    const some = /** @type {FileSystemEntry[]} */ (
      await new Promise((resolve) => {
        reader.readEntries(resolve, () => resolve([]));
      })
    );
    if (!some.length) return found;
    found.push(...(await Promise.all(some.map((each) => filesIn(each, entry.name)))).flat());
  }
}

/** Files of a chosen folder. @param {Iterable<File>} files */
export const filesOfFolder = (files) =>
  distinct([...files].map((file) => ({ file, folder: file.webkitRelativePath.split("/").at(-2) ?? "" })));

/**
 * Of a folder, only what can be read; of files of one name, the later ones are named after their folder: "report (June).txt".
 * @param {{file: File, folder: string}[]} found @returns {File[]}
 */
function distinct(found) {
  const endings = new Set(me.value?.extensions ?? []);
  const fits = found.filter(
    ({ file, folder }) => !folder || (!file.name.startsWith(".") && endings.has(/\.[^.]*$/.exec(file.name)?.[0].toLowerCase() ?? "")),
  );
  if (fits.length < found.length) notify({ kind: "info", text: t("files.left_out", { n: found.length - fits.length }) });
  /** @type {Set<string>} */
  const names = new Set();
  return fits.map(({ file, folder }) => {
    let { name } = file;
    for (let number = 1; names.has(name); number += 1)
      name = file.name.replace(/(\.[^.]*)?$/, ` (${folder}${number > 1 ? ` ${number}` : ""})$1`);
    names.add(name);
    return name === file.name ? file : renamed(file, name);
  });
}
