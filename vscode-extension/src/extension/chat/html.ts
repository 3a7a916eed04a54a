/**
 * Builds the page of the panel: only shipped files may load in it, and only one script may run.
 * Pure.
 */

/** Addresses of the shipped files for the webview, and their common content source. */
export interface PageParts {
  readonly source: string;
  readonly script: string;
  readonly style: string;
  readonly nonce: string;
  /** The id of an editor tab; the panel has none. */
  readonly tab?: string;
}

/**
 * Allows no frames, no forms and no network; pictures are the user's own (`data:`), fonts and
 * styles are shipped.
 */
export function pageHtml({ source, script, style, nonce, tab }: PageParts): string {
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
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Indwell</title>
</head>
<body>
<div id="root"${tab === undefined ? "" : ` data-tab="${tab}"`}></div>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>
`;
}
