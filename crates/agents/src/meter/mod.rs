//! How full a context is, and how certain that is.
//!
//! Only the main conversation fills the context: what subagents read counts as spent, not as fill. A message reported
//! several times counts once. After a compaction the fill is unknown until the next message.

pub mod limit_notice;
pub mod price;
pub mod redline;
pub mod redline_notice;
pub mod status_line;
pub mod windows;
use cerberus_record::clean::text;
use cerberus_record::words;
use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::meter::price::{PriceSource, PricedBy, Prices};
use crate::stream::{Bill, Speaker, StreamEvent, TokenUsage};

words! {
    /// How certain a reading is, the most certain first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Certainty {
        /// The agent reported both tokens and window in this session.
        Direct = "direct",
        /// It reported the tokens; the window was set by the user or reported by the same model earlier.
        Derived = "derived",
        /// Counted from its output, or compared with the usual window of its model family.
        Estimated = "estimated",
        Unknown = "unknown",
    }
}

/// A reading of the meter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeterReading {
    pub tokens: Option<u64>,
    pub window: Option<u64>,
    /// `None` if tokens or window are unknown.
    pub percent: Option<f64>,
    pub certainty: Certainty,
}

/// The context window of each model, as reported by the agents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Windows(BTreeMap<String, u64>);

const MODEL_CHARS_MAX: usize = 60;
/// More models than anybody uses; a stream that names more is broken.
const MODELS_MAX: usize = 200;

impl Windows {
    /// Stores the window of a model, and returns whether it is new.
    pub fn learn(&mut self, model: &str, tokens: u64) -> MeterNews {
        if model.is_empty() || tokens == 0 || self.0.get(model) == Some(&tokens) {
            return MeterNews::Nothing;
        }
        if self.0.len() >= MODELS_MAX && !self.0.contains_key(model) {
            return MeterNews::Nothing;
        }
        self.0.insert(model.to_string(), tokens);
        MeterNews::New
    }

    pub fn of(&self, model: &str) -> Option<u64> {
        self.0.get(model).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(model, tokens)| (model.as_str(), *tokens))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeterNews {
    New,
    Nothing,
}

/// The assumed window of a model that nobody has reported. The smaller guess is safer.
fn assumed_window(model: &str) -> Option<u64> {
    match model {
        _ if model.contains("[1m]") => Some(1_000_000),
        _ if model.contains("claude") => Some(200_000),
        _ if model.contains("gemini") => Some(1_048_576),
        _ => None,
    }
}

/// How the tokens of a context are determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The agent reports its usage.
    Usage,
    /// It reports nothing, so its output is counted.
    Output,
}

/// Approximate bytes of text per token.
const BYTES_PER_TOKEN: u64 = 4;

#[derive(Clone, Debug)]
pub struct Meter {
    measure: Measure,
    /// The window set by the user; overrides everything else.
    set_window: Option<u64>,
    earlier: Windows,
    reported: Windows,
    reported_running: Option<u64>,
    model: Option<String>,
    context: Option<u64>,
    text_bytes: u64,
    /// What the session reported as its total, plus the messages since.
    spent: u64,
    since: HashMap<String, u64>,
    /// The cost that the session reported, and the tokens since, which are priced here.
    cost_usd: Option<f64>,
    unpaid: HashMap<String, Unpaid>,
    prices: Prices,
}

/// A message, or a whole session, that was not part of a reported cost.
#[derive(Clone, Debug, Default)]
struct Unpaid {
    model: Option<String>,
    tokens: TokenUsage,
    written: u64,
    cost_usd: Option<f64>,
}

impl Meter {
    /// For one session. `earlier` has the windows reported in earlier sessions.
    pub fn new(measure: Measure, earlier: Windows, set_window: Option<u64>) -> Meter {
        Meter {
            measure,
            set_window,
            earlier,
            reported: Windows::default(),
            reported_running: None,
            model: None,
            context: None,
            text_bytes: 0,
            spent: 0,
            since: HashMap::new(),
            cost_usd: None,
            unpaid: HashMap::new(),
            prices: Prices::default(),
        }
    }

