// The picture of a page, with the quote marked.
import { request } from "./api.js";
import { t } from "./i18n.js";
import { IconButton, pageOf } from "./parts.js";
import { h, useEffect, useLayoutEffect, useRef, useState } from "./vendor/ui.js";

/** @import { PictureProperties, Ref } from "./types/page.js" */

const WIDTHS = [800, 1200, 1600];
export const ZOOMS = [0.5, 0.75, 1, 1.5, 2, 3, 4];
const MOST_PICTURES = 24;
/** The height of a line, in pixels, from which on it can be read. */
const LEGIBLE = 14;
/** Whether the panel is a sheet over the whole window, as on a phone. */
export const SHEET = "(max-width: 699px)";
/** Addresses of pictures in memory, the latest used last. @type {Map<string, Promise<string>>} */
const pictures = new Map();

/**
 * @param {string} path of the document @param {{page: number, document_version: string}} page @param {number} [width]
 * @returns {Promise<string>} rejects with ApiError if the page has none
 */
export function preparePicture(path, { page, document_version: version }, width = pictureWidth()) {
  const address = `${path}/pages/${page}/image?width=${width}&v=${encodeURIComponent(version)}`;
  const known = pictures.get(address);
  pictures.delete(address);
  const picture = known ?? request("GET", address).then(async (response) => URL.createObjectURL(await response.blob()));
  pictures.set(address, picture);
  picture.catch(() => pictures.delete(address));
  for (const [oldest, dropped] of pictures) {
    if (pictures.size <= MOST_PICTURES) break;
    pictures.delete(oldest);
    dropped.then(
      (url) => setTimeout(() => URL.revokeObjectURL(url), 1000),
      () => {},
    );
  }
  return picture;
}

function pictureWidth(zoom = 1) {
  const wanted = Math.min(innerWidth, 640) * zoom * devicePixelRatio;
  return WIDTHS.find((width) => width >= wanted) ?? WIDTHS.at(-1) ?? 1600;
}

/** @param {number} wanted */
const nearest = (wanted) =>
  ZOOMS.reduce((near, each) => (Math.abs(Math.log(each / wanted)) < Math.abs(Math.log(near / wanted)) ? each : near));

/** How far two fingers are from each other; 0 if there are not two. @param {TouchEvent} event */
const spread = ({ touches: [one, other] }) => (one && other ? Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY) : 0);

/** @param {PictureProperties} properties */
export function Picture({ citation, path, number, index, onFail, zoom, setZoom, enlarge }) {
  const [source, setSource] = useState("");
  const [ratio, setRatio] = useState(0);
  const frame = /** @type {Ref<HTMLDivElement>} */ (useRef(null));
  // Two fingers change the size, and the quote stays in view.
  const pinched = useRef({ from: 0, zoom });
  useEffect(() => {
    let current = true;
    const wanted = { page: number, document_version: citation.document_version };
    preparePicture(path, wanted, pictureWidth(zoom)).then(
      (url) => current && setSource(url),
      (error) => current && onFail(error),
    );
    return () => {
      current = false;
    };
  }, [path, number, pictureWidth(zoom)]);
  const rectangles = number === citation.page ? citation.rectangles : [];
  useLayoutEffect(() => {
    const first = rectangles[0];
    if (!ratio || !first || !frame.current) return;
    const { clientHeight, scrollHeight, scrollWidth, clientWidth } = frame.current;
    frame.current.scrollTop = first.top * scrollHeight - clientHeight / 3;
    // In the middle, but from its beginning if it is wider than the window.
    frame.current.scrollLeft = Math.min(((first.left + first.right) / 2) * scrollWidth - clientWidth / 2, first.left * scrollWidth);
  }, [ratio > 0, zoom, index]);
  useLayoutEffect(() => {
    const [first, box] = [rectangles[0], frame.current];
    if (!ratio || !first || !box || !matchMedia(SHEET).matches) return;
    const line = (first.bottom - first.top) * box.clientWidth * ratio;
    setZoom(ZOOMS.find((each) => each >= 1 && line * each >= LEGIBLE) ?? 3);
  }, [ratio > 0, index]);
  useEffect(() => {
    const box = frame.current;
    if (!box) return;
    // What is in the middle stays there when the window's size changes.
    let [across, down, width] = [0.5, 0.5, 0];
    const look = () => {
      // The browser itself scrolls first when the size changes.
      if (box.clientWidth !== width) return;
      across = (box.scrollLeft + width / 2) / box.scrollWidth;
      down = (box.scrollTop + box.clientHeight / 2) / box.scrollHeight;
    };
    const resizing = new ResizeObserver(() => {
      const isFirst = width === 0;
      width = box.clientWidth;
      if (!isFirst) box.scrollTo(across * box.scrollWidth - width / 2, down * box.scrollHeight - box.clientHeight / 2);
    });
    box.addEventListener("scroll", look);
    resizing.observe(box);
    return () => {
      resizing.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, []);
  return h(
    "div",
    { class: "picture", role: "tabpanel", "aria-labelledby": "tab-picture" },
    h(
      "div",
      { class: "zoom", role: "group", "aria-label": t("page.zoom") },
      h(IconButton, { name: "minus", label: t("page.smaller"), disabled: zoom === ZOOMS[0], onClick: () => enlarge(-1) }),
      h(
        "button",
        { type: "button", class: "quiet", onClick: () => setZoom(1), title: t("page.fit") },
        t("page.percent", { n: Math.round(zoom * 100) }),
      ),
      h(IconButton, { name: "plus", label: t("page.larger"), disabled: zoom === ZOOMS.at(-1), onClick: () => enlarge(1) }),
    ),
    h(
      "div",
      {
        class: "frame",
        ref: frame,
        tabIndex: 0,
        role: "group",
        "aria-label": t("page.picture"),
        onTouchStart: (event) => {
          pinched.current = { from: spread(event), zoom };
        },
        onTouchMove: (event) => {
          const [{ from, zoom: before }, now] = [pinched.current, spread(event)];
          if (from && now) setZoom(nearest((before * now) / from));
        },
      },
      source
        ? h(
            "div",
            { class: `sheet zoom-${zoom * 100}` },
            h("img", {
              // The sheet keeps its place while a larger picture is decoded.
              src: source,
              width: ratio ? 1000 : undefined,
              height: ratio ? Math.round(1000 * ratio) : undefined,
              alt: citation.quote
                ? t("page.alt", { page: pageOf({ ...citation, page: number }), quote: citation.quote })
                : pageOf({ ...citation, page: number }),
              onLoad: (event) => setRatio(event.currentTarget.naturalHeight / event.currentTarget.naturalWidth),
            }),
            h(
              "svg",
              { viewBox: "0 0 1 1", preserveAspectRatio: "none", "aria-hidden": "true", class: "marks" },
              ratio > 0 &&
                rectangles.map((each, line) =>
                  h("rect", {
                    key: line,
                    x: each.left,
                    y: each.top,
                    width: each.right - each.left,
                    height: each.bottom - each.top,
                  }),
                ),
            ),
          )
        : h("div", { class: "loading" }, t("loading")),
    ),
  );
}
