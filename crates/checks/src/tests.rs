use cerberus_agents::action::{Action, WrittenFile};
use cerberus_record::runs::Toolchain;
use proptest::prelude::*;

use super::decide::{BrokenRule, decide, decide_stop};
use super::derive::derive;
use super::reason::reason;
use super::*;
use crate::scene::{Past, Scene, SceneFolder, Sources};

/// A session in `/home/ann/hydra`, on the branch `main`.
#[derive(Default)]
struct Here {
    past: Vec<Past>,
    hook: Option<&'static str>,
    files: &'static [(&'static str, &'static str)],
}

impl Scene for Here {
    fn place(&self, folder: &str) -> Option<SceneFolder> {
        let is_inside =
            !folder.starts_with(['/', '~']) && !folder.starts_with("..") || folder.starts_with("/home/ann/hydra");
        let inside = folder.strip_prefix("/home/ann/hydra").unwrap_or(folder).trim_start_matches('/');
        Some(SceneFolder {
            project: ProjectId::of_anchor(if is_inside { b"hydra" } else { b"other" }),
            folder: if is_inside { inside.to_string() } else { String::new() },
            branch: is_inside.then(|| "main".to_string()),
            is_scratch: folder.starts_with("/tmp"),
        })
    }

    fn past(&self) -> Vec<Past> {
        self.past.clone()
    }
}

impl Sources for Here {
    fn git_hook(&self, _: &str) -> Option<String> {
        self.hook.map(str::to_string)
    }

    fn file(&self, folder: &str, name: &str) -> Option<String> {
        self.files
            .iter()
            .find(|(path, _)| *path == cerberus_record::shell::joined(folder, name))
            .map(|(_, text)| text.to_string())
    }
}

fn check(options: &str) -> Check {
    let words = shell_words(options);
    let rule = Rule::parse(&words).unwrap_or_else(|error| panic!("{options}: {error}"));
    let projects = Some(vec![ProjectId::of_anchor(b"hydra")]);
    Check { id: "m-1".into(), sentence: "The rule".into(), level: rule.level_max(), rule, projects }
}

fn shell_words(options: &str) -> Vec<String> {
    cerberus_record::shell::commands(options).remove(0).words
}

fn hit(options: &str, line: &str, scene: &Here) -> Option<BrokenRule> {
    decide(&[check(options)], &Action::Shell { line: line.to_string(), folder: None }, scene)
}

fn is_hit(options: &str, line: &str) -> bool {
    hit(options, line, &Here::default()).is_some()
}

/// Ways to run `npm install` although `npm` is forbidden: whether each is caught.
const BYPASSES: [(&str, bool); 47] = [
    ("npm install", true),
    ("  npm   install", true),
    ("/usr/local/bin/npm install", true),
    ("./node_modules/.bin/npm install", true),
    ("\\npm install", true),
    ("'npm' install", true),
    ("n\"p\"m install", true),
    ("$'npm' install", true),
    ("FOO=bar npm install", true),
    ("env FOO=bar npm install", true),
    ("env -i PATH=/bin npm install", true),
    ("sudo npm install", true),
    ("sudo -u bob -E npm install", true),
    ("doas npm install", true),
    ("command npm install", true),
    ("exec npm install", true),
    ("nohup npm install &", true),
    ("time npm install", true),
    ("nice -n 5 npm install", true),
    ("timeout -k 5 60 npm install", true),
    ("stdbuf -oL npm install", true),
    ("xargs -n 1 npm install < packages", true),
    ("echo x | xargs -I {} npm install {}", true),
    ("find . -name package.json -execdir npm install \\;", true),
    ("cd web && npm install", true),
    ("true; npm install", true),
    ("false || npm install", true),
    ("(npm install)", true),
    ("{ npm install; }", true),
    ("if true; then npm install; fi", true),
    ("for d in a b; do npm install; done", true),
    ("f() { npm install; }; f", true),
    ("echo $(npm install)", true),
    ("echo `npm install`", true),
    ("cat <(npm install)", true),
    ("sh -c 'npm install'", true),
    ("sudo bash -lc \"cd web; npm install\"", true),
    ("eval npm install", true),
    ("bash <<EOF\nnpm install\nEOF", true),
    ("P=npm; $P install", true),
    ("C='npm install'; $C", true),
    // Not caught: what is run is not in the words of the line.
    ("echo npm install | sh", false),
    ("echo bnBtIGluc3RhbGw= | base64 -d | sh", false),
    ("alias n=npm; n install", false),
    ("./setup.sh", false),
    ("python3 -c \"import os; os.system('npm install')\"", false),
    ("cd $(mktemp -d) && npm install", false),
];

