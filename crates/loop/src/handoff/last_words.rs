//! Sorts the agent's last message into what it did, decided, left and warned about.
//!
//! Agents end a turn with a summary in their own form: headings with lists, or a few sentences. Headings are recognised
//! by keywords, sentences by cues. What is not recognised is still in the handoff, because the message itself is quoted.

use cerberus_record::event::Severity;
use cerberus_record::ours::{without_handoff, without_ours};
use cerberus_text::outline;

use super::state::{HandoffDecision, Issue};
use super::written::{Heading, WrittenHandoff, heading_topic};
use crate::texts::{OneLine, one_line};

/// More items of one message are not read.
const ITEMS_MAX: usize = 30;
/// A longer line is no label.
const LABEL_WORDS_MAX: usize = 7;

/// Parses the last message of a session that was not asked for its handoff.
pub fn read(message: &str) -> WrittenHandoff {
    let text = without_handoff(without_ours(message));
    let mut written = WrittenHandoff::default();
    let mut under = None;
    for line in outline::prose(&text).into_iter().map(str::trim).filter(|line| !line.starts_with('>')) {
        if line.is_empty() {
            continue;
        }
        let item = outline::item(line);
        if item.is_none()
            && let Some((label, rest)) = outline::label(line)
            && label.split_whitespace().count() <= LABEL_WORDS_MAX
        {
            under = heading_topic(&label);
            match under {
                Some(topic) if !rest.is_empty() => add(&mut written, topic, rest),
                None if !rest.is_empty() => sentences(&mut written, line),
                _ => {}
            }
            continue;
        }
        match (under, item) {
            (Some(topic), Some(item)) => add(&mut written, topic, item.text),
            (Some(topic @ (Heading::Pending | Heading::Issues)), None) => add(&mut written, topic, line),
            // In a list without a heading, the ticks decide.
            (_, Some(item)) if outline::is_finished(item.text) => add(&mut written, Heading::Completed, item.text),
            (_, Some(item)) if item.text.starts_with('☐') || item.text.starts_with("[ ]") => {
                add(&mut written, Heading::Pending, item.text);
            }
            (_, Some(item)) => sentences(&mut written, item.text),
            (_, None) => {
                under = None;
                sentences(&mut written, line);
            }
        }
    }
    written
}

/// An item under a heading. Ticks take precedence over the heading.
fn add(written: &mut WrittenHandoff, topic: Heading, text: &str) {
    let is_finished = outline::is_finished(text);
    let text = text.trim_start_matches("[x]").trim_start_matches("[X]").trim_start_matches("✅").trim();
    let text = outline::plain(text);
    let is_none = matches!(text.trim_end_matches('.').to_lowercase().as_str(), "" | "none" | "n/a" | "nothing");
    if is_none || outline::is_offer(&text) {
        return;
    }
    let topic = if is_finished && topic == Heading::Pending { Heading::Completed } else { topic };
    let list = match topic {
        Heading::Completed => &mut written.completed,
        Heading::Pending => &mut written.pending,
        Heading::Notes => &mut written.notes,
        Heading::Decisions => return add_decision(written, &text),
        Heading::Issues => return add_issue(written, &text),
        // Files are known from git, and the objective from the task.
        Heading::Files | Heading::Objective => return,
    };
    push(list, &text);
}

fn push(list: &mut Vec<OneLine>, text: &str) {
    let item = one_line(text);
    if list.len() < ITEMS_MAX && !list.contains(&item) {
        list.push(item);
    }
}

fn add_decision(written: &mut WrittenHandoff, text: &str) {
    if written.decisions.len() < ITEMS_MAX {
        let (what, why) = text.split_once(" because ").map_or((text, None), |(what, why)| (what, Some(why)));
        let rationale = why.map(|why| one_line(why.trim_end_matches('.')));
        written.decisions.push(HandoffDecision { description: one_line(what), rationale, timestamp: None });
    }
}

