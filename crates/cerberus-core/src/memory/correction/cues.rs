//! The cues: which words at which place correct the agent, what sort of correction that is, and how sure.
//!
//! A cue that begins with `~` may stand anywhere in a clause that supposes nothing, one with `^` begins a sentence, one
//! with `?` asks; any other begins a clause or a polite order. The first tables correct at any
//! time, the others only an agent that has already acted, that offered to, or that was stopped.
//! Whoever says "always show the date" describes the product: orders are taken only for the agent's own work.

use std::sync::LazyLock;

use super::CorrectionKind::{self, Behaviour, Fix, Preference, Rule, Style};
use super::Turn;
use crate::extract::words::cues::{DENYING, SOMEBODY, SUPPOSING, request};
use crate::extract::words::form::is_order;
use crate::extract::words::matcher::{Pattern, Set};
use crate::extract::words::sentence::{Clause, Mood, Word, fillers};

/// Where a cue may stand.
enum Place {
    Anywhere,
    SentenceStart,
    ClauseStart,
    Question,
}

pub(super) struct Cue {
    pub kind: CorrectionKind,
    pub confidence: f64,
    place: Place,
    pattern: Pattern,
}

fn cue((kind, confidence, pattern): (CorrectionKind, f64, &'static str)) -> Cue {
    let (place, pattern) = match pattern.split_at(2) {
        ("~ ", pattern) => (Place::Anywhere, pattern),
        ("^ ", pattern) => (Place::SentenceStart, pattern),
        ("? ", pattern) => (Place::Question, pattern),
        _ => (Place::ClauseStart, pattern),
    };
    Cue { kind, confidence, place, pattern: Pattern::new(pattern) }
}

fn table(rows: &[(CorrectionKind, f64, &'static str)]) -> Vec<Cue> {
    rows.iter().copied().map(cue).collect()
}

/// Rules in so many words.
static UNIVERSAL: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Rule, 0.92, "always|never ?ever|again @labour !at|by|yet"),
        (Rule, 0.92, "always|never ?ever write|name|call !the|this|that|it|these|those|\" +"),
        (Rule, 0.92, "always|never ?ever use !the|this|that|it|these|those|a|an +"),
        (Rule, 0.78, "^ always|never ?ever use|add|create|open|update|remove|delete|include|put|check|make|do|keep|skip|leave +"),
        (Rule, 0.92, "?do don't|dont|not ever again|% !be|have"),
        (Rule, 0.92, "you ?really should|must|need|have|are|can|shall ?to|supposed ?to always|never %"),
        (Rule, 0.78, "we ?really should|must|need ?to always|never @labour|use"),
        (Rule, 0.92, "make|be sure|certain ?to|you|that|you're ?you always|never @labour|use|ask|check"),
        (Rule, 0.92, "i ?really want|need|expect|'d|would|i'd ?like you to always|never %"),
        (Rule, 0.85, "i ?really always|never want|expect you|to ?to see|%"),
        (Rule, 0.85, "@lets always|never %"),
        (Rule, 0.92, "from now|here on|onward|onwards|forward ?, ?, ?please|just|let's|lets|only|when|whenever|i|you|we|always|never|all|every|any|no|if|don't|do %|you|we|i|want|should|always|never|not|don't|=|&|use|commits|@works"),
        (Rule, 0.92, "!it|the|this|that|they|he|she|if|is|are|does * from now on|onward|onwards|forward $"),
        (Rule, 0.88, "going|moving forward ?, ?, ?please|just|let's|lets|only|you|we|always|never|all|every|don't|do %|should|always|never|not"),
        (Rule, 0.85, "% * going|moving forward $"),
        (Rule, 0.85, "in|for ?the future ?, ?, please|always|never|don't|dont|do|you|just ?should|must|please|always|not %"),
        (Rule, 0.8, "?do|please ?not % * in future $"),
        (Behaviour, 0.85, "for future reference ?, +"),
        (Behaviour, 0.85, "next time ?, ?, ?please|just|you ?should|can|must|don't|dont|do ?not %"),
        (Rule, 0.92, "remember|rule|reminder : +"),
        (Rule, 0.78, "remember ?, this|it|our|we|the ?+ is|are|has|uses|use|isn't|aren't|don't +"),
        (Rule, 0.85, "remember ?, that|to !time|when|one|bug|day|we|i !had|saw|talked|discussed|did +"),
        (Rule, 0.8, "save|store|note|record|remember this|that|it|these to|in|into|as ?a ?your ?the|our ?project memory|memories|rule|rules"),
        (Rule, 0.88, "before|after every|each|any @work|pr|push|merge|deploy|session|edit * , ?please|always|you|we|must %|must|should"),
        (Rule, 0.88, "?you ?must|should % * before|after every|each|any @work|push|merge|deploy|deployment|edit|session"),
        (Rule, 0.85, "whenever|everytime you|we|i * , ?please|always|never|also|you|don't|dont|do|make ?not|should|must|sure %|you|to|always"),
        (Rule, 0.85, "every|each|any|every-single time ?that you|we|i * , ?please|always|never|also|you|don't|dont|do|make ?not|should|must|sure %|you|to|always"),
        (Rule, 0.85, "% * whenever|everytime you|we|i +"),
        (Rule, 0.85, "@labour|use|update|add * every|each|any time ?that you|we|i +"),
        (Rule, 0.88, "every|each|any|all ?single|new|public @work|@works must|should|needs|need|has|have ?to be|have|include|pass|come|go|get|use|start|follow|contain|live|carry"),
        (Rule, 0.85, "?unit|integration|commit|pr|error|test|code|all|our|public|private|new @works should|must|shall|may|can always|never|only +"),
        (Rule, 0.75, "?unit|integration|commit|code|our|public|private|all @works must|need|have ?to ?not be|have|go|start|use|live|pass|follow|end"),
        (Rule, 0.85, "only @labour|create|open * when|if|after|once i|i've|i'm"),
    ])
});

