//! Finding passages by words. The index says which passages hold which term; the text of the most promising ones is read
//! and decides.

use std::collections::HashMap;

use cerberus_agents::conversation::PartKind;
use cerberus_os::home::Home;
use cerberus_recall::search::query::{Query, QueryTerm, WantedMatch};
use cerberus_recall::search::score::rarity;
use cerberus_record::id::{Agent, ProjectId};
use cerberus_record::time::Timestamp;
use cerberus_text::terms;
use rusqlite::params;

use crate::error::ArchiveError;
use crate::index::{self, ArchiveIndex, PassagePlace, is_damage};
use crate::lines::LineReader;
use crate::terms::{KINDS, PASSAGE_BYTES, passages};

/// A term that more passages have says little; only the newest of those that are meant count.
const HITS_MAX: usize = 30_000;

/// How many passages are read.
const READ_MAX: usize = 60;

/// How many are read for each that is wanted: those beside a better one are not shown.
const READ_PER_RESULT: usize = 3;

/// How many are read to find a phrase: of those that have its words, few may have them one after the other.
const READ_FOR_PHRASE_MAX: usize = 500;

/// How many of one conversation are read: others may be meant.
const READ_PER_BLOCK_MAX: usize = 6;

/// What words that are close together are worth.
const NEAR: f64 = 0.25;

pub struct PassageQuery<'a> {
    pub text: &'a str,
    pub limit: usize,
    /// Only these projects; all if empty.
    pub projects: &'a [ProjectId],
    pub agent: Option<&'a str>,
    pub kinds: &'a [PartKind],
    /// Only sessions that touched a file whose path ends so.
    pub file: Option<&'a str>,
    pub since: Timestamp,
    pub until: Timestamp,
}

/// A passage that was found.
#[derive(Clone, Debug)]
pub struct FoundPassage {
    pub agent: Agent,
    pub session: String,
    pub kind: PartKind,
    pub at: Timestamp,
    pub text: String,
    /// Between 0 and 1.
    pub score: f64,
}

/// The passages that match best, best first. If the index turns out to be damaged, it is made anew.
pub fn search(home: &Home, query: &PassageQuery) -> Result<Vec<FoundPassage>, ArchiveError> {
    found(home, query).or_else(|error| {
        if !is_damage(&error) {
            return Err(error);
        }
        index::make_anew(home)?;
        found(home, query)
    })
}

fn found(home: &Home, query: &PassageQuery) -> Result<Vec<FoundPassage>, ArchiveError> {
    let Some(index) = ArchiveIndex::open(home)? else { return Ok(Vec::new()) };
    let asked = Query::parse(query.text);
    if asked.terms.is_empty() {
        return Ok(Vec::new());
    }
    let meant = Meant::of(&index, query)?;
    let (hits, worths) = hits(&index, &asked, &meant)?;
    let places = shortlist(&index, query, &asked, &hits, &worths)?;
    let mut reader = LineReader::new(home, &index);
    let mut found: Vec<(PassagePlace, FoundPassage)> = Vec::new();
    for (place, share) in places {
        // The words of a passage can be no closer together than side by side.
        let better = apart(&found).take(query.limit).take_while(|better| better.score > share);
        if better.count() >= query.limit {
            break;
        }
        let Some((part, head)) = reader.part(&place)? else { continue };
        let Some((_, text)) = passages(&part.text).find(|(start, _)| *start == place.start) else { continue };
        if !asked.has_phrases(text) {
            continue;
        }
        let score = share * (1.0 - NEAR + NEAR * nearness(&asked, text));
        let (agent, session, kind, at) = (head.agent, head.session, place.kind, place.at);
        let passage = FoundPassage { agent, session, kind, at, text: text.to_string(), score };
        let is_better = |(_, other): &(PassagePlace, FoundPassage)| (other.score, other.at) >= (score, at);
        found.insert(found.partition_point(is_better), (place, passage));
    }
    Ok(apart(&found).take(query.limit).cloned().collect())
}

/// The passages, best first, without those beside a better one.
fn apart(found: &[(PassagePlace, FoundPassage)]) -> impl Iterator<Item = &FoundPassage> {
    let mut shown: Vec<&PassagePlace> = Vec::new();
    found.iter().filter_map(move |(place, passage)| {
        let is_apart = !shown.iter().any(|better| better.is_beside(place));
        is_apart.then(|| shown.push(place)).map(|()| passage)
    })
}

