//! What reaches the model at a moment that calls for it.

use cerberus_testkit::clients::Client;
use cerberus_testkit::clients::claude_code::ClaudeCode;
use cerberus_testkit::clients::codex::Codex;
use cerberus_testkit::model_server::{ModelServer, Reply, request_text};

use super::{Stage, finish, times};

const TEST: &str = "import test from 'node:test'
import assert from 'node:assert'
import { readFileSync } from 'node:fs'

test('the cache is ready', () => {
  assert.equal(readFileSync('state.txt', 'utf8').trim(), 'ready')
})
";

/// A test fails, a file is changed, the test passes. When it fails again in the next session, the model is told so with
/// the result of the failed command.
fn a_test_that_failed_before_fails_again(client: &dyn Client) {
    let stage = Stage::new(client);
    let repo = stage.scratch.repo();
    let state = repo.join("state.txt");
    std::fs::write(repo.join("cache.test.mjs"), TEST).unwrap();
    let server = ModelServer::start([
        client.write(&state, "cold\n"),
        client.run("node --test"),
        client.edit(&state, "cold", "ready"),
        client.run("node --test"),
        Reply::text("The test passes."),
    ]);
    finish(&mut client.session(&stage.place(&server), "Make the test pass"));
    assert!(server.main_requests().iter().all(|request| !request_text(request).contains("seen:")), "it was new");

    std::fs::write(&state, "cold\n").unwrap();
    let server =
        ModelServer::start([client.run("node --test"), client.run("node --test"), Reply::text("I know this.")]);
    finish(&mut client.session(&stage.place(&server), "Run the tests"));
    let requests = server.main_requests();
    let last = request_text(requests.last().unwrap());
    assert!(!request_text(&requests[0]).contains("seen:"), "nothing has failed yet");
    assert!(request_text(&requests[1]).contains("seen:"), "{}", request_text(&requests[1]));
    assert_eq!(times(&last, "What passed then: `node --test`; changed before: state.txt"), 1, "{last}");
}

#[test]
fn claude_code_is_told_what_helped_before() {
    a_test_that_failed_before_fails_again(&ClaudeCode);
}

#[test]
fn codex_is_told_what_helped_before() {
    a_test_that_failed_before_fails_again(&Codex);
}
