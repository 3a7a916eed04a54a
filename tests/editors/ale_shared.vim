" vim -u before.vim -S vimrc -S ale_shared.vim: the shared scenarios in Vim with ALE. Vim's own main loop
" runs between two steps, so that ALE acts as for a user; a step is a pair: a condition, and an action.

let s:place = json_decode($INDWELL_PLACE)
let s:report = {}
let s:said = []         " records each window/showMessage
let s:results = {}      " has the answers to commands, by name
let s:questions = []
let s:permit = 'Once'
let s:wanted = ''
let s:titles = v:null   " has the titles of the last list of code actions
let s:steps = []
let s:waiting = 0       " counts the milliseconds that the step has waited
let s:began = 0
let s:chat = {}

function! s:Report(...) abort
  for [l:key, l:value] in items(a:0 ? a:1 : {}) | let s:report[l:key] = l:value | endfor
  let s:report.said = s:said
  let s:report.results = s:results
  call writefile([json_encode(s:report)], $INDWELL_REPORT)
endfunction

function! s:Text() abort
  return join(getbufline(bufnr(''), 1, '$'), "\n") . "\n"
endfunction

function! s:Disk() abort
  return join(readfile(s:place.path, 'b'), "\n")
endfunction

function! s:Heard(connection, message) abort
  let l:method = get(a:message, 'method', '')
  if has_key(a:message, 'error') | call add(s:said, json_encode(a:message.error)) | endif
  if l:method ==# 'window/showMessage' | call add(s:said, a:message.params.message) | endif
endfunction

