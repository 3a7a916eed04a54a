/** Opens, shows and changes documents of the editor; a change is shown as a diff first. */

import { realpath } from "node:fs/promises";
import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import { visible } from "../../../shared/visible.ts";
import { say } from "../../say.ts";
import { changedPart } from "../placing/code-lines.ts";
import { type Placing, placeCode } from "../placing/place-code.ts";
import type { Applied, AsChange, CodeTarget, Documents, MayChange, Place, Put } from "../ports.ts";
import { insideOf, newInside } from "./inside.ts";
import { StandingDocuments } from "./standing-documents.ts";

const SHOWN = "indwell-shown";

/**
 * How the user is asked about code for a file: the title of the diff, the question, and the button
 * for yes.
 */
interface Way {
  readonly what: string;
  readonly question: (name: string) => string;
  readonly yes: string;
}

const PART: Way = {
  what: t("apply the code"),
  question: (name) => t("Apply the code to {0}?", name),
  yes: t("Apply"),
};
const WHOLE: Way = {
  what: t("replace the whole file"),
  question: (name) => t("Replace the whole file {0} with the code?", name),
  yes: t("Replace the Whole File"),
};
const NEW: Way = {
  what: t("new file"),
  question: (name) => t("Create the file {0} with the code?", name),
  yes: t("Create"),
};
const UNDO = t("Undo");
/** The number of texts that are kept for documents that were shown. */
const KEPT = 20;

export class VsCodeDocuments implements Documents {
  readonly #texts = new Map<string, string>();
  readonly #changed = new vscode.EventEmitter<vscode.Uri>();
  readonly #standing: StandingDocuments;
  #last = 0;

  constructor(subscriptions: vscode.Disposable[]) {
    this.#standing = new StandingDocuments(subscriptions);
    subscriptions.push(
      this.#changed,
      vscode.workspace.registerTextDocumentContentProvider(SHOWN, {
        onDidChange: this.#changed.event,
        provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? "",
      }),
    );
  }

  async open({ path, first, last }: Place): Promise<void> {
    const real = await insideOf(path, folders());
    if (real === null) throw new Error(t("{0} is no file of the open folders.", visible(path)));
    const at = first === null ? null : new vscode.Range(first, 0, last ?? first, 0);
    await vscode.window.showTextDocument(
      vscode.Uri.file(real),
      at === null ? { preview: true } : { preview: true, selection: at },
    );
  }

  async locate(path: string): Promise<string | null> {
    const real = await insideOf(path, folders());
    return real === null ? null : vscode.Uri.file(real).toString();
  }

  isOpen(path: string): boolean {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    return tabs.some(
      ({ input }) => input instanceof vscode.TabInputText && input.uri.fsPath === path,
    );
  }

  async showReadOnly(title: string, text: string, key?: string): Promise<void> {
    const uri = this.#keep(title, text, key);
    const document = await vscode.workspace.openTextDocument(uri);
    const shown = vscode.window.visibleTextEditors.find((one) => one.document === document);
    const editor = await vscode.window.showTextDocument(document, {
      preview: true,
      viewColumn: shown?.viewColumn ?? vscode.ViewColumn.Beside,
      preserveFocus: true,
    });
    if (key === undefined) return;
    if (document.getText() !== text) await this.#refresh(document, uri);
    const end = document.lineAt(document.lineCount - 1).range;
    editor.revealRange(end, vscode.TextEditorRevealType.Default);
  }

