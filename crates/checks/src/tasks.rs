//! What a task of the project runs: `npm run check`, `make test`, `just test`, `mise run ci`.
//!
//! A task becomes the script that its runner would run, from the project's own file. The tasks that it depends on become
//! commands of that script.

use serde_json::Value;

use super::args::{Args, base};

/// Gives the text of a file by its name.
pub type TextOfFile<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Longer scripts are cut.
const SCRIPT_BYTES_MAX: usize = 64 * 1024;

/// The script of the tasks that this command runs; `None` if it runs none that is known.
pub fn script(words: &[&str], read: TextOfFile) -> Option<String> {
    let program = base(words.first()?);
    let args = Args::read(words);
    let named: Vec<&str> = args.words.iter().map(|(_, word)| *word).collect();
    let script = match (program, named.as_slice()) {
        (manager @ ("npm" | "pnpm" | "yarn" | "bun"), _) => package_script(package_task(manager, &named)?, read)?,
        ("make" | "gmake", targets) => make(targets, read)?,
        ("just", tasks) => just(tasks, read)?,
        ("mise", ["run" | "r", tasks @ ..]) => mise(tasks, read)?,
        ("mise", tasks @ [_]) => mise(tasks, read)?,
        _ => return None,
    };
    Some(cerberus_record::clean::text::clip(&script, SCRIPT_BYTES_MAX).to_string())
}

/// The words without what may be left out: `npm run test` is `npm test`.
pub fn short<'w>(words: &[&'w str]) -> Option<Vec<&'w str>> {
    let program = *words.first()?;
    let args = Args::read(words);
    let [(at, "run" | "run-script"), (_, task), ..] = args.words.as_slice() else { return None };
    let may_be_short = match base(program) {
        "npm" => matches!(*task, "test" | "start" | "stop" | "restart"),
        "pnpm" | "yarn" => true,
        _ => false,
    };
    let others = words.iter().enumerate().filter(|(index, _)| index != at).map(|(_, word)| *word);
    may_be_short.then(|| others.collect())
}

fn package_task<'w>(manager: &str, named: &[&'w str]) -> Option<&'w str> {
    match (manager, named) {
        (_, ["run" | "run-script", task, ..]) => Some(task),
        ("npm", ["test" | "t" | "tst", ..]) => Some("test"),
        // `bun test` is a test runner of its own.
        ("pnpm" | "yarn", [task, ..]) => Some(task),
        _ => None,
    }
}

/// A script of `package.json`, with those that run before and after it.
fn package_script(task: &str, read: TextOfFile) -> Option<String> {
    let package: Value = serde_json::from_slice(read("package.json")?.as_bytes()).ok()?;
    let scripts = package.get("scripts")?;
    let own = scripts.get(task)?.as_str()?;
    let beside = |when: &str| scripts.get(format!("{when}{task}")).and_then(Value::as_str).unwrap_or_default();
    Some(format!("{}\n{own}\n{}", beside("pre"), beside("post")))
}

/// A rule of a makefile or a recipe of a justfile.
struct Recipe<'t> {
    names: Vec<&'t str>,
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

/// The rules of a file in which a line with a colon begins one, and indented lines belong to it.
fn recipes(text: &str) -> Vec<Recipe<'_>> {
    let mut found: Vec<Recipe> = Vec::new();
    let mut is_open = false;
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = found.last_mut().filter(|_| is_open) {
                recipe.lines.push(line.trim_start().trim_start_matches(['@', '-', '+']));
            }
            continue;
        }
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let head = line.split_once(':').filter(|(names, after)| !names.contains('=') && !after.starts_with(['=', ':']));
        is_open = head.is_some();
        if let Some((names, needs)) = head {
            let needs = needs.split([';', '#']).next().unwrap_or_default();
            found.push(Recipe {
                names: names.split_whitespace().map(|name| name.trim_start_matches('@')).collect(),
                needs: needs.split_whitespace().filter(|need| !matches!(*need, "|" | "&&")).collect(),
                lines: Vec::new(),
            });
        }
    }
    found
}