#[test]
fn bypass_forms_are_caught_or_known_not_to_be() {
    for (line, is_caught) in BYPASSES {
        assert_eq!(is_hit("--forbid npm", line), is_caught, "{line}");
    }
}

#[test]
fn data_and_other_machines_break_nothing() {
    for line in [
        "echo 'npm install'",
        "git commit -m 'npm install'",
        "grep -rn npm .",
        "cat > notes.md <<EOF\nnpm install\nEOF",
        "ssh host npm install",
        "ssh host 'sh -c \"npm install\"'",
        "ssh host <<EOF\nnpm install\nEOF",
        "docker exec web sh -c 'npm install'",
        "command -v npm",
        "which npm",
        "npm --version",
        "npm help",
        "pnpm install",
        "npm-check",
        "ls npm",
        "# npm install",
        "cd /tmp/x && npm install",
        "git -C ../other status",
        "",
    ] {
        assert!(!is_hit("--forbid npm", line), "{line}");
    }
}

#[test]
fn rules_about_commands_see_words_and_flags() {
    let force = "--forbid 'git push --force'";
    for (options, line, expected) in [
        (force, "git push --force", true),
        (force, "git push -f origin main", true),
        (force, "git -C sub push origin main --force", true),
        (force, "git -c a=b push -uf origin main", true),
        (force, "git push origin +main", true),
        (force, "git push --force-with-lease", false),
        (force, "git push --force-if-includes --force-with-lease", false),
        (force, "git push origin main", false),
        (force, "git commit -m 'git push --force'", false),
        (force, "git commit -m --force", false),
        (force, "git fetch --force", false),
        ("--forbid 'git commit --no-verify'", "git commit -nm x", true),
        ("--forbid 'git commit --no-verify'", "git commit --no-verif -m x", true),
        ("--forbid 'git commit --no-verify'", "git commit -m -n", false),
        ("--forbid 'git commit --no-verify'", "git commit -mno", false),
        ("--forbid 'rm -rf'", "rm -fr build", true),
        ("--forbid 'rm -rf'", "rm -r --force build", true),
        ("--forbid 'rm -rf'", "rm -r build", false),
        ("--forbid 'git add -A'", "git add --all", true),
        ("--forbid 'git add .'", "git add .", true),
        ("--forbid 'git add .'", "git add ./src", false),
        ("--forbid 'npm install'", "npm --prefix web install x", true),
        ("--forbid 'npm install'", "npm run install", false),
        ("--forbid pytest", "python -m pytest -q", true),
        ("--forbid pytest", "uv run pytest", false),
        ("--forbid sudo", "sudo ls", true),
        ("--forbid sudo", "ssh h sudo ls", false),
        ("--forbid 'cargo test'", "cargo +nightly test", true),
        ("--forbid ./gradlew", "./gradlew build", true),
        ("--forbid grep --instead rg", "grep -rn x src", true),
        ("--forbid grep --instead rg", "cargo test | grep x", false),
        ("--forbid npm --forbid yarn", "yarn add x", true),
        ("--prefix 'uv run' --on pytest", "pytest -q", true),
        ("--prefix 'uv run' --on pytest", "timeout 60 pytest", true),
        ("--prefix 'uv run' --on pytest", "uv run pytest", false),
        ("--prefix 'uv run' --on pytest", "uv run python -m pytest", false),
        ("--prefix rtk", "git status", true),
        ("--prefix rtk", "rtk git status | head", false),
        ("--prefix rtk", "cd x && rtk ls", false),
    ] {
        assert_eq!(is_hit(options, line), expected, "{options}: {line}");
    }
}

