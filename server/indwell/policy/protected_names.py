"""The names that editors, shells, git, package managers, CI and agents load unasked: data only.

The notation: ``name/`` is a folder with all its contents; ``a/b`` is ``b`` directly in ``a``, with
    all its contents; a ``*`` stands for any characters of a file's name. Each name applies at any
    depth and is written in lower case. A leading ``!`` marks a folder whose new contents running
    editors and agents obey at once; see ``AT_ONCE``. `indwell.policy.paths` compares; this module
    only lists.
"""

from __future__ import annotations

from collections.abc import Mapping

Names = Mapping[str, str]
"""The programs that load the names, and the names, separated by blanks."""

_MARKED: Names = {
    # Version control and its hooks
    "git": ".git/ .gitconfig .gitmodules .gitattributes .githooks/ .git-hooks/",
    "Mercurial": ".hg/ .hgrc .hgsub .hgeol",
    "Subversion": ".svn/",
    "Jujutsu": ".jj/",
    "Sapling": ".sl/",
    "Bazaar": ".bzr/",
    "Fossil": ".fslckout _fossil_ .fossil-settings/",
    "Darcs": "_darcs/",
    "Pijul": ".pijul/",
    "CVS": "cvs/root cvs/checkin.prog cvs/update.prog",
    "Perforce": ".p4config p4config.txt",
    "Phabricator": ".arcconfig .arclint .arcunit",
    "Review Board": ".reviewboardrc",
    "husky": ".husky/ .huskyrc* husky.config.*",
    "lefthook": (
        "lefthook.yml lefthook.yaml lefthook.json lefthook.jsonc lefthook.toml lefthook-local.*"
        " .lefthook* .config/lefthook.yml"
    ),
    "pre-commit": ".pre-commit-config.* .pre-commit-hooks.* .pre-commit.yaml",
    "prek": "prek.toml .prek.toml",
    "hk": "hk.pkl hk.local.pkl .hk/ .hkrc.pkl",
    "Overcommit": ".overcommit.yml .overcommit.yaml .local-overcommit.yml",
    "lint-staged": ".lintstagedrc* lint-staged.config.*",
    "commitlint": ".commitlintrc* commitlint.config.* .gitlint",
    "simple-git-hooks": ".simple-git-hooks.* simple-git-hooks.*",
    "other managers of git hooks": (
        ".rusty-hook.toml rusty-hook.toml .cargo-husky/ captainhook.json captainhook.config.json"
        " grumphp.yml grumphp.yaml .ghooks/ yorkie.json .hooks/"
    ),
    # Editors, and what their language servers load as a folder opens
    "VS Code": (
        "!.vscode/ .vscode-server/ .vscode-insiders/ .vscode-test.* .theia/ *.code-workspace"
    ),
    "JetBrains": "!.idea/ .run/ .fleet/ *.iml *.ipr *.iws .teamcity/",
    "Visual Studio": (
        ".vs/ *.csproj.user *.vbproj.user *.fsproj.user *.vcxproj.user directory.build.props"
        " directory.build.targets directory.build.rsp directory.packages.props"
        " properties/launchsettings.json .runsettings"
    ),
    "OmniSharp": "omnisharp.json",
    "Zed": "!.zed/",
    "Cursor": "!.cursor/ .cursorrules .cursorignore .cursorindexingignore *.mdc",
    "Windsurf": ".windsurf/ .windsurfrules .codeium/",
    "Trae": ".trae/",
    "Helix": ".helix/",
    "Lapce": ".lapce/",
    "Nova": ".nova/",
    "Kate": ".kateproject .kateconfig .kateproject.build",
    "Sublime Text": "*.sublime-project *.sublime-workspace",
    "TextMate": ".tm_properties",
    "Xcode": ".xcode.env .xcode.env.local xcuserdata/ *.xcworkspace",
    "Eclipse": ".project .classpath .factorypath .settings/ .externaltoolbuilders/",
    "Vim": (
        ".vim/ .vimrc .gvimrc .exrc .vimrc.local .lvimrc .local.vimrc .localrc.vim .vimspector.json"
    ),
    "Neovim": (
        ".nvim/ .nvimrc .nvim.lua .nvimrc.lua .exrc.lua .lazy.lua .neoconf.json .nlsp-settings/"
        " .neodev.json .nvim-dap.lua .tasks"
    ),
    "Kakoune": ".kakrc .kak/",
    "Emacs": ".emacs.d/ .emacs .dir-locals.el .dir-locals-2.el .projectile .elpaignore .eglot",
    "YouCompleteMe": ".ycm_extra_conf.py",
    "coc.nvim": "coc-settings.json",
    "vim-projectionist": ".projections.json",
    "lua-language-server": ".luarc.json .luarc.jsonc .luacheckrc .emmyrc.json",
    "clangd": ".clangd .clang-tidy .ccls .cquery",
    "rust-analyzer": "rust-project.json .rust-project.json rust-analyzer.toml .rust-analyzer.toml",
    "Metals and other build servers": ".bsp/ .bazelbsp/ .bloop/",
    "haskell-language-server": "hie.yaml hie.yml .hie-bios .hlint.yaml",
    "Merlin": ".merlin",
    "ElixirLS": ".formatter.exs .credo.exs",
    "clojure-lsp": ".lsp/ .clj-kondo/config.edn .clj-kondo/hooks .calva/ .nrepl.edn",
    "SourceKit-LSP": ".sourcekit-lsp/",
    "Ruby's language servers": (
        ".solargraph.yml .ruby-lsp/ .rubocop.yml .standard.yml .erb_lint.yml"
    ),
    "phpactor and PHP tools": (
        ".phpactor.json .phpactor.yml .php-cs-fixer.php .php-cs-fixer.dist.php .php_cs .phpcs.xml"
    ),
    "ESLint": ".eslintrc* eslint.config.*",
    "Prettier": ".prettierrc* prettier.config.*",
    "Stylelint": ".stylelintrc* stylelint.config.*",
    "Pylint": ".pylintrc pylintrc pylintrc.toml .pylintrc.toml",
    "Flake8": ".flake8",
    "mypy": "mypy.ini .mypy.ini",
    "golangci-lint": ".golangci.* .custom-gcl.*",
    "TFLint": ".tflint.hcl",
    "R linters": ".lintr",
    # Shells, and what runs as one enters a folder
    "bash": (
        ".bashrc .bash_profile .bash_login .bash_aliases .bash_logout .bash_completion .profile"
    ),
    "zsh": ".zshrc .zshenv .zprofile .zlogin .zlogout .zsh_aliases .zsh_plugins.* .oh-my-zsh/",
    "other shells": (
        ".kshrc .mkshrc .shrc .cshrc .tcshrc .login .logout .fishrc .xonshrc .elvish/ .inputrc"
        " .config/fish .config/nushell .config/powershell microsoft.powershell_profile.ps1"
    ),
    "login sessions": ".xprofile .xinitrc .xsession .xsessionrc .pam_environment .xresources",
    "terminals": ".screenrc .tmux.conf .config/tmux .wezterm.lua .hushlogin",
    "direnv and dotenv": ".env* .envrc .direnv/ .direnvrc",
    "autoenv": ".autoenv .autoenv.zsh .autoenv_leave.zsh .in .out",
    "shadowenv": ".shadowenv.d/",
    "mise": (
        ".mise/ .mise.toml .mise.*.toml mise.toml mise.*.toml mise/config.toml mise/config.*.toml"
        " mise/conf.d .config/mise .config/mise.toml .mise-tasks/ mise-tasks/ .rtx.toml"
    ),
    "asdf": ".tool-versions .asdfrc .default-npm-packages .default-gems",
    "proto": ".prototools",
    "devbox": "devbox.json devbox.lock .devbox/",
    "devenv": "devenv.nix devenv.yaml devenv.local.nix devenv.lock .devenv/ .devenv.flake.nix",
    "Flox": ".flox/",
    "Nix": "flake.nix flake.lock shell.nix",
    "RVM and rbenv": ".rvmrc .rbenv-vars .rbenv-gemsets .ruby-gemset .powrc .powenv .pumaenv",
    "pyenv and uv": ".python-version .python-versions",
    "rustup": "rust-toolchain rust-toolchain.toml",
    "FVM": ".fvm/ .fvmrc .puro.json",
    "SDKMAN": ".sdkmanrc",
    "Hermit": "bin/activate-hermit bin/hermit bin/hermit.hcl",
    # Interpreters, debuggers and programs that read the folder that they start in
    "Python": (
        ".pdbrc .pdbrc.py .pythonrc .pythonrc.py .pythonstartup sitecustomize.py usercustomize.py"
        " .ipython/ ipython_config.py .jupyter/ jupyter_*_config.py .ptpython/"
    ),
    "R": ".rprofile .renviron .rdata *.rproj .rproj.user/ renv/activate.r",
    "Julia": ".julia/",
    "GHCi": ".ghci .haskeline",
    "OCaml": ".ocamlinit .utoprc .lambda-term-inputrc",
    "Elixir and Erlang": ".iex.exs .erlang",
    "Ruby": (
        ".irbrc .pryrc .rdbgrc .rdbgrc.rb .byebugrc .rspec .simplecov .guardrc .gemrc .autotest"
    ),
    "Node.js": ".noderc .node_repl.js",
    "Perl": ".perldb .replyrc .perlcriticrc .perltidyrc .proverc",
    "PHP": ".user.ini .psysh.php .htaccess",
    "Lua": ".luacov .busted .lua_init",
    "Scala": ".ammonite/ .sbtopts .sbtrc .jvmopts .scalafix.conf project/build.properties",
    "Clojure": ".lein-env .boot/ .lein/",
    "Octave, gnuplot, Maxima": ".octaverc .gnuplot .maxima/ startup.m",
    "gdb, lldb and others": (
        ".gdbinit .gdbinit.local .gdbearlyinit .lldbinit .radare2rc .rizinrc .cgdbrc .valgrindrc"
        " .delve/ .dbxrc"
    ),
    "ack": ".ackrc",
    "curl and wget": ".curlrc .wgetrc .netrc",
    "database shells": ".psqlrc .sqliterc .my.cnf .mongorc.js .mongoshrc.js",
    "ssh": ".ssh/",
    "Ansible": "ansible.cfg .ansible.cfg .vault_pass*",
    "Terraform": ".terraformrc terraform.rc",
    # Package managers and the starts of build tools
    "npm": ".npmrc package.json node_modules/.hooks .npmpackagejsonlintrc*",
    "pnpm": ".pnpmfile.* pnpm-workspace.yaml pnpm-workspace.yml",
    "Yarn": ".yarnrc* .yarn/releases .yarn/plugins .yarn/sdks .pnp.cjs .pnp.js .pnp.loader.mjs",
    "Bun": "bunfig.toml .bunfig.toml",
    "Deno": "deno.json deno.jsonc",
    "Nx, Lerna, Rush, moon": (
        "nx.json lerna.json rush.json rush/.npmrc .nx/nxw.js .nx/installation .moon/*.yml"
        " .moon/*.pkl"
    ),
    "pip": "pip.conf pip.ini .pypirc .pip/ .pydistutils.cfg",
    "uv": "uv.toml",
    "conda": ".condarc .mambarc",
    "Pixi": ".pixi/config.toml",
    "Cargo": ".cargo/",
    "Bundler": ".bundle/",
    "NuGet and dotnet": "nuget.config .config/dotnet-tools.json global.json",
    "Maven": ".mvn/ .mavenrc",
    "Gradle": "gradle/wrapper .gradle/config.properties .gradle/init.d .gradle/gradle.properties",
    "SwiftPM": ".swiftpm/",
    "Bazel": ".bazelrc user.bazelrc .bazeliskrc .bazelversion .bazelproject .ijwb/ .aswb/ .clwb/",
    "Buck, Pants, Please": (
        ".buckconfig .buckconfig.* .buckjavaargs .pants.rc .pants.bootstrap .plzconfig*"
    ),
    "Changesets": ".changeset/config.json",
    # Continuous integration, deployment, bots
    "GitHub": ".github/ codeowners",
    "GitLab": ".gitlab-ci.yml .gitlab-ci.yaml .gitlab-ci/ .gitlab/ *.gitlab-ci.yml",
    "Gitea and Forgejo": ".gitea/ .forgejo/",
    "CircleCI": ".circleci/",
    "Travis CI": ".travis.yml .travis.yaml .travis/",
    "Cirrus CI": ".cirrus.yml .cirrus.yaml .cirrus.star",
    "AppVeyor": ".appveyor.yml appveyor.yml .appveyor.yaml appveyor.yaml .appveyor/",
    "Azure Pipelines": (
        "azure-pipelines* .azure-pipelines* .azure-pipelines/ .azuredevops/ .vsts-ci.yml .azure/"
        " .pipelines/"
    ),
    "Bitbucket": "bitbucket-pipelines.yml bitbucket-pipelines.yaml",
    "Jenkins": "jenkinsfile* .jenkinsfile .jenkins/",
    "Drone": ".drone.yml .drone.yaml .drone.star .drone.jsonnet .harness/",
    "Woodpecker": ".woodpecker/ .woodpecker*",
    "Buildkite": ".buildkite/",
    "Semaphore": ".semaphore/",
    "sourcehut": ".build.yml .build.yaml .builds/",
    "Buddy": ".buddy/ buddy.yml buddy.yaml",
    "Bitrise and Codemagic": "bitrise.yml codemagic.yaml .bitrise.yml",
    "Screwdriver and Shippable": "screwdriver.yaml .screwdriver.yaml shippable.yml .shippable.yml",
    "Wercker and Codeship": "wercker.yml codeship-services.yml codeship-steps.yml",
    "Zuul": ".zuul.yaml zuul.yaml .zuul.d/ zuul.d/",
    "Taskcluster": ".taskcluster.yml",
    "Prow and Tekton": ".prow.yaml .prow/ .tekton/",
    "GoCD and OneDev": "*.gocd.yaml .gocd.yaml .onedev-buildspec.yml",
    "Codefresh": ".codefresh/ codefresh.yml .codefresh.yml",
    "Dagger and Earthly": "dagger.json .dagger/ .earthly/",
    "AWS": "buildspec.yml buildspec.yaml appspec.yml amplify.yml .ebextensions/ .platform/",
    "Google Cloud Build": "cloudbuild.yaml cloudbuild.yml cloudbuild.json",
    "hosting": (
        "netlify.toml .netlify/ vercel.json .vercel/ render.yaml fly.toml railway.json"
        " railway.toml .do/ .platform.app.yaml .upsun/ .space.kts .firebaserc"
    ),
    "bots of repositories": (
        "renovate.json renovate.json5 .renovaterc* .dependabot/ .mergify.yml .mergify/ bors.toml"
        " .kodiak.toml .pullapprove.yml .gitreview .releaserc* release.config.* .release-it*"
        " .goreleaser*"
    ),
    "code scanners": (
        ".lgtm.yml .codeclimate.yml .codacy.yml .codacy.yaml .deepsource.toml .sourcery.yaml"
        " .snyk .hound.yml .lift.toml .pyup.yml .whitesource .sonarcloud.properties"
    ),
    "Read the Docs": ".readthedocs.yml .readthedocs.yaml readthedocs.yml",
    # Cloud workspaces and containers for development
    "dev containers": ".devcontainer/ .devcontainer.json devfile.yaml .devfile.yaml .che/",
    "Gitpod and Ona": ".gitpod.yml .gitpod.dockerfile .gitpod/ .ona/",
    "Firebase Studio": ".idx/",
    "Replit": ".replit replit.nix replit.md .config/replit",
    "CodeSandbox and StackBlitz": ".codesandbox/ sandbox.config.json .stackblitzrc .bolt/",
    "Glitch and Cloud9": ".glitch-assets .c9/",
    "Coder and Daytona": ".coder/ .daytona/",
    # Agents: what they are told, what they start
    "Indwell": "!.indwell/ *.chat.md",
    "agents, by custom": (
        "agents.md agent.md agents.override.md agents.local.md .agents.md .agent.md .agent/"
        " .agents/ skill.md .rules .ai/ .mcp/ .mcp.json mcp.json .prompts/ *.prompt.md"
        " *.instructions.md *.chatmode.md .ruler/ .rulesync/ rulesync.json rulesync.jsonc"
    ),
    "Claude": "!.claude/ .claude.json claude.md claude.local.md .claude-plugin/ .claudeignore",
    "Codex": ".codex/",
    "GitHub Copilot": ".copilot/ copilot-instructions.md .copilot-instructions.md",
    "Gemini": ".gemini/ gemini.md .geminiignore .aiexclude",
    "Qwen": ".qwen/ qwen.md",
    "Cline and similar agents": (
        ".cline/ .clinerules/ .clinerules* .clineignore .roo/ .roomodes .roorules* .rooignore"
        " .kilocode/ .kilocodemodes .kilocoderules* .kilocodeignore"
    ),
    "Continue": ".continue/ .continuerc.json .continuerules",
    "Aider": ".aider.conf.yml .aider.model.settings.yml .aider.model.metadata.json .aiderignore",
    "Amp and Cody": ".amp/ .ampcoderc .cody/ .sourcegraph/",
    "OpenHands": ".openhands/ .openhands_instructions",
    "OpenCode and Crush": (
        ".opencode/ opencode.json opencode.jsonc .opencode.json .crush/ crush.md crush.json"
        " .crush.json .crushignore"
    ),
    "Goose": ".goosehints .goose/ .gooseignore",
    "Junie": ".junie/ .aiignore",
    "Kiro and Amazon Q": ".kiro/ .amazonq/",
    "Augment": ".augment/ .augment-guidelines .augmentignore",
    "Factory": ".factory/",
    "Warp": ".warp/ warp.md .warpindexingignore",
    "Devin and Jules": ".devin/ .jules/",
    "Zencoder and Tabnine": ".zencoder/ .tabnine/ .tabnine_commands",
    "Rovo, Qodo and Vibe": ".rovodev/ .qodo/ .pr_agent.toml .vibe/",
    "agents of other editors": (
        ".codebuddy/ codebuddy.md .qoder/ .lingma/ .comate/ .marscode/ .iflow/ iflow.md .kimi/"
        " .grok/ grok.md .pearai/ .voidrules .brokk/ .forge/ forge.yaml .pi/ .mentatconfig.json"
        " .plandex/ .plandex-v2/ gptme.toml .sweep.yaml .serena/ .taskmaster/"
    ),
    "code review by models": ".coderabbit.yaml .coderabbit.yml greptile.json ellipsis.yaml",
    "runners of several agents": ".conductor/ conductor.json .emdash.json .superset/",
}

