//! Where a function stands in the text of a file, and which one a line belongs to.
//!
//! A function begins where a line says so in its first words, and goes on as far as lines are indented deeper. No grammar
//! and no language: whatever does not look like that has no function. Never opens a file.

use cerberus_record::names;

/// The line where a function of this name begins, if only one does. Of `Store.open`, `open` is looked for.
pub fn line_of(source: &str, function: &str) -> Option<u32> {
    let own = function.rsplit('.').next();
    let mut found = source.lines().zip(1..).filter(|(text, _)| names::defined(text) == own).map(|(_, line)| line);
    found.next().filter(|_| found.next().is_none())
}

/// The innermost function around a line. What stands right above a function, such as its comment, belongs to it.
pub fn around(source: &str, line: u32) -> Option<&str> {
    let lines: Vec<&str> = source.lines().collect();
    let at = (line as usize).checked_sub(1).filter(|at| *at < lines.len())?;
    let (above, below) = lines.split_at(at);
    names::defined(below[0]).or_else(|| enclosing(above, below[0])).or_else(|| beginning_with(below))
}

fn enclosing<'a>(above: &[&'a str], line: &str) -> Option<&'a str> {
    let mut depth = if line.trim().is_empty() { usize::MAX } else { depth_of(line) };
    for text in above.iter().rev().filter(|text| !text.trim().is_empty() && !is_aside(text)) {
        if depth_of(text) < depth {
            if let Some(name) = names::defined(text) {
                return Some(name);
            }
            depth = depth_of(text);
        }
    }
    None
}

/// A line that may be less indented than the function it belongs to, or ends the head of one: `) -> u8`, `{`.
fn is_aside(text: &str) -> bool {
    let text = text.trim();
    text.starts_with([')', ']', '>', '{', '#']) || text.starts_with('}') && text.ends_with('{') || text == "where"
}

/// The function that these lines begin, after lines that are indented as it is.
fn beginning_with<'a>(lines: &[&'a str]) -> Option<&'a str> {
    let depth = depth_of(lines[0]);
    let same = lines.iter().take_while(|text| !text.trim().is_empty() && depth_of(text) == depth);
    same.copied().find_map(names::defined)
}

fn depth_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_belongs_to_the_innermost_function_around_it() {
        const RUST: &str = "use std::fs;\n\nstatic A: u8 = 1;\n\n/// Opens.\n#[must_use]\npub fn open(\n    path: &str,\n\
            ) -> u8\nwhere\n    u8: Copy,\n{\n    if path.is_empty() {\n        one();\n    } else {\n        two();\n    }\n}\n\n\
            const B: u8 = 1;\n";
        const PYTHON: &str = "class A:\n    @cached\n    def b(self):\n\n        x = [\n            1,\n        ]\n        return x\n\n    limit = 1\n";
        const SCRIPT: &str = "export const Card = ({ a }: Props) => {\n  todo();\n};\n";
        for (source, lines) in [
            (
                RUST,
                [
                    (0, None),
                    (1, None),
                    (3, None),
                    (5, Some("open")),
                    (6, Some("open")),
                    (8, Some("open")),
                    (14, Some("open")),
                    (16, Some("open")),
                    (20, None),
                    (99, None),
                ]
                .as_slice(),
            ),
            (
                PYTHON,
                &[(1, Some("A")), (2, Some("A")), (4, Some("b")), (6, Some("b")), (8, Some("b")), (10, Some("A"))],
            ),
            (SCRIPT, &[(2, Some("Card")), (3, None)]),
            ("func (s *Store) Open() {\n\ttodo()\n}\n", &[(2, Some("Open"))]),
            ("no code\n  at all\n", &[(1, None), (2, None)]),
            ("", &[(1, None)]),
        ] {
            for (line, expected) in lines {
                assert_eq!(around(source, *line), *expected, "line {line} of {source}");
            }
        }
    }

    #[test]
    fn the_line_of_a_function_is_known_if_there_is_one() {
        let source = "class Store:\n\tdef open(self):\n\t\tpass\n\n\tdef close(self):\n\t\tpass\n\nclass B:\n\tdef close(self):\n\t\tpass\n";
        for (name, expected) in [
            ("open", Some(2)),
            ("Store.open", Some(2)),
            ("Store", Some(1)),
            ("close", None),
            ("gone", None),
            ("", None),
        ] {
            assert_eq!(line_of(source, name), expected, "{name}");
        }
    }
}