/// How things are done in this project.
static CUSTOMS: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Rule, 0.9, "in|on|for|within|at|across this|our|the|my @place ?, ?, we|i ?always|only|never|don't|dont|do ?not %"),
        (Rule, 0.88, "we|i ?always|only|never|don't|dont|do ?not !want|add|create|put|store|fix|make|see|get|found % * in|on|for|across this|our|my @place !is|are"),
        (Rule, 0.88, "we ?always|only|never|don't|dont|do ?not use|prefer|write|name|squash|rebase|follow|commit|mock|do * here|everywhere|throughout $"),
        (Rule, 0.88, "around here ?, we %"),
        (Rule, 0.85, "our|my|the|house ?usual|project|team|repo|naming|coding|agreed convention|policy|rule|standard|practice|workflow ?here ?for * is ?to|that|here +"),
        (Rule, 0.8, "by convention ?, +"),
        (Rule, 0.74, "i|we no longer use|do +"),
        (Rule, 0.82, "we ?only|always use|run|write * , not|never +"),
        (Rule, 0.82, "we ?only|always use @tool|\" ?for|instead|over|rather|not|here|as|to !it"),
        (Rule, 0.78, "we use + ?+ instead|rather of|than +"),
        (Rule, 0.78, "we don't|dont|never ?ever use|mock|commit|push|squash|merge|write|rebase|vendor &"),
        (Rule, 0.78, "we do not ?ever use|mock|commit|push|squash|merge|write|rebase|vendor &"),
        (Rule, 0.8, "we always|never @labour"),
        (Rule, 0.85, "this|our|the @place uses|follows|requires|standardizes|standardises|targets +"),
        (Rule, 0.85, "one|a|single ?separate|single|own @work per @work|pr|file|topic|issue|commit|concern"),
        (Rule, 0.82, "?ok|no use|run|stick|switch ?to|with @tool ?for * , not|never @tool"),
        (Rule, 0.82, "?@lets|we use|run|prefer @tool ?commands|for|scripts ?+ not|instead|over|rather ?of|than @tool"),
        (Rule, 0.78, "follow|respect|obey|adhere|stick|keep|stay ?to|with the|our|my|your|this|these|all|existing * @custom"),
        (Rule, 0.78, "?you|we ?should|must|to follow|respect|obey|adhere|reread|re-read ?to ?the|our|my|your @rulebook|tdd"),
        (Rule, 0.8, "@lets|we ?should stick|keep ?to|with * @custom"),
        (Rule, 0.8, "?new|unit|integration|all|our|the|feature @works go|belong|live|stay in|into|to|under|next|beside|on|off"),
        (Rule, 0.78, "keep ?the|your|all|our|my ?the|your @works|diffs small|short|focused|minimal|atomic|separate|independent"),
        (Rule, 0.78, "?please|make|more small|smaller|atomic commits|prs|steps|diffs ?please $"),
        (Rule, 0.76, "commit|push|branch|test|review|use|run * for|in|on|per|at|with|after each|every @work"),
        (Rule, 0.78, "@labour|write|add * as you go|along"),
        (Rule, 0.76, "we ?do don't|dont ?not need|want|care|support|have ?about|to|any ?keep|maintain ?any backward|backwards|backward-compatibility"),
        (Rule, 0.78, "to|for @labour|build|release|start|generate|regenerate|migrate|building|testing|=|tests * please|you|just|we ?should|need|can ?to use|run \""),
        (Rule, 0.78, "to|for @labour|build|release|start|generate|regenerate|migrate|building|testing|tests * use \""),
        (Rule, 0.78, "the|our ?correct|right|proper command ?for|to * is \""),
        (Rule, 0.85, "?do @not add|include|put|mention|write|sign|credit * co-authored-by|claude|attribution|yourself|co-author"),
    ])
});

