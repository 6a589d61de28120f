//! What sessions cost: the tokens of each call at the list price of its model. A model whose price nobody knows is said to
//! be unknown; no other price stands for it.

use std::collections::BTreeMap;

use cerberus_agents::meter::price::Prices;
use cerberus_agents::model_calls::ModelCall;
use cerberus_record::time::Timestamp;

use super::UsedSession;
use crate::report::figures::weeks::weekday;

/// Tokens and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    pub tokens: u64,
    pub cost_usd: f64,
    /// Tokens of models whose price is not known; they are not in the cost.
    pub unpriced_tokens: u64,
}

impl Spent {
    pub fn of<'c>(calls: impl IntoIterator<Item = &'c ModelCall>, prices: &Prices) -> Spent {
        let mut spent = Spent::default();
        calls.into_iter().for_each(|call| spent.add(call, prices));
        spent
    }

    fn add(&mut self, call: &ModelCall, prices: &Prices) {
        let tokens = call.tokens.total();
        self.tokens = self.tokens.saturating_add(tokens);
        match cost(call, prices) {
            Some(cost) => self.cost_usd += cost,
            None => self.unpriced_tokens = self.unpriced_tokens.saturating_add(tokens),
        }
    }

    fn merge(&mut self, other: &Spent) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost_usd += other.cost_usd;
        self.unpriced_tokens = self.unpriced_tokens.saturating_add(other.unpriced_tokens);
    }

    /// `None` if no price is known of anything.
    pub fn known_usd(&self) -> Option<f64> {
        (self.tokens > self.unpriced_tokens).then_some(self.cost_usd)
    }
}

/// The agent's own figure comes first.
fn cost(call: &ModelCall, prices: &Prices) -> Option<f64> {
    let listed = || Some(prices.listed(call.model.as_deref()?, &call.tokens)?.of(&call.tokens));
    call.cost_usd.or_else(listed)
}

/// What was spent under one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SpentRow {
    pub name: String,
    pub sessions: usize,
    pub spent: Spent,
}

/// What was spent, seen from four sides.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Money {
    pub all: Spent,
    /// Sessions of which some call is known.
    pub sessions: usize,
    /// Sessions whose transcript is gone or does not say it.
    pub unknown_sessions: usize,
    /// The most expensive first.
    pub by_project: Vec<SpentRow>,
    pub by_agent: Vec<SpentRow>,
    pub by_model: Vec<SpentRow>,
    /// By the Monday of each week, the oldest first.
    pub by_week: Vec<(i64, SpentRow)>,
}

/// Sums up the sessions. `day` says on which day a time is.
pub fn money<'s>(
    sessions: impl IntoIterator<Item = &'s UsedSession>,
    prices: &Prices,
    day: impl Fn(Timestamp) -> i64,
) -> Money {
    let mut money = Money::default();
    let (mut projects, mut agents, mut models, mut weeks) =
        (SpentBy::new(), SpentBy::new(), SpentBy::new(), BTreeMap::new());
    for session in sessions {
        if session.calls.is_empty() {
            money.unknown_sessions += 1;
            continue;
        }
        money.sessions += 1;
        let all = Spent::of(&session.calls, prices);
        money.all.merge(&all);
        add(&mut projects, session.project.clone(), &all);
        add(&mut agents, session.row.agent.clone(), &all);
        let (mut of_models, mut of_weeks) = (BTreeMap::<&str, Spent>::new(), BTreeMap::<i64, Spent>::new());
        for call in &session.calls {
            let today = day(call.at.unwrap_or(session.row.started_at));
            of_weeks.entry(today - weekday(today) as i64).or_default().add(call, prices);
            of_models.entry(call.model.as_deref().unwrap_or(UNNAMED)).or_default().add(call, prices);
        }
        of_models.iter().for_each(|(model, spent)| add(&mut models, model.to_string(), spent));
        of_weeks.iter().for_each(|(monday, spent)| add(&mut weeks, *monday, spent));
    }
    (money.by_project, money.by_agent, money.by_model) = (ranked(projects), ranked(agents), ranked(models));
    money.by_week = weeks.into_iter().collect();
    money
}

/// A model that its agent does not name.
const UNNAMED: &str = "not named";

type SpentBy = BTreeMap<String, SpentRow>;

