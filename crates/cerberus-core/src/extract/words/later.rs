//! Work that a sentence puts off, in any language: for later, after something else, or onto a list.

use crate::language::lexicon::Reading;

/// A longer prompt describes a task, and its order of steps belongs to that task.
const TASK_BYTES_MIN: usize = 1500;
const WORDS_MIN: usize = 3;
/// "We can do that later": the sentence ends with it.
const AFTER_WORDS_MAX: usize = 2;
const SHORT_WORDS_MAX: usize = 25;

pub(super) fn is_put_off(reading: &Reading, prompt_len: usize) -> bool {
    let words = reading.words.len();
    if reading.is_question || prompt_len > TASK_BYTES_MIN || words < WORDS_MIN {
        return false;
    }
    let ends_with = |concept: &str| {
        let is_last = |hit: &crate::language::lexicon::Hit| {
            hit.concept == concept && hit.start + hit.len + AFTER_WORDS_MAX >= words
        };
        reading.hits.iter().any(is_last)
    };
    let is_reported = reading.has("fault") && !reading.has("lets");
    let later = reading.has("later") && (reading.has("for-now") || (ends_with("later") && words <= SHORT_WORDS_MAX));
    let afterwards = reading.has("finished") && !reading.has("see");
    ((later || afterwards) && !is_reported || reading.has("track")) && !reading.opens_with("if", 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::lexicon::{Lexicon, tokens};

    #[test]
    fn work_is_put_off_in_any_language() {
        let is_next = |text: &str| is_put_off(&Reading::new(text, Lexicon::of(&tokens(text))), text.len());
        for text in [
            "hide it for now, we can use it later",
            "we will handle the calendar later on",
            "delete the plan file when finished",
            "file an issue for the flaky test",
            "make a note so we don't forget the login",
            "eso lo vemos más adelante",
            "a gente faz o login mais tarde",
            "on fera la connexion plus tard",
            "das machen wir später",
            "lo facciamo più avanti",
            "zrobimy to później",
            "логин сделаем позже",
            "ログインはあとでいい",
            "登录我们稍后再做",
            "로그인은 나중에 하자",
        ] {
            assert!(is_next(text), "{text}");
        }
        for text in [
            "use it now",
            "can we do that later?",
            "if it runs later it overwrites the entries that were stored before",
            "later hooks are not affected because the settings file runs them as separate commands",
        ] {
            assert!(!is_next(text), "{text}");
        }
        assert!(!is_put_off(&Reading::new("we do that later", Lexicon::of(&[])), 2 * TASK_BYTES_MIN));
    }
}
