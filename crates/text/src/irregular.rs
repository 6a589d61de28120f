//! Irregular forms of English words, which have no regular ending.

use std::collections::HashMap;
use std::sync::LazyLock;

/// The base first. Forms that are more often another word (`leaves`, `bound`) are left out.
const IRREGULAR: &str = "\
    bad worse worst; begin began begun; bend bent; bite bitten; blow blew blown; break broke broken; bring brought; \
    build built; buy bought; catch caught; child children; choose chose chosen; come came; do did done; draw drew \
    drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel \
    felt; fight fought; find found; fly flew flown; foot feet; forget forgot forgotten; freeze froze frozen; get got \
    gotten; give gave given; go went gone goes; good better best; grow grew grown; half halves; hang hung; have had \
    has; hear heard; hide hid hidden; hold held; keep kept; knife knives; know knew known; lead led; learn learnt; \
    leave left; lend lent; life lives; lose lost; make made; man men; meet met; mouse mice; pay paid; person people; \
    ride rode ridden; rise rose risen; run ran; say said; see saw seen; seek sought; sell sold; send sent; shake \
    shook shaken; shelf shelves; show shown; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke \
    spoken; spend spent; stand stood; steal stole stolen; strike struck; swear swore sworn; swim swam swum; take \
    took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; tooth teeth; understand \
    understood; wake woke woken; wear wore worn; wife wives; win won; wolf wolves; woman women; write wrote written";

static BASES: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let entries = IRREGULAR.split("; ").filter_map(|entry| entry.split_once(' '));
    entries.flat_map(|(base, forms)| forms.split(' ').map(move |form| (form, base))).collect()
});

/// `wrote` and `written` become `write`; regular words are returned unchanged. The word must be lower case.
pub fn base(word: &str) -> &str {
    BASES.get(word).copied().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irregular_forms_have_one_base() {
        for (form, expected) in [("wrote", "write"), ("children", "child"), ("drew", "draw"), ("tests", "tests")] {
            assert_eq!(base(form), expected);
        }
        let forms = IRREGULAR.split("; ").map(|entry| entry.split(' ').count() - 1).sum::<usize>();
        assert_eq!(BASES.len(), forms, "a form is listed twice");
    }
}
