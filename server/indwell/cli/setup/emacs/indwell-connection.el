;;; indwell-connection.el --- Starting and asking the server of Indwell  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The Indwell developers
;; SPDX-License-Identifier: MIT

;; This file is part of the package indwell; see indwell.el.

;;; Commentary:

;; One process of the server for each project, with a JSON-RPC connection of
;; its own: neither eglot nor lsp-mode takes part.  No request of the server is
;; answered by waiting inside of a process filter: an answer that needs the
;; user or time is sent later.

;;; Code:

(require 'project)
(require 'indwell-documents)

;;;; Requests and notifications of the server

(cl-defgeneric indwell--handle (connection method params later)
  "Handle the request or notification METHOD of CONNECTION with PARAMS.
For a request, return its result, or LATER to answer it later.")

(cl-defmethod indwell--handle (_connection _method _params later)
  "Refuse a request that nobody knows; LATER is nil for a notification."
  (when later
    (jsonrpc-error :code -32601 :message "This editor does not know the method")))

(cl-defmethod indwell--handle (connection (_ (eql 'workspace/applyEdit)) params _later)
  "Apply the edit in PARAMS of CONNECTION."
  (condition-case problem
      (progn (indwell--apply-workspace-edit connection (plist-get params :edit))
             (list :applied t))
    (error (list :applied :json-false :failureReason (error-message-string problem)))))

(cl-defmethod indwell--handle (_connection (_ (eql 'workspace/configuration)) params _later)
  "Return the user's settings for each of the items of PARAMS."
  (vconcat (mapcar (lambda (item) (and (equal (plist-get item :section) "indwell") indwell-settings))
                   (plist-get params :items))))

(cl-defmethod indwell--handle (connection (_ (eql 'workspace/workspaceFolders)) _params _later)
  "Return the folder of CONNECTION."
  (vector (indwell--folder connection)))

(cl-defmethod indwell--handle (_it (_ (eql 'client/registerCapability)) _params _later)
  "Accept a registration; this client needs none."
  nil)

(cl-defmethod indwell--handle (_it (_ (eql 'client/unregisterCapability)) _params _later)
  "Accept that a registration ends."
  nil)

(cl-defmethod indwell--handle (_it (_ (eql 'window/workDoneProgress/create)) _params _later)
  "Accept a progress."
  nil)

(cl-defmethod indwell--handle (_it (_ (eql 'workspace/codeLens/refresh)) _params _later)
  "Accept a refresh; changes come by events."
  nil)

(cl-defmethod indwell--handle (connection (_ (eql '$/progress)) params _later)
  "Keep the newest words of the progress in PARAMS for the mode line of CONNECTION."
  (let ((value (plist-get params :value)))
    (setf (indwell--progress connection)
          (unless (equal (plist-get value :kind) "end")
            (or (plist-get value :message) (plist-get value :title) (indwell--progress connection))))
    (force-mode-line-update t)))

(cl-defmethod indwell--handle (_connection (_ (eql 'window/showMessage)) params _later)
  "Show the message in PARAMS."
  (let ((text (plist-get params :message)))
    (message "%s" (if (string-prefix-p "Indwell" text) text (concat "Indwell: " text)))))

(cl-defmethod indwell--handle (connection (_ (eql 'window/showDocument)) params later)
  "Show the document in PARAMS of CONNECTION without the focus; answer LATER."
  (let ((uri (plist-get params :uri)))
    (indwell--soon
     (lambda ()
       (let ((shown (condition-case problem (indwell--show-document connection params)
                      (error (message "Indwell could not show %s: %s" uri (error-message-string problem))
                             nil))))
         (indwell--answer later (list :success (if shown t :json-false))))))
    later))

(defun indwell--show-document (connection params)
  "Show the document that PARAMS of CONNECTION name; return whether it is shown."
  (let* ((uri (plist-get params :uri)) (path (indwell--uri-to-path uri)))
    (cond
     ((and (eq t (plist-get params :external)) (string-match-p "\\`https?://" uri))
      (browse-url uri)
      t)
     ((and path (file-exists-p path))
      (let* ((buffer (indwell--visit path))
             (window (if (eq t (plist-get params :takeFocus))
                         (progn (pop-to-buffer buffer) (selected-window))
                       (display-buffer buffer '(nil (inhibit-same-window . t)))))
             (place (plist-get (plist-get params :selection) :start)))
        (when (and window place)
          (with-current-buffer buffer
            (set-window-point window (indwell--point place (indwell--encoding connection)))))
        (and window t))))))

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/save)) params later)
  "Save the documents in PARAMS of CONNECTION; answer LATER with those saved."
  (indwell--soon
   (lambda ()
     (indwell--answer
      later
      (list :saved
            (vconcat
             (seq-filter
              (lambda (uri)
                (when-let ((buffer (indwell--buffer-of connection uri)))
                  (with-current-buffer buffer
                    ;; A file that changed on disk would need a question.
                    (when (verify-visited-file-modtime buffer)
                      (ignore-errors (let ((inhibit-interaction t)) (basic-save-buffer)))
                      (not (buffer-modified-p))))))
              (plist-get params :uris)))))))
  later)

(cl-defmethod indwell--handle (connection (_ (eql 'indwell/event)) params _later)
  "Give the event in PARAMS of CONNECTION to all functions that show events."
  (let ((session (plist-get params :session)) (event (plist-get params :event)))
    (pcase (plist-get event :type)
      ("turnStarted"
       (setf (indwell--failed connection) nil
             (indwell--running connection)
             (cons session (remove session (indwell--running connection)))))
      ("turnFinished"
       (setf (indwell--progress connection) nil
             (indwell--running connection) (remove session (indwell--running connection))
             (indwell--failed connection)
             (not (member (plist-get event :ending) '("done" "cancelled"))))
       (indwell--soon (lambda () (indwell--revert-changed connection))))
      ("toolStarted"
       (setf (indwell--progress connection)
             (concat (plist-get event :name) " " (plist-get event :target))))
      ("toolFinished" (indwell--soon (lambda () (indwell--revert-changed connection))))
      ("hunksChanged" (setf (indwell--pending connection) (plist-get event :pending))))
    (run-hook-with-args 'indwell-event-functions connection session event)
    (force-mode-line-update t)))

(defun indwell--soon (function)
  "Call FUNCTION when Emacs is out of the process filter."
  (run-at-time 0 nil function))

(defun indwell--dispatch (connection method params later)
  "Give METHOD with PARAMS of CONNECTION to its handler; LATER is for a request."
  (with-demoted-errors "Indwell: %S"
    (indwell--handle connection method params later)))

(defun indwell--dispatch-request (connection method params)
  "Handle the request METHOD of CONNECTION with PARAMS."
  (let ((later (make-indwell--later :connection connection :method method)))
    (indwell--handle connection method params later)))


;;;; Starting and asking the server

(defun indwell--folder (connection)
  "Return the workspace folder of CONNECTION."
  (let ((root (indwell--root-of connection)))
    (list :uri (indwell--path-to-uri (directory-file-name root))
          :name (file-name-nondirectory (directory-file-name root)))))

(defun indwell--root ()
  "Return the folder of the project of the buffer."
  (when (file-remote-p default-directory)
    (user-error "Indwell works on files of this machine; run Emacs on the machine of the file"))
  (let ((project (project-current nil)))
    (file-name-as-directory
     (expand-file-name
      (cond (project (project-root project))
            ((and (not buffer-file-name) (file-equal-p default-directory "~"))
             (read-directory-name "Folder of the project for Indwell: "))
            (t default-directory))))))

(defun indwell--living ()
  "Return the living connections, newest first."
  (setq indwell--connections (seq-filter #'jsonrpc-running-p indwell--connections)))

(defun indwell--current ()
  "Return the living connection of the buffer, or nil."
  (let ((living (indwell--living)))
    (or (and indwell--own-connection (car (memq indwell--own-connection living)))
        (and indwell--document (car (memq (car indwell--document) living)))
        (and default-directory
             (not (file-remote-p default-directory))
             (seq-find (lambda (it) (string-prefix-p (file-truename (indwell--root-of it))
                                                     (file-truename default-directory)))
                       living))
        (and (not buffer-file-name) (not (derived-mode-p 'dired-mode)) (car living)))))

(defun indwell--connection ()
  "Return the connection of the buffer; start the server if none runs."
  (let ((connection (or (indwell--current)
                        (indwell--start (if indwell--own-connection
                                            (indwell--root-of indwell--own-connection)
                                          (indwell--root))))))
    (when indwell--own-connection (setq indwell--own-connection connection))
    (when (indwell--syncable-p (indwell--root-of connection)) (indwell--open connection))
    connection))

(defvar indwell--capabilities
  '(:general (:positionEncodings ["utf-32" "utf-16" "utf-8"])
    :workspace (:applyEdit t :configuration t :workspaceFolders t
                :workspaceEdit (:documentChanges t))
    :textDocument (:synchronization (:didSave t) :publishDiagnostics (:versionSupport t))
    :window (:workDoneProgress t :showMessage (:messageActionItem (:additionalPropertiesSupport t))
             :showDocument (:support t))
    :experimental (:indwell (:events t :permission t :ask t :save t :diagnostics t :navigate t
                             :ownPause t :words t)))
  "What this client tells the server about itself.")

(defvar indwell--remembered nil
  "The last session and the chat of each folder whose server has ended.")

(defun indwell--start (root)
  "Start a server for the project in ROOT, and wait until it is ready."
  (unless (executable-find (car indwell-command))
    (user-error "The program %s was not found; install Indwell, or set `indwell-command' to its path"
                (car indwell-command)))
  (let* ((name (format "Indwell %s" (file-name-nondirectory (directory-file-name root))))
         (default-directory root)
         (connection
          (make-instance
           'indwell-connection
           :name name :root root
           :events-buffer-scrollback-size 0
           :notification-dispatcher (lambda (it method params) (indwell--dispatch it method params nil))
           :request-dispatcher #'indwell--dispatch-request
           :on-shutdown #'indwell--ended
           :process (lambda ()
                      (make-process :name name :command indwell-command :connection-type 'pipe
                                    :coding 'utf-8-emacs-unix :noquery t
                                    :stderr (get-buffer-create (format "*%s stderr*" name)))))))
    (push connection indwell--connections)
    (jsonrpc-async-request
     connection :initialize
     (list :processId (emacs-pid)
           :clientInfo (list :name "indwell.el" :version emacs-version)
           :rootUri (indwell--path-to-uri (directory-file-name root))
           :workspaceFolders (vector (indwell--folder connection))
           :capabilities indwell--capabilities)
     :timeout indwell-start-timeout
     :success-fn (lambda (result) (indwell--initialized connection result))
     :error-fn (lambda (problem)
                 (message "Indwell did not start: %s" (plist-get problem :message))))
    (message "Indwell starts…")
    (let ((until (time-add nil indwell-start-timeout)))
      (while (and (not (indwell--ready connection)) (jsonrpc-running-p connection)
                  (time-less-p nil until))
        (accept-process-output nil 0.05)))
    (pcase-let ((`(,session . ,chat) (alist-get root indwell--remembered nil nil #'equal)))
      (setf (indwell--session connection) session (indwell--chat connection) chat)
      (when (buffer-live-p chat)
        (with-current-buffer chat (setq indwell--own-connection connection))))
    (unless (indwell--ready connection)
      (user-error "The server of Indwell did not start; `M-x indwell-show-log' shows what it said"))
    (message "Indwell starts… done")
    (run-hook-with-args 'indwell-connected-functions connection)
    connection))

(defun indwell--initialized (connection result)
  "Note what the server of CONNECTION can do, as RESULT says, and open the files."
  (let* ((capabilities (plist-get result :capabilities))
         (sync (plist-get capabilities :textDocumentSync)))
    (setf (indwell--encoding connection) (or (plist-get capabilities :positionEncoding) "utf-16")
          (indwell--incremental connection)
          (eql 2 (if (numberp sync) sync (plist-get sync :change)))
          (indwell--ready connection) t)
    (jsonrpc-notify connection :initialized (make-hash-table))
    (indwell--open-all connection)))

(defun indwell--ended (connection)
  "Tell the user that the server of CONNECTION has ended."
  (setq indwell--connections (delq connection indwell--connections))
  (setf (alist-get (indwell--root-of connection) indwell--remembered nil nil #'equal)
        (cons (indwell--session connection) (indwell--chat connection)))
  (dolist (buffer (hash-table-values (indwell--documents connection)))
    (when (buffer-live-p buffer) (with-current-buffer buffer (indwell--close))))
  (setf (indwell--questions connection) nil (indwell--running connection) nil)
  (run-hook-with-args 'indwell-event-functions connection (indwell--session connection)
                      '(:type "serverEnded"))
  (unless (indwell--leaving connection)
    (message "The server of Indwell has ended; the next command starts it again (`M-x indwell-show-log')"))
  (force-mode-line-update t))

(defun indwell--request (connection method params then &optional failed)
  "Send the request METHOD with PARAMS to CONNECTION; call THEN with its result.
Call FAILED with the error, or show its sentence.  No answer is waited for."
  (indwell--flush connection)
  (jsonrpc-async-request
   connection method (or params (make-hash-table))
   :timeout 86400 :success-fn then
   :error-fn (or failed (lambda (problem) (indwell--tell (plist-get problem :message))))))

(defun indwell--tell (sentence)
  "Show SENTENCE of the server in the echo area."
  (message "Indwell: %s" sentence))

(defun indwell--call (connection method params &optional seconds)
  "Send the request METHOD with PARAMS to CONNECTION; wait at most SECONDS.
Return its result.  An error of the server is an error for the user."
  (let ((until (time-add nil (or seconds 20))) done result problem)
    (indwell--request connection method params
                      (lambda (it) (setq done t result it))
                      (lambda (it) (setq done t problem it)))
    (while (and (not done) (jsonrpc-running-p connection) (time-less-p nil until))
      (accept-process-output nil 0.02))
    (cond (problem (user-error "%s" (plist-get problem :message)))
          ((not done) (user-error "The server of Indwell did not answer; try again")))
    result))

(defun indwell--execute (connection command argument &optional then failed)
  "Run COMMAND of the server of CONNECTION with ARGUMENT, a property list or nil.
Call THEN with the result, or FAILED with the error."
  (indwell--request connection :workspace/executeCommand
                    (list :command command :arguments (if argument (vector argument) []))
                    (or then #'ignore) failed))

(defun indwell-show-log ()
  "Show what the server of Indwell wrote to its log."
  (interactive)
  (let ((buffer (seq-find (lambda (it) (string-match-p "\\`\\*Indwell .* stderr\\*\\'" (buffer-name it)))
                          (buffer-list))))
    (if buffer (display-buffer buffer)
      (message "No server of Indwell has run in this Emacs; `M-x indwell-menu' begins"))))

(defun indwell-quit ()
  "End the server of Indwell of this project; its sessions are kept."
  (interactive)
  (let ((connection (indwell--current)))
    (if (not connection) (message "No server of Indwell runs here")
      (setf (indwell--leaving connection) t)
      (indwell--request connection :shutdown nil
                        (lambda (_)
                          (when (jsonrpc-running-p connection)
                            (jsonrpc-notify connection :exit nil)))
                        #'ignore)
      (message "The server of Indwell ends; its sessions are kept"))))

(provide 'indwell-connection)
;;; indwell-connection.el ends here
