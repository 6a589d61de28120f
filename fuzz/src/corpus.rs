//! What inputs are made of: what the real clients sent and wrote, as the tests keep it, and a little by hand.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

#[derive(Clone, Copy)]
pub enum Kind {
    /// Payloads of hooks, one each.
    Payloads,
    /// Whole transcripts.
    Transcripts,
    /// What people and programs write.
    Text,
    Settings,
    Queries,
}

/// A longer recording is cut into pieces: what is changed should be near what matters.
const PIECE_BYTES_MAX: usize = 24 * 1024;

pub fn of(kind: Kind) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    match kind {
        Kind::Payloads => {
            for file in files("crates/agents/src/fixtures")? {
                found.extend(read(&file)?.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
        }
        Kind::Transcripts => {
            for file in files("crates/agents/src/transcripts/fixtures")? {
                found.push(read(&file)?);
            }
            found.extend(of(Kind::Payloads)?.chunks(12).map(|lines| lines.join(&b'\n')));
        }
        Kind::Text => {
            for file in files("crates/record/src/runs/fixtures")? {
                found.push(read(&file)?);
            }
            found.extend(TEXTS.iter().map(|text| text.as_bytes().to_vec()));
        }
        Kind::Settings => found.extend(SETTINGS.iter().map(|text| text.as_bytes().to_vec())),
        Kind::Queries => found.extend(QUERIES.iter().map(|text| text.as_bytes().to_vec())),
    }
    found.retain(|input| !input.is_empty());
    found.iter_mut().for_each(|input| input.truncate(PIECE_BYTES_MAX));
    Ok(found)
}

fn files(folder: &str) -> anyhow::Result<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("no fixtures in {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(path).with_context(|| path.display().to_string())
}

const TEXTS: [&str; 8] = [
    "Always run the tests before you commit. No, not like that!\n- use tabs\n- never push to main",
    "Decision: keep the journal append-only.\nBlocked: the build fails on src/main.rs:12.\nNext: add a mutex to `Process`.",
    "export API_KEY=\"not-a-real-key-0123456789abcdef\" && curl -H 'Authorization: Bearer abc.def.ghi' https://example.com",
    "proj:hydra\nimpl:src/a.rs\ndec:use-wal\nnext:measure-it",
    "fn main() {\n    let x = vec![1, 2, 3];\n    println!(\"{}\", x.len());\n}\n",
    "commit 1f3a\nAuthor: A <a@example.com>\n\n    subject\n\nM\tsrc/a.rs\nR100\tb.rs\tc.rs\n",
    "[main 1f3a2b4] add a thing\n 2 files changed, 10 insertions(+), 1 deletion(-)\n",
    "{\"content\": \"Use pnpm\", \"category\": \"preference\", \"scope\": \"project:hydra\", \"metadata\": {\"a\": [1]}}",
];

const SETTINGS: [&str; 9] = [
    "",
    "{}\n",
    "{\n  \"theme\": \"dark\", // mine\n  \"hooks\": {\n    \"PostToolUse\": [{\"matcher\": \"Write\", \"hooks\": [{\"type\": \"command\", \"command\": \"echo\"}]}]\n  }\n}\n",
    "{\"hooks\": {}, \"mcpServers\": {\"other\": {\"command\": \"x\", \"args\": [\"y\"]}},}",
    "\u{feff}{\r\n\t\"mcp\": {\"cerberus\": {\"type\": \"local\", \"command\": [\"/usr/bin/cerberus\", \"mcp\"]}}\r\n}",
    "model = \"x\"\n\n[mcp_servers.other]\ncommand = 'y'\nargs = [\"a\", \"b\"]\n\n[mcp_servers.cerberus]\ncommand = \"/usr/bin/cerberus\"\nargs = [\"mcp\"]\n",
    "[a]\nb = \"\"\"\nmulti\n\"\"\" # comment\nc = { d = 1, e = [1,\n 2] }\n\n[[f]]\ng = 1979-05-27\n",
    "/* c */ {\"version\": 1, \"hooks\": {\"stop\": [{\"command\": \"/usr/bin/cerberus hook cursor\"}]}}",
    "// written by hand\nexport const x = 1;\n",
];

const QUERIES: [&str; 8] = [
    "error handling",
    "\"exact words\" prefix*",
    "src/store/mod.rs",
    "last week",
    "snake_case camelCase kebab-case",
    "(a OR b) AND NOT c",
    "größe 日本語 naïve",
    "what did I say about the tests in january 2026",
];
