//! Does a brief help who reads it? A model is asked about each moment of a gold standard, and the facts in its answers are
//! counted. It is given nothing, our brief, or something else with as many tokens.
//!
//! You bring the data of `told`, and any server that speaks OpenAI's protocol (`--endpoint`, with `--model` and a key in
//! `CERBERUS_READER_KEY` if it needs them). Every answer is appended to `--answers FILE` at once, and the same text is not
//! given twice, so a run may be interrupted. Only moments are counted that every arm has an answer for; another program is
//! compared at those that it has a text for.

mod answers;
mod arms;
mod ask;
mod cut;
mod facts;
mod interval;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Result, bail, ensure};

pub use self::answers::Answers;
use self::arms::{ARMS, BRIEF, PEER, QUOTES, TAIL};
use self::ask::{Endpoint, ask_all};
use self::facts::{GoldMoment, QUESTIONS, names};
use self::interval::{Named, difference, of_difference, of_share, share, sum};
use crate::continuity::lines;
use crate::measure::{say, table};
use crate::programs::Programs;

/// What only this benchmark takes.
#[derive(Debug, Default)]
pub struct ReaderOptions {
    pub gold: Option<PathBuf>,
    pub endpoint: Option<String>,
    pub model: Option<String>,
    pub answers: Option<PathBuf>,
    /// A folder with a text of another program for each moment.
    pub peer: Option<PathBuf>,
    /// So many requests at once.
    pub jobs: Option<usize>,
    /// Only so many moments, of as many people as possible.
    pub moments: Option<usize>,
}

/// Fewer people say too little about other people.
const PEOPLE_MIN: usize = 15;

/// The facts that an answer could have had, and those it had, by question.
type Counts = [Named; QUESTIONS.len()];
/// The counts of one moment, by arm.
type Moment<'a> = (&'a str, BTreeMap<&'static str, Counts>);

pub fn run(programs: &Programs, options: &ReaderOptions) -> Result<()> {
    let (Some(data), Some(endpoint)) = (&programs.data, &options.endpoint) else {
        return say("needs --data DIR, as `told` does, and --endpoint URL of a server that speaks OpenAI's protocol");
    };
    let path = options.gold.clone().unwrap_or_else(|| data.join("gold.jsonl"));
    let gold = spread(lines(&path)?, options.moments)?;
    let kept = options.answers.as_deref().map(arms::kept_beside);
    let texts = arms::texts(programs, data, &gold, options.peer.as_deref(), kept.as_deref())?;
    let mut answers = Answers::open(options.answers.as_deref())?;
    let endpoint = Endpoint::new(endpoint, options.model.as_deref());
    let mut wanted = Vec::new();
    for (gold, texts) in gold.iter().zip(&texts) {
        for arm in ARMS {
            if let Some(text) = texts.get(arm) {
                wanted.push((format!("{}, {arm}", gold.boundary), endpoint.request(text)?));
            }
        }
    }
    let keys: Vec<(String, String)> = wanted.iter().map(|(of, request)| (of.clone(), request.key.clone())).collect();
    let failed = ask_all(wanted, options.jobs.unwrap_or(1), &mut answers, |request| endpoint.ask(request))?;
    for (of, error) in &failed {
        say(&format!("no answer for {of}: {error}"))?;
    }
    let key_of: BTreeMap<String, String> = keys.into_iter().collect();
    let mut moments: Vec<Moment> = Vec::new();
    for gold in &gold {
        let answer = |arm: &&'static str| answers.get(key_of.get(&format!("{}, {arm}", gold.boundary))?);
        let counted = ARMS.iter().filter_map(|arm| Some((*arm, counts(gold, answer(arm)?)))).collect();
        moments.push((gold.person(), counted));
    }
    let asked = moments.len();
    moments.retain(|(_, arms)| ARMS.iter().all(|arm| *arm == PEER || arms.contains_key(arm)));
    if moments.is_empty() {
        bail!("no moment has an answer for every text");
    }
    print(&moments)?;
    if moments.len() < asked {
        say(&format!("{} moments lack an answer; started again, only those are asked", asked - moments.len()))?;
    }
    Ok(())
}

/// So many moments: the first of each person, then the second, and so on.
fn spread(gold: Vec<GoldMoment>, moments_max: Option<usize>) -> Result<Vec<GoldMoment>> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut numbered: Vec<(usize, GoldMoment)> = Vec::new();
    for gold in gold {
        let number = seen.entry(gold.person().to_string()).or_default();
        numbered.push((*number, gold));
        *number += 1;
    }
    numbered.sort_by_key(|(number, _)| *number);
    if let Some(moments_max) = moments_max {
        ensure!(
            moments_max >= PEOPLE_MIN.min(seen.len()),
            "--moments needs {PEOPLE_MIN} at least, one for each person"
        );
        numbered.truncate(moments_max);
    }
    Ok(numbered.into_iter().map(|(_, gold)| gold).collect())
}

