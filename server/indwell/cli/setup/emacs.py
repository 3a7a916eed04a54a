"""The configuration of Emacs: eglot, and lsp-mode."""

from __future__ import annotations

from indwell.cli.setup.configuration import EditorConfiguration, elisp_list, quoted

_EGLOT = r"""(require 'eglot)
(add-to-list 'eglot-server-programs '((python-mode markdown-mode gfm-mode) . @COMMAND@))
(dolist (hook '(python-mode-hook markdown-mode-hook)) (add-hook hook #'eglot-ensure))
(setq eglot-confirm-server-initiated-edits nil) ; edits are versioned, shown, and undone with one C-/
;; Saves the changed files before a command runs, so that it sees what you see.
(cl-defmethod eglot-client-capabilities :around ((_server eglot-lsp-server))
  (plist-put (cl-call-next-method) :experimental '(:indwell (:save t))))
(cl-defmethod eglot-handle-request (_server (_method (eql indwell/save)) &key uris)
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (eglot--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p)))))) uris))))
"""

_ASK = r""";; Words such as allow-once answer a question of Indwell; keys that you typed before it are dropped.
(require 'seq)
(defun indwell-words (titles)
  "Answers to TITLES: no for No; else what nobody types into a file, such as allow-once or choose-not-now."
  (let* ((start (if (equal (car titles) "No") "allow" "choose")) (at -1)
         (words (mapcar (lambda (it)
                          (let ((parts (split-string (downcase (replace-regexp-in-string ":.*" "" it)) "[^a-z]+" t)))
                            (if (equal it "No") "no" (string-join (cons start (or (seq-take parts 3) '("answer"))) "-"))))
                        titles)))
    (mapcar (lambda (word) (setq at (1+ at))
              (if (> (seq-count (lambda (it) (equal it word)) words) 1) (format "%s-%c" word (+ ?a at)) word)) words)))
(defun indwell-chosen (words text)
  "The place in WORDS of TEXT; a letter or more behind the first hyphen is enough where one word begins so."
  (let* ((typed (downcase (string-trim text)))
         (found (and (string-match-p "-." typed) (seq-filter (lambda (it) (string-prefix-p typed it)) words))))
    (or (seq-position words typed) (and found (null (cdr found)) (seq-position words (car found))))))
(defun indwell-ask (message titles)
  "Show MESSAGE and ask for one of TITLES by its word; nil after C-g twice."
  (let ((words (indwell-words titles)) (enable-recursive-minibuffers t) (note "") (quits 0) (at nil))
    (save-window-excursion
      (with-current-buffer (get-buffer-create "*Indwell asks*")
        (let ((inhibit-read-only t)) (erase-buffer) (insert message "\n\n"))
        (cl-mapc (lambda (word title) (insert "  " word ": " title "\n")) words titles)
        (goto-char (point-min)) (special-mode) (visual-line-mode)
        (fit-window-to-buffer (display-buffer (current-buffer) '(display-buffer-at-bottom))))
      (while (not (or at (= quits 2)))
        (while (not (sit-for 0.3)) (discard-input) (message "Dropped the keys that came before the question"))
        (let ((text (condition-case nil (let ((inhibit-quit nil))
                      (read-string (format "%sType a word (%s) and RET: " note (string-join words ", ")))) (quit nil))))
          (setq at (and text (indwell-chosen words text))
                quits (if text 0 (1+ quits))
                note (if text (format "\"%s\" is not one of the words. " text) "C-g again gives no answer. ")))))
    (and at (nth at titles))))
"""

_EGLOT_ASK = r"""(cl-defmethod eglot-handle-request :around (server (_method (eql window/showMessageRequest)) &key message actions &allow-other-keys)
  (if (not (string-match-p "indwell" (string-join (process-command (jsonrpc--process server)) " "))) (cl-call-next-method)
    (let ((title (indwell-ask message (mapcar (lambda (it) (plist-get it :title)) actions))))
      (if title (list :title title) :null))))
"""

