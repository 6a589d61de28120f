//! Every class of places with values that do not look like secrets, and what stands there without being one.

use super::super::redact_words;

/// `#` stands for each of these.
const VALUES: [&str; 5] = ["moonlightpath", "qwkzjvhtrbnm", "Moonlight77x", "pass7w0rd-like", "QWKZJVHTRBNMPL"];

fn cut(templates: &[&str]) {
    for template in templates {
        for value in VALUES {
            let text = template.replace('#', value);
            let once = redact_words(&text, None).into_owned();
            assert!(!once.contains(value) && once.contains("[redacted:"), "{text:?} became {once:?}");
            assert_eq!(redact_words(&once, None), once, "a second pass changes {text:?}");
        }
    }
}

fn kept(texts: &[&str]) {
    let outs = texts.iter().map(|text| (redact_words(text, None), *text));
    let wrong: Vec<_> = outs.filter(|(out, text)| out != text).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn an_assignment_announces_any_literal() {
    cut(&[
        "API_KEY=#",
        "export GITHUB_TOKEN=#",
        "$env:API_KEY = \"#\"",
        "setx API_KEY #",
        "set -gx API_KEY #",
        "ENV API_KEY #",
        "ARG NPM_TOKEN=#",
        "const apiKey = \"#\";",
        "client_secret: \"#\"",
        "{\"access_token\": \"#\"}",
        "\"{\\\"access_token\\\": \\\"#\\\"}\"",
        "os.environ[\"API_KEY\"] = \"#\"",
        "services:\n  db:\n    password: #",
        "[db]\npassword = #",
        "db.password=#\n",
        "//registry.npmjs.org/:_authToken=#",
        "helm install x --set auth.password=#",
        "Server=x;User Id=sa;Password=#;",
        "- name: API_KEY\n  value: #",
        "<apiKey>#</apiKey>",
        "<key>ApiKey</key>\n<string>#</string>",
        "<property name=\"password\"><value>#</value></property>",
        "password%3D#%26user%3Dbob",
    ]);
    for text in ["API_SECRET=monkey", "export DB_TOKEN=violin", "SESSION_SECRET=walnut"] {
        let once = redact_words(text, None);
        assert!(once.contains("[redacted:"), "{once}");
    }
    kept(&[
        "password: string",
        "interface User {\n  password: string\n  token: Token\n}",
        "password = userPassword",
        "token: accessToken",
        "login(user=user, password=password)",
        "connect(token=token, secret=secret)",
        "apiKey=plain_api_key, # the plain key",
        "API_KEY=<your-key> TOKEN=${TOKEN} SECRET={{ secret }} KEY=$(cat key)",
        "apiKey: process.env.API_KEY",
        "OPENAI_API_KEY=test-key",
        "password: changeme",
        "PASSWORD=",
        "token: null, password: true",
        "api_key: ***",
    ]);
}

#[test]
fn a_header_and_an_address_announce_any_literal() {
    cut(&[
        "req.Header.Set(\"Authorization\", \"Bearer #\")",
        "headers.append('Authorization', 'Token #')",
        "Authorization: Bearer #",
        "Authorization: #",
        "Authorization: Acme #",
        "curl -H 'X-Api-Key: #' https://x.io",
        "x-auth-token: #",
        "Cookie: theme=dark; session=#",
        "Set-Cookie: PHPSESSID=#; path=/",
        "https://#@github.com/acme/app.git",
        "https://#:x-oauth-basic@github.com/acme/app.git",
        "postgres://app:#@db/x",
        "https://x.io/?key=#",
        "https://x.io/?next=%2Fa%3Ftoken%3D#",
        "jdbc:oracle:thin:bob/#@db:1521:x",
    ]);
    for (text, secret) in [
        ("headers.set(\"Authorization\", \"Bearer pa$$w0rd9\")", "pa$$w0rd9"),
        ("headers.set('Authorization', 'Bearer pa(ss)w0rd')", "pa(ss)w0rd"),
        ("req.Header.Set(\"Authorization\", \"walnut\")", "walnut"),
    ] {
        let once = redact_words(text, None);
        assert!(!once.contains(secret) && once.contains("[redacted:"), "{once}");
    }
    kept(&[
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer authentication",
        "headers.set(\"Authorization\", \"Bearer authentication\")",
        "headers.set(\"Authorization\", \"Bearer $TOKEN2\")",
        "headers.set(\"Authorization\", \"Bearer {token2}\")",
        "headers.set(\"Authorization\", \"Bearer \" + token)",
        "headers.set(\"Authorization\", \"Bearer\")",
        "headers.set(\"Authorization\", token)",
        "git clone https://git@github.com/acme/app.git",
        "https://somebody@bitbucket.org/somebody/app.git",
        "https://x.io/?page=overview&sort=descending",
        "Cookie: theme=darkmodeplease",
    ]);
}

#[test]
fn a_command_takes_a_secret_at_a_place_of_the_table() {
    cut(&[
        "tool --token #",
        "mysql -u root -p# app",
        "docker login -u bob -p # x.io",
        "curl -u bob:# https://x.io",
        "vault kv put secret/app anything=#",
        "kubectl create secret generic db --from-literal=anything='#'",
        "fly secrets set STRIPE=# OTHER=#",
        "npm config set //x.io/:_authToken #",
        "aws configure set aws_secret_access_key #",
        "gh secret set X --body #",
        "gh auth login --with-token <<< #",
        "echo # | wrangler secret put X",
        "net use \\\\srv\\x # /user:bob",
        "sqlplus bob/#@orcl",
        "htpasswd -nb bob #",
        "ansible-vault encrypt_string '#'",
        "nmcli dev wifi connect Home password #",
    ]);
    kept(&[
        "docker run -p 8080:80 app",
        "set the session timeout and export the token stream",
        "git checkout feature/password-reset main",
        "vercel deploys the pass rate of each assertion",
        "curl -u <user:password> https://x.io",
        "agent-browser --session av-wkwg-dashboard open x",
        "docker compose -p project up",
        "gh api repos/acme/app/commits/main",
        "tool --password flag is required",
    ]);
}

#[test]
fn an_argument_and_a_value_of_sql_are_cut() {
    cut(&[
        "login(\"bob\", \"#\")",
        "client.login('#')",
        "user.setPassword(\"#\")",
        "os.Setenv(\"API_KEY\", \"#\")",
        "os.getenv('API_KEY', '#')",
        "localStorage.setItem(\"token\", \"#\")",
        "page.fill('input[name=password]', '#')",
        "page.getByLabel(\"Password\").fill(\"#\")",
        "requests.get(url, auth=(\"bob\", \"#\"))",
        "bcrypt.hash(\"#\", 10)",
        "User.objects.create_user(\"bob\", \"bob@x.io\", \"#\")",
        "CREATE USER bob IDENTIFIED BY '#'",
        "ALTER ROLE bob PASSWORD '#'",
        "SET PASSWORD FOR 'bob'@'x' = PASSWORD('#')",
        "INSERT INTO users (name, password) VALUES ('bob', '#'), ('al', '#')",
    ]);
    kept(&[
        "login(user, password)",
        "getToken(\"users\")",
        "pick(user, \"password\", \"email\")",
        "INSERT INTO users (name, password) VALUES ($1, $2)",
        "INSERT INTO users (name, city) VALUES ('bob', 'moonlightpath')",
    ]);
}

#[test]
fn codes_tables_and_forms_are_cut() {
    cut(&[
        "WIFI:T:WPA;S:home net;P:#;;",
        "otpauth://totp/Acme:bob?secret=#&issuer=Acme",
        "otpauth-migration://offline?data=#",
        "LPA:1$smdp.x.io$#",
        "TOTP secret: #",
        "| user | password |\n|---|---|\n| bob | # |",
        "name,password\nbob,#\n",
        "form-data; name=\"password\"\r\n\r\n#\r\n",
        "db:5432:app:bob:#",
        "machine x.io login bob password #",
    ]);
    let codes = redact_words("backup codes:\n1. abcd-efgh\n2. 1234-5678\nthen go on", None).into_owned();
    assert!(!codes.contains("abcd") && !codes.contains("5678") && codes.ends_with("then go on"), "{codes}");
    let seed = redact_words("the 2FA seed is JBSW YPDP EHPK PXPJ", None).into_owned();
    assert!(!seed.contains("PXPJ"), "{seed}");
    kept(&["| Token | Value |\n|---|---|\n| --card | `plum` |", "| password | required |\n|---|---|\n| yes | no |"]);
}

#[test]
fn a_sentence_announces_any_word() {
    cut(&[
        "the password is #",
        "The password for staging is #.",
        "password: #",
        "pw: #",
        "use # as the password",
        "log in as bob with password #",
        "creds: bob:#",
        "Das Passwort für die DB lautet #",
        "la contraseña es #",
        "пароль #",
        "パスワードは # です",
        "密码：#",
        "the api key is #",
        "Password:\n#",
        "Username\nbob\nPassword\n#",
    ]);
    assert_eq!(redact_words("my PIN is 48213", None), "my PIN is [redacted:password]");
    let phrase = redact_words("passphrase: correct horse battery staple", None).into_owned();
    assert!(!phrase.contains("horse"), "{phrase}");
    kept(&[
        "the password is wrong",
        "the password is stored in the vault",
        "the token is expired, please log in again",
        "reset password: see the docs",
        "the password field is broken.",
        "ci: pin bun to 1.3.11",
        "pin the image to sha-4f2a9c17, then go on",
        "Password\nForgot it?",
        "the key is simplicity.",
        "adding a token was successful, so we go on",
    ]);
}

#[test]
fn our_own_codes_and_tokens_are_cut_everywhere() {
    use crate::clean::code::{Code, SECRET_BYTES};
    use crate::clean::secret::redact_with;
    let code = Code { space: "00112233445566ff".to_string(), secret: [0x5a; SECRET_BYTES] }.written().unwrap();
    for typed in [code.clone(), code.to_uppercase(), code.replace('-', "")] {
        for text in [format!("type {typed} there"), typed.clone(), format!("\"{typed}\"")] {
            assert!(redact_with(&text, None).contains("[redacted:cerberus-code]"), "{text}");
        }
    }
    let blanks = code.replace('-', " ");
    assert_eq!(redact_words(&format!("my code {blanks}, thanks"), None), "my code [redacted:cerberus-code], thanks");
    let wrong = code.replacen(|c: char| c.is_ascii_digit(), "z", 1);
    assert!(!redact_with(&wrong, None).contains("cerberus-code"), "{wrong}");
    let token = format!("CERBERUS_SYNC=cerberus1.{}", "7b2276223a312c22".repeat(8));
    assert_eq!(redact_with(&token, None), "CERBERUS_SYNC=[redacted:cerberus-token]");
}

#[test]
fn an_address_of_a_driver_needs_no_scheme() {
    cut(&[
        "sql.Open(\"mysql\", \"app:#@tcp(127.0.0.1:3306)/shop\")",
        "DSN=root:#@unix(/run/mysqld.sock)/shop",
        "dsn = 'bob:#@db.internal:5432/app'",
        "connect(\"scott/#@db.internal:1521/XE\")",
        "*:*:*:bob:#\n",
        "bob@acme.io:#\n",
        "[smtp.acme.io]:587 bob@acme.io:#\n",
    ]);
    kept(&[
        "git clone git@github.com:acme/app.git",
        "rsync -a bob@web1.acme.io:files .",
        "npm:react@18.2.0 and acme/app@sha256:12",
        "mail bob@acme.io: thanks",
        "app:${DB_PASSWORD}@tcp(127.0.0.1:3306)/shop",
        "main.rs:120:5:warning:unused",
    ]);
}

#[test]
fn settings_are_maps_blocks_and_lines() {
    cut(&[
        "db: {user: bob, password: #, host: x}",
        "{password: #, user: bob}",
        "authorization { user: bob, password: # }",
        "client lan { secret = # }",
        "password: |\n  #\n",
        "client_secret: >-\n  #\n",
        "password=\\\n#\n",
        "\"password\": { \"value\": \"#\" }",
        "remote_password #\n",
        "remotepass = #\n",
        "apiVersion: v1\nkind: Secret\ndata:\n  foo: #\n",
        "PASS=${PASS:-#}",
        "<wsse:Password Type=\"PasswordText\">#</wsse:Password>",
        "| env | user | pass |\n|---|---|---|\n| prod | bob | # |",
    ]);
    kept(&[
        "login({user: name, password: secret})",
        "if (x) { password = other }",
        "type User = { name: string, password: string }",
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  foo: moonlight\n",
        "bypass = moonlight\n",
        "password_hash field\n",
    ]);
}

#[test]
fn a_missing_value_is_replaced_by_a_literal() {
    cut(&[
        "password: ${DB_PASSWORD:#}",
        "password: ${DB_PASSWORD:-#}",
        "token: ${API_TOKEN:#}",
        "const password = process.env.PW || \"#\";",
        "String password = args.length > 1 ? args[1] : \"#\";",
        "password = os.environ.get('PW') or '#'",
        "password = given if given else \"#\"",
    ]);
    kept(&["const pass = ok ? \"passed\" : \"failed\";", "password = a ? first : second;"]);
    let joined = redact_words("password = \"moonlight\" + \"path77\"", None).into_owned();
    assert!(!joined.contains("moonlight") && !joined.contains("path77"), "{joined}");
}

#[test]
fn a_script_answers_a_question() {
    cut(&[
        "expect \"Password:\"\nsend \"#\\r\"",
        "expect -re {[Pp]assword.*} { send -- \"#\\n\" }",
        "child.expect('password:'); child.sendline('#')",
        "[\"redis-cli\", \"-h\", \"db\", \"-a\", \"#\"]",
        "And I fill in \"Password\" with \"#\"",
        "echo -n 'bob:#' | base64",
        "username_pw_set(\"bob\", \"#\")",
        "/msg NickServ IDENTIFY #",
        "enable secret 0 #",
    ]);
    kept(&[
        "token: ${TOKEN:0:8}",
        "password: ${DB_PASSWORD:password}",
        "password: ${DB_PASSWORD}",
        "expect \"login:\"\nsend \"moonlight\\r\"",
        "for a forgotten password, send \"reset link\" again",
        "[\"redis-cli\", \"-n\", \"moonlight\"]",
        "enable secret scanning alerts",
        "echo moonlight | base64",
    ]);
}

#[test]
fn a_name_announces_with_any_of_its_words() {
    cut(&[
        "PASSWORD_FOR_ADMIN=#",
        "TOKEN_ACME=#",
        "export DB_PASS_STAGING='#'",
        "passwordConfirmation: \"#\"",
        "tool --password-new=#",
        "MYSQL_PWD=#",
        "rootpw: #\n",
    ]);
    kept(&[
        "TOKEN_URL=moonlightpath",
        "PASSWORD_FILE=moonlightpath",
        "SECRET_NAME=moonlightpath",
        "passwordLabel = \"Moonlight\"",
        "TOKEN_TTL=moonlightpath",
    ]);
}

#[test]
fn a_call_tells_by_what_it_does() {
    cut(&[
        "props.put(Context.SECURITY_CREDENTIALS, \"#\")",
        "monkeypatch.setenv(\"API_TOKEN\", \"#\")",
        "keyring.set_password(\"svc\", \"bob\", \"#\")",
        "passwordField.fill(\"#\")",
        "expect(x); password.equals(\"#\")",
        "userEvent.type(screen.getByLabelText(/password/i), '#')",
        "UserDefaults.standard.set(\"#\", forKey: \"password\")",
        "bcrypt.GenerateFromPassword([]byte(\"#\"), 10)",
        "ks.load(new FileInputStream(\"a.jks\"), \"#\".toCharArray());",
        "hmac.new(\"#\".encode(), msg, 'sha256')",
        "process.env.DB_PASSWORD ?? '#'",
    ]);
    kept(&[
        "map.put(\"name\", \"moonlightpath\")",
        "setItem(\"theme\", \"moonlightpath\")",
        "load(file, \"moonlightpath\")",
        "nameField.fill(\"moonlightpath\")",
        "process.env.THEME ?? 'moonlightpath'",
    ]);
}

#[test]
fn a_terminal_prints_what_a_command_announces() {
    cut(&[
        "$ printenv SMTP_PASS\n#9",
        "$ op read op://vault/db/password\n#",
        "$ printenv SMTP_PASS\n#\n$ ls\na.txt",
        "> process.env.DB_PASS\n'#'",
        ">>> settings['default']['PASSWORD']\n'#'",
        "irb> user.api_token\n=> \"#\"",
        "bob@host:~$ vault read -field=password secret/db\n#9\n$ ls",
    ]);
    kept(&[
        "$ printenv SMTP_PASS\nnothing\n",
        "$ printenv SMTP_PASS\nsaved\nas before",
        "$ grep -l password src\nLogin.tsx",
        "$ ls secrets\nBlueHeron77",
        "> is the password right?\nmoonlightpath",
        "$ cat README.md\nMoonlight77x",
        "$ vault read -field=password secret/db\nmoonlight path",
    ]);
}

#[test]
fn a_value_is_announced_by_what_stands_around_it() {
    cut(&[
        "variable \"admin_password\" {\n  type    = string\n  default = \"#\"\n}",
        "Parameters:\n  AdminPassword:\n    Type: String\n    Default: #\n",
        "deploy/values.yaml:31:  adminPassword: #\n",
        "if getpass.getpass() == \"#\": unlock()",
        "jwt.encode({\"sub\": 7, \"aud\": [1, 2]}, \"#\", algorithm=\"HS256\")",
        "btoa('bob:#')",
        "Credentials::new(\"bob\".into(), \"#\".into())",
        "A1 LOGIN bob@x.io #\nA1 OK",
        "bob:{PLAIN}#:1000:1000::/home/bob",
        "stats auth admin:#",
        "passwd bob <<< $'#'",
        "mysql+pymysql://bob:#?@db/x",
        "root:#9@10.0.0.9",
        "[user]\n    pass: \"#\",",
    ]);
    kept(&[
        "variable \"region\" {\n  type    = string\n  default = \"moonlightpath\"\n}",
        "src/form.yaml:31:  label: moonlightpath\n",
        "btoa('https://x.io/moonlightpath')",
        "A1 NOTE bob moonlightpath\n",
        "all of these pass: moonlightpath",
        "bob:moon9@10.0.0",
    ]);
}

#[test]
fn a_list_of_hundreds_of_secrets_is_cut_as_a_whole() {
    let line = |at: usize| format!("A{at}_PASSWORD=moonlight{at}\n");
    let text = (0..4_000).map(line).collect::<String>();
    let after = "nothing to see here\n".repeat(5_000);
    let once = redact_words(&format!("{text}{after}the rest\n"), None).into_owned();
    assert!(!once.contains("moonlight") && once.ends_with("here\nthe rest\n"), "{}", &once[once.len() - 300..]);
    assert!(once.len() < text.len() / 4 + after.len(), "{} of {} bytes are left", once.len(), text.len());
    let few = (0..60).map(line).collect::<String>();
    let names = redact_words(&few, None).into_owned();
    assert!((0..60).all(|at| names.contains(&format!("A{at}_PASSWORD="))), "{names}");
}

#[test]
fn devices_and_programs_take_secrets_in_lines() {
    cut(&[
        "enable secret #\n",
        "username bob privilege 15 secret #\n",
        "crypto isakmp key # address 10.0.0.1",
        "tacacs-server key #\n",
        "set system login user bob authentication plain-text-password #",
        "ACL SETUSER bob on >#",
        "pdftotext -upw # a.pdf",
        "zip -rP # a.zip b",
        "wget --user=bob --password='#' https://x.io",
        "influx -username bob -password #",
        "<td>Password</td><td>#</td>",
        "<Password><Value>#</Value></Password>",
        "<password><![CDATA[#]]></password>",
        "password: !vault #\n",
        "[password] => #9\n",
        "ParameterKey=DBPassword,ParameterValue=#",
        "char password[32] = \"#\";",
    ]);
    kept(&[
        "enable secret scanning",
        "please enable secret moonlightpath\n",
        "set password to a random value",
        "<td>Name</td><td>moonlightpath</td>",
        "ParameterKey=Name,ParameterValue=moonlightpath",
    ]);
}

#[test]
fn a_quoted_value_may_have_words_and_signs() {
    for value in ["Two Green Doors", "Rq7 vT0", "Blue;Heron 12", "bison in fog", "tulip,4 wrench"] {
        for template in ["DB_PASSWORD='#'", "\"client_secret\": \"#\"", "setPassword(\"#\")", "auth=(\"bob\", \"#\")"] {
            let text = template.replace('#', value);
            let once = redact_words(&text, None).into_owned();
            assert!(!once.contains(value), "{text:?} became {once:?}");
        }
    }
    for (text, secret) in
        [("export DB_PASS=$'it\\'s-raining' && x", "raining"), ("password: 'don''t-look-77'", "look-77")]
    {
        let once = redact_words(text, None).into_owned();
        assert!(!once.contains(secret), "{text:?} became {once:?}");
    }
    kept(&["{\"password\": \"Use 8 or more characters\"}", "{\"secret\": \"must match a1 b2\"}"]);
}

#[test]
fn ordinary_code_and_prose_are_kept() {
    kept(&[
        "request.session.get(\"cart_items\")",
        "api.get(\"widgets\")",
        "token.get(\"email_verified\")",
        "auth.get(\"profile\")",
        "Add login and token validation.",
        "Build a page with API key management.",
        "use the token middleware for these routes",
        "Implement WPA2 key exchange.",
        "feature_key = \"new-dashboard\"",
        "FEATURE_KEY=beta",
        "store_key: \"orders\"",
        "restoreKey: build-cache",
        "join_key=\"customer_id\"",
        "Move the password from config.yml to keychain.",
        "PASSWORD_HASHER=bcrypt",
        "PASSWORD_STRENGTH=medium",
        "SECRET_BACKEND=kubernetes",
        "JWT_AUDIENCE=internal-services",
        "PASS_THROUGH=enabled",
        "Login flow: redirect / callback.",
        "Login screens: desktop / mobile",
        "The passphrase is zeroized immediately.",
        "if not api_key or \"openrouter\" in base_url:",
        "OTP expires: 2026-01-22",
    ]);
}

#[test]
fn a_cue_may_end_a_flag_or_stand_before_a_mark() {
    for (text, secrets) in [
        ("acli -u bob -pHunterPass1 prod9", &["HunterPass1"][..]),
        ("it asks for the password, type: moonlight.", &["moonlight"]),
        ("changed the db password, from oldbarnacle to newbarometer", &["oldbarnacle", "newbarometer"]),
    ] {
        let out = redact_words(text, None);
        assert!(secrets.iter().all(|secret| !out.contains(secret)) && out.contains("[redacted:"), "{text:?}: {out:?}");
    }
    assert!(redact_words("acli -u bob -pHunterPass1 prod9", None).contains("prod9"));
}