#[test]
fn forms_that_do_not_do_what_a_rule_is_about_break_nothing() {
    let (stash, all, everything) = ("--forbid 'git stash'", "--forbid 'git add -A'", "--forbid 'git add .'");
    let (force, pnpm) = ("--forbid 'git push --force'", "--forbid npm --instead pnpm");
    for (options, line, expected) in [
        (stash, "git stash", true),
        (stash, "git stash pop", true),
        (stash, "git stash push -m list", true),
        (stash, "git stash list", false),
        (stash, "git -C web stash list 2>/dev/null", false),
        (stash, "git stash show -p", false),
        (stash, "git stash --help", false),
        ("--forbid 'git stash list'", "git stash list", true),
        ("--forbid git --instead jj", "git stash list", true),
        ("--forbid 'git branch'", "git branch topic", true),
        ("--forbid 'git branch'", "git branch -D topic", true),
        ("--forbid 'git branch'", "git branch --list 'a*'", false),
        ("--forbid 'git branch'", "git branch -avv", false),
        ("--forbid 'git branch --list'", "git branch --list", true),
        ("--forbid 'git worktree'", "git worktree add ../x", true),
        ("--forbid 'git worktree'", "git worktree list", false),
        ("--forbid 'git remote'", "git remote -v", false),
        ("--forbid 'git remote'", "git remote add x y", true),
        ("--forbid 'git tag'", "git tag -l", false),
        ("--forbid 'git tag'", "git tag v1", true),
        ("--forbid 'git config'", "git config --get user.name", false),
        ("--forbid 'git config'", "git config user.name Ann", true),
        (all, "git add -A", true),
        (all, "git add -A .", true),
        (all, "git add --all :/", true),
        (all, "git add -A --dry-run", false),
        (all, "git add -An", false),
        (all, "git add -A src/core", false),
        (all, "git add -A -- src", false),
        (all, "git add -A --renormalize", false),
        (everything, "git add .", true),
        (everything, "git add -v .", true),
        (everything, "git add --renormalize .", false),
        (everything, "git add -u .", false),
        (everything, "git add -N .", false),
        ("--forbid 'git add src'", "git add src", true),
        ("--forbid 'git add'", "git add src", true),
        ("--forbid 'git add'", "git add -u", true),
        (force, "git push --force --dry-run", false),
        (force, "git push -fn", false),
        ("--forbid 'git commit --no-verify'", "git commit -nm x", true),
        ("--forbid 'git clean -fd'", "git clean -fdn", false),
        ("--forbid 'git clean -n'", "git clean -n", true),
        ("--forbid 'npm publish'", "npm publish --dry-run", false),
        ("--forbid 'kubectl apply'", "kubectl apply --dry-run=client -f x", false),
        ("--forbid 'kubectl apply'", "kubectl apply --dry-run=none -f x", true),
        (pnpm, "npm install --dry-run", true),
        (pnpm, "npm list -g entire", false),
        (pnpm, "npm list", true),
        (pnpm, "npm install -g x", true),
        ("--forbid npm", "npm list -g entire", true),
        ("--forbid pip --instead uv", "pip show entire", false),
        ("--forbid pip --instead uv", "pip install entire", true),
        ("--forbid npm", "mise exec -- npm install", true),
        ("--forbid npm", "mise x node@22 -- npm install", true),
        ("--forbid npm", "direnv exec . npm install", true),
        ("--forbid npm", "nix develop -c npm install", true),
        ("--forbid npm", "rtk npm install", true),
        ("--forbid npm", "mise install npm", false),
    ] {
        assert_eq!(is_hit(options, line), expected, "{options}: {line}");
    }
}

