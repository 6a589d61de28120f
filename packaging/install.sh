#!/bin/sh
# Installs Cerberus below a prefix, after checking the archive against the release's checksums.
#
#   install.sh [--prefix DIR] [--version X.Y.Z] [--from URL|DIR] [--sha256 HEX]
#   install.sh [--prefix DIR] --uninstall
#
# The prefix is ~/.local; no root is needed. --from is where the archive and SHA256SUMS are. --sha256 is a checksum that
# you got in another way; the archive must have it. --uninstall removes what was installed, and nothing else: run
# `cerberus uninstall` first, which takes the hooks out of your agents' settings. Your data stays in ~/.cerberus.
set -eu

repository=https://github.com/cerberus-memory/cerberus
prefix=${HOME:-}/.local
from=
version=
wanted=
uninstall=

fail() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

# The list of installed files, below the prefix.
files=share/doc/cerberus-memory/installed-files

target() {
  system=$(uname -s)
  machine=$(uname -m)
  case $machine in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
  esac
  case $system-$machine in
    Linux-x86_64 | Linux-aarch64) printf '%s-unknown-linux-musl' "$machine" ;;
    Darwin-x86_64 | Darwin-aarch64) printf '%s-apple-darwin' "$machine" ;;
    *) fail "there is no binary for $system on $machine; build it: cargo install cerberus-memory" ;;
  esac
}

# fetch NAME FILE
fetch() {
  case $from in
    http://* | https://*)
      if command -v curl >/dev/null; then
        curl --fail --silent --show-error --location --proto-redir =https --output "$2" "$from/$1" || fail "cannot download $from/$1"
      elif command -v wget >/dev/null; then
        wget --quiet --output-document="$2" "$from/$1" || fail "cannot download $from/$1"
      else
        fail "curl or wget is needed"
      fi
      ;;
    *) cp "$from/$1" "$2" || fail "cannot read $from/$1" ;;
  esac
}

sha256() {
  if command -v sha256sum >/dev/null; then
    sha256sum <"$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null; then
    shasum -a 256 <"$1" | cut -d ' ' -f 1
  else
    fail "sha256sum or shasum is needed to check the download"
  fi
}

# Removes the listed files, then the folders that became empty.
remove() {
  [ -f "$prefix/$files" ] || fail "nothing was installed below $prefix by this script"
  while IFS= read -r file; do
    case $file in
      /* | *..*) fail "$prefix/$files is damaged" ;;
    esac
    rm -f "$prefix/$file"
  done <"$prefix/$files"
  sed 's:/[^/]*$::' "$prefix/$files" >"$work/folders"
  rm -f "$prefix/$files"
  sort -ru "$work/folders" | while IFS= read -r folder; do
    while [ "$folder" != . ] && rmdir "$prefix/$folder" 2>/dev/null; do
      folder=$(dirname "$folder")
    done
  done
  printf 'Removed Cerberus from %s.\n' "$prefix"
}

install() {
  target=$(target)
  archive=cerberus-$target.tar.gz
  fetch "$archive" "$work/$archive"
  found=$(sha256 "$work/$archive")
  if [ -n "$wanted" ]; then
    [ "$found" = "$wanted" ] || fail "$archive has the checksum $found, not $wanted; nothing was installed"
  fi
  fetch SHA256SUMS "$work/SHA256SUMS"
  listed=$(awk -v name="$archive" '$2 == name || $2 == "*" name { print $1 }' "$work/SHA256SUMS")
  [ -n "$listed" ] || fail "SHA256SUMS does not list $archive; nothing was installed"
  [ "$found" = "$listed" ] || fail "$archive has the checksum $found, but SHA256SUMS says $listed; nothing was installed"

  tar -xzf "$work/$archive" -C "$work"
  tree=$work/cerberus-$target
  "$tree/bin/cerberus" --version >"$work/version" || fail "the program does not run on this machine; nothing was installed"
  (cd "$tree" && find . -type f | sed 's:^\./::' | sort) >"$work/files"
  mkdir -p "$prefix"
  while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    # Renamed into place: a hook that runs meanwhile gets the old program or the new one, never half of one.
    cp -p "$tree/$file" "$prefix/$file.new-$$"
    mv -f "$prefix/$file.new-$$" "$prefix/$file"
  done <"$work/files"
  # What an earlier version had and this one has not.
  if [ -f "$prefix/$files" ]; then
    sort "$prefix/$files" | comm -23 - "$work/files" | while IFS= read -r file; do
      case $file in
        /* | *..*) ;;
        *) rm -f "$prefix/$file" ;;
      esac
    done
  fi
  cp "$work/files" "$prefix/$files"

  printf 'Installed %s in %s.\n' "$(cat "$work/version")" "$prefix/bin"
  case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) printf 'Add it to your PATH: export PATH="%s/bin:%s"\n' "$prefix" "\$PATH" ;;
  esac
  printf 'Next: cerberus install\n'
}

while [ $# -gt 0 ]; do
  case $1 in
    --uninstall) uninstall=1 ;;
    --prefix | --version | --from | --sha256)
      [ $# -gt 1 ] || fail "$1 needs a value"
      case $1 in
        --prefix) prefix=$2 ;;
        --version) version=$2 ;;
        --from) from=${2%/} ;;
        --sha256) wanted=$2 ;;
      esac
      shift
      ;;
    *) fail "unknown argument $1" ;;
  esac
  shift
done
case $prefix in
  /?*) ;;
  *) fail "the prefix must be an absolute path: give --prefix" ;;
esac
if [ -z "$from" ]; then
  from=$repository/releases/latest/download
  [ -z "$version" ] || from=$repository/releases/download/v$version
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
if [ -n "$uninstall" ]; then remove; else install; fi