fn add<K: Ord + ToString>(rows: &mut BTreeMap<K, SpentRow>, key: K, spent: &Spent) {
    let name = key.to_string();
    let row = rows.entry(key).or_insert_with(|| SpentRow { name, ..SpentRow::default() });
    row.sessions += 1;
    row.spent.merge(spent);
}

fn ranked(rows: SpentBy) -> Vec<SpentRow> {
    let mut rows: Vec<SpentRow> = rows.into_values().collect();
    rows.sort_by(|a, b| b.spent.cost_usd.total_cmp(&a.spent.cost_usd).then(b.spent.tokens.cmp(&a.spent.tokens)));
    rows
}

/// The first rows, and the sum of all others.
pub fn first(rows: &[SpentRow], max: usize) -> Vec<SpentRow> {
    if rows.len() <= max + 1 {
        return rows.to_vec();
    }
    let (shown, rest) = rows.split_at(max);
    let mut others = SpentRow { name: format!("{} others", rest.len()), ..SpentRow::default() };
    for row in rest {
        others.sessions += row.sessions;
        others.spent.merge(&row.spent);
    }
    [shown, &[others]].concat()
}

#[cfg(test)]
mod tests {
    use cerberus_agents::stream::TokenUsage;

    use super::*;
    use crate::usage::gather::tests::used;

    const DAY: i64 = 86_400_000;

    fn call(model: &str, at: i64, cost_usd: Option<f64>) -> ModelCall {
        let tokens =
            TokenUsage { input: 100_000, cache_read: 1_000_000, cache_write_hour: 100_000, ..TokenUsage::default() };
        let (at, model) = (Some(Timestamp::from_millis(at)), Some(model.to_string()));
        ModelCall { at, key: None, model, tokens, cost_usd }
    }

    #[test]
    fn every_token_has_its_price_and_an_unknown_model_has_none() {
        // Monday 2026-11-16.
        let monday = 20_773;
        let mut one = used("one", 1);
        one.calls =
            vec![call("claude-opus-4-5-20251101", monday * DAY, None), call("nobody-knows", (monday - 1) * DAY, None)];
        let mut two = used("two", 2);
        two.project = "nimbus".to_string();
        two.calls = vec![call("nobody-knows", monday * DAY, Some(0.25))];
        let money = money(&[one, two, used("gone", 3)], &Prices::default(), |at| at.millis() / DAY);
        let row = |row: &SpentRow| {
            let cost = row.spent.known_usd().map(|cost| (cost * 100.0).round() / 100.0);
            (row.name.clone(), row.sessions, cost, row.spent.unpriced_tokens)
        };
        let rows = |rows: &[SpentRow]| rows.iter().map(row).collect::<Vec<_>>();
        // 0.1 × $5, 1 × $0.50, 0.1 × $10.
        assert_eq!(
            rows(&money.by_model),
            [
                ("claude-opus-4-5-20251101".to_string(), 1, Some(2.0), 0),
                ("nobody-knows".to_string(), 2, Some(0.25), 1_200_000)
            ]
        );
        assert_eq!(
            rows(&money.by_project),
            [("hydra".to_string(), 1, Some(2.0), 1_200_000), ("nimbus".to_string(), 1, Some(0.25), 0)]
        );
        let weeks: Vec<(i64, Option<f64>)> =
            money.by_week.iter().map(|(monday, row)| (*monday, row.spent.known_usd())).collect();
        assert_eq!(weeks[0], (monday - 7, None), "what is not known is not zero");
        assert_eq!((weeks[1].0, money.sessions, money.unknown_sessions), (monday, 2, 1));
        assert_eq!((money.all.tokens, money.all.unpriced_tokens), (3_600_000, 1_200_000));
    }

    #[test]
    fn many_rows_are_summed_up() {
        let row = |name: &str| SpentRow { name: name.to_string(), sessions: 1, spent: Spent::default() };
        let rows: Vec<SpentRow> = ["a", "b", "c", "d"].map(row).into();
        let names = |max| first(&rows, max).iter().map(|row| (row.name.clone(), row.sessions)).collect::<Vec<_>>();
        assert_eq!(names(3).len(), 4, "one other is shown by its name");
        assert_eq!(names(2)[2], ("2 others".to_string(), 2));
    }
}
