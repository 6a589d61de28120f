//! Parts into a budget of bytes: what must survive has a share of its own, the rest goes by need, and nothing is cut but
//! at the end of a line.
//!
//! A part that does not fit shows its first lines and how many are missing. Of a part that must survive at least one
//! line is shown; when even that is too long, its beginning.

/// How much a part is needed: those of a smaller number are served first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It has a place, however small the budget.
    Must(u8),
    IfRoom(u8),
}

impl Need {
    fn order(self) -> u8 {
        match self {
            Need::Must(order) | Need::IfRoom(order) => order,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sort {
    List,
    Paragraph,
    /// The lines of a file, between fences.
    Text {
        fence: String,
    },
}

/// A heading and what stands under it, the best first.
#[derive(Clone, Debug)]
pub struct Part {
    pub heading: String,
    pub lines: Vec<String>,
    /// More are not shown, whatever the budget.
    pub lines_max: usize,
    pub sort: Sort,
    pub need: Need,
}

#[derive(Debug, Default)]
pub struct Fitted {
    pub text: String,
    pub left_out: Vec<(String, usize)>,
}

/// The parts in their order, in at most `bytes_max`.
pub fn fit(parts: &[Part], bytes_max: usize) -> Fitted {
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
    let mut fitted = Fitted::default();
    for (part, (text, count)) in parts.iter().zip(shown) {
        fitted.text.push_str(&text);
        if count < part.lines.len() {
            fitted.left_out.push((part.heading.clone(), part.lines.len() - count));
        }
    }
    fitted
}

/// What each part that must survive is sure to have: as much as it needs, or an equal share of what there is.
fn shares(parts: &[Part], bytes_max: usize) -> Vec<usize> {
    let mut shares = vec![0; parts.len()];
    let mut musts: Vec<(usize, usize)> = parts
        .iter()
        .enumerate()
        .filter(|(_, part)| matches!(part.need, Need::Must(_)))
        .map(|(index, part)| (part.whole().len(), index))
        .collect();
    // The smallest first: what it does not need, the others may have.
    musts.sort_unstable();
    let mut room = bytes_max;
    for (served, (needed, index)) in musts.iter().enumerate() {
        shares[*index] = (*needed).min(room / (musts.len() - served));
        room -= shares[*index];
    }
    shares
}

impl Part {
    fn whole(&self) -> String {
        self.with(self.lines.len().min(self.lines_max), None)
    }

    /// As much of the part as has room, and how many of its lines that is.
    fn within(&self, bytes_max: usize) -> (String, usize) {
        let most = self.lines.len().min(self.lines_max);
        let whole = self.whole();
        if whole.len() <= bytes_max {
            return (whole, most);
        }
        // The frame and the longest count; then line after line.
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
            Need::IfRoom(_) => (String::new(), 0),
            Need::Must(_) => (self.with(1, Some(room.saturating_sub(1))), 1),
        }
    }

    /// The first lines between heading and end; the first one only in part where its bytes are limited.
    fn with(&self, count: usize, first_bytes_max: Option<usize>) -> String {
        let mut text = format!("\n{}\n", self.heading);
        if let Sort::Text { fence } = &self.sort {
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
        match &self.sort {
            Sort::List if missing > 0 => text.push_str(&format!("- and {missing} more\n")),
            Sort::Text { fence } if missing > 0 => text.push_str(&format!("{fence}\n({missing} lines more)\n")),
            Sort::Text { fence } => text.push_str(&format!("{fence}\n")),
            Sort::List | Sort::Paragraph => {}
        }
        text
    }
}

const ELLIPSIS: char = '…';

fn shortened(line: &str, bytes_max: usize) -> String {
    if line.len() <= bytes_max {
        return line.to_string();
    }
    let kept = crate::clean::text::clip(line, bytes_max.saturating_sub(ELLIPSIS.len_utf8()));
    format!("{}{ELLIPSIS}", kept.trim_end())
}