fn add_issue(written: &mut WrittenHandoff, text: &str) {
    if written.issues.len() < ITEMS_MAX {
        let (severity, files) = (Severity::Medium, Vec::new());
        written.issues.push(Issue { description: one_line(text), severity, files, addressed: false });
    }
}

fn sentences(written: &mut WrittenHandoff, line: &str) {
    for sentence in split(line) {
        let low = format!(" {} ", sentence.to_lowercase().replace('’', "'"));
        if low.trim_end().ends_with('?') || outline::is_offer(sentence) {
            continue;
        }
        let has = |cues: &[&str]| cues.iter().any(|cue| low.contains(cue));
        if has(&DECIDED) {
            add_decision(written, sentence);
        } else if has(&LEFT) {
            push(&mut written.pending, sentence);
        } else if has(&WARNED) {
            add_issue(written, sentence);
        } else if has(&NOTED) {
            push(&mut written.notes, sentence);
        } else if is_done(&low) {
            push(&mut written.completed, sentence);
        }
    }
}

/// Sentences of a line; a dot inside a name or number ends none.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let ends = |at: usize, mark: char| rest[at + mark.len_utf8()..].starts_with([' ', '\t']);
        let found = rest.char_indices().find(|(at, c)| matches!(c, '.' | '!' | '?' | ';' | '。') && ends(*at, *c));
        let (sentence, left) = match found {
            Some((at, mark)) => rest.split_at(at + mark.len_utf8()),
            None => (rest, ""),
        };
        rest = left.trim_start();
        (!sentence.is_empty()).then_some(sentence.trim())
    })
    .filter(|sentence| sentence.split_whitespace().count() > 2)
}

const DECIDED: [&str; 10] = [
    " decided ",
    " i chose ",
    " we chose ",
    " chose to ",
    " went with ",
    " opted ",
    " settled on ",
    " i picked ",
    " rather than ",
    " instead of ",
];
const LEFT: [&str; 24] = [
    " still need",
    " still to ",
    " still has to ",
    " still have to ",
    " still missing",
    " is missing",
    " are missing",
    " remains",
    " remaining ",
    " left to do",
    " is left ",
    " are left ",
    " not yet ",
    " yet to ",
    " todo",
    " to do: ",
    " haven't ",
    " have not ",
    " hasn't been ",
    " did not get to ",
    " didn't get to ",
    " next step",
    " the next session ",
    " unfinished",
];
const WARNED: [&str; 17] = [
    " warning",
    " careful",
    " beware",
    " caveat",
    " watch out",
    " known issue",
    " flaky",
    " breaks ",
    " fails",
    " failing",
    " is broken",
    " does not work",
    " doesn't work",
    " do not ",
    " don't ",
    " must not ",
    " never ",
];
const NOTED: [&str; 5] = [" note that ", " note: ", " be aware ", " keep in mind ", " remember "];
/// Verbs that say that something was done, at the beginning of a sentence or after its subject.
const DONE: [&str; 33] = [
    "implemented",
    "added",
    "created",
    "wrote",
    "written",
    "fixed",
    "built",
    "refactored",
    "updated",
    "removed",
    "deleted",
    "moved",
    "renamed",
    "finished",
    "completed",
    "replaced",
    "introduced",
    "extracted",
    "converted",
    "migrated",
    "wired",
    "integrated",
    "documented",
    "tested",
    "committed",
    "improved",
    "changed",
    "split",
    "merged",
    "ported",
    "configured",
    "installed",
    "verified",
];
/// Words before the verb.
const SUBJECTS: [&str; 17] = [
    "i",
    "i've",
    "we",
    "we've",
    "have",
    "has",
    "had",
    "been",
    "was",
    "were",
    "is",
    "are",
    "also",
    "then",
    "now",
    "successfully",
    "just",
];
const DONE_WORDS_MAX: usize = 8;

