//! Which sentences of the agent's last message may say that something remains to be done, and which of them say nothing
//! else. Only these are told as open: of the others, most are about something that is done.

/// A sentence of this message with one of these may speak of something open: what is missing or waits. Each is
/// found at the beginning of a word. One line per language.
const CUES: &str = "remain|still|not yet|not done|todo:|to do|pending|next:|next step|the next step|follow-up|follow up|unfinished|not pushed|\
    not committed|uncommitted|unpushed|not started|needs|need to|you should|we should|deferred|untested|\
    not tested|haven't|hasn't|left to|recommend|before merging|\
    falta|pendiente|pendente|todavía|aún no|queda por|ainda|manca|ancora|da fare|\
    reste à|pas encore|il faut|à faire|\
    noch|fehlt|steht aus|offen|\
    jeszcze|brakuje|pozostał|ещё|еще|осталось|нужно|\
    まだ|残り|未|还需|还没|尚未|待|아직|남은|필요";

/// A question or an offer is no step: nobody has said yes.
pub(super) fn is_open(sentence: &str) -> bool {
    if sentence.trim_end().ends_with(['?', '？', '؟']) {
        return false;
    }
    let low = lower(sentence);
    CUES.split('|').any(|cue| {
        low.match_indices(cue).any(|(at, _)| {
            let is_spaced = cue.is_ascii() || cue.chars().next().is_some_and(|c| c < '\u{3000}');
            !is_spaced || !low[..at].ends_with(char::is_alphanumeric) && !is_in_name(&low, at)
        })
    })
}

/// Longer beginnings of a sentence are no label.
const LABEL_WORDS_MAX: usize = 4;

/// Whether it begins by saying so, as a label does: `Still to do: the docs`.
pub(super) fn names_a_step(sentence: &str) -> bool {
    let low = lower(sentence);
    let words = low.trim_start_matches(|c: char| !c.is_alphanumeric());
    let label = words.split([':', '：']).next().filter(|label| label.len() < words.len());
    let is_label = label.is_some_and(|label| label.split_whitespace().count() <= LABEL_WORDS_MAX);
    let is_step = ["next step", "the next step"].iter().any(|opening| words.starts_with(opening));
    is_step || is_label && CUES.split('|').any(|cue| words.starts_with(cue)) && !is_in_name(words, 0)
}

/// The words behind a label that says no more than that it is the next one.
pub(super) fn without_label(sentence: &str) -> &str {
    let Some((label, step)) = sentence.split_once([':', '：']) else { return sentence };
    let label = lower(label);
    let is_plain = NEXT.split('|').any(|next| label.trim() == next);
    if is_plain && !step.trim().is_empty() { step.trim_start() } else { sentence }
}

const NEXT: &str = "next|next step|next steps|the next step";

fn lower(sentence: &str) -> String {
    sentence.to_lowercase().replace('’', "'")
}

/// Whether the word at this place is part of the name of something in the code, such as `TODO.md`.
fn is_in_name(text: &str, at: usize) -> bool {
    let start = text[..at].rsplit(char::is_whitespace).next().map_or(at, |part| at - part.len());
    text[start..].split_whitespace().next().is_some_and(super::sentences::is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_told_apart_from_what_was_done() {
        for open in [
            "Committed as 1a2b3c4 (not pushed).",
            "Two tests are still red on CI.",
            "The migration hasn't been run yet.",
            "Falta documentar el límite.",
            "Der Test für Windows fehlt noch.",
            "テストはまだ失敗しています。",
            "Осталось обновить документацию.",
        ] {
            assert!(is_open(open), "{open}");
        }
        for done in [
            "All tests pass.",
            "Should I still open a pull request?",
            "I distilled the report.",
            "Added the limiter to proxy.go.",
            "Alles ist fertig.",
            "I finished one task of TODO.md.",
            "needs_review is a column now.",
            "Todos los errores están resueltos.",
        ] {
            assert!(!is_open(done), "{done}");
        }
    }

    #[test]
    fn a_label_that_says_next_is_not_repeated() {
        for (sentence, step) in [
            ("Next step: push it.", "push it."),
            ("Next: push it.", "push it."),
            ("Next step:", "Next step:"),
            ("Still to do: the docs.", "Still to do: the docs."),
            ("The next step is to push: it is late.", "The next step is to push: it is late."),
        ] {
            assert_eq!(without_label(sentence), step);
        }
    }

    #[test]
    fn a_step_begins_by_saying_so() {
        for step in [
            "Still to do: the docs.",
            "Next step: push it.",
            "The next step is still to move the policy.",
            "**Remaining:** two tests",
            "Falta: documentar el límite.",
            "残り：ドキュメント",
        ] {
            assert!(names_a_step(step), "{step}");
        }
        for other in [
            "Only three of them remain exported.",
            "Zero errors, the remaining ones are old.",
            "todo.md is done",
            "TODO.md: all of it is done.",
            "Still, all 212 tests pass and the lint is clean.",
            "To document the limit, I added a section.",
            "To double-check, I ran the suite again.",
            "Nochmals alle Tests ausgeführt, alles grün.",
            "Offenbar war der Cache schuld, jetzt behoben.",
            "Still I could find out what it was: the cache.",
        ] {
            assert!(!names_a_step(other), "{other}");
        }
    }
}
