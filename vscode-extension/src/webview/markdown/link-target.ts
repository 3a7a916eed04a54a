/**
 * Checks a link of the model: its target must be an https address or a file of the workspace,
 * otherwise the text is not drawn as a link. Pure.
 */
import { fileReference } from "./file-reference.ts";
import { hides } from "./invisible.ts";

export type LinkTarget =
  | { readonly kind: "web"; readonly href: string }
  | { readonly kind: "file"; readonly target: string };

/**
 * Returns the target, or null if the text must not be a link: for other schemes, logins in
 * addresses, and hidden characters.
 */
export function linkTarget(href: string): LinkTarget | null {
  const decoded = decode(href);
  if (decoded === null || hides(decoded) || /[\s\\<>"'`]/.test(href)) return null;
  if (/^https:\/\//i.test(href)) return web(href);
  if (/^[a-z][a-z0-9+.-]*:/i.test(decoded) && !/^[^:/]+\.[a-z0-9]{1,8}:\d+/i.test(decoded))
    return null;
  const target = decoded.startsWith("//") ? null : fileReference(decoded);
  return target === null ? null : { kind: "file", target };
}

function web(href: string): LinkTarget | null {
  const url = URL.parse(href);
  if (url === null || url.protocol !== "https:" || url.hostname === "") return null;
  if (url.username !== "" || url.password !== "") return null;
  return { kind: "web", href: url.href };
}

function decode(href: string): string | null {
  try {
    return decodeURIComponent(href);
  } catch {
    return null;
  }
}
