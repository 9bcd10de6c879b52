// An expression: the faults of the layout of the web page in the window as it is, in words.
(() => {
  const found = new Set();
  const name = (each) => {
    const kind = `${each.tagName.toLowerCase()}.${each.className.baseVal ?? each.className}`;
    return (each.id ? `#${each.id}` : kind).slice(0, 60);
  };
  const words = (each) => each.textContent.trim().slice(0, 40);
  const say = (kind, each, more = "") => found.add(`${kind}: ${name(each)} "${words(each)}" ${more}`.trim());
  const style = (each) => getComputedStyle(each);
  const above = (each) => (each && each !== document.body ? [each, ...above(each.parentElement)] : []);

  // Boxes that scroll sideways on purpose, and what lies over the page for a while.
  const WIDE = "pre, .wide, .frame, .formula, .files:not(.is-list), .timeline, .budget";
  const FLOATING = ".to-end, .menu, .peek, .notices, dialog, .dropping, .shade, .sessions.is-open";
  const CONTROLS = "button, a[href], input, select, textarea, summary, "
    + "[tabindex='0']:not(.scroller, .frame, .page-text, .divider)";

  const scrolls = (each, axis) => /auto|scroll/.test(style(each)[`overflow${axis}`]);
  const isInline = (each) => style(each).display === "inline";
  /** Whether what does not fit ends in "…". */
  const isShortened = (each) => above(each).some((at) => style(at).textOverflow === "ellipsis");
  const isShown = (each) => each.checkVisibility({ visibilityProperty: true });
  const all = [...document.querySelectorAll("body *")]
    .filter((each) => isShown(each) && !each.closest(".hidden, .skip, [hidden], svg *"));

  function findCut(each) {
    const { overflowX, overflowY, textOverflow, webkitLineClamp } = style(each);
    const [wide, high] = [each.scrollWidth - each.clientWidth, each.scrollHeight - each.clientHeight];
    if (wide > 1 && each.clientWidth && !each.matches(`${WIDE}, textarea, input, select`)) {
      if (scrolls(each, "X")) say("scrolls sideways", each, `by ${wide}`);
      else if (overflowX !== "visible" && textOverflow !== "ellipsis") say("cut at its side", each, `by ${wide}`);
    }
    const isMeant = webkitLineClamp !== "none" || each.closest(".sheet, .picture, .thumbnail");
    if (high > 2 && each.clientHeight && overflowY === "hidden" && !isMeant) say("cut at its end", each, `by ${high}`);
  }

  const dialog = document.querySelector("dialog[open]");
  const isShaded = [...document.querySelectorAll(".shade")].some(isShown);
  const hasSheet = document.querySelector(".sources") && matchMedia("(max-width: 699px)").matches;
  /** Whether it can be reached: not below a dialog, the list of chats or a sheet. */
  const isInFront = (each) => (dialog ? dialog.contains(each)
    : (!isShaded || each.closest(".sessions")) && (!hasSheet || each.closest(".sources")));

  const edge = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const scrollers = (each) => above(each.parentElement).filter((at) => scrolls(at, "X") || scrolls(at, "Y"));
  const boxes = (some) => some.map((each) => each.getBoundingClientRect());
  const within = (x, y) => ({ left, right, top, bottom }) => x > left + 1 && x < right - 1 && y > top + 1 && y < bottom - 1;

  function findCovered(each) {
    const { left, top, right, bottom, width, height } = each.getBoundingClientRect();
    if (width <= 1) return;
    const around = boxes(scrollers(each));
    const parts = [[0.5, 0.5], [0.15, 0.5], [0.85, 0.5], [0.5, 0.2], [0.5, 0.8]];
    for (const [across, down] of isInline(each) ? [] : parts) {
      const [x, y] = [left + across * width, top + down * height];
      if (![edge, ...around].every(within(x, y))) continue;
      const hit = document.elementFromPoint(x, y);
      const isMeant = hit?.closest(`${FLOATING}, .tools`) && !each.closest(FLOATING);
      if (!hit || isMeant || each.contains(hit) || hit.contains(each)) continue;
      say("covered", each, `by ${name(hit)}`);
      break;
    }
    const isBeyond = left < -1 || right > innerWidth + 1 || (!around.length && (top < -1 || bottom > innerHeight + 1));
    if (isBeyond && !each.closest(WIDE)) say("outside the window", each, [left, right, top, bottom].map(Math.round).join());
    if (Math.min(width, height) < 23.9 && !isInline(each)) say("small", each, `${Math.round(width)} x ${Math.round(height)}`);
  }

  /** The lines of text of an element, as far as they are seen. */
  function linesOf(each) {
    const lines = [];
    const clips = [edge, ...boxes(above(each).filter((at) => style(at).overflow !== "visible"))];
    for (const node of each.childNodes) {
      if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const { left, right, top, bottom } of range.getClientRects()) {
        const seen = clips.reduce((rest, one) => ({
          left: Math.max(rest.left, one.left), right: Math.min(rest.right, one.right),
          top: Math.max(rest.top, one.top), bottom: Math.min(rest.bottom, one.bottom),
        }), { left, right, top, bottom });
        if (seen.right - seen.left > 2 && seen.bottom - seen.top > 3) lines.push({ ...seen, each });
        const isBeyond = (right > innerWidth + 1 || left < -1) && seen.right - seen.left < right - left - 1;
        if (isBeyond && !each.closest(WIDE) && !isShortened(each)) say("text outside the window", each);
      }
    }
    return lines;
  }

  function findOverlap(one, other) {
    if (one.each.contains(other.each) || other.each.contains(one.each)) return;
    if (one.each.closest(FLOATING) !== other.each.closest(FLOATING)) return;
    const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    // Lines have space around their letters: their boxes may touch.
    if (across >= 3 && down >= 6) say("over each other", one.each, `and ${name(other.each)} "${words(other.each)}"`);
  }

  function findOutsidePicture(each) {
    const [{ left, right }, frame] = boxes([each, each.closest("svg")]);
    if (left < frame.left - 1 || right > frame.right + 1) say("outside its picture", each);
  }

  all.forEach(findCut);
  document.querySelectorAll("svg text").forEach(findOutsidePicture);
  if (document.documentElement.scrollWidth > innerWidth) say("scrolls sideways", document.documentElement);
  const front = all.filter(isInFront);
  front.filter((each) => each.matches(CONTROLS)).forEach(findCovered);
  const lines = front.filter((each) => !each.closest("option, select, textarea, .sheet, svg, math")).flatMap(linesOf);
  lines.forEach((one, at) => lines.slice(at + 1).forEach((other) => findOverlap(one, other)));
  return [...found];
})()
