#!/usr/bin/env node
// Starts the program for this platform, which is in a package of its own. Hooks do not come through here: `cerberus
// install` writes the path of the program itself into the agents' settings.
"use strict";

const { spawnSync } = require("node:child_process");
const path = require("node:path");

const platform = `@cerberus-memory/${process.platform}-${process.arch}`;
let folder;
try {
  folder = path.dirname(require.resolve(`${platform}/package.json`));
} catch {
  console.error(`cerberus: ${platform} is not installed. Either there is no binary for this platform, or optional`);
  console.error("packages were left out. Build it instead: cargo install cerberus-memory");
  process.exit(1);
}

const args = process.argv.slice(2);
if (args[0] === "install" && folder.split(path.sep).includes("_npx")) {
  console.error("cerberus: npx keeps the program in a cache that npm may empty, and your agents' hooks would then fail.");
  console.error("Install it first: npm install --global cerberus-memory && cerberus install");
  process.exit(1);
}

const program = path.join(folder, "bin", process.platform === "win32" ? "cerberus.exe" : "cerberus");
const ended = spawnSync(program, args, { stdio: "inherit" });
if (ended.error) {
  console.error(`cerberus: ${program}: ${ended.error.message}`);
  process.exit(1);
}
if (ended.signal) process.kill(process.pid, ended.signal);
process.exit(ended.status ?? 1);
