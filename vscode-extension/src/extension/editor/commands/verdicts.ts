/**
 * Accepts and rejects changes: at the cursor, in a file, all changes, or those that a lens or hover
 * names.
 */

import * as vscode from "vscode";
import type { UndoVerdictResult, VerdictArguments, VerdictResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import { say, sayInPassing } from "../../say.ts";
import type { Server } from "../../server/server.ts";
import { keysOf } from "../pending/bar.ts";
import { neighbour, touching } from "../pending/neighbours.ts";
import type { PendingChanges } from "../pending/pending-changes.ts";
import { argumentOf, type Handler, numberIn, stringIn } from "./run.ts";
import { outcomeTone, verdictOffers } from "./verdict-words.ts";

/** Milliseconds for which the status bar shows the outcome. */
const SHOWN_MS = 5_000;

type Verdict = "accept" | "reject";

/** The handlers of both verdicts. */
export function verdictCommands(
  server: Server,
  pending: PendingChanges,
): Readonly<Record<string, Handler>> {
  const of = (verdict: Verdict): Readonly<Record<string, Handler>> => ({
    [`indwell.${verdict}`]: (...args) => {
      const given = argumentOf(args);
      return given === null ? choose(verdict, server, pending) : judge(server, verdict, given);
    },
    [`indwell.${verdict}Change`]: () => {
      const hunks = idsAtCursor(pending);
      if (hunks.length === 0) throw new Error(t("No pending change is at the cursor."));
      return judge(server, verdict, { hunks });
    },
    [`indwell.${verdict}File`]: (...args) => {
      const uri = fileOf(args);
      const file = uri === null ? "" : pending.fileOf(vscode.Uri.parse(uri)).toString();
      const hunks = pending.of(file).map((one) => one.id);
      if (hunks.length === 0) throw new Error(t("No change is pending in this file."));
      return judge(server, verdict, { hunks });
    },
    [`indwell.${verdict}All`]: () => {
      const hunks = pending.rows.map((one) => one.id);
      if (hunks.length === 0) throw new Error(t("Nothing is pending."));
      return judge(server, verdict, { hunks });
    },
  });
  return { ...of("accept"), ...of("reject"), "indwell.undoVerdict": () => undo(server) };
}

/** Undoes the last accept or reject, so that the changes are pending again. */
async function undo(server: Server): Promise<UndoVerdictResult | null> {
  const result = await server.execute<UndoVerdictResult | null>("indwell.undoVerdict", {
    wait: true,
  });
  if (!result) return null;
  if (result.kept.length > 0) void say("warning", `Indwell: ${result.message}`);
  else sayInPassing(`Indwell: ${result.message}`, SHOWN_MS);
  return result;
}

/** Lets the server accept or reject the changes, and shows the outcome. */
async function judge(
  server: Server,
  verdict: Verdict,
  which: VerdictArguments,
): Promise<VerdictResult | null> {
  const result = await server.execute<VerdictResult | null>(`indwell.${verdict}`, {
    ...which,
    wait: true,
  });
  if (!result) return null;
  if (outcomeTone(result) === "warning") {
    void say("warning", `Indwell: ${result.message}`);
  } else {
    const keys = keysOf("indwell.undoVerdict", process.platform === "darwin");
    const back = result.hunks.length > 0 ? ` ${t("(undo: {0})", keys)}` : "";
    sayInPassing(`Indwell: ${result.message}${back}`, SHOWN_MS);
  }
  return result;
}

async function choose(
  verdict: Verdict,
  server: Server,
  pending: PendingChanges,
): Promise<VerdictResult | null> {
  const active = vscode.window.activeTextEditor?.document.uri.toString() ?? null;
  const row = pending.rows.find((one) => vscode.Uri.parse(one.uri).toString() === active);
  const offers = verdictOffers(verdict, pending.rows, idsAtCursor(pending), row?.uri ?? null);
  if (offers.length === 0) throw new Error(t("Nothing is pending."));
  const chosen = await vscode.window.showQuickPick([...offers], {
    title: verdict === "accept" ? t("Accept pending changes") : t("Reject pending changes"),
    placeHolder: verdict === "accept" ? t("What to accept") : t("What to reject"),
  });
  return chosen === undefined ? null : judge(server, verdict, chosen.argument);
}

function idsAtCursor(pending: PendingChanges): readonly string[] {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) return [];
  const { start, end } = editor.selection;
  const uri = editor.document.uri.toString();
  return touching(pending.stops, uri, start.line, end.line).map((one) => one.id);
}

/**
 * Returns the file of a menu or title bar, or of the active editor; in a diff, the file on the
 * right side.
 */
export function fileOf(args: readonly unknown[]): string | null {
  const [first] = args;
  if (first instanceof vscode.Uri) return asFile(first).toString();
  const active = vscode.window.activeTextEditor?.document.uri;
  return active === undefined ? null : asFile(active).toString();
}

function asFile(uri: vscode.Uri): vscode.Uri {
  return uri.scheme === "indwell-base" ? vscode.Uri.file(uri.fsPath) : uri;
}

/** The handlers that move to the next or previous change. */
export function navigationCommands(pending: PendingChanges): Readonly<Record<string, Handler>> {
  return {
    "indwell.nextChange": (...args) => go(pending, "next", argumentOf(args)),
    "indwell.previousChange": (...args) => go(pending, "previous", argumentOf(args)),
  };
}

/** Moves from the cursor, or from the change whose bar was used. */
async function go(
  pending: PendingChanges,
  way: "next" | "previous",
  from: Readonly<Record<string, unknown>> | null,
): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const uri = stringIn(from, "uri") ?? editor?.document.uri.toString() ?? null;
  const line = numberIn(from, "line") ?? editor?.selection.active.line ?? 0;
  const found = neighbour(pending.stops, uri, line, way);
  if (found === null) throw new Error(t("Nothing is pending."));
  const at = new vscode.Range(found.line, 0, found.line, 0);
  if (editor !== undefined && found.uri === editor.document.uri.toString()) {
    // In a diff, the same editor is used, because showing the document would leave the diff.
    editor.selection = new vscode.Selection(at.start, at.start);
    editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    return;
  }
  // `showTextDocument` would fail, because the next file may not be a text file.
  await vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(found.uri), {
    selection: at,
  });
}
