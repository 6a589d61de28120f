//! However large a transcript and what tools printed in it, it is imported, archived and found in little memory.

use std::fs;
use std::process::Output;

use cerberus_testkit::env::TestEnv;

use super::{Written, archived, env, found};

/// What the program may allocate at most, threads and all.
const MEMORY_KIB: u64 = 64 * 1024;

fn bounded(env: &TestEnv, args: &[&str]) -> Output {
    let mut command = env.command_for("sh");
    command.args(["-c", &format!("ulimit -d {MEMORY_KIB} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_cerberus")]);
    let output = command.args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

/// Many lines with words of their own, and one word at each end.
fn printed(bytes: usize, first: &str, last: &str) -> String {
    let mut text = format!("{first} begins\n");
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!(
            "test tuning::part_{number} of the organ ... ok in {} ms, pipes \"a\" and \"b\"\n",
            number % 97
        ));
    }
    text + last + " ends\n"
}

#[test]
fn results_of_megabytes_are_kept_whole_in_little_memory() {
    let env = env();
    let mut written = Written::new(&env, "session-one");
    written.prompt("10:00:00", "Tune the organ");
    for number in 0..3 {
        let text = printed(6_500_000, &format!("bourdon{number}"), &format!("bombardon{number}"));
        written.ran("10:00:10", &format!("make tune-{number}"), &text);
    }
    written.said("10:00:20", "It is tuned.");
    let path = written.save();
    bounded(&env, &["import", "claude-code", path.to_str().unwrap()]);
    bounded(&env, &["import", "claude-code", path.to_str().unwrap()]);
    fs::remove_file(path).unwrap();
    for number in 0..3 {
        let hits = bounded(&env, &["search", "--json", &format!("bombardon{number}")]);
        assert!(String::from_utf8_lossy(&hits.stdout).contains(&format!("bombardon{number} ends")), "{hits:?}");
    }
    assert_eq!(archived(&env, "session-one"), written.lines.iter().map(|line| format!("{line}\n")).collect::<String>());
}

#[test]
fn of_a_longer_result_both_ends_are_kept() {
    let env = env();
    let mut written = Written::new(&env, "session-one");
    written
        .prompt("10:00:00", "Tune the organ")
        .ran("10:00:10", "make tune", &printed(20_000_000, "bourdon", "bombardon"))
        .said("10:00:20", "It is tuned.");
    let path = written.save();
    let imported = bounded(&env, &["import", "claude-code", path.to_str().unwrap()]);
    let told = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(told.contains("of 1 overlong line, long texts are kept in part: their beginning and their end"), "{told}");
    let report = env.json(&["import", "claude-code", path.to_str().unwrap()]);
    assert_eq!(
        (&report["shortened_lines"], &report["damaged_lines"], &report["known_events"]),
        (&1.into(), &0.into(), &3.into())
    );
    for word in ["bourdon", "bombardon"] {
        assert!(found(&env, &[word])[0].1.contains(word), "{word}");
    }
    let kept = archived(&env, "session-one");
    assert!(kept.contains("-bytes-not-kept]…") && kept.len() < 3_000_000, "{}", kept.len());
}