/// What the user likes.
static PREFERENCES: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Preference, 0.85, "i|we ?really|generally|usually|always|strongly|much|personally|typically prefer|prefere|favour|favor !the|this|that|it|its|option|#|if|your|these|those|a|an|\" +"),
        (Preference, 0.85, "prefer|favour|favor !the|this|that|it|option|# + * over|to|rather|instead +"),
        (Preference, 0.8, "prefer !the|this|that|it ?+ &|="),
        (Preference, 0.8, "i ?really|usually|generally|just|do like|love|want|need|expect my|all|every ?the|my @works|@answers|commits|code|tests"),
        (Preference, 0.82, "i ?really|usually|generally|do like|love|appreciate ?it when|if you"),
        (Preference, 0.82, "i ?really|usually|generally|do like|love !the|this|that|it|your|a|an|how|to ?+ @works|@answers|commits"),
        (Preference, 0.82, "i ?really|just|do hate|dislike|can't ?stand ?it when|how|that|if you"),
        (Preference, 0.82, "i ?really|just|do don't|dont ?not like|want it|when|how ?when|that you"),
        (Preference, 0.78, "i ?really|just|do don't|dont|never ?not want you to !do|go|think %"),
        (Preference, 0.78, "i ?really|just|do don't|dont|never ?not want ?to ?see ?any|so|too ?many|much emojis|comments|mocks|abbreviations|docstrings|@looks"),
    ])
});