#[test]
fn rules_about_files_branches_and_messages() {
    let (generated, secret) = ("--protect 'gen/**'", "--protect .env --only commit");
    let (main, starts) = ("--branch main", "--message-start feat --message-start fix");
    for (options, line, expected) in [
        (generated, "echo x > gen/a.rs", true),
        (generated, "cat gen/a.rs > out", false),
        (generated, "cat < gen/a.rs", false),
        (generated, "sed -i s/a/b/ gen/a.rs", true),
        (generated, "sed s/a/b/ gen/a.rs", false),
        (generated, "cd gen && rm a.rs", true),
        (generated, "rm -rf gen", true),
        (generated, "rm -rf other/gen", false),
        ("--protect 'gen/api/**'", "rm -rf gen", true),
        ("--protect 'gen/api/**'", "rm -rf ge", false),
        ("--protect 'gen/api/**'", "rm -rf gen/other", false),
        ("--protect 'gen/api/**'", "touch gen", false),
        (generated, "mv gen/a.rs b.rs", true),
        (generated, "cp gen/a.rs b.rs", false),
        (generated, "cp b.rs gen/", true),
        (generated, "git add gen/a.rs", false),
        (generated, "tee gen/x < y", true),
        (generated, "find gen -name '*.tmp' -delete", true),
        (generated, "echo x > /tmp/gen/a", false),
        (secret, "git add .env", true),
        (secret, "git add -f web/.env", true),
        (secret, "echo A=1 >> .env", false),
        (main, "git commit -m x", true),
        (main, "git commit -am x --dry-run", false),
        (main, "git checkout -b topic && git commit -m x", false),
        (main, "git switch -c topic; git commit -m x; git push -u origin topic", false),
        (main, "git checkout -- src && git commit -m x", true),
        (main, "git checkout . && git commit -m x", true),
        (main, "git checkout a.rs && git commit -m x", true),
        (main, "git checkout release/1.2 && git commit -m x", false),
        (main, "git checkout -t origin/main && git commit -m x", true),
        (main, "git push", true),
        (main, "git push origin topic", false),
        (main, "git push origin HEAD:main", true),
        (main, "git push origin HEAD", true),
        (main, "git push --tags", false),
        (main, "git push origin :main", true),
        ("--branch main --only push", "git commit -m x", false),
        ("--branch main --only commit", "git push", false),
        (main, "cd /tmp/x && git init && git commit -m x", false),
        (main, "mkdir t && cd t && git init -q && git commit -m x", false),
        (main, "git clone u/r.git && cd r && git commit -m x", false),
        (main, "cd \"$(git rev-parse --show-toplevel)\" && git commit -m x", true),
        (starts, "git commit -m 'feat: x'", false),
        (starts, "git commit -m 'feat(ui)!: x'", false),
        (starts, "git commit -m 'feature: x'", true),
        (starts, "git commit -m 'Add x'", true),
        (starts, "git commit -m \"$(cat <<'EOF'\nfix: y\n\nbody\nEOF\n)\"", false),
        (starts, "git commit -m \"$(cat <<'EOF'\nAdd y\nEOF\n)\"", true),
        (starts, "git commit -m \"$MESSAGE\"", false),
        (starts, "git commit -m \"$(cat <<'EOF'\n…\nEOF\n)\"", false),
        (starts, "git commit -m 'Add x\n…\nmore'", true),
        (starts, "git commit -m 'fe\n…\nmore'", false),
        (starts, "git commit -m 'feature\n…\nmore'", true),
        (starts, "git commit -m 'feat\n…\nmore'", false),
        (starts, "git commit -m 'fe\n\n…\nmore'", true),
        ("--message-start 'AB-#'", "git commit -m 'AB-\n…'", false),
        ("--message-start 'AB-#'", "git commit -m 'AC-\n…'", true),
        ("--message-max 5", "git commit -m 'Short\n…\n'", false),
        ("--message-max 5", "git commit -m 'Longer\n…\n'", true),
        ("--message-forbid wip", "git commit -m 'A\n\nwip\n…\n'", true),
        ("--message-forbid wip", "git commit -m 'A\n…\nwip'", false),
        (starts, "git commit -m 'Add x' --dry-run", false),
        ("--message-max 5", "git commit --dry-run -m 'Longer'", false),
        (starts, "git commit", false),
        (starts, "git commit --amend --no-edit", false),
        (starts, "cd web && GIT_A=b git commit -m 'Add'", true),
        ("--message-start 'AB-#'", "git commit -m 'AB-12 x'", false),
        ("--message-start 'AB-#'", "git commit -m 'AB- x'", true),
        ("--message-max 20", "git commit -m 'A subject of more than twenty'", true),
        ("--message-max 20", "git commit -m 'Short' -m 'A body of more than twenty characters'", false),
        ("--message-forbid Co-Authored-By", "git commit -m x -m 'co-authored-by: y'", true),
        ("--message-forbid Co-Authored-By", "git log --grep Co-Authored-By", false),
    ] {
        assert_eq!(is_hit(options, line), expected, "{options}: {line}");
    }
}

