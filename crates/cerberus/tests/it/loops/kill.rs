//! kill -9 of the runner or the guard at every labelled point, then `--resume`: no iteration is lost, none is done twice, and
//! nothing is left running.

use cerberus_os::fault::LOOP_POINTS;
use cerberus_testkit::fake_agent::{Act, Tongue};
use cerberus_testkit::loops::{ITERATIONS, Rounds};

use super::Stage;

#[test]
fn death_at_every_labelled_point_loses_no_iteration_and_doubles_none() {
    for label in LOOP_POINTS {
        let mut rounds = Rounds::new(crate::env(), 7);
        let died = rounds.die_at(label, 2);
        assert!(died, "{label} was passed");
        let wrong = rounds.violations();
        assert!(wrong.is_empty(), "{label}: {}", wrong.join("\n"));
    }
}

#[test]
fn rounds_of_random_deaths_violate_nothing() {
    let mut rounds = Rounds::new(crate::env(), 11);
    for round in 0..8 {
        rounds.round(&LOOP_POINTS);
        let wrong = rounds.violations();
        assert!(wrong.is_empty(), "seed 11, round {round}: {}", wrong.join("\n"));
    }
    assert!(rounds.kills > 4 && ITERATIONS > 2, "{} killed", rounds.kills);
}

#[test]
fn whatever_the_agent_left_is_gone_when_its_guard_is_killed() {
    let acts = vec![
        Act::Say("working", 0),
        Act::IgnoreTerm,
        Act::Fork,
        Act::ForkAway,
        // The guard is the agent's parent.
        Act::Shell("kill -9 $PPID"),
        Act::Hang,
    ];
    let stage = Stage::new(Tongue::Plain, &[acts, vec![Act::Say("working", 0), Act::Shell("echo x > a")]]);
    stage.run(&["--max-iterations", "2"]).ended(3, "iterations");
    assert_eq!(stage.history()[0]["ended_by"], "failure");
}
