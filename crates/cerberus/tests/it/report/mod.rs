//! The report: one file that shows everything it should, nothing that is private, and loads nothing.

#[cfg(feature = "loop")]
mod browser;
#[cfg(feature = "loop")]
mod looped;
mod made;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use cerberus_testkit::env::TestEnv;
use cerberus_testkit::process::{LIMIT, wait_until, write_program};
use serde_json::json;

use crate::env;

pub const SECTIONS: [&str; 10] =
    ["started", "when", "context", "time", "cost", "tests", "files", "memories", "loops", "sessions"];

fn report(env: &TestEnv, args: &[&str]) -> String {
    let made = env.json(&[&["report"], args].concat());
    fs::read_to_string(made["file"].as_str().unwrap()).unwrap()
}

/// The part of a page from one section to the next.
fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<section id=\"{id}\">")).unwrap_or_else(|| panic!("no section {id}"));
    let length = page[start..].find("</section>").unwrap();
    &page[start..start + length]
}

#[cfg(feature = "loop")]
#[test]
fn every_section_shows_what_happened() {
    let mut env = env();
    made::import(&env, 30, 100);
    made::crashed(&mut env);
    made::told(&env);
    looped::looped(&env);
    let page = report(&env, &[]);
    for (id, parts) in [
        ("when", &["Sessions by day", "class=\"l4\"", "Nov", "As a table", "class=\"crash\" d=\"M3"][..]),
        ("time", &["Time by project", "Tokens by agent", "hydra", "nimbus", "codex", "sessions unknown"]),
        ("context", &["url(#compacted)", "<circle class=\"ring\" cx=\"", "70%", "85%", "about ", "compacted"]),
        ("tests", &["green", "url(#red-runs)", "class=\"bar\""]),
        ("files", &["src/supervisor.rs", "…"]),
        ("started", &["All sessions: ", "tool calls", "Too few sessions", "class=\"pale\" x=\"0\"", "too few"]),
        (
            "cost",
            &["as collected on 2026-", "Cost by model", "claude-test-1", "price unknown: ", "week of ", "are unknown"],
        ),
        ("memories", &["from user", "2 kept", "Never hold a lock while calling wait"]),
        (
            "loops",
            &["at most $3.18", "price of claude-next unknown", "prices of 2026-11-16", "run 2", "complete", "3.8 M"],
        ),
        ("sessions", &["Split proxy.go in three files", "Left open", "claude-code", "cost unknown", "✗ crashed"]),
    ] {
        let section = section(&page, id);
        for part in parts {
            assert!(section.contains(part), "{id}: no {part:?} in {section}");
        }
        assert!(page.contains(&format!("href=\"#{id}\"")), "{id}");
    }
    assert_eq!(page.matches("<section ").count(), SECTIONS.len());
    assert!(page.contains("default-src 'none'; style-src 'sha256-"));
}

#[test]
fn nothing_is_loaded_and_no_script_is_there() {
    let env = env();
    made::import(&env, 10, 30);
    env.start("s", "startup");
    let prompt = "open https://example.com/<script src=x>alert(1)</script> \"onload='x'";
    env.hook("s", "UserPromptSubmit", json!({"prompt": prompt}));
    let page = report(&env, &[]);
    assert!(page.contains("https://example.com/&lt;script src=x&gt;alert(1)"), "it is shown as text");
    let mut tags = page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap());
    let loads = ["src=", "href=\"h", "url(h", "http:", "https:", "style=", "srcset", "xlink", "@import", " on"];
    let wrong = tags.find(|tag| tag.starts_with("script") || loads.iter().any(|part| tag.contains(part)));
    assert_eq!(wrong, None);
    let style = page.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn an_empty_home_gives_a_report_that_says_so() {
    let env = env();
    let page = report(&env, &[]);
    for (id, words) in [
        ("tests", "No test, build or lint"),
        ("files", "No edited file"),
        ("started", "Nothing to compare yet"),
        ("cost", "No transcript of these weeks"),
        ("memories", "no memories yet"),
        ("loops", "No loop ran"),
        ("sessions", "cerberus import"),
    ] {
        assert!(section(&page, id).contains(words), "{id}");
    }
    assert!(page.contains("none seen"), "the share of green runs is unknown, not zero");
}

#[test]
fn unknown_is_never_drawn_as_zero() {
    let env = env();
    env.start("s", "startup");
    env.hook("s", "SessionEnd", json!({"reason": "exit"}));
    let page = report(&env, &[]);
    let context = section(&page, "context");
    assert!(context.contains("known for 0 of 1 session"), "{context}");
    let drawn = context.split("</svg>").next().unwrap();
    assert_eq!((drawn.matches("<circle class=\"ring\"").count(), drawn.matches("class=\"bar\" x=").count()), (1, 0));
    assert!(!context.contains("0 %"), "{context}");
    let time = section(&page, "time");
    assert_eq!(time.matches("<rect class=\"unknown\" x=\"0.5\"").count(), 2, "tokens by project and by agent");
    assert!(section(&page, "sessions").contains("context unknown · 0 compactions · tokens unknown · cost unknown"));
}

