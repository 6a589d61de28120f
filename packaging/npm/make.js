// Makes the folders of the npm packages: one with the starter, and one with the program for each platform. Those have a
// scope, so that nobody else can publish one that looks like them.
//
//   node make.js VERSION OUT TARGET=TREE…      TREE: what dev/dist staged for the target
"use strict";

const fs = require("node:fs");
const path = require("node:path");

const PLATFORMS = {
  "x86_64-unknown-linux-musl": ["linux", "x64"],
  "aarch64-unknown-linux-musl": ["linux", "arm64"],
  "x86_64-apple-darwin": ["darwin", "x64"],
  "aarch64-apple-darwin": ["darwin", "arm64"],
  "x86_64-pc-windows-msvc": ["win32", "x64"],
};
const NAME = "cerberus-memory";
const SCOPE = `@${NAME}`;
const [version, out, ...trees] = process.argv.slice(2);

function write(folder, manifest, tree, parts) {
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  for (const part of parts) fs.cpSync(path.join(tree, part), path.join(folder, part), { recursive: true });
  for (const license of ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"]) {
    fs.copyFileSync(path.join(tree, "share/doc", NAME, license), path.join(folder, license));
  }
  const common = {
    version,
    license: "MIT OR Apache-2.0",
    repository: { type: "git", url: "git+https://github.com/cerberus-memory/cerberus.git" },
  };
  fs.writeFileSync(path.join(folder, "package.json"), JSON.stringify({ ...manifest, ...common }, null, 2) + "\n");
}

for (const given of trees) {
  const [target, tree] = given.split("=");
  const [os, cpu] = PLATFORMS[target];
  const name = `${SCOPE}/${os}-${cpu}`;
  const description = `The program of ${NAME} for ${os} on ${cpu}`;
  write(path.join(out, `${NAME}-${os}-${cpu}`), { name, description, os: [os], cpu: [cpu], preferUnplugged: true }, tree, ["bin"]);
}

const tree = trees[0].split("=")[1];
const pages = fs.readdirSync(path.join(tree, "share/man/man1")).sort();
const main = path.join(out, NAME);
const manifest = {
  name: NAME,
  description: "Your coding agent continues where it left off: after an exit, a crash, a compaction or a full context window",
  keywords: ["agent", "claude", "codex", "memory", "hooks"],
  bin: { cerberus: "cerberus.js" },
  man: pages.map((page) => `./share/man/man1/${page}`),
  engines: { node: ">=18" },
  optionalDependencies: Object.fromEntries(
    Object.values(PLATFORMS).map(([os, cpu]) => [`${SCOPE}/${os}-${cpu}`, version]),
  ),
};
write(main, manifest, tree, ["share"]);
fs.copyFileSync(path.join(__dirname, "cerberus.js"), path.join(main, "cerberus.js"));
fs.copyFileSync(path.join(tree, "share/doc", NAME, "README.md"), path.join(main, "README.md"));