  /** Gives an open document its new text. */
  async #refresh(document: vscode.TextDocument, uri: vscode.Uri): Promise<void> {
    const changed = new Promise<void>((resolve) => {
      const listening = vscode.workspace.onDidChangeTextDocument((event) => {
        if (event.document !== document) return;
        listening.dispose();
        resolve();
      });
    });
    this.#changed.fire(uri);
    await changed;
  }

  async read(uri: string): Promise<string> {
    return (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true))).getText();
  }

  async save(name: string, text: string): Promise<boolean> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const uri = await vscode.window.showSaveDialog({
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
      filters: { Markdown: ["md"] },
      saveLabel: t("Export"),
    });
    if (uri === undefined) return false;
    await vscode.workspace.fs.writeFile(uri, Buffer.from(text, "utf8"));
    await vscode.window.showTextDocument(uri, { preview: false });
    return true;
  }

  async insert(text: string, mayChange: MayChange): Promise<Put> {
    askTrust();
    const editor = fileEditor();
    if (editor === undefined) return "nowhere";
    if (!(await mayChange(await targetOf(editor.document, null)))) return "refused";
    const done = await editor.edit((edit) => {
      for (const selection of editor.selections) edit.replace(selection, text);
    });
    if (!done) return "nowhere";
    await vscode.window.showTextDocument(editor.document, editor.viewColumn);
    return "applied";
  }

  async apply(
    text: string,
    place: Place | null,
    mayChange: MayChange,
    asChange: AsChange,
  ): Promise<Applied> {
    askTrust();
    const path = place?.path ?? null;
    const target = await this.#target(path, mayChange);
    if (target === null) return path === null ? "nowhere" : this.#create(path, text, mayChange);
    const { document, marked } = target;
    if (!(await mayChange(await targetOf(document, path)))) return "refused";
    const before = document.getText();
    const name = vscode.workspace.asRelativePath(document.uri);
    const placing =
      marked === null
        ? placeCode(before, text, place?.first ?? null)
        : inPlaceOf(document, marked, text);
    if (placing.kind === "there") return { kind: "there", name };
    if (placing.kind === "unknown") return { ...placing, name };
    if (await this.#asChange(document, placing.text, asChange)) return "applied";
    const way = placing.isWhole ? WHOLE : PART;
    if (!(await this.#isWanted(document.uri, name, placing.text, way))) return "refused";
    if (document.getText() !== before) {
      throw new Error(t("{0} has changed since the diff was shown; nothing was applied.", name));
    }
    const changed = changedPart(before, placing.text);
    const edit = new vscode.WorkspaceEdit();
    const range = new vscode.Range(
      document.positionAt(changed.from),
      document.positionAt(changed.to),
    );
    edit.replace(document.uri, range, changed.text);
    if (!(await vscode.workspace.applyEdit(edit))) {
      throw new Error(t("VS Code did not take the edit of {0}; nothing was applied.", name));
    }
    const now = new vscode.Range(
      range.start,
      document.positionAt(document.offsetAt(range.start) + changed.text.length),
    );
    await showApplied(document, now);
    void offerUndo(document, name, now);
    return "applied";
  }

  /** Makes the change a pending change in the file, without a question first. */
  async #asChange(
    document: vscode.TextDocument,
    text: string,
    asChange: AsChange,
  ): Promise<boolean> {
    const { uri, version } = document;
    const at = document.positionAt(changedPart(document.getText(), text).from);
    if (uri.scheme !== "file" || !(await asChange({ uri: uri.toString(), version, text })))
      return false;
    const editor = await vscode.window.showTextDocument(document, {
      selection: new vscode.Range(at, at),
    });
    editor.revealRange(
      new vscode.Range(at, at),
      vscode.TextEditorRevealType.InCenterIfOutsideViewport,
    );
    return true;
  }

  /** Creates a missing file that the model has named, if its name is not protected. */
  async #create(path: string, text: string, mayChange: MayChange): Promise<Put> {
    const real = await newInside(path, folders());
    const placing = placeCode("", text);
    if (real === null || placing.kind !== "placed") return "nowhere";
    const uri = vscode.Uri.file(real);
    const name = vscode.workspace.asRelativePath(uri);
    // A folder in the path may be a link into a protected folder.
    const target = { name, paths: [path, fromFolder(uri)], isActive: false };
    if (!(await mayChange(target))) return "refused";
    if (!(await this.#isWanted(this.#keep("nothing yet", ""), name, placing.text, NEW)))
      return "refused";
    const edit = new vscode.WorkspaceEdit();
    edit.createFile(uri, { contents: Buffer.from(placing.text, "utf8") });
    if (!(await vscode.workspace.applyEdit(edit))) {
      throw new Error(t("VS Code did not create {0}. Is there a file of that name now?", name));
    }
    await vscode.window.showTextDocument(uri);
    return "applied";
  }

  /** Shows a diff of the proposed change with its description; returns the user's yes or no. */
  async #isWanted(before: vscode.Uri, name: string, text: string, way: Way): Promise<boolean> {
    const shown = this.#keep(name, text);
    const title = `${name} (${way.what})`;
    await vscode.commands.executeCommand("vscode.diff", before, shown, title, { preview: true });
    const isWanted = await this.#standing.wait(shown, way.question(name), way.yes);
    await closeDiff(shown);
    return isWanted;
  }

  /** Returns the named file, or the active one, with its selection if there is one. */
  async #target(
    path: string | null,
    mayChange: MayChange,
  ): Promise<{ document: vscode.TextDocument; marked: vscode.Range | null } | null> {
    const real = path === null ? null : await insideOf(path, folders());
    if (path !== null && real === null) {
      // The file is missing or outside of the folders. A protected name is refused, so that its
      // code is not inserted elsewhere.
      await mayChange({ name: path, paths: [path], isActive: false });
    }
    const editor = fileEditor();
    const isHere = editor !== undefined && (real === null || editor.document.uri.fsPath === real);
    if (isHere && !editor.selection.isEmpty) {
      return { document: editor.document, marked: editor.selection };
    }
    if (real !== null) {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(real));
      return { document, marked: null };
    }
    return editor === undefined || path !== null
      ? null
      : { document: editor.document, marked: null };
  }

  #keep(title: string, text: string, key?: string): vscode.Uri {
    this.#last += 1;
    const name =
      visible(title)
        .replace(/[\\/:?#]+/g, " ")
        .trim()
        .slice(0, 60) || "text";
    const uri = vscode.Uri.from({ scheme: SHOWN, path: `/${key ?? this.#last}/${name}` });
    this.#texts.delete(uri.toString()); // A text that is shown again becomes the newest one.
    this.#texts.set(uri.toString(), text);
    for (const old of this.#texts.keys()) {
      if (this.#texts.size <= KEPT) break;
      this.#texts.delete(old);
    }
    return uri;
  }
}

function folders(): readonly string[] {
  return (vscode.workspace.workspaceFolders ?? [])
    .filter((folder) => folder.uri.scheme === "file")
    .map((folder) => folder.uri.fsPath);
}

/** Returns a document as the target of code; `named` is the path that the model gave, if any. */
async function targetOf(document: vscode.TextDocument, named: string | null): Promise<CodeTarget> {
  const { uri } = document;
  const isActive = fileEditor()?.document === document;
  const real = uri.scheme === "file" ? await realpath(uri.fsPath).catch(() => null) : null;
  const paths = [uri, ...(real === null ? [] : [vscode.Uri.file(real)])].map(fromFolder);
  return {
    name: vscode.workspace.asRelativePath(uri),
    paths: named === null ? paths : [...paths, named],
    isActive,
  };
}

/** Returns a path relative to the open folder that contains it. */
function fromFolder(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

/**
 * Refuses a change in restricted mode, because VS Code does not prevent extensions from changing
 * files.
 */
function askTrust(): void {
  if (vscode.workspace.isTrusted) return;
  throw new Error(
    t("This folder is in restricted mode, so Indwell changes nothing in it. Trust it first."),
  );
}

/**
 * Returns the editor in which the user last typed; it stays active while the panel has the focus.
 */
function fileEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  const isFile = (one: vscode.TextEditor): boolean =>
    one.document.uri.scheme === "file" || one.document.uri.scheme === "untitled";
  if (editor !== undefined && isFile(editor)) return editor;
  return vscode.window.visibleTextEditors.find(isFile);
}

/** Replaces the selection with `text`. */
function inPlaceOf(document: vscode.TextDocument, range: vscode.Range, text: string): Placing {
  const all = document.getText();
  const [from, to] = [document.offsetAt(range.start), document.offsetAt(range.end)];
  const isWhole = all.slice(0, from).trim() === "" && all.slice(to).trim() === "";
  return { kind: "placed", text: all.slice(0, from) + text + all.slice(to), isWhole };
}

/** Shows the lines, highlighted until the next change; new code would replace a selection. */
async function showApplied(document: vscode.TextDocument, range: vscode.Range): Promise<void> {
  const start = new vscode.Range(range.start, range.start);
  const editor = await vscode.window.showTextDocument(document, { selection: start });
  const colour = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.modifiedForeground"),
  });
  const last =
    range.end.character === 0 ? Math.max(range.start.line, range.end.line - 1) : range.end.line;
  editor.setDecorations(colour, [new vscode.Range(range.start.line, 0, last, 0)]);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  const changed = vscode.workspace.onDidChangeTextDocument((event) => {
    if (event.document !== document || event.contentChanges.length === 0) return;
    colour.dispose();
    changed.dispose();
  });
}

/** Says where the code was inserted; a button undoes it, unless the user has typed since. */
async function offerUndo(
  document: vscode.TextDocument,
  name: string,
  range: vscode.Range,
): Promise<void> {
  const after = document.getText();
  const first = range.start.line + 1;
  const last = Math.max(first, range.end.character === 0 ? range.end.line : range.end.line + 1);
  const words =
    first === last
      ? t("The code was applied to {0}, line {1}.", name, first)
      : t("The code was applied to {0}, lines {1} to {2}.", name, first, last);
  if ((await say("info", words, UNDO)) !== UNDO) return;
  if (document.getText() !== after) {
    await say(
      "info",
      t("{0} has changed since. Undo in the editor takes the steps back one by one.", name),
    );
    return;
  }
  await vscode.window.showTextDocument(document);
  await vscode.commands.executeCommand("undo");
}

async function closeDiff(shown: vscode.Uri): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter(
    ({ input }) =>
      input instanceof vscode.TabInputTextDiff && input.modified.toString() === shown.toString(),
  );
  await vscode.window.tabGroups.close(ours, true);
}