/// `I added …`, `Wrote …`, `The parser has been added`, `The lexer is done`.
fn is_done(low: &str) -> bool {
    let words: Vec<&str> = low.split(|c: char| !(c.is_alphanumeric() || c == '\'')).filter(|w| !w.is_empty()).collect();
    let start = words.iter().take_while(|word| SUBJECTS.contains(word)).count();
    if words.get(start).is_some_and(|word| DONE.contains(word)) {
        return true;
    }
    let is_passive = |pair: &[&str]| {
        matches!(pair[0], "is" | "are" | "was" | "were" | "been" | "now")
            && (DONE.contains(&pair[1]) || matches!(pair[1], "done" | "complete" | "works" | "work" | "ready"))
    };
    words.windows(2).take(DONE_WORDS_MAX).any(is_passive) || low.contains(" in place")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(items: &[OneLine]) -> Vec<&str> {
        items.iter().map(|item| &**item).collect()
    }

    #[test]
    fn sentences_are_sorted_by_what_they_say() {
        let written = read(
            "I've implemented the tokenizer in src/lexer.py and it handles v1.2 input. I decided to keep tokens as \
             tuples because they are immutable. The error recovery is not yet written. Careful: test_unicode is \
             flaky on slow machines. Note that the fixtures need Python 3.12. Should I go on?",
        );
        assert_eq!(
            texts(&written.completed),
            ["I've implemented the tokenizer in src/lexer.py and it handles v1.2 input."]
        );
        assert_eq!(&*written.decisions[0].description, "I decided to keep tokens as tuples");
        assert_eq!(written.decisions[0].rationale.as_deref(), Some("they are immutable"));
        assert_eq!(texts(&written.pending), ["The error recovery is not yet written."]);
        assert_eq!(&*written.issues[0].description, "Careful: test_unicode is flaky on slow machines.");
        assert_eq!(texts(&written.notes), ["Note that the fixtures need Python 3.12."]);
        assert_eq!((written.issues.len(), written.decisions.len()), (1, 1));
    }

    #[test]
    fn headings_of_any_form_are_understood() {
        let written = read(
            "Here is where things stand.\n\n## What I implemented\n- **Lexer** with spans\n- [x] Wrote phantom.py\n\n\
             **Design choices:**\n1. One pass because it is fast\n\nRemaining work:\n- Error recovery\n- [x] Names\n\n\
             ### ⚠️ Warnings\n- Deep input overflows the stack\n\n## Files\n- src/a.py\n```\nI added code\n```\n\
             Would you like me to continue?",
        );
        assert_eq!(texts(&written.completed), ["Lexer with spans", "Wrote phantom.py", "Names"]);
        assert_eq!(&*written.decisions[0].description, "One pass");
        assert_eq!(texts(&written.pending), ["Error recovery"]);
        assert_eq!(&*written.issues[0].description, "Deep input overflows the stack");
        assert_eq!((written.files.len(), written.notes.len()), (0, 0));
    }

    #[test]
    fn ticks_need_no_heading() {
        let written = read("Status:\n- [x] Wrote phantom.py\n- [ ] Docs\n- ✅ Lexer\n- Something else entirely");
        assert_eq!(texts(&written.completed), ["Wrote phantom.py", "Lexer"]);
        assert_eq!(texts(&written.pending), ["Docs"]);
    }

    #[test]
    fn chatter_and_our_own_words_say_nothing() {
        for message in [
            "",
            "OK.",
            "Let me look at the tests first.",
            "next:add a mutex",
            "Which one do you want?",
            "- \n-- \n##\n",
        ] {
            assert_eq!(read(message), WrittenHandoff::default(), "{message}");
        }
        let ours = "# Context Handoff\n\n## Completed\n- [x] Lexer\n\nPlease continue working on the pending items.\n";
        assert_eq!(read(ours), WrittenHandoff::default());
    }
}
