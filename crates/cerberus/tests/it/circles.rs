//! No files of a crate import each other in a circle. An import leads to the file that defines what is named: a `mod.rs` that
//! only declares modules and exports their names is part of no circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::layers::is_test;
use crate::style::{files, workspace};

#[test]
fn files_import_in_one_direction() {
    let crates = std::fs::read_dir(workspace().join("crates")).unwrap();
    let mut names: Vec<String> = crates.map(|folder| folder.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let product: Vec<PathBuf> = files("rs").into_iter().filter(|path| !is_test(path)).collect();
    let mut wrong = BTreeSet::new();
    for name in &names {
        let imports = Modules::of_crate(&workspace().join("crates").join(name).join("src"), &product).imports();
        assert!(!imports.is_empty(), "{name}: no import found: does this test still see them?");
        for circle in circles(&imports) {
            println!("{name}: {}", circle.concat());
            wrong.insert(name.as_str());
        }
    }
    assert!(wrong.is_empty(), "files import each other in circles, printed above: {wrong:?}");
}

/// A module by the names that lead to it from the crate's root.
type Name = Vec<String>;
/// From one file to others, with what is imported.
type FileImports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// What one file says.
#[derive(Default)]
struct Module {
    /// As people read it: `clean/text.rs`.
    file: String,
    defines: BTreeSet<String>,
    declares: BTreeSet<String>,
    uses: Vec<Use>,
    /// Paths in the code itself, such as `json::parse`.
    paths: BTreeSet<Vec<String>>,
    /// Single names in the code.
    words: BTreeSet<String>,
}

/// `use a::b as c` or, if `name` is `*`, `use a::b::*`.
struct Use {
    path: Vec<String>,
    name: String,
    is_exported: bool,
}

#[derive(Clone, PartialEq)]
enum Target {
    Module(Name),
    Item(Name),
}

struct Modules(BTreeMap<Name, Module>);

impl Modules {
    fn of_crate(src: &Path, product: &[PathBuf]) -> Modules {
        let read = product.iter().filter_map(|path| {
            let file = path.strip_prefix(src).ok()?;
            Some((name_of(file), Module::read(&file.display().to_string(), &std::fs::read_to_string(path).unwrap())))
        });
        Modules(read.collect())
    }

    fn imports(&self) -> FileImports {
        let mut found = FileImports::new();
        for (name, module) in &self.0 {
            let mut import = |target: Option<Target>, path: &[String]| {
                if let Some(Target::Item(defined_in)) = target.filter(|target| *target != Target::Item(name.clone())) {
                    let to = self.0[&defined_in].file.clone();
                    found.entry(module.file.clone()).or_default().entry(to).or_default().insert(path.join("::"));
                }
            };
            for used in &module.uses {
                if used.name == "*" {
                    let target = self.resolve(name, &used.path, 0);
                    import(target.map(|(Target::Module(name) | Target::Item(name))| Target::Item(name)), &used.path);
                } else if !used.is_exported || module.words.contains(&used.name) {
                    import(self.resolve(name, &used.path, 0), &used.path);
                }
            }
            for path in &module.paths {
                import(self.resolve(name, path, 0), path);
            }
        }
        found
    }

    /// Where `path`, as written in the module `from`, leads. None: out of the crate, or to a local name.
    fn resolve(&self, from: &Name, path: &[String], depth: usize) -> Option<Target> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Target::Module(Name::new()),
            "self" => Target::Module(from.clone()),
            "super" => Target::Module(from[..from.len().checked_sub(1)?].to_vec()),
            name => self.named(from, name, depth)?,
        };
        while let (Target::Module(module), Some((name, after))) = (&at, rest.split_first()) {
            at = match name.as_str() {
                "super" => Target::Module(module[..module.len().checked_sub(1)?].to_vec()),
                name => self.named(module, name, depth).unwrap_or(Target::Item(module.clone())),
            };
            rest = after;
        }
        Some(at)
    }

    /// What `name` means in a module: one that it declares, an item, or what it imports.
    fn named(&self, from: &Name, name: &str, depth: usize) -> Option<Target> {
        let module = self.0.get(from)?;
        let child = [&from[..], &[name.to_string()]].concat();
        if module.declares.contains(name) && self.0.contains_key(&child) {
            return Some(Target::Module(child));
        }
        if module.defines.contains(name) {
            return Some(Target::Item(from.clone()));
        }
        // Exports of each other's names end somewhere.
        if depth > 8 {
            return None;
        }
        let import = module.uses.iter().find(|used| used.name == name && used.path[0] != name);
        if let Some(used) = import {
            return self.resolve(from, &used.path, depth + 1);
        }
        module.uses.iter().filter(|used| used.name == "*").find_map(|used| {
            match self.resolve(from, &used.path, depth + 1)? {
                Target::Module(all) if all != *from => self.named(&all, name, depth + 1),
                _ => None,
            }
        })
    }
}

