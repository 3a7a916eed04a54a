class Indwell < Formula
  desc "Coding agent that lives in the editor's language server"
  homepage "@HOMEPAGE@"
  url "@ADDRESS@/@WHEEL@", using: :nounzip
  version "@VERSION@"
  sha256 "@WHEEL_SHA256@"
  license "MIT"

  depends_on "python@3.13"

  resource "requirements" do
    url "@ADDRESS@/requirements.txt", using: :nounzip
    sha256 "@REQUIREMENTS_SHA256@"
  end

  def install
    system Formula["python@3.13"].opt_bin/"python3.13", "-I", "-m", "venv", libexec
    python = libexec/"bin/python"
    resource("requirements").stage do
      system python, "-I", "-m", "pip", "install", "--require-hashes", "-r", "requirements.txt"
    end
    system python, "-I", "-m", "pip", "install", "--no-deps", "--no-index", buildpath/"@WHEEL@"
    bin.install_symlink libexec/"bin/indwell"
    man1.install_symlink libexec/"share/man/man1/indwell.1"
    bash_completion.install_symlink libexec/"share/bash-completion/completions/indwell"
    fish_completion.install_symlink libexec/"share/fish/vendor_completions.d/indwell.fish"
    zsh_completion.install_symlink libexec/"share/zsh/site-functions/_indwell"
  end

  test do
    assert_match "scripted model", shell_output("#{bin}/indwell run --scripted hello")
  end
end
