use std::collections::HashSet;

use super::agents::{Player, names};
use super::play::{run_script, write_files};
use super::*;
use crate::need;
use crate::scratch::Scratch;

/// Does what the scripted model does, without an agent; every file that it writes must be a new one.
fn act(task: &Task, is_told: bool) -> (bool, usize) {
    let scratch = Scratch::new();
    write_files(&scratch.repo(), task);
    let mut repeats = 0;
    for (number, session) in task.sessions.iter().enumerate() {
        for turn in &session.turns {
            let steps = if is_told && turn.told.is_some() { &turn.does_if_told } else { &turn.does };
            for step in steps {
                let line = match step {
                    TaskStep::Write(path, text) => format!("! test -e {path} && cat > {path} <<'END'\n{text}END"),
                    TaskStep::Run(line) => line.clone(),
                };
                assert!(run_script(&scratch, &line), "{}: {line}", task.name);
            }
        }
        repeats += usize::from(number > 0 && run_script(&scratch, &task.repeats));
    }
    (run_script(&scratch, &task.accept), repeats)
}

#[test]
fn what_was_told_decides_whether_the_scripted_model_passes() {
    for task in all() {
        if !need::has(&[&task.needs]) {
            continue;
        }
        let needs_memory = task.sessions.iter().flat_map(|session| &session.turns).any(|turn| turn.told.is_some());
        assert_eq!(act(&task, true), (true, 0), "{} with memory", task.name);
        let expected = if needs_memory { (false, true) } else { (true, false) };
        let (passed, repeats) = act(&task, false);
        assert_eq!((passed, repeats > 0), expected, "{} without memory", task.name);
    }
}

#[test]
fn tasks_are_what_they_say() {
    let tasks = all();
    let needs: HashSet<&str> = tasks.iter().map(|task| &*task.needs).collect();
    assert!(tasks.len() == 12 && needs.len() > 4, "{needs:?}");
    for task in &tasks {
        let turns: Vec<&TaskTurn> = task.sessions.iter().flat_map(|session| &session.turns).collect();
        assert!((2..=3).contains(&task.sessions.len()), "{}", task.name);
        for (number, turn) in turns.iter().enumerate() {
            let Some(words) = &turn.told else { continue };
            let is_said = |turn: &&TaskTurn| turn.prompt.contains(words.as_str());
            assert!(turns[..number].iter().any(is_said), "{}: nobody says {words}", task.name);
            assert!(!turns[number..].iter().any(is_said), "{}: {words} is said again", task.name);
            assert!(
                !task.files.values().any(|text| text.contains(words.as_str())),
                "{}: {words} is a file's",
                task.name
            );
            let is_noted = |turn: &&TaskTurn| turn.note.as_ref().is_some_and(|note| note.contains(words.as_str()));
            assert!(turns[..number].iter().any(is_noted), "{}: {words} is not noted", task.name);
        }
        for session in &task.sessions {
            let last = session.turns.last().unwrap();
            if let TaskSessionEnd::KillAfter(tools) = session.end {
                assert!(tools == last.does.len() && last.told.is_none(), "{}", task.name);
            }
        }
    }
}

#[test]
fn an_agent_gets_a_home_of_its_own_and_only_variables_that_are_named() {
    let scratch = Scratch::new();
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
    for name in names().split(", ") {
        let player = Player::find(name).unwrap();
        let turn = |goes_on| player.turn("agent".as_ref(), &scratch, Arm::Nothing, goes_on, "Write it");
        let command = turn(true);
        let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, value)| value);
        assert_eq!(home, Some(scratch.home().as_os_str()), "{name}");
        assert!(command.get_envs().all(|(name, _)| name != "CARGO_MANIFEST_DIR"), "{name}");
        assert!(command.get_args().any(|word| word == "Write it"), "{name}");
        assert!(command.get_args().count() > turn(false).get_args().count(), "{name} can go on");
    }
    assert!(Player::find("claude").is_some() && Player::find("vim").is_none());
}