_EGLOT_KEYS = r"""(defun indwell-run (command)
  "Run a COMMAND of Indwell, such as indwell.chat."
  (interactive (list (intern (completing-read "Command: " '("indwell.chat" "indwell.cancel" "indwell.newSession")))))
  (jsonrpc-async-request (eglot--current-server-or-lose) :workspace/executeCommand
                         (list :command (symbol-name command) :arguments []) :success-fn #'ignore))
(defvar indwell-map (make-sparse-keymap) "Keys behind C-c i.")
(define-key indwell-map "i" #'eglot-code-actions)    ; all that can be done here: accept, reject, send …
(define-key indwell-map "n" #'flymake-goto-next-error) ; from change to change
(define-key indwell-map "p" #'flymake-goto-prev-error)
(define-key indwell-map "c" (lambda () (interactive) (indwell-run 'indwell.chat)))
(define-key indwell-map "s" (lambda () (interactive) (indwell-run 'indwell.cancel)))
(global-set-key (kbd "C-c i") indwell-map)
"""

_LSP_MODE = r"""(require 'lsp-mode)
(defun indwell-save (_workspace params)
  "Save the changed files before a command runs, so that it sees what you see."
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (lsp--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p))))))
    (lsp-get params :uris)))))
(lsp-register-client (make-lsp-client
  :new-connection (lsp-stdio-connection '@COMMAND@)
  :activation-fn (lambda (_file mode) (provided-mode-derived-p mode 'prog-mode 'markdown-mode))
  :server-id 'indwell :add-on? t                ; beside the server of the language
  :custom-capabilities '((experimental . ((indwell . ((save . t))))))
  :async-request-handlers (lsp-ht ("window/showMessageRequest" #'indwell-question)) ; the lines below
  :request-handlers (lsp-ht ("indwell/save" #'indwell-save))))
(setq lsp-auto-guess-root t lsp-lens-enable t lsp-signature-auto-activate nil)
(dolist (hook '(prog-mode-hook markdown-mode-hook)) (add-hook hook #'lsp-deferred))
"""

_LSP_MODE_ASK = r"""(defun indwell-question (workspace params reply)
  "Put the question of PARAMS when you have typed nothing for a second, and give REPLY what you chose."
  (if (or (active-minibuffer-window) (< (float-time (or (current-idle-time) 0)) 1))
      (run-at-time 0.1 nil #'indwell-question workspace params reply)
    (let ((title (indwell-ask (lsp-get params :message)
                              (mapcar (lambda (it) (lsp-get it :title)) (lsp-get params :actions)))))
      (funcall reply (and title (list :title title))))))
"""

_LSP_MODE_KEYS = r"""(defvar indwell-map (make-sparse-keymap) "Keys behind C-c i.")
(define-key indwell-map "i" #'lsp-execute-code-action) ; all that can be done here: accept, reject, send …
(define-key indwell-map "n" #'flymake-goto-next-error)   ; from change to change; flycheck: flycheck-next-error
(define-key indwell-map "p" #'flymake-goto-prev-error)
(define-key indwell-map "c" (lambda () (interactive) (lsp-workspace-command-execute "indwell.chat")))
(define-key indwell-map "s" (lambda () (interactive) (lsp-workspace-command-execute "indwell.cancel")))
(global-set-key (kbd "C-c i") indwell-map)
"""

_NEXT = ("Restart Emacs and open a file of a project.",)

EGLOT = EditorConfiguration(
    editor="Emacs with eglot",
    page="emacs.md",
    language="elisp",
    blocks=(_EGLOT, _ASK, _EGLOT_ASK, _EGLOT_KEYS),
    words=elisp_list,
    word=quoted,
    comment=";;",
    next_steps=(*_NEXT, "`M-x eglot-code-actions` shows what Indwell offers."),
)

LSP_MODE = EditorConfiguration(
    editor="Emacs with lsp-mode",
    page="emacs-lsp-mode.md",
    language="elisp",
    blocks=(_LSP_MODE, _ASK, _LSP_MODE_ASK, _LSP_MODE_KEYS),
    words=elisp_list,
    word=quoted,
    comment=";;",
    next_steps=(*_NEXT, "`M-x lsp-execute-code-action` shows what Indwell offers."),
)
