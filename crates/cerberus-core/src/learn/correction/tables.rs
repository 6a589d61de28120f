//! The tables of cues, one per line: a kind, the confidence in percent, and a pattern. `cues` describes the syntax.

/// Explicit rules.
pub(crate) const UNIVERSAL: &str = "\
rule 92 always|never ?ever|again @labour !at|by|yet
rule 92 always|never ?ever write|name|call !the|this|that|it|these|those|\" +
rule 92 always|never ?ever use !the|this|that|it|these|those|a|an +
rule 78 ^ always|never ?ever use|add|create|open|update|remove|delete|include|put|check|make|do|keep|skip|leave +
rule 92 don't|dont ever again|% !be|have
rule 92 you ?really should|must|need|have ?to always|never %
rule 78 we ?really should|must|need ?to always|never @labour|use
rule 92 make|be sure|certain ?to|you|that|you're ?you always|never @labour|use|ask|check
rule 92 i ?really want|need|expect|'d|would|i'd ?like you to always|never %
rule 85 i ?really always|never want|expect you|to ?to see|%
rule 85 @lets always|never %
rule 92 from now|here on|onward|onwards|forward ?, ?, ?please|just|let's|lets|only|when|whenever|i|you|we|always|\
    never|all|every|any|no|if|don't|do %|you|we|i|want|should|always|never|not|don't|=|&|use|commits|@works
rule 92 %|please|you|we|i|@lets|don't|dont|always|never|no * from now on|onward|onwards $
rule 88 going|moving forward ?, ?, ?please|just|let's|lets|only|you|we|always|never|all|every|don't|do %|should|\
    always|never|not
rule 85 % * going|moving forward $
rule 85 in|for ?the future ?, ?, please|always|never|don't|dont|do|you|just ?should|must|please|always|not %
rule 80 ?do|please ?not % * in future $
behaviour 85 for future reference ?, +
behaviour 85 next time ?, ?, ?please|just|you ?should|can|must|don't|dont|do ?not %
rule 92 remember|rule|reminder : +
rule 78 remember ?, this|it|our|we|the ?+ is|are|has|uses|use|isn't|aren't|don't +
rule 85 remember ?, that|to !time|when|one|bug|day|we|i !had|saw|talked|discussed|did +
rule 78 ?@lets add|put|note|document|update|record ?this|it|that ?to|in|into ?our|the @memoryfile * \
    that|never|always|should|must|ask|don't +
rule 78 in|to @memoryfile ?, ?, ?also|please add|put|note|mention|write|say|state +
rule 76 ~ is|should|stays|remains|are ?be ?the|our ?single|only source of truth
rule 80 save|store|note|record|remember this|that|it|these to|in|into|as ?a ?your ?the|our ?project memory|memories|\
    rule|rules
rule 88 before|after every|each|any @work|pr|push|merge|deploy|session|edit * , ?please|always|you|we|must %|must|\
    should
rule 88 ?you ?must|should % * before|after every|each|any @work|push|merge|deploy|deployment|edit|session
rule 85 whenever|everytime you|we|i * , ?please|always|never|also|you|don't|dont|do|make ?not|should|must|sure %|\
    you|to|always
rule 85 every|each|any|every-single time ?that you|we|i * , ?please|always|never|also|you|don't|dont|do|make ?not|\
    should|must|sure %|you|to|always
rule 85 % * whenever|everytime you|we|i +
rule 85 @labour|use|update|add * every|each|any time ?that you|we|i +
rule 88 every|each|any|all ?single|new|public @work|@works must|should|needs|need|has|have ?to be|have|include|pass|\
    come|go|get|use|start|follow|contain|live|carry
rule 85 ?unit|integration|commit|pr|error|test|code|all|our|public|private|new @works should|must|shall|may|can \
    always|never|only +
rule 75 ?unit|integration|commit|code|our|public|private|all @works must|need|have ?to ?not be|have|go|start|use|\
    live|pass|follow|end
rule 85 only @labour|create|open * when|if|after|once i|i've|i'm
";

/// How things are done in this project.
pub(crate) const CUSTOMS: &str = "\
rule 90 in|on|for|within|at|across this|our|the|my @place ?, ?, we|i ?always|only|never|don't|dont|do ?not \
    use|prefer|write|follow|squash|rebase|commit|avoid|name|mock|push|merge|document|sign|review
