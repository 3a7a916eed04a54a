/** Draws pending changes in the visible editors: bars, changed words, and the removed lines in red. */
import * as vscode from "vscode";
import { changeHover } from "./change-hover.ts";
import { type Details, details, marks, type Run } from "./marks.ts";
import type { PendingChanges } from "./pending-changes.ts";
import { ghostWords, lostWords } from "./removed-text.ts";

/**
 * Milliseconds that drawing waits while the user types; until then, VS Code moves the drawn marks.
 */
const REST_MS = 60;

/**
 * Lines above and below the visible lines whose words are marked, so that scrolling shows no
 * unmarked lines.
 */
const AROUND = 60;

/**
 * Draws until the returned object is disposed; the work is proportional to what the visible editors
 * show.
 */
export function drawPending(pending: PendingChanges): vscode.Disposable {
  const types = decorationTypes();
  const waiting = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const drawAll = (): void => {
    timer = undefined;
    for (const editor of vscode.window.visibleTextEditors) {
      if (waiting.has(editor.document.uri.toString())) draw(editor, pending, types);
    }
    waiting.clear();
  };
  const later = (uris: Iterable<string>): void => {
    for (const uri of uris) waiting.add(uri);
    timer ??= setTimeout(drawAll, REST_MS);
  };
  const visible = (): void =>
    later(vscode.window.visibleTextEditors.map((one) => one.document.uri.toString()));
  const ifPending = ({ document }: vscode.TextEditor): void => {
    const uri = document.uri.toString();
    if (pending.of(uri).length > 0) later([uri]);
  };

  visible();
  return vscode.Disposable.from(
    ...Object.values(types),
    pending.onChange(later),
    vscode.window.onDidChangeVisibleTextEditors(visible),
    vscode.window.onDidChangeTextEditorVisibleRanges(({ textEditor }) => ifPending(textEditor)),
    // Within a line nothing moves, but the line's words differ.
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      const uri = document.uri.toString();
      if (pending.of(uri).length > 0) later([uri]);
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

type Types = Readonly<
  Record<"bar" | "added" | "words" | "lost" | "ghost" | "gap", vscode.TextEditorDecorationType>
>;

function color(name: string): vscode.ThemeColor {
  return new vscode.ThemeColor(name);
}

function decorationTypes(): Types {
  const make = vscode.window.createTextEditorDecorationType;
  const line = { isWholeLine: true, borderStyle: "solid" } as const;
  const still = { rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed };
  return {
    bar: make({
      ...line,
      borderWidth: "0 0 0 2px",
      borderColor: color("indwell.pendingBorder"),
      overviewRulerColor: color("indwell.pendingOverviewRuler"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
    added: make({ isWholeLine: true, backgroundColor: color("indwell.pendingBackground") }),
    words: make({
      ...still,
      backgroundColor: color("diffEditor.insertedTextBackground"),
      border: "1px dashed",
      borderColor: color("indwell.addedWordBorder"),
    }),
    lost: make(still),
    ghost: make(still),
    gap: make({
      ...line,
      borderWidth: "1px 0 0 0",
      borderColor: color("indwell.removedBorder"),
      overviewRulerColor: color("indwell.removedBorder"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
  };
}

const NOTHING: Details = { words: [], lost: [], ghosts: [] };

function draw(editor: vscode.TextEditor, pending: PendingChanges, types: Types): void {
  const { document } = editor;
  const { bars, added, gaps } = marks(pending.of(document.uri.toString()), document.lineCount);
  // A diff shows added and removed lines by itself, so the bar and its hover are enough there.
  const isDiff = isInDiff(editor);
  const shown = isDiff ? NOTHING : detailsIn(editor, [...bars, ...gaps]);
  const wholes = (runs: readonly Run[]) =>
    runs.map((run) => ({
      range: whole(document, run.first, run.last),
      hoverMessage: isSeen(editor, run) ? [...changeHover(run.change, document)] : [],
    }));
  const tabSize = typeof editor.options.tabSize === "number" ? editor.options.tabSize : 4;
  editor.setDecorations(types.bar, wholes(bars));
  editor.setDecorations(types.gap, wholes(isDiff ? [] : gaps));
  editor.setDecorations(
    types.added,
    isDiff ? [] : added.map((run) => whole(document, run.first, run.last)),
  );
  editor.setDecorations(
    types.words,
    shown.words.map(({ line, from, to }) => new vscode.Range(line, from, line, to)),
  );
  editor.setDecorations(
    types.lost,
    shown.lost.map(({ line, at, text }) => ({
      range: new vscode.Range(line, at, line, at),
      renderOptions: { before: removed("Text", lostWords(text, tabSize), "line-through") },
    })),
  );
  editor.setDecorations(
    types.ghost,
    shown.ghosts.map((one) => {
      const end = document.lineAt(one.line).range.end;
      const after = removed("Line", ghostWords(one, tabSize), "none");
      return {
        range: new vscode.Range(end, end),
        renderOptions: { after: { ...after, margin: "0 0 0 2ch" } },
      };
    }),
  );
}

function removed(
  part: "Text" | "Line",
  contentText: string,
  textDecoration: string,
): vscode.ThemableDecorationAttachmentRenderOptions {
  return {
    contentText,
    textDecoration,
    color: color("indwell.removedForeground"),
    backgroundColor: color(`diffEditor.removed${part}Background`),
    border: "1px dashed",
    borderColor: color("indwell.removedWordBorder"),
  };
}

function detailsIn(editor: vscode.TextEditor, runs: readonly Run[]): Details {
  const { document } = editor;
  const found = runs
    .filter((run) => isSeen(editor, run))
    .map((run) => {
      const lines: string[] = [];
      for (let line = run.first; line <= run.last; line += 1)
        lines.push(document.lineAt(line).text);
      return details(run, lines);
    });
  return {
    words: found.flatMap((one) => one.words),
    lost: found.flatMap((one) => one.lost),
    ghosts: found.flatMap((one) => one.ghosts),
  };
}

function isSeen(editor: vscode.TextEditor, { first, last }: Run): boolean {
  return editor.visibleRanges.some(
    ({ start, end }) => first <= end.line + AROUND && last >= start.line - AROUND,
  );
}

function isInDiff(editor: vscode.TextEditor): boolean {
  const groups = vscode.window.tabGroups;
  const group = groups.all.find((one) => one.viewColumn === editor.viewColumn);
  const tab = (group ?? groups.activeTabGroup).activeTab;
  if (tab === undefined || editor.document.uri.scheme === "vscode-notebook-cell") return false;
  return !(tab.input instanceof vscode.TabInputText);
}

function whole(document: vscode.TextDocument, first: number, last: number): vscode.Range {
  return new vscode.Range(first, 0, last, document.lineAt(last).text.length);
}
