//! Machines of their own: network namespaces that reach nothing but the hub.

use cerberus_testkit::hubs::machine::Machine;
use cerberus_testkit::hubs::s3::Storage;

use super::*;

#[test]
fn a_machine_that_reaches_nothing_but_the_hub_can_use_it() {
    if !Storage::is_here() {
        return;
    }
    let storage = Storage::start();
    let dir = tempfile::tempdir().unwrap();
    let mut machine = Machine::new();
    let program = std::env::current_exe().unwrap().display().to_string();
    let run = |machine: &Machine, job: &str| {
        let of_job = other_process(job, &storage.hub(), dir.path());
        let mut command = machine.command(&program);
        command.args(of_job.get_args());
        command.envs(of_job.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Running::spawn(&mut command).unwrap().wait(LIMIT).unwrap().stdout
    };
    if machine.is_isolated() {
        assert!(run(&machine, "heads").contains("unreachable"));
    }
    machine.reach(storage.port());
    assert!(run(&machine, "batches").contains("1 passed"));
    assert!(machine.connections() > 0 || !machine.is_isolated());
}
