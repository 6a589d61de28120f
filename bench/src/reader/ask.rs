//! Requests to a model. What was asked before is not asked again, and one that fails does not end the run.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use cerberus_record::id::fnv1a;
use serde_json::{Value, json};

use super::answers::Answers;
use super::facts::QUESTIONS;

/// A small model on a slow machine takes half a minute.
const ANSWER_MAX: Duration = Duration::from_secs(600);
const ANSWER_TOKENS: usize = 300;
const ATTEMPTS: usize = 3;
/// Before a server is asked again that refused.
const PAUSE: Duration = Duration::from_secs(2);

pub struct Endpoint {
    url: String,
    model: Option<String>,
    key: Option<String>,
    agent: ureq::Agent,
}

/// One request, and the key under which its answer is kept: the same text to the same model is one request.
pub struct Request {
    body: Vec<u8>,
    pub key: String,
}

impl Endpoint {
    pub fn new(endpoint: &str, model: Option<&str>) -> Endpoint {
        let config = ureq::Agent::config_builder().timeout_global(Some(ANSWER_MAX)).build();
        Endpoint {
            url: format!("{}/chat/completions", endpoint.trim_end_matches('/')),
            model: model.map(str::to_string),
            key: std::env::var("CERBERUS_READER_KEY").ok(),
            agent: config.into(),
        }
    }

    /// What asks the model all questions, knowing this text.
    pub fn request(&self, text: &str) -> Result<Request> {
        let mut request = json!({
            "messages": [{"role": "user", "content": question(text)}],
            "temperature": 0, "seed": 1, "max_tokens": ANSWER_TOKENS, "cache_prompt": false,
        });
        if let Some(model) = &self.model {
            request["model"] = model.as_str().into();
        }
        let body = serde_json::to_vec(&request)?;
        Ok(Request { key: format!("{:016x}", fnv1a(&body)), body })
    }

    pub fn ask(&self, request: &Request) -> Result<String> {
        let mut call = self.agent.post(&self.url).header("content-type", "application/json");
        if let Some(key) = &self.key {
            call = call.header("authorization", format!("Bearer {key}"));
        }
        let mut reply = call.send(request.body.as_slice())?;
        let reply: Value = serde_json::from_slice(&reply.body_mut().read_to_vec()?)?;
        let answer = reply["choices"][0]["message"]["content"].as_str();
        Ok(answer.context("the server's reply has no answer")?.to_string())
    }
}

/// Asks what has no answer yet, in this order and so many at once. Returns the requests that failed, each with its error.
pub fn ask_all(
    wanted: Vec<(String, Request)>,
    jobs: usize,
    answers: &mut Answers,
    ask: impl Fn(&Request) -> Result<String> + Sync,
) -> Result<BTreeMap<String, String>> {
    let mut queue: VecDeque<(String, Request)> = VecDeque::new();
    for (of, request) in wanted {
        if answers.get(&request.key).is_none() && !queue.iter().any(|(_, asked)| asked.key == request.key) {
            queue.push_back((of, request));
        }
    }
    let (queue, answers) = (Mutex::new(queue), Mutex::new(answers));
    let work = || -> Result<BTreeMap<String, String>> {
        let mut failed = BTreeMap::new();
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some((of, request)) = next else { return Ok(failed) };
            match attempts(&request, &ask) {
                Ok(answer) => {
                    answers.lock().unwrap_or_else(PoisonError::into_inner).add(&request.key, &of, answer)?;
                }
                Err(error) => drop(failed.insert(of, format!("{error:#}"))),
            }
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        let mut failed = BTreeMap::new();
        for worker in workers {
            let of_worker = worker.join();
            ensure!(of_worker.is_ok(), "a thread that asks has panicked");
            failed.append(&mut of_worker.unwrap_or_else(|_| Ok(BTreeMap::new()))?);
        }
        Ok(failed)
    })
}

fn attempts(request: &Request, ask: &impl Fn(&Request) -> Result<String>) -> Result<String> {
    let mut answer = ask(request);
    for _ in 1..ATTEMPTS {
        if answer.is_err() {
            std::thread::sleep(PAUSE);
            answer = ask(request);
        }
    }
    answer
}

fn question(text: &str) -> String {
    let known = match text {
        "" => "You know nothing about what happened before.".to_string(),
        text => format!("This is what is known of the work so far:\n\n{text}"),
    };
    let questions: Vec<String> = QUESTIONS.iter().enumerate().map(|(n, one)| format!("{}. {one}", n + 1)).collect();
    format!(
        "You continue the work of a programmer in a repository. {known}\n\nAnswer in short sentences, with the exact names of \
         files, functions, tests, commands and values. Say \"unknown\" where you cannot know.\n{}",
        questions.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use anyhow::bail;

    use super::*;

    #[test]
    fn a_model_is_asked_with_what_is_known() {
        assert!(question("").contains("You know nothing"));
        assert!(question("proj:x").contains("proj:x"));
    }

    #[test]
    fn a_request_is_known_by_its_text_and_its_model() {
        let key = |model, text| Endpoint::new("http://x", model).request(text).unwrap().key;
        assert_eq!(key(Some("a"), "proj:x"), key(Some("a"), "proj:x"));
        assert_ne!(key(Some("a"), "proj:x"), key(Some("a"), "proj:y"));
        assert_ne!(key(Some("a"), "proj:x"), key(Some("b"), "proj:x"));
        assert_ne!(key(Some("a"), "proj:x"), key(None, "proj:x"));
    }

    #[test]
    fn the_same_text_is_asked_once_and_what_fails_is_tried_again_and_named() {
        let endpoint = Endpoint::new("http://x", None);
        let wanted = |texts: [&str; 3]| texts.map(|text| (text.to_string(), endpoint.request(text).unwrap())).into();
        let mut answers = Answers::open(None).unwrap();
        let refused = endpoint.request("refused").unwrap().key;
        let calls = AtomicUsize::new(0);
        let ask = |request: &Request| {
            calls.fetch_add(1, Ordering::Relaxed);
            if request.key == refused { bail!("no") } else { Ok(request.key.clone()) }
        };
        let failed = ask_all(wanted(["same", "refused", "same"]), 2, &mut answers, ask).unwrap();
        assert_eq!(failed, BTreeMap::from([("refused".to_string(), "no".to_string())]));
        assert_eq!(calls.swap(0, Ordering::Relaxed), 1 + ATTEMPTS);
        ask_all(wanted(["same", "other", "same"]), 2, &mut answers, ask).unwrap();
        assert_eq!(calls.into_inner(), 1, "only the new text is asked");
    }
}
