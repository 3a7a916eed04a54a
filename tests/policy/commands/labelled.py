"""Commands with labels: what must never run without a question, and what should.

``DANGEROUS`` by itself is a few hundred; ``dangerous()`` multiplies it by ways to write and to hide
a command, and adds those of the shared data.
"""

from __future__ import annotations

from collections.abc import Iterator

from tools.shared_data import shared_cases

_RUNS = r"""
printf -v 'a[$(touch PWN)]' x
test -v 'a[$(touch PWN)]'
[ -v 'a[$(touch PWN)]' ]
[ $x ]
[ "$x" "$y" ]
test "$x"
[[ -v a[$(touch PWN)] ]]
[[ 'a[$(touch x)]' -eq 1 ]]
[[ x -v 'a[$(touch x)]' ]]
echo $((a[$(touch PWN)]))
echo $((x))
((a[$(touch PWN)]))
let 'a[$(touch PWN)]=1'
declare -i 'a[$(touch PWN)]=1'
read 'a[$(touch PWN)]'
unset 'a[$(touch PWN)]'
rg >/dev/null a $(evil)
cat >/dev/null `evil`
cat 2>/dev/null <<< "$(evil)"
find . -exec rm {} \;
find . -execdir rm {} \;
find . -ok rm {} \;
find . -okdir rm {} +
find . -delete
find . -fls /etc/x
find . -fprint x
find . -fprint0 x
find . -fprintf x y
find . -files0-from x
find . -name x -newerXY -exec x ;
sed -i s/a/b/ f
sed -i.bak s/a/b/ f
sed -n -i p f
sed --in-place=.b s/a/b/ f
sed 's/a/b/e' f
sed 's/a/b/ge' f
sed 's/a/b/w out' f
sed -n 'w f' f
sed -n '1w /etc/x' f
sed '1r /etc/passwd' f
sed --expression=1e f
sed -e "s/a/$(cat evil)/" f
sed -e "s/a/$X/" f
sed "s/a/$X/" f
sed -f script f
sed e
sed '1e id' f
sed 's/[/]/x/w f/' f
sed -s -n '$!e' f
base64 -o f
base64 --output f
base64 --output=f
sort -o f x
sort -of x
sort x -o f
sort --output=f x
sort --compress-program=x f
sort --comp=x f
sort -T /etc f
xargs rm
xargs -I{} rm {}
xargs sh -c
ls | xargs rm
ls | xargs -n1 -P4 sh
ls | xargs git
ls | xargs find
ls | xargs sed
ls | xargs cat
ls | tee f
ls | tee -a f
tar --checkpoint-action=exec=sh -cf x y
tar xf x
tar -cf x y
awk 'BEGIN{system("id")}'
awk '{print > "f"}' x
awk '{print >> "f"}' x
awk '{print "a;" > "f"}' x
awk '{print | "sh"}' x
awk '{ print $1 |& "sh" }' x
awk 'BEGIN{"id" | getline}'
awk 'BEGIN{while((getline l < ".env")>0) print l}'
awk 'BEGIN{ARGV[1]=".env";ARGC=2}{print}'
awk -f x y
awk -i inplace '{print}' f
awk -l x '{print}'
awk -v 'x=\x27' '{print x}' f
awk "$x" f
gawk '@load "x"'
gawk -i inplace '1' f
date -s 1
date --set 1
date 0101
date -I 0101
file -C -m x
file -m ./x y
env -S 'sh -c id'
env sh
env FOO=1 sh
env LD_PRELOAD=./x ls
env -C /etc cat shadow
nice sh
nohup ./x
timeout 5 sh
timeout -s KILL 5 rm x
command sh x
command -p rm x
builtin eval ls
exec sh
exec -a x sh
exec >f
setsid sh
stdbuf -o0 sh
sudo ls
doas ls
su -c ls
busybox sh
busybox ls
toybox ls
chroot . ls
unshare ls
nsenter -t 1 ls
watch ls
parallel ls
flock x ls
script -c ls
time rm x
coproc ls
eval ls
eval "$x"
source x
. x
. ./x
bash x
bash -c 'rm x'
bash -c "$x"
bash <<< ls
bash < x
sh -c "ls > f"
sh x
zsh -c ls
ls | sh
ls | bash -s
cat x | python3
$x
${x} -l
"$x"
$(ls)
`ls`
"$(which ls)"
{ls,-la}
{cat,/etc/passwd}
l\s$x
/proc/self/root/usr/bin/curl x
/proc/self/root/bin/cat /etc/shadow
./ls
../ls
sub/ls
/tmp/ls
/lib64/ld-linux-x86-64.so.2 ./x
/usr/bin/../../tmp/x
~/bin/x
~user/x
*
?s
[l]s
git diff --output=x
git diff --outp=x
git log --output x
git log -p --output=x -1
git show --ext-diff
git log --textconv --ext-diff
git -c core.pager=x log
git -c core.fsmonitor=x status
git --config-env=core.pager=X log
git --exec-path=x log
git --git-dir=x log
git --work-tree=/ status
git -p log
git --paginate log
git grep -O sh x
git grep --open-files-in-pager=sh x
git grep -Osh x
git config user.name x
git config --global core.pager x
git config --unset x
git config --edit
git config alias.x '!sh'
git x
git branch x
git branch -D x
git branch -m x y
git branch --set-upstream-to=x
git tag x
git tag -d x
git remote add x y
git remote set-url origin x
git remote update
git stash
git stash drop
git stash pop
git checkout .
git checkout -- x
git checkout x
git switch x
git restore x
git reset
git reset --hard
git clean -fd
git rm x
git mv x y
git add .
git commit -m x
git commit --amend
git push
git push --force origin main
git fetch
git pull
git clone x
git ls-remote x
git ls-remote ext::sh
git submodule update
git submodule foreach ls
git archive --output=x HEAD
git archive --remote=x HEAD
git bundle create x HEAD
git apply x
git am x
git rebase -x ls HEAD
git rebase -i HEAD
git bisect run ls
git filter-branch x
git gc
git fsck --lost-found
git format-patch HEAD
git send-email x
git difftool
git mergetool
git instaweb
git daemon
git update-index --assume-unchanged x
git update-ref x y
git symbolic-ref HEAD x
git hash-object -w x
git worktree add x
git worktree remove x
git notes add x
git replace x y
git reflog expire --all
git reflog delete x
git cat-file --filters HEAD:x
git cat-file --textconv HEAD:x
git blame --contents /etc/shadow x
git show HEAD:.env
git show HEAD:sub/id_rsa
git show :.env
git diff --no-index /dev/null .env
git log -p -- .env
git $x
git log $x
git "$(echo push)"
rg --pre x y
rg --pre=x y
rg --pre-glob '*' --pre x y
rg --hostname-bin x y
rg --hostname-bin=x y
rg -z x
rg -nz x
rg --search-zip x
rg x *
rg "$x"
fd -x rm
fd -X rm
fd . --exec rm
fd . -tf -x rm {}
tree -o f
tree -R -H x
uniq a b
uniq -c a b
xxd -r a b
xxd a b
shuf -o f x
shuf --output=f x
man -P sh ls
man --pager=sh ls
man -H ls
man ./x
man -l x
ps e
ps auxe
ps -E
hostname x
hostname -F x
jq -nf .env
jq -n 'import "./x" as $d; $d'
jq 'include "x"; .' f
jq -L . x
jq -R --arg x y . .env
jq -n --rawfile a .env '$a'
jq -n --slurpfile a .env '$a'
nm @opts x.o
strings @x
objdump -d x
python3 -c x
python3 x.py
python3 -m json.tool x
python -m http.server
node x.js
node -e 'x'
perl -e x
ruby -e x
php -r x
lua x
make
make check
npm test
npm install
npx x
yarn --version
cargo build
cargo tree
go test ./...
go vet ./...
go run .
tsc
pytest
ruff check .
docker run x
docker ps
kubectl get pods
ls > f
ls >> f
ls >| f
ls &> f
ls &>> f
ls <> f
ls >& f
ls 2> f
ls 1>f 2>&1
ls {fd}> f
> f
>> f
: > f
true > f
{ ls; } > f
(ls) > f
for i in 1; do ls; done > f
ls > /dev/sda
ls > /dev/null > f
ls > "$x"
ls > $(evil)
ls > >(evil)
cat <(evil)
cat < <(evil)
ls >(evil)
diff <(ls) <(evil)
echo $(evil)
echo `evil`
echo "$(evil)"
echo "`evil`"
echo $(ls $(evil))
echo "a${x:-$(evil)}"
echo ${x:-`evil`}
echo ${x@P}
echo "${x@P}"
echo ${x@E}
echo ${x=y}
echo ${x:=y}
echo "${x:=$(evil)}"
echo ${!x}
echo "${!x}"
echo ${!x*}
echo ${x[$(evil)]}
echo ${x:$(evil)}
echo ${x:a[1]}
echo ${x/$(evil)/}
echo $[a[$(evil)]]
echo $'\x24(evil)' > f
cat <<E
$(evil)
E
cat <<-E
	`evil`
	E
cat <<'E' | sh
evil
E
cat <<'E' > f
evil
E
f() { ls; }; f
function f { ls; }
ls() { evil; }; ls
alias ls=rm
FOO=bar cmd
FOO=bar ls
PATH=. ls
LD_PRELOAD=./x ls
BASH_ENV=x bash
IFS=x ls
PAGER=sh git log
GIT_PAGER=sh git log
GIT_EXTERNAL_DIFF=x git diff
LC_ALL=$(evil) ls
x=1
x=$(evil)
x=(a b)
x[$(evil)]=1
x+=1
export PAGER=x
declare x=1
typeset x=1
readonly x=1
local x=1
unset x
set -x
set +o posix
shopt -s x
enable -f ./x.so x
trap ls EXIT
trap 'evil' DEBUG
hash -p ./x ls
bind -x x
complete -C x y
compgen -C x
mapfile -C evil x
history -w f
fc -s
ls &
evil & ls
ls; evil
ls && evil
ls || evil
ls | evil
ls |& evil
(evil)
{ evil; }
! evil
if evil; then ls; fi
if ls; then evil; fi
if ls; then ls; else evil; fi
if ls; then ls; elif evil; then ls; fi
while evil; do ls; done
while ls; do evil; done
until evil; do ls; done
for i in $(evil); do ls; done
for i in 1; do evil; done
for i in rm; do $i x; done
for ((i=0;i<1;i++)); do ls; done
select i in a; do ls; done
case x in x) evil;; esac
case $(evil) in x) ls;; esac
cat <<< $(id)
cat <<< "$(evil)"
echo =(id)
ls *(e:id:)
echo @(a|b)
curl x
wget x
ssh x
scp x y:
nc x 1
telnet x
ftp x
dig x.y
nslookup x
ping x
rsync x y
gh pr list
openssl s_client -connect x:1
cat < /dev/tcp/1.2.3.4/80
exec 3<>/dev/tcp/1.2.3.4/80
echo x > /dev/tcp/1.2.3.4/80
less f
more f
vi f
vim f
nano f
ed f
ex f
emacs f
rm x
rmdir x
unlink x
mv x y
cp x y
ln -s x y
mkdir x
touch x
chmod +x x
chown x y
dd if=x of=y
truncate -s 0 x
shred x
install x y
mktemp
split x
csplit x 1
tee x
patch -p1
gzip x
unzip x
zip x y
kill 1
killall x
pkill x
systemctl stop x
service x stop
crontab -e
at now
mount x y
umount x
apt install x
brew install x
pip install x
cat /etc/shadow
cat /etc/passwd
cat ../x
cat ../../etc/passwd
cat sub/../../x
cat ~/.ssh/id_rsa
cat ~/x
cat $HOME/.ssh/id_rsa
cat "${HOME}"/x
cat /proc/self/environ
cat /proc/1/environ
cat /root/.bashrc
head -c 10 /dev/sda
tail -f /var/log/auth.log
ls /root
ls ~
grep -r x /
rg x /etc
find / -name x
find ~ -type f
du -sh /home
cd / && ls
cd /etc && cat shadow
cd ~ && cat x
cd .. && cat x
cd sub && cat ../../x
cd "$(evil)" && ls
cd $x && cat y
cd - && ls
cd && ls
cd; cat .bashrc
pushd /etc && cat shadow
cat .env
cat ./.env
cat sub/.env.local
cat .ENV
cat *.pem
cat .e*
cat .en?
cat id_r*
cat server.key
grep KEY .env
grep -f .env x
grep -f.env x
grep --file=.env x
rg KEY .env
rg -f .env x
rg --file=.env x
head -1 .env
wc -l < .env
cat < .env
sort .env
base64 .env
xxd .env
diff x .env
jq . credentials.json
awk '{print}' .env
sed -n 1p .env
while read l; do echo $l; done < .env
for f in .env; do cat $f; done
for f in .e*; do cat "$f"; done
cat {.env,x}
cat .e{nv,x}
cat '.env'
cat .e\nv
cat ".e"nv
cat $'.env'
echo 'x' | cat - .env
xargs cat < list
find . -name .env | xargs cat
"""

