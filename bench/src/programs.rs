//! The measured programs: the binaries as they are shipped, or binaries at paths that the user gives.
//!
//! External baselines (node, python3) are looked up, never installed.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Absolute paths: programs run in the scratch folder.
#[derive(Debug)]
pub struct Programs {
    pub cerberus: PathBuf,
    pub floor: PathBuf,
    /// The user's own data to measure on.
    pub data: Option<PathBuf>,
    pub sizes: Sizes,
}

/// The sizes of the growth benchmarks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    #[default]
    Usual,
    Large,
}

impl Programs {
    pub fn find_or_build(
        cerberus: Option<PathBuf>,
        floor: Option<PathBuf>,
        data: Option<PathBuf>,
        sizes: Sizes,
    ) -> Result<Programs> {
        Ok(Programs {
            cerberus: self::cerberus(cerberus)?,
            floor: given_or_built(floor, "cerberus-bench", "floor")?,
            data,
            sizes,
        })
    }

    /// Copies of the programs in this folder, each written in one piece, as installers do. A program that a linker has
    /// just written starts more slowly: the system holds it in smaller pieces, and maps each by itself.
    pub fn installed(&self, folder: &Path) -> Result<Programs> {
        fs::create_dir_all(folder)?;
        let copy = |program: &Path, name: &str| {
            let path = folder.join(name);
            fs::write(&path, fs::read(program)?)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
            anyhow::Ok(path)
        };
        let (cerberus, floor) = (copy(&self.cerberus, "cerberus")?, copy(&self.floor, "floor")?);
        Ok(Programs { cerberus, floor, data: self.data.clone(), sizes: self.sizes })
    }
}

/// The program at this path, or the one that is built now.
pub fn cerberus(given: Option<PathBuf>) -> Result<PathBuf> {
    given_or_built(given, "cerberus-memory", "cerberus")
}

fn given_or_built(given: Option<PathBuf>, package: &str, binary: &str) -> Result<PathBuf> {
    match given {
        Some(path) => path.canonicalize().with_context(|| format!("{} cannot be measured", path.display())),
        None => build(package, binary),
    }
}

/// Builds one static binary as it is shipped. Returns its path.
fn build(package: &str, binary: &str) -> Result<PathBuf> {
    if on_path("musl-gcc").is_none() {
        bail!(
            "musl-gcc is missing, and the static binary's SQLite is compiled with it: install the package musl-tools \
             (apt-get install musl-tools), or give --binary and --floor"
        );
    }
    let target = format!("{}-unknown-linux-musl", env::consts::ARCH);
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--profile", "dist", "--target", &target, "--package", package])
        .args(["--bin", binary, "--message-format", "json-render-diagnostics"])
        // The folder with the workspace's cargo settings.
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{binary} cannot be built for {target}; if the target is missing: rustup target add {target}");
    }
    let said = String::from_utf8_lossy(&output.stdout);
    executable(&said, binary).with_context(|| format!("cargo does not say where it put {binary}"))
}

/// The path of the binary with this name in cargo's messages.
fn executable(messages: &str, binary: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut built = messages.filter(|message| message["target"]["name"] == binary);
    built.find_map(|message| message["executable"].as_str().map(PathBuf::from))
}

pub fn on_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|dir| dir.join(program)).find(|path| path.is_file())
}

/// The interpreter itself, if it is installed: the program on PATH may be a wrapper script.
pub fn interpreter(program: &str, args_that_print_its_path: &[&str]) -> Option<PathBuf> {
    let output = Command::new(on_path(program)?).args(args_that_print_its_path).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    Some(Path::new(said.trim()).to_path_buf()).filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_found_in_what_cargo_says() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"cerberus"},"executable":null}
not json
{"reason":"compiler-artifact","target":{"name":"floor"},"executable":"/t/floor"}
{"reason":"compiler-artifact","target":{"name":"cerberus"},"executable":"/t/cerberus"}
{"reason":"build-finished","success":true}"#;
        assert_eq!(executable(messages, "cerberus"), Some(PathBuf::from("/t/cerberus")));
        assert_eq!(executable(messages, "other"), None);
    }
}
