//! Secrets in columns and lists: rows of a table below a heading, values of SQL, forms, lists of recovery codes.

use super::Cut;
use super::key::{KEY_BYTES, announces};
use super::position;
use super::text::{ALNUM, ALPHA, DASH, DIGIT, DOTTED, Text, URL64, is};
use super::value::{ValueForm, is_phrase, is_placeholder};
use super::words::is_ordinary;
use super::written::{Value, ends_line, value_at};

/// How much of a line and a cell and how many rows are read.
const LINE_BYTES: usize = 256;
const CELL_BYTES: usize = 128;
const ROWS_MAX: usize = 16;
const CODES_MAX: usize = 24;
/// A manifest whose data are secrets.
const KIND: &[u8] = b"kind: Secret";

/// The range of each cell of a line, without blanks and quotes.
fn cells(text: &Text, start: usize, end: usize, separator: u8) -> Vec<(usize, usize)> {
    let is_pad = |byte: u8| matches!(byte, b' ' | b'\t' | b'"' | b'\'' | b'`' | b'*' | b'\r');
    let mut found = Vec::new();
    let mut from = start;
    while from <= end {
        let stop = text.scan(quoted_end(text, from, end), end - from, |byte| byte != separator).min(end);
        let first = text.scan(from, stop - from, is_pad);
        found.push((first, text.scan_back(stop, stop - first, is_pad)));
        from = stop + 1;
    }
    found
}

/// Where the quoted cell at `from` ends, in which a separator is text: `"tea, sugar"`. Otherwise `from`.
fn quoted_end(text: &Text, from: usize, end: usize) -> usize {
    if text.at(from) != b'"' {
        return from;
    }
    let close = text.scan(from + 1, end.saturating_sub(from + 1), |byte| byte != b'"');
    if close < end { close + 1 } else { from }
}

/// Which cells below a heading are secrets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SecretCells {
    Any,
    /// Names of tokens, as in a design system, have none.
    WithDigits,
}

/// The secrets below a heading (`| user | password |`, `name,password`), and how far they were looked for. The heading
/// is the word from `at` to `end`.
pub(super) fn column(text: &Text, at: usize, end: usize, wanted: SecretCells) -> (Vec<Cut>, usize) {
    let separator = |byte: u8| matches!(byte, b'|' | b',' | b';' | b'\t');
    let is_pad = |byte: u8| matches!(byte, b' ' | b'"' | b'\'' | b'*' | b'`' | b'\r');
    let (left, right) = (text.scan_back(at, 32, is_pad), text.scan(end, 32, is_pad));
    let is_edge = |byte: u8| separator(byte) || byte == b'\n';
    let Some(mark) = [text.before(left), text.at(right)].into_iter().find(|&byte| separator(byte)) else {
        return aligned(text, at, end);
    };
    if !is_edge(text.before(left)) || !is_edge(text.at(right)) {
        return (Vec::new(), end);
    }
    let line = text.scan_back(at, LINE_BYTES, |byte| byte != b'\n');
    let line_end = text.scan(end, LINE_BYTES, |byte| byte != b'\n');
    if text.before(line) != b'\n' {
        return (Vec::new(), end);
    }
    if mark == b'|' && is_row_below(text, line) {
        return (Vec::new(), end);
    }
    let heading = cells(text, line, line_end, mark);
    let is_word = |&(start, end): &(usize, usize)| {
        end - start <= 32 && !text.slice(start, end).iter().any(|&byte| matches!(byte, b'(' | b'=' | b'{' | b'/'))
    };
    let Some(index) = heading.iter().position(|cell| cell.0 <= at && at < cell.1) else { return (Vec::new(), end) };
    if !heading.iter().all(is_word) {
        return (Vec::new(), end);
    }
    let (mut cuts, mut from) = (Vec::new(), line_end + 1);
    for _ in 0..ROWS_MAX {
        let row_end = text.scan(from, LINE_BYTES, |byte| byte != b'\n');
        if is_rule(text, from) {
            from = row_end + 1;
            continue;
        }
        let row = cells(text, from, row_end, mark);
        let Some(&(start, end)) = row.get(index).filter(|_| row.len() == heading.len() && row_end > from) else {
            break;
        };
        let bytes = text.slice(start, end);
        let fits = wanted == SecretCells::Any || (bytes.len() >= 8 && bytes.iter().any(|&byte| is(byte, DIGIT)));
        if fits && bytes.len() < CELL_BYTES && is_cell(bytes) {
            cuts.extend(position::cut(text, &Value { start, end, written: ValueForm::Literal }));
        }
        from = row_end + 1;
    }
    (cuts, from)
}

