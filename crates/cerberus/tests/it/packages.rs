//! What is installed is what was released: `packaging/install.sh`, and the lists that the packages are made from.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::style::workspace;

/// A release with a program that is a script, and a machine to install it on.
struct Release {
    dir: TempDir,
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All files below a folder, relative to it.
fn files(folder: &Path) -> Vec<String> {
    let listed = run(Command::new("find").arg(folder).args(["!", "-type", "d", "-printf", "%P\n"]));
    let mut listed: Vec<String> = text(&listed.stdout).lines().map(str::to_string).collect();
    listed.sort();
    listed
}

impl Release {
    fn new(program: &str, more: &[&str]) -> Release {
        let release = Release { dir: tempfile::tempdir().unwrap() };
        release.make(program, more);
        release
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn top() -> String {
        format!("cerberus-{}-unknown-linux-musl", std::env::consts::ARCH)
    }

    fn archive(&self) -> PathBuf {
        self.path("release").join(format!("{}.tar.gz", Release::top()))
    }

    fn make(&self, program: &str, more: &[&str]) {
        let tree = self.path("trees").join(Release::top());
        let _ = fs::remove_dir_all(&tree);
        for file in more.iter().chain(&["bin/cerberus"]) {
            fs::create_dir_all(tree.join(file).parent().unwrap()).unwrap();
            fs::write(tree.join(file), program).unwrap();
        }
        fs::create_dir_all(tree.join("share/doc/cerberus-memory")).unwrap();
        fs::write(tree.join("share/doc/cerberus-memory/README.md"), "read me").unwrap();
        fs::set_permissions(tree.join("bin/cerberus"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir_all(self.path("release")).unwrap();
        let packed = run(Command::new("tar")
            .arg("-czf")
            .arg(self.archive())
            .arg("-C")
            .arg(self.path("trees"))
            .arg(Release::top()));
        assert!(packed.status.success(), "{packed:?}");
        let sums =
            run(Command::new("sh").args(["-c", "sha256sum *.tar.gz >SHA256SUMS"]).current_dir(self.path("release")));
        assert!(sums.status.success(), "{sums:?}");
        fs::create_dir_all(self.path("home")).unwrap();
    }

    /// Runs the script in an empty environment; the release is the folder, unless `arguments` name another.
    fn install(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("sh");
        command.arg(workspace().join("packaging/install.sh")).args(arguments);
        if !arguments.contains(&"--from") && !arguments.contains(&"--uninstall") {
            command.arg("--from").arg(self.path("release"));
        }
        command.env_clear().env("HOME", self.path("home")).env("PATH", "/usr/bin:/bin");
        run(&mut command)
    }

    fn installed(&self) -> Vec<String> {
        files(&self.path("home"))
    }
}

const PROGRAM: &str = "#!/bin/sh\necho cerberus 0.1.0\n";

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the release is one for Linux")]
fn the_script_installs_replaces_and_removes_exactly_what_was_released() {
    let release = Release::new(PROGRAM, &["share/man/man1/cerberus.1", "share/man/man1/cerberus-old.1"]);
    fs::create_dir_all(release.path("home/.local/bin")).unwrap();
    fs::write(release.path("home/.local/bin/mine"), "").unwrap();
    let output = release.install(&[]);
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stdout).contains("Installed cerberus 0.1.0"), "{output:?}");
    assert_eq!(
        release.installed(),
        [
            ".local/bin/cerberus",
            ".local/bin/mine",
            ".local/share/doc/cerberus-memory/README.md",
            ".local/share/doc/cerberus-memory/installed-files",
            ".local/share/man/man1/cerberus-old.1",
            ".local/share/man/man1/cerberus.1",
        ]
    );

    // A hook that runs the old program keeps its file: the new one is another file in its place.
    let held = fs::File::open(release.path("home/.local/bin/cerberus")).unwrap();
    release.make("#!/bin/sh\necho cerberus 0.2.0\n", &["share/man/man1/cerberus.1"]);
    let output = release.install(&[]);
    assert!(text(&output.stdout).contains("Installed cerberus 0.2.0"), "{output:?}");
    let old: String = std::io::read_to_string(held).unwrap();
    assert_eq!(old, PROGRAM);
    assert!(!release.installed().contains(&".local/share/man/man1/cerberus-old.1".to_string()));

    let output = release.install(&["--uninstall"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(release.installed(), [".local/bin/mine"]);
    assert!(!release.path("home/.local/share").exists(), "empty folders are removed");
    assert!(!release.install(&["--uninstall"]).status.success(), "there is nothing to remove");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the release is one for Linux")]
fn an_archive_that_is_not_what_was_released_is_refused() {
    let release = Release::new(PROGRAM, &[]);
    let whole = fs::read(release.archive()).unwrap();
    let sums = release.path("release/SHA256SUMS");
    let good = fs::read_to_string(&sums).unwrap();
    let refused = |why: &str, arguments: &[&str]| {
        let output = release.install(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{why}: {output:?}");
        assert_eq!(release.installed(), [""; 0], "{why}");
    };
    fs::write(release.archive(), [&whole[..], b"x"].concat()).unwrap();
    refused("but SHA256SUMS says", &[]);
    fs::write(release.archive(), &whole).unwrap();
    fs::write(&sums, good.replace("cerberus-", "other-")).unwrap();
    refused("does not list", &[]);
    fs::write(&sums, "").unwrap();
    refused("does not list", &[]);
    fs::remove_file(&sums).unwrap();
    refused("cannot read", &[]);
    fs::write(&sums, &good).unwrap();
    refused("nothing was installed", &["--sha256", &"0".repeat(64)]);
    // A server that replaces both the archive and the list is noticed by a checksum from elsewhere.
    let known = good.split_whitespace().next().unwrap().to_string();
    release.make("#!/bin/sh\necho evil\n", &[]);
    refused("nothing was installed", &["--sha256", &known]);
    refused("the prefix must be an absolute path", &["--prefix", "here"]);
    refused("unknown argument", &["--fast"]);
    release.make("#!/bin/sh\nexit 1\n", &[]);
    refused("does not run on this machine", &[]);
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "the release is one for Linux")]
fn a_download_is_checked_like_a_file() {
    if !Path::new("/usr/bin/curl").exists() && !Path::new("/usr/bin/wget").exists() {
        return;
    }
    let release = Release::new(PROGRAM, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = release.path("release");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let name = text(&request[..length]).split(' ').nth(1).unwrap().trim_start_matches('/').to_string();
            let (status, body) = match fs::read(folder.join(name)) {
                Ok(body) => ("200 OK", body),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
        }
    });
    let output = release.install(&["--from", &address]);
    assert!(output.status.success(), "{output:?}");
    assert!(release.install(&["--uninstall"]).status.success());
    let whole = fs::read(release.archive()).unwrap();
    fs::write(release.archive(), [b"x", &whole[..]].concat()).unwrap();
    assert!(!release.install(&["--from", &address]).status.success());
    fs::remove_file(release.archive()).unwrap();
    let output = release.install(&["--from", &address]);
    assert!(text(&output.stderr).contains("cannot download"), "{output:?}");
    assert_eq!(release.installed(), [""; 0]);
}

/// The words of a list in `packaging/common.sh`.
fn list(name: &str) -> Vec<String> {
    let common = fs::read_to_string(workspace().join("packaging/common.sh")).unwrap();
    let rest = common.split(&format!("\n{name}=(")).nth(1).unwrap().split(')').next().unwrap();
    rest.split_whitespace().map(str::to_string).collect()
}

#[test]
fn every_package_is_made_for_the_same_targets() {
    let targets = list("targets");
    assert!(targets.len() > 3 && list("binaries").contains(&"cerberus".to_string()), "{targets:?}");
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let npm = read("packaging/npm/make.js");
    let formula = read("packaging/homebrew/cerberus.rb.in");
    let workflow = read(".github/workflows/release.yml");
    for target in &targets {
        assert!(npm.contains(&format!("\"{target}\": [")), "npm: {target}");
        assert!(workflow.contains(&format!("target: {target},")), "workflow: {target}");
        assert_eq!(formula.contains(&format!("@SHA256 {target}@")), !target.contains("windows"), "formula: {target}");
    }
    assert_eq!(workflow.matches("{ target: ").count(), targets.len());
}

/// Folder and package of everything that is in a registry.
fn published() -> Vec<(String, String)> {
    let read = |folder: &str| fs::read_to_string(workspace().join(folder).join("Cargo.toml")).unwrap();
    let names = fs::read_dir(workspace().join("crates")).unwrap().map(|entry| entry.unwrap().file_name());
    let folders = names.map(|name| format!("crates/{}", name.to_str().unwrap()));
    let named = |folder: String| {
        let manifest = read(&folder);
        let name = manifest.split("\nname = \"").nth(1).unwrap().split('"').next().unwrap().to_string();
        (!manifest.contains("\npublish = false")).then_some((folder, name))
    };
    let found: Vec<_> = folders.filter_map(named).collect();
    assert!(found.len() > 10 && found.iter().any(|(_, name)| name == "cerberus-memory"), "{found:?}");
    found
}

/// `dev/version` sets it in all these places.
#[test]
fn the_version_is_the_same_everywhere() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let (root, version) = (read("Cargo.toml"), env!("CARGO_PKG_VERSION"));
    for (folder, name) in published().iter().filter(|(_, name)| name != "cerberus-memory") {
        let wanted = format!("{name} = {{ path = \"{folder}\", version = \"={version}\" }}");
        assert!(root.contains(&wanted), "{wanted}");
    }
    assert!(read("plugin/.claude-plugin/plugin.json").contains(&format!("\"version\": \"{version}\"")));
    let notes = run(Command::new("bash").arg(workspace().join("dev/publish")).arg("notes"));
    assert!(notes.status.success() && text(&notes.stdout).lines().count() > 5, "{notes:?}");
    let documents = ["README.md", "docs/install.md", "packaging/container/Containerfile", "RELEASING.md"];
    for path in documents {
        assert!(!read(path).contains(version), "{path} names the version, which would have to be changed with it");
    }
}

#[test]
fn what_is_rehearsed_is_what_the_page_for_releases_lists() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let (script, page) = (read("dev/rehearse"), read("RELEASING.md"));
    let listed = page.lines().skip_while(|line| *line != "## What the rehearsal goes through");
    let listed: Vec<&str> = listed.filter_map(|line| line.split_once(". ").map(|(_, title)| title)).take(19).collect();
    let called = script.lines().filter_map(|line| line.trim().strip_prefix("step \"")?.strip_suffix('"'));
    let steps = ["crates", "npm", "image"];
    let called: Vec<String> = called
        .flat_map(|title| match title.strip_suffix("$each") {
            Some(begin) => steps.map(|step| format!("{begin}{step}")).to_vec(),
            None => vec![title.to_string()],
        })
        .collect();
    assert_eq!(called, listed);
}

#[test]
fn everything_that_is_missing_is_told_at_once_with_the_line_to_type() {
    let programs = tempfile::tempdir().unwrap();
    for name in ["awk", "bash", "id"] {
        let found = cerberus_testkit::need::program(name, &[]).unwrap();
        std::os::unix::fs::symlink(found, programs.path().join(name)).unwrap();
    }
    let mut command = Command::new("bash");
    let output = run(command.arg(workspace().join("dev/need")).args(["cargo", "tests"]).env("PATH", programs.path()));
    let told = text(&output.stderr);
    assert!(!output.status.success() && told.contains("  cargo (install Rust with rustup)\n"), "{told}");
    for name in ["cc", "curl", "fakeroot", "git", "node", "npm", "openssl", "python3", "ruby", "strace", "valgrind"] {
        assert!(told.contains(&format!("  {name}\n")), "{name}: {told}");
    }
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("to install: sudo apt-get install")).collect();
    assert!(lines.len() == 1 && lines[0].contains(" fakeroot ") && lines[0].contains(" ruby "), "{told}");
}

/// A program that names the folder, the user or the machine that built it is not released.
#[test]
fn a_program_that_says_where_it_was_built_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("program");
    let check = |bytes: &[u8]| {
        fs::write(&program, bytes).unwrap();
        run(Command::new("bash").arg(workspace().join("dev/private")).arg(&program).env("HOME", "/home/ann"))
    };
    assert!(check(b"\x7fELF\0/rustc/1234/library/std.rs\0/cargo/registry/src\0").status.success());
    let own = workspace().join("src").display().to_string();
    for leak in ["/home/ann/x.rs", "/home/ann/.cargo/registry/src", own.as_str()] {
        let output = check(&[b"\x7fELF\0", leak.as_bytes(), b"\0"].concat());
        assert!(!output.status.success() && text(&output.stderr).contains("names /"), "{leak}: {output:?}");
    }
    fs::remove_file(&program).unwrap();
    let missing = run(Command::new("bash").arg(workspace().join("dev/private")).arg(&program));
    assert!(text(&missing.stderr).contains("there is no") && !missing.status.success(), "{missing:?}");
    // So is the build that tests use, which nobody releases.
    let own = run(Command::new("bash").arg(workspace().join("dev/private")).arg(env!("CARGO_BIN_EXE_cerberus")));
    assert!(!own.status.success(), "{own:?}");
}

