//! How all projects at a glance are printed.

use cerberus_record::clean::text;
use cerberus_store::browse::overview::Overview;

use super::style::{Line, Screen, Style};
use super::time::{LocalTime, rough};
use super::{count, counted};

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// How many projects are named.
const PROJECTS_MAX: usize = 5;
const LABEL_COLUMNS: usize = 18;
/// A longer name moves the title of its line alone.
const NAME_COLUMNS_MAX: usize = 20;

/// What was found, and what to type next. `left` is what the newest sessions left open, each with its project;
/// `to_review` is the number of proposals.
pub fn lines(
    screen: &Screen,
    local: &LocalTime,
    overview: &Overview,
    left: &[(String, String)],
    to_review: usize,
) -> Vec<Line> {
    let Some((first, last)) = overview.period else { return Vec::new() };
    let agents: Vec<String> = overview.agents.iter().map(|(agent, sessions)| format!("{agent} {sessions}")).collect();
    let projects = count(overview.projects.len(), "project");
    let period = rough(last.since(first));
    let mut lines = vec![
        Line::new(),
        Line::of(Style::Strong, format!("{} in {projects}, {period}", count(overview.sessions, "session")))
            .faint(format!(" ({}; since {})", agents.join(" · "), local.date(first))),
    ];
    let label = |name: &str| Line::new().faint(format!("  {name}")).pad(LABEL_COLUMNS);
    if overview.weeks.len() > 1 && screen.is_utf8 {
        lines.push(label("sessions a week").plain(bars(&overview.weeks)).faint(" now"));
    }
    let mut name = "last work";
    let shown = || overview.projects.iter().take(PROJECTS_MAX);
    let widest = shown().map(|work| Line::new().plain(&*work.name).width()).max().unwrap_or(0).min(NAME_COLUMNS_MAX);
    for work in shown() {
        let when = local.when(work.last.session.started_at);
        let line = label(name).plain(format!("{}  ", work.name)).pad(LABEL_COLUMNS + widest + 2);
        let line = line.add(Style::Strong, work.last.title.clone());
        lines.push(line.faint(format!("  {when}")));
        name = "";
    }
    let more = overview.projects.len().saturating_sub(PROJECTS_MAX);
    if more > 0 {
        lines.push(label("").faint(format!("and {}", counted(more, "other project", "other projects"))));
    }
    let mut name = "left open";
    for (project, what) in left {
        lines.push(label(name).plain(format!("{project}: {}", text::line(what, 120))));
        name = "";
    }
    if to_review > 0 {
        lines.push(label("to review").plain(counted(
            to_review,
            "sentence that may be a rule",
            "sentences that may be rules",
        )));
    }
    lines.push(Line::new());
    let next = |command: &str, what: &str| Line::new().plain(format!("  {command:<26}")).faint(what.to_string());
    lines.push(next("cerberus log", "the sessions, newest first"));
    lines.push(next("cerberus search WORD", "find anything by a word"));
    if to_review > 0 {
        lines.push(next("cerberus review", "keep or reject what it learned from you"));
    }
    lines
}

/// One character per number, the tallest for the largest.
fn bars(numbers: &[usize]) -> String {
    let most = numbers.iter().copied().max().unwrap_or(0).max(1);
    numbers.iter().map(|number| if *number == 0 { '·' } else { BARS[number * (BARS.len() - 1) / most] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_week_is_the_tallest() {
        assert_eq!(bars(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(bars(&[3]), "█");
    }
}
