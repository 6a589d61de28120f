use cerberus_record::memory::MemoryStatus;
use cerberus_record::time::Timestamp;
use clap_complete::Shell;
use serde_json::json;

use crate::context::Context;
use crate::failure::{Hint, Result};
use crate::render;

/// Print a completion script for your shell
///
/// For bash: cerberus completions bash > ~/.local/share/bash-completion/completions/cerberus
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", required_unless_present = "ids")]
    shell: Option<Shell>,

    /// Print the ids of sessions, memories and proposals, for the scripts
    #[arg(long, hide = true)]
    ids: bool,
}

/// Enough to choose from.
const IDS_MAX: usize = 200;

/// Commands and options that take an id.
const TAKES_ID: &str = "*\" complete\"|*\" --session\"|*\" --id\"|*\" recover\"|*\" --memory\"|*\" memory show\"|\
    *\" memory edit\"|*\" memory forget\"|*\" memory approve\"|*\" memory reject\"|*\" memory undo\"|*\" show\"|*\" resume\"";

/// Bash asks the program for ids where one is expected.
const BASH: &str = r#"
_cerberus_or_ids() {
    local typed="${COMP_WORDS[COMP_CWORD]}"
    case " ${COMP_WORDS[*]:1:COMP_CWORD-1}" in
        TAKES_ID)
            if [[ "$typed" != -* ]]; then
                COMPREPLY=($(compgen -W "$("${COMP_WORDS[0]}" completions --ids 2>/dev/null)" -- "$typed"))
                [[ ${#COMPREPLY[@]} -gt 0 ]] && return 0
            fi
            ;;
    esac
    _cerberus "$@"
}
complete -F _cerberus_or_ids -o nosort -o bashdefault -o default cerberus
"#;

const ZSH: &str = r#"
_cerberus_ids() {
    local -a ids
    ids=(${(f)"$(${words[1]} completions --ids 2>/dev/null)"})
    compadd -a ids
}
"#;

const FISH: &str = r#"
complete -c cerberus -n "__fish_seen_subcommand_from show resume complete recover edit forget approve reject undo" -f -a "(cerberus completions --ids 2>/dev/null)"
complete -c cerberus -n "__fish_seen_subcommand_from session-status" -l id -r -f -a "(cerberus completions --ids 2>/dev/null)"
"#;

impl CompletionsArgs {
    pub fn run(self, context: &Context, mut program: clap::Command) -> Result<()> {
        let Some(shell) = self.shell else { return print_ids(context) };
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut program, "cerberus", &mut script);
        let script = String::from_utf8(script).hint("this is a bug; please report it")?;
        let script = match shell {
            Shell::Bash => script + &BASH.replace("TAKES_ID", TAKES_ID),
            Shell::Zsh => with_ids_in_zsh(&script),
            Shell::Fish => script + FISH,
            _ => script,
        };
        context.answer(&json!({"script": script}), || render::block(script.trim_end()))
    }
}

/// Arguments called `id` are completed by a function of our own.
fn with_ids_in_zsh(script: &str) -> String {
    let takes_id = |line: &str| {
        let named = line.trim_start().trim_start_matches(['\'', '*', ':']);
        named.starts_with("id -- ") || named.starts_with("ids -- ") || line.contains(":ID:_default")
    };
    let line =
        |line: &str| if takes_id(line) { line.replace(":_default'", ":_cerberus_ids'") } else { line.to_string() };
    let lines: Vec<String> = script.lines().map(line).collect();
    // The function must be defined before the script calls the completion at its end.
    let (first, rest) = lines.split_first().map(|(first, rest)| (first.clone(), rest.join("\n"))).unwrap_or_default();
    format!("{first}\n{ZSH}{rest}\n")
}

/// Newest first; memories after sessions.
fn print_ids(context: &Context) -> Result<()> {
    let (store, now) = (context.view()?, context.clock.now);
    let sessions = store.sessions(&[], Timestamp::EPOCH, now)?;
    sessions.iter().rev().take(IDS_MAX).for_each(|session| render::line(session.id.as_str()));
    for status in [MemoryStatus::Proposed, MemoryStatus::Approved] {
        let memories = store.memories(status, now)?;
        memories.iter().rev().take(IDS_MAX).for_each(|memory| render::line(memory.id.as_str()));
    }
    Ok(())
}
