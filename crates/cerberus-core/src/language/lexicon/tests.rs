use std::collections::HashSet;

use super::*;

const FILES: [(&str, &str); 11] = [
    ("en", include_str!("en.txt")),
    ("es", include_str!("es.txt")),
    ("pt", include_str!("pt.txt")),
    ("fr", include_str!("fr.txt")),
    ("de", include_str!("de.txt")),
    ("it", include_str!("it.txt")),
    ("pl", include_str!("pl.txt")),
    ("ru", include_str!("ru.txt")),
    ("ja", include_str!("ja.txt")),
    ("zh", include_str!("zh.txt")),
    ("ko", include_str!("ko.txt")),
];

fn read(text: &str) -> Reading {
    Reading::new(text, Lexicon::of(&tokens(text)))
}

#[test]
fn every_language_has_every_concept() {
    let concepts = |text: &'static str| -> HashSet<&str> {
        text.lines().map(|line| line.split_once(": ").unwrap_or_else(|| panic!("{line}")).0).collect()
    };
    let english = concepts(FILES[0].1);
    for (name, text) in FILES {
        assert_eq!(concepts(text).len(), text.lines().count(), "{name}: a concept is listed twice");
        let missing: Vec<_> = english.difference(&concepts(text)).copied().collect();
        assert!(missing.iter().all(|concept| *concept == "if"), "{name}: {missing:?}");
    }
}

#[test]
fn a_language_is_recognized_by_its_words() {
    for (name, text) in [
        ("en", "from now on use tabs"),
        ("en", "xyzzy"),
        ("es", "a partir de ahora usa tabs"),
        ("pt", "a partir de agora use tabs"),
        ("fr", "à partir de maintenant utilise des tabulations"),
        ("de", "ab jetzt bitte immer Tabs verwenden"),
        ("it", "d'ora in poi usa i tab"),
        ("pl", "od teraz zawsze używaj tabulatorów"),
        ("ru", "с этого момента всегда используй табы"),
        ("ja", "今後は必ずタブを使って"),
        ("zh", "以后请一直使用制表符"),
        ("ko", "앞으로 항상 탭을 사용해"),
    ] {
        assert_eq!(read(text).lexicon.name, name, "{text}");
    }
}

#[test]
fn the_same_concept_is_found_in_every_language() {
    for (concept, texts) in [
        (
            "not-work",
            [
                "it still doesn't work",
                "todavía no funciona",
                "ainda não funciona",
                "ça ne marche pas",
                "das geht nicht",
                "non funziona",
                "to nie działa",
                "это не работает",
                "まだ動かない",
                "还是不行",
                "아직 안 돼",
            ],
        ),
        (
            "remember",
            [
                "remember to rebase",
                "recuerda hacer rebase",
                "lembre de fazer rebase",
                "n'oublie pas de rebaser",
                "denk daran zu rebasen",
                "ricordati di fare rebase",
                "pamiętaj o rebase",
                "не забудь про ребейз",
                "リベースを覚えておいて",
                "记住要变基",
                "리베이스 잊지 마",
            ],
        ),
    ] {
        for text in texts {
            assert!(read(text).has(concept), "{concept}: {text}");
        }
    }
}

#[test]
fn positions_count_from_the_sentence_proper() {
    let reading = read("ok, and please never push to main");
    assert!(reading.opens_with("never", 0) && reading.says("never", 0));
    assert!(!read("the importer will never push to main").opens_with("never", 1));
    assert!(!read("ah I remember now").says("remember", 3));
    assert!(read("Why?").is_question && read("なぜ？").is_question);
}

#[test]
fn words_of_any_script() {
    assert_eq!(tokens("Don’t use v2.10!"), ["don't", "use", "v0", "0", "!"]);
    assert_eq!(tokens("タブ use"), ["タ", "ブ", "use"]);
}

#[test]
fn every_phrase_is_found_as_it_is_written() {
    for ((name, text), lexicon) in FILES.iter().zip(&LEXICONS) {
        assert_eq!(*name, lexicon.name);
        for (concept, list) in text.lines().filter_map(|line| line.split_once(": ")) {
            for phrase in list.split('|').map(str::trim) {
                if concept == "words" {
                    assert!(lexicon.is_frequent(phrase), "{name}: {phrase}");
                    continue;
                }
                let words = tokens(phrase);
                let is_it = |hit: &Hit| (hit.concept, hit.start, hit.len) == (concept, 0, words.len());
                assert!(lexicon.hits(&words).iter().any(is_it), "{name}: {phrase}");
            }
        }
    }
    assert!(!LEXICONS[ENGLISH].is_frequent("der") && LEXICONS[4].is_frequent("der"));
}