/// How the agent goes about its work.
static CONDUCT: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Behaviour, 0.85, "stop|quit = !the|this|that|it|and|now"),
        (Behaviour, 0.8, "stop|quit = everything|things|that|the|it ?as|like|in|every|over"),
        (Behaviour, 0.9, "?do @not %|just * without ?first|my|explicit|me|asking|approval|permission|confirmation|consent|confirming|checking|telling ?me|asking|approval|permission|confirmation|go-ahead|okay|ok|explicit|saying|with|consent|first"),
        (Behaviour, 0.88, "?do @not % * unless|until i|i'm|i've|asked|told|explicitly|we've"),
        (Behaviour, 0.85, "ask|check|confirm|consult ?with ?me ?first before =|you|any|every|each|touching"),
        (Behaviour, 0.8, "?do @not just|simply|blindly|silently % !be"),
        (Behaviour, 0.8, "?do @not ask|bother|interrupt|wait ?me|for ?for|about|permission|confirmation|approval|every|to|with|my|if|before"),
        (Behaviour, 0.8, "no need|reason to ask|confirm|check ?with ?me|for|every|if|before|permission|about|whether|first"),
        (Behaviour, 0.8, "you ?do don't|dont|not|never need|have|must ?to ask|confirm|wait|stop ?for|me|my|with"),
        (Behaviour, 0.76, "you can|could|should|may|must|are ?able ?to ?also|just|easily|always % * yourself"),
        (Behaviour, 0.76, "you ?already|should|do|also have|got ?full|ssh|the|direct|already|write|read|admin|a|local|our access|permission|permissions|credentials|rights|tools|keys|copy|clone|checkout|cli|mcp ?to +"),
        (Behaviour, 0.72, "do|run|check|test|verify|look|try|find|figure * yourself !?"),
        (Behaviour, 0.8, "you're|youre ?not|really|always supposed|meant|expected to"),
        (Behaviour, 0.8, "you are|were ?not|really|always supposed|meant|expected to"),
        (Behaviour, 0.8, "? aren't|arent|weren't|werent|are|were you ?not supposed|meant|expected to"),
        (Behaviour, 0.76, "? shouldn't|shouldnt you ?be|always|first|rather %|="),
        (Behaviour, 0.76, "you're|youre not ?even using|following|running|reading|testing"),
        (Behaviour, 0.76, "you are|aren't|arent ?not ?even using|following|running|reading|testing !it|this|that"),
        (Behaviour, 0.78, "?i|thought ?thought we ?had|have ?already agreed to|on|that +"),
        (Behaviour, 0.76, "you should|ought|must|need ?really|to|always be ="),
        (Behaviour, 0.8, "?do @not ?ever commit|push|merge|rebase|deploy|release|publish|force-push ?directly|straight to|on|into|onto|against +"),
        (Behaviour, 0.8, "?do @not ?ever hardcode|hard-code|force-push|mock|abbreviate|over-engineer|overengineer|apologize|apologise|guess|assume|hallucinate|hard-wrap|invent|fabricate|speculate"),
        (Rule, 0.74, "?do @not forget to ?always|also @labour|use|check|update|add|keep|rebase|sync"),
        (Rule, 0.74, "?do @not !do|make|worry|forget|see|think|know|show|have|need|want % ?any !@thing ?+ & * because|since|as|otherwise|it|that|they +"),
        (Rule, 0.72, "?do @not ?ever use|write|create|introduce|squash|batch|invent !@thing ?any|+ ?+ !changes & !are|is|that|from|of|which|for"),
        (Rule, 0.74, "@lets not|avoid leave|wait|batch|pile|rush|skip|guess|assume|push|commit|cram|mix|postpone|defer|over-engineer|overengineer +"),
        (Behaviour, 0.85, "you keep|kept ?on ="),
        (Behaviour, 0.8, "i|nobody|no-one ?did didn't|didnt|never|not ?not say|ask|tell|asked|told|said ?you|for|to ?to ?you commit|push|merge|deploy|publish|release|rebase"),
        (Behaviour, 0.74, "i allow|permit|authorize|authorise you to"),
        (Behaviour, 0.85, "you always|never|constantly|repeatedly % !to"),
        (Behaviour, 0.85, "i|i've|i'd ?have ?already|repeatedly|explicitly told|reminded|asked you ?already|before|twice|multiple|several|many ?times ?to not|never|always|before|already|again|twice|times|multiple"),
        (Behaviour, 0.8, "i|i've|i'd ?have already|repeatedly told|asked|reminded you +"),
        (Behaviour, 0.85, "? how many|often times|must|do|should|did do|must|should|did|i|have ?i"),
        (Behaviour, 0.76, "? why aren't|arent|didn't|didnt|haven't|havent|weren't|aren'tyou|didn'tyou ?you %|="),
        (Behaviour, 0.76, "? why are|did|have|were you ?still not %|="),
        (Behaviour, 0.76, "? why are|did|do|were you ?still ?back|using|use|run|running|call|calling|install|installing|with ?to|with @tool"),
        (Behaviour, 0.76, "? isn't|isnt|wasn't|wasnt|aren't this|that|it|these|those|there ?not * listed|written|documented|described|mentioned|stated|specified|defined|covered|in|part * @rulebook"),
        (Behaviour, 0.76, "? did|didn't|didnt|have|haven't|havent|don't|aren't|are you ?not ?even read|follow|followed|check|see|use|know|reading|following * @rulebook"),
    ])
});

