/**
 * Sets the language of the extension's texts when it is loaded. Each program of the extension
 * imports this module first.
 */
import * as vscode from "vscode";
import { speak } from "../shared/l10n.ts";

// VS Code has loaded the bundle of its own language before it loads the extension.
const { bundle } = vscode.l10n;
speak(bundle === undefined ? null : { name: vscode.env.language, bundle });