/// Is the line at `from` one that is drawn below a heading? `----+-----`, `|:--|--:|`.
fn is_rule(text: &Text, from: usize) -> bool {
    let line = text.slice(from, text.scan(from, LINE_BYTES, |byte| byte != b'\n'));
    line.contains(&b'-') && line.iter().all(|&byte| matches!(byte, b'-' | b'+' | b'=' | b'|' | b':' | b' ' | b'\r'))
}

/// The start of the line before the one at `line`.
fn line_before(text: &Text, line: usize) -> Option<usize> {
    let end = line.checked_sub(1).filter(|&end| end >= text.floor)?;
    Some(text.scan_back(end, LINE_BYTES, |byte| byte != b'\n'))
}

/// Is there a row of a drawn table above the line at `line`? Then it is no heading.
fn is_row_below(text: &Text, line: usize) -> bool {
    let above = match line_before(text, line) {
        Some(above) if is_rule(text, above) => line_before(text, above),
        above => above,
    };
    above.is_some_and(|above| text.slice(above, line).contains(&b'|') && !is_rule(text, above))
}

/// The cell beside the name at `at` in a drawn table: `| password | x |`, `Password  | x`. The bar between them is at
/// `bar`.
pub(super) fn beside_bar(text: &Text, at: usize, bar: usize) -> Option<Cut> {
    let stop = text.scan(bar + 1, CELL_BYTES, |byte| !matches!(byte, b'|' | b'\n'));
    let &(start, end) = cells(text, bar + 1, stop, b'|').first()?;
    // In a pattern, no blanks stand around the bar.
    if text.before(bar) != b' ' || text.at(bar + 1) != b' ' || !is_cell(text.slice(start, end)) {
        return None;
    }
    let line = text.scan_back(at, LINE_BYTES, |byte| byte != b'\n');
    let next = text.scan(stop, LINE_BYTES, |byte| byte != b'\n') + 1;
    let before = text.slice(line, at);
    let is_bar = |start: usize| matches!(text.at(start + (bar - line)), b'|' | b'+');
    // A pipe has no bar above or below it.
    let is_drawn = before.contains(&b'|') || line_before(text, line).is_some_and(is_bar) || is_bar(next);
    let is_heading = is_rule(text, next) && !is_row_below(text, line);
    // In the middle of a row, the name is a heading if as many cells stand below it.
    let is_first = before.iter().all(|&byte| byte != b'|') || !before.iter().any(|&byte| is(byte, ALNUM));
    let bars = |start: usize, end: usize| text.slice(start, end).iter().filter(|&&byte| byte == b'|').count();
    let is_column = || bars(line, next) == bars(next, text.scan(next, LINE_BYTES, |byte| byte != b'\n'));
    if !is_drawn || is_heading || (!is_first && is_column()) {
        return None;
    }
    position::cut(text, &Value { start, end, written: ValueForm::Literal })
}

/// Is this one word or a phrase that may be a password?
fn is_cell(bytes: &[u8]) -> bool {
    bytes.first() != Some(&b'-') && (!bytes.contains(&b' ') || is_phrase(bytes)) && !is_ordinary(bytes)
}

/// The second column of a listing that blanks align, beside the name from `at` to `end`: `password    x`.
pub(super) fn beside_blanks(text: &Text, at: usize, end: usize, wanted: SecretCells) -> Option<Cut> {
    let start = text.skip_spaces(end);
    let line = text.skip_spaces_back(text.run_back(at, URL64, KEY_BYTES));
    if start < end + 2 || text.before(line) != b'\n' {
        return None;
    }
    let line_end = text.scan(start, CELL_BYTES, |byte| byte != b'\n');
    let stop = text.scan_back(line_end, line_end - start, |byte| byte <= b' ');
    let bytes = text.slice(start, stop);
    let fits = wanted == SecretCells::Any || (bytes.len() >= 8 && bytes.iter().any(|&byte| is(byte, DIGIT)));
    if !fits || !is_cell(bytes) || is_rule(text, line_end + 1) {
        return None;
    }
    // Another name stands above or below, and its value in the same column.
    let is_aligned = |other: usize| {
        let column = other + (start - line);
        let name = text.slice(other, column);
        let is_apart = text.at(column) > b' ' && name.ends_with(b"  ");
        is_apart && is(name.trim_ascii().first().copied().unwrap_or(b' '), ALPHA | DASH) && {
            name.trim_ascii().iter().all(|&byte| is(byte, URL64))
        }
    };
    let is_listed = line_before(text, line).is_some_and(is_aligned) || is_aligned(line_end + 1);
    if is_listed { position::cut(text, &Value { start, end: stop, written: ValueForm::Literal }) } else { None }
}