fn make(targets: &[&str], read: TextOfFile) -> Option<String> {
    let text = ["GNUmakefile", "makefile", "Makefile"].iter().find_map(|name| read(name))?;
    let recipes = recipes(&text);
    let targets: Vec<&str> = targets.iter().copied().filter(|target| !target.contains('=')).collect();
    let is_default = |recipe: &&Recipe| recipe.names.first().is_some_and(|name| !name.starts_with('.'));
    let targets = match (targets.is_empty(), recipes.iter().find(is_default)) {
        (true, Some(first)) => first.names.clone(),
        _ => targets,
    };
    let mut lines: Vec<String> = Vec::new();
    let is_meant = |recipe: &&Recipe| recipe.names.iter().any(|name| targets.contains(name));
    for recipe in recipes.iter().filter(is_meant) {
        lines.extend(recipe.needs.iter().map(|need| format!("make {need}")));
        lines.extend(recipe.lines.iter().map(|line| line.to_string()));
    }
    let mut script = lines.join("\n").replace("$(MAKE)", "make").replace("${MAKE}", "make");
    for (name, value) in text.lines().filter_map(variable) {
        script = script.replace(&format!("$({name})"), value).replace(&format!("${{{name}}}"), value);
        if script.len() > SCRIPT_BYTES_MAX {
            break;
        }
    }
    (!script.is_empty()).then(|| script.replace("$$", "$"))
}

/// `GO ?= go` in a makefile.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim_end_matches([':', '?', '+', ' ']);
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name, value.trim()))
}