/// The terms that each passage has, one bit each, and what each term is worth.
fn hits(index: &ArchiveIndex, asked: &Query, meant: &Meant) -> Result<(HashMap<i64, u32>, Vec<f64>), ArchiveError> {
    let all: usize = index.connection.query_row("SELECT coalesce(max(id), 0) FROM passage", [], |row| row.get(0))?;
    let mut hits: HashMap<i64, u32> = HashMap::new();
    let mut worths = Vec::new();
    for (bit, term) in asked.terms.iter().enumerate() {
        let rows = rows(index, term, meant)?;
        worths.push(rarity(rows.len(), all));
        rows.into_iter().for_each(|row| *hits.entry(row).or_default() |= 1 << bit);
    }
    // The words of a phrase may be those that every passage has.
    let phrases: Vec<String> = asked.phrases.iter().flatten().map(|word| quoted(word)).collect();
    if !phrases.is_empty() {
        let having = matching(index, &phrases.join(" AND "), meant)?;
        hits = having.into_iter().map(|row| (row, hits.get(&row).copied().unwrap_or_default())).collect();
    }
    Ok((hits, worths))
}

fn rows(index: &ArchiveIndex, term: &QueryTerm, meant: &Meant) -> Result<Vec<i64>, ArchiveError> {
    let beginning = if term.wanted == WantedMatch::Beginning { " *" } else { "" };
    matching(index, &format!("{}{beginning}", quoted(&term.text)), meant)
}

fn quoted(word: &str) -> String {
    format!("\"{}\"", word.replace('"', "\"\""))
}

/// The newest passages that match, of those that are meant.
fn matching(index: &ArchiveIndex, words: &str, meant: &Meant) -> Result<Vec<i64>, ArchiveError> {
    let sql = "SELECT rowid FROM words WHERE words MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC";
    let mut statement = index.connection.prepare_cached(sql)?;
    let (first, last) = meant.bounds();
    let mut rows = statement.query(params![words, first, last])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        if meant.has(index, id)? {
            found.push(id);
        }
        if found.len() >= HITS_MAX {
            break;
        }
    }
    Ok(found)
}

/// The passages to read, with the share of the query's worth that they have.
fn shortlist(
    index: &ArchiveIndex,
    query: &PassageQuery,
    asked: &Query,
    hits: &HashMap<i64, u32>,
    worths: &[f64],
) -> Result<Vec<(PassagePlace, f64)>, ArchiveError> {
    let total: f64 = worths.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let worth = |bits: u32| (0..worths.len()).filter(|bit| bits >> bit & 1 == 1).map(|bit| worths[bit]).sum::<f64>();
    let mut ranked: Vec<(f64, i64)> = hits.iter().map(|(row, bits)| (worth(*bits) / total, *row)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let (read_max, per_block_max) = match asked.phrases.is_empty() {
        true => (READ_MAX, READ_PER_BLOCK_MAX),
        false => (READ_FOR_PHRASE_MAX, READ_FOR_PHRASE_MAX),
    };
    let mut of_block: HashMap<i64, usize> = HashMap::new();
    let mut found = Vec::new();
    for (share, row) in ranked {
        if found.len() >= read_max.max(READ_PER_RESULT * query.limit) {
            break;
        }
        let Some(place) = index.passage(row)? else { continue };
        if !covers(query, &place) {
            continue;
        }
        let count = of_block.entry(place.block).or_default();
        *count += 1;
        if *count <= per_block_max {
            found.push((place, share));
        }
    }
    Ok(found)
}

impl PassagePlace {
    /// Whether two passages share words, or are the same.
    fn is_beside(&self, other: &PassagePlace) -> bool {
        (self.block, self.line, self.part) == (other.block, other.line, other.part)
            && self.start.abs_diff(other.start) <= PASSAGE_BYTES
    }
}

/// The passages that a query is about.
struct Meant<'q> {
    /// The first of each row of passages, and the first that is not meant; `None` for all.
    passages: Option<Vec<(i64, i64)>>,
    kinds: &'q [PartKind],
}

