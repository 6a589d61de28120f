//! Who runs a command: a person, or an agent in one of its sessions.
//!
//! A command is an agent's if one of its ancestors is the process that a hook recorded for a live session of this home,
//! or if a variable is set that agents set for their commands. Names of processes decide nothing, and neither does
//! `--now`. A process that `session-start` recorded is a person's.

use cerberus_os::process;
use cerberus_record::event::AgentProcess;

use crate::view::{self, Store};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledBy {
    Person,
    Agent,
}

/// Loops set it for their agent, to a token that tells its processes from others.
pub const LOOP_VARIABLE: &str = "CERBERUS_LOOP";

/// Set for an agent that is started with a handoff, which says what a brief would say of sessions.
pub const HANDOFF_VARIABLE: &str = "CERBERUS_HANDOFF";

/// Whether this process was started by an agent that was given a handoff.
pub fn has_handoff() -> bool {
    std::env::var_os(HANDOFF_VARIABLE).is_some()
}

/// Whether this process was started by a loop's agent, or by anything below it.
pub fn is_below_a_loop() -> bool {
    std::env::var_os(LOOP_VARIABLE).is_some()
}

/// Who runs this process. `variable` reads the environment.
pub fn called_by(store: &Store, variable: &dyn Fn(&str) -> Option<String>) -> view::Result<CalledBy> {
    if is_marked(variable) {
        return Ok(CalledBy::Agent);
    }
    Ok(if of_ancestors(store, &process::ancestors())?.is_empty() { CalledBy::Person } else { CalledBy::Agent })
}

/// Whether a variable is set that agents set for their commands.
pub fn is_marked(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    cerberus_agents::command_variables().any(|name| variable(name).is_some_and(|value| is_set(&value)))
}

fn is_set(value: &str) -> bool {
    !matches!(value.trim(), "" | "0" | "false")
}

/// The row of the session that this process runs in; `None` if that is not certain. Variables are not asked: whoever runs
/// a command chooses them. All ancestors must agree, because a process below an agent can report a start of any session
/// as its own.
pub fn own_session(store: &Store) -> view::Result<Option<i64>> {
    let rows = of_ancestors(store, &process::ancestors())?;
    Ok(if let [row] = rows[..] { Some(row) } else { None })
}

/// The rows of the live sessions whose agent is one of these processes. One agent may have several.
fn of_ancestors(store: &Store, ancestors: &[AgentProcess]) -> view::Result<Vec<i64>> {
    let mut recorded = store.agent_processes(&ancestors.iter().map(|one| one.pid).collect::<Vec<_>>())?;
    recorded.retain(|(_, process)| ancestors.contains(process));
    let mut rows: Vec<i64> = recorded.into_iter().map(|(row, _)| row).collect();
    rows.sort_unstable();
    rows.dedup();
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use cerberus_os::clock::Clock;
    use cerberus_os::home::Home;
    use cerberus_record::clean::text::Clean;
    use cerberus_record::event::{Event, StartSource};
    use cerberus_record::id::Agent;
    use cerberus_record::time::Timestamp;

    use super::*;
    use crate::journal;
    use crate::journal::own_record;
    use crate::project::identity::locate;
    use crate::view::fold;

    /// Records these events of a session that runs in our own parent process.
    fn after(agent: &str, events: &[Event<'static>]) -> CalledBy {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let clock = Clock::new(Some(Timestamp::from_millis(1_700_000_000_000)));
        let agent = Agent::from_name(agent).unwrap();
        for (number, event) in events.iter().enumerate() {
            let location = locate(dir.path()).location(home.cleaner());
            let record = own_record(&home, &clock, agent, "s", location, number.to_string(), event.clone());
            journal::append(&home, clock.wall, &record).unwrap();
        }
        called_by(&fold::open(&home).unwrap(), &|_| None).unwrap()
    }

    fn start(process: Option<AgentProcess<'static>>) -> Event<'static> {
        Event::Start { source: StartSource::Startup, transcript: None, phase: None, process }
    }

    fn end(reason: &'static str) -> Event<'static> {
        Event::End { reason: Clean::word(reason) }
    }

    #[test]
    fn an_ancestor_with_a_live_session_is_the_agent() {
        let parent = process::ancestors().into_iter().next().unwrap();
        let started = || start(Some(parent.clone()));
        let agent = cerberus_agents::ALL[0].agent.name();
        assert_eq!(after(agent, &[started()]), CalledBy::Agent);
        assert_eq!(after(agent, &[]), CalledBy::Person);
        assert_eq!(after(agent, &[start(None)]), CalledBy::Person);
        // A session that a person started by hand, a process that has reused the id, one of another machine.
        assert_eq!(after(Agent::MANUAL.name(), &[started()]), CalledBy::Person);
        let reused = AgentProcess { started_ticks: parent.started_ticks + 1, ..parent.clone() };
        assert_eq!(after(agent, &[start(Some(reused))]), CalledBy::Person);
        let elsewhere = AgentProcess { machine: Clean::word("another"), ..parent.clone() };
        assert_eq!(after(agent, &[start(Some(elsewhere))]), CalledBy::Person);
        // Only the agent itself reports its end. What we concluded, or an agent may have us record, does not count.
        assert_eq!(after(agent, &[started(), end("prompt_input_exit")]), CalledBy::Person);
        assert_eq!(after(agent, &[started(), end("timeout")]), CalledBy::Agent);
        assert_eq!(after(agent, &[started(), end("explicit")]), CalledBy::Agent);
        assert_eq!(after(agent, &[started(), Event::Complete]), CalledBy::Agent);
        assert_eq!(after(agent, &[started(), end("clear"), started()]), CalledBy::Agent);
    }

    #[test]
    fn a_variable_of_an_agent_is_enough() {
        let dir = tempfile::tempdir().unwrap();
        let store = fold::open(&Home::new(dir.path().join("home"))).unwrap();
        for profile in cerberus_agents::ALL {
            for marker in profile.command_variables {
                let set = |value: &'static str| {
                    called_by(&store, &|name| (name == *marker).then(|| value.to_string())).unwrap()
                };
                assert_eq!((set("1"), set("0"), set("")), (CalledBy::Agent, CalledBy::Person, CalledBy::Person));
            }
            assert!(!profile.command_variables.is_empty(), "{}", profile.title);
        }
    }
}