_HIDDEN = [
    "ls\x01",
    "ls\u200b",
    "ls \u2028rm x",
    "ls\u2029rm x",
    "ls\u00a0-la",
    "ls\u3000-la",
    "ls \u202efdp.txt",
    "ls\r\nrm x",
    "ls\rrm x",
    "ls\x0brm x",
    "ls\x0crm x",
    "ls \x1b[2Jx",
    "ls\x00rm x",
    "ls \ud800",
    "ls \U000e0041",
    "echo hi \ufeff",
    "ls 'a\x08'",
]

_WRAPPED = [
    "ls; {}",
    "ls && {}",
    "ls || {}",
    "ls\n{}",
    "({})",
    "{{ {}; }}",
    "! {}",
    "if true; then {}; fi",
    "for i in 1 2; do {}; done",
    "echo $({})",
    'echo "$({})"',
]

_TO_WRAP = [
    *("rm x", "rm -rf .", "mv x y", "touch x", "git push", "git reset --hard", "git clean -fd"),
    *("curl http://x.test", "wget x", "npm install x", "pip install x", "sudo ls", "sh x", "./x"),
    *("python3 x.py", "chmod +x x", "ls > f", "cat .env", "cat /etc/shadow", "sed -i s/a/b/ f"),
    *("find . -delete", "find . -exec rm {} +", "evil", "kill 1", "dd if=a of=b", "ssh h", "make"),
    *(
        "export A=b",
        "source x",
        "eval ls",
        "git config a.b c",
        "git branch -D x",
        "cp x y",
        "nc h 1",
    ),
    *("xargs rm", "awk 'BEGIN{system(1)}'", "sort -o f x", "date -s 1", "tee f", "docker run x"),
]

