// Cerberus in opencode: reports what happens to `cerberus hook opencode`, and puts the session's brief in its system
// prompt. Plain JavaScript, no dependencies, one file.
//
// It never throws an error into opencode, except to refuse a tool use that breaks a rule of the user, and never blocks it
// for long. Its messages are read by
// crates/agents/src/opencode/payload.rs; change the two together.

import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"

// `cerberus install` writes the full path here.
const CERBERUS = "cerberus"

const START_MS_MAX = 3000 // a session's first model call waits for its brief
const REPORT_MS_MAX = 2000
const TEXT_CHARS_MAX = 200_000 // limit for each text that is sent
const REPLY_CHARS_MAX = 100_000
const SESSIONS_MAX = 500

// `opencode run`, with options before or behind it: a program sends the prompts.
const IS_HEADLESS = process.argv.slice(2).includes("run")

// opencode asks the model for titles and summaries through the same hook, without saying so. Only the system prompt of
// these agents tells such a request from one of the session.
const OWN_AGENTS = ["title", "summary", "compaction"]
const OWN_PROMPTS = [
  "You are a title generator.",
  "Summarize what was done in this conversation.",
  "You are a context summarization agent.",
]

/** Runs the hook with one message. Resolves to its output, or to "" after `limit` milliseconds or on any failure. */
function hook(message, limit) {
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
      child = spawn(CERBERUS, ["hook", "opencode"], { stdio: ["pipe", "pipe", "ignore"] })
      child.on("error", () => done(""))
      child.on("close", () => done(printed))
      child.stdin.on("error", () => {})
      child.stdout.on("error", () => {})
      child.stdout.setEncoding("utf8")
      child.stdout.on("data", (text) => {
        if (printed.length < REPLY_CHARS_MAX) printed += text
      })
      child.stdin.end(JSON.stringify(message, (_, value) => (typeof value === "string" ? bounded(value) : value)))
    } catch {
      done("")
    }
  })
}

/** Exists only while a rule of the user is enforced. */
const checksFile = () => join(process.env.CERBERUS_HOME || join(homedir(), ".cerberus"), "checks")

const CHECKED_TOOLS = ["bash", "edit", "write", "multiedit", "patch", "apply_patch"]

