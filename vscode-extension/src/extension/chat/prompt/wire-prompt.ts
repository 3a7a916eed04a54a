/** Converts a prompt and its attachments for the server. Pure. */
import type { PromptParams, Attachment as WireAttachment } from "../../../protocol.ts";
import type { Attachment } from "../../../shared/state.ts";

/** Returns the params of `indwell/prompt`; the server adds chips of kind `context` itself. */
export function promptParams(
  text: string,
  session: string | null,
  attachments: readonly Attachment[],
  mode?: PromptParams["mode"],
): PromptParams {
  return {
    text,
    ...(session === null ? {} : { session }),
    ...(mode === undefined ? {} : { mode }),
    mentions: attachments.flatMap((one) => (one.kind === "mention" ? [one.path] : [])),
    attachments: attachments.flatMap(wireAttachment),
  };
}

/** Returns the pictures among the chips, to be shown with the turn. */
export function picturesOf(
  attachments: readonly Attachment[],
): readonly { readonly label: string; readonly url: string }[] {
  return attachments.flatMap((one) =>
    one.kind === "image" ? [{ label: one.label, url: `data:${one.mime};base64,${one.data}` }] : [],
  );
}

function wireAttachment(one: Attachment): readonly WireAttachment[] {
  switch (one.kind) {
    case "context":
    case "mention":
      return [];
    case "image":
      return [{ kind: "image", label: one.label, mime: one.mime, data: one.data }];
    case "text":
      return [{ kind: "text", label: one.label, text: one.text }];
    case "problems":
      return [{ kind: "problems", label: one.label, uri: one.uri }];
    case "changes":
      return [{ kind: "changes", label: one.label }];
    default:
      return one satisfies never;
  }
}
