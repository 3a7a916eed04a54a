(cl-defmethod eglot-handle-request :around (server (_method (eql window/showMessageRequest)) &key message actions &allow-other-keys)
  (if (not (string-match-p "indwell" (string-join (process-command (jsonrpc--process server)) " "))) (cl-call-next-method)
    (let ((title (indwell-ask message (mapcar (lambda (it) (plist-get it :title)) actions))))
      (if title (list :title title) :null))))
