/**
 * Which names the server protects: all in lower case, but for `BARE`.
 * Written by scripts/protected_places.py from server/indwell/policy (`scripts/fix`).
 */

const names = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Folders that are protected with all their contents. */
export const FOLDERS = names(`
  .agent .agents .ai .amazonq .ammonite .amp .appveyor .aswb .augment .azure .azure-pipelines
  .azuredevops .bazelbsp .bloop .bolt .boot .brokk .bsp .buddy .buildkite .builds .bundle .bzr .c9
  .calva .cargo .cargo-husky .che .circleci .claude .claude-plugin .cline .clinerules .clwb
  .codebuddy .codefresh .codeium .coder .codesandbox .codex .cody .comate .conductor .continue
  .copilot .crush .cursor .dagger .daytona .delve .dependabot .devbox .devcontainer .devenv .devin
  .direnv .do .earthly .ebextensions .elvish .emacs.d .externaltoolbuilders .factory .fleet .flox
  .forge .forgejo .fossil-settings .fvm .gemini .ghooks .git .git-hooks .gitea .githooks .github
  .gitlab .gitlab-ci .gitpod .goose .grok .harness .helix .hg .hk .hooks .husky .idea .idx .iflow
  .ijwb .indwell .ipython .jenkins .jj .jules .julia .junie .jupyter .kak .kilocode .kimi .kiro
  .lapce .lein .lingma .lsp .marscode .maxima .mcp .mergify .mise .mise-tasks .mvn .netlify
  .nlsp-settings .nova .nvim .oh-my-zsh .ona .opencode .openhands .pearai .pi .pijul .pip .pipelines
  .plandex .plandex-v2 .platform .prompts .prow .ptpython .qoder .qodo .qwen .roo .rovodev
  .rproj.user .ruby-lsp .ruler .rulesync .run .semaphore .serena .settings .shadowenv.d .sl
  .sourcegraph .sourcekit-lsp .ssh .superset .svn .swiftpm .tabnine .taskmaster .teamcity .tekton
  .theia .trae .travis .upsun .vercel .vibe .vim .vs .vscode .vscode-insiders .vscode-server .warp
  .windsurf .woodpecker .zed .zencoder .zuul.d _darcs mise-tasks xcuserdata zuul.d
`);

