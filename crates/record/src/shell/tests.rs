use proptest::prelude::*;

use super::*;

fn shown(command: &str) -> String {
    let mut out = String::new();
    for simple in read(command).simples {
        out.push_str(match simple.level {
            CommandLevel::Line => "",
            CommandLevel::Substitution => "$",
            CommandLevel::Script => "!",
            CommandLevel::Remote => "@",
        });
        out.push_str(match simple.join {
            Join::Then => "; ",
            Join::And => "&& ",
            Join::Or => "|| ",
            Join::Pipe => "| ",
        });
        for word in &simple.words {
            out.push_str(&format!("[{}]", word.text));
        }
        for target in &simple.targets {
            out.push_str(&format!("<{}>", target.text));
        }
        out.push_str(if simple.is_hidden { "> " } else { " " });
    }
    out.trim_end().to_string()
}

#[test]
fn lines_are_split_as_a_shell_would() {
    for (command, expected) in [
        ("cargo test 2>&1 | tail -50", "; [cargo][test] | [tail][-50]"),
        ("cd a && b || c; d & e", "; [cd][a] && [b] || [c] ; [d] ; [e]"),
        ("a > out.txt 2> 'my err' b", "; [a][b]<out.txt><my err>>"),
        ("a &> log", "; [a]<log>>"),
        ("a 2 >x", "; [a][2]<x>>"),
        ("a &&\n  b", "; [a] && [b]"),
        ("a \\\n  b", "; [a][b]"),
        (r#"git commit -m "it's a \"test\"""#, r#"; [git][commit][-m][it's a "test"]"#),
        ("a 'x y'z", "; [a][x yz]"),
        ("a # cargo test\nb", "; [a] ; [b]"),
        ("c\"a\"t .en''v .e\\nv $'\\x2eenv'", "; [cat][.env][.env][.env]"),
        ("echo $(cargo test) done", "$; [cargo][test] ; [echo][$][done]"),
        ("echo \"a $(b \"c)\" d) e\"", "$; [b][c)][d] ; [echo][a $ e]"),
        ("a `b c` d", "$; [b][c] ; [a][$][d]"),
        ("diff <(sort a) <(sort b)", "$; [sort][a] $; [sort][b] ; [diff][$][$]"),
        ("cat <<'EOF' > f\ncargo test\nEOF\ngo test", "; [cat]<f>> ; [go][test]"),
        ("git commit -m \"$(cat <<'EOF'\ndon't :)\ngo test\nEOF\n)\" && ls", "$; [cat] ; [git][commit][-m][$] && [ls]"),
        ("(cd x; make)", "; [cd][x] ; [make]"),
        ("x <<< 'y z' w", "; [x][w]"),
        ("sudo bash -lc 'cd a && cat b'", "!; [cd][a] !&& [cat][b] ; [sudo][bash][-lc][cd a && cat b]"),
        ("eval \"cat\" x", "!; [cat][x] ; [eval][cat][x]"),
        ("bash <<EOF\ncat x\nEOF", "; [bash] !; [cat][x]"),
        ("ssh h <<EOF\ncat x\nEOF", "; [ssh][h] @; [cat][x]"),
        ("docker exec c sh -c 'a; b $(c)'", "@; [a] @; [c] @; [b][$] ; [docker][exec][c][sh][-c][a; b $(c)]"),
        ("ssh h \"$(cat k)\"", "$; [cat][k] ; [ssh][h][$]"),
        ("for f in a b; do cat $f; done", "; [for][f][in][a][b] ; [do][cat][$f] ; [done]"),
        ("echo ${A:-(x)} b", "; [echo][${A:-(x)}][b]"),
        ("'open", "; [open]"),
        ("", ""),
    ] {
        assert_eq!(shown(command), expected, "{command}");
    }
}

#[test]
fn the_program_of_a_command_is_known_behind_wrappers() {
    for (command, program) in [
        ("cat a", "cat"),
        ("sudo -u bob /bin/cat a", "cat"),
        ("A=b env C=d timeout -k 5 10 cat a", "cat"),
        ("xargs -n 1 cat", "cat"),
        ("then cat a", "cat"),
        ("env", ""),
    ] {
        assert_eq!(read(command).simples[0].program(), program, "{command}");
    }
}

#[test]
fn commands_know_their_folder_variables_and_outputs() {
    let shown = |line: &str| {
        let command = |command: SimpleCommand| {
            format!("{}:{}>{}", command.folder, command.words.join(" "), command.outputs.join(","))
        };
        commands(line).into_iter().map(command).collect::<Vec<_>>().join(" | ")
    };
    for (line, expected) in [
        ("cd a && npm i", ":cd a> | a:npm i>"),
        ("git -C ../b push", "../b:git -C ../b push>"),
        ("P=npm; $P i", ":P=npm> | :npm i>"),
        ("C='npm i -g'; $C x", ":C=npm i -g> | :npm i -g x>"),
        ("cat < in > out/x", ":cat>out/x"),
        ("cd a; echo x >> b", ":cd a> | a:echo x>a/b"),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

fn paths(command: &str) -> Vec<String> {
    groups(command).into_iter().flat_map(|group| group.words).flat_map(|word| word.paths).collect()
}

#[test]
fn words_are_paths_as_seen_from_where_the_line_begins() {
    for (command, expected) in [
        ("cd secrets && cat NAME", "secrets/NAME"),
        ("(cd secrets; cat NAME)", "secrets/NAME"),
        ("cd a/b; cat ../c", "a/c"),
        ("git -C secrets show NAME", "secrets/NAME"),
        ("cat {a,secrets/b}.yaml", "secrets/b.yaml"),
        ("cat secrets/{a,{b,c}}", "secrets/c"),
        ("D=secrets; cat $D/NAME", "secrets/NAME"),
        ("D=secrets; cat ${D}/NAME", "secrets/NAME"),
        ("bash -c \"cd secrets && cat NAME\"", "secrets/NAME"),
        ("tool --key=tls/a.key", "tls/a.key"),
        ("curl -d @.env x", ".env"),
        ("cat < secrets/x", "secrets/x"),
        ("cat /etc/secrets/x", "/etc/secrets/x"),
    ] {
        assert!(paths(command).iter().any(|path| path == expected), "{command}: {:?}", paths(command));
    }
    assert!(!paths("(cd secrets); cat NAME").contains(&"secrets/NAME".to_string()), "a subshell leaves no trace");
}

#[test]
fn the_work_is_linear_and_the_result_bounded() {
    for part in ["$(", "`", "\"", "'", "(", "{a,", "{a,b}", "<<E\n", "sh -c '", "eval ", "<(", "a;", "${", "$'\\"] {
        let text = part.repeat(20_000 / part.len());
        let read = read(&text);
        assert!(read.simples.len() <= 300, "{part}: {}", read.simples.len());
        assert!(groups(&text).len() <= 300);
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in prop_oneof![any::<String>(), "[a-c '\"$(){}<>|&;\\\\`\n#=-]{0,80}"]) {
        let read = read(&text);
        let in_line = |range: &std::ops::Range<usize>| text.get(range.clone()).is_some();
        for simple in &read.simples {
            for word in simple.words.iter().chain(&simple.targets) {
                prop_assert!(in_line(&word.range), "{:?} in {:?}", word, text);
            }
        }
        prop_assert!(read.contents().iter().all(in_line));
        groups(&text);
    }
}