/// How code and text look, and how the agent talks.
static LOOKS: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Style, 0.85, "?@lets|we use|write|stick|prefer|want|keep|switch ?to|with|in ?only|the|a|in british|american|us|uk|plain|simple english|spelling|spellings"),
        (Style, 0.85, "british|american|us|uk english|spelling ?please $"),
        (Style, 0.82, "?@lets|we use|prefer|stick|write|indent|want ?to|with|in|using ?the|only|a|two|four|2|4|single|double|conventional @looks|commits|mood"),
        (Style, 0.82, "?@lets|we use conventional commits|commit"),
        (Style, 0.82, "no ?more|trailing|code|inline|unnecessary emojis|emoji|em-dashes|emdashes|abbreviations|acronyms|semicolons|comments|docstrings|exclamation"),
        (Style, 0.82, "?do @not use|add|put|write|include|insert ?any|so|too ?many|much|inline|code|unnecessary|trailing emojis|emoji|em-dashes|emdashes|abbreviations|acronyms|semicolons|comments|docstrings"),
        (Style, 0.78, "be ?more|less|very|a|as|much ?bit|little|more @terse|verbose|chatty|wordy|direct|wordy|to-the-point"),
        (Style, 0.76, "keep it|them|things|everything|your|the|all|my ?commit|pr @terse|@answers|messages ?@terse"),
        (Style, 0.78, "?give|i|want|write ?want|prefer|me @terse|fewer|less @answers|words|explanation|verbose ?please"),
        (Style, 0.8, "answer|reply|respond|speak|talk|explain ?to ?me ?always|only in|with|using ?a|one|plain|short|simple english|german|french|spanish|italian|dutch|bullet|bullets|sentence|sentences|language|terms"),
    ])
});

