/** Makes drawn nodes equal to new ones, changing only differences, so that a selection stays. */

/** Make the children of `drawn` equal to those of `wanted`, whose nodes are moved. */
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

/** False: too different, to be replaced. */
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

/** Text that only grew is appended to, which keeps selections in it. */
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
