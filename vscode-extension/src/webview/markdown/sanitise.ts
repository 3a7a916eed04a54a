/**
 * The only function that turns HTML text into elements. The text comes from Indwell's own
 * renderer, in which HTML is switched off. As a second defence, only elements, classes and
 * attributes of a closed list pass.
 */
import createDOMPurify from "dompurify";
import { linkTarget } from "./links.ts";

const TAGS =
  "a blockquote br code del div em h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(
    " ",
  );
const ATTRIBUTES = [
  "class",
  "data-file",
  "data-language",
  "data-link",
  "role",
  "start",
  "tabindex",
  "title",
];
const CLASSES = new Set([
  "md-web",
  "md-file",
  "md-dead",
  "md-hidden",
  "md-table",
  "md-right",
  "md-center",
]);

const purifier = createDOMPurify(window);

purifier.addHook("uponSanitizeAttribute", (_element, attribute) => {
  if (!allowed(attribute.attrName, attribute.attrValue)) attribute.keepAttr = false;
});

function allowed(name: string, value: string): boolean {
  switch (name) {
    case "class":
      return CLASSES.has(value);
    case "role":
      return value === "link";
    case "tabindex":
      return value === "0";
    case "start":
      return /^\d{1,9}$/.test(value);
    case "data-link":
      return linkTarget(value)?.kind === "web";
    case "data-file":
      return linkTarget(encodeURI(value))?.kind === "file";
    default:
      return true;
  }
}

/**
 * Returns the elements of an HTML text; elements that are not on the list are replaced by their
 * text.
 */
export function sanitised(html: string): DocumentFragment {
  return purifier.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
}