#[test]
fn written_files_are_seen_with_their_text() {
    let writes = |options: &str, path: &str, text: &str| {
        let file = WrittenFile { path: path.to_string(), text: text.to_string(), is_deleted: false };
        decide(&[check(options)], &Action::Write(vec![file]), &Here::default()).is_some()
    };
    assert!(writes("--protect 'gen/**'", "/home/ann/hydra/gen/a.rs", ""));
    assert!(!writes("--protect 'gen/**'", "/home/ann/hydra/src/gen.rs", ""));
    assert!(!writes("--protect 'gen/**'", "/tmp/gen/a.rs", ""));
    assert!(!writes("--protect 'gen/**' --only delete", "gen/a.rs", ""));
    assert!(writes("--text console.log", "a.ts", "console.log(1)"));
    assert!(!writes("--text console.log", "a.ts", "log(1)"));
    assert!(!writes("--text console.log --in '*.ts'", "a.md", "console.log(1)"));
    assert!(!writes("--forbid npm", "a.ts", "npm install"));
}

fn edit(path: &str) -> Past {
    Past::Edit(path.to_string())
}

fn run(line: &str) -> Past {
    Past::Run(line.to_string())
}

#[test]
fn an_order_needs_runs_after_the_last_edit() {
    let rule = "--before 'git commit' --need 'cargo test'";
    for (past, line, hook, expected) in [
        (vec![edit("a.rs")], "git commit -m x", None, true),
        (vec![edit("a.rs"), run("cargo test -q")], "git commit -m x", None, false),
        (vec![run("cargo test"), edit("a.rs")], "git commit -m x", None, true),
        (vec![edit("a.rs"), run("cd x && cargo test | tail"), edit("README.md")], "git commit -m x", None, false),
        (vec![edit("/elsewhere/a.rs")], "git commit -m x", None, false),
        (vec![edit("C:\\Temp\\a.rs")], "git commit -m x", None, false),
        (vec![edit("c:/Temp/a.rs")], "git commit -m x", None, false),
        (vec![edit("\\\\host\\a.rs")], "git commit -m x", None, false),
        (vec![edit("~/a.rs")], "git commit -m x", None, false),
        (vec![edit(".git/hooks/commit-msg")], "git commit -m x", None, false),
        (vec![edit(".github/a.yml")], "git commit -m x", None, true),
        (vec![edit("a.rs"), run("mise exec -- cargo test")], "git commit -m x", None, false),
        (vec![edit("a.rs"), run("make test"), Past::Passed(Toolchain::Rust)], "git commit -m x", None, false),
        (vec![edit("a.rs"), run("make test"), Past::Passed(Toolchain::Go)], "git commit -m x", None, true),
        (vec![Past::Passed(Toolchain::Rust), edit("a.rs")], "git commit -m x", None, true),
        (vec![edit("a.rs"), run("make test")], "git commit -m x", None, true),
        (vec![], "git commit -m x", None, false),
        (vec![edit("a.rs")], "cargo test && git commit -m x", None, false),
        (vec![edit("a.rs")], "git commit -m x && cargo test", None, true),
        (vec![edit("a.rs")], "git status", None, false),
        (vec![edit("a.rs")], "git commit --dry-run", None, false),
        (vec![edit("a.rs")], "git commit -m x", Some("#!/bin/sh\nset -e\ncargo test --all\n"), false),
        (vec![edit("a.rs")], "git commit -nm x", Some("cargo test"), true),
        (vec![edit("a.rs"), run("echo cargo test")], "git commit -m x", None, true),
        (vec![edit("a.rs"), run("ssh h cargo test")], "git commit -m x", None, true),
    ] {
        let scene = Here { past: past.clone(), hook, files: &[] };
        assert_eq!(hit(rule, line, &scene).is_some(), expected, "{past:?} {line}");
    }
}

#[test]
fn a_task_of_the_project_counts_as_what_it_runs() {
    let files = &[
        ("Makefile", "test: lint\n\tcargo test --all\nlint:\n\tcargo clippy\nloop: loop\n"),
        ("mise.toml", "[tasks.check]\ndepends = [\"ci\"]\n[tasks.ci]\nrun = \"make test\"\n"),
        ("web/package.json", "{\"scripts\": {\"test\": \"vitest run\", \"all\": \"npm run test && cargo test\"}}"),
        ("justfile", "default:\n  cargo build\n"),
    ];
    let rule = "--before 'git commit' --need 'cargo test'";
    for (ran, is_enough) in [
        ("make test", true),
        ("mise run check", true),
        ("cd web && pnpm all", true),
        ("make lint", false),
        ("make loop", false),
        ("just", false),
        ("npm run all", false),
        ("cd web && npm test", false),
    ] {
        let commit = "git commit -m x";
        let scene = Here { past: vec![edit("a.rs"), run(ran)], hook: None, files };
        assert_eq!(hit(rule, commit, &scene).is_none(), is_enough, "{ran}");
        let scene = Here { past: vec![edit("a.rs")], hook: None, files };
        assert_eq!(hit(rule, &format!("{ran} && {commit}"), &scene).is_none(), is_enough, "{ran}");
        let scene = Here { past: vec![edit("a.rs")], hook: Some("#!/bin/sh\nmise run check"), files };
        assert!(hit(rule, commit, &scene).is_none(), "{ran}");
        let scene = Here { past: vec![Past::Prompt, edit("a.rs"), run(ran)], hook: None, files };
        assert_eq!(decide_stop(&[check("--before stop --need 'cargo test'")], &scene).is_none(), is_enough, "{ran}");
    }
    let scene = Here { past: vec![edit("a.rs"), run("npm run test")], ..Here::default() };
    assert!(hit("--before 'git commit' --need 'npm test'", "git commit -m x", &scene).is_none());
}

