//! Where a share would lie if other people had been drawn from these.

/// How many facts were named, and how many there were.
pub type Named = (usize, usize);

const RESAMPLES: usize = 2_000;
const SEED: u64 = 20_261_118;

pub fn share((named, all): Named) -> f64 {
    100.0 * named as f64 / all.max(1) as f64
}

pub fn sum(counts: impl Iterator<Item = Named>) -> Named {
    counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// Of the share of facts that were named, by person.
pub fn of_share(people: &[Named]) -> (f64, f64) {
    resampled(people.len(), |drawn| share(sum(drawn.iter().map(|person| people[*person]))))
}

/// Of the difference between two shares, by person: ours, and another's at the same moments.
pub fn of_difference(people: &[(Named, Named)]) -> (f64, f64) {
    resampled(people.len(), |drawn| difference(drawn.iter().map(|person| people[*person])))
}

pub fn difference(people: impl Iterator<Item = (Named, Named)>) -> f64 {
    let (ours, other): (Vec<Named>, Vec<Named>) = people.unzip();
    share(sum(ours.into_iter())) - share(sum(other.into_iter()))
}

/// The middle 95 % of a figure over as many people, drawn again and again.
fn resampled(people: usize, figure: impl Fn(&[usize]) -> f64) -> (f64, f64) {
    if people == 0 {
        return (0.0, 0.0);
    }
    let mut state = SEED;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % people
    };
    let mut figures: Vec<f64> =
        (0..RESAMPLES).map(|_| figure(&(0..people).map(|_| draw()).collect::<Vec<usize>>())).collect();
    figures.sort_by(f64::total_cmp);
    (figures[RESAMPLES / 40], figures[RESAMPLES - RESAMPLES / 40 - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_share_of_all_and_is_a_point_if_people_agree() {
        assert_eq!(of_share(&[(5, 10), (5, 10), (5, 10)]), (50.0, 50.0));
        let (low, high) = of_share(&[(0, 10), (5, 10), (10, 10)]);
        assert!(low < 50.0 && high > 50.0);
        assert_eq!(of_share(&[]), (0.0, 0.0));
    }

    #[test]
    fn people_who_differ_may_agree_on_the_difference() {
        let people = [((2, 10), (1, 10)), ((6, 10), (5, 10)), ((10, 10), (9, 10))];
        let near = |(low, high): (f64, f64)| (low - 10.0).abs() < 1e-9 && (high - 10.0).abs() < 1e-9;
        assert!(near(of_difference(&people)));
        let (low, high) = of_difference(&[((2, 10), (1, 10)), ((4, 10), (5, 10)), ((5, 10), (5, 10))]);
        assert!(low < 0.0 && high > 0.0);
    }
}
