/** A view with one sentence, to measure the time that VS Code needs to show a webview after a reload. */
const vscode = require("vscode");

exports.activate = (context) => {
  const resolveWebviewView = (view) => {
    view.webview.html = "<!DOCTYPE html><p>The text of a bare view.</p>";
  };
  context.subscriptions.push(
    vscode.window.registerWebviewViewProvider("bare.view", { resolveWebviewView }),
  );
};
