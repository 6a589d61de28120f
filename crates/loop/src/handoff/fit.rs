//! Fits parts into a budget of bytes. Mandatory parts have a guaranteed share, the rest is served by priority, and
//! text is cut only at line ends.
//!
//! A part that does not fit shows its first lines and how many are missing. A mandatory part shows at least one line,
//! truncated if necessary.

use cerberus_record::clean::text::name;

/// Longer lines are not text that anybody reads.
const FILE_LINE_CHARS_MAX: usize = 400;

/// The priority of a part; smaller numbers are served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectionPriority {
    /// It always gets a share, however small the budget.
    Must(u8),
    IfRoom(u8),
}

impl SectionPriority {
    fn order(self) -> u8 {
        match self {
            SectionPriority::Must(order) | SectionPriority::IfRoom(order) => order,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartKind {
    List,
    Paragraph,
    /// The lines of a file, between fences.
    Text {
        fence: String,
    },
}

/// A heading and its lines, the best first.
#[derive(Clone, Debug)]
pub struct HandoffSection {
    pub heading: String,
    pub lines: Vec<String>,
    /// More are never shown, whatever the budget.
    pub lines_max: usize,
    pub kind: PartKind,
    pub need: SectionPriority,
}

/// Text between fences that none of its lines can close.
pub(super) fn quoted(heading: String, text: &str, need: SectionPriority) -> HandoffSection {
    let lines: Vec<String> = text.lines().map(file_line).collect();
    let longest = lines.iter().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    HandoffSection { heading, lines_max: lines.len(), lines, kind: PartKind::Text { fence }, need }
}

/// A line of a file with its indentation.
fn file_line(text: &str) -> String {
    let indentation: String = text.chars().take_while(|c| matches!(c, ' ' | '\t')).take(80).collect();
    let shown = name(text[indentation.len()..].trim_end()).chars().take(FILE_LINE_CHARS_MAX).collect::<String>();
    format!("{indentation}{shown}")
}

#[derive(Debug, Default)]
pub struct FittedHandoff {
    pub text: String,
    pub left_out: Vec<(String, usize)>,
}

/// The parts in their order, in at most `bytes_max`.
pub fn fit(parts: &[HandoffSection], bytes_max: usize) -> FittedHandoff {
    let shares = shares(parts, bytes_max);
    let mut room = bytes_max - shares.iter().sum::<usize>();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|index| parts[*index].need.order());
    let mut shown = vec![(String::new(), 0); parts.len()];
    for index in order {
        let (text, count) = parts[index].within(shares[index] + room);
        room = shares[index] + room - text.len();
        shown[index] = (text, count);
    }
    let mut fitted = FittedHandoff::default();
    for (part, (text, count)) in parts.iter().zip(shown) {
        fitted.text.push_str(&text);
        if count < part.lines.len() {
            fitted.left_out.push((part.heading.clone(), part.lines.len() - count));
        }
    }
    fitted
}

/// The guaranteed bytes of each mandatory part: what it needs, or an equal share.
fn shares(parts: &[HandoffSection], bytes_max: usize) -> Vec<usize> {
    let mut shares = vec![0; parts.len()];
    let mut musts: Vec<(usize, usize)> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| matches!(part.need, SectionPriority::Must(_)))
        .map(|(index, part)| (part.whole().len(), index))
        .collect();
    // The smallest first: what it does not need goes to the others.
    musts.sort_unstable();
    let mut room = bytes_max;
    for (served, (needed, index)) in musts.iter().enumerate() {
        shares[*index] = (*needed).min(room / (musts.len() - served));
        room -= shares[*index];
    }
    shares
}

impl HandoffSection {
    fn whole(&self) -> String {
        self.with(self.lines.len().min(self.lines_max), None)
    }

    /// As much of the part as fits, and the number of lines shown.
    fn within(&self, bytes_max: usize) -> (String, usize) {
        let most = self.lines.len().min(self.lines_max);
        let whole = self.whole();
        if whole.len() <= bytes_max {
            return (whole, most);
        }
        // Reserve the frame and the longest count, then add line after line.
        let mut room = match bytes_max.checked_sub(self.with(0, None).len()) {
            Some(room) => room,
            None => return (String::new(), 0),
        };
        let mut count = 0;
        for line in &self.lines[..most] {
            match room.checked_sub(line.len() + 1) {
                Some(left) => room = left,
                None => break,
            }
            count += 1;
        }
        if count > 0 {
            return (self.with(count, None), count);
        }
        match self.need {
            SectionPriority::IfRoom(_) => (String::new(), 0),
            SectionPriority::Must(_) => (self.with(1, Some(room.saturating_sub(1))), 1),
        }
    }

    /// The first `count` lines with heading and ending. If only one line fits, it may be truncated.
    fn with(&self, count: usize, first_bytes_max: Option<usize>) -> String {
        let mut text = format!("\n{}\n", self.heading);
        if let PartKind::Text { fence } = &self.kind {
            text.push_str(fence);
            text.push('\n');
        }
        for line in &self.lines[..count] {
            match first_bytes_max {
                Some(bytes_max) => text.push_str(&shortened(line, bytes_max)),
                None => text.push_str(line),
            }
            text.push('\n');
        }
        let missing = self.lines.len() - count;
        match &self.kind {
            PartKind::List if missing > 0 => text.push_str(&format!("- and {missing} more\n")),
            PartKind::Text { fence } if missing > 0 => text.push_str(&format!("{fence}\n({missing} more lines)\n")),
            PartKind::Text { fence } => text.push_str(&format!("{fence}\n")),
            PartKind::List | PartKind::Paragraph => {}
        }
        text
    }
}

const ELLIPSIS: char = '…';

fn shortened(line: &str, bytes_max: usize) -> String {
    if line.len() <= bytes_max {
        return line.to_string();
    }
    let kept = cerberus_record::clean::text::clip(line, bytes_max.saturating_sub(ELLIPSIS.len_utf8()));
    format!("{}{ELLIPSIS}", kept.trim_end())
}
