//! Steps outside the working tree that a command takes: tags, releases, deployments. The table is `steps.txt`.

use crate::fact::{Fact, FactKind};
use crate::shell::{self, Simple, without_wrappers};

const TABLE: &str = include_str!("steps.txt");
/// Programs that only start another one.
const RUNNERS: [&str; 2] = ["npx", "bunx"];

/// The steps that a command took if it succeeded. The reference says which step it is, whatever it was applied to.
pub fn facts(command: &str) -> Vec<Fact> {
    if !may_be_step(command) {
        return Vec::new();
    }
    shell::read(command).line().iter().filter_map(step).collect()
}

/// A quick look, because nearly no command is one.
fn may_be_step(command: &str) -> bool {
    let is_in = |row: &str| row.split(' ').all(|word| command.contains(word));
    command.contains("git tag") || rows().any(is_in)
}

fn rows() -> impl Iterator<Item = &'static str> {
    TABLE.lines().filter(|line| !line.starts_with('#'))
}

fn step(simple: &Simple) -> Option<Fact> {
    let texts = simple.texts();
    let words = without_wrappers(&texts);
    let words = if words.first().is_some_and(|first| RUNNERS.contains(first)) { &words[1..] } else { words };
    if let ["git", "tag", rest @ ..] = words {
        let name = tag(rest)?;
        return Some(Fact {
            reference: Some(format!("tag {name}")),
            ..Fact::words(FactKind::Step, &format!("tagged {name}"))
        });
    }
    if words.iter().any(|word| word.starts_with("--dry-run")) {
        return None;
    }
    let row = rows().find(|row| is_row(words, row))?;
    Some(Fact { reference: Some(row.to_string()), ..Fact::words(FactKind::Step, &format!("ran {row}")) })
}

fn is_row(words: &[&str], row: &str) -> bool {
    let mut plain = words.iter().filter(|word| !word.starts_with('-'));
    row.split(' ').all(|wanted| match wanted.starts_with('-') {
        true => words.contains(&wanted),
        false => plain.next().is_some_and(|word| *word == wanted),
    })
}

/// The tag that `git tag …` makes, if it makes one.
fn tag<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter();
    let mut name = None;
    while let Some(word) = words.next() {
        match *word {
            "-m" | "-F" | "-u" | "--message" | "--file" | "--local-user" => _ = words.next(),
            "-a" | "-s" | "-f" | "--annotate" | "--sign" | "--force" => {}
            flag if flag.starts_with("-m") || flag.starts_with("--message=") => {}
            flag if flag.starts_with('-') => return None,
            word => name = name.or(Some(word)),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_releases_and_deployments_are_steps() {
        let steps = |command: &str| -> Vec<(String, String)> {
            facts(command).into_iter().map(|fact| (fact.text, fact.reference.unwrap())).collect()
        };
        let step = |text: &str, reference: &str| vec![(text.to_string(), reference.to_string())];
        assert_eq!(steps("git tag v1.2.0"), step("tagged v1.2.0", "tag v1.2.0"));
        assert_eq!(steps("git tag -a v2 -m 'two words'"), step("tagged v2", "tag v2"));
        assert_eq!(steps("npm run build && npm publish --access public"), step("ran npm publish", "npm publish"));
        assert_eq!(
            steps("npx wrangler pages deploy dist --branch x"),
            step("ran wrangler pages deploy", "wrangler pages deploy")
        );
        assert_eq!(steps("cd infra && terraform apply -auto-approve"), step("ran terraform apply", "terraform apply"));
        assert_eq!(steps("vercel --yes --prod"), step("ran vercel --prod", "vercel --prod"));
        for other in
            ["git tag", "git tag -l 'v*'", "git tag -d v1", "npm publish --dry-run", "echo npm publish", "vercel ls"]
        {
            assert_eq!(steps(other), [], "{other}");
        }
    }
}