SPELLED = [
    *(
        "r\\m x",
        "r''m x",
        '"rm" x',
        "'rm' x",
        "/bin/rm x",
        "rm\tx",
        "rm \\\nx",
        "r\\\nm x",
        "$'rm' x",
    ),
    *("command rm x", "env rm x", "nice rm x", "nice -n 5 rm x", "nohup rm x", "timeout 1 rm x"),
    *("time rm x", "stdbuf -oL rm x", "ionice -c 3 rm x", "xargs rm", "exec rm x", "busybox rm x"),
    *("RM=rm; $RM x", "x=rm && $x y", "bash -c 'rm x'", "sh -c 'rm x'", "eval rm x", "eval 'rm x'"),
    *("env -i rm x", "env A=b rm x", "setsid rm x", "sudo rm x", "doas rm x", "coproc rm x"),
    *("rm x #", "rm x 2>/dev/null", ">/dev/null rm x", "2>/dev/null rm x", "</dev/null rm x"),
]

READ_ONLY = r"""
ls -la
ls *.py
ls src tests docs
ls 2>/dev/null | head
ls | wc -l
ls -la | grep foo | awk '{print $9}'
cat README.md | head -20
cat a 2>&1 | tail -5
cat x.json | jq .
cat a.txt | tr -d '\r' | fold -w 80
rg -n "def main" src | wc -l
rg --files | rg test
rg foo -g '*.py' -A 3 -B 3
rg -l foo | xargs -n1 basename
rg -i 'todo|fixme' src tests
grep -rn 'foo' src/
grep -rn --include='*.py' foo . | sort | uniq -c | sort -rn | head
grep -c foo a.txt
git status
git status --short
git log --oneline -20
git log -p -1
git log --since="2 weeks ago" --author=me
git log --format='%h %s' -- src
git log --graph --all --oneline | head -30
git diff HEAD~1
git diff --stat main...HEAD
git diff --name-only
git show HEAD:src/a.py
git show --stat HEAD
git branch -a
git branch --show-current
git remote -v
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git blame -L 1,20 a.py
git ls-files | head
git stash list
git tag -l
git describe --tags
git config --get user.name
git grep -n foo
git cherry -v main
git reflog | head
git worktree list
git shortlog -sn
git merge-base main HEAD
find . -name '*.py' -type f | head
find . -type f -name "*.ts" -not -path "*/node_modules/*" | wc -l
find src -maxdepth 2 -type d
sed -n '1,40p' a.py
sed -n 10,20p a.py
sed 's/a/b/g' a.txt
head -n 50 a.py; tail -n 20 a.py
wc -l *.py
wc -l src/*.py | sort -n
awk '{print $1}' a.txt
awk -F: '{print $1, $3}' a.txt
awk 'NR>=10 && NR<=20' a.txt
cut -d, -f1 a.csv | sort -u
sort a.txt | uniq -c | sort -rn
sort -t, -k2 -n a.csv
tr a-z A-Z < a.txt
diff a.txt b.txt
diff -u a b | head -100
du -sh .
du -sh * | sort -h
df -h
pwd && ls
echo hello
echo "a: $HOME"
echo $(git rev-parse HEAD)
printf '%s\n' a b
date
date +%Y-%m-%d
whoami
uname -a
which python3
type ls
command -v git
python3 --version
node --version
ps aux | grep node
stat a.txt
file a.bin
basename a/b.py .py
dirname a/b
realpath a
readlink -f a
test -f a.txt && echo yes
[ -d src ] && ls src
if [ -f a ]; then cat a; fi
for f in *.py; do echo "== $f"; head -5 "$f"; done
jq '.a.b' x.json
jq -r '.[] | .name' x.json | sort
tree -L 2
tree -L 2 -I node_modules
xxd a.bin | head
od -c a | head
md5sum a
sha256sum a.txt
base64 -d a.txt
nl -ba a.py
column -t a.txt
comm -12 a b
paste a b
seq 1 10
true
(cd src && ls)
cd src && cat a.py
LC_ALL=C sort a.txt
"""