#[test]
fn a_stop_needs_runs_in_turns_with_edits_that_nobody_interrupted() {
    let checks = [check("--before stop --need 'cargo test'")];
    for (past, expected) in [
        (vec![Past::Prompt, edit("a.rs")], true),
        (vec![Past::Prompt, edit("a.rs"), run("cargo test")], false),
        (vec![Past::Prompt, run("cargo test"), edit("a.rs")], true),
        (vec![Past::Prompt, edit("notes.md")], false),
        (vec![edit("a.rs"), Past::Prompt, run("ls")], false),
        (vec![Past::Prompt, edit("a.rs"), Past::Interrupted], false),
        (vec![], false),
    ] {
        let scene = Here { past: past.clone(), ..Here::default() };
        assert_eq!(decide_stop(&checks, &scene).is_some(), expected, "{past:?}");
    }
}

#[test]
fn the_reason_is_a_fact_that_the_model_can_act_on() {
    let mut npm = check("--forbid npm --instead pnpm");
    npm.sentence = "Use pnpm, not npm.".to_string();
    let found = hit("--forbid npm --instead pnpm", "cd web && npm install 'a b'", &Here::default()).unwrap();
    assert_eq!(
        reason(&npm, &found, CheckLevel::Block),
        "Not run. Your user's rule (m-1): \"Use pnpm, not npm\". Run: pnpm install 'a b'. If this is wrong, the user can \
         run: cerberus check allow-once m-1"
    );
    assert!(reason(&npm, &found, CheckLevel::Remind).contains("the identical call is let through"));
    let (starts, max) = ("--message-start feat", "--message-max 5");
    for (options, line, expected) in [
        (starts, "git commit -m 'Add x'", "The commit message is \"Add x\". Begin the message with one of: feat."),
        (max, "git commit -m Longer", "The subject has 6 characters. Use at most 5 characters in the first line."),
        ("--message-forbid wip", "git commit -m WIP", "The commit message contains \"wip\"."),
        ("--branch main", "git push", "This is about git push on main. Use another branch than main."),
    ] {
        let found = hit(options, line, &Here::default()).unwrap();
        let said = reason(&check(options), &found, CheckLevel::Block);
        assert!(said.starts_with(&format!("Not run. Your user's rule (m-1): \"The rule\". {expected}")), "{said}");
    }
    let lease = "--forbid 'git push --force' --instead 'git push --force-with-lease'";
    let found = hit(lease, "git push -f origin main", &Here::default()).unwrap();
    assert_eq!(found.advice.as_deref(), Some("Run: git push --force-with-lease origin main"));
    let scene = Here { past: vec![edit("a.rs")], ..Here::default() };
    let found = hit("--before 'git commit' --need 'cargo fmt' --need 'cargo test'", "git commit -m x", &scene).unwrap();
    assert_eq!(found.advice.as_deref(), Some("Run first: cargo fmt, then cargo test"));
}

