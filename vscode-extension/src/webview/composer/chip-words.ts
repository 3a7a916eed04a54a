/** Formats the label and tooltip of a chip of the composer. Pure. */

import { sizeFigure, tokenFigure } from "../../shared/figures.ts";
import { t } from "../../shared/l10n.ts";
import { baseName } from "../../shared/short-path.ts";
import type { Attachment } from "../../shared/state.ts";
import { estimatedTokens } from "./estimated-tokens.ts";

export interface ChipWords {
  readonly icon: string;
  readonly label: string;
  /** The tooltip, which has the kind and the size. */
  readonly title: string;
  /**
   * The action of a click on the chip (its button to remove it is separate), or null if a click
   * does nothing.
   */
  readonly press: "open" | "unfold" | null;
}

export function chipWords(attachment: Attachment): ChipWords {
  const { label } = attachment;
  switch (attachment.kind) {
    case "context":
      return {
        icon: attachment.id.startsWith("opened") ? "eye" : "selection",
        label: baseName(label),
        title: t("{0}\nFrom the editor, about {1} tokens", label, tokenFigure(attachment.tokens)),
        press: null,
      };
    case "mention":
      return {
        icon: attachment.path.endsWith("/") ? "folder" : "file",
        label: baseName(label),
        title: t("{0}\nIts text goes along. Press to open it", attachment.path),
        press: attachment.path.endsWith("/") ? null : "open",
      };
    case "image":
      return {
        icon: "file-media",
        label,
        title: t("{0}\nPicture, {1}", label, sizeFigure(Math.floor(attachment.data.length * 0.75))),
        press: null,
      };
    case "text":
      return {
        icon: "note",
        label,
        title: t(
          "{0}\nAbout {1} tokens. Press to turn it back into text",
          label,
          tokenFigure(estimatedTokens(attachment.text)),
        ),
        press: "unfold",
      };
    case "problems":
      return {
        icon: "warning",
        label,
        title: t("{0}\nThe problems that the editor reports", label),
        press: null,
      };
    case "changes":
      return {
        icon: "source-control",
        label,
        title: t("{0}\nWhat git would commit, or the changes of the tree", label),
        press: null,
      };
    default:
      return attachment satisfies never;
  }
}

/** Converts a mention for `openFile`: `path#L3-9` becomes `path:3-9`. */
export function openTarget(path: string): string {
  return path.replace(/#L(\d+(?:-\d+)?)$/, ":$1");
}
