// Plays the npm registry and the release page for dev/rehearse, on loopback, with files of a folder.
//
//   node server.js FOLDER     prints its address; ends when standard input does
//
// Only what `npm publish`, `npm install` and install.sh ask for is answered. A release that is a draft is not shown.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const folder = process.argv[2];
const packages = new Map();

function send(response, status, body, type = "application/json") {
  response.writeHead(status, { "content-type": type });
  response.end(body);
}

// Takes a package as `npm publish` sends it. A version is never replaced.
function publish(name, sent) {
  const known = packages.get(name) ?? { name, "dist-tags": {}, versions: {}, files: {} };
  for (const version of Object.keys(sent.versions)) {
    if (known.versions[version]) return [403, `{"error":"${name} ${version} was published before"}`];
  }
  Object.assign(known.versions, sent.versions);
  Object.assign(known["dist-tags"], sent["dist-tags"]);
  for (const [file, attached] of Object.entries(sent._attachments)) {
    known.files[path.basename(file)] = Buffer.from(attached.data, "base64");
  }
  packages.set(name, known);
  return [201, "{}"];
}

function described(name, address) {
  const { files, ...known } = packages.get(name);
  const [file] = Object.keys(files);
  for (const found of Object.values(known.versions)) found.dist.tarball = `${address}/npm/${name}/-/${file}`;
  return JSON.stringify(known);
}

function npm(request, response, asked, body, address) {
  const [name, file] = asked.split("/-/");
  if (request.method === "PUT") return send(response, ...publish(name, JSON.parse(body)));
  if (!packages.has(name)) return send(response, 404, "{}");
  if (file === undefined) return send(response, 200, described(name, address));
  const bytes = packages.get(name).files[file];
  return send(response, bytes ? 200 : 404, bytes ?? "", "application/octet-stream");
}

// The file that a path of the release page stands for, if its release is public.
function released(asked) {
  const isPublic = (tag) => fs.existsSync(path.join(folder, "public", tag));
  let [, tag, file] = asked.match(/^download\/([^/]+)\/([^/]+)$/) ?? [];
  if (tag === undefined) {
    [, file] = asked.match(/^latest\/download\/([^/]+)$/) ?? [];
    const tags = fs.readdirSync(path.join(folder, "releases")).filter(isPublic);
    tag = tags.sort((a, b) => a.localeCompare(b, undefined, { numeric: true })).pop();
  }
  if (file === undefined || tag === undefined || !isPublic(tag)) return undefined;
  const found = path.join(folder, "releases", tag, file);
  return fs.existsSync(found) ? found : undefined;
}

const server = http.createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const address = `http://127.0.0.1:${server.address().port}`;
    const asked = decodeURIComponent(request.url).split("?")[0];
    if (asked.startsWith("/npm/")) return npm(request, response, asked.slice(5), Buffer.concat(chunks), address);
    const file = asked.startsWith("/releases/") ? released(asked.slice(10)) : undefined;
    return send(response, file ? 200 : 404, file ? fs.readFileSync(file) : "", "application/octet-stream");
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
process.stdin.on("end", () => process.exit(0)).resume();