/// The same as [`column`] where blanks align the columns, as in the output of many programs: `USER    PASSWORD`.
fn aligned(text: &Text, at: usize, end: usize) -> (Vec<Cut>, usize) {
    let is_apart = text.before(at) == b'\n' || text.back(at, 2) == b"  ";
    // Most cues stand in a sentence.
    if !is_apart || !(text.at(end) == b'\n' || text.starts_with(end, b"  ")) {
        return (Vec::new(), end);
    }
    let line = text.scan_back(at, LINE_BYTES, |byte| byte != b'\n');
    let line_end = text.scan(end, LINE_BYTES, |byte| byte != b'\n');
    let heading = text.slice(line, line_end).trim_ascii();
    let is_word = |&byte: &u8| is(byte, URL64) || byte == b' ';
    if !heading.windows(2).any(|pair| pair == b"  ") || !heading.iter().all(is_word) {
        return (Vec::new(), end);
    }
    let (mut cuts, mut from) = (Vec::new(), line_end + 1);
    for _ in 0..ROWS_MAX {
        let row_end = text.scan(from, LINE_BYTES, |byte| byte != b'\n');
        let start = from + (at - line);
        let is_cell = start < row_end && text.at(start) > b' ' && (start == from || text.before(start) == b' ');
        if row_end == from || (row_end > start && !is_cell) {
            break;
        }
        let stop = text.scan(start, row_end.saturating_sub(start), |byte| byte > b' ');
        let bytes = text.slice(start, stop);
        let is_rule = bytes.iter().all(|&byte| matches!(byte, b'-' | b'='));
        let is_alone = stop == row_end || text.starts_with(stop, b"  ");
        if is_cell && is_alone && !is_rule && !is_ordinary(bytes) {
            cuts.extend(position::cut(text, &Value { start, end: stop, written: ValueForm::Literal }));
        }
        from = row_end + 1;
    }
    (cuts, from)
}

/// `IDENTIFIED BY 'x'`, `IDENTIFIED WITH plugin BY 'x'`; `at` is the `b`.
pub(super) fn identified(text: &Text, at: usize, end: usize) -> Option<Cut> {
    let words = text.back(at, 48);
    let says = |word: &[u8]| words.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word));
    if !says(b"identified ") {
        return None;
    }
    let mut from = text.skip_spaces(end);
    if text.starts_with(from, b"PASSWORD ") || text.starts_with(from, b"VALUES ") {
        from = text.skip_spaces(from + 8);
    }
    let value = value_at(text, from, ValueForm::Literal);
    position::cut(text, &value)
}

/// `(name, password) VALUES ('bob', 'x'), …`: the values of columns that announce a secret. `at` is the `v`.
pub(super) fn values(text: &Text, at: usize, end: usize) -> Vec<Cut> {
    let close = text.scan_back(at, 8, |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r'));
    if text.before(close) != b')' {
        return Vec::new();
    }
    let open = text.scan_back(close - 1, LINE_BYTES, |byte| byte != b'(');
    let names = cells(text, open, close - 1, b',');
    let is_secret = |&(start, end): &(usize, usize)| {
        announces(text.slice(end.saturating_sub(KEY_BYTES).max(start), end)).is_some_and(|found| found.is_sure())
    };
    let wanted: Vec<usize> = (0..names.len()).filter(|&index| is_secret(&names[index])).collect();
    let mut cuts = Vec::new();
    let mut from = end;
    for _ in 0..ROWS_MAX {
        from = text.scan(from, 16, |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b','));
        if wanted.is_empty() || text.at(from) != b'(' {
            break;
        }
        from += 1;
        for index in 0..names.len() {
            from = text.scan(from, 16, |byte| matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'N'));
            let value = value_at(text, from, ValueForm::Literal);
            let is_quoted = value.written == ValueForm::Quoted;
            if wanted.contains(&index) && is_quoted {
                cuts.extend(position::cut(text, &value));
            }
            let stop = value.end.max(from) + usize::from(is_quoted);
            from = text.scan(stop, 64, |byte| !matches!(byte, b',' | b')' | b'\n')) + 1;
            if text.before(from) != b',' {
                break;
            }
        }
    }
    cuts
}