fn just(tasks: &[&str], read: TextOfFile) -> Option<String> {
    let text = ["justfile", "Justfile", ".justfile"].iter().find_map(|name| read(name))?;
    let recipes = recipes(&text);
    let of = |task: &str| recipes.iter().find(|recipe| recipe.names.first() == Some(&task));
    let found: Vec<&Recipe> = match tasks {
        [] => recipes.first().into_iter().collect(),
        // Words after the first task may be its arguments.
        tasks => tasks.iter().filter_map(|task| of(task)).collect(),
    };
    let mut lines: Vec<String> = Vec::new();
    for recipe in found {
        let needs = recipe.needs.iter().map(|need| need.trim_matches(['(', ')'])).filter(|need| of(need).is_some());
        lines.extend(needs.map(|need| format!("just {need}")));
        lines.extend(recipe.lines.iter().map(|line| line.to_string()));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn mise(tasks: &[&str], read: TextOfFile) -> Option<String> {
    let task = tasks.first()?;
    let files = ["mise.toml", ".mise.toml", "mise/config.toml", ".mise/config.toml", ".config/mise.toml"];
    let known: Vec<toml::Table> = files.iter().filter_map(|name| read(name)?.parse().ok()).collect();
    let known = known.iter().filter_map(|table| table.get("tasks")?.as_table());
    let mut lines: Vec<String> = Vec::new();
    for (name, value) in known.flatten().filter(|(name, _)| is_named(task, name)) {
        match value {
            toml::Value::Table(table) => {
                let needs = ["depends", "depends_post"].iter().filter_map(|field| table.get(*field));
                lines.extend(needs.flat_map(texts).map(|need| format!("mise run {need}")));
                lines.extend(table.get("run").into_iter().flat_map(texts));
                lines.extend(table.get("file").and_then(toml::Value::as_str).and_then(read));
            }
            run => lines.extend(texts(run)),
        }
        if name == task {
            break;
        }
    }
    if lines.is_empty() {
        let path = task.replace(':', "/");
        let folders = ["mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"];
        return folders.iter().find_map(|folder| read(&format!("{folder}/{path}")));
    }
    Some(lines.join("\n"))
}

/// `lint:*` stands for all tasks that begin so.
fn is_named(task: &str, name: &str) -> bool {
    task == name || task.strip_suffix('*').is_some_and(|begin| name.starts_with(begin))
}

/// A text, or a list of them; a table in a list names a task.
fn texts(value: &toml::Value) -> Vec<String> {
    match value {
        toml::Value::String(text) => vec![text.clone()],
        toml::Value::Array(list) => list.iter().flat_map(texts).collect(),
        toml::Value::Table(table) => {
            let task = table.get("task").and_then(toml::Value::as_str);
            task.map(|task| format!("mise run {task}")).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKAGE: &str = r#"{"scripts": {"test": "vitest run", "pretest": "tsc", "check": "npm run test"}}"#;
    const MAKEFILE: &str = "GO ?= go\n.PHONY: all test\nall: lint test\n\ntest: gen ## tests\n\t@$(GO) test ./...\n\techo \
                            $$HOME\n\nlint:\n\t-$(MAKE) -C web lint\nX := y: z\n";
    const JUSTFILE: &str = "set shell := [\"bash\"]\n\ncheck: (fmt) test\n\n# All\ntest *args:\n    @cargo test \
                            {{args}}\n\nfmt:\n  cargo fmt\n";
    const MISE: &str = "[tasks]\nunit = \"go test ./...\"\n[tasks.check]\ndepends = [\"lint:*\", \"unit\"]\nrun = [\"go \
                        vet\", {task = \"unit\"}]\n[tasks.\"lint:go\"]\nrun = \"golangci-lint run\"\n";

    #[test]
    fn a_task_is_the_script_in_the_projects_own_file() {
        let read = |name: &str| {
            Some(match name {
                "package.json" => PACKAGE.to_string(),
                "Makefile" => MAKEFILE.to_string(),
                "justfile" => JUSTFILE.to_string(),
                "mise.toml" => MISE.to_string(),
                ".mise/tasks/e2e/all" => "#!/bin/sh\ngo test -tags e2e ./...".to_string(),
                _ => return None,
            })
        };
        for (line, expected) in [
            ("npm test", "tsc|vitest run"),
            ("npm run test -- --watch=false", "tsc|vitest run"),
            ("pnpm --filter web check", "npm run test"),
            ("yarn check", "npm run test"),
            ("npm run gone", "-"),
            ("npm install", "-"),
            ("bun test", "-"),
            ("make", "make lint|make test"),
            ("make -j4 test V=1", "make gen|go test ./...|echo $HOME"),
            ("make lint", "make -C web lint"),
            ("make gone", "-"),
            ("just", "just fmt|just test"),
            ("just test -q", "cargo test {{args}}"),
            ("mise run unit", "go test ./..."),
            ("mise run check", "mise run lint:*|mise run unit|go vet|mise run unit"),
            ("mise run lint:*", "golangci-lint run"),
            ("mise r e2e:all", "#!/bin/sh|go test -tags e2e ./..."),
            ("mise install", "-"),
            ("cargo test", "-"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            let found = script(&words, &read).unwrap_or_else(|| "-".to_string());
            let lines: Vec<&str> = found.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(lines.join("|"), expected, "{line}");
            assert_eq!(script(&words, &|_| None), None, "{line}");
        }
        for text in ["{", "[tasks", "x", ":", "\t:\n\t", "a:\n\t\n", "= =", "[tasks]\na = 1"] {
            for line in ["npm test", "make", "make a", "just", "just a", "mise run a"] {
                script(&line.split(' ').collect::<Vec<_>>(), &|_| Some(text.to_string()));
            }
        }
    }

    #[test]
    fn a_word_that_may_be_left_out_is() {
        for (line, expected) in [
            ("npm run test -- -x", Some("npm test -- -x")),
            ("pnpm -r run build", Some("pnpm -r build")),
            ("npm run build", None),
            ("npm test", None),
            ("cargo run test", None),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(short(&words).map(|words| words.join(" ")).as_deref(), expected, "{line}");
        }
    }
}
