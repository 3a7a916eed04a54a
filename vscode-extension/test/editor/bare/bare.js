/** A view with one sentence: what VS Code itself needs to show a webview after a reload. */
const vscode = require("vscode");

exports.activate = (context) => {
  const resolveWebviewView = (view) => {
    view.webview.html = "<!DOCTYPE html><p>The words of a bare view.</p>";
  };
  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider("bare.view", { resolveWebviewView }),
  );
};
