//! Scripted tasks with false completions, a usage limit and a crash: all are finished, with fewer contexts than a plain
//! loop needs.

use cerberus_testkit::comparison::{TASKS, compare};

#[test]
fn every_scripted_task_is_finished_with_fewer_contexts_than_a_plain_loop() {
    let outcomes = TASKS.map(|task| (task.name, compare(crate::env, &task)));
    for (name, (plain, ours)) in &outcomes {
        assert!(ours.is_finished, "{name}: {ours:?}");
        assert!(ours.contexts <= plain.contexts, "{name}: {ours:?}, plainly {plain:?}");
        assert_eq!(ours.repeated_mistakes, 0, "{name}");
    }
    let finished = outcomes.iter().filter(|(_, (plain, _))| plain.is_finished).count();
    assert!((1..outcomes.len()).contains(&finished), "the plain loop can do some of them: {outcomes:?}");
}
