# shellcheck shell=bash disable=SC2034
# How the program is built, and what every package contains. Sourced by scripts in dev/, from the root of the repository.

# The name in registries; the programs; what a release is built for.
name=cerberus-memory
binaries=(cerberus)
targets=(
  x86_64-unknown-linux-musl
  aarch64-unknown-linux-musl
  x86_64-apple-darwin
  aarch64-apple-darwin
  x86_64-pc-windows-msvc
)
# The oldest macOS that the program asks for.
macos_oldest=11.0
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
# Everything in a package has the time of the commit, so that the same commit gives the same bytes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH

# tool COMMAND CRATE VERSION: installs a program from crates.io into .cache/tools, and puts that on PATH. Without
# optimisation and debug information, because building it takes longer than anything it does here.
tool() {
  export PATH="$PWD/.cache/tools/bin:$PATH"
  command -v "$1" >/dev/null && return
  printf 'installing %s %s\n' "$2" "$3" >&2
  CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --locked --debug --root .cache/tools "$2" --version "$3" >&2
}

# host: the target of this machine, with a C library that is linked in.
host() { rustc --version --verbose | sed -n 's/^host: //p' | sed 's/linux-gnu/linux-musl/'; }

# native FOLDER: as the system's own programs write it; Git Bash writes folders of Windows in another way.
native() { if command -v cygpath >/dev/null; then cygpath --windows "$1"; else printf '%s' "$1"; fi; }

# compile TARGET PROFILE TARGET_DIR [SUBCOMMAND]: prints the folder of the programs. No path of this machine gets into them.
# The subcommand is `build`, or `auditable build`, which also writes down the versions of what is built in.
compile() {
  local target=$1 profile=$2 target_dir=$3 flags='' c_flags='' suffix='' each program subcommand
  read -ra subcommand <<<"${4:-build}"
  for each in "$PWD=/cerberus" "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$target_dir=/target"; do
    each=$(native "${each%=*}")=${each##*=}
    flags+="'--remap-path-prefix=$each', "
    c_flags+=" -ffile-prefix-map=$each"
  done
  case $target in
    *windows*) suffix=.exe c_flags='' ;;
    *-linux-musl) dev/need musl-gcc ;;
    *-apple-darwin) export MACOSX_DEPLOYMENT_TARGET=$macos_oldest ;;
  esac
  if command -v rustup >/dev/null; then rustup target add "$target" >&2; fi
  CFLAGS="${CFLAGS:-}$c_flags" cargo "${subcommand[@]}" --profile "$profile" --locked --target "$target" \
    --target-dir "$target_dir" --package "$name" --config "target.$target.rustflags = [$flags]" >&2
  # The folder of the programs has the name of the profile, except for one.
  profile=${profile/#dev/debug}
  for program in "${binaries[@]}"; do dev/private "$target_dir/$target/$profile/$program$suffix"; done
  printf '%s\n' "$target_dir/$target/$profile"
}

# stage FROM DIR SUFFIX GENERATOR TARGET: puts the tree that every package installs below its prefix into DIR. FROM has the
# programs for the target, GENERATOR those for this machine, which print the completions and the manual pages.
stage() {
  local from=$1 dir=$2 suffix=$3 program=$4/${binaries[0]} command
  [ -f "$program" ] || program=$program$suffix
  rm -rf "$dir"
  mkdir -p "$dir/bin" "$dir/share/man/man1" "$dir/share/doc/$name" "$dir/share/bash-completion/completions" \
    "$dir/share/zsh/site-functions" "$dir/share/fish/vendor_completions.d"
  for command in "${binaries[@]}"; do
    install -m 755 "$from/$command$suffix" "$dir/bin/$command$suffix"
  done
  "$program" completions bash >"$dir/share/bash-completion/completions/cerberus"
  "$program" completions zsh >"$dir/share/zsh/site-functions/_cerberus"
  "$program" completions fish >"$dir/share/fish/vendor_completions.d/cerberus.fish"
  "$program" man >"$dir/share/man/man1/cerberus.1"
  # The page of the program lists the commands that have one.
  sed -n 's/^cerberus\\-\([a-z-]*\)(1)$/\1/p' "$dir/share/man/man1/cerberus.1" | while read -r command; do
    [ "$command" = help ] || "$program" man "$command" >"$dir/share/man/man1/cerberus-$command.1"
  done
  install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$dir/share/doc/$name/"
  node packaging/licenses.js "$name" "$5" >"$dir/share/doc/$name/THIRD-PARTY.txt"
}