/** Files that are protected by their whole name. */
export const FILES = names(`
  .ackrc .agent.md .agents.md .aider.conf.yml .aider.model.metadata.json .aider.model.settings.yml
  .aiderignore .aiexclude .aiignore .ampcoderc .ansible.cfg .appveyor.yaml .appveyor.yml .arcconfig
  .arclint .arcunit .asdfrc .augment-guidelines .augmentignore .autoenv .autoenv.zsh
  .autoenv_leave.zsh .autotest .bash_aliases .bash_completion .bash_login .bash_logout .bash_profile
  .bashrc .bazeliskrc .bazelproject .bazelrc .bazelversion .bitrise.yml .buckconfig .buckjavaargs
  .build.yaml .build.yml .bunfig.toml .busted .byebugrc .ccls .cgdbrc .cirrus.star .cirrus.yaml
  .cirrus.yml .clang-tidy .clangd .classpath .claude.json .claudeignore .clineignore .codacy.yaml
  .codacy.yml .codeclimate.yml .codefresh.yml .coderabbit.yaml .coderabbit.yml .condarc
  .continuerc.json .continuerules .copilot-instructions.md .cquery .credo.exs .crush.json
  .crushignore .cshrc .curlrc .cursorignore .cursorindexingignore .cursorrules .dbxrc
  .deepsource.toml .default-gems .default-npm-packages .devcontainer.json .devenv.flake.nix
  .devfile.yaml .dir-locals-2.el .dir-locals.el .direnvrc .drone.jsonnet .drone.star .drone.yaml
  .drone.yml .eglot .elpaignore .emacs .emdash.json .emmyrc.json .envrc .erb_lint.yml .erlang .exrc
  .exrc.lua .factorypath .firebaserc .fishrc .flake8 .formatter.exs .fslckout .fvmrc .gdbearlyinit
  .gdbinit .gdbinit.local .geminiignore .gemrc .ghci .gitattributes .gitconfig .gitlab-ci.yaml
  .gitlab-ci.yml .gitlint .gitmodules .gitpod.dockerfile .gitpod.yml .gitreview .glitch-assets
  .gnuplot .gocd.yaml .goosehints .gooseignore .guardrc .gvimrc .haskeline .hgeol .hgrc .hgsub
  .hie-bios .hkrc.pkl .hlint.yaml .hound.yml .htaccess .hushlogin .iex.exs .in .inputrc .irbrc
  .jenkinsfile .jvmopts .kakrc .kateconfig .kateproject .kateproject.build .kilocodeignore
  .kilocodemodes .kodiak.toml .kshrc .lambda-term-inputrc .lazy.lua .lein-env .lgtm.yml .lift.toml
  .lintr .lldbinit .local-overcommit.yml .local.vimrc .localrc.vim .login .logout .lua_init
  .luacheckrc .luacov .luarc.json .luarc.jsonc .lvimrc .mambarc .mavenrc .mcp.json
  .mentatconfig.json .mergify.yml .merlin .mise.toml .mkshrc .mongorc.js .mongoshrc.js .my.cnf
  .mypy.ini .neoconf.json .neodev.json .netrc .node_repl.js .noderc .npmrc .nrepl.edn .nvim-dap.lua
  .nvim.lua .nvimrc .nvimrc.lua .ocamlinit .octaverc .onedev-buildspec.yml .opencode.json
  .openhands_instructions .out .overcommit.yaml .overcommit.yml .p4config .pam_environment
  .pants.bootstrap .pants.rc .pdbrc .pdbrc.py .perlcriticrc .perldb .perltidyrc
  .php-cs-fixer.dist.php .php-cs-fixer.php .php_cs .phpactor.json .phpactor.yml .phpcs.xml
  .platform.app.yaml .pnp.cjs .pnp.js .pnp.loader.mjs .powenv .powrc .pr_agent.toml .pre-commit.yaml
  .prek.toml .profile .project .projectile .projections.json .prototools .proverc .prow.yaml .pryrc
  .psqlrc .psysh.php .pullapprove.yml .pumaenv .puro.json .pydistutils.cfg .pylintrc .pylintrc.toml
  .pypirc .python-version .python-versions .pythonrc .pythonrc.py .pythonstartup .pyup.yml
  .radare2rc .rbenv-gemsets .rbenv-vars .rdata .rdbgrc .rdbgrc.rb .readthedocs.yaml .readthedocs.yml
  .renviron .replit .replyrc .reviewboardrc .rizinrc .rooignore .roomodes .rprofile .rspec .rtx.toml
  .rubocop.yml .ruby-gemset .rules .runsettings .rust-analyzer.toml .rust-project.json
  .rusty-hook.toml .rvmrc .sbtopts .sbtrc .scalafix.conf .screenrc .screwdriver.yaml .sdkmanrc
  .shippable.yml .shrc .simplecov .snyk .solargraph.yml .sonarcloud.properties .sourcery.yaml
  .space.kts .sqliterc .stackblitzrc .standard.yml .sweep.yaml .tabnine_commands .taskcluster.yml
  .tasks .tcshrc .terraformrc .tflint.hcl .tm_properties .tmux.conf .tool-versions .travis.yaml
  .travis.yml .user.ini .utoprc .valgrindrc .vimrc .vimrc.local .vimspector.json .voidrules
  .vsts-ci.yml .warpindexingignore .wezterm.lua .wgetrc .whitesource .windsurfrules .xcode.env
  .xcode.env.local .xinitrc .xonshrc .xprofile .xresources .xsession .xsessionrc .ycm_extra_conf.py
  .zlogin .zlogout .zprofile .zsh_aliases .zshenv .zshrc .zuul.yaml _fossil_ agent.md
  agents.local.md agents.md agents.override.md amplify.yml ansible.cfg appspec.yml appveyor.yaml
  appveyor.yml bitbucket-pipelines.yaml bitbucket-pipelines.yml bitrise.yml bors.toml buckw
  buddy.yaml buddy.yml buildspec.yaml buildspec.yml bunfig.toml captainhook.config.json
  captainhook.json claude.local.md claude.md cloudbuild.json cloudbuild.yaml cloudbuild.yml
  coc-settings.json codebuddy.md codefresh.yml codemagic.yaml codeowners codeship-services.yml
  codeship-steps.yml conductor.json conventions.md copilot-instructions.md crush.json crush.md
  dagger.json deno.json deno.jsonc devbox.json devbox.lock devenv.local.nix devenv.lock devenv.nix
  devenv.yaml devfile.yaml directory.build.props directory.build.rsp directory.build.targets
  directory.packages.props ellipsis.yaml flake.lock flake.nix fly.toml forge.yaml gemini.md
  global.json gptme.toml gradlew gradlew.bat greptile.json grok.md grumphp.yaml grumphp.yml hie.yaml
  hie.yml hk.local.pkl hk.pkl iflow.md ipython_config.py lefthook.json lefthook.jsonc lefthook.toml
  lefthook.yaml lefthook.yml lerna.json mcp.json microsoft.powershell_profile.ps1 mill.bat millw
  mise.toml mvnw mvnw.cmd mypy.ini netlify.toml nuget.config nx.json omnisharp.json opencode.json
  opencode.jsonc p4config.txt package.json pip.conf pip.ini pnpm-workspace.yaml pnpm-workspace.yml
  prek.toml pylintrc pylintrc.toml pyvenv.cfg qwen.md railway.json railway.toml readthedocs.yml
  render.yaml renovate.json renovate.json5 replit.md replit.nix rulesync.json rulesync.jsonc
  rush.json rust-analyzer.toml rust-project.json rust-toolchain rust-toolchain.toml rusty-hook.toml
  sandbox.config.json sbtx screwdriver.yaml shell.nix shippable.yml sitecustomize.py skill.md
  startup.m terraform.rc user.bazelrc usercustomize.py uv.toml vercel.json warp.md wercker.yml
  yorkie.json zuul.yaml
`);

