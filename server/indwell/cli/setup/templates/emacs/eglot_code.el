;; Questions about code in a file of another server go to that server.
(cl-defmethod eglot-handle-request (server (_method (eql indwell/navigate)) &key method uri line character query name &allow-other-keys)
  (let* ((buffer (and (stringp uri) (find-file-noselect (eglot--uri-to-path uri))))
         (other (and buffer (with-current-buffer buffer (eglot-current-server)))))
    (if (or (null other) (eq other server)) (list :replies [])
      (list :replies (vector (condition-case failed
        (list :name "eglot" :encoding "utf-16" :result (jsonrpc-request other (intern (concat ":" method))
          (list :textDocument (list :uri uri) :position (list :line line :character character)
                :context '(:includeDeclaration t) :newName name :query query) :timeout 8))
        (error (list :error (error-message-string failed)))))))))