rule 88 we|i ?always|only|never|don't|dont|do ?not !want|add|create|put|store|fix|make|see|get|found % * in|on|for|\
    across this|our|my @place !is|are
rule 88 we ?always|only|never|don't|dont|do ?not use|prefer|write|name|squash|rebase|follow|commit|mock|do * here|\
    everywhere|throughout $
rule 88 around here ?, we %
rule 85 our|my|the|house ?usual|project|team|repo|naming|coding|agreed convention|policy|rule|standard|practice|\
    workflow ?here ?for * is ?to|that|here +
rule 80 by convention ?, +
rule 74 i|we no longer use|do +
rule 82 we ?only|always use|run|write * , not|never +
rule 82 we ?only|always use @tool|\" ?for|instead|over|rather|not|here|as|to !it
rule 78 we use + ?+ instead|rather of|than +
rule 78 we don't|dont|never ?ever use|mock|commit|push|squash|merge|write|rebase|vendor &
rule 78 we do not ?ever use|mock|commit|push|squash|merge|write|rebase|vendor &
rule 80 we always|never @labour
rule 85 this|our|the @place uses|follows|requires|standardizes|standardises|targets +
rule 85 one|a|single ?separate|single|own @work per @work|pr|file|topic|issue|commit|concern
rule 82 ?ok|no use|run|stick|switch ?to|with @tool ?for * , not|never @tool
rule 82 ?@lets|we use|run|prefer @tool ?commands|for|scripts ?+ not|instead|over|rather ?of|than @tool
rule 78 follow|respect|obey|adhere|stick|keep|stay ?to|with the|our|my|your|this|these|all|existing * @custom
rule 78 ?you|we ?should|must|to follow|respect|obey|adhere|reread|re-read ?to ?the|our|my|your @rulebook|tdd
rule 80 @lets|we ?should stick|keep ?to|with * @custom
rule 80 ?new|unit|integration|all|our|the|feature @works go|belong|live|stay in|into|to|under|next|beside|on|off
rule 78 keep ?the|your|all|our|my ?the|your @works|diffs small|short|focused|minimal|atomic|separate|independent
rule 78 ?please|make|more small|smaller|atomic commits|prs|steps|diffs ?please $
rule 76 commit|push|branch|test|review|use|run * for|in|on|per|at|with|after each|every @work
rule 78 @labour|write|add * as you go|along
rule 76 we ?do don't|dont ?not need|want|care|support|have ?about|to|any ?keep|maintain ?any backward|backwards|\
    backward-compatibility
rule 78 to|for @labour|build|release|start|generate|regenerate|migrate|building|testing|=|tests * please|you|just|\
    we ?should|need|can ?to use|run \"
rule 78 to|for @labour|build|release|start|generate|regenerate|migrate|building|testing|tests * use \"
rule 78 the|our ?correct|right|proper command ?for|to * is \"
rule 85 @not add|include|put|mention|write|sign|credit * co-authored-by|claude|attribution|yourself|co-author
";

/// The user's preferences.
pub(crate) const PREFERENCES: &str = "\
preference 85 i|we ?really|generally|usually|always|strongly|much|personally|typically prefer|prefere|favour|favor \
    !the|this|that|it|its|option|if|your|these|those|a|an|\" +
preference 85 prefer|favour|favor !the|this|that|it|option + * over|to|rather|instead +
preference 80 prefer !the|this|that|it ?+ &|=
preference 80 i ?really|usually|generally|just|do like|love|want|need|expect my|all|every ?the|my @works|@answers|\
    commits|code|tests
preference 82 i ?really|usually|generally|do like|love|appreciate ?it when|if you
preference 82 i ?really|usually|generally|do like|love !the|this|that|it|your|a|an|how|to ?+ @works|@answers|commits
preference 82 i ?really|just|do hate|dislike|can't ?stand ?it when|how|that|if you
preference 82 i ?really|just|do don't|dont ?not like|want it|when|how ?when|that you
preference 78 i ?really|just|do don't|dont|never ?not want you to !do|go|think %
preference 78 i ?really|just|do don't|dont|never ?not want ?to ?see ?any|so|too ?many|much emojis|comments|mocks|\
    abbreviations|docstrings|@looks
