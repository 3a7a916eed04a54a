/** Describes a model in one line. Pure. */

import type { ModelRow } from "../../protocol.ts";
import { tokenFigure } from "../../shared/figures.ts";
import { t } from "../../shared/l10n.ts";
import { priceWords } from "./price-words.ts";

/** The ending of the names of the editor's own models. */
const EDITORS = "@vscode";

/**
 * Returns a line such as `128k window · $0.30 in, $1.20 out for a million tokens · no tools`, or an
 * empty text if nothing is known.
 */
export function modelWords(model: ModelRow): string {
  const parts: string[] = [];
  if (model.name.endsWith(EDITORS)) parts.push(t("through VS Code"));
  if (model.window !== null) parts.push(t("{0} window", tokenFigure(model.window)));
  if (model.input === 0 && model.output === 0) parts.push(t("free"));
  else if (model.input !== null && model.output !== null) {
    parts.push(t("{0} in, {1} out per million", priceWords(model.input), priceWords(model.output)));
  }
  if (model.tools === true) parts.push(t("tools"));
  if (model.tools === false) parts.push(t("no tools"));
  return parts.join(" · ");
}

/** Returns a model's name for a narrow button, without the maker before a slash. */
export function shortModelName(name: string): string {
  if (name.endsWith(EDITORS)) return name.slice(name.indexOf("/") + 1);
  return name.slice(name.lastIndexOf("/") + 1) || name;
}
