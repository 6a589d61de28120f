#!/usr/bin/env python3
"""Asks a model behind an OpenAI-compatible server on this machine to quote a rule from labelled prompts.

usage: bench/ask.py PROMPTS.jsonl.gz ANSWERS.jsonl PORT SECONDS

Asks about a seeded order of the prompts until the time is up, and appends {"id", "quote"} for each; the quotation is empty
where the model found no rule. Prompts with an answer are not asked again. `cerberus-bench said --answers ANSWERS.jsonl`
says what would become of the quotations.
"""
import gzip, hashlib, json, os, sys, time, urllib.request

PROMPT_CHARS_MAX = 1500
QUESTION = """The user of a coding agent wrote the message below. Does it state a rule that the agent must follow from now on?
If so, answer with the user's sentence that states it, copied word for word, and nothing else. If not, answer NONE.

Message:
"""


def ask(port, prompt):
    request = {
        "messages": [{"role": "user", "content": QUESTION + prompt[:PROMPT_CHARS_MAX]}],
        "temperature": 0, "seed": 1, "max_tokens": 80, "cache_prompt": False,
    }
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    call = urllib.request.Request(url, json.dumps(request).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(call, timeout=300) as reply:
        answer = json.load(reply)["choices"][0]["message"]["content"].strip()
    return "" if answer.strip(".\"' ").upper() == "NONE" else answer


def main():
    prompts, answers, port, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    rows = [json.loads(line) for line in gzip.open(prompts, "rt")]
    rows.sort(key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())
    known = {json.loads(line)["id"] for line in open(answers)} if os.path.exists(answers) else set()
    end = time.monotonic() + seconds
    with open(answers, "a") as out:
        for row in rows:
            if time.monotonic() > end:
                break
            if row["id"] not in known:
                print(json.dumps({"id": row["id"], "quote": ask(port, row["prompt"])}), file=out, flush=True)


main()
