/** Draws pending changes in the visible editors: bars, backgrounds, and notes about removed lines. */
import * as vscode from "vscode";
import { changeHover } from "./change-hover.ts";
import { type Ghost, marks } from "./marks.ts";
import type { PendingChanges } from "./pending-changes.ts";
import type { PendingLines } from "./pending-lines.ts";

/** Milliseconds that drawing waits while the user types; until then VS Code moves the drawn marks. */
const REST_MS = 60;

/** Draws until it is disposed; the work is proportional to the visible editors. */
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

  visible();
  return vscode.Disposable.from(
    types.bar,
    types.added,
    types.ghost,
    types.gap,
    pending.onChange(later),
    vscode.window.onDidChangeVisibleTextEditors(visible),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

interface Types {
  readonly bar: vscode.TextEditorDecorationType;
  readonly added: vscode.TextEditorDecorationType;
  readonly ghost: vscode.TextEditorDecorationType;
  readonly gap: vscode.TextEditorDecorationType;
}

function decorationTypes(): Types {
  const color = (name: string): vscode.ThemeColor => new vscode.ThemeColor(`indwell.${name}`);
  const line = { isWholeLine: true } as const;
  return {
    bar: vscode.window.createTextEditorDecorationType({
      ...line,
      borderStyle: "solid",
      borderWidth: "0 0 0 2px",
      borderColor: color("pendingBorder"),
      overviewRulerColor: color("pendingOverviewRuler"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
    added: vscode.window.createTextEditorDecorationType({
      ...line,
      backgroundColor: color("pendingBackground"),
    }),
    ghost: vscode.window.createTextEditorDecorationType({
      rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    }),
    gap: vscode.window.createTextEditorDecorationType({
      ...line,
      borderStyle: "solid",
      borderWidth: "1px 0 0 0",
      borderColor: color("removedBorder"),
      overviewRulerColor: color("removedBorder"),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    }),
  };
}

function draw(editor: vscode.TextEditor, pending: PendingChanges, types: Types): void {
  const document = editor.document;
  const all = marks(pending.of(document.uri.toString()), document.lineCount);
  // A diff shows added and removed lines by itself: there the bar and its hover are enough.
  const isDiff = isInDiff(editor);
  const found = isDiff ? { bars: all.bars, added: [], ghosts: [] } : all;
  const hovers = new Map<PendingLines, vscode.MarkdownString[]>();
  const hover = (one: PendingLines): vscode.MarkdownString[] => {
    const known = hovers.get(one) ?? [...changeHover(one, document)];
    hovers.set(one, known);
    return known;
  };
  editor.setDecorations(
    types.bar,
    found.bars.map((run) => {
      const range = whole(document, run.first, run.last);
      // Where lines were removed, the note about them has the hover.
      const isSaid = run.change.removed > 0 && !isDiff;
      return isSaid ? { range } : { range, hoverMessage: hover(run.change) };
    }),
  );
  editor.setDecorations(
    types.added,
    found.added.map((run) => whole(document, run.first, run.last)),
  );
  editor.setDecorations(
    types.gap,
    found.ghosts.filter((one) => one.bare).map((one) => whole(document, one.line, one.line)),
  );
  editor.setDecorations(
    types.ghost,
    found.ghosts.map((one) => ghost(one, document, hover(one.change))),
  );
}

function isInDiff(editor: vscode.TextEditor): boolean {
  const groups = vscode.window.tabGroups;
  const group = groups.all.find((one) => one.viewColumn === editor.viewColumn);
  const tab = (group ?? groups.activeTabGroup).activeTab;
  return tab !== undefined && !(tab.input instanceof vscode.TabInputText);
}

function whole(document: vscode.TextDocument, first: number, last: number): vscode.Range {
  return new vscode.Range(first, 0, last, document.lineAt(last).text.length);
}

function ghost(
  one: Ghost,
  document: vscode.TextDocument,
  hoverMessage: vscode.MarkdownString[],
): vscode.DecorationOptions {
  return {
    range: whole(document, one.line, one.line),
    hoverMessage,
    renderOptions: {
      after: {
        contentText: one.words,
        margin: "0 0 0 2ch",
        color: new vscode.ThemeColor("indwell.removedForeground"),
      },
    },
  };
}