/** Shortens a long text to its beginning and its end. */
function bounded(text) {
  const half = TEXT_CHARS_MAX / 2
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, half)}\n…\n${text.slice(-half)}`
}

function contextOf(printed) {
  try {
    const { additionalContext } = JSON.parse(printed)
    return typeof additionalContext === "string" ? additionalContext : ""
  } catch {
    return ""
  }
}

export const Cerberus = async ({ directory, worktree }) => {
  const cwd = directory || worktree || process.cwd()
  const sessions = new Map() // id → { parent, brief, lastWords }
  const ownPrompts = [...OWN_PROMPTS] // the user may have replaced them

  const known = (id) => {
    if (!sessions.has(id)) {
      if (sessions.size >= SESSIONS_MAX) sessions.delete(sessions.keys().next().value)
      sessions.set(id, { parent: undefined, brief: undefined, lastWords: "" })
    }
    return sessions.get(id)
  }

  // In opencode a subagent is a separate session; its events belong to the session that started it.
  const root = (id) => {
    for (let depth = 0; depth < 16 && sessions.get(id)?.parent; depth++) id = sessions.get(id).parent
    return id
  }

  const report = (event, id, extra, limit = REPORT_MS_MAX) =>
    hook({ event, sessionID: root(id), cwd, at: Date.now(), ...extra }, limit)

  // The brief is requested once per start and then kept, because the system prompt is built again for every model call.
  // For the same reason, a session that continues in a new process has lost its brief and starts like any other.
  const begin = (id, source) => {
    const session = known(id)
    session.brief = report("start", id, { source }, START_MS_MAX).then(contextOf)
    return session.brief
  }
  const brief = (id) => known(id).brief ?? begin(id, "startup")

  /** Hides failures of our hooks from opencode. */
  const quietly = (work) => async (input, output) => {
    try {
      await work(input ?? {}, output ?? {})
    } catch {}
  }

  const handlers = {
    "session.created": async ({ info }) => {
      if (!info?.id) return
      known(info.id).parent = info.parentID
      if (!info.parentID) await brief(info.id)
    },
    "session.updated": async ({ info }) => {
      if (info?.id && info.parentID) known(info.id).parent = info.parentID
    },
    "session.idle": async ({ sessionID }) => {
      const session = sessionID && sessions.get(sessionID)
      if (!session) return
      const text = session.lastWords
      session.lastWords = ""
      await report(session.parent ? "subagent-stop" : "stop", sessionID, { text })
    },
    "session.error": async ({ sessionID, error }) => {
      if (sessionID && sessions.has(sessionID)) {
        await report("failure", sessionID, { text: String(error?.data?.message ?? error?.name ?? "") })
      }
    },
    "session.compacted": async ({ sessionID }) => {
      if (sessionID && !known(sessionID).parent) await begin(sessionID, "compact")
    },
    "session.deleted": async ({ info }) => {
      if (info?.id && sessions.has(info.id) && !sessions.get(info.id).parent) {
        await report("end", info.id, { reason: "deleted" })
      }
      sessions.delete(info?.id)
    },
  }

  return {
    config: quietly((config) => {
      const prompts = OWN_AGENTS.map((name) => config.agent?.[name]?.prompt)
      ownPrompts.push(...prompts.filter((prompt) => typeof prompt === "string" && prompt.trim()))
    }),

    event: quietly(({ event }) => handlers[event?.type]?.(event.properties ?? {})),

    "chat.message": quietly(async (input, { message, parts }) => {
      const id = input.sessionID ?? message?.sessionID
      if (!id || known(id).parent) return
      await brief(id)
      const texts = (parts ?? []).filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      // `opencode run` puts quotes around an argument with spaces.
      const text = texts.map((part) => part.text.replace(/^"([^"]*)"$/, "$1")).join("\n")
      if (!text) return
      const relevant = contextOf(await report("prompt", id, { id: message?.id ?? input.messageID, text, headless: IS_HEADLESS }))
      if (relevant) known(id).brief = brief(id).then((told) => [told, relevant].filter(Boolean).join("\n"))
    }),

    "tool.execute.before": async (input, output) => {
      let reason = ""
      try {
        const { tool, sessionID, callID } = input ?? {}
        if (!CHECKED_TOOLS.includes(tool) || !existsSync(checksFile())) return
        const printed = await report("before", sessionID, { id: callID, tool, args: output?.args })
        reason = printed ? JSON.parse(printed).deny : ""
      } catch {}
      if (typeof reason === "string" && reason) throw new Error(reason)
    },

    "tool.execute.after": quietly(async ({ tool, sessionID, callID, args }, { output, metadata }) => {
      const answers = Array.isArray(metadata?.answers) ? metadata.answers.map((given) => [].concat(given).join(", ")) : []
      const extra = { id: callID, tool, args, exit: metadata?.exit, diff: metadata?.diff, answers }
      // The output of other tools may be the content of a file.
      if (tool === "bash") extra.output = String(metadata?.output ?? output ?? "")
      await report("tool", sessionID, extra)
    }),

    "experimental.text.complete": quietly(({ sessionID }, { text }) => {
      if (sessionID && text) known(sessionID).lastWords = text
    }),

    "experimental.chat.system.transform": quietly(async ({ sessionID }, { system }) => {
      if (!sessionID || !Array.isArray(system) || known(sessionID).parent) return
      if (ownPrompts.some((prompt) => String(system[0] ?? "").startsWith(prompt))) return
      const text = await brief(sessionID)
      if (text) system.push(text)
    }),

    "experimental.session.compacting": quietly(({ sessionID }) => report("compact", sessionID, {})),

    dispose: quietly(async () => {
      const open = [...sessions].filter(([, session]) => !session.parent && session.brief !== undefined)
      await Promise.all(open.map(([id]) => report("end", id, { reason: "exit" })))
    }),
  }
}