";

/// How the agent should work.
pub(crate) const CONDUCT: &str = "\
behaviour 85 stop|quit = !the|this|that|it|and|now
behaviour 80 stop|quit = everything|me|random|unrelated|all|every|so
behaviour 90 @not !worry|care %|just * without ?first|my|explicit|me|asking|approval|permission|confirmation|consent|\
    confirming|checking|telling ?me|asking|approval|permission|confirmation|go-ahead|okay|ok|explicit|saying|with|\
    consent|first
behaviour 88 @not % * unless|until i|i'm|i've|asked|told|explicitly|we've
behaviour 85 ask|check|confirm|consult ?with ?me ?first before =|you|any|every|each|touching
behaviour 80 @not just|simply|blindly|silently % !be
behaviour 80 @not ask|bother|interrupt|wait ?me|for ?for|about|permission|confirmation|approval|every|to|with|\
    my|if|before
behaviour 80 no need|reason to ask|confirm|check ?with ?me|for|every|if|before|permission|about|whether|first
behaviour 80 you ?do don't|dont|not|never need|have|must ?to ask|confirm|wait|stop ?for|me|my|with
behaviour 76 you can|could|should|may|must|are ?able ?to ?also|just|easily|always check|look|run|test|verify|find|access|read|\
    see|inspect|query|fetch|debug|figure|try|search|view|open|log|ssh|investigate|reproduce|drive * yourself
behaviour 76 you ?already|should|do|also have|got ?the|a|an|our|full ?full|ssh|direct|already|write|read|admin|a|\
    local|our access|permission|permissions|credentials|rights|tools|keys|copy|clone|checkout|cli|mcp ?to +
behaviour 72 run|check|test|verify|look|try|find|figure * yourself !?
behaviour 80 you're|youre ?not|really|always supposed|meant|expected to
behaviour 80 you are|were ?not|really|always supposed|meant|expected to
behaviour 80 ? aren't|arent|weren't|werent|are|were you ?not supposed|meant|expected to
behaviour 76 ? shouldn't|shouldnt you ?be|always|first|rather %|=
behaviour 76 you're|youre not ?even using|following|running|reading|testing
behaviour 76 you are|aren't|arent ?not ?even using|following|running|reading|testing !it|this|that
behaviour 78 ?i|thought ?thought we ?had|have ?already agreed to|on|that +
behaviour 76 you should|ought|must|need ?really|to|always be =
behaviour 80 @not ?ever commit|push|merge|rebase|deploy|release|publish|force-push ?directly|straight to|on|\
    into|onto|against +
behaviour 80 @not ?ever hardcode|hard-code|force-push|mock|abbreviate|over-engineer|overengineer|apologize|\
    apologise|guess|assume|hallucinate|hard-wrap|invent|fabricate|speculate
rule 74 @not forget to ?always|also @labour|use|check|update|add|keep|rebase|sync
rule 74 @not !do|make|worry|forget|see|think|know|show|have|need|want % ?any !@thing ?+ & * because|since|\
    otherwise +
rule 74 @not !do|make|worry|forget|see|think|know|show|have|need|want % ?any !@thing ?+ & * as it|that|this|\
    they|we|i +
rule 72 @not ?ever use|write|create|introduce|squash|batch|invent !@thing ?any ?+ ?+ !changes & !are|is|that|\
    from|of|which|for
rule 74 @lets not|avoid leave|wait|batch|pile|rush|skip|guess|assume|push|commit|cram|mix|postpone|defer|\
    over-engineer|overengineer +
behaviour 85 you keep|kept ?on =
behaviour 80 i|nobody|no-one ?did didn't|didnt|never|not ?not say|ask|tell|asked|told|said ?you|for|to ?to ?you \
    commit|push|merge|deploy|publish|release|rebase
behaviour 74 i allow|permit|authorize|authorise you to
behaviour 85 you always|never|constantly|repeatedly % !to
behaviour 85 i|i've|i'd ?have ?already|repeatedly|explicitly told|reminded|asked you ?already|before|twice|multiple|\
    several|many ?times ?to not|never|always|before|already|again|twice|times|multiple
