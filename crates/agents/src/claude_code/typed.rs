//! Whether a person typed a prompt, by what Claude Code says about it.
//!
//! Hooks say nothing about it; a line of the transcript does. `promptSource` is `typed`, `queued`, `suggestion_accepted`,
//! `sdk` or `system`; newer versions add `origin.kind` and `turnOrigin`. The program that started the client is named in
//! `entrypoint`, and in a variable that hooks inherit.

use cerberus_record::source::MemorySource;

/// Programs other than SDKs that send prompts of their own.
const PROGRAMS: [&str; 4] = ["mcp", "claude-code-github-action", "remote_trigger", "remote_cowork_trigger"];

/// What a line or a payload says about its prompt.
#[derive(Default)]
pub(super) struct PromptMarks<'a> {
    pub is_meta: bool,
    pub is_wakeup: bool,
    pub turn_origin: Option<&'a str>,
    pub prompt_source: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub entrypoint: Option<&'a str>,
}

impl PromptMarks<'_> {
    /// Where the prompt is from, if nobody typed it. Without marks it counts as typed.
    pub fn untyped(&self) -> Option<MemorySource> {
        let (turn, source) = (self.turn_origin, self.prompt_source);
        if self.is_wakeup || turn == Some("scheduled") {
            return Some(MemorySource::Scheduled);
        }
        let is_clients = self.is_meta
            || !matches!(turn, None | Some("human" | "sdk" | "unknown"))
            || !matches!(source, None | Some("typed" | "queued" | "sdk"))
            || !matches!(self.origin, None | Some("human"));
        if is_clients {
            return Some(MemorySource::Client);
        }
        let is_sdk = turn == Some("sdk") || source == Some("sdk");
        let is_programs = match self.entrypoint {
            None | Some("cli") => is_sdk,
            // An editor or a desktop app uses the SDK to pass on what is typed there.
            Some(entrypoint) => is_program(entrypoint),
        };
        is_programs.then_some(MemorySource::Headless)
    }
}

fn is_program(entrypoint: &str) -> bool {
    entrypoint.starts_with("sdk") || PROGRAMS.contains(&entrypoint)
}

/// Whether the hook's environment says that a program runs this session. A client that runs inside another inherits
/// variables, so they must be of this session.
pub(super) fn is_headless(session: &str, variable: &dyn Fn(&str) -> Option<String>) -> bool {
    variable("CLAUDE_CODE_SESSION_ID").is_some_and(|id| id == session)
        && variable("CLAUDE_CODE_ENTRYPOINT").is_some_and(|entrypoint| is_program(&entrypoint))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(words: &str) -> PromptMarks<'_> {
        let mut marks = PromptMarks::default();
        for word in words.split_whitespace() {
            match word.split_once('=') {
                Some(("turn", turn)) => marks.turn_origin = Some(turn),
                Some(("source", source)) => marks.prompt_source = Some(source),
                Some(("origin", origin)) => marks.origin = Some(origin),
                Some(("entry", entry)) => marks.entrypoint = Some(entry),
                _ if word == "meta" => marks.is_meta = true,
                _ => marks.is_wakeup = true,
            }
        }
        marks
    }

    #[test]
    fn every_mark_of_every_version_is_understood() {
        for (words, expected) in [
            // Versions from 2.1.50 on, on a terminal.
            ("", None),
            ("entry=cli", None),
            ("entry=cli source=typed", None),
            ("entry=cli source=typed origin=human turn=human", None),
            ("entry=cli source=queued origin=human turn=human", None),
            ("entry=cli source=suggestion_accepted origin=human turn=human", Some(MemorySource::Client)),
            // A scheduled prompt, as 2.1.326 marks it, and with each of its marks alone.
            ("entry=cli source=system turn=scheduled meta wakeup", Some(MemorySource::Scheduled)),
            ("entry=cli turn=scheduled", Some(MemorySource::Scheduled)),
            ("entry=cli wakeup", Some(MemorySource::Scheduled)),
            ("entry=cli meta", Some(MemorySource::Client)),
            ("entry=cli source=system", Some(MemorySource::Client)),
            ("entry=cli source=system origin=task-notification turn=task_notification", Some(MemorySource::Client)),
            ("entry=cli origin=peer turn=peer", Some(MemorySource::Client)),
            ("entry=cli turn=auto_continuation", Some(MemorySource::Client)),
            ("entry=cli turn=something_new", Some(MemorySource::Client)),
            // `claude -p`, SDKs, an action.
            ("entry=sdk-cli source=sdk turn=sdk", Some(MemorySource::Headless)),
            ("entry=sdk-cli", Some(MemorySource::Headless)),
            ("entry=sdk-ts source=sdk", Some(MemorySource::Headless)),
            ("entry=sdk-py source=sdk origin=human turn=human", Some(MemorySource::Headless)),
            ("entry=claude-code-github-action", Some(MemorySource::Headless)),
            ("entry=cli source=sdk turn=sdk", Some(MemorySource::Headless)),
            ("source=sdk", Some(MemorySource::Headless)),
            // Typed into an editor or an app.
            ("entry=claude-vscode source=sdk turn=sdk", None),
            ("entry=claude-desktop", None),
        ] {
            assert_eq!(marks(words).untyped(), expected, "{words}");
        }
    }

    #[test]
    fn variables_count_if_they_are_of_this_session() {
        let run = |id: &'static str, entrypoint: &'static str| {
            is_headless("s", &|name| match name {
                "CLAUDE_CODE_SESSION_ID" => Some(id.to_string()),
                "CLAUDE_CODE_ENTRYPOINT" => Some(entrypoint.to_string()),
                _ => None,
            })
        };
        assert!(run("s", "sdk-cli") && run("s", "sdk-py"));
        assert!(!run("s", "cli") && !run("s", "claude-vscode"));
        assert!(!run("outer", "sdk-cli"), "inherited from a session around it");
        assert!(!is_headless("s", &|_| None));
    }
}