/// `a/b.rs` and `a/b/mod.rs` → `a`, `b`.
fn name_of(file: &Path) -> Name {
    let mut name: Name = file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if name.last().is_some_and(|last| last == "mod") || ["lib", "main"].contains(&name.join("/").as_str()) {
        name.pop();
    }
    name
}

impl Module {
    fn read(file: &str, text: &str) -> Module {
        let mut module = Module { file: file.to_string(), ..Module::default() };
        let tokens = without_test_items(tokens(text));
        let mut at = 0;
        while at < tokens.len() {
            let is_after = |word: &str| at > 0 && tokens[at - 1] == word;
            let token = tokens[at].as_str();
            if token == "use" && tokens.get(at + 1).is_some_and(|next| next != "<") {
                let is_exported = is_after("pub") || is_after(")");
                let end = at + tokens[at..].iter().position(|token| token == ";").unwrap_or(tokens.len() - at);
                module.read_tree(&tokens[at + 1..end], &[], is_exported);
                at = end;
            } else if is_word(token) && !is_after("::") && !is_after("$") {
                let mut path = vec![token.to_string()];
                while tokens.get(at + 1).is_some_and(|next| next == "::")
                    && tokens.get(at + 2).is_some_and(|next| is_word(next))
                {
                    path.push(tokens[at + 2].clone());
                    at += 2;
                }
                module.note(&tokens, at + 1 - (2 * path.len() - 1), path);
            }
            at += 1;
        }
        module
    }

    /// A path in the code, which begins with the token `start`.
    fn note(&mut self, tokens: &[String], start: usize, path: Vec<String>) {
        const ITEMS: [&str; 9] = ["struct", "enum", "fn", "trait", "type", "const", "static", "union", "macro_rules"];
        let before = start.checked_sub(1).map(|before| tokens[before].as_str());
        if before == Some("mod") {
            self.declares.insert(path[0].clone());
        } else if before.is_some_and(|before| ITEMS.contains(&before)) {
            self.defines.insert(path[0].clone());
        } else {
            self.words.insert(path[0].clone());
            if path.len() > 1 {
                self.paths.insert(path);
            }
        }
    }

    /// The branches of a tree such as `a::{b, c::d as e, f::*}` below a path.
    fn read_tree(&mut self, tree: &[String], below: &[String], is_exported: bool) {
        let Some(open) = tree.iter().position(|token| token == "{") else {
            let (path, name) = match tree {
                [path @ .., word, name] if word == "as" => (path, Some(name.clone())),
                path => (path, None),
            };
            let mut path = [below, &words(path)[..]].concat();
            if path.last().is_some_and(|last| last == "*" || last == "self" && path.len() > 1) {
                let last = path.pop();
                let name = name.or_else(|| last.filter(|last| last == "*")).or_else(|| path.last().cloned());
                self.uses.extend(name.map(|name| Use { path, name, is_exported }));
            } else if let Some(name) = name.or_else(|| path.last().cloned()) {
                self.uses.push(Use { path, name, is_exported });
            }
            return;
        };
        let below = [below, &words(&tree[..open])[..]].concat();
        let inside = &tree[open + 1..tree.len() - 1];
        let mut depth = 0;
        let branches = inside.split(|token| {
            depth += match token.as_str() {
                "{" => 1,
                "}" => -1,
                _ => 0,
            };
            token == "," && depth == 0
        });
        for branch in branches.filter(|branch| !branch.is_empty()) {
            self.read_tree(branch, &below, is_exported);
        }
    }
}