behaviour 80 i|i've|i'd ?have already|repeatedly told|asked|reminded you +
behaviour 85 ? how many|often times|must|do|should|did do|must|should|did|i|have ?i
behaviour 76 ? why aren't|arent|didn't|didnt|haven't|havent|weren't|aren'tyou|didn'tyou ?you %|=
behaviour 76 ? why are|did|have|were you ?still not %|=
behaviour 76 ? why are|did|do|were you ?still ?back|using|use|run|running|call|calling|install|installing|with ?to|\
    with @tool
behaviour 76 ? isn't|isnt|wasn't|wasnt|aren't this|that|it|these|those|there ?not * listed|written|documented|\
    described|mentioned|stated|specified|defined|covered|in|part * @rulebook
behaviour 76 ? did|didn't|didnt|have|haven't|havent|don't|aren't|are you ?not ?even read|follow|followed|check|see|\
    use|know|reading|following * @rulebook
";

/// How code and text look, and how the agent talks.
pub(crate) const LOOKS: &str = "\
style 85 ?@lets|we use|write|stick|prefer|want|keep|switch ?to|with|in ?only|the|a|in british|american|us|uk|plain|\
    simple english|spelling|spellings
style 85 british|american|us|uk english|spelling ?please $
style 82 ?@lets|we use|prefer|stick|write|indent|want ?to|with|in|using ?the|only|a|two|four|2|4|single|double|\
    conventional @looks|commits|mood
style 82 ?@lets|we use conventional commits|commit
style 82 no ?more|trailing|code|inline|unnecessary emojis|emoji|em-dashes|emdashes|abbreviations|acronyms|\
    semicolons|comments|docstrings|exclamation
style 82 @not use|add|put|write|include|insert ?any|so|too ?many|much|inline|code|unnecessary|trailing emojis|\
    emoji|em-dashes|emdashes|abbreviations|acronyms|semicolons|comments|docstrings
style 78 be ?more|less|very|a|as|much ?bit|little|more @terse|verbose|chatty|wordy|direct|wordy|to-the-point
style 76 keep it|them|things|everything|your|the|all|my ?commit|pr @terse|@answers|messages ?@terse
style 78 ?give|i|want|write ?want|prefer|me shorter|fewer|less|briefer|terse answers|responses|replies|explanations|\
    summaries|words|explanation|prose
style 76 ^ ?more|only|just @terse output|outputs|answers|responses|replies|explanations ?, ?please|only $
style 80 answer|reply|respond|speak|talk|explain ?to ?me ?always|only in|with|using ?a|one|plain|short|simple \
    english|german|french|spanish|italian|dutch|bullet|bullets|sentence|sentences|language|terms
";

/// Corrections of an agent that has already said or done something.
pub(crate) const AFTER: &str = "\
rule 76 ^ ?yes|no|this|that|it|those|these|they|that's|it's|its|is|all ?is|are|was|were ?is|all|quite|indeed \
    intentional|deliberate|intended !or|about|about|that|if|for
rule 76 ^ ?the|this|that|our + ?+ is|are|was|were ?all|indeed intentional|deliberate !or|that|if|for
rule 76 ^ ?yes|no|this|that|it|those|these|they|that's|it's|its ?is|are|was|were|did|do ?that|it on|by purpose|\
    design !or|that|if|for
rule 74 !@thing !@we ?+ & are never|always ?a|an ?+ &
rule 74 we call it|them|this|that|these|those + !and|from|in|when|with
behaviour 74 you need|have|should|must|can ?to|just|first|always run|execute \" ?to|first|for|before|instead
behaviour 74 you should ?have|'ve|should've ?have asked|used|run|followed|checked|read|tested|committed|branched|\
    known
rule 82 ^ no|nope|wrong|actually|stop|wait ?, ?, we ?always|only|don't|never use|do|run|write|call|name !that|this|\
    it|have +
rule 82 ^ no|nope|wrong|stop|wait|actually ?, ?, ?please|just|always use|run|try @tool
fix 70 ^ no|nope|nah ?, ?wait|please|just|that|this|it|i|the|don't|do|let's|lets|you|we|use|remove|keep|put|make|\
    not|instead ?not|should|mean|meant|want|isn't|is|doesn't|only|just|need|have|can|% +
fix 85 that|this|it|these|those|that's|it's|which ?is|are|was|looks|seems|still|clearly|just wrong|incorrect|not \
    ?quite|really|what|the ?right|correct|what|how|true|working|enough