PROTECTED: Names = {who: names.replace("!", "") for who, names in _MARKED.items()}
"""The programs that load them."""

AT_ONCE = tuple(
    one[1:-1] for names in _MARKED.values() for one in names.split() if one.startswith("!")
)
"""The marked folders, which commands cannot even create at the top of the workspace.

Each exists as an empty folder while a command runs, which takes 0.3 ms; so they are few."""

INSTALLED: Names = {
    "virtual environments": (
        ".venv/bin .venv/scripts venv/bin venv/scripts .virtualenv/bin .env/bin .conda/bin"
        " pyvenv.cfg"
    ),
    "npm and similar tools": "node_modules/.bin",
    "Composer": "vendor/bin",
    "opam": "_opam/bin",
    "Pixi": ".pixi/envs",
}
"""Programs that package managers install into the workspace, and that editors and shells start:
protected, except from an installing command that the user permitted.
"""

STARTERS: Names = {
    "Gradle": "gradlew gradlew.bat",
    "Maven": "mvnw mvnw.cmd",
    "Bazel": "tools/bazel tools/bazel.bat",
    "other build tools": "buckw millw mill.bat sbtx",
}
"""Programs of the workspace in place of a tool: protected, but commands may run them."""

HARMLESS: Names = {
    "files that git and other tools should skip": (
        ".gitignore .gitkeep .keep .hgignore .bzrignore .cvsignore .svnignore .dockerignore"
        " .npmignore .eslintignore .prettierignore .stylelintignore .ignore .rgignore .fdignore"
        " .agignore .helmignore .gcloudignore .vercelignore .slugignore .cfignore .vscodeignore"
        " .containerignore .yamlignore .markdownlintignore .bazelignore .rbuildignore"
        " .nodemonignore .jshintignore .jscsignore .solhintignore .ebignore .funcignore"
        " .git-blame-ignore-revs .mailmap .nojekyll .empty .placeholder .nomedia"
    ),
    "formats of texts, with nothing to run": (
        ".editorconfig .clang-format .clang-format-ignore .rustfmt.toml .clippy.toml"
        " .scalafmt.conf .ocamlformat .ocamlformat-ignore .ocp-indent .yapfignore .style.yapf"
        " .isort.cfg .markdownlint.json .markdownlint.jsonc .markdownlint.yaml .markdownlint.yml"
        " .mdlrc .yamllint .yamllint.yml .yamllint.yaml .yamlfmt .yamlfmt.yml .yamlfmt.yaml"
        " .jsbeautifyrc .stylua.toml .dprint.json .typos.toml .codespellrc .cspell.json"
        " .juliaformatter.toml .swift-format .swiftformat .ktlint .hadolint.yaml .hadolint.yml"
        " .sqlfluff .shellcheckrc .taplo.toml .zprint.edn .cljfmt.edn .ruff.toml .browserslistrc"
    ),
    "the number of a version": (
        ".nvmrc .node-version .ruby-version .java-version .go-version .terraform-version"
        " .terraform.lock.hcl .swift-version .perl-version .php-version .crystal-version"
        " .elixir-version .kotlin-version"
    ),
    "what tests and checkers keep": (
        ".pytest_cache .coverage .coverage.* .coveragerc .mypy_cache .ruff_cache .hypothesis .tox"
        " .nox .testmondata .testmondata-* .benchmarks .pyre .pytype .dmypy.json"
        " .import_linter_cache .import_linter .ropeproject .nyc_output .nycrc .eslintcache"
        " .stylelintcache .prettiercache .rspec_status .phpunit.cache .phpunit.result.cache"
        " .phpstan .phpcs-cache .jest .jest-cache .vitest .playwright .cypress .stryker-tmp"
        " .istanbul.yml .pylint.d .pytest-deps .trunk-cache .lycheecache .tmp_versions .report"
        " .reports .allure .mutmut-cache .scannerwork .profraw .perf .psalm .rubocop_cache"
        " .golangci-cache .inline-snapshot .snapshots .syrupy .vcr .cargo-ok .tarpaulin .criterion"
        " .scrutinizer .codspeed .pyright .deptry .semgrep .dialyzer .plt .elixir_ls .lexical"
        " .expert .php-cs-fixer.cache .cspellcache .vitest-reports .vitest-attachments .wdio .nyc"
        " .phan .php_cs.cache .pdepend .stestr .testrepository .asv .benchmark .cov .htmlcov"
        " .coverage-html .pytest_tmp .pytest-tmp .pytest_tmp* .rubocop-http* .sonar .jest-*"
        " .test-results .test-reports .trace .prof"
    ),
    "what builds keep": (
        ".cache .parcel-cache .next .nuxt .nitro .output .svelte-kit .astro .docusaurus .vite"
        " .vinxi .turbo .nx .moon .angular .expo .expo-shared .wrangler .solid .remix .vuepress"
        " .rollup.cache .rpt2_cache .rts2_cache* .swc .webpack .sass-cache .jekyll-cache"
        " .jekyll-metadata .fusebox .wireit .rush .temp .tmp .tmp* .temp* .build .builds-cache"
        " .eggs .dart_tool .flutter-plugins .flutter-plugins-dependencies .packages .metadata"
        " .gradle .kotlin .konan .cxx .externalnativebuild .stack-work .cabal-sandbox .ccache"
        " .sccache .zig-cache .zig-global-cache .elm-stuff .spago .psci_modules .pulp-cache"
        " .shadow-cljs .cpcache .scala-build .metals .ninja_deps .ninja_log .ninja_lock .deps"
        " .libs .dep .objs .obj .lock-waf* .waf* .sconsign.dblite .sconf_temp .qmake.stash"
        " .qmake.cache .pants.d .pids .doctrees .quarto .ipynb_checkpoints .virtual_documents"
        " .terraform .terragrunt-cache .serverless .aws-sam .sam-cache .chalice-cache .yarn"
        " .yarn-integrity .pnpm-store .pnpm-debug.log .npm .bower-cache .bower-registry .uv-cache"
        " .pip-cache .cargo-cache .go-cache .gocache .gopath .rustup-cache .m2 .ivy2 .coursier"
        " .godot .import .mono .vagrant-cache .docker-cache .buildinfo .tsbuildinfo"
        " .package-lock.json .modules.yaml .changeset .clj-kondo .pixi .conda .venv .virtualenv"
        " .pdm-build .pdm-python .hatch .clangd-cache .doit.db* .doit.json .snakemake .nextflow"
        " .nextflow.log* .ploomber .mlruns .lightning_logs .wandb .tensorboard .cargo-lock"
        " .well-known .vitepress .assets .data .db .storage .logs .log .out-tmp .run.pid"
        " .react-router .tanstack .contentlayer .velite .wxt .plasmo .umi .esbuild .rspack-cache"
        " .babel-cache .babel.json .linaria-cache .cache-loader .lage .lake .nimcache .dub"
        " .precomp .hie .ensime_cache .skbuild .mesonpy-* .cmake .ccls-cache .attach_pid*"
        " .jython_cache .apt_generated .uv .chroma .langgraph_api"
    ),
    "what an editor or a desktop leaves": (
        ".ds_store .directory .history .localized .spotlight-v100 .trash* .fuse_hidden* .nfs*"
        " .goutputstream-* .~lock.* .#* .*.swp .*.swo .*.swn .*.swx .*.un~ .*.kate-swp .netrwhist"
        " .vscode-upload.json .indwell-*"
    ),
    "what a shell or a prompt keeps of what was typed": (
        ".rhistory .node_repl_history .byebug_history .irb_history .python_history .gdb_history"
        " .lldb_history .sqlite_history .iex_history .octave_hist .dbshell"
    ),
}
"""Why a dot name at the root of a repository needs no question. A name that is neither here nor
above needs one, because its effect is unknown.
"""
