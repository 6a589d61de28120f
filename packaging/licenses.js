// Prints the licences of everything that is in a program: of each crate, of the C code and the standard library.
//
//   node licenses.js PACKAGE TARGET
"use strict";

const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const [wanted, target] = process.argv.slice(2);
const cargo = ["metadata", "--format-version=1", "--locked", `--filter-platform=${target}`];
const metadata = JSON.parse(execFileSync("cargo", cargo, { maxBuffer: 1 << 28 }));
const packages = new Map(metadata.packages.map((found) => [found.id, found]));
const nodes = new Map(metadata.resolve.nodes.map((found) => [found.id, found]));

// What is linked into the program: neither build scripts and derive macros nor what tests need.
const isMacro = (found) => found.targets.some((built) => built.kind.includes("proc-macro"));
const linked = new Set();
const open = [metadata.packages.find((found) => found.name === wanted).id];
while (open.length > 0) {
  const id = open.pop();
  if (linked.has(id) || isMacro(packages.get(id))) continue;
  linked.add(id);
  for (const dep of nodes.get(id).deps) {
    if (dep.dep_kinds.some((kind) => kind.kind === null)) open.push(dep.pkg);
  }
}

const isLicense = (file) => /^(licen[cs]e|copying|copyright|notice|unlicense)/i.test(file);
// Folders in which crates keep C code with a licence of its own.
const FOLDERS = ["", "zstd", "LICENSES"];

function texts(found) {
  const top = path.dirname(found.manifest_path);
  const isApache = (text) => text.includes("Apache License") && text.includes("Version 2.0, January 2004");
  const files = FOLDERS.flatMap((folder) => {
    const inside = path.join(top, folder);
    if (!fs.existsSync(inside)) return [];
    const names = fs.readdirSync(inside).filter((file) => folder === "LICENSES" || isLicense(file));
    return names.sort().map((file) => path.join(inside, file));
  });
  const all = files.filter((file) => fs.statSync(file).isFile()).map((file) => fs.readFileSync(file, "utf8").trim());
  // Where there is a choice, the shorter one is taken.
  const shorter = all.filter((text) => !isApache(text));
  return /\bOR\b|\//.test(found.license) && shorter.length > 0 ? shorter : all;
}

// Every text once, with the crates that come with it.
const byKey = new Map();
const without = [];
const others = [...linked].map((id) => packages.get(id)).filter((found) => found.source !== null);
others.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
for (const found of others) {
  const title = `${found.name} ${found.version} (${found.license})`;
  const all = texts(found);
  if (all.length === 0) without.push(`${title}, ${found.authors.join(", ") || "the authors of " + found.repository}`);
  for (const text of all) {
    // The same text is often broken into other lines.
    const key = text.replace(/\s+/g, " ");
    const known = byKey.get(key) ?? { text, titles: [] };
    if (!known.titles.includes(title)) known.titles.push(title);
    byKey.set(key, known);
  }
}

const line = "-".repeat(80);
const out = [
  "What others wrote that is in this program, and its licences. Where a choice is given, MIT or a licence like it is",
  "taken. SQLite is in the public domain. Rust's standard library is under MIT or Apache-2.0, copyright The Rust",
  "Project Contributors." + (target.endsWith("musl") ? " The C library is musl, copyright Rich Felker and others, under MIT." : ""),
];
if (without.length > 0) {
  out.push("", "Without a text of their own; the licences are below:", ...without.map((title) => `  ${title}`));
}
for (const { text, titles } of byKey.values()) {
  out.push("", line, ...titles, line, "", text);
}
process.stdout.write(out.join("\n") + "\n");
