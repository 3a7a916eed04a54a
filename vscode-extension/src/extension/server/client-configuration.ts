/** Answers `workspace/configuration` with explicitly set values only. */
import * as vscode from "vscode";
import type { ConfigurationMiddleware } from "vscode-languageclient/node";
import { settingsForServer } from "./configuration.ts";

type Handler = NonNullable<ConfigurationMiddleware["configuration"]>;

/** The middleware, which gives the server no section but `indwell`. */
export const forServer: Handler = (params) =>
  params.items.map(({ section, scopeUri }) => {
    if (section !== "indwell") return null;
    const scope = scopeUri === undefined ? undefined : vscode.Uri.parse(scopeUri);
    const configuration = vscode.workspace.getConfiguration("indwell", scope);
    const names = leaves(configuration);
    return settingsForServer(names, (name) => configuration.inspect(name));
  });

/** Returns the names of all settings of the section; the server reports undeclared settings. */
function leaves(configuration: vscode.WorkspaceConfiguration): readonly string[] {
  return Object.keys(configuration).filter((name) => configuration.inspect(name) !== undefined);
}
