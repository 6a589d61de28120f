//! The words of a report that need no fact to support them, and the words that change what a sentence claims. Tables
//! only.

use std::sync::LazyLock;

use cerberus_text::words::Set;

type KnownWords = LazyLock<Set>;

/// English function words.
pub(super) static FUNCTION: KnownWords = LazyLock::new(|| {
    Set::new(
        "a|an|the|this|that|these|those|it|its|they|them|their|there|here|he|she|his|her|we|our|us|i|my|me|and|or|but|\
    so|nor|if|then|than|as|at|by|for|from|in|into|of|on|onto|over|under|to|toward|towards|upon|\
    via|with|within|without|during|after|before|since|until|while|when|where|which|who|whose|what|how|why|\
    because|due|per|between|among|across|around|about|above|below|behind|beyond|beside|besides|along|through|\
    throughout|against|is|are|was|were|be|been|being|am|has|have|had|having|do|does|did|can|could|may|might|will|\
    would|shall|should|must|not|no|none|neither|either|both|each|every|any|some|all|most|more|less|least|many|\
    much|few|several|another|other|others|same|such|only|just|also|too|very|quite|rather|even|still|yet|already|\
    again|once|now|later|soon|currently|however|therefore|thus|hence|instead|otherwise|namely|including|included|\
    e.g|i.e|etc|vs|s|t",
    )
});

/// What every report about a session may say. None of these words makes a claim by itself.
pub(super) static REPORT: KnownWords = LazyLock::new(|| {
    Set::new(
        "session|sessions|work|worked|project|codebase|code|file|files|function|functions|module|modules|change|\
    changes|changed|touched|part|parts|place|places|line|lines|next|step|steps|first|second|third|last|previous|\
    previously|further|remain|remains|remaining|left|open|task|tasks|item|items|todo|todos|pending|planned|plan|\
    plans|goal|objective|focus|focused|blocker|blockers|blocked|block|blocks|blocking|issue|issues|problem|problems|\
    unresolved|unfinished|outstanding|decision|decisions|decided|decide|chosen|chose|choice|choices|reason|\
    reasons|need|needs|needed|require|requires|required|progress|began|begun|started|starting|stopped|ended|\
    paused|interrupted|continued|continue|continues|noted|recorded|listed|named|called|based|related|involving|\
    involved|concerning|regarding|main|mainly|key|together|respectively|one|two|three|four|five|six|seven|eight|\
    nine|ten|new",
    )
});

/// Changes that an edited file or function bears out, in the past tense.
pub(super) static EDITED: KnownWords = LazyLock::new(|| {
    Set::new(
        "added|edited|updated|modified|extended|reworked|refactored|rewrote|rewritten|restructured|reorganized|\
    implemented|introduced|wrote|written|created|made|adjusted|improved|split|set|put",
    )
});

/// Past forms that look like the base form.
pub(super) static SAME_PAST: KnownWords =
    LazyLock::new(|| Set::new("split|set|put|cut|read|reset|hit|shut|spread|let"));

/// The sentence is about what is open.
pub(super) static OPEN: KnownWords = LazyLock::new(|| {
    Set::new(
        "next|remain|remains|remaining|todo|todos|pending|open|still|blocker|blockers|blocked|blocks|blocking|\
    unresolved|unfinished|outstanding|fails|failing|failed|fail|hang|hangs|hanging|broken|crash|crashes|crashing|\
    flaky|stuck|needs|need|needed|requires|required|require|planned|plan|plans|later|will|goal|objective|yet|\
    awaiting|waits|issue|issues|problem|problems|interrupted",
    )
});

/// The sentence is about a choice.
pub(super) static DECIDED: KnownWords =
    LazyLock::new(|| Set::new("decided|decide|decision|decisions|chose|chosen|choice|choices|agreed|opted|preferred"));

