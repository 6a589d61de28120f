//! How full the context of a session became, how many tokens it took, and how often it was compacted.

use std::collections::HashMap;
use std::time::Duration;

use cerberus_agents::meter::{Certainty, Measure, Meter, Windows};
use cerberus_agents::stream::StreamEvent;
use cerberus_record::time::Timestamp;

use super::{ContextUse, ReportSession};

/// Reads it from what a whole transcript says. A fill above the window means that the window was assumed too small.
pub fn read<'a>(events: impl IntoIterator<Item = &'a StreamEvent>, windows: Windows) -> ContextUse {
    let mut meter = Meter::new(Measure::Usage, windows, None);
    let (mut peak, mut is_estimated) = (None::<f64>, false);
    let mut spent = None;
    let (mut by_message, mut unnamed): (HashMap<&str, u64>, u64) = (HashMap::new(), 0);
    for event in events {
        meter.observe(event);
        match event {
            StreamEvent::Usage { message: Some(message), context, .. } => {
                let known = by_message.entry(message).or_default();
                *known = (*known).max(*context);
            }
            StreamEvent::Usage { message: None, context, .. } => unnamed = unnamed.saturating_add(*context),
            StreamEvent::Spent { tokens, .. } => spent = spent.max(Some(*tokens)),
            _ => continue,
        }
        let reading = meter.reading();
        if let Some(percent) = reading.percent {
            peak = Some(peak.map_or(percent, |peak| peak.max(percent)));
            is_estimated = reading.certainty > Certainty::Derived;
        }
    }
    let counted = by_message.values().fold(unnamed, |sum, tokens| sum.saturating_add(*tokens));
    ContextUse {
        peak_percent: peak.filter(|peak| *peak <= 100.0),
        is_estimated,
        tokens: spent.or((counted > 0).then_some(counted)),
    }
}

/// Reports of a compaction that are closer than this are about the same one: hooks report its beginning, its end and
/// the start after it.
const SAME_COMPACTION: Duration = Duration::from_secs(5 * 60);

/// How often a session was compacted, by the times of all reports, oldest first.
pub fn compactions(reported: &[Timestamp]) -> usize {
    let begins = |pair: &&[Timestamp]| pair[1].since(pair[0]) > SAME_COMPACTION;
    usize::from(!reported.is_empty()) + reported.windows(2).filter(begins).count()
}

/// How many sessions are drawn.
pub const BARS_MAX: usize = 60;

/// The newest sessions, oldest of them first.
pub fn drawn(sessions: &[ReportSession]) -> &[ReportSession] {
    &sessions[sessions.len().saturating_sub(BARS_MAX)..]
}

#[cfg(test)]
mod tests {
    use cerberus_agents::stream::Speaker;

    use super::*;
    use crate::report::figures::session;

    fn usage(message: Option<&str>, context: u64) -> StreamEvent {
        StreamEvent::Usage { message: message.map(str::to_string), context, output: 1, own: Speaker::Main }
    }

    fn window(tokens: u64) -> StreamEvent {
        StreamEvent::Window { model: String::new(), tokens }
    }

    #[test]
    fn the_peak_counts_and_not_the_last_fill() {
        let events = [window(1000), usage(Some("a"), 700), StreamEvent::Compacted, usage(Some("b"), 100)];
        let found = read(&events, Windows::default());
        assert_eq!(found, ContextUse { peak_percent: Some(70.0), is_estimated: false, tokens: Some(800) });
    }

    #[test]
    fn tokens_are_counted_once_per_message_unless_the_agent_says_the_total() {
        let tokens = |events: &[StreamEvent]| read(events, Windows::default()).tokens;
        assert_eq!(tokens(&[usage(Some("a"), 10), usage(Some("a"), 12), usage(Some("b"), 5)]), Some(17));
        assert_eq!(tokens(&[usage(None, 10), StreamEvent::Spent { tokens: 900, cost_usd: None }]), Some(900));
        assert_eq!(tokens(&[usage(None, 10), usage(None, 10)]), Some(20));
        assert_eq!(tokens(&[]), None, "nothing is known, which is not zero");
    }

    #[test]
    fn an_assumed_window_is_an_estimate_and_a_fill_above_it_is_unknown() {
        let model = |name: &str| StreamEvent::Started { session: String::new(), model: Some(name.to_string()) };
        let found = read(&[model("claude-x"), usage(Some("a"), 150_000)], Windows::default());
        assert_eq!((found.peak_percent, found.is_estimated), (Some(75.0), true));
        let found = read(&[model("claude-x"), usage(Some("a"), 300_000)], Windows::default());
        assert_eq!((found.peak_percent, found.tokens), (None, Some(300_000)));
        assert_eq!(read(&[model("other"), usage(Some("a"), 5)], Windows::default()).peak_percent, None);
    }

    #[test]
    fn reports_of_one_compaction_count_once() {
        let at = |minutes: i64| Timestamp::from_millis(minutes * 60_000);
        assert_eq!(compactions(&[]), 0);
        assert_eq!(compactions(&[at(1), at(2), at(3)]), 1);
        assert_eq!(compactions(&[at(1), at(2), at(30), at(31), at(60)]), 3);
    }

    #[test]
    fn the_newest_sessions_are_drawn() {
        let all: Vec<ReportSession> = (0..100).map(session).collect();
        assert_eq!((drawn(&all).len(), drawn(&all)[0].day, drawn(&all[..3]).len()), (BARS_MAX, 40, 3));
    }
}
