"""Recorded capabilities of seven clients in ``initialize``: the parts that a server may use.

A test compares this module with the recordings, which are not part of the project.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PARTS = (
    "general.positionEncodings",
    "workspace.applyEdit",
    "workspace.workspaceEdit",
    "workspace.configuration",
    "workspace.workspaceFolders",
    "workspace.executeCommand",
    "workspace.didChangeWatchedFiles",
    "workspace.didChangeConfiguration",
    "workspace.fileOperations",
    "workspace.textDocumentContent",
    "workspace.codeLens",
    "textDocument.synchronization",
    "textDocument.codeAction",
    "textDocument.codeLens",
    "textDocument.publishDiagnostics",
    "window",
)
"""What was taken over of each recording; the order of kinds of code actions was not."""

_KINDS = (
    "quickfix",
    "refactor",
    "refactor.extract",
    "refactor.inline",
    "refactor.rewrite",
    "source",
    "source.organizeImports",
)

_LAZY = {"properties": ["edit", "command"]}

CAPABILITIES: Mapping[str, Mapping[str, Any]] = {
    "vscode-1.139.1": {
        "general": {"positionEncodings": ["utf-16"]},
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {
                "documentChanges": True,
                "resourceOperations": ["create", "rename", "delete"],
                "failureHandling": "textOnlyTransactional",
                "normalizesLineEndings": True,
                "changeAnnotationSupport": {"groupsOnLabel": True},
                "metadataSupport": True,
                "snippetEditSupport": True,
            },
            "configuration": True,
            "workspaceFolders": True,
            "executeCommand": {"dynamicRegistration": True},
            "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
            "didChangeConfiguration": {"dynamicRegistration": True},
            "fileOperations": {
                "dynamicRegistration": True,
                "didCreate": True,
                "didRename": True,
                "didDelete": True,
                "willCreate": True,
                "willRename": True,
                "willDelete": True,
            },
            "textDocumentContent": {"dynamicRegistration": True},
            "codeLens": {"refreshSupport": True},
        },
        "textDocument": {
            "synchronization": {
                "dynamicRegistration": True,
                "willSave": True,
                "willSaveWaitUntil": True,
                "didSave": True,
            },
            "codeAction": {
                "dynamicRegistration": True,
                "isPreferredSupport": True,
                "disabledSupport": True,
                "dataSupport": True,
                "resolveSupport": _LAZY,
                "codeActionLiteralSupport": {
                    "codeActionKind": {
                        "valueSet": [
                            "",
                            "notebook",
                            "quickfix",
                            "refactor",
                            "refactor.extract",
                            "refactor.inline",
                            "refactor.move",
                            "refactor.rewrite",
                            "source",
                            "source.organizeImports",
                        ]
                    }
                },
                "honorsChangeAnnotations": True,
                "documentationSupport": True,
                "tagSupport": {"valueSet": [1]},
            },
            "codeLens": {
                "dynamicRegistration": True,
                "resolveSupport": {"properties": ["command"]},
            },
            "publishDiagnostics": {
                "relatedInformation": True,
                "versionSupport": False,
                "tagSupport": {"valueSet": [1, 2]},
                "codeDescriptionSupport": True,
                "dataSupport": True,
            },
        },
        "window": {
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
            "showDocument": {"support": True},
            "workDoneProgress": True,
        },
    },
    "nvim-0.11.4": {
        "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
            "configuration": True,
            "workspaceFolders": True,
            "didChangeWatchedFiles": {"dynamicRegistration": False, "relativePatternSupport": True},
            "didChangeConfiguration": {"dynamicRegistration": False},
        },
        "textDocument": {
            "synchronization": {
                "dynamicRegistration": False,
                "willSaveWaitUntil": True,
                "didSave": True,
                "willSave": True,
            },
            "codeAction": {
                "dynamicRegistration": True,
                "isPreferredSupport": True,
                "dataSupport": True,
                "resolveSupport": _LAZY,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", *_KINDS]}},
            },
            "codeLens": {
                "dynamicRegistration": False,
                "resolveSupport": {"properties": ["command"]},
            },
            "publishDiagnostics": {
                "relatedInformation": True,
                "tagSupport": {"valueSet": [1, 2]},
                "dataSupport": True,
            },
        },
        "window": {
            "workDoneProgress": True,
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
            "showDocument": {"support": True},
        },
    },
    "nvim-0.7.2": {
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
            "workspaceFolders": True,
        },
        "textDocument": {
            "synchronization": {
                "willSaveWaitUntil": False,
                "didSave": True,
                "dynamicRegistration": False,
                "willSave": False,
            },
            "codeAction": {
                "resolveSupport": {"properties": ["edit"]},
                "dataSupport": True,
                "dynamicRegistration": False,
                "codeActionLiteralSupport": {
                    "codeActionKind": {
                        "valueSet": [
                            "",
                            "Empty",
                            "QuickFix",
                            "Refactor",
                            "RefactorExtract",
                            "RefactorInline",
                            "RefactorRewrite",
                            "Source",
                            "SourceOrganizeImports",
                            "quickfix",
                            "refactor",
                            "refactor.extract",
                            "refactor.inline",
                            "refactor.rewrite",
                            "source",
                            "source.organizeImports",
                        ]
                    }
                },
            },
            "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}},
        },
        "window": {
            "showMessage": {"messageActionItem": {"additionalPropertiesSupport": False}},
            "showDocument": {"support": False},
            "workDoneProgress": True,
        },
    },
    "eglot-1.9": {
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {"documentChanges": True},
            "configuration": True,
            "workspaceFolders": True,
            "executeCommand": {"dynamicRegistration": False},
            "didChangeWatchedFiles": {"dynamicRegistration": True},
        },
        "textDocument": {
            "synchronization": {
                "dynamicRegistration": False,
                "willSave": True,
                "willSaveWaitUntil": True,
                "didSave": True,
            },
            "codeAction": {
                "dynamicRegistration": False,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": [*_KINDS]}},
                "isPreferredSupport": True,
            },
            "publishDiagnostics": {
                "relatedInformation": False,
                "codeDescriptionSupport": False,
                "tagSupport": {"valueSet": [1, 2]},
            },
        },
    },
    "lsp-mode-8.0.0": {
        "workspace": {
            "applyEdit": True,
            "workspaceEdit": {
                "documentChanges": True,
                "resourceOperations": ["create", "rename", "delete"],
            },
            "configuration": True,
            "workspaceFolders": True,
            "executeCommand": {"dynamicRegistration": False},
            "fileOperations": {
                "didCreate": False,
                "willCreate": False,
                "didRename": False,
                "willRename": False,
                "didDelete": False,
                "willDelete": False,
            },
        },
        "textDocument": {
            "synchronization": {"willSave": True, "didSave": True, "willSaveWaitUntil": True},
            "codeAction": {
                "dynamicRegistration": True,
                "isPreferredSupport": True,
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", *_KINDS]}},
                "resolveSupport": _LAZY,
                "dataSupport": True,
            },
            "publishDiagnostics": {
                "relatedInformation": True,
                "tagSupport": {"valueSet": [1, 2]},
                "versionSupport": True,
            },
        },
        "window": {"workDoneProgress": True, "showMessage": None, "showDocument": None},
    },
    "kate-22.12": {
        "textDocument": {
            "synchronization": {"didSave": True},
            "codeAction": {
                "codeActionLiteralSupport": {
                    "codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}
                }
            },
            "publishDiagnostics": {"relatedInformation": True},
        },
        "window": {"workDoneProgress": True},
    },
    "ale-3.3.0": {
        "workspace": {
            "applyEdit": False,
            "configuration": False,
            "workspaceFolders": False,
            "didChangeConfiguration": {"dynamicRegistration": False},
        },
        "textDocument": {
            "synchronization": {
                "didSave": True,
                "willSaveWaitUntil": False,
                "willSave": False,
                "dynamicRegistration": False,
            },
            "codeAction": {
                "codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}},
                "dynamicRegistration": False,
            },
            "publishDiagnostics": {"relatedInformation": True},
        },
    },
}
