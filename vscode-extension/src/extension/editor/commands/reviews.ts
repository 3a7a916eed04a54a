/** Implements the commands that show changes, and other virtual documents of the server. */

import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import { say } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import type { PendingChanges } from "../pending/pending-changes.ts";
import type { Span } from "../review/resources.ts";
import { openDiff, openReview } from "../review/review.ts";
import { argumentOf, type Handler, numberIn, stringIn } from "./run.ts";
import { fileOf } from "./verdicts.ts";

/** The handlers of review, diff, and `indwell.open`, which lenses and code actions use. */
export function reviewCommands(
  server: Server,
  pending: PendingChanges,
): Readonly<Record<string, Handler>> {
  const review = async (span: Span, files: readonly string[]): Promise<boolean> => {
    const isShown = await openReview(server, pending, span, files);
    if (!isShown) void say("info", t("Indwell: nothing is pending."));
    return isShown;
  };
  const fileDiff = async (
    given: Span & { readonly uri: string },
    line = cursorIn(given.uri),
  ): Promise<unknown> => {
    const span = { ...given, uri: pending.fileOf(vscode.Uri.parse(given.uri)).toString() };
    const rows = pending.of(vscode.Uri.parse(span.uri).toString());
    // A new or deleted file has only one side, which only the review can show.
    const isWhole = rows.some((one) => one.kind === "create" || one.kind === "delete");
    if (isWhole && !span.turn) return review(span, []);
    return openDiff(vscode.Uri.parse(span.uri), span, line);
  };
  return {
    "indwell.review": (...args) => {
      const given = argumentOf(args);
      const files = given?.["uris"];
      return review(
        spanOf(given),
        Array.isArray(files) ? files.filter((one) => typeof one === "string") : [],
      );
    },
    "indwell.openDiff": (...args) => {
      const given = argumentOf(args);
      const uri = stringIn(given, "uri") ?? fileOf(args);
      if (uri === null) throw new Error(t("Open a file first: there is nothing to compare."));
      return fileDiff({ ...spanOf(given), uri }, numberIn(given, "line") ?? cursorIn(uri));
    },
    "indwell.open": async (...args) => {
      const given = argumentOf(args);
      const what = stringIn(given, "what") ?? "diff";
      if (what !== "diff") return server.execute("indwell.open", given);
      const span = spanOf(given);
      return span.uri ? fileDiff({ ...span, uri: span.uri }) : review(span, []);
    },
    "indwell.explainRequest": async (...args) => {
      // With `show: false`, a calling program gets only the result, and no editor opens.
      if (argumentOf(args)?.["show"] !== false) {
        await server.execute("indwell.open", { what: "request" });
      }
      return server.execute("indwell.explainRequest");
    },
    "indwell.showTranscript": () => server.execute("indwell.open", { what: "transcript" }),
  };
}

function spanOf(given: Readonly<Record<string, unknown>> | null): Span {
  return {
    uri: stringIn(given, "uri"),
    session: stringIn(given, "session"),
    turn: numberIn(given, "turn"),
  };
}

function cursorIn(uri: string): number | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor?.document.uri.toString() === uri ? editor.selection.active.line : undefined;
}
