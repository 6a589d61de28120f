//! What a context must hear before anything else: that the check failed, and what the user has to say.

use cerberus_record::clean::instruction::harmless;
use cerberus_record::clean::text::{line, name};
use cerberus_record::span::Span;

use super::fit::{HandoffSection, PartKind, SectionPriority, quoted};
use super::state::{FailedCheck, Interruption, PreservedState};
use crate::texts::Passage;
use crate::totals::AttemptEnd;

const LINES_MAX: usize = 100;
const MESSAGE_LINE_CHARS_MAX: usize = 1_000;

/// In display order.
pub fn parts(state: &PreservedState) -> Vec<HandoffSection> {
    let mut parts = Vec::new();
    let interrupted = state.interrupted.iter().flat_map(interrupted).collect();
    parts.push(list("## Interrupted", interrupted, SectionPriority::Must(0)));
    if let Some(failed) = &state.failed_check {
        let heading = if failed.result.claimed { "## Completion Refused" } else { "## Check Failed" };
        parts.push(list(heading, failed_check(failed), SectionPriority::Must(0)));
        let output = &failed.result.output;
        parts.push(quoted("## End of the Check's Output".to_string(), output, SectionPriority::IfRoom(1)));
    }
    let task = "- The task was changed since the last session began; the one above is valid.".to_string();
    let changed = if state.task_has_changed { vec![task] } else { Vec::new() };
    parts.push(list("## Task Changed", changed, SectionPriority::Must(0)));
    parts.push(list("## Message from the User", messages(&state.messages), SectionPriority::Must(0)));
    parts.push(list(
        "## Earlier Messages from the User",
        messages(&state.earlier_messages),
        SectionPriority::IfRoom(3),
    ));
    parts
}

fn list(heading: &str, lines: Vec<String>, need: SectionPriority) -> HandoffSection {
    HandoffSection { heading: heading.to_string(), lines, lines_max: LINES_MAX, kind: PartKind::List, need }
}

/// What ended the session, what ran then, and what to do instead.
fn interrupted(interruption: &Interruption) -> Vec<String> {
    let why = match interruption.how {
        AttemptEnd::Stall => "it printed nothing for too long",
        AttemptEnd::HardRedline => "its context was full",
        AttemptEnd::RunnerDied => "the loop itself was killed",
        _ => return Vec::new(),
    };
    let mut lines = vec![format!("- The last session was stopped in the middle of its work: {why}.")];
    let Some(call) = &interruption.call else { return lines };
    let lasted = interruption.call_seconds.map(|seconds| format!(" for {}", Span::secs(seconds))).unwrap_or_default();
    lines.push(format!("- This was running{lasted}: `{}`", name(call)));
    if interruption.how == AttemptEnd::Stall {
        lines.push(
            "- Do not run it like that again. Run it in the background, or with a time limit, and look at its output."
                .to_string(),
        );
    }
    lines
}

fn failed_check(failed: &FailedCheck) -> Vec<String> {
    let result = &failed.result;
    let (command, iteration) = (&*result.command, failed.iteration);
    let first = match result.claimed {
        true => format!(
            "- The session of iteration {iteration} reported that everything is done. It is not: the check `{command}` \
             does not pass."
        ),
        false => {
            format!("- After iteration {iteration}, the check `{command}` did not pass. The task is not complete.")
        }
    };
    let mut lines = vec![first, format!("- Result: {}", &*result.words)];
    lines.extend(result.changed.iter().map(|path| {
        format!("- {} is part of the check and was changed since the loop began. Restore it.", name(path))
    }));
    lines.extend(result.failing.iter().map(|name| format!("- Failing: {}", harmless(name, "a test"))));
    lines
}

/// Each message as one item, with its own line breaks.
fn messages(messages: &[Passage]) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        let texts = message.lines().map(|text| line(text, MESSAGE_LINE_CHARS_MAX)).filter(|text| !text.is_empty());
        lines.extend(texts.enumerate().map(|(at, text)| format!("{}{text}", if at == 0 { "- " } else { "  " })));
    }
    lines
}

