/** Moves the chat between the side bar and the secondary side bar. */
import * as vscode from "vscode";

const VIEW = "indwell.chat";
const PRIMARY = "workbench.view.extension.indwell";
const SECONDARY = "workbench.view.extension.indwell-side";

/** Registers the commands that show and move the view. */
export function registerPlace(): vscode.Disposable {
  const move = async (destinationId: string): Promise<void> => {
    await vscode.commands.executeCommand("vscode.moveViews", { viewIds: [VIEW], destinationId });
    await vscode.commands.executeCommand(`${VIEW}.focus`);
  };
  return vscode.Disposable.from(
    vscode.commands.registerCommand("indwell.moveToSecondarySideBar", () => move(SECONDARY)),
    vscode.commands.registerCommand("indwell.moveToPrimarySideBar", () => move(PRIMARY)),
  );
}
