//! Many processes at once: nothing is lost, nothing is doubled, nobody fails.

use serde_json::json;

use crate::env;

#[test]
fn sixty_four_processes_write_fifty_events_each_into_one_session() {
    let env = env();
    env.start("s1", "startup");
    std::thread::scope(|scope| {
        for worker in 0..64 {
            let env = &env;
            scope.spawn(move || {
                for n in 0..50 {
                    let id = format!("toolu_{worker}_{n}");
                    env.write_file("s1", &id, &format!("w{worker}/f{n}.rs"), "fn x() {}\n");
                }
            });
        }
    });
    let sessions = env.sessions();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0]["tools_used"], json!({"Write": 3200}));
    let files = sessions[0]["facts"].as_array().unwrap().iter().filter(|fact| fact["kind"] == "file").count();
    assert_eq!(files, 3200);
    assert_eq!(env.json(&["status"])["failures"], json!([]));
}

#[test]
fn sessions_that_start_together_fold_together() {
    let env = env();
    for n in 0..200 {
        env.write_file(&format!("old{}", n % 5), &format!("t{n}"), &format!("f{n}.rs"), "");
    }
    // A hook waits for nobody's fold: it tells what is readable.
    env.ok(&["status"]);
    let told: Vec<String> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..12)
            .map(|n| {
                scope.spawn({
                    let env = &env;
                    move || env.start(&format!("new{n}"), "startup")
                })
            })
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    assert!(told.iter().all(|told| told.starts_with("proj:hydra\nimpl:f")), "{told:?}");
    assert_eq!(env.json(&["status"])["failures"], json!([]));
    assert_eq!(env.sessions().len(), 17);
}