#[cfg(test)]
mod tests {
    use cerberus_record::clean::BUILT_IN;

    use super::*;
    use crate::check_result::CheckResult;
    use crate::completion::CompletionCheck;
    use crate::handoff::compose;
    use crate::preserve::Preserve;
    use crate::texts::OneLine;

    #[test]
    fn what_hung_is_told_with_what_to_do_instead() {
        let call = OneLine::new(&BUILT_IN, "Bash npm run dev");
        let told = |how, call: Option<&OneLine>| {
            let interrupted = Some(Interruption { how, call: call.cloned(), call_seconds: call.map(|_| 900) });
            let text = compose(&PreservedState { interrupted, ..PreservedState::default() }, &Preserve::default()).text;
            text.split_once("## Interrupted\n").map(|(_, rest)| rest.split("\n\n").next().unwrap().to_string())
        };
        let stalled = told(AttemptEnd::Stall, Some(&call)).unwrap();
        assert!(stalled.starts_with("- The last session was stopped in the middle of its work: it printed nothing"));
        assert!(
            stalled.contains("- This was running for 15m: `Bash npm run dev`\n- Do not run it like that"),
            "{stalled}"
        );
        let full = told(AttemptEnd::HardRedline, Some(&call)).unwrap();
        assert!(
            full.contains("its context was full") && full.contains("npm run dev") && !full.contains("Do not"),
            "{full}"
        );
        assert_eq!(told(AttemptEnd::RunnerDied, None).unwrap().lines().count(), 1);
        assert_eq!(told(AttemptEnd::IterationEnd, Some(&call)), None);
    }

    #[test]
    fn a_refused_completion_comes_first() {
        let output = "test parser::deep ... FAILED\nassertion failed: ```\n\ntest result: FAILED. 0 passed; 1 failed";
        let failed = CompletionCheck::Failed { words: "exit 101".to_string() };
        let changed = ["check.sh".to_string()];
        let result = CheckResult::new(&BUILT_IN, "cargo test", &failed, output, true, &changed);
        let passage = |text: &str| Passage::new(&BUILT_IN, text);
        let mut state = PreservedState {
            failed_check: Some(FailedCheck { iteration: 3, result }),
            messages: vec![passage("use WAL\n## and nothing else")],
            earlier_messages: vec![passage("older")],
            task_has_changed: true,
            last_words: Some(passage("I stop here.")),
            ..PreservedState::default()
        };
        let expected = "\n## Completion Refused\n\
            - The session of iteration 3 reported that everything is done. It is not: the check `cargo test` does not pass.\n\
            - Result: exit 101\n\
            - check.sh is part of the check and was changed since the loop began. Restore it.\n\
            - Failing: parser::deep\n\
            \n## End of the Check's Output\n```\ntest parser::deep ... FAILED\nassertion failed: ```\n\
            test result: FAILED. 0 passed; 1 failed\n```\n\
            \n## Task Changed\n- The task was changed since the last session began; the one above is valid.\n\
            \n## Message from the User\n- use WAL\n  ## and nothing else\n\
            \n## Earlier Messages from the User\n- older\n\
            \n## Last Words of the Previous Session\n```\nI stop here.\n```\n";
        let text = compose(&state, &Preserve::default()).text;
        assert!(text.contains(expected), "{text}");
        assert!(text.starts_with("# Context Handoff\n\nYou are continuing"), "{text}");
        state.failed_check.iter_mut().for_each(|failed| failed.result.claimed = false);
        let small = compose(&state, &Preserve { max_state_bytes: 500, ..Preserve::default() }).text;
        assert!(small.len() <= 500 && small.contains("## Check Failed\n- After iteration 3"), "{small}");
        assert!(small.contains("## Message from the User\n- use WAL"), "{small}");
    }
}
