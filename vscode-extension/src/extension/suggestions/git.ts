/** Uses VS Code's own git extension. */
import * as vscode from "vscode";

/** The used parts of `vscode.git`, version 1 of its API. */
interface GitApi {
  readonly repositories: readonly Repository[];
  getRepository(uri: vscode.Uri): Repository | null;
}

interface Repository {
  readonly rootUri: vscode.Uri;
  readonly inputBox: { value: string };
  readonly state: {
    readonly HEAD: { readonly name?: string } | undefined;
    readonly workingTreeChanges: readonly unknown[];
    readonly indexChanges: readonly unknown[];
    readonly untrackedChanges?: readonly unknown[];
    readonly mergeChanges: readonly unknown[];
    readonly onDidChange: vscode.Event<void>;
  };
  /** Returns the paths that git ignores. */
  checkIgnore?(paths: readonly string[]): Promise<ReadonlySet<string>>;
}

interface GitExtension {
  readonly enabled: boolean;
  getAPI(version: 1): GitApi;
}

/**
 * Returns the repository of a file, or the first repository; null if there is no repository or git
 * is off. Never starts git.
 */
export function repositoryOf(uri: vscode.Uri | undefined): Repository | null {
  const extension = vscode.extensions.getExtension<GitExtension>("vscode.git");
  if (extension?.isActive !== true || !extension.exports.enabled) return null;
  const api = extension.exports.getAPI(1);
  const own = uri === undefined ? null : api.getRepository(uri);
  return own ?? api.repositories[0] ?? null;
}

/** Returns the repository with exactly this root, or null if git does not know it. */
export function repositoryAt(root: vscode.Uri): Repository | null {
  const found = repositoryOf(root);
  return found?.rootUri.toString() === root.toString() ? found : null;
}

/** Returns the branch and the number of files that differ from the last commit. */
export function gitState(repository: Repository): {
  readonly branch: string;
  readonly changed: number;
} {
  const { HEAD, workingTreeChanges, indexChanges, mergeChanges, untrackedChanges } =
    repository.state;
  const changed =
    workingTreeChanges.length +
    indexChanges.length +
    mergeChanges.length +
    (untrackedChanges?.length ?? 0);
  return { branch: HEAD?.name ?? "", changed };
}
