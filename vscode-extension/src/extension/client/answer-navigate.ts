/** Answers `indwell/navigate` by the language features of VS Code, from any extension. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { NavigateParams, NavigateResult } from "../../protocol.ts";

/** Milliseconds to wait for an extension that starts with the first document of its language. */
const READY_MS = 4_000;
const PAUSE_MS = 250;

/** The time of the first request for each language, in milliseconds. */
type FirstAsked = Map<string, number>;

/** Registers the handler, which lasts as long as one server process. */
export function answerNavigate(client: LanguageClient): vscode.Disposable {
  const first: FirstAsked = new Map();
  return client.onRequest("indwell/navigate", (asked: NavigateParams, token) =>
    answered(client, asked, first, token),
  );
}

async function answered(
  client: LanguageClient,
  asked: NavigateParams,
  first: FirstAsked,
  token: vscode.CancellationToken,
): Promise<NavigateResult> {
  try {
    const result = await found(client, asked, first, token);
    return { replies: [{ result, encoding: "utf-16" }] };
  } catch (error) {
    return { replies: [{ error: error instanceof Error ? error.message : String(error) }] };
  }
}

async function found(
  client: LanguageClient,
  asked: NavigateParams,
  first: FirstAsked,
  token: vscode.CancellationToken,
): Promise<unknown> {
  if (asked.uri === null) return asSymbols(client, await workspaceSymbols(asked.query));
  const uri = client.protocol2CodeConverter.asUri(asked.uri);
  const document = await vscode.workspace.openTextDocument(uri);
  const begun = first.get(document.languageId) ?? Date.now();
  first.set(document.languageId, begun);
  while (true) {
    const result = await once(client, asked, document);
    const isEmpty = result === null || (Array.isArray(result) && result.length === 0);
    if (!isEmpty || Date.now() - begun > READY_MS || token.isCancellationRequested) return result;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

function workspaceSymbols(query: string): Thenable<readonly vscode.SymbolInformation[]> {
  return vscode.commands.executeCommand("vscode.executeWorkspaceSymbolProvider", query);
}

async function once(
  client: LanguageClient,
  asked: NavigateParams,
  document: vscode.TextDocument,
): Promise<unknown> {
  const { uri } = document;
  const at = new vscode.Position(asked.line, asked.character);
  switch (asked.method) {
    case "textDocument/definition":
      return asLocations(client, await ask("vscode.executeDefinitionProvider", uri, at));
    case "textDocument/references":
      return asLocations(client, await ask("vscode.executeReferenceProvider", uri, at));
    case "textDocument/hover":
      return asHover(await ask("vscode.executeHoverProvider", uri, at));
    case "textDocument/documentSymbol":
      return asSymbols(client, await ask("vscode.executeDocumentSymbolProvider", uri));
    case "textDocument/rename":
      return asEdit(client, await ask("vscode.executeDocumentRenameProvider", uri, at, asked.name));
    case "workspace/symbol":
      return null;
    default:
      return asked.method satisfies never;
  }
}

function ask<T>(command: string, ...given: readonly unknown[]): Thenable<T | undefined> {
  return vscode.commands.executeCommand<T | undefined>(command, ...given);
}

function asLocations(
  client: LanguageClient,
  found: readonly (vscode.Location | vscode.LocationLink)[] | undefined,
): unknown {
  const { asRange, asUri } = client.code2ProtocolConverter;
  return (found ?? []).map((one) =>
    "targetUri" in one
      ? {
          targetUri: asUri(one.targetUri),
          targetRange: asRange(one.targetRange),
          targetSelectionRange: asRange(one.targetSelectionRange ?? one.targetRange),
        }
      : { uri: asUri(one.uri), range: asRange(one.range) },
  );
}

function asHover(found: readonly vscode.Hover[] | undefined): unknown {
  const words = (found ?? []).flatMap((one) =>
    one.contents.map((part) => (typeof part === "string" ? part : part.value)),
  );
  return words.length === 0 ? null : { contents: words };
}

/** Converts symbols; kinds count from 0 in VS Code and from 1 in the protocol. */
function asSymbols(
  client: LanguageClient,
  found: readonly (vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined,
): unknown {
  const { asRange, asUri } = client.code2ProtocolConverter;
  return (found ?? []).map((one) =>
    "children" in one
      ? {
          name: one.name,
          kind: one.kind + 1,
          range: asRange(one.range),
          selectionRange: asRange(one.selectionRange),
          children: asSymbols(client, one.children),
        }
      : {
          name: one.name,
          kind: one.kind + 1,
          containerName: one.containerName,
          location: { uri: asUri(one.location.uri), range: asRange(one.location.range) },
        },
  );
}

function asEdit(client: LanguageClient, found: vscode.WorkspaceEdit | undefined): unknown {
  if (found === undefined || found.size === 0) return null;
  const { asRange, asUri } = client.code2ProtocolConverter;
  return {
    documentChanges: found.entries().map(([uri, edits]) => ({
      textDocument: { uri: asUri(uri), version: null },
      edits: edits.map((one) => ({ range: asRange(one.range), newText: one.newText })),
    })),
  };
}
