//! kill -9 at any instant and at every labelled write point: what was acknowledged is there, once, and the state is right.

use cerberus_os::fault::POINTS;
use cerberus_testkit::harness::Harness;
use serde_json::json;

use crate::env;

#[test]
fn a_thousand_processes_killed_at_random_violate_nothing() {
    let mut harness = Harness::new(env(), 7, &POINTS);
    for _ in 0..1000 {
        harness.round();
    }
    let wrong = harness.violations();
    assert!(wrong.is_empty(), "seed 7: {}", wrong.join("\n"));
    let acknowledged = harness.acknowledged();
    assert!(
        (50..900).contains(&acknowledged) && harness.kills > 100,
        "{acknowledged} acknowledged, {} killed",
        harness.kills
    );
}

#[test]
fn death_at_every_labelled_point_leaves_a_sound_state() {
    for label in POINTS {
        let env = env();
        env.start("s1", "startup");
        env.write_file("s1", "t1", "before.rs", "");
        let payload = env.payload("s2", "SessionStart", json!({"source": "startup"}));
        let mut command = env.command();
        command.args(["hook", "claude-code"]).env("CERBERUS_FAULT", format!("{label}=kill"));
        let mut child =
            command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &payload).unwrap();
        assert!(!child.wait().unwrap().success(), "{label} was passed");
        assert_eq!(env.start("s3", "startup"), "proj:hydra\nimpl:before.rs", "{label}");
        let before = (env.json(&["brief"]), env.sessions());
        env.rebuild();
        assert_eq!((env.json(&["brief"]), env.sessions()), before, "{label}");
    }
}