impl<'q> Meant<'q> {
    fn of(index: &ArchiveIndex, query: &PassageQuery<'q>) -> Result<Meant<'q>, ArchiveError> {
        let PassageQuery { projects, agent, file, since, kinds, .. } = *query;
        if projects.is_empty() && agent.is_none() && file.is_none() && since == Timestamp::EPOCH {
            return Ok(Meant { passages: None, kinds });
        }
        let projects: Vec<&str> = projects.iter().map(ProjectId::as_str).collect();
        let projects = serde_json::to_string(&projects)?;
        let sql = "SELECT passages_from, (last_at IS NULL OR last_at >= ?4) AND conversation IN
                (SELECT id FROM conversation WHERE (?1 = '[]' OR project IN (SELECT value FROM json_each(?1)))
                AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR EXISTS
                    (SELECT 1 FROM file WHERE file.conversation = conversation.id
                    AND (path = ?3 OR substr(path, -length(?3) - 1) = '/' || ?3))))
            FROM block ORDER BY id";
        let mut statement = index.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![projects, agent, file, since.millis()])?;
        // The passages of a block follow those of the block before it.
        let (mut passages, mut open) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let (from, is_meant): (i64, bool) = (row.get(0)?, row.get(1)?);
            match (open, is_meant) {
                (None, true) => open = Some(from),
                (Some(first), false) => {
                    passages.push((first, from));
                    open = None;
                }
                _ => {}
            }
        }
        passages.extend(open.map(|first| (first, i64::MAX)));
        Ok(Meant { passages: Some(passages), kinds })
    }

    /// The first passage that may be meant, and the last.
    fn bounds(&self) -> (i64, i64) {
        match self.passages.as_deref() {
            None => (0, i64::MAX),
            Some([]) => (0, -1),
            Some([first, .., last]) => (first.0, last.1),
            Some([only]) => *only,
        }
    }

    fn has(&self, index: &ArchiveIndex, id: i64) -> Result<bool, ArchiveError> {
        let is_inside = self.passages.as_ref().is_none_or(|all| {
            let at = all.partition_point(|(first, _)| *first <= id).checked_sub(1);
            at.is_some_and(|at| id < all[at].1)
        });
        if !is_inside || self.kinds.is_empty() {
            return Ok(is_inside);
        }
        Ok(index.passage(id)?.is_some_and(|place| self.kinds.contains(&place.kind)))
    }
}

fn covers(query: &PassageQuery, place: &PassagePlace) -> bool {
    let is_kind = match query.kinds {
        [] => KINDS.contains(&place.kind),
        kinds => kinds.contains(&place.kind),
    };
    is_kind && (query.since..=query.until).contains(&place.at)
}

/// From 0 to 1: how close together the words of the query are, where they are closest.
fn nearness(asked: &Query, text: &str) -> f64 {
    let wanted: Vec<&str> = asked.terms.iter().map(|term| &*term.text).collect();
    let mut last: Vec<Option<usize>> = vec![None; wanted.len()];
    let mut best = 0.0_f64;
    for (at, term) in terms::terms(text).iter().enumerate() {
        let Some(which) = wanted.iter().position(|word| *word == term.text) else { continue };
        last[which] = Some(at);
        let known: Vec<usize> = last.iter().flatten().copied().collect();
        let span = at - known.iter().min().copied().unwrap_or(at) + 1;
        let share = known.len() as f64 / wanted.len() as f64;
        best = best.max(share * (known.len() as f64 / span as f64).sqrt());
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{BlockHead, BlockPlace};
    use crate::terms::{LineTerms, PassageTerms};

    #[test]
    fn a_common_word_is_found_in_an_old_project() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let index = ArchiveIndex::open_writable(&home).unwrap();
        index.begin().unwrap();
        let [old, new] = ["old", "new"].map(|name| ProjectId::from_stored(name.to_string()));
        let common = |kind: usize| PassageTerms { part: 0, start: 0, kind, words: "common".to_string() };
        for (offset, project, passages) in [(0, &old, 2), (1, &new, HITS_MAX + 10)] {
            let head = BlockHead {
                agent: Agent::MANUAL,
                session: project.as_str().to_string(),
                project: project.clone(),
                root: "/p".into(),
                source: "/t".into(),
                is_main: true,
                from: 0,
                to: 1,
                mark: 0,
                first_at: None,
                last_at: None,
                open: Default::default(),
                text_bytes: 1,
            };
            let passages = (0..passages).map(|_| common(0)).chain([common(4)]).collect();
            let terms = LineTerms { passages, ..LineTerms::default() };
            index.add(BlockPlace { segment: 1, offset, bytes: 1 }, &head, [Some(terms)].into_iter()).unwrap();
        }
        index.commit().unwrap();
        let count = |projects: &[ProjectId], kinds: &[PartKind]| {
            let (since, until) = (Timestamp::EPOCH, Timestamp::LAST);
            let query = PassageQuery { text: "", limit: 9, projects, agent: None, kinds, file: None, since, until };
            matching(&index, "common", &Meant::of(&index, &query).unwrap()).unwrap().len()
        };
        assert_eq!(count(&[], &[]), HITS_MAX);
        assert_eq!(count(std::slice::from_ref(&old), &[]), 3);
        assert_eq!(count(&[], &[PartKind::Output]), 2, "one of them is older than the newest");
        assert_eq!(count(&[ProjectId::from_stored("unknown".into())], &[]), 0);
    }
}
