/** Connects each server process to the editor's features that it needs. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "../server/server.ts";
import { answerNavigate } from "./answer-navigate.ts";
import { answerSave } from "./answer-save.ts";
import { answerMessages } from "./message-boxes.ts";
import { answerProblems, type ProblemWatch, pushProblems, watchProblems } from "./problems.ts";
import { watchAttention } from "./watch-attention.ts";

/** Starts serving `server`. Focus, selection and problems are sent once the server answers. */
export function registerClient(
  _context: vscode.ExtensionContext,
  server: Server,
): vscode.Disposable {
  const watch = watchProblems();
  return vscode.Disposable.from(
    watch,
    server.attach((client) =>
      vscode.Disposable.from(
        answerSave(client),
        answerProblems(client, watch),
        answerMessages(client),
        answerNavigate(client),
        noticeOwn(client, watch),
        telling(client, () =>
          vscode.Disposable.from(watchAttention(client), pushProblems(client, watch)),
        ),
      ),
    ),
  );
}

/** Starts sending when the client runs; an earlier notification would delay its start. */
function telling(client: LanguageClient, begin: () => vscode.Disposable): vscode.Disposable {
  let work: vscode.Disposable | undefined;
  const look = (): void => {
    if (client.isRunning()) work ??= begin();
  };
  const listening = client.onDidChangeState(look);
  look();
  return new vscode.Disposable(() => {
    listening.dispose();
    work?.dispose();
  });
}

/** Informs `watch` which hints are Indwell's own. */
function noticeOwn(client: LanguageClient, watch: ProblemWatch): vscode.Disposable {
  const { middleware } = client;
  middleware.handleDiagnostics = (uri, diagnostics, next) => {
    watch.own(uri);
    next(uri, diagnostics);
  };
  return new vscode.Disposable(() => {
    delete middleware.handleDiagnostics;
  });
}
