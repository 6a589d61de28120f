//! The arguments of a command: which words are options, which are values of options, which are neither.
//!
//! Only what rules are written about is known: git, package managers, a few others. For other programs every word that
//! does not begin with a hyphen is an argument.

use cerberus_record::words::is_one_of;

/// The arguments after the name of the program, each with its index among the words.
#[derive(Debug, Default)]
pub struct Args<'a> {
    /// Words that are neither options nor their values. The first is the sub-command, where there is one.
    pub words: Vec<(usize, &'a str)>,
    pub options: Vec<Opt<'a>>,
    /// A `--` says that no option follows.
    pub is_divided: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Opt<'a> {
    pub index: usize,
    /// `--name`, or `-x` for each letter of `-xyz`.
    pub name: OptName<'a>,
    pub value: Option<&'a str>,
    /// Where the value stands, if it is a word of its own.
    pub value_index: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptName<'a> {
    Long(&'a str),
    Short(char),
}

/// The name of a program without its folder.
pub fn base(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").unwrap_or(name)
}

impl<'a> Args<'a> {
    /// Reads all words of a command; the first is the program.
    pub fn read(words: &[&'a str]) -> Args<'a> {
        let mut args = Args::default();
        let Some(program) = words.first().map(|word| base(word)) else { return args };
        let mut at = 1;
        let mut is_literal = false;
        while at < words.len() {
            let word = words[at];
            if is_literal || !word.starts_with('-') || word.len() == 1 {
                // `cargo +nightly test`
                if !(program == "cargo" && args.words.is_empty() && word.starts_with('+')) {
                    args.words.push((at, word));
                }
            } else if word == "--" {
                is_literal = true;
                args.is_divided = true;
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                let takes = value.is_none() && takes_value(program, args.sub(), word);
                let next = words.get(at + 1).copied().filter(|_| takes);
                let option = Opt {
                    index: at,
                    name: OptName::Long(name),
                    value: value.or(next),
                    value_index: next.map(|_| at + 1),
                };
                args.options.push(option);
                at += usize::from(takes);
            } else {
                at += args.cluster(program, words, at);
            }
            at += 1;
        }
        args
    }

    /// `-am message`: one option per letter, up to one that takes the rest as its value. Returns how many more words
    /// were used.
    fn cluster(&mut self, program: &str, words: &[&'a str], at: usize) -> usize {
        let word = words[at];
        for (offset, letter) in word.char_indices().skip(1) {
            let takes = takes_value(program, self.sub(), &format!("-{letter}"));
            let rest = &word[offset + letter.len_utf8()..];
            let is_last = rest.is_empty();
            let (value, value_index) = match (takes, is_last) {
                (true, true) => (words.get(at + 1).copied(), Some(at + 1)),
                (true, false) => (Some(rest), None),
                (false, _) => (None, None),
            };
            self.options.push(Opt { index: at, name: OptName::Short(letter), value, value_index });
            if takes {
                return usize::from(is_last);
            }
        }
        0
    }

    /// The sub-command.
    pub fn sub(&self) -> &'a str {
        self.words.first().map_or("", |(_, word)| word)
    }

    pub fn has(&self, long: &str, short: Option<char>) -> bool {
        self.option(long, short).is_some()
    }

    pub fn option(&self, long: &str, short: Option<char>) -> Option<&Opt<'a>> {
        self.options.iter().find(|option| match option.name {
            OptName::Long(name) => name == long,
            OptName::Short(letter) => Some(letter) == short,
        })
    }

    /// All values of an option, in order.
    pub fn values(&self, long: &str, short: Option<char>) -> Vec<&Opt<'a>> {
        let is_it = |option: &&Opt<'a>| match option.name {
            OptName::Long(name) => name == long,
            OptName::Short(letter) => Some(letter) == short,
        };
        self.options.iter().filter(is_it).collect()
    }
}

/// Whether the next word is the value of this option.
fn takes_value(program: &str, sub: &str, option: &str) -> bool {
    let options = match (program, sub) {
        ("git", "") => "-C -c --git-dir --work-tree --namespace --exec-path --config-env",
        ("git", "commit") => {
            "-m --message -F --file -C --reuse-message -c --reedit-message --author --date -t --template --fixup \
             --squash --trailer --cleanup"
        }
        ("git", "push") => "-o --push-option --repo --receive-pack --exec",
        ("git", "checkout") => "-b -B --orphan",
        ("git", "switch") => "-c -C --create --force-create --orphan",
        ("git", "merge" | "tag" | "stash" | "notes") => "-m --message -F --file -s -X",
        ("git", "worktree") => "-b -B --reason",
        ("git", "rebase") => "--onto -x --exec -s -X",
        ("git", "clone") => "-b --branch --depth -o --origin -c --config",
        ("git", "init") => "-b --initial-branch --template --separate-git-dir",
        ("git", "log" | "show" | "diff") => "-n --author --grep --since --until -S -G",
        ("npm" | "pnpm" | "yarn" | "bun", _) => "--prefix -C --dir --cwd -w --workspace --filter -F --registry",
        ("cargo", _) => {
            "--manifest-path -p --package --features -F --target --target-dir -j --jobs --bin --test --example \
             --bench --config -Z --color --profile --message-format"
        }
        ("kubectl" | "helm", _) => "-n --namespace --context --kubeconfig -f --kube-context",
        ("docker" | "podman", "") => "--context -H --host --config -l --log-level",
        ("pip" | "pip3", _) => "-r -c -i --index-url --extra-index-url -t --target",
        ("make" | "gmake", _) => "-C -f --directory --file",
        ("perl", _) => "-e -E -I -M",
        ("sed", _) => "-e -f --expression --file",
        ("truncate", _) => "-s --size -r",
        ("touch", _) => "-d -t -r",
        ("cp" | "mv" | "ln" | "install", _) => "-t --target-directory -S -m -o -g",
        ("terraform", "") => "-chdir",
        _ => "",
    };
    is_one_of(option, options)
}
