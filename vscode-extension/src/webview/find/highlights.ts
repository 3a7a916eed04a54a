/**
 * Highlights the found words in the drawn rows by a feature of the browser, without changing any
 * element of a row.
 */

const ALL = "indwell-find";
const CURRENT = "indwell-find-current";

/**
 * Updates the highlights in `root` while rows come and go; the returned function removes them.
 * `row` has the index of the current row.
 */
export function keepHighlights(root: Element, words: string, row: () => number | null): () => void {
  if (words === "" || CSS.highlights === undefined) return () => undefined;
  let frame = 0;
  const paint = (): void => {
    frame = 0;
    const here: Range[] = [];
    const others: Range[] = [];
    const current = row();
    for (const drawn of root.querySelectorAll("[data-row]")) {
      const isCurrent = Number(drawn.getAttribute("data-row")) === current;
      (isCurrent ? here : others).push(...rangesIn(drawn, words.toLowerCase()));
    }
    CSS.highlights.set(ALL, new Highlight(...others));
    CSS.highlights.set(CURRENT, new Highlight(...here));
  };
  const later = (): void => {
    if (frame === 0) frame = requestAnimationFrame(paint);
  };
  const changes = new MutationObserver(later);
  changes.observe(root, { childList: true, subtree: true, characterData: true });
  later();
  return () => {
    changes.disconnect();
    cancelAnimationFrame(frame);
    CSS.highlights.delete(ALL);
    CSS.highlights.delete(CURRENT);
  };
}

/**
 * Returns the ranges of the words in the text of an element; words across two elements are not
 * highlighted.
 */
function rangesIn(element: Element, words: string): readonly Range[] {
  const found: Range[] = [];
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? "";
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + words.length);
      found.push(range);
    }
  }
  return found;
}
