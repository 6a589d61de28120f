//! Explicit rules in any language: "from now on", "never … again", "we use X here", "remember to".
//!
//! The lexicon says which concepts a sentence expresses and where; the patterns here say which of them make a rule, once
//! for all languages. A pattern looks at one sentence of the user's own words.

use super::CorrectionKind;
use crate::language::lexicon::{Hit, Reading};

const SENTENCE_WORDS_MIN: usize = 4;
const FACT_WORDS_MIN: usize = 3;
const SHORT_WORDS_MAX: usize = 25;
const LONG_WORDS_MAX: usize = 40;
/// Outspoken rules are approved without asking, if the user typed them.
const OUTSPOKEN: f64 = 0.92;
const LIKELY: f64 = 0.85;
const POSSIBLE: f64 = 0.78;

/// What a pattern found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Explicit {
    pub kind: CorrectionKind,
    pub confidence: f64,
}

type Fits = fn(&Sentence) -> bool;

/// The patterns, the most certain ones first.
const PATTERNS: &[(CorrectionKind, f64, Fits)] = &[
    (CorrectionKind::Rule, OUTSPOKEN, |it| it.0.has("henceforth") && it.commands()),
    (CorrectionKind::Rule, OUTSPOKEN, |it| {
        it.0.has("remember") && it.is_lasting() && it.0.says("remember", LONG_WORDS_MAX)
    }),
    (CorrectionKind::Rule, OUTSPOKEN, |it| it.0.opens_with("forbid", 1) && it.0.has("again") && !it.is_menu_answer()),
    (CorrectionKind::Rule, OUTSPOKEN, |it| it.is_long_enough() && it.opens_lasting() && it.is_about_work()),
    (CorrectionKind::Rule, LIKELY, |it| it.0.has("henceforth") && it.0.has_any(&["proceed", "agree", "we-use"])),
    (CorrectionKind::Rule, LIKELY, |it| it.0.says("convention", 6) || (it.0.has("convention") && it.has_colon())),
    (CorrectionKind::Style, LIKELY, |it| it.0.has("speak") && it.0.words.len() < SHORT_WORDS_MAX && it.instructs()),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.says("remember", 2) && it.is_long_enough() && it.is_said_to_the_agent()),
    (CorrectionKind::Rule, POSSIBLE, |it| it.addresses_lasting() && it.is_about_work() && !it.names_one_thing()),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.has("future") && it.commands() && !it.0.has("if") && it.0.has("forbid")),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.says("we-use", 5) && it.is_plain() && !it.points("we-use")),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.has("here") && it.demands() && it.is_plain()),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.has("generally") && it.wishes() && !it.0.has("if")),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.opens_with("whenever", 1) && (it.commands() || it.0.has("request"))),
    (CorrectionKind::Rule, POSSIBLE, |it| {
        it.0.opens_with("every", 1) && it.0.has("works") && it.commands() && !it.0.has("request")
    }),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.opens_with("forbid", 0) && it.0.has("because") && it.is_about_work()),
    (CorrectionKind::Rule, POSSIBLE, |it| {
        it.0.opens_with("forbid", 0) && it.0.count("keep") >= 2 && it.0.words.len() < SHORT_WORDS_MAX
    }),
    (CorrectionKind::Behaviour, POSSIBLE, |it| it.0.opens_with("yourself", 2) && it.is_pointer()),
    (CorrectionKind::Rule, POSSIBLE, |it| it.0.has("rulebook") && (it.0.has("forbid") || it.0.has("convention"))),
    (CorrectionKind::Fact, POSSIBLE, |it| {
        it.0.opens_with("environment", 8)
            && (FACT_WORDS_MIN..SHORT_WORDS_MAX).contains(&it.0.words.len())
            && !it.0.has_any(&["want", "if", "fault"])
    }),
];

/// Questions that remind of a rule: "didn't we agree to …?", "isn't that in CLAUDE.md?"
const REMINDERS: &[(CorrectionKind, f64, Fits)] = &[
    (CorrectionKind::Behaviour, POSSIBLE, |it| {
        it.0.has("supposed") && it.0.has_any(&["rulebook", "always", "never", "again"])
    }),
    (CorrectionKind::Behaviour, POSSIBLE, |it| it.0.has("supposed") && it.0.has_any(&["forbid", "we-use"])),
    (CorrectionKind::Behaviour, POSSIBLE, |it| {
        it.0.has("supposed") && !it.0.is_question && it.0.words.len() < SHORT_WORDS_MAX
    }),
];

/// A sentence as the patterns see it.
struct Sentence<'a>(&'a Reading, &'a str);