fix 85 that's|it's|this|that|it ?is|are|still ?still|clearly|totally|completely|just|plain|a ?bit wrong|incorrect|\
    backwards|outdated|too
fix 90 you ?just|still|also|only|again|have|'ve forgot|missed|broke|removed|deleted|skipped|ignored|misunderstood|\
    overwrote|misread|dropped|lost|introduced|forgotten|messed +
fix 85 you ?still didn't|didnt|haven't|havent|don't|aren't|did ?not +
fix 85 revert|undo|rollback|restore ?all|back|those|your that|this|it|these|those|the|your|last|changes|\
    commit|everything
fix 80 put|change|move|switch|roll|take|bring * back
fix 80 i ?actually|only|just|really|mostly|also meant|said|asked|wanted|specified !if|you|to +
fix 80 i ?really|actually|just|do|also|still didn't|didnt|don't|dont|never|wouldn't ?not ask|say|mean|want|like|\
    need|agree +
fix 75 ^ ?but|and|it|this|that|the|,|hmm ?+ ?is|it's still not|too|doesn't|isn't|wrong|broken|failing|fails|shows|\
    showing|there|the|see|getting|no|only|some|looks
fix 75 ~ should ?also|still|only|really|just|then not|n't|only|rather|instead +
fix 75 it|this|that|they|these|those|there shouldn't|shouldnt|mustn't|should|must ?also|still|only|really|just|then|\
    always ?not be|have|show|use|go|happen|do|say|include|run|%
fix 72 ~ should be|use|say|show|have|go|read|return * not|instead|rather|,
fix 72 not|don't|dont + * but|rather +
fix 75 use|do|make|put|call|name|take|run|review|ask|write|print|say|show|return|keep|move|have|focus|try * instead \
    ?of
fix 75 ^ ?, instead ?of|, * %|,
fix 75 ?can|could|should ?we|you use|do|make|put|call|name|take|run|review|ask|write|print|say|show|keep|move|have|\
    change|just * instead|rather
fix 70 remove|delete|drop that|this|it|those|these|them
fix 70 no|that|remove|drop|do * again $
fix 70 why did|are|have|do|would you +
fix 70 ? why did|are|have|were|did you +
fix 70 ? why is|are|does|do|was it|this|that|these|they|there|the|we ?+ still|again
fix 70 wrong file|one|place|branch|folder|directory|approach|way|name|path|order
fix 70 @not %|do +
";

/// Facts that answer an agent's offer: it happens anyway, or is not wanted at all.
pub(crate) const OFFERED: &str = "\
rule 74 ?if|once|when ?you|it|we * it|that|this|they|ci|everything * by itself|itselfs|themselves
rule 74 ?if|once|when ?you|it|we * it|that|this|they|ci|everything * on its|their own
rule 74 it|that|this|they|ci|everything ?already|will|is|are|gets|should deploys|deploy|deployed|builds|runs|\
    restarts|reloads|updates|publishes|released|happens|done automatically
rule 74 ?the ci|pipeline|workflow|action|actions|bot|hook|cron does|handles|runs|takes|deploys|builds|publishes|\
    will ?care ?of|do|handle that|this|it|all|the
behaviour 74 you|we ?do don't|dont|never ?not need|have to ?ever|manually run|deploy|push|commit|restart|rebuild|\
    install|build|publish|migrate|start|stop
behaviour 74 no need to ?ever|manually run|deploy|push|commit|restart|rebuild|install|build|publish|migrate|start|\
    stop
";

/// Corrections of an agent that was interrupted.
pub(crate) const STOPPED: &str = "\
behaviour 76 you ?just|can|could ?just|simply|only should|can|need|have|must|could ?to|just|simply|only run|use|\
    call|read|ask|do * \"|@tool|skill|script
behaviour 76 ^ what|where does|do|did|is|in * @rulebook say|says|said
behaviour 76 ? what|where does|do|did|is|in * say|says
behaviour 72 stop|quit = the|this|that|it|my|our +
fix 80 no|wait|stop|hold|don't|dont|instead|rather|actually|not +
fix 75 use|ask|let|do|make|just|only|try|focus|skip|ignore|leave|keep +
fix 70 ^ you|it|that|this|the|we|should|can|could +
";