fn words(path: &[String]) -> Vec<String> {
    path.iter().filter(|token| *token != "::").cloned().collect()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words and signs of a source file, without comments, texts and characters.
fn tokens(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = quoted(rest) {
            length
        } else if is_word(rest) || rest.starts_with('\'') {
            // A word or a lifetime.
            rest[first.len_utf8()..]
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .map_or(rest.len(), |end| end + first.len_utf8())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        if is_word(token) && quoted(rest).is_none()
            || length <= 2 && !token.trim().is_empty() && !token.starts_with(['"', '\''])
        {
            found.push(token.to_string());
        }
        rest = after;
    }
    found
}

/// The length of the text or character that `code` begins with.
fn quoted(code: &str) -> Option<usize> {
    let plain = code.strip_prefix('b').unwrap_or(code);
    let prefix = code.len() - plain.len();
    if let Some(raw) = plain.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let closing = format!("\"{}", "#".repeat(hashes));
        return Some(code.len() - body.len() + body.find(&closing)? + closing.len());
    }
    let quote = plain.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
    let mut chars = plain.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == quote => return Some(prefix + at + 1),
            // A lifetime.
            _ if quote == '\'' && !plain[at + c.len_utf8()..].starts_with('\'') && !plain[1..].starts_with('\\') => {
                return None;
            }
            _ => {}
        }
    }
    None
}

/// Without what is compiled for tests alone: modules, functions and imports below `#[cfg(test)]`.
fn without_test_items(tokens: Vec<String>) -> Vec<String> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].starts_with(&MARK.map(String::from)) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let mut depth = 0;
        at += MARK.len();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            depth += match token {
                "{" => 1,
                "}" => -1,
                _ => 0,
            };
            at += 1;
            if depth == 0 && ["}", ";"].contains(&token) {
                break;
            }
        }
    }
    kept
}

/// The largest sets of files in which each leads to every other, with what each imports from the others.
fn circles(imports: &FileImports) -> Vec<Vec<String>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|file| (file.as_str(), reached_from(imports, file))).collect();
    let mut found = BTreeSet::new();
    for (file, ahead) in &reached {
        let leads_back = |other: &&&str| reached.get(**other).is_some_and(|from_there| from_there.contains(file));
        let circle: BTreeSet<&str> = ahead.iter().filter(leads_back).copied().collect();
        if circle.len() > 1 {
            found.insert(circle);
        }
    }
    let shown = |circle: BTreeSet<&str>| {
        let inside = |file: &&str| {
            let to_others = imports[*file].iter().filter(|(to, _)| circle.contains(to.as_str()));
            let paths: Vec<&str> = to_others.flat_map(|(_, paths)| paths).map(String::as_str).collect();
            format!("\n  {file}: {}", paths.join(", "))
        };
        circle.iter().map(inside).collect()
    };
    found.into_iter().map(shown).collect()
}

fn reached_from<'a>(imports: &'a FileImports, start: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(file) = open.pop() {
        let next = imports.get(file).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.map(String::as_str).filter(|to| reached.insert(*to)));
    }
    reached
}

/// The circles of a crate with these files.
fn circles_in(sources: &[(&str, &str)]) -> Vec<String> {
    let read = sources.iter().map(|(file, text)| (name_of(Path::new(file)), Module::read(file, text)));
    circles(&Modules(read.collect()).imports()).into_iter().map(|circle| circle.concat()).collect()
}

#[test]
fn a_parent_that_only_exports_is_part_of_no_circle() {
    let child = ("a/b.rs", "use super::C;\npub fn b(c: C) {}");
    let exporting = ("a/mod.rs", "mod b;\nmod c;\npub use b::b;\npub use c::C;");
    assert!(circles_in(&[child, exporting, ("a/c.rs", "pub struct C;")]).is_empty());
    let defining = ("a/mod.rs", "mod b;\npub struct C;\nfn all() { b::b(C) }");
    assert_eq!(circles_in(&[child, defining]), ["\n  a/b.rs: super::C\n  a/mod.rs: b::b"]);
}

#[test]
fn every_path_that_leads_to_a_file_is_seen() {
    let b = ("b.rs", "pub fn two() { crate::a::one() }");
    for a in [
        "use crate::b::two;\npub fn one() {}",
        "use super::{c, b::{self}};\npub fn one() { b::two() }",
        "pub fn one() { super::b::two(); }",
        "use crate::b::*;\npub fn one() {}",
        "use crate::b as other;\npub fn one<'a>(x: &'a str) { let y = '\\''; other::two() }",
    ] {
        assert_eq!(circles_in(&[("a.rs", a), b, ("lib.rs", "mod a;\nmod b;")]).len(), 1, "{a}");
    }
    for a in [
        "// crate::b::two\npub fn one() { let x = \"crate::b::two\"; }",
        "pub fn one() { let x = r#\"\"crate::b::two\"#; }",
        "pub fn one() {}\n#[cfg(test)]\nmod tests { use crate::b::two; }",
    ] {
        assert!(circles_in(&[("a.rs", a), b, ("lib.rs", "mod a;\nmod b;")]).is_empty(), "{a}");
    }
}