/// What corrects an agent that has already said or done something.
static AFTER: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Rule, 0.76, "^ ?yes|no|this|that|it|those|these|they|that's|it's|its|is|all ?is|are|was|were ?is|all|quite|indeed intentional|deliberate|intended !or|about|about|that|if|for"),
        (Rule, 0.76, "^ ?the|this|that|our + ?+ is|are|was|were ?all|indeed intentional|deliberate !or|that|if|for"),
        (Rule, 0.76, "^ ?yes|no|this|that|it|those|these|they|that's|it's|its ?is|are|was|were|did|do ?that|it on|by purpose|design !or|that|if|for"),
        (Rule, 0.74, "!@thing !@we ?+ & are never|always ?a|an ?+ &"),
        (Rule, 0.74, "we call it|them|this|that|these|those + !and|from|in|when|with"),
        (Behaviour, 0.74, "you need|have|should|must|can ?to|just|first|always run|execute \" ?to|first|for|before|instead"),
        (Behaviour, 0.74, "you should ?have|'ve|should've ?have asked|used|run|followed|checked|read|tested|committed|branched|known"),
        (Rule, 0.82, "^ no|nope|wrong|actually|stop|wait ?, ?, we ?always|only|don't|never use|do|run|write|call|name !that|this|it|have +"),
        (Rule, 0.82, "^ no|nope|wrong|stop|wait|actually ?, ?, ?please|just|always use|run|try @tool"),
        (Fix, 0.7, "^ no|nope|nah ?, ?wait|please|just|that|this|it|i|the|don't|do|let's|lets|you|we|use|remove|keep|put|make|not|instead ?not|should|mean|meant|want|isn't|is|doesn't|only|just|need|have|can|% +"),
        (Fix, 0.85, "that|this|it|these|those|that's|it's|which ?is|are|was|looks|seems|still|clearly|just wrong|incorrect|not ?quite|really|what|the ?right|correct|what|how|true|working|enough"),
        (Fix, 0.85, "that's|it's|this|that|it ?is|are|still ?still|clearly|totally|completely|just|plain|a ?bit wrong|incorrect|backwards|outdated|too"),
        (Fix, 0.9, "you ?just|still|also|only|again|have|'ve forgot|missed|broke|removed|deleted|skipped|ignored|misunderstood|overwrote|misread|dropped|lost|introduced|forgotten|messed +"),
        (Fix, 0.85, "you ?still didn't|didnt|haven't|havent|don't|aren't|did ?not +"),
        (Fix, 0.85, "revert|undo|rollback|restore|unstage ?all|back|those|your that|this|it|these|those|the|your|last|changes|commit|everything"),
        (Fix, 0.8, "put|change|move|switch|roll|take|bring * back"),
        (Fix, 0.8, "i ?actually|only|just|really|mostly|also meant|said|asked|wanted|specified !if|you +"),
        (Fix, 0.8, "i ?really|actually|just|do|also|still didn't|didnt|don't|dont|never|wouldn't ?not ask|say|mean|want|like|need|agree +"),
        (Fix, 0.75, "^ ?but|and|it|this|that|the|,|hmm ?+ ?is|it's still not|too|doesn't|isn't|wrong|broken|failing|fails|shows|showing|there|the|see|getting|no|only|some|looks"),
        (Fix, 0.75, "~ should ?also|still|only|really|just|then not|n't|only|rather|instead be|have|show|use|go|happen|do|say|include|run|+"),
        (Fix, 0.75, "it|this|that|they|these|those|there shouldn't|shouldnt|mustn't|should|must ?also|still|only|really|just|then|always ?not be|have|show|use|go|happen|do|say|include|run|%"),
        (Fix, 0.72, "~ should be|use|say|show|have|go|read|return * not|instead|rather|,"),
        (Fix, 0.72, "not|don't|dont + * but|rather +"),
        (Fix, 0.75, "use|do|make|put|call|name|take|run|review|ask|write|print|say|show|return|keep|move|have|focus|try * instead ?of"),
        (Fix, 0.75, "^ ?, instead ?of|, * %|,"),
        (Fix, 0.75, "?can|could|should ?we|you use|do|make|put|call|name|take|run|review|ask|write|print|say|show|keep|move|have|change|just * instead|rather"),
        (Fix, 0.7, "remove|delete|drop that|this|it|those|these|them"),
        (Fix, 0.7, "no|that|remove|drop|do * again $"),
        (Fix, 0.7, "why did|are|have|do|would you +"),
        (Fix, 0.7, "? why did|are|have|were|did you +"),
        (Fix, 0.7, "? why is|are|does|do|was it|this|that|these|they|there|the|we ?+ still|again"),
        (Fix, 0.7, "wrong file|one|place|branch|folder|directory|approach|way|name|path|order"),
        (Fix, 0.7, "?do @not %|do +"),
    ])
});

/// Standing facts that answer an agent's offer: what it would do happens anyway, or is not wanted at all.
static OFFERED: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Rule, 0.74, "?if|once|when ?you|it|we * it|that|this|they|ci|everything * by itself|itselfs|themselves"),
        (Rule, 0.74, "?if|once|when ?you|it|we * it|that|this|they|ci|everything * on its|their own"),
        (Rule, 0.74, "it|that|this|they|ci|everything ?already|will|is|are|gets|should deploys|deploy|deployed|builds|runs|restarts|reloads|updates|publishes|released|happens|done automatically"),
        (Rule, 0.74, "?the ci|pipeline|workflow|action|actions|bot|hook|cron does|handles|runs|takes|deploys|builds|publishes|will ?care ?of|do|handle that|this|it|all|the"),
        (Behaviour, 0.74, "you|we ?do don't|dont|never ?not need|have to ?ever|manually run|deploy|push|commit|restart|rebuild|install|build|publish|migrate|start|stop"),
        (Behaviour, 0.74, "no need to ?ever|manually run|deploy|push|commit|restart|rebuild|install|build|publish|migrate|start|stop"),
    ])
});

