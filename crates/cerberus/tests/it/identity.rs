//! One project, whatever worktree, subfolder or link it is seen from.

use serde_json::json;

use crate::env;

#[test]
fn worktrees_subfolders_and_links_share_a_brief_and_namesakes_do_not() {
    let env = env();
    let project = env.project();
    env.git(&project, &["commit", "--quiet", "--allow-empty", "--message=start"]);
    env.git(&project, &["worktree", "add", "--quiet", "-b", "side", "../side"]);
    std::fs::create_dir_all(project.join("src")).unwrap();
    std::os::unix::fs::symlink(&project, env.root().join("link")).unwrap();
    let write = |cwd: &std::path::Path, id: &str, file: &str| {
        let input = json!({"file_path": cwd.join(file)});
        env.hook(
            "s1",
            "PostToolUse",
            json!({"cwd": cwd, "tool_name": "Write", "tool_use_id": id, "tool_input": input}),
        );
    };
    write(&project, "t1", "src/a.rs");
    write(&env.root().join("side"), "t2", "src/b.rs");
    write(&env.root().join("link"), "t3", "src/c.rs");
    for seen_from in ["hydra", "hydra/src", "side", "link"] {
        let dir = env.root().join(seen_from);
        let brief = env.json(&["brief", "--cwd", dir.to_str().unwrap()])["text"].clone();
        assert_eq!(brief, "proj:hydra\nimpl:a.rs\nimpl:b.rs\nimpl:c.rs", "{seen_from}");
    }
    let namesake = env.add_repository("elsewhere/hydra");
    assert_eq!(env.json(&["brief", "--cwd", namesake.to_str().unwrap()])["text"], "");
}

#[test]
fn names_are_as_short_as_the_tracked_files_allow() {
    let env = env();
    let project = env.project();
    for file in ["src/store/mod.rs", "src/brief/mod.rs", "src/main.rs"] {
        std::fs::create_dir_all(project.join(file).parent().unwrap()).unwrap();
        std::fs::write(project.join(file), "").unwrap();
    }
    env.git(&project, &["add", "."]);
    env.write_file("s1", "t1", "src/store/mod.rs", "");
    env.write_file("s1", "t2", "src/main.rs", "");
    let outside = env.root().join("notes.txt");
    std::fs::write(&outside, "").unwrap();
    env.write_file("s1", "t3", outside.to_str().unwrap(), "");
    let expected = format!("proj:hydra\nimpl:{}\nimpl:main.rs\nimpl:store/mod.rs", outside.display());
    assert_eq!(env.brief(), expected);
}

#[test]
fn a_folder_without_git_is_a_project() {
    let env = env();
    let plain = env.root().join("plain");
    std::fs::create_dir_all(&plain).unwrap();
    let input = json!({"file_path": plain.join("x.py")});
    env.hook("s1", "PostToolUse", json!({"cwd": plain, "tool_name": "Write", "tool_use_id": "t", "tool_input": input}));
    assert_eq!(env.json(&["brief", "--cwd", plain.to_str().unwrap()])["text"], "proj:plain\nimpl:x.py");
    assert_eq!(env.brief(), "");
}