/// The rule in a sentence, if it states one. In a prompt that describes a task, only outspoken rules go beyond it.
pub(crate) fn explicit(reading: &Reading, text: &str, is_task: bool) -> Option<Explicit> {
    let sentence = Sentence(reading, text);
    let asks = reading.is_question || (reading.opens_with("question", 0) && !reading.has("remember"));
    let patterns = if asks { &[] } else { PATTERNS };
    let (kind, confidence, _) = patterns.iter().chain(REMINDERS).find(|(.., fits)| fits(&sentence))?;
    let is_enough = !is_task || *confidence >= LIKELY;
    is_enough.then_some(Explicit { kind: *kind, confidence: *confidence })
}

impl Sentence<'_> {
    fn is_long_enough(&self) -> bool {
        self.0.words.len() >= SENTENCE_WORDS_MIN
    }

    /// Neither hypothetical nor a whole paragraph.
    fn is_plain(&self) -> bool {
        !self.0.has("if") && self.0.words.len() < LONG_WORDS_MAX
    }

    fn is_lasting(&self) -> bool {
        self.0.has_any(&["always", "never"])
    }

    fn opens_lasting(&self) -> bool {
        self.0.opens_with("always", 0) || self.0.opens_with("never", 0)
    }

    /// "You must always …", "we never …".
    fn addresses_lasting(&self) -> bool {
        const ADDRESSED: &[&str] = &["you", "we", "please"];
        let is_addressed = |hit: &Hit| {
            let before = hit.start.checked_sub(1).map_or("", |at| self.0.words[at].as_str());
            let is_demanded = self.0.hits.iter().any(|one| one.concept == "oblige" && one.start + one.len == hit.start);
            hit.start <= self.0.opening + 4 && (ADDRESSED.contains(&before) || is_demanded)
        };
        self.0.hits.iter().any(|hit| matches!(hit.concept, "always" | "never") && is_addressed(hit))
    }

    fn names_one_thing(&self) -> bool {
        self.0.words.iter().any(|word| matches!(word.as_str(), "this" | "that" | "these" | "those"))
    }

    fn demands(&self) -> bool {
        self.0.has_any(&["forbid", "oblige", "always", "never"])
    }

    fn commands(&self) -> bool {
        self.0.has_any(&["forbid", "oblige", "always", "never", "keep", "request"])
    }

    fn instructs(&self) -> bool {
        self.commands() || self.0.opens_with("speak", 2) || self.0.has("want")
    }

    fn wishes(&self) -> bool {
        self.0.has_any(&["forbid", "oblige", "always", "never", "want", "prefer"])
    }

    /// About the agent's own work, not about what a product does.
    fn is_about_work(&self) -> bool {
        self.0.has_any(&["works", "proceed", "rulebook", "we-use", "speak"]) || self.0.opens_with("keep", 3)
    }

    /// Not "we should keep in mind", which is said to oneself, nor "remember when we …?".
    fn is_said_to_the_agent(&self) -> bool {
        self.0.words.get(self.0.opening).is_none_or(|word| word != "we") && !self.points("remember")
    }

    /// Whether the concept is followed by a word that points at one thing, or at the past.
    fn points(&self, concept: &str) -> bool {
        const POINTING: &[&str] = &["this", "that", "it", "the", "these", "those", "when"];
        let next =
            |hit: &Hit| self.0.words.get(hit.start + hit.len).is_some_and(|word| POINTING.contains(&word.as_str()));
        let mut hits = self.0.hits.iter().filter(|hit| hit.concept == concept);
        hits.all(next)
    }

    /// "Yes, and don't ask again for …" is an answer in an agent's menu.
    fn is_menu_answer(&self) -> bool {
        self.1.to_lowercase().contains("don't ask again")
    }

    fn has_colon(&self) -> bool {
        self.1.contains([':', '：'])
    }

    /// "You can check everything with `make check`": names what to run or where to look.
    fn is_pointer(&self) -> bool {
        let names = |word: &String| matches!(word.as_str(), "`" | "everything" | "access");
        self.0.words.iter().any(names) && self.is_plain()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::lexicon::{Lexicon, tokens};

    fn of(text: &str) -> Option<Explicit> {
        explicit(&Reading::new(text, Lexicon::of(&tokens(text))), text, false)
    }

    /// Rules, one list per language: from now on, never, always, remember, we use, never again.
    const RULES: [(&str, &[&str]); 11] = [
        (
            "en",
            &[
                "from now on use pnpm for everything",
                "Never commit to main",
                "always run the tests before a commit",
                "remember to rebase onto main first",
                "we use postgres in this project",
                "don't touch the generated files again",
                "by convention: our convention is one class per file",
                "whenever you add a file, you must update the index",
                "Each test should take less than 30 seconds",
            ],
        ),
        (
            "es",
            &[
                "a partir de ahora usa siempre pnpm",
                "nunca hagas commit en main",
                "siempre ejecuta los tests antes del commit",
                "recuerda actualizar la documentación",
                "en este proyecto usamos postgres",
                "no toques la configuración otra vez",
            ],
        ),
        (
            "pt",
            &[
                "a partir de agora use sempre pnpm",
                "nunca faça commit na main",
                "sempre rode os testes antes do commit",
                "lembre de atualizar a documentação",
                "neste projeto usamos postgres",
                "não mexa na configuração de novo",
            ],
        ),
        (
            "fr",
            &[
                "à partir de maintenant utilise pnpm",
                "ne commit jamais sur main, désormais",
                "toujours lancer les tests avant un commit",
                "n'oublie pas de mettre à jour la documentation",
                "dans ce projet on utilise postgres",
                "parle-moi en français",
            ],
        ),
        (
            "de",
            &[
                "ab jetzt bitte immer pnpm verwenden",
                "niemals direkt auf main committen",
                "immer die Tests vor dem Commit laufen lassen",
                "denk daran, die Dokumentation zu aktualisieren",
                "in diesem Projekt verwenden wir postgres",
                "antworte mir bitte auf Deutsch",
            ],
        ),
        (
            "it",
            &[
                "d'ora in poi usa sempre pnpm",
                "mai fare commit su main",
                "sempre eseguire i test prima del commit",
                "ricordati di aggiornare la documentazione",
                "in questo progetto usiamo postgres",
                "non toccare la configurazione di nuovo",
            ],
        ),
        (
            "pl",
            &[
                "od teraz zawsze używaj pnpm",
                "nigdy nie commituj na main, to zasada jest",
                "pamiętaj aby zawsze aktualizować dokumentację",
                "zapamiętaj aby tak nazywać pliki",
                "w tym projekcie używamy postgres",
            ],
        ),
        (
            "ru",
            &[
                "с этого момента всегда используй pnpm",
                "никогда не делай коммит в main",
                "всегда запускай тесты перед коммитом",
                "не забудь обновить документацию проекта",
                "в этом проекте мы используем postgres",
            ],
        ),
        (
            "ja",
            &[
                "今後は必ずpnpmを使ってください",
                "mainには二度と直接コミットしないでください、今後",
                "これからは日本語で答えてください",
                "コミット前にテストすることを覚えておいて、必ず",
                "このプロジェクトではPostgresを使っています",
            ],
        ),
        (
            "zh",
            &[
                "从现在开始请一直使用pnpm",
                "永远不要直接提交到main",
                "记住每次提交之前都要运行测试",
                "这个项目我们使用postgres",
                "请用中文回答我",
            ],
        ),
        (
            "ko",
            &[
                "앞으로 항상 pnpm을 사용해",
                "절대 main에 직접 커밋하지 마",
                "이제부터 한국어로 답해 주세요",
                "항상 커밋 전에 테스트를 실행해",
            ],
        ),
    ];

    #[test]
    fn explicit_rules_are_found_in_every_language() {
        let missed: Vec<&str> = RULES
            .iter()
            .flat_map(|(_, texts)| texts.iter().copied())
            .filter(|text| of(text).is_none_or(|found| !found.kind.is_durable()))
            .collect();
        assert!(missed.is_empty(), "{missed:#?}");
    }

    #[test]
    fn the_language_of_a_rule_is_recognized() {
        for (language, texts) in RULES {
            for text in texts {
                assert_eq!(Lexicon::of(&tokens(text)).name, language, "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_rule() {
        for text in [
            "why does it never finish?",
            "the button should always be visible",
            "ah I remember now, the branch was not pushed",
            "yes, and don't ask again for example.com",
            "I prefer truncation.",
            "check all places where we use the guest name",
            "I did not say commit anything.",
            "add a test for the parser",
            "let's use tabs here",
            "¿por qué nunca termina?",
            "el botón debe estar siempre visible",
            "warum geht das nie?",
            "der Knopf soll immer sichtbar sein",
            "pourquoi ça ne marche jamais ?",
            "dlaczego to nigdy nie działa?",
            "почему это никогда не работает?",
            "なぜ動かないのですか？",
            "为什么总是失败？",
            "왜 항상 실패하나요?",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn the_environment_is_a_fact() {
        for text in [
            "deploys happen by themselves on push, it deploys itself",
            "we are in a VM without docker",
            "I use Zed",
            "that is intentional",
            "das ist Absicht",
            "o nome é intencional",
        ] {
            assert_eq!(of(text).map(|found| found.kind), Some(CorrectionKind::Fact), "{text}");
        }
    }

    #[test]
    fn a_long_prompt_needs_an_outspoken_rule() {
        let read = |text: &str| explicit(&Reading::new(text, Lexicon::of(&tokens(text))), text, true).is_some();
        assert!(read("from now on use pnpm"));
        assert!(!read("we use postgres in this project"));
    }
}