    /// The model that the user chose, until the agent reports another.
    pub fn with_model(self, model: Option<String>) -> Meter {
        Meter { model, ..self }
    }

    /// With the user's own prices.
    pub fn with_prices(self, prices: Prices) -> Meter {
        Meter { prices, ..self }
    }

    pub fn observe(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Started { model: Some(model), .. } => self.model = Some(model.clone()),
            StreamEvent::Text(text) => self.text_bytes = self.text_bytes.saturating_add(text.len() as u64),
            StreamEvent::Usage { message, context, output, own } => {
                if *own == Speaker::Main {
                    self.context = Some(*context);
                }
                let message = message.clone().unwrap_or_default();
                let known = self.since.entry(message).or_default();
                *known = (*known).max(context.saturating_add(*output));
            }
            StreamEvent::Spent { tokens, cost_usd } => {
                self.spent = self.spent.max(*tokens);
                if cost_usd.is_some() {
                    self.cost_usd = *cost_usd;
                    self.unpaid.clear();
                }
                self.since.clear();
            }
            StreamEvent::Billed(bill) => self.billed(bill),
            StreamEvent::Model(model) => self.model = Some(model.clone()),
            StreamEvent::Window { model, tokens } if model.is_empty() => self.reported_running = Some(*tokens),
            StreamEvent::Window { model, tokens } => {
                self.reported.learn(model, *tokens);
            }
            StreamEvent::Compacted => self.context = None,
            StreamEvent::Started { model: None, .. }
            | StreamEvent::Tool { .. }
            | StreamEvent::ToolDone
            | StreamEvent::ToolFailed
            | StreamEvent::Waiting { .. }
            | StreamEvent::Denied { .. }
            | StreamEvent::Finished(_)
            | StreamEvent::Unknown => {}
        }
    }

    /// The agent received this much input.
    pub fn wrote(&mut self, bytes: usize) {
        self.text_bytes = self.text_bytes.saturating_add(bytes as u64);
    }

    pub fn reading(&self) -> MeterReading {
        let (tokens, tokens_certainty) = match self.measure {
            Measure::Usage => (self.context, Certainty::Direct),
            Measure::Output => (Some(self.text_bytes / BYTES_PER_TOKEN), Certainty::Estimated),
        };
        let window = self.window();
        let percent = match (tokens, window) {
            (Some(tokens), Some((window, _))) if window > 0 => Some(tokens as f64 * 100.0 / window as f64),
            _ => None,
        };
        let certainty = match (tokens, window) {
            (None, _) => Certainty::Unknown,
            (Some(_), Some((_, certainty))) => certainty.max(tokens_certainty),
            (Some(_), None) => tokens_certainty,
        };
        MeterReading { tokens, window: window.map(|(window, _)| window), percent, certainty }
    }

    /// What the session has spent: tokens, including cached ones and subagents, and the cost if reported.
    pub fn spent(&self) -> (u64, Option<f64>) {
        let tokens = match self.measure {
            Measure::Usage => self.since.values().fold(self.spent, |sum, tokens| sum.saturating_add(*tokens)),
            Measure::Output => self.text_bytes / BYTES_PER_TOKEN,
        };
        let unpaid = self.unpaid.values().filter_map(|unpaid| self.cost(unpaid));
        let cost_usd = unpaid.fold(self.cost_usd, |sum, cost| Some(sum.unwrap_or(0.0) + cost));
        (tokens, cost_usd)
    }

    /// What the cost was computed with; `None` if all of it was reported, or is by the user's own prices.
    pub fn priced_by(&self) -> Option<PricedBy> {
        let mut priced: Option<PricedBy> = None;
        for unpaid in self.unpaid.values().filter(|unpaid| unpaid.cost_usd.is_none()) {
            let Some(model) = unpaid.model.as_deref().or(self.model.as_deref()) else { continue };
            let unknown = match self.prices.source(model) {
                Some(PriceSource::Table) => Vec::new(),
                Some(PriceSource::Vendor) => vec![text::line(model, MODEL_CHARS_MAX)],
                Some(PriceSource::Users) | None => continue,
            };
            priced = PricedBy::and(priced, Some(PricedBy { date: price::collected_on().to_string(), unknown }));
        }
        priced
    }

    /// A model that was used and whose price nobody knows.
    pub fn unpriced(&self) -> Option<&str> {
        let unknown = self.unpaid.values().find(|unpaid| self.cost(unpaid).is_none())?;
        Some(unknown.model.as_deref().or(self.model.as_deref()).unwrap_or("an unnamed model"))
    }

    fn cost(&self, unpaid: &Unpaid) -> Option<f64> {
        let price = || self.prices.of(unpaid.model.as_deref().or(self.model.as_deref())?);
        unpaid.cost_usd.or_else(|| Some(price()?.of(&unpaid.counted())))
    }

    fn billed(&mut self, bill: &Bill) {
        // The session as a whole includes its messages.
        if bill.message.is_none() {
            self.unpaid.retain(|message, _| message.is_empty());
        }
        let unpaid = self.unpaid.entry(bill.message.clone().unwrap_or_default()).or_default();
        unpaid.model = bill.model.clone().or(unpaid.model.take());
        unpaid.tokens = unpaid.tokens.max(&bill.tokens);
        unpaid.written = unpaid.written.saturating_add(bill.written);
        unpaid.cost_usd = bill.cost_usd.or(unpaid.cost_usd);
    }

    /// Whether the window of this model has never been reported.
    pub fn is_window_guessed(&self, model: Option<&str>) -> bool {
        self.set_window.is_none() && model.is_some_and(|model| self.earlier.of(model).is_none())
    }

    /// The windows reported in this session, to be stored for the next.
    pub fn reported_windows(&self) -> &Windows {
        &self.reported
    }

    fn window(&self) -> Option<(u64, Certainty)> {
        let model = self.model.as_deref().unwrap_or_default();
        let reported =
            self.reported_running.or_else(|| self.reported.of(model)).map(|window| (window, Certainty::Direct));
        let set = self.set_window.map(|window| (window, Certainty::Derived));
        let earlier = self.earlier.of(model).map(|window| (window, Certainty::Derived));
        set.or(reported).or(earlier).or_else(|| assumed_window(model).map(|window| (window, Certainty::Estimated)))
    }
}

