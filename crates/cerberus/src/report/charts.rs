//! Charts as SVG. Every chart is 360 units wide and scales with the page, so that it is readable on a phone.
//!
//! Colour is never the only cue, and what is unknown is hollow. Colours and fonts are in the style sheet; attributes
//! hold only geometry.

use maud::{Markup, html};

use crate::report::figures::scale;

pub const WIDTH: f64 = 360.0;

/// A number for an attribute.
pub fn n(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// What a chart shows, in words.
pub struct Caption<'a> {
    pub title: &'a str,
    /// For people who do not see it.
    pub text: &'a str,
}

/// A chart with its caption, its legend and the same numbers as a table.
pub fn figure(caption: &Caption, height: f64, drawing: &Markup, legend: &Markup, table: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (caption.title) }
            svg viewBox={ "0 0 " (n(WIDTH)) " " (n(height)) } role="img" {
                title { (caption.title) }
                desc { (caption.text) }
                (drawing)
            }
            (legend)
            details { summary { "As a table" } (table) }
        }
    }
}

/// A table; columns after the first hold numbers.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> Markup {
    html! {
        table {
            thead { tr { @for (column, name) in head.iter().enumerate() { th.n[column > 0] { (name) } } } }
            tbody {
                @for row in rows {
                    tr { @for (column, cell) in row.iter().enumerate() { td.n[column > 0] { (cell) } } }
                }
            }
        }
    }
}

/// One entry of a legend: a sample and its meaning.
pub fn legend(entries: &[(Markup, &str)]) -> Markup {
    html! {
        ul.legend {
            @for (sample, meaning) in entries { li { svg viewBox="0 0 14 14" aria-hidden="true" { (sample) } (meaning) } }
        }
    }
}

pub fn sample(class: &str) -> Markup {
    html! { rect class=(class) x="1" y="1" width="12" height="12" rx="2" {} }
}

/// One bar of [`bars`].
pub struct Bar {
    pub label: String,
    /// `None` if it is unknown.
    pub value: Option<f64>,
    pub fill: BarFill,
    /// The value in words.
    pub text: String,
}

/// How a bar is filled.
#[derive(Clone, Copy, Debug)]
pub enum BarFill {
    Solid,
    /// This part of the value is solid, the rest is pale.
    Part(f64),
}

const ROW: f64 = 27.0;
const LABEL_CHARS_MAX: usize = 28;

/// Horizontal bars, each below its label. Returns the drawing and its height.
pub fn bars(bars: &[Bar]) -> (Markup, f64) {
    let end = bars.iter().filter_map(|bar| bar.value).fold(0.0, f64::max);
    let width = |value: f64| n(WIDTH * scale::part(value, end));
    let drawing = html! {
        @for (row, bar) in bars.iter().enumerate() {
            @let y = row as f64 * ROW;
            text x="0" y=(n(y + 10.0)) { (cut(&bar.label)) title { (bar.label) } }
            text.s.e x=(n(WIDTH)) y=(n(y + 10.0)) { (bar.text) }
            @match bar.value {
                Some(value) => {
                    rect.track x="0" y=(n(y + 14.0)) width=(n(WIDTH)) height="7" rx="2" {}
                    @match bar.fill {
                        BarFill::Solid => rect.bar x="0" y=(n(y + 14.0)) width=(width(value)) height="7" rx="2" {},
                        BarFill::Part(solid) => {
                            rect.pale x="0" y=(n(y + 14.0)) width=(width(value)) height="7" rx="2" {}
                            rect.bar x="0" y=(n(y + 14.0)) width=(width(solid)) height="7" rx="2" {}
                        }
                    }
                }
                None => rect.unknown x="0.5" y=(n(y + 14.5)) width=(n(WIDTH - 1.0)) height="6" rx="2" {},
            }
        }
    };
    (drawing, bars.len() as f64 * ROW)
}

/// The beginning of a label, as long as there is room for the value beside it.
fn cut(label: &str) -> String {
    match label.chars().count() > LABEL_CHARS_MAX {
        true => label.chars().take(LABEL_CHARS_MAX - 1).chain(['…']).collect(),
        false => label.to_string(),
    }
}

/// Stripes in the colour of a bar. `id` must be unique in the page.
pub fn hatch(id: &str, class: &str) -> Markup {
    html! {
        defs {
            pattern id=(id) width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)" {
                rect.track width="4" height="4" {}
                rect class=(class) width="2" height="4" {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_value_has_a_hollow_bar_and_no_length() {
        let bar = |value| Bar { label: "<a>".to_string(), value, fill: BarFill::Solid, text: "1 & 2".to_string() };
        let (drawing, height) = bars(&[bar(Some(5.0)), bar(None), bar(Some(10.0))]);
        let drawing = drawing.into_string();
        assert_eq!(height, 81.0);
        assert_eq!(drawing.matches("class=\"unknown\"").count(), 1);
        assert_eq!(drawing.matches("class=\"bar\"").count(), 2);
        assert!(drawing.contains("class=\"bar\" x=\"0\" y=\"14\" width=\"180\""), "{drawing}");
        assert!(drawing.contains("&lt;a&gt;") && drawing.contains("1 &amp; 2"), "{drawing}");
    }

    #[test]
    fn a_long_label_is_cut() {
        assert_eq!(cut("requests, decisions, state"), "requests, decisions, state");
        assert_eq!(cut(&"é".repeat(40)), format!("{}…", "é".repeat(27)));
    }

    #[test]
    fn numbers_in_attributes_are_short() {
        assert_eq!((n(1.0), n(1.25), n(0.04)), ("1".to_string(), "1.2".to_string(), "0".to_string()));
    }
}