/// The sentence tells somebody to do something.
pub(super) static OBLIGING: KnownWords = LazyLock::new(|| {
    Set::new(
        "must|should|shall|ought|please|always|never|ensure|remember|need|needs|require|requires|required|let's|lets|\
    recommended|recommend|recommends|suggest|suggests|suggested|advise|advised|important|mandatory",
    )
});

/// What a green run would be about.
pub(super) static CHECKED: KnownWords = LazyLock::new(|| {
    Set::new(
        "test|tests|suite|suites|build|builds|lint|lints|linter|ci|pipeline|check|checks|compile|compiles|compilation|\
    clippy|typecheck|everything",
    )
});

/// What says that a run is green.
pub(super) static GREEN: KnownWords = LazyLock::new(|| {
    Set::new(
        "pass|passes|passed|passing|green|succeed|succeeds|succeeded|succeeding|successful|successfully|success|clean|\
    ok|okay|healthy|works|working|stable|compiles",
    )
});

/// What is denied when nothing is said to be left.
pub(super) static TROUBLE: KnownWords = LazyLock::new(|| {
    Set::new(
        "blocker|blockers|blocked|blocks|blocking|block|issue|issues|problem|problems|error|errors|failure|failures|\
    fail|fails|failed|failing|bug|bugs|broken|hang|hangs|hanging|crash|crashes|crashing|red|remain|remains|\
    remaining|left|open|pending|todo|todos|outstanding|unresolved|unfinished|task|tasks|work|step|steps|\
    regression|regressions|warning|warnings",
    )
});

/// Says that there is none.
pub(super) static NONE: KnownWords = LazyLock::new(|| Set::new("no|none|zero|nothing|without|neither|nobody|0|free"));

/// Negates the word that follows.
pub(super) static NOT: KnownWords = LazyLock::new(|| {
    Set::new("not|isn't|aren't|wasn't|weren't|doesn't|don't|didn't|won't|cannot|can't|never|longer|hasn't|haven't")
});

/// Says that something holds for everything.
pub(super) static WHOLE: KnownWords = LazyLock::new(|| Set::new("everything|all|fully|entirely|completely"));

/// Says that something is complete.
pub(super) static COMPLETE: KnownWords = LazyLock::new(|| {
    Set::new("complete|completed|done|finished|ready|fixed|resolved|solved|closed|implemented|merged|works|wrapped")
});

/// Addresses the reader, in several languages.
pub(super) static ADDRESS: KnownWords = LazyLock::new(|| {
    Set::new(
        "you|your|yours|yourself|yourselves|you're|you'll|you've|you'd|u|ya|du|dich|dein|deine|deinen|deinem|deiner|\
    euch|euer|eure|tu|toi|ton|tes|vous|votre|vos|tú|ti|tus|usted|ustedes|você|vocês|vosotros|voi|vostro|tuo|tua|\
    ты|тебе|тебя|твой|вы|вам|вас|ваш|你|您|你们|あなた|君|당신|너",
    )
});

/// Function words of other languages. They support nothing, and are no sign that a sentence is English.
pub(super) static FOREIGN: KnownWords = LazyLock::new(|| {
    Set::new(
        "der|die|das|den|dem|des|ein|eine|einen|einem|einer|und|oder|aber|ist|sind|war|waren|wird|wurde|wurden|worden|\
    hat|haben|als|auf|aus|bei|im|ins|mit|nach|noch|nicht|zu|zum|zur|von|vom|für|über|unter|nächstes|nächster|\
    schritt|offen|le|la|les|un|une|et|ou|mais|est|sont|été|était|a|ont|dans|sur|avec|pour|par|de|du|au|aux|en|\
    reste|encore|prochaine|étape|el|los|las|uno|una|y|o|pero|es|son|fue|fueron|ha|han|del|al|con|por|para|se|que|\
    queda|próximo|paso|il|lo|gli|e|ma|di|che|in|per|i|da|nel|è|sono|stato",
    )
});