#[test]
fn the_most_severe_check_answers_and_tell_never_does() {
    let with = |options: &str, level| Check { level, ..check(options) };
    let checks = [
        with("--forbid ls", CheckLevel::Tell),
        with("--forbid npm", CheckLevel::Remind),
        with("--forbid 'npm install'", CheckLevel::Block),
    ];
    let decided = |line: &str| {
        let action = Action::Shell { line: line.to_string(), folder: None };
        decide(&checks, &action, &Here::default()).map(|hit| hit.check)
    };
    assert_eq!((decided("ls"), decided("npm test"), decided("npm install")), (None, Some(1), Some(2)));
    let scene = Here { past: vec![Past::Prompt, edit("a.rs")], ..Here::default() };
    let stop = |level| decide_stop(&[with("--before stop --need 'cargo test'", level)], &scene).is_some();
    assert_eq!(CheckLevel::ALL.map(stop), [false, true, true, true]);
    assert_eq!(
        (check("--text x").rule.level_max(), check("--forbid x").rule.level_max()),
        (CheckLevel::Remind, CheckLevel::Block)
    );
}

#[test]
fn a_rule_everywhere_leaves_temporary_folders_alone() {
    let everywhere = Check { projects: None, ..check("--branch main") };
    let decided = |line: &str| {
        let action = Action::Shell { line: line.to_string(), folder: None };
        decide(std::slice::from_ref(&everywhere), &action, &Here::default()).is_some()
    };
    assert!(decided("git commit -m x"));
    assert!(!decided("cd /tmp/x && git push origin main"));
    assert!(decided("cd ../other && git push origin main"));
}

#[test]
fn rules_are_read_back_from_their_own_words() {
    for options in [
        "--forbid npm --forbid yarn --instead pnpm",
        "--prefix 'uv run' --on pytest",
        "--protect 'gen/**' --only edit",
        "--branch main --only push",
        "--before 'git commit' --need 'cargo test' --need 'cargo fmt'",
        "--before stop --need 'cargo test'",
        "--message-forbid x --message-start feat --message-max 72",
        "--text console.log --in '*.ts'",
    ] {
        let rule = check(options).rule;
        assert_eq!(rule.to_string(), options);
        assert_eq!(Rule::parse(&rule.words()), Ok(rule.clone()));
    }
    for (options, error) in [
        ("--forbid", "--forbid needs a value"),
        ("--forbid 'a; b'", "\"a; b\" is not one simple command"),
        ("--forbid '$X'", "\"$X\" is not one simple command"),
        ("--frobid x", "there is no option --frobid"),
        ("--forbid a --protect b", "--protect does not belong to this kind of rule"),
        ("--before x", "--before needs at least one --need"),
        ("--branch main --only edit", "--only is commit or push"),
        ("--protect '**'", "\"**\" matches nothing or everything; name a file or folder"),
        ("--message-max many", "\"many\" is not a number of characters"),
    ] {
        assert_eq!(Rule::parse(&shell_words(options)).unwrap_err().to_string(), error, "{options}");
    }
    assert_eq!(Rule::parse::<&str>(&[]), Err(RuleError::NotOne));
}

/// `OPTIONS | SENTENCE`, or `- | SENTENCE` if nothing may be derived.
const IMPERATIVES: &str = include_str!("derive/imperatives.txt");

/// The same, with sentences from public guides.
const GUIDES: &str = include_str!("derive/guides.txt");

#[test]
fn sentences_give_exactly_the_rules_that_they_state() {
    let mut wrong = Vec::new();
    for table in [IMPERATIVES, GUIDES] {
        let mut count = (0, 0);
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (expected, sentence) = line.split_once(" | ").unwrap();
            let derived = derive(sentence).map_or_else(|| "-".to_string(), |rule| rule.to_string());
            count = if expected == "-" { (count.0, count.1 + 1) } else { (count.0 + 1, count.1) };
            if derived != expected.trim() {
                wrong.push(format!("{sentence}\n    {derived}\n    expected {expected}"));
            }
        }
        assert!(count.0 + count.1 >= 200 && count.1 >= 100, "{count:?}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

proptest! {
    #[test]
    fn any_line_and_any_sentence_is_read(text in prop_oneof![any::<String>(), "[a-z `,.()-]{0,60}", "(never|use|run|git|npm|not|main|commit|to|`|, |\\$\\(| ){0,12}"]) {
        let checks = [check("--forbid npm --instead pnpm"), check("--branch main"), check("--protect gen"), check("--message-max 20"), check("--before 'git push' --need make"), check("--prefix rtk")];
        let scene = Here { past: vec![edit("a.rs")], hook: Some("make"), files: &[] };
        decide(&checks, &Action::Shell { line: text.clone(), folder: Some("web".into()) }, &scene);
        if let Some(rule) = derive(&text) {
            prop_assert_eq!(Rule::parse(&rule.words()), Ok(rule));
        }
    }
}
