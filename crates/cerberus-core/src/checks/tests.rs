use proptest::prelude::*;

use super::action::{Action, Past, Place, Scene, Written};
use super::decide::{Hit, decide, decide_stop};
use super::derive::derive;
use super::reason::reason;
use super::*;

/// A session in `/home/ann/hydra`, on the branch `main`.
#[derive(Default)]
struct Here {
    past: Vec<Past>,
    hook: Option<&'static str>,
}

impl Scene for Here {
    fn place(&self, folder: &str) -> Option<Place> {
        let is_inside =
            !folder.starts_with(['/', '~']) && !folder.starts_with("..") || folder.starts_with("/home/ann/hydra");
        let inside = folder.strip_prefix("/home/ann/hydra").unwrap_or(folder).trim_start_matches('/');
        Some(Place {
            project: ProjectId::of_anchor(if is_inside { b"hydra" } else { b"other" }),
            folder: if is_inside { inside.to_string() } else { String::new() },
            branch: is_inside.then(|| "main".to_string()),
            is_scratch: folder.starts_with("/tmp"),
        })
    }

    fn past(&self) -> Vec<Past> {
        self.past.clone()
    }

    fn git_hook(&self, _: &str) -> Option<String> {
        self.hook.map(str::to_string)
    }
}

fn check(options: &str) -> Check {
    let words = shell_words(options);
    let rule = Rule::parse(&words).unwrap_or_else(|error| panic!("{options}: {error}"));
    let projects = Some(vec![ProjectId::of_anchor(b"hydra")]);
    Check { id: "m-1".into(), sentence: "The rule".into(), level: rule.level_max(), rule, projects }
}

fn shell_words(options: &str) -> Vec<String> {
    crate::shell::commands(options).remove(0).words
}

fn hit(options: &str, line: &str, scene: &Here) -> Option<Hit> {
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
        let file = Written { path: path.to_string(), text: text.to_string(), is_deleted: false };
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
        let scene = Here { past: past.clone(), hook };
        assert_eq!(hit(rule, line, &scene).is_some(), expected, "{past:?} {line}");
    }
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
        let scene = Here { past: past.clone(), hook: None };
        assert_eq!(decide_stop(&checks, &scene).is_some(), expected, "{past:?}");
    }
}

#[test]
fn the_reason_is_a_fact_that_the_model_can_act_on() {
    let mut npm = check("--forbid npm --instead pnpm");
    npm.sentence = "Use pnpm, not npm.".to_string();
    let found = hit("--forbid npm --instead pnpm", "cd web && npm install 'a b'", &Here::default()).unwrap();
    assert_eq!(
        reason(&npm, &found, Level::Block),
        "Not run. Your user's rule (m-1): \"Use pnpm, not npm\". Run: pnpm install 'a b'. If this is wrong, the user can \
         run: cerberus check allow-once m-1"
    );
    assert!(reason(&npm, &found, Level::Remind).contains("the identical call is let through"));
    let lease = "--forbid 'git push --force' --instead 'git push --force-with-lease'";
    let found = hit(lease, "git push -f origin main", &Here::default()).unwrap();
    assert_eq!(found.advice.as_deref(), Some("Run: git push --force-with-lease origin main"));
    let scene = Here { past: vec![edit("a.rs")], hook: None };
    let found = hit("--before 'git commit' --need 'cargo fmt' --need 'cargo test'", "git commit -m x", &scene).unwrap();
    assert_eq!(found.advice.as_deref(), Some("Run first: cargo fmt, then cargo test"));
}

#[test]
fn the_most_severe_check_answers_and_tell_never_does() {
    let with = |options: &str, level| Check { level, ..check(options) };
    let checks = [
        with("--forbid ls", Level::Tell),
        with("--forbid npm", Level::Remind),
        with("--forbid 'npm install'", Level::Block),
    ];
    let decided = |line: &str| {
        let action = Action::Shell { line: line.to_string(), folder: None };
        decide(&checks, &action, &Here::default()).map(|hit| hit.check)
    };
    assert_eq!((decided("ls"), decided("npm test"), decided("npm install")), (None, Some(1), Some(2)));
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

#[test]
fn sentences_give_exactly_the_rules_that_they_state() {
    let mut wrong = Vec::new();
    let mut count = (0, 0);
    for line in IMPERATIVES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (expected, sentence) = line.split_once(" | ").unwrap();
        let derived = derive(sentence).map_or_else(|| "-".to_string(), |rule| rule.to_string());
        count = if expected == "-" { (count.0, count.1 + 1) } else { (count.0 + 1, count.1) };
        if derived != expected.trim() {
            wrong.push(format!("{sentence}\n    {derived}\n    expected {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count.0 + count.1 >= 200 && count.1 >= 100, "{count:?}");
}

proptest! {
    #[test]
    fn any_line_and_any_sentence_is_read(text in prop_oneof![any::<String>(), "[a-z `,.()-]{0,60}", "(never|use|run|git|npm|not|main|commit|to|`|, |\\$\\(| ){0,12}"]) {
        let checks = [check("--forbid npm --instead pnpm"), check("--branch main"), check("--protect gen"), check("--message-max 20"), check("--before 'git push' --need make"), check("--prefix rtk")];
        let scene = Here { past: vec![edit("a.rs")], hook: Some("make") };
        decide(&checks, &Action::Shell { line: text.clone(), folder: Some("web".into()) }, &scene);
        if let Some(rule) = derive(&text) {
            prop_assert_eq!(Rule::parse(&rule.words()), Ok(rule));
        }
    }
}
