# Build: nix-build -E '(import <nixpkgs> { }).callPackage ./package.nix { }'
# The maintainer replaces lib.fakeHash by the hash that the first build names; it differs by platform.
{ lib, stdenv, fetchurl, python313, cacert, autoPatchelfHook }:

let
  requirements = fetchurl {
    url = "@ADDRESS@/requirements.txt";
    sha256 = "@REQUIREMENTS_SHA256@";
  };
  # The only step with a network: pip checks the hash of each wheel.
  wheels = stdenv.mkDerivation {
    name = "indwell-@VERSION@-wheels";
    nativeBuildInputs = [ python313 python313.pkgs.pip cacert ];
    outputHashMode = "recursive";
    outputHash = lib.fakeHash;
    buildCommand = ''
      pip download --no-cache-dir --only-binary :all: --require-hashes -r ${requirements} -d $out
    '';
  };
in
stdenv.mkDerivation {
  pname = "indwell";
  version = "@VERSION@";
  src = fetchurl {
    url = "@ADDRESS@/@WHEEL@";
    sha256 = "@WHEEL_SHA256@";
  };
  dontUnpack = true;
  nativeBuildInputs = lib.optional stdenv.hostPlatform.isLinux autoPatchelfHook;
  buildInputs = [ stdenv.cc.cc.lib ];
  installPhase = ''
    ${python313}/bin/python -I -m venv $out/venv
    $out/venv/bin/python -I -m pip install --no-index --find-links ${wheels} --require-hashes -r ${requirements}
    cp $src @WHEEL@
    $out/venv/bin/python -I -m pip install --no-deps --no-index ./@WHEEL@
    mkdir $out/bin
    ln -s $out/venv/bin/indwell $out/bin/indwell
    ln -s venv/share $out/share
  '';
  meta = {
    description = "Coding agent that lives in the editor's language server";
    homepage = "@HOMEPAGE@";
    license = lib.licenses.mit;
    mainProgram = "indwell";
  };
}