/// `stringData:` of a manifest, or `data:` of a secret: the values of the lines below it that are indented further. `at`
/// is where it begins.
pub(super) fn data(text: &Text, at: usize, end: usize) -> Vec<Cut> {
    let indent = at - text.skip_spaces_back(at);
    let (mut cuts, mut from) = (Vec::new(), end + 2);
    let is_kind = |lines: &[u8]| lines.windows(KIND.len()).any(|part| part == KIND);
    let is_secret =
        || end - at > 4 || is_kind(text.back(at, 2 * LINE_BYTES)) || is_kind(text.slice(end, end + 2 * LINE_BYTES));
    if !text.starts_with(end, b":\n") || !is_secret() {
        return cuts;
    }
    for _ in 0..ROWS_MAX {
        let name = text.skip_spaces(from);
        let colon = text.run(name, DOTTED, 64);
        let line_end = text.scan(from, LINE_BYTES, |byte| byte != b'\n');
        if name - from <= indent || !text.starts_with(colon, b": ") {
            break;
        }
        let value = value_at(text, colon + 2, ValueForm::Literal);
        let value = if value.written == ValueForm::Quoted { value } else { Value { end: line_end, ..value } };
        cuts.extend(position::cut(text, &value));
        from = line_end + 1;
    }
    cuts
}

/// `form-data; name="password"`, an empty line, the value. `end` is where `form-data` ends.
pub(super) fn form(text: &Text, end: usize) -> Option<Cut> {
    let line = text.slice(end, text.scan(end, LINE_BYTES, |byte| byte != b'\n'));
    let name = line.windows(5).position(|part| part == b"name=")? + 6;
    let name_end = name + line[name.min(line.len())..].iter().position(|&byte| byte == b'"')?;
    announces(&line[name..name_end])?;
    let body = text.slice(end + line.len(), end + line.len() + LINE_BYTES);
    let gap = [&b"\n\n"[..], b"\n\r\n"]
        .iter()
        .find_map(|gap| body.windows(gap.len()).position(|part| part == *gap).map(|at| at + gap.len()))?;
    let start = end + line.len() + gap;
    position::cut(text, &Value { start, end: text.scan(start, 128, |byte| byte > b' '), written: ValueForm::Literal })
}

/// A secret in groups of four or so: `JBSW Y3DP EHPK 3PXP`.
pub(super) fn grouped(text: &Text, cut: Cut) -> Cut {
    let mut end = cut.end;
    loop {
        let next = text.run(end + 1, ALNUM, 9);
        let is_group = matches!(text.at(end), b' ' | b'-') && (3..=8).contains(&(next - end - 1)) && {
            let group = text.slice(end + 1, next);
            group.iter().all(|&byte| !is(byte, ALPHA) || byte.is_ascii_uppercase())
                || group.iter().any(|&byte| is(byte, DIGIT))
        };
        if !is_group || end - cut.start > 96 {
            return Cut { end, ..cut };
        }
        end = next;
    }
}

/// `recovery codes: 1a2b-3c4d, 5e6f-7a8b` in any list. `end` is where the words that announce it end.
pub(super) fn codes(text: &Text, end: usize) -> Vec<Cut> {
    let line = text.scan(end, 48, |byte| !matches!(byte, b':' | b'\n'));
    let link = [&b" is "[..], b" are "].into_iter().find(|link| text.starts_with(end, link));
    let line = if text.at(line) == b':' || text.at(line) == b'\n' && !is(text.at(end + 1), DIGIT) { line } else { end };
    let (mut cuts, mut from) = (Vec::new(), link.map_or(line, |link| end + link.len()));
    let is_gap = |byte: u8| b" \n\r\t,:*`\"[]|.)-;".contains(&byte);
    while cuts.len() < CODES_MAX {
        from = text.scan(from, 24, is_gap);
        let stop = text.run(from, URL64, 40);
        let bytes = text.slice(from, stop);
        // `1.` before a code of a numbered list.
        if bytes.len() <= 2
            && !bytes.is_empty()
            && bytes.iter().all(|&byte| is(byte, DIGIT))
            && matches!(text.at(stop), b'.' | b')')
        {
            from = stop;
            continue;
        }
        let has_digit = bytes.iter().any(|&byte| is(byte, DIGIT));
        let groups = bytes.split(|&byte| byte == b'-');
        let is_split = groups.clone().count() >= 2 && groups.clone().all(|group| (3..=8).contains(&group.len()));
        let even = groups.clone().next().is_some_and(|first| groups.clone().all(|group| group.len() == first.len()));
        let is_line = ends_line(text, stop) && !is_ordinary(bytes);
        let is_code = bytes.len() >= 6
            && (has_digit || (is_split && even) || (is_line && bytes.len() >= 8))
            && !is_placeholder(bytes);
        if !is_code || text.holds_cut(from, stop) {
            break;
        }
        cuts.push(Cut { name: "recovery-code", start: from, end: stop });
        from = stop;
    }
    cuts
}
