//! Scales: the end of an axis, levels of a heat map, numbers as people read them.

/// The shades of a heat map above "nothing".
pub const LEVELS: u8 = 4;

/// The end of an axis that shows `max`: 1, 2 or 5 times a power of ten, and at least 1.
pub fn axis_end(max: f64) -> f64 {
    if !max.is_finite() || max <= 1.0 {
        return 1.0;
    }
    let power = 10f64.powf(max.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|end| *end >= max).unwrap_or(max)
}

/// The part of an axis that a value takes, from 0 to 1.
pub fn part(value: f64, end: f64) -> f64 {
    if end > 0.0 { (value / end).clamp(0.0, 1.0) } else { 0.0 }
}

/// The shade of a count: 0 for none, otherwise 1 to [`LEVELS`]. Grows with the square root, so that one busy day does
/// not make all others look empty.
pub fn level(count: usize, max: usize) -> u8 {
    if count == 0 || max == 0 {
        return 0;
    }
    let part = (count as f64 / max as f64).sqrt().min(1.0);
    ((part * f64::from(LEVELS)).ceil() as u8).clamp(1, LEVELS)
}

/// `950`, `12.3 k`, `4.6 M`.
pub fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..999_950 => format!("{:.1} k", count as f64 / 1e3),
        999_950..999_950_000 => format!("{:.1} M", count as f64 / 1e6),
        _ => format!("{:.1} G", count as f64 / 1e9),
    }
}

/// `42 %`, or `None` of nothing.
pub fn percent(part: usize, whole: usize) -> Option<String> {
    (whole > 0).then(|| format!("{:.0} %", 100.0 * part as f64 / whole as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_a_round_number_above_its_values() {
        for (max, end) in [(0.0, 1.0), (0.4, 1.0), (1.0, 1.0), (1.1, 2.0), (20.0, 20.0), (21.0, 50.0), (60.0, 100.0)] {
            assert_eq!(axis_end(max), end, "{max}");
        }
        assert_eq!((axis_end(f64::NAN), axis_end(f64::INFINITY)), (1.0, 1.0));
        assert_eq!((part(5.0, 20.0), part(50.0, 20.0), part(1.0, 0.0)), (0.25, 1.0, 0.0));
    }

    #[test]
    fn every_count_above_zero_has_a_shade() {
        let shades: Vec<u8> = [0, 1, 4, 25, 60, 100].into_iter().map(|count| level(count, 100)).collect();
        assert_eq!(shades, [0, 1, 1, 2, 4, 4]);
        assert_eq!((level(1, 1), level(3, 0), level(1, 1_000_000)), (4, 0, 1));
    }

    #[test]
    fn numbers_are_short() {
        for (count, text) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0 k"),
            (999_949, "999.9 k"),
            (999_950, "1.0 M"),
            (2_500_000_000, "2.5 G"),
        ] {
            assert_eq!(short(count), text);
        }
        assert_eq!((percent(1, 3), percent(0, 3), percent(0, 0)), (Some("33 %".into()), Some("0 %".into()), None));
    }
}
