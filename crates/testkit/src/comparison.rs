//! Compares `cerberus loop run` with a plain `while true; do AGENT; done` on scripted tasks.
//!
//! The agent is the same in both cases. What it does depends only on what it is told and on what is on disk: it writes
//! parts, a few per context, makes the same mistake until it is told that a check failed, and trusts what it finds. The
//! tasks contain a false completion, a failing check, a usage limit and a crash. The plain loop is stopped by an observer
//! as soon as the check passes, which is more than a plain loop does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::env::TestEnv;
use crate::process::write_program;

/// A context more than this is not started.
pub const CONTEXTS_MAX: usize = 40;

/// One scripted task.
#[derive(Clone, Copy, Debug)]
pub struct ScriptedTask {
    pub name: &'static str,
    parts: usize,
    /// The part that is written in a wrong way at first.
    wrong: Option<usize>,
    /// The part whose writing is cut off by a crash.
    crash: Option<usize>,
    /// The part after which the usage limit is reached.
    limit: Option<usize>,
    /// The prompt asks the agent to run the check itself.
    is_told_to_check: bool,
}

const PLAIN: ScriptedTask =
    ScriptedTask { name: "several contexts", parts: 8, wrong: None, crash: None, limit: None, is_told_to_check: false };

pub const TASKS: [ScriptedTask; 5] = [
    PLAIN,
    ScriptedTask { name: "false completion", parts: 6, wrong: Some(3), ..PLAIN },
    ScriptedTask {
        name: "false completion, check named in the prompt",
        wrong: Some(3),
        is_told_to_check: true,
        ..PLAIN
    },
    ScriptedTask { name: "usage limit", limit: Some(2), ..PLAIN },
    ScriptedTask { name: "crash, limit and false completion", wrong: Some(2), crash: Some(4), limit: Some(5), ..PLAIN },
];

/// What a task took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    pub is_finished: bool,
    pub contexts: usize,
    pub tokens: u64,
    /// How often the agent reported completion falsely, after the first time.
    pub repeated_mistakes: usize,
}

struct Play {
    env: TestEnv,
    /// What the provider of the model and the observer know; not a part of the project.
    outside: PathBuf,
    agent: PathBuf,
    prompt: String,
}

/// Both outcomes: of the plain loop, and of ours.
pub fn compare(make_env: impl Fn() -> TestEnv, task: &ScriptedTask) -> (Outcome, Outcome) {
    (Play::new(make_env(), task).plainly(), Play::new(make_env(), task).with_cerberus())
}

impl Play {
    fn new(mut env: TestEnv, task: &ScriptedTask) -> Play {
        env.set_now(None);
        let (outside, project) = (env.root().join("outside"), env.project());
        fs::create_dir_all(&outside).expect("makes a directory");
        let write = |path: PathBuf, text: &str| fs::write(path, text).expect("writes a file");
        write(project.join("check.sh"), &check(task.parts));
        env.git(&project, &["add", "check.sh"]);
        env.git(&project, &["commit", "--quiet", "--message=start"]);
        let agent = outside.join("agent");
        write_program(&agent, &script(&outside, task.parts));
        for (name, part) in [("wrong", task.wrong), ("crash", task.crash), ("limit", task.limit)] {
            if let Some(part) = part {
                write(outside.join(name), &format!("{part}\n"));
            }
        }
        let how = if task.is_told_to_check { " Run sh check.sh before you say that it is done." } else { "" };
        let prompt = format!(
            "Write the parts 1 to {} as files.{how} When everything is done, end with a line that says ALL DONE.",
            task.parts
        );
        Play { env, outside, agent, prompt }
    }

    fn is_finished(&self) -> bool {
        let mut check = Command::new("sh");
        check.arg("check.sh").current_dir(self.env.project()).stdout(Stdio::null()).stderr(Stdio::null());
        check.status().is_ok_and(|status| status.success())
    }

    /// `while true; do AGENT; done`, with an observer who ends it when the task is done.
    fn plainly(&self) -> Outcome {
        let prompt = self.outside.join("prompt");
        fs::write(&prompt, &self.prompt).expect("writes a file");
        for _ in 0..CONTEXTS_MAX {
            let input = fs::File::open(&prompt).expect("a file of ours");
            let mut agent = Command::new(&self.agent);
            agent.current_dir(self.env.project()).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = agent.status().expect("the agent runs");
            if self.is_finished() {
                break;
            }
        }
        self.outcome()
    }