fn counts(gold: &GoldMoment, answer: &str) -> Counts {
    gold.facts().map(|facts| (facts.iter().filter(|fact| names(answer, fact)).count(), facts.len()))
}

fn print(moments: &[Moment]) -> Result<()> {
    let mut rows = Vec::new();
    for arm in ARMS {
        let of_arm: Vec<(&str, Counts)> =
            moments.iter().filter_map(|(person, arms)| Some((*person, *arms.get(arm)?))).collect();
        if of_arm.is_empty() {
            continue;
        }
        let question = |number: usize| percent(of_arm.iter().map(|(_, counts)| counts[number]));
        let mut row = vec![arm.to_string(), of_arm.len().to_string()];
        row.extend((0..QUESTIONS.len()).map(question));
        row.push(percent(of_arm.iter().flat_map(|(_, counts)| counts.iter().copied())));
        let mut people: BTreeMap<&str, Vec<Named>> = BTreeMap::new();
        of_arm.iter().for_each(|(person, counts)| people.entry(person).or_default().extend(counts));
        let people: Vec<Named> = people.into_values().map(|counts| sum(counts.into_iter())).collect();
        let (low, high) = of_share(&people);
        row.push(format!("{low:.0} to {high:.0}"));
        rows.push(row);
    }
    let columns = ["given", "moments", "doing", "files", "fails", "decided", "to do", "all facts", "95 %"];
    table(&columns, &rows)?;
    say("")?;
    for other in [TAIL, QUOTES, PEER] {
        let pairs = paired(moments, other);
        if !pairs.is_empty() {
            let (low, high) = of_difference(&pairs);
            let more = difference(pairs.into_iter());
            say(&format!("{BRIEF} − {other}: {more:+.1} points (95 %: {low:+.1} to {high:+.1})"))?;
        }
    }
    let people: BTreeSet<&str> = moments.iter().map(|(person, _)| *person).collect();
    say(&format!(
        "{} moments of {} people; facts named, of those in the gold standard; 95 % of resampled people",
        moments.len(),
        people.len()
    ))
}

/// All facts with our brief and with another text, by person, at the moments that have both.
fn paired(moments: &[Moment], other: &str) -> Vec<(Named, Named)> {
    let mut people: BTreeMap<&str, (Named, Named)> = BTreeMap::new();
    for (person, arms) in moments {
        if let (Some(ours), Some(theirs)) = (arms.get(BRIEF), arms.get(other)) {
            let (mine, other) = people.entry(person).or_default();
            *mine = sum([*mine].into_iter().chain(*ours));
            *other = sum([*other].into_iter().chain(*theirs));
        }
    }
    people.into_values().collect()
}

fn percent(counts: impl Iterator<Item = Named>) -> String {
    let counts = sum(counts);
    if counts.1 == 0 { "–".to_string() } else { format!("{:.0} %", share(counts)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(person: &str, number: usize) -> GoldMoment {
        let gold = format!(r#"{{"boundary":"{person}-{number}","stopped":{{}},"open":[],"decisions":[]}}"#);
        serde_json::from_str(&gold).unwrap()
    }

    #[test]
    fn few_moments_are_of_many_people() {
        let all =
            || (0..16).flat_map(|person| (0..3).map(move |number| moment(&format!("p{person}"), number))).collect();
        let few = spread(all(), Some(20)).unwrap();
        let people: BTreeSet<&str> = few.iter().map(GoldMoment::person).collect();
        assert_eq!((few.len(), people.len()), (20, 16));
        assert_eq!((few[15].boundary.as_str(), few[16].boundary.as_str()), ("p15-0", "p0-1"));
        assert!(spread(all(), Some(14)).is_err());
        assert_eq!(spread(all(), None).unwrap().len(), 48);
    }

    #[test]
    fn another_program_is_compared_where_it_has_a_text() {
        let counts = |named| [(named, 10), (0, 0), (0, 0), (0, 0), (0, 0)];
        let moments: Vec<Moment> = vec![
            ("a", BTreeMap::from([(BRIEF, counts(8)), (TAIL, counts(4)), (PEER, counts(2))])),
            ("a", BTreeMap::from([(BRIEF, counts(2)), (TAIL, counts(4))])),
            ("b", BTreeMap::from([(BRIEF, counts(5)), (TAIL, counts(5))])),
        ];
        assert_eq!(paired(&moments, TAIL), [((10, 20), (8, 20)), ((5, 10), (5, 10))]);
        assert_eq!(paired(&moments, PEER), [((8, 10), (2, 10))]);
        assert!((difference(paired(&moments, PEER).into_iter()) - 60.0).abs() < 1e-9);
    }
}