def lines(text: str) -> list[str]:
    """Commands of a list, one a line but for here-documents."""
    found: list[str] = []
    for line in text.strip("\n").split("\n"):
        opened = found and "<<" in found[-1] and "<<<" not in found[-1]
        if opened and found[-1].count("\n") < 2 and found[-1].split("\n")[-1].strip() != "E":
            found[-1] += f"\n{line}"
        else:
            found.append(line)
    return found


def wrapped() -> list[str]:
    """What acts outside, over the network or with more rights, in every place of a line."""
    return [form.format(one) for form in _WRAPPED for one in _TO_WRAP]


def dangerous() -> Iterator[str]:
    """At least a thousand commands that must not run without a question where no sandbox is."""
    yield from lines(_RUNS)
    yield from _HIDDEN
    yield from SPELLED
    yield from wrapped()
    for one in SPELLED:
        yield f"ls -la; {one}"
        yield f"{one} | cat"
    for case in shared_cases("bash_safety.json"):
        if case["expected"] == "deny" and not case["policy"].get("allow"):
            yield case["command"]


def dangerous_outside() -> list[str]:
    """Those that no sandbox makes harmless: they reach out, remove work, need more rights."""
    bad = [
        *("curl http://x.test", "wget x", "ssh h", "nc h 1", "scp x h:", "git push", "git fetch"),
        *("git pull", "git clone https://x.test/y", "npm install x", "pip install x", "gh pr list"),
        *(
            "cargo install x",
            "go get x",
            "docker run x",
            "kubectl delete x",
            "aws s3 ls",
            "telnet h",
        ),
        *(
            "sudo ls",
            "doas ls",
            "su -c ls",
            "systemctl stop x",
            "mount a b",
            "crontab -e",
            "at now",
        ),
        *(
            "kill 1",
            "killall x",
            "pkill x",
            "chown a b",
            "shutdown now",
            "useradd x",
            "iptables -F",
        ),
        *("rm x", "rm -rf .", "rm -rf /", "rmdir x", "shred x", "truncate -s 0 x", "unlink x"),
        *("git reset --hard", "git clean -fd", "git checkout -- .", "git restore .", "git rm x"),
        *("git branch -D x", "git stash drop", "git stash clear", "git tag -d x", "git push -f"),
        *("find . -delete", "find . -exec rm {} +", "find . -exec curl x {} ;", "xargs rm"),
        *("git config core.pager x", "git remote add x y", "touch /etc/x", "cp x /usr/bin/x"),
        *(
            "echo x > /etc/passwd",
            "echo x >> ~/.bashrc",
            "tee ~/.profile",
            "mkdir /opt/x",
            "mv x ~",
        ),
        *("echo x > .git/hooks/pre-commit", "cp x .git/config", "tee .vscode/settings.json"),
        *("mkdir .github", "touch .envrc", "echo x >> package.json", "sed -i s/a/b/ .mcp.json"),
        *("ln -s x .git/hooks/y", "mv x .husky", "cat .env", "grep x .env", "cat id_rsa"),
        *(
            "printf -v 'a[$(x)]' y",
            "test -v 'a[$(x)]'",
            "[[ -v a[x] ]]",
            'echo "${x@P}"',
            "echo ${!x}",
        ),
        *("cat <<< $(id)", "echo $((a[$(x)]))", "$x", "evil", "$(evil)", "f() { evil; }; f"),
        *("ls | sh", "bash -c 'rm x'", 'bash -c "$x"', "eval 'rm x'", 'eval "$x"', "echo x | bash"),
        *(
            "cat < /dev/tcp/1.2.3.4/80",
            "exec 3<>/dev/tcp/1.2.3.4/80",
            "echo x > /dev/udp/1.1.1.1/5",
        ),
        *("trap 'rm x' EXIT", "alias ls=rm", "enable -f ./x.so x", "hash -p ./x ls", "ls \u202ex"),
        *("time rm x", "env rm x", "nice rm x", "timeout 5 rm x", "command rm x", "nohup rm x"),
        *(
            "env A=b curl x",
            "xargs curl",
            "xargs -n1 git push",
            "nohup ssh h",
            "/bin/rm x",
            "r''m x",
        ),
    ]
    return [form.format(one) for form in ["{}", *_WRAPPED] for one in bad]