function! s:Connection() abort
  return get(filter(keys(ale#lsp#GetConnections()), 'v:val =~# ":" . s:place.root . "$"'), 0, '')
endfunction

function! s:Started() abort
  return s:Connection() !=# '' && ale#lsp#GetConnections()[s:Connection()].initialized
endfunction

function! s:Listen() abort
  call ale#lsp#RegisterCallback(s:Connection(), function('s:Heard'))
endfunction

" Returns the answer of the user; ALE asks with input(), the configuration of the page with inputlist().
function! s:Input(message, ...) abort
  let s:titles = map(filter(split(a:message, "\n"), 'v:val =~# "^\\d\\+) "'), 'substitute(v:val, "^\\d\\+) ", "", "")')
  let l:index = index(s:titles, s:wanted)
  return l:index < 0 ? '' : string(l:index + 1)
endfunction

function! s:Actions(first, last, title) abort
  let [s:wanted, s:titles] = [a:title, v:null]
  call cursor(a:first, 5)
  if a:first == a:last
    call ale#codefix#Execute(0)
  else
    call setpos("'<", [0, a:first, 1, 0])
    call setpos("'>", [0, a:last, 1, 0])
    call ale#codefix#Execute(1)
  endif
endfunction

function! s:Listed() abort
  return s:titles isnot v:null
endfunction

function! s:Run(command, arguments) abort
  let l:message = ale#lsp#message#ExecuteCommand(a:command, a:arguments)
  call ale#lsp_linter#SendRequest(bufnr(''), 'indwell', l:message, {answer -> extend(s:results, {a:command: get(answer, 'result', v:null)})})
endfunction

function! s:Fix() abort
  let s:began = len(s:said)
  call s:Actions(s:place.first, s:place.last, 'Fix this')
endfunction

" Returns whether the turn has sent its last message, and ALE has sent the changes to the server.
function! s:Ended() abort
  let l:told = get(ale#lsp#GetConnections()[s:Connection()].open_documents, bufnr(''), -1) == b:changedtick
  return l:told && len(filter(s:said[s:began :], 'v:val !~# "queued"')) > 0
endfunction

function! s:Line(number) abort
  return s:place.lines[a:number]
endfunction

function! s:See(name, what) abort
  let s:report[a:name] = a:what
endfunction

let s:opening = [
  \ [{-> s:Started()}, {-> s:Listen()}],
  \ ]

function! s:Later() abort
  return s:waiting >= 300
endfunction

function! s:Steps_fix() abort
  return [
    \ [{-> 1}, {-> execute('autocmd BufWritePre * silent! %s/  #/ #/e | silent! 1s/é 🙂\./É 🙂./e')}],
    \ [{-> 1}, {-> s:Actions(s:place.first, s:place.last, '')}],
    \ [{-> s:Listed()}, {-> s:See('titles', s:titles)}],
    \ [{-> 1}, {-> s:Fix()}],
    \ [{-> s:Ended()}, {-> s:See('buffer', s:Text())}],
    \ [{-> 1}, {-> execute('undo')}],
    \ [{-> 1}, {-> s:See('undone', s:Text())}],
    \ [{-> 1}, {-> execute('redo')}],
    \ [{-> 1}, {-> s:See('redone', s:Text())}],
    \ [{-> 1}, {-> execute('silent write!')}],
    \ [{-> 1}, {-> [s:See('saved', s:Text()), s:See('disk', s:Disk())]}],
    \ [{-> s:Later()}, {-> s:Fix()}],
    \ [{-> s:Ended()}, {-> s:See('again', s:Text())}],
    \ ]
endfunction

function! s:Permit(answer) abort
  let s:permit = a:answer
endfunction

function! s:Steps_ask() abort
  return [
    \ [{-> 1}, {-> [s:Permit('No'), s:Fix()]}],
    \ [{-> s:Ended()}, {-> [s:See('refused', {'buffer': s:Text(), 'disk': s:Disk()}), s:Permit('Once'), s:Fix()]}],
    \ [{-> s:Ended()}, {-> setline(s:place.last, getline(s:place.last) . '  # mine')}],
    \ [{-> s:Later()}, {-> s:Fix()}],
    \ [{-> s:Ended()}, {-> [s:See('questions', s:questions), s:See('buffer', s:Text()), s:See('disk', s:Disk())]}],
    \ ]
endfunction

" Two turns run a command; after the second turn the user saves, and a question of Vim would stop the script.
function! s:Steps_write() abort
  return [
    \ [{-> 1}, {-> s:Fix()}],
    \ [{-> s:Ended() && !&modified}, {-> s:See('after', [s:Text(), s:Disk()])}],
    \ [{-> 1}, {-> setline(1, getline(1) . '  # mine')}],
    \ [{-> s:Later()}, {-> execute('write')}],
    \ [{-> 1}, {-> s:See('written', s:Disk())}],
    \ [{-> 1}, {-> [execute('undo'), execute('undo')]}],
    \ [{-> 1}, {-> s:See('undone', s:Text())}],
    \ [{-> 1}, {-> execute('silent write')}],
    \ [{-> s:Later()}, {-> s:Fix()}],
    \ [{-> s:Ended() && s:Text() =~# "by a command"}, {-> s:See('read_again', [s:Text(), &modified])}],
    \ [{-> s:Later()}, {-> [setline(1, getline(1)), execute('doautocmd BufEnter')]}],
    \ [{-> s:Later()}, {-> s:See('lingers', exists('#FileChangedShell#<buffer>'))}],
    \ [{-> s:Later()}, {-> setline(1, getline(1) . '  # mine')}],
    \ [{-> s:Later()}, {-> s:Fix()}],
    \ [{-> s:Ended() && s:Later()}, {-> s:See('kept', [s:Text(), s:Disk(), &modified])}],
    \ ]
endfunction

function! s:Cancel() abort
  let s:stopped = reltime()
  let s:results['indwell.cancel'] = v:null
  call s:Run('indwell.cancel', [])
endfunction

" ALE shows no progress, so if no turn had begun yet, the user stops the turn again.
function! s:Cancelled() abort
  if s:results['indwell.cancel'] is v:false | call s:Cancel() | endif
  return s:results['indwell.cancel'] is v:true
endfunction

function! s:Steps_cancel() abort
  return [
    \ [{-> 1}, {-> s:Fix()}],
    \ [{-> s:Listed() && s:Later()}, {-> s:Cancel()}],
    \ [{-> s:Cancelled()}, {-> 1}],
    \ [{-> s:Ended()}, {-> [s:See('took', reltimefloat(reltime(s:stopped)) * 1000), s:See('buffer', s:Text()), s:See('disk', s:Disk())]}],
    \ ]
endfunction

function! s:Offer(number) abort
  call s:Actions(s:Line(a:number), s:Line(a:number), '')
endfunction

" Returns whether a title is no longer offered; if it is, asks again, because the command may still run.
function! s:IsGone(number, title) abort
  if s:Listed() && index(s:titles, a:title) >= 0 | call s:Offer(a:number) | endif
  return s:Listed() && index(s:titles, a:title) < 0
endfunction

function! s:Choose(number, title) abort
  let s:before = s:Text()
  call s:Actions(s:Line(a:number), s:Line(a:number), a:title)
endfunction

function! s:Steps_review() abort
  return [
    \ [{-> 1}, {-> s:Fix()}],
    \ [{-> s:Ended()}, {-> s:Offer(0)}],
    \ [{-> s:Listed()}, {-> [s:See('offered', s:titles), s:Choose(0, 'Accept this change')]}],
    \ [{-> s:Listed() && s:Later()}, {-> [s:See('buffer_accepted', s:Text()), s:Offer(0)]}],
    \ [{-> s:IsGone(0, 'Accept this change')}, {-> [s:See('offered_accepted', s:titles), s:Offer(1)]}],
    \ [{-> s:Listed()}, {-> [s:See('offered_other', s:titles), s:Choose(1, 'Reject this change')]}],
    \ [{-> s:Text() !=# s:before && s:Later()}, {-> [s:See('buffer_rejected', s:Text()), s:Offer(2)]}],
    \ [{-> s:Listed()}, {-> [s:See('offered_last', s:titles), execute('let s:before = s:Text()'), s:Run('indwell.rewind', [{'turn': 0, 'files': v:true}])]}],
    \ [{-> s:Text() !=# s:before}, {-> s:See('buffer_rewound', s:Text())}],
    \ ]
endfunction

function! s:Opened() abort
  let s:chat = s:results['indwell.chat']
  call s:See('chat_path', s:chat.path)
  execute 'edit' fnameescape(s:chat.path)
endfunction

function! s:Known() abort
  return has_key(ale#lsp#GetConnections()[s:Connection()].open_documents, bufnr(''))
endfunction

function! s:Steps_chat() abort
  return [
    \ [{-> 1}, {-> s:Run('indwell.chat', [{'wait': v:true}])}],
    \ [{-> type(get(s:results, 'indwell.chat', v:null)) == v:t_dict}, {-> s:Opened()}],
    \ [{-> s:Known()}, {-> append('$', s:place.question)}],
    \ [{-> s:Later()}, {-> [ale#lsp#NotifyForChanges(s:Connection(), bufnr("")), s:Run("indwell.send", [{"uri": s:chat.uri}])]}],
    \ [{-> s:Text() =~# 'Nothing else\.\_.*## You'}, {-> s:See('chat', s:Text())}],
    \ ]
endfunction

function! s:Tick(timer) abort
  try
    if empty(s:steps)
      call s:Report()
      qall!
    endif
    let s:waiting += 20
    if s:steps[0][0]()
      let l:step = remove(s:steps, 0)
      let s:waiting = 0
      call l:step[1]()
    elseif s:waiting > 60000
      throw 'waited in vain; ' . len(s:steps) . ' steps left; said: ' . string(s:said) . '; titles: ' . string(s:titles) . '; buffer: ' . s:Text()
    endif
  catch
    call s:Report({'failed': v:exception . ' at ' . v:throwpoint})
    qall!
  endtry
endfunction

function! s:Asked(prompt) abort
  let l:lines = split(a:prompt, "\n", 1)[1:]
  let l:named = filter(copy(l:lines), 'v:val =~# "^  [a-z-]\\+: "')
  let l:titles = map(copy(l:named), 'substitute(v:val, "^  [a-z-]\\+: ", "", "")')
  let l:first = index(l:lines, l:named[0])
  call add(s:questions, {'prompt': join(l:lines[: l:first - 2], "\n"), 'titles': l:titles})
  return matchstr(l:named[index(l:titles, s:permit)], '[a-z-]\+')
endfunction

function! s:Begin() abort
  set hidden nomore cmdheight=5
  runtime autoload/ale/util.vim
  function! ale#util#Input(message, value, ...) abort
    return g:IndwellInput(a:message)
  endfunction
  let g:IndwellInput = function('s:Input')
  let g:IndwellAsk = function('s:Asked')
  execute 'edit' fnameescape(s:place.path)
  let s:steps = s:opening + function('s:Steps_' . $INDWELL_SCENARIO)()
  call timer_start(20, function('s:Tick'), {'repeat': -1})
endfunction

call s:Begin()