#[test]
fn the_crates_can_be_published() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    for (folder, name) in published() {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        assert!(
            manifest.contains(&format!("\nname = \"{name}\"\n")) && manifest.contains("\ndescription = \""),
            "{name}"
        );
        for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
            assert_eq!(read(&format!("{folder}/{license}")), read(license), "{name}");
        }
        // What is outside of its folder is not in a registry.
        let depth = folder.split('/').count();
        let sources = crate::style::files("rs")
            .into_iter()
            .filter(|path| path.starts_with(workspace().join(&folder).join("src")));
        for source in sources {
            let below = source.strip_prefix(workspace()).unwrap().components().count() - depth - 1;
            let outside = format!("include_str!(\"{}", "../".repeat(below));
            assert!(!fs::read_to_string(&source).unwrap().contains(&outside), "{}", source.display());
        }
    }
}

#[test]
fn every_direct_dependency_has_its_reason_in_the_documents() {
    let page = fs::read_to_string(workspace().join("docs/dependencies.md")).unwrap();
    let mut missing = Vec::new();
    for (folder, _) in published() {
        let manifest = fs::read_to_string(workspace().join(folder).join("Cargo.toml")).unwrap();
        let mut is_listed = false;
        for line in manifest.lines() {
            if line.starts_with('[') {
                is_listed = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
            }
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            let is_name = is_listed && !name.is_empty() && !name.starts_with(['[', '#', '"']);
            if is_name && !name.starts_with("cerberus-") && !page.contains(&format!("`{name}`")) {
                missing.push(name.to_string());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
    assert!(page.contains("`rusqlite`"), "does this test still see them?");
}