    fn with_cerberus(&self) -> Outcome {
        let mut command = self.env.command();
        command.args(["loop", "run", "--agent", "command", "--prompt", &self.prompt, "--program"]).arg(&self.agent);
        command.args(["--until", "sh check.sh", "--completion-phrase", "ALL DONE", "--no-progress", "10"]);
        command.args(["--min-interval", "0", "--backoff", "0", "--linger", "1s", "--max-reboots-per-hour", "1000"]);
        command.args(["--max-iterations", &CONTEXTS_MAX.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = command.status().expect("the binary runs");
        self.outcome()
    }

    fn outcome(&self) -> Outcome {
        let lines = |name: &str| fs::read_to_string(self.outside.join(name)).unwrap_or_default();
        let false_claims = lines("claims").lines().filter(|line| *line == "false").count();
        Outcome {
            is_finished: self.is_finished(),
            contexts: lines("contexts").lines().count(),
            tokens: lines("tokens").lines().filter_map(|line| line.parse::<u64>().ok()).sum(),
            repeated_mistakes: false_claims.saturating_sub(1),
        }
    }
}

/// Tests every part, and prints like a test runner.
fn check(parts: usize) -> String {
    format!(
        "#!/bin/sh\nbad=0\nfor k in $(seq {parts}); do\n  if grep -qx \"part $k complete\" part$k.txt 2>/dev/null; then\n    \
         echo \"test part$k ... ok\"\n  else\n    echo \"test part$k ... FAILED\"; bad=$((bad + 1))\n  fi\ndone\n\
         [ $bad = 0 ] && echo \"test result: ok. {parts} passed; 0 failed; 0 ignored\" && exit 0\n\
         echo \"test result: FAILED. $(({parts} - bad)) passed; $bad failed; 0 ignored\"\nexit 1\n"
    )
}

fn script(outside: &Path, parts: usize) -> String {
    SCRIPT.replace("@OUTSIDE@", &outside.display().to_string()).replace("@PARTS@", &parts.to_string())
}

/// The agent. It has room for three steps in a context, or two if it must first find out what was done before.
const SCRIPT: &str = r#"#!/bin/sh
told=$(cat)
out='@OUTSIDE@'
has() { case $told in *"$1"*) return 0 ;; esac; return 1; }
spend() { echo "$1" >>"$out/tokens"; }
echo x >>"$out/contexts"

# The provider: once so many parts are there, it refuses to answer for two seconds.
if [ -f "$out/limit" ] && [ -f "part$(cat "$out/limit").txt" ]; then
  now=$(date +%s)
  [ -f "$out/limit-end" ] || echo $((now + 2)) >"$out/limit-end"
  end=$(cat "$out/limit-end")
  if [ "$now" -lt "$end" ]; then
    spend 500
    sleep 0.2
    echo "You have hit your usage limit. Try again in $((end - now)) seconds."
    exit 1
  fi
  rm "$out/limit"
fi

steps=3
spend 5000
if [ -f part1.txt ] && ! has '# Context Handoff'; then
  echo 'I look at what is there.'
  spend 15000
  steps=2
fi

write() {
  echo "I am writing part $1."
  spend 15000
  steps=$((steps - 1))
  if [ "$(cat "$out/crash" 2>/dev/null)" = "$1" ]; then
    rm "$out/crash"
    printf 'part %s com' "$1" >"part$1.txt"
    kill -9 $$
  fi
  if [ "$(cat "$out/wrong" 2>/dev/null)" = "$1" ] && ! knows "$1"; then
    echo "part $1 drafted" >"part$1.txt"
  else
    echo "part $1 complete" >"part$1.txt"
  fi
}
failing=
knows() { has "Failing: part$1" || case $failing in *"part$1 "*) return 0 ;; esac; }

# What it is told to mend comes first, then what is missing.
for k in $(seq @PARTS@); do
  [ $steps -gt 0 ] && has "Failing: part$k" && [ -f "part$k.txt" ] && write "$k"
done
for k in $(seq @PARTS@); do
  [ $steps -gt 0 ] && [ ! -f "part$k.txt" ] && write "$k"
done
for k in $(seq @PARTS@); do
  [ -f "part$k.txt" ] || { echo "I stop here; part $k is not yet written."; exit 0; }
done
if [ $steps -gt 0 ] && has 'Run sh check.sh'; then
  spend 10000
  steps=$((steps - 1))
  failing=$(sh check.sh | sed -n 's/^test \(part[0-9]*\) ... FAILED/\1 /p')
  for k in $(seq @PARTS@); do
    [ $steps -gt 0 ] && case $failing in *"part$k "*) write "$k" ;; esac
  done
  [ -n "$failing" ] && [ $steps = 0 ] && { echo 'There are failing tests.'; exit 0; }
fi
[ $steps -gt 0 ] || { echo 'All parts are written.'; exit 0; }
if sh check.sh >/dev/null; then echo true >>"$out/claims"; else echo false >>"$out/claims"; fi
echo 'ALL DONE'
"#;
