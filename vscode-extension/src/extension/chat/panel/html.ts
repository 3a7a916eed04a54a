/**
 * Builds the page of the panel, in which only shipped files may load and only one script may run.
 * Pure.
 */
import type { Language } from "../../../shared/l10n.ts";

/**
 * The texts of the shipped script and styles, and the address that their files are at.
 *
 * Both texts are in the page itself: a webview loads a file through a service worker and the
 * extension host, which takes longer than the page.
 */
export interface PageParts {
  /** The content source of shipped files. */
  readonly source: string;
  /** The address of the folder of shipped files, from which the page loads the font. */
  readonly base: string;
  readonly script: string;
  readonly style: string;
  readonly nonce: string;
  /** The language of the page's texts. */
  readonly language: Language;
  /**
   * The state that the page draws at once, as JSON, or empty if the page waits for the first
   * message.
   */
  readonly first?: string;
  /** The id of an editor tab; not set for the panel. */
  readonly tab?: string;
}

/**
 * Allows no frames, no forms and no network; pictures are the user's own (`data:`), fonts and
 * styles are shipped.
 */
export function pageHtml(parts: PageParts): string {
  const { source, base, script, style, nonce, language, first = "", tab } = parts;
  const isEnglish = language.name === "en";
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${source} 'nonce-${nonce}'`,
    `font-src ${source}`,
    `img-src ${source} data:`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!DOCTYPE html>
<html lang="${inTag(language.name)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style nonce="${nonce}">${inStyle(style, base)}</style>
<title>Indwell</title>
</head>
<body>
<div id="root" data-page="${nonce}"${data("language", isEnglish ? "" : JSON.stringify(language))}${data("tab", tab ?? "")}${data("first", first)}></div>
<script nonce="${nonce}">${inScript(script)}</script>
</body>
</html>
`;
}

function data(name: string, value: string): string {
  if (value === "") return "";
  return ` data-${name}="${inTag(value)}"`;
}

function inTag(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/** Escapes a text so that nothing in it ends the script element or begins a comment of HTML. */
function inScript(script: string): string {
  return `${script.replaceAll(/<\/(script)/gi, "<\\/$1")}\n//-->\n`;
}

/** Addresses beside the style file become whole. */
function inStyle(style: string, base: string): string {
  return style.replaceAll('url("./', `url("${base}/`).replaceAll(/<\/(style)/gi, "<\\/$1");
}