#[test]
fn a_thousand_sessions_fit_into_two_megabytes() {
    let env = env();
    made::import(&env, 1000, 170);
    let made = env.json(&["report"]);
    assert_eq!(made["sessions"], json!(1000));
    let size = fs::metadata(made["file"].as_str().unwrap()).unwrap().len();
    assert_eq!(made["bytes"], json!(size));
    assert!(size < 2_000_000, "{size}");
    let page = fs::read_to_string(made["file"].as_str().unwrap()).unwrap();
    assert!(page.contains("The newest 500 of 1000 are listed."));
    assert_eq!(page.matches("<details class=\"session\">").count(), 500);
}

#[test]
fn older_sessions_are_counted_and_not_shown() {
    let env = env();
    made::import(&env, 40, 400);
    let made = env.json(&["report"]);
    let (shown, older) = (made["sessions"].as_u64().unwrap(), made["older_sessions"].as_u64().unwrap());
    assert!(shown > 5 && older > 5 && shown + older == 40, "{made}");
    let page = fs::read_to_string(made["file"].as_str().unwrap()).unwrap();
    assert!(page.contains(&format!("{older} older sessions not shown.")));
}

#[test]
fn only_the_user_can_read_it() {
    let env = env();
    let mode = |file: &std::path::Path| fs::metadata(file).unwrap().permissions().mode() & 0o777;
    env.ok(&["report"]);
    assert_eq!(mode(&env.home().join("report.html")), 0o600);
    let file = env.root().join("own.html");
    let name = file.to_str().unwrap();
    fs::write(&file, "old").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(env.ok(&["report", "-o", name]).trim(), name);
    assert_eq!(mode(&file), 0o600, "also where a file was before");
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_file_that_cannot_be_written_gives_a_clear_message() {
    let env = env();
    for (file, words) in [
        ("missing/report.html", "hydra/missing does not exist"),
        (".", "is not a regular file"),
        ("/dev/null", "/dev/null is not a regular file"),
    ] {
        let output = env.run(&["report", "-o", file]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(said.contains(words) && said.contains("-o"), "{file}: {said}");
    }
}

#[test]
fn secrets_and_private_projects_are_absent() {
    let env = env();
    let key = ["sk-ant-", "api03-", &"a1B2".repeat(24)].concat();
    let hidden = env.add_repository("harbour");
    let opted_out = env.add_repository("lantern");
    let user = env.root().join("user/.claude/projects/x");
    fs::create_dir_all(&user).unwrap();
    let day = 1_768_900_000_000;
    for (name, cwd, asked) in [
        ("a", &env.project(), format!("use the key {key} to upload")),
        ("b", &hidden, "sail to the pier".to_string()),
        ("c", &opted_out, "light the wick".to_string()),
    ] {
        let text = made::claude(name, cwd, day, &asked, 3).replace("src/supervisor.rs", &format!("src/{name}.rs"));
        fs::write(user.join(format!("{name}.jsonl")), text).unwrap();
    }
    env.ok(&["import", "claude-code"]);
    for (cwd, rule) in [(&hidden, "Moor at the pier"), (&opted_out, "Trim the wick")] {
        env.ok(&["--cwd", cwd.to_str().unwrap(), "learn", "--scope", "project", rule]);
    }
    let page = report(&env, &[]);
    for word in ["harbour", "lantern", "pier", "wick", "upload"] {
        assert!(page.contains(word), "{word} is shown before it is private");
    }
    assert!(page.contains("[redacted:") && !page.contains(&key), "the secret was removed when it was recorded");
    fs::create_dir_all(env.home()).unwrap();
    let config = format!("[private]\nprojects = [{:?}]\n", hidden.to_str().unwrap());
    fs::write(env.home().join("config.toml"), config).unwrap();
    fs::write(opted_out.join(".nocerberus"), "").unwrap();
    let page = report(&env, &[]);
    for word in ["harbour", "lantern", "pier", "wick"] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("upload"));
}

#[test]
fn without_prompts_no_words_of_the_user_are_in_it() {
    let env = env();
    made::import(&env, 10, 30);
    made::told(&env);
    let page = report(&env, &["--no-prompts"]);
    for words in ["supervisor, the test", "three files", "jitter", "Never hold a lock", "small commits", "Left open"] {
        assert!(!page.contains(words), "{words}");
    }
    assert!(page.contains("src/supervisor.rs") && page.contains("were left out on request"));
}

#[test]
fn forgetting_removes_the_report_that_may_show_it() {
    let env = env();
    made::import(&env, 3, 5);
    env.ok(&["report"]);
    let file = env.home().join("report.html");
    assert!(file.exists());
    let session = env.json(&["log"])[0]["id"].as_str().unwrap().to_string();
    env.ok(&["forget", "--session", &session, "--yes"]);
    assert!(!file.exists());
}

#[test]
fn it_is_opened_with_the_program_of_the_system() {
    let env = env();
    let (bin, seen) = (env.root().join("bin"), env.root().join("seen"));
    let script = format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new && mv {0}.new {0}\n", seen.display());
    write_program(&bin.join("xdg-open"), &script);
    let open = |path: &str| env.command().env("PATH", path).args(["report", "--open"]).output().unwrap();
    assert!(open(&format!("{}:/usr/bin:/bin", bin.display())).status.success());
    wait_until("the opener", LIMIT, || seen.exists().then_some(())).unwrap();
    assert_eq!(fs::read_to_string(&seen).unwrap(), env.home().join("report.html").to_str().unwrap());
    let failed = open(env.root().join("empty").to_str().unwrap());
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("report.html in a browser"), "the file is there anyway");
}
