//! Which sentences of the agent's last message say that something remains to be done.

/// A sentence of this message with one of these speaks of something open: what is missing or waits. Each is
/// found at the beginning of a word. One line per language.
const CUES: &str = "remain|still|not yet|todo|to do|pending|next step|follow-up|follow up|unfinished|not pushed|\
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
    let low = sentence.to_lowercase().replace('’', "'");
    CUES.split('|').any(|cue| {
        low.match_indices(cue).any(|(at, _)| {
            let is_spaced = cue.is_ascii() || cue.chars().next().is_some_and(|c| c < '\u{3000}');
            !is_spaced || !low[..at].ends_with(char::is_alphanumeric)
        })
    })
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
        ] {
            assert!(!is_open(done), "{done}");
        }
    }
}
