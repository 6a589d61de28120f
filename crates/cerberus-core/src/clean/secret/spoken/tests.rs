use super::super::redact_words;
use super::super::text::steps;

fn check(text: &str, secret: &str) {
    let once = redact_words(text, None).into_owned();
    assert!(once.contains("[redacted:") && !once.contains(secret), "{text} became {once}");
    assert_eq!(redact_words(&once, None), once, "a second pass changes {text:?}");
}

#[test]
fn a_sentence_announces_a_password_in_many_languages() {
    for (text, secret) in [
        ("the password is Winter!2031x", "Winter!2031x"),
        ("What's the root password? It's c0rrecthorse9.", "c0rrecthorse9"),
        ("use Trub4dor&3x as the password for staging", "Trub4dor&3x"),
        ("das Passwort ist Winter!2031x", "Winter!2031x"),
        ("la contraseña es Winter!2031x", "Winter!2031x"),
        ("le mot de passe est Winter!2031x", "Winter!2031x"),
        ("a senha é Winter!2031x", "Winter!2031x"),
        ("het wachtwoord is Winter!2031x", "Winter!2031x"),
        ("пароль: Winter!2031x", "Winter!2031x"),
        ("hasło to Winter!2031x", "Winter!2031x"),
        ("パスワードはWinter!2031xです", "Winter!2031x"),
        ("密码是Winter!2031x", "Winter!2031x"),
        ("비밀번호는 Winter!2031x", "Winter!2031x"),
        ("my PIN is 84712963", "84712963"),
    ] {
        check(text, secret);
    }
}

#[test]
fn a_position_announces_a_password() {
    for (text, secret) in [
        ("curl --user=admin:w1nterIsC0ming https://x.com", "w1nterIsC0ming"),
        ("redis-cli -a Zebra89kk ping", "Zebra89kk"),
        ("ldapsearch -x -w Zebra90kk", "Zebra90kk"),
        ("snmpwalk -v2c -c Zebra91kk host", "Zebra91kk"),
        ("CREATE USER bob IDENTIFIED BY 'Zebra92kk'", "Zebra92kk"),
        ("{\"name\":\"DB_PASSWORD\",\"value\":\"Zebra93kk\"}", "Zebra93kk"),
        ("define('DB_PASSWORD', 'Zebra94kk');", "Zebra94kk"),
        ("**API Key**: `aB3dE5fG7hJ9kL1m`", "aB3dE5fG7hJ9kL1m"),
    ] {
        check(text, secret);
    }
    let token = ["4839574812", ":", "AA", "Hd8fK2mQ9xZ4vB7nC1wE5rT6yU3iO0pLs"].concat();
    check(&format!("https://api.telegram.org/bot{token}/getMe"), &token);
}

#[test]
fn a_card_number_is_cut_and_other_numbers_are_kept() {
    check("my card is 4111 1111 1111 1111", "1111 1111");
    check("card 5555-5555-5555-4444 ok", "5555-4444");
    for text in ["order 4111 1111 1111 1112", "at 1758313848103 ms", "4000000000000000 bytes", "3.141592653589793238"] {
        assert_eq!(redact_words(text, None), text);
    }
}

#[test]
fn words_about_passwords_are_kept() {
    for text in [
        "the password is required",
        "reset password: see the docs",
        "the password is stored in vault",
        "use a hash as the password field",
        "the pin is on GPIO",
        "step by step",
        "define('DB_NAME', 'shop')",
        "tar -c src",
    ] {
        assert_eq!(redact_words(text, None), text);
    }
}

#[test]
fn a_key_that_invisible_characters_split_is_cut() {
    let (half, other) = ("0123456789abcdefghij", "ABCDEFGHIJ012345");
    for split in ["\u{200b}", "\u{ad}", "\u{1b}[0m"] {
        let text = ["gh", "p_", half, split, other].concat();
        let cut = redact_words(&text, None);
        assert!(!cut.contains(half) && !cut.contains(other), "{cut}");
    }
    let harmless = "\u{1b}[31merror\u{1b}[0m: nothing";
    assert_eq!(redact_words(harmless, None), harmless);
}

#[test]
fn the_work_is_linear() {
    for part in [
        "password is ",
        "pin: ",
        "4111 ",
        "パスワードは",
        "as the password ",
        "identified by '",
        "-a ",
        "passe\u{200b}",
    ] {
        let cost = |bytes: usize| {
            let text = part.repeat(bytes / part.len());
            steps::take();
            redact_words(&text, None);
            steps::take()
        };
        let (small, large) = (cost(8 * 1024), cost(64 * 1024));
        assert!(large < 12 * small + 10_000, "{part:?}: {small} steps for 8 KiB, {large} for 64 KiB");
    }
}