impl Unpaid {
    fn counted(&self) -> TokenUsage {
        TokenUsage { output: self.tokens.output.max(self.written), ..self.tokens }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MODEL: &str = "claude-test-1";

    fn started() -> StreamEvent {
        StreamEvent::Started { session: "s".into(), model: Some(MODEL.into()) }
    }

    fn usage(message: &str, context: u64, output: u64, own: Speaker) -> StreamEvent {
        StreamEvent::Usage { message: Some(message.into()), context, output, own }
    }

    fn window(tokens: u64) -> StreamEvent {
        StreamEvent::Window { model: MODEL.into(), tokens }
    }

    #[test]
    fn a_reading_is_as_certain_as_its_less_certain_half() {
        let main = || usage("m", 50_000, 10, Speaker::Main);
        let known_windows = || {
            let mut windows = Windows::default();
            windows.learn(MODEL, 100_000);
            windows
        };
        let none = Windows::default;
        let stranger = || StreamEvent::Started { session: "s".into(), model: Some("other".into()) };
        for (name, meter, events, tokens, percent, certainty) in [
            ("nothing yet", Meter::new(Measure::Usage, known_windows(), None), vec![started()], None, None, "unknown"),
            (
                "reported in this session",
                Meter::new(Measure::Usage, none(), None),
                vec![started(), main(), window(100_000)],
                Some(50_000),
                Some(50.0),
                "direct",
            ),
            (
                "reported for whichever model is running",
                Meter::new(Measure::Usage, none(), None),
                vec![StreamEvent::Window { model: String::new(), tokens: 200_000 }, main()],
                Some(50_000),
                Some(25.0),
                "direct",
            ),
            (
                "learned earlier",
                Meter::new(Measure::Usage, known_windows(), None),
                vec![started(), main()],
                Some(50_000),
                Some(50.0),
                "derived",
            ),
            (
                "set by the user",
                Meter::new(Measure::Usage, known_windows(), Some(1_000_000)),
                vec![started(), main(), window(100_000)],
                Some(50_000),
                Some(5.0),
                "derived",
            ),
            (
                "assumed from the family",
                Meter::new(Measure::Usage, none(), None),
                vec![started(), main()],
                Some(50_000),
                Some(25.0),
                "estimated",
            ),
            (
                "an unknown model",
                Meter::new(Measure::Usage, known_windows(), None),
                vec![stranger(), main()],
                Some(50_000),
                None,
                "direct",
            ),
            (
                "counted from output",
                Meter::new(Measure::Output, none(), Some(1_000)),
                vec![StreamEvent::Text("x".repeat(400))],
                Some(100),
                Some(10.0),
                "estimated",
            ),
            (
                "after a compaction",
                Meter::new(Measure::Usage, known_windows(), None),
                vec![started(), main(), StreamEvent::Compacted],
                None,
                None,
                "unknown",
            ),
            (
                "the message after a compaction",
                Meter::new(Measure::Usage, known_windows(), None),
                vec![started(), main(), StreamEvent::Compacted, usage("n", 9_000, 1, Speaker::Main)],
                Some(9_000),
                Some(9.0),
                "derived",
            ),
            (
                "a subagent does not fill the context",
                Meter::new(Measure::Usage, known_windows(), None),
                vec![started(), main(), usage("n", 90_000, 1, Speaker::Subagent)],
                Some(50_000),
                Some(50.0),
                "derived",
            ),
        ] {
            let mut meter = meter;
            events.iter().for_each(|event| meter.observe(event));
            let reading = meter.reading();
            assert_eq!((reading.tokens, reading.percent), (tokens, percent), "{name}");
            assert_eq!(reading.certainty.word(), certainty, "{name}");
        }
    }

    #[test]
    fn spending_counts_each_message_once_and_prefers_the_agents_own_total() {
        let mut meter = Meter::new(Measure::Usage, Windows::default(), None);
        for event in [
            usage("a", 1_000, 1, Speaker::Main),
            usage("a", 1_000, 20, Speaker::Main),
            usage("b", 500, 5, Speaker::Subagent),
        ] {
            meter.observe(&event);
        }
        assert_eq!(meter.spent(), (1_525, None));
        meter.observe(&StreamEvent::Spent { tokens: 1_600, cost_usd: Some(0.25) });
        assert_eq!(meter.spent(), (1_600, Some(0.25)));
        meter.observe(&usage("c", 2_000, 1, Speaker::Main));
        assert_eq!(meter.spent(), (3_601, Some(0.25)));
    }

    #[test]
    fn tokens_are_priced_while_they_stream_until_the_agent_reports_a_cost() {
        let prices =
            "dear = { input = 10.0, output = 100.0 }\ncheap = { input = 1.0, output = 10.0, cache_read = 0.1 }";
        let new = || Meter::new(Measure::Usage, Windows::default(), None).with_prices(toml::from_str(prices).unwrap());
        let bill = |message: &str, model: &str, input, output, written| {
            let tokens = TokenUsage { input, output, ..TokenUsage::default() };
            let (message, model) = (Some(message.to_string()), Some(model.to_string()));
            StreamEvent::Billed(Bill { message, model, tokens, written, cost_usd: None })
        };
        let cost = |meter: &Meter| meter.spent().1.map(|cost| (cost * 1_000.0).round() / 1_000.0);
        let mut meter = new();
        assert_eq!(cost(&meter), None);
        meter.observe(&bill("a", "dear", 100_000, 1, 300));
        meter.observe(&bill("a", "dear", 100_000, 1, 700));
        assert_eq!(cost(&meter), Some(1.1), "an answer of several blocks is counted by what was written");
        meter.observe(&bill("b", "cheap", 100_000, 10_000, 5));
        assert_eq!(cost(&meter), Some(1.3), "a subagent with another model");
        meter.observe(&StreamEvent::Spent { tokens: 1, cost_usd: Some(0.5) });
        assert_eq!(cost(&meter), Some(0.5), "the agent's own figure replaces the estimate");
        meter.observe(&bill("c", "cheap", 1_000_000, 0, 0));
        assert_eq!((cost(&meter), meter.unpriced()), (Some(1.5), None));
        meter.observe(&bill("d", "whatever", 1_000_000, 0, 0));
        assert_eq!((cost(&meter), meter.unpriced()), (Some(1.5), Some("whatever")));

        // The agent's own figure for a message comes before the table.
        let own = Bill { message: Some("e".into()), cost_usd: Some(0.25), ..Bill::default() };
        let mut meter = new();
        meter.observe(&StreamEvent::Billed(own));
        assert_eq!((cost(&meter), meter.unpriced()), (Some(0.25), None));

        // A session that reports its tokens so far, and its model separately.
        let mut meter = new();
        let total = |input, cache_read| {
            let tokens = TokenUsage { input, cache_read, ..TokenUsage::default() };
            StreamEvent::Billed(Bill { tokens, ..Bill::default() })
        };
        meter.observe(&StreamEvent::Model("cheap-2".to_string()));
        meter.observe(&total(100_000, 0));
        meter.observe(&StreamEvent::Spent { tokens: 5, cost_usd: None });
        meter.observe(&total(200_000, 1_000_000));
        assert_eq!(cost(&meter), Some(0.3));
    }

    #[test]
    fn a_window_is_only_asked_for_if_nobody_reported_it() {
        let mut known = Windows::default();
        known.learn(MODEL, 10);
        for (earlier, set, model, is_guessed) in [
            (Windows::default(), None, Some(MODEL), true),
            (Windows::default(), None, None, false),
            (Windows::default(), Some(10), Some(MODEL), false),
            (known.clone(), None, Some(MODEL), false),
            (known, None, Some("other"), true),
        ] {
            assert_eq!(Meter::new(Measure::Usage, earlier, set).is_window_guessed(model), is_guessed, "{model:?}");
        }
    }

    #[test]
    fn windows_are_stored_by_model_and_only_new_ones_are_news() {
        let mut windows = Windows::default();
        assert_eq!(windows.learn("m", 10), MeterNews::New);
        assert_eq!(windows.learn("m", 10), MeterNews::Nothing);
        assert_eq!(windows.learn("m", 20), MeterNews::New);
        assert_eq!(windows.learn("", 20), MeterNews::Nothing);
        let kept: Windows = serde_json::from_str(&serde_json::to_string(&windows).unwrap()).unwrap();
        assert_eq!((kept.of("m"), kept.of("n")), (Some(20), None));
    }

    proptest! {
        #[test]
        fn any_numbers_are_accepted(context in any::<u64>(), output in any::<u64>(), window_tokens in any::<u64>()) {
            let mut meter = Meter::new(Measure::Usage, Windows::default(), None);
            for event in [started(), window(window_tokens), usage("a", context, output, Speaker::Main),
                usage("b", context, output, Speaker::Subagent)] {
                meter.observe(&event);
            }
            let reading = meter.reading();
            prop_assert!(reading.percent.is_none_or(|percent| percent.is_finite() && percent >= 0.0));
            prop_assert!(meter.spent().0 >= context.max(output));
        }
    }
}
