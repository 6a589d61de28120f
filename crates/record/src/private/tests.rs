use super::*;
use crate::clean::BUILT_IN;
use crate::event::{FileTouch, Outcome, SeedCodes, Task, TaskState, Touch};

fn clean(text: &str) -> Clean<'_> {
    BUILT_IN.clean(text, Keep::PROMPT)
}

fn privacy_rules(paths: &[&str], projects: &[&str]) -> PrivacyRules {
    let owned = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    PrivacyRules::read(&owned(paths), &owned(projects), Some("/home/me")).unwrap()
}

fn touch(path: &str) -> FileTouch<'_> {
    FileTouch { path: clean(path), how: Touch::Edited, lines: Vec::new() }
}

#[test]
fn every_built_in_pattern_is_found_in_any_case() {
    let paths = [
        "a/.Env.local",
        "prod.PEM",
        "tls/a.Key",
        "a.p12",
        "a.PFX",
        "b/a.kdbx",
        "ID_rsa.old",
        "x/Id_Ed25519.pub",
        ".netRC",
        "me/.SSH/config",
        ".gnupg/a",
        ".AWS/credentials",
        "a/SECRETS/b",
    ];
    let included = PATHS.iter().filter(|(_, effect)| *effect == PatternEffect::Include).count();
    assert_eq!((paths.len(), SPELLED.len()), (included, included));
    for path in paths {
        assert!(PrivacyRules::default().is_private(path), "{path}");
    }
}

#[test]
fn the_last_pattern_that_matches_decides() {
    let plain = PrivacyRules::default();
    for path in [".env", "a/.env.local", "certs/prod.pem", "tls/a.key", "home/.ssh/id_rsa", "/x/secrets/a/b.yaml"] {
        assert!(plain.is_private(path), "{path}");
    }
    for path in ["src/env.rs", "src/secrets.rs", "keys.rs", "README.md", "environment/.config"] {
        assert!(!plain.is_private(path), "{path}");
    }
    for template in [".env.example", "web/.env.sample", ".env.template"] {
        assert!(!plain.is_private(template), "{template}");
    }
    for path in [".env.example.local", "secrets/.env.example", ".env.production"] {
        assert!(plain.is_private(path), "{path}");
    }
    assert!(privacy_rules(&[".env*"], &[]).is_private(".env.example"), "who asks for it has it");
    let own = privacy_rules(&["*.csv", "!src/secrets/**", "!.env.test", "src/secrets/real.rs"], &["~/client-*"]);
    for path in ["a.csv", ".env", "src/secrets/real.rs", "/home/me/client-x/a.rs"] {
        assert!(own.is_private(path), "{path}");
    }
    for path in ["src/secrets/mod.rs", ".env.test", "/home/me/other/a.rs", "client-x/a.rs"] {
        assert!(!own.is_private(path), "{path}");
    }
    assert!(own.is_private_project("/home/me/client-x") && own.is_private_project("/home/me/client-x/deep"));
    assert!(!own.is_private_project("/home/me") && !own.is_private_project("/home/me/open"));
    assert!(PrivacyRules::read(&[], &["work".to_string()], None).is_err());
    assert!(PrivacyRules::read(&["".to_string()], &[], None).is_err());
}

#[test]
fn nothing_of_a_private_file_is_kept() {
    let hide = |event: &Event| PrivacyRules::default().hide(&BUILT_IN, event).map(|event| format!("{event:?}"));
    let edit = ToolUse {
        tool: clean("Edit"),
        files: vec![touch(".env.local")],
        names: vec![clean("STRIPE")],
        error: Some(clean("STRIPE=1 is wrong")),
        ..ToolUse::default()
    };
    assert_eq!(PrivacyRules::default().hide(&BUILT_IN, &Event::Tool(edit.clone())), Some(Event::Pulse));
    let mixed = ToolUse { files: vec![touch("a.rs"), touch("tls/x.key")], ..edit };
    let Some(Event::Tool(kept)) = PrivacyRules::default().hide(&BUILT_IN, &Event::Tool(mixed)) else {
        panic!("still a tool")
    };
    assert_eq!(kept.files, [touch("a.rs")]);
    assert!(kept.names.is_empty() && kept.error.is_none());
    let command = ToolUse {
        tool: clean("Bash"),
        command: Some(clean("source ./.env && cat 'secrets/prod.yaml' --key=tls/a.key; ls src")),
        output: Some(clean("PASSPHRASE")),
        outcome: Outcome::Failed,
        ..ToolUse::default()
    };
    let Some(Event::Tool(kept)) = PrivacyRules::default().hide(&BUILT_IN, &Event::Tool(command)) else {
        panic!("still a tool")
    };
    assert_eq!(kept.command.as_deref(), Some("source [private] && cat '[private]' --key=[private]; ls src"));
    assert!(kept.output.is_none() && kept.outcome == Outcome::Failed);
    let failed = hide(&Event::StopFailure { error: clean("cannot read /home/me/.netrc") });
    assert!(failed.unwrap().contains("cannot read [private]"));
    let said = hide(&Event::Prompt { text: clean("Put it into secrets/prod.yaml, never commit .env or *.pem files.") });
    assert!(said.unwrap().contains("Put it into [private], never commit .env or *.pem files."));
    let task = Task { id: None, subject: Some(clean("rotate certs/prod.pem")), state: TaskState::Open };
    assert!(hide(&Event::Task(task)).unwrap().contains("rotate [private]"));
    let files = vec![clean("impl:.env.local"), clean("impl:a.rs")];
    let Some(Event::Seed(kept)) =
        PrivacyRules::default().hide(&BUILT_IN, &Event::Seed(SeedCodes { files, ..SeedCodes::default() }))
    else {
        panic!("still a seed")
    };
    assert_eq!(kept.files, [clean("impl:a.rs")]);
}

#[test]
fn nothing_that_runs_in_a_private_folder_is_kept() {
    let ran = |folder: &'static str| {
        Event::Tool(ToolUse {
            tool: clean("Bash"),
            command: Some(clean("cat notes")),
            folder: Some(clean(folder)),
            ..ToolUse::default()
        })
    };
    assert_eq!(PrivacyRules::default().hide(&BUILT_IN, &ran("/p/secrets")), Some(Event::Pulse));
    assert_eq!(PrivacyRules::default().hide(&BUILT_IN, &ran("secrets/web")), Some(Event::Pulse));
    assert_eq!(PrivacyRules::default().hide(&BUILT_IN, &ran("/p/web")), None);
}

#[test]
fn what_is_not_private_is_left_alone() {
    let used = ToolUse {
        tool: clean("Bash"),
        command: Some(clean("cargo test -p env && cat src/key.rs")),
        output: Some(clean("test result: ok. 3 passed")),
        ..ToolUse::default()
    };
    for event in [
        Event::Tool(used),
        Event::Prompt { text: clean("look at src/main.rs and the .env handling, e.g. in key.rs") },
        Event::Stop { message: clean("Done. All 3 tests pass.") },
        Event::Pulse,
    ] {
        assert_eq!(PrivacyRules::default().hide(&BUILT_IN, &event), None, "{event:?}");
    }
}