/** Patterns of file names, in which a star stands for any text. */
export const LIKE = names(`
  *.chat.md *.chatmode.md *.code-workspace *.csproj.user *.fsproj.user *.gitlab-ci.yml *.gocd.yaml
  *.iml *.instructions.md *.ipr *.iws *.mdc *.prompt.md *.rproj *.sublime-project
  *.sublime-workspace *.vbproj.user *.vcxproj.user *.xcworkspace .azure-pipelines* .buckconfig.*
  .clinerules* .commitlintrc* .custom-gcl.* .env* .eslintrc* .golangci.* .goreleaser* .huskyrc*
  .kilocoderules* .lefthook* .lintstagedrc* .mise.*.toml .npmpackagejsonlintrc* .plzconfig*
  .pnpmfile.* .pre-commit-config.* .pre-commit-hooks.* .prettierrc* .release-it* .releaserc*
  .renovaterc* .roorules* .simple-git-hooks.* .stylelintrc* .vault_pass* .vscode-test.* .woodpecker*
  .yarnrc* .zsh_plugins.* azure-pipelines* commitlint.config.* eslint.config.* husky.config.*
  jenkinsfile* jupyter_*_config.py lefthook-local.* lint-staged.config.* mise.*.toml
  prettier.config.* release.config.* simple-git-hooks.* stylelint.config.*
`);

/** Sequences of nested names, in which a star stands for any text. */
export const RUNS = names(`
  .changeset/config.json .clj-kondo/config.edn .clj-kondo/hooks .conda/bin .config/dotnet-tools.json
  .config/fish .config/lefthook.yml .config/mise .config/mise.toml .config/nushell
  .config/powershell .config/replit .config/tmux .env/bin .gradle/config.properties
  .gradle/gradle.properties .gradle/init.d .moon/*.pkl .moon/*.yml .nx/installation .nx/nxw.js
  .pixi/config.toml .pixi/envs .venv/bin .venv/scripts .virtualenv/bin .yarn/plugins .yarn/releases
  .yarn/sdks _opam/bin bin/activate-hermit bin/hermit bin/hermit.hcl cvs/checkin.prog cvs/root
  cvs/update.prog gradle/wrapper mise/conf.d mise/config.*.toml mise/config.toml node_modules/.bin
  node_modules/.hooks project/build.properties properties/launchsettings.json renv/activate.r
  rush/.npmrc tools/bazel tools/bazel.bat vendor/bin venv/bin venv/scripts
`);

