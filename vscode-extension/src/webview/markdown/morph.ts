/**
 * Makes drawn nodes equal to new nodes, and changes only what differs, so that a selection stays.
 */

/** Makes the children of `drawn` equal to those of `wanted`, whose nodes are moved. */
export function morphChildren(drawn: Node, wanted: Node): void {
  const old = [...drawn.childNodes];
  const fresh = [...wanted.childNodes];
  fresh.forEach((node, index) => {
    const there = old[index];
    if (there === undefined) drawn.appendChild(node);
    else if (!morph(there, node)) drawn.replaceChild(node, there);
  });
  for (const extra of old.slice(fresh.length)) drawn.removeChild(extra);
}

/** Makes one node equal to another; returns false if they are too different. */
function morph(there: Node, wanted: Node): boolean {
  if (there instanceof Text && wanted instanceof Text) {
    setText(there, wanted.data);
    return true;
  }
  if (!(there instanceof Element && wanted instanceof Element) || !sameTag(there, wanted))
    return false;
  morphChildren(there, wanted);
  return true;
}

/** Sets a text; if the text only grew, the new end is appended, so that a selection stays. */
export function setText(node: Text, text: string): void {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

function sameTag(left: Element, right: Element): boolean {
  return (
    left.tagName === right.tagName &&
    left.attributes.length === right.attributes.length &&
    [...left.attributes].every((one) => right.getAttribute(one.name) === one.value)
  );
}
