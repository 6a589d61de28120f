// Cerberus in Cline: reports what happens to `cerberus hook cline`, and adds the session's brief to its first prompt.
// Plain JavaScript, no dependencies, one file.
//
// Cline runs it in a process of its own, one for each session, and ends that process if a hook takes more than three
// seconds. It never throws an error into Cline. Its messages are read by
// crates/agents/src/cline/payload.rs; change the two together.

import { spawn, spawnSync } from "node:child_process"

// `cerberus install` writes the full path here.
const CERBERUS = "cerberus"

const HOOK_MS_MAX = 2500 // all reports of one hook together
const END_MS_MAX = 2000
const TEXT_CHARS_MAX = 200_000 // limit for each text that is sent
const REPLY_CHARS_MAX = 100_000
const COMMANDS_MAX = 20

let session
let isBegun = false

/** Runs the hook with one message. Resolves to its output, or to "" after `limit` milliseconds or on any failure. */
function hook(text, limit) {
  return new Promise((resolve) => {
    let child
    let printed = ""
    const done = (text) => {
      clearTimeout(timer)
      resolve(text)
    }
    const timer = setTimeout(() => {
      child?.kill("SIGKILL")
      done("")
    }, limit)
    try {
      child = spawn(CERBERUS, ["hook", "cline"], { stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => done(""))
      child.on("close", () => done(printed))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => {
        if (printed.length < REPLY_CHARS_MAX) printed += text
      })
      child.stdin.end(text)
    } catch {
      done("")
    }
  })
}

/** Shortens a long text to its beginning and its end. */
function bounded(text) {
  const half = TEXT_CHARS_MAX / 2
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, half)}\n…\n${text.slice(-half)}`
}

function message(event, extra) {
  const fields = { event, sessionID: session, cwd: process.cwd(), at: Date.now(), ...extra }
  return JSON.stringify(fields, (_, value) => (typeof value === "string" ? bounded(value) : value))
}

/** Reports one event after another. Resolves to what the model is to be told. */
async function report(events) {
  const deadline = Date.now() + HOOK_MS_MAX
  const told = []
  for (const [event, extra] of events) {
    const left = deadline - Date.now()
    if (left > 0) told.push(contextOf(await hook(message(event, extra), left)))
  }
  return told.filter(Boolean).join("\n")
}

function contextOf(printed) {
  try {
    const { additionalContext } = JSON.parse(printed)
    return typeof additionalContext === "string" ? additionalContext : ""
  } catch {
    return ""
  }
}

/** What the user typed, without the tags that Cline puts around it. */
function typed(content) {
  const text = content.filter((part) => part?.type === "text").map((part) => part.text).join("\n")
  return text.replace(/^\s*<user_input[^>]*>([\s\S]*)<\/user_input>\s*$/, "$1")
}

const isText = (value) => typeof value === "string"

/** One tool use is reported once; each command of `run_commands` is one. */
function uses(call, input, result) {
  const { toolCallId: id, toolName: tool } = call
  const output = result?.output
  if (tool === "run_commands" && Array.isArray(output)) {
    return output.slice(0, COMMANDS_MAX).map((one, index) => {
      const error = one?.success === false ? String(one.error ?? "") : undefined
      const args = { command: String(one?.query ?? "") }
      return ["tool", { id: index ? `${id}.${index}` : id, tool, args, output: one?.result, error }]
    })
  }
  const hasFailed = result?.isError || output?.success === false
  const error = hasFailed ? String(output?.error ?? (isText(output) ? output : "")) : undefined
  const extra = { id, tool, args: input, error }
  // The output of other tools may be the content of a file.
  if (tool === "editor") extra.output = output?.result
  if (tool === "ask_question" && isText(output)) extra.output = output
  return [["tool", extra]]
}

/** Hides failures of our hooks from Cline. */
const quietly = (work) => async (context) => {
  try {
    if (session) return await work(context)
  } catch {}
}

/** The process ends when the session is closed, and when it has been idle for long; then the session goes on later. */
function leave(signal) {
  if (session && isBegun) {
    const input = message("end", { reason: signal })
    spawnSync(CERBERUS, ["hook", "cline"], { input, stdio: ["pipe", "ignore", "ignore"], timeout: END_MS_MAX })
  }
  process.exit(0)
}

export default {
  name: "cerberus",
  manifest: { capabilities: ["hooks"] },

  setup(_, context) {
    session = context?.session?.sessionId
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.once(signal, leave)
  },

  hooks: {
    // A run is the work on one prompt. What is returned becomes part of the conversation.
    beforeRun: quietly(async ({ snapshot }) => {
      if (snapshot.parentAgentId) return
      const last = snapshot.messages.at(-1)
      const events = []
      if (!isBegun) events.push(["start", { source: snapshot.messages.length > 1 ? "resume" : "startup" }])
      const text = last?.role === "user" ? typed(last.content) : ""
      if (text) events.push(["prompt", { id: last.id, text }])
      isBegun = true
      const told = await report(events)
      return told ? { appendContext: told } : undefined
    }),

    afterTool: quietly(async ({ toolCall, input, result }) => {
      await report(uses(toolCall, input, result))
    }),

    afterRun: quietly(async ({ snapshot, result }) => {
      const text = String(result?.outputText ?? "")
      const error = String(result?.error?.message ?? snapshot.lastError ?? "")
      if (snapshot.parentAgentId) await report([["subagent-stop", { text }]])
      else if (result?.status === "failed") await report([["failure", { text: error }]])
      else if (result?.status !== "aborted") await report([["stop", { text }]])
    }),
  },
}
