(require 'lsp-mode)
(defun indwell-save (_workspace params)
  "Save the changed files before a command runs, so that it sees what you see."
  (list :saved (vconcat (seq-filter (lambda (uri)
    (let ((buffer (find-buffer-visiting (lsp--uri-to-path uri))))
      (and buffer (with-current-buffer buffer (basic-save-buffer) (not (buffer-modified-p))))))
    (lsp-get params :uris)))))
;; Where lsp-mode waits for an answer, it leaves a piece of input at that answer, and would lose the rest.
(defvar indwell-answered nil "Whether the piece of input has an answer that lsp-mode waits for.")
(define-advice lsp--parser-on-message (:around (run &rest it) indwell)
  (unless (eq 'whole (catch 'lsp-done (apply run it) 'whole)) (setq indwell-answered t)))
(defun indwell-read (filter process input)
  "Give FILTER the INPUT of PROCESS, and leave only at its end."
  (let (indwell-answered) (funcall filter process input) (when indwell-answered (throw 'lsp-done nil))))
(define-advice lsp--create-filter-function (:filter-return (filter) indwell)
  (apply-partially #'indwell-read filter))
(lsp-register-client (make-lsp-client
  :new-connection (lsp-stdio-connection '@COMMAND@)
  :activation-fn (lambda (_file mode) (provided-mode-derived-p mode 'prog-mode 'markdown-mode))
  :server-id 'indwell :add-on? t                ; beside the server of the language
  :custom-capabilities '((experimental . ((indwell . ((save . t))))))
  :async-request-handlers (lsp-ht ("window/showMessageRequest" #'indwell-question)) ; the lines below
  :request-handlers (lsp-ht ("indwell/save" #'indwell-save))))
(setq lsp-auto-guess-root t lsp-lens-enable t lsp-signature-auto-activate nil)
(dolist (hook '(prog-mode-hook markdown-mode-hook)) (add-hook hook #'lsp-deferred))
