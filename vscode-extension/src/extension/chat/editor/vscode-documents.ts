/** Documents of the editor: opened, shown, changed with a diff before. */
import { realpath } from "node:fs/promises";
import * as vscode from "vscode";
import { visible } from "../../../shared/visible.ts";
import type { CodeTarget, Documents, MayChange, Place, Put } from "../ports.ts";
import { insideOf } from "./inside.ts";
import { StandingDocuments } from "./standing-documents.ts";

const SHOWN = "indwell-shown";
const APPLY = "Apply";
/** Texts that are kept for documents that were shown. */
const KEPT = 20;

export class VsCodeDocuments implements Documents {
  readonly #texts = new Map<string, string>();
  readonly #standing: StandingDocuments;
  #last = 0;

  constructor(subscriptions: vscode.Disposable[]) {
    this.#standing = new StandingDocuments(subscriptions);
    subscriptions.push(
      vscode.workspace.registerTextDocumentContentProvider(SHOWN, {
        provideTextDocumentContent: (uri) => this.#texts.get(uri.toString()) ?? "",
      }),
    );
  }

  async open({ path, first, last }: Place): Promise<void> {
    const real = await insideOf(path, folders());
    if (real === null) throw new Error(`${visible(path)} is no file of the open folders.`);
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

  async showReadOnly(title: string, text: string): Promise<void> {
    const uri = this.#keep(title, text);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, {
      preview: true,
      viewColumn: vscode.ViewColumn.Beside,
      preserveFocus: true,
    });
  }

  async read(uri: string): Promise<string> {
    return (await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true))).getText();
  }

  async save(name: string, text: string): Promise<boolean> {
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
    const uri = await vscode.window.showSaveDialog({
      ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, name) }),
      filters: { Markdown: ["md"] },
      saveLabel: "Export",
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

  async apply(text: string, path: string | null, mayChange: MayChange): Promise<Put> {
    askTrust();
    const target = await this.#target(path, mayChange);
    if (target === null) return "nowhere";
    const { document, range } = target;
    if (!(await mayChange(await targetOf(document, path)))) return "refused";
    const whole = document.getText();
    const before = whole.slice(0, document.offsetAt(range.start));
    const after = whole.slice(document.offsetAt(range.end));
    const name = vscode.workspace.asRelativePath(document.uri);
    const shown = this.#keep(name, before + text + after);
    const title = `${name} (apply the code)`;
    await vscode.commands.executeCommand("vscode.diff", document.uri, shown, title, {
      preview: true,
    });
    const words = `Apply the code to ${name}?`;
    const isWanted = await this.#standing.wait(shown, words, APPLY);
    await closeDiff(shown);
    if (!isWanted) return "refused";
    if (document.getText() !== whole) {
      throw new Error(`${name} has changed since the diff was shown; nothing was applied.`);
    }
    const edit = new vscode.WorkspaceEdit();
    edit.replace(document.uri, range, text);
    if (!(await vscode.workspace.applyEdit(edit))) {
      throw new Error(`VS Code did not take the edit of ${name}; nothing was applied.`);
    }
    await vscode.window.showTextDocument(document);
    return "applied";
  }

  /** The named file as a whole, or what is marked in the active editor (all of it if nothing is). */
  async #target(
    path: string | null,
    mayChange: MayChange,
  ): Promise<{ document: vscode.TextDocument; range: vscode.Range } | null> {
    const real = path === null ? null : await insideOf(path, folders());
    if (path !== null && real === null) {
      // Not there, or outside: a protected name is refused rather than its code put elsewhere.
      await mayChange({ name: path, paths: [path], isActive: false });
    }
    const editor = fileEditor();
    const isHere = editor !== undefined && (real === null || editor.document.uri.fsPath === real);
    if (isHere && !editor.selection.isEmpty) {
      return { document: editor.document, range: editor.selection };
    }
    if (real !== null) {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.file(real));
      return { document, range: wholeOf(document) };
    }
    return editor === undefined || path !== null
      ? null
      : { document: editor.document, range: wholeOf(editor.document) };
  }

  #keep(title: string, text: string): vscode.Uri {
    this.#last += 1;
    const name =
      visible(title)
        .replace(/[\\/:?#]+/g, " ")
        .trim()
        .slice(0, 60) || "text";
    const uri = vscode.Uri.from({ scheme: SHOWN, path: `/${this.#last}/${name}` });
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

/** A document as one that code is to go into; `named`: the path that the model gave, if it gave one. */
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

/** A path from the open folder that it stands in. */
function fromFolder(uri: vscode.Uri): string {
  return vscode.workspace.asRelativePath(uri, false);
}

/** Restricted mode changes nothing; VS Code itself does not keep an extension from it. */
function askTrust(): void {
  if (vscode.workspace.isTrusted) return;
  throw new Error("This folder is in restricted mode: nothing of it is changed. Trust it first.");
}

/** The editor that the user last wrote in: with the focus in the panel it is still the active one. */
function fileEditor(): vscode.TextEditor | undefined {
  const editor = vscode.window.activeTextEditor;
  const isFile = (one: vscode.TextEditor): boolean =>
    one.document.uri.scheme === "file" || one.document.uri.scheme === "untitled";
  if (editor !== undefined && isFile(editor)) return editor;
  return vscode.window.visibleTextEditors.find(isFile);
}

function wholeOf(document: vscode.TextDocument): vscode.Range {
  return new vscode.Range(0, 0, document.lineCount, 0);
}

async function closeDiff(shown: vscode.Uri): Promise<void> {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  const ours = tabs.filter(
    ({ input }) =>
      input instanceof vscode.TabInputTextDiff && input.modified.toString() === shown.toString(),
  );
  await vscode.window.tabGroups.close(ours, true);
}