/** Dot names at the root of a repository that need no question. */
export const HARMLESS = names(`
  .#* .*.kate-swp .*.swn .*.swo .*.swp .*.swx .*.un~ .agignore .allure .angular .apt_generated
  .assets .astro .asv .attach_pid* .aws-sam .babel-cache .babel.json .bazelignore .benchmark
  .benchmarks .bower-cache .bower-registry .browserslistrc .build .buildinfo .builds-cache
  .byebug_history .bzrignore .cabal-sandbox .cache .cache-loader .cargo-cache .cargo-lock .cargo-ok
  .ccache .ccls-cache .cfignore .chalice-cache .changeset .chroma .clang-format .clang-format-ignore
  .clangd-cache .clippy.toml .clj-kondo .cljfmt.edn .cmake .codespellrc .codspeed .conda
  .containerignore .contentlayer .coursier .cov .coverage .coverage-html .coverage.* .coveragerc
  .cpcache .criterion .crystal-version .cspell.json .cspellcache .cvsignore .cxx .cypress .dart_tool
  .data .db .dbshell .dep .deps .deptry .dialyzer .directory .dmypy.json .docker-cache .dockerignore
  .doctrees .docusaurus .doit.db* .doit.json .dprint.json .ds_store .dub .ebignore .editorconfig
  .eggs .elixir-version .elixir_ls .elm-stuff .empty .ensime_cache .esbuild .eslintcache
  .eslintignore .expert .expo .expo-shared .externalnativebuild .fdignore .flutter-plugins
  .flutter-plugins-dependencies .funcignore .fuse_hidden* .fusebox .gcloudignore .gdb_history
  .git-blame-ignore-revs .gitignore .gitkeep .go-cache .go-version .gocache .godot .golangci-cache
  .gopath .goutputstream-* .gradle .hadolint.yaml .hadolint.yml .hatch .helmignore .hgignore .hie
  .history .htmlcov .hypothesis .iex_history .ignore .import .import_linter .import_linter_cache
  .indwell-* .inline-snapshot .ipynb_checkpoints .irb_history .isort.cfg .istanbul.yml .ivy2
  .java-version .jekyll-cache .jekyll-metadata .jest .jest-* .jest-cache .jsbeautifyrc .jscsignore
  .jshintignore .juliaformatter.toml .jython_cache .keep .konan .kotlin .kotlin-version .ktlint
  .lage .lake .langgraph_api .lexical .libs .lightning_logs .linaria-cache .lldb_history .localized
  .lock-waf* .log .logs .lycheecache .m2 .mailmap .markdownlint.json .markdownlint.jsonc
  .markdownlint.yaml .markdownlint.yml .markdownlintignore .mdlrc .mesonpy-* .metadata .metals
  .mlruns .modules.yaml .mono .moon .mutmut-cache .mypy_cache .netrwhist .next .nextflow
  .nextflow.log* .nfs* .nimcache .ninja_deps .ninja_lock .ninja_log .nitro .node-version
  .node_repl_history .nodemonignore .nojekyll .nomedia .nox .npm .npmignore .nuxt .nvmrc .nx .nyc
  .nyc_output .nycrc .obj .objs .ocamlformat .ocamlformat-ignore .ocp-indent .octave_hist .out-tmp
  .output .package-lock.json .packages .pants.d .parcel-cache .pdepend .pdm-build .pdm-python .perf
  .perl-version .phan .php-cs-fixer.cache .php-version .php_cs.cache .phpcs-cache .phpstan
  .phpunit.cache .phpunit.result.cache .pids .pip-cache .pixi .placeholder .plasmo .playwright
  .ploomber .plt .pnpm-debug.log .pnpm-store .precomp .prettiercache .prettierignore .prof .profraw
  .psalm .psci_modules .pulp-cache .pylint.d .pyre .pyright .pytest-deps .pytest-tmp .pytest_cache
  .pytest_tmp .pytest_tmp* .python_history .pytype .qmake.cache .qmake.stash .quarto .rbuildignore
  .react-router .remix .report .reports .rgignore .rhistory .rollup.cache .ropeproject .rpt2_cache
  .rspack-cache .rspec_status .rts2_cache* .rubocop-http* .rubocop_cache .ruby-version .ruff.toml
  .ruff_cache .run.pid .rush .rustfmt.toml .rustup-cache .sam-cache .sass-cache .scala-build
  .scalafmt.conf .scannerwork .sccache .sconf_temp .sconsign.dblite .scrutinizer .semgrep
  .serverless .shadow-cljs .shellcheckrc .skbuild .slugignore .snakemake .snapshots .solhintignore
  .solid .sonar .spago .spotlight-v100 .sqlfluff .sqlite_history .stack-work .stestr .storage
  .stryker-tmp .style.yapf .stylelintcache .stylelintignore .stylua.toml .svelte-kit .svnignore .swc
  .swift-format .swift-version .swiftformat .syrupy .tanstack .taplo.toml .tarpaulin .temp .temp*
  .tensorboard .terraform .terraform-version .terraform.lock.hcl .terragrunt-cache .test-reports
  .test-results .testmondata .testmondata-* .testrepository .tmp .tmp* .tmp_versions .tox .trace
  .trash* .trunk-cache .tsbuildinfo .turbo .typos.toml .umi .uv .uv-cache .vagrant-cache .vcr
  .velite .venv .vercelignore .vinxi .virtual_documents .virtualenv .vite .vitepress .vitest
  .vitest-attachments .vitest-reports .vscode-upload.json .vscodeignore .vuepress .waf* .wandb .wdio
  .webpack .well-known .wireit .wrangler .wxt .yamlfmt .yamlfmt.yaml .yamlfmt.yml .yamlignore
  .yamllint .yamllint.yaml .yamllint.yml .yapfignore .yarn .yarn-integrity .zig-cache
  .zig-global-cache .zprint.edn .~lock.*
`);

/** The file that makes a folder a Git repository, by its exact name. */
export const BARE = "HEAD";