/// What corrects an agent that was stopped.
static STOPPED: LazyLock<Vec<Cue>> = LazyLock::new(|| {
    table(&[
        (Behaviour, 0.76, "you ?just|can|could ?just|simply|only should|can|need|have|must|could ?to|just|simply|only run|use|call|read|ask|do * \"|@tool|skill|script"),
        (Behaviour, 0.76, "^ what|where does|do|did|is|in * @rulebook say|says|said"),
        (Behaviour, 0.76, "? what|where does|do|did|is|in * say|says"),
        (Fix, 0.8, "no|wait|stop|hold|don't|dont|instead|rather|actually|not +"),
        (Fix, 0.75, "use|ask|let|do|make|just|only|try|focus|skip|ignore|leave|keep +"),
        (Fix, 0.7, "^ you|it|that|this|the|we|should|can|could +"),
    ])
});

/// The tables in which a cue may be looked for.
pub(super) fn tables(turn: &Turn) -> impl Iterator<Item = &'static Cue> {
    let any: [&'static Vec<Cue>; 5] = [&UNIVERSAL, &CUSTOMS, &PREFERENCES, &CONDUCT, &LOOKS];
    let after = turn.has_acted().then_some(&*AFTER);
    let offered = turn.was_offered().then_some(&*OFFERED);
    let stopped = turn.is_interruption.then_some(&*STOPPED);
    any.into_iter().chain(after).chain(offered).chain(stopped).flatten()
}

/// "Would you prefer …" asks what the agent likes.
static LIKING: LazyLock<Set> = LazyLock::new(|| Set::new("prefer|like|want|favour|favor"));

impl Cue {
    pub fn stands_in(&self, sentence: &[Word], clause: &Clause) -> bool {
        let words = &sentence[clause.start..];
        let own = &words[..clause.end - clause.start];
        match (&self.place, clause.mood) {
            (Place::Question, Mood::Question) => self.begins(words, fillers(own)),
            (Place::Question, _) | (_, Mood::Question) => false,
            (Place::ClauseStart, Mood::Request) => {
                let order = request(own);
                let is_order = own.get(order).is_some_and(|word| !SOMEBODY.has(&word.low) && !LIKING.has(&word.low));
                is_order && self.pattern.matches_at(words, order)
            }
            (Place::Anywhere | Place::SentenceStart, Mood::Request) => false,
            (Place::Anywhere, Mood::Statement) => {
                (0..own.len()).any(|at| self.pattern.matches_at(words, at) && is_meant(&own[..at]))
            }
            (Place::SentenceStart, Mood::Statement) => clause.start == 0 && self.begins(words, fillers(own)),
            (Place::ClauseStart, Mood::Statement) => !is_told_on(sentence, clause) && self.begins(words, fillers(own)),
        }
    }

    /// Does it stand after at most so many words that say nothing? "I" says who: "I never saw it" is no order.
    fn begins(&self, words: &[Word], silent: usize) -> bool {
        let follows_speaker = |at: usize| at > 0 && words[at - 1].low == "i";
        (0..=silent).any(|at| !follows_speaker(at) && self.pattern.matches_at(words, at))
    }
}

/// "The flag is set but never read" goes on about the flag; "run it once and never commit it" goes on ordering.
fn is_told_on(sentence: &[Word], clause: &Clause) -> bool {
    let low = |at: usize| sentence.get(at).map_or("", |word| word.low.as_str());
    let goes_on = clause.start > 0
        && matches!(low(clause.start), "and" | "but" | "or")
        && matches!(low(clause.start + 1), "always" | "never" | "not");
    let opening = low(fillers(sentence));
    goes_on && !is_order(opening) && !matches!(opening, "you" | "don't" | "do" | "always" | "never")
}

/// Do the words before it leave it as it is?
fn is_meant(before: &[Word]) -> bool {
    let near = &before[before.len().saturating_sub(3)..];
    !SUPPOSING.has_any(before) && !DENYING.has_any(near)
}
