//! Takes secrets out of command lines and variables before anyone sees them.
//!
//! A value is taken out where its name says what it is (`--api-key X`, `WANDB_API_KEY=X`, `db.password=X`,
//! `"token": "X"`, `Authorization: Bearer X`), where an address carries it (`https://user:X@host`), and where it looks
//! like a key whatever its name (prefixes that issuers give, long runs of letters and digits). Too much taken out is
//! a nuisance, too little a leak: in doubt it goes.

/// Stands for what was taken out.
pub const REDACTED: &str = "[redacted]";

/// Words of a name that say that its value is a secret.
const WORDS: [&str; 24] = [
    "token",
    "secret",
    "secrets",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pw",
    "credential",
    "credentials",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "apikey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signature",
    "sig",
    "dsn",
    "jwt",
    "otp",
];
/// A word that ends so is one too: `hftoken`, `dbpassword`.
const ENDINGS: [&str; 6] = ["token", "secret", "password", "passwd", "apikey", "passphrase"];
/// `key` is a secret after one of these.
const KEYS: [&str; 14] = [
    "api",
    "access",
    "private",
    "secret",
    "account",
    "encryption",
    "license",
    "ssh",
    "signing",
    "storage",
    "service",
    "auth",
    "master",
    "wandb",
];
/// `token` is a word of the vocabulary after one of these.
const VOCABULARY: [&str; 10] = ["pad", "eos", "bos", "unk", "mask", "sep", "cls", "image", "special", "per"];
/// Beginnings that issuers give their keys.
const ISSUED: [&str; 26] = [
    "hf_",
    "sk-",
    "sk_",
    "pk_live",
    "rk_live",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxs-",
    "xoxr-",
    "xoxe.",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "eyJ",
    "nvapi-",
    "dckr_pat_",
];
/// Options whose value is a name and, after a colon, a password.
const USERS: [&str; 4] = ["-u", "--user", "--proxy-user", "--userpwd"];
/// Programs whose option of one letter takes a password, alone or with the password behind it.
const CLIENTS: [(&str, &str); 14] = [
    ("mysql", "-p"),
    ("mysqldump", "-p"),
    ("mysqladmin", "-p"),
    ("mysqlimport", "-p"),
    ("mariadb", "-p"),
    ("mariadb-dump", "-p"),
    ("mongo", "-p"),
    ("mongosh", "-p"),
    ("mongodump", "-p"),
    ("sshpass", "-p"),
    ("7z", "-p"),
    ("redis-cli", "-a"),
    ("zip", "-P"),
    ("unzip", "-P"),
];
/// Ways to show a secret, said before it.
const SCHEMES: [&str; 5] = ["bearer", "basic", "digest", "token", "apikey"];
/// A run of letters and digits this long, with some of either, is nobody's name for a thing.
const LONG_RUN: usize = 28;
/// An issued key has at least so many characters.
const SHORTEST_ISSUED: usize = 12;

/// A command line without its secrets; as many arguments as before.
#[must_use]
pub fn command(arguments: &[String]) -> Vec<String> {
    let mut secret_next = false;
    let mut user_next = false;
    // A count after `--tokens` is none.
    let mut number_is_none = false;
    let mut client = None;
    // Other clients take `-p` for a port, a path or a project.
    let logs_in =
        |names: [&str; 2]| arguments.iter().zip(arguments.iter().skip(1)).any(|(a, b)| names == [base(a), b]);
    let docker = logs_in(["docker", "login"]) || logs_in(["podman", "login"]);
    let one = |argument: &String| {
        let is_option = argument.starts_with('-');
        if std::mem::take(&mut secret_next) && !(number_is_none && is_number(argument)) {
            // `--header Authorization: …` is two arguments, `--auth Bearer X` three.
            secret_next = SCHEMES.iter().any(|scheme| argument.eq_ignore_ascii_case(scheme));
            // A password may begin with dashes: what comes after its name is it.
            return REDACTED.to_owned();
        }
        if let Some((_, letter)) = CLIENTS.iter().find(|(name, _)| *name == base(argument)) {
            client = Some(*letter);
        }
        if let Some(letter) = client.or(docker.then_some("-p")).filter(|letter| argument.starts_with(letter))
        {
            secret_next = argument == letter;
            number_is_none = false;
            return if secret_next { argument.clone() } else { format!("{letter}{REDACTED}") };
        }
        if std::mem::take(&mut user_next) && argument.contains(':') {
            return REDACTED.to_owned();
        }
        user_next = USERS.contains(&argument.as_str());
        let bare = argument.trim_end_matches(':');
        number_is_none = counts(bare);
        secret_next = (is_option
            || bare.len() < argument.len()
            || SCHEMES[..2].iter().any(|scheme| argument.eq_ignore_ascii_case(scheme)))
            && !argument.contains(['=', ' '])
            && (is_secret_name(bare) || is_option && is_short_name(bare));
        text(argument)
    };
    arguments.iter().map(one).collect()
}

/// The name of a program without its folder.
fn base(argument: &str) -> &str {
    argument.rsplit('/').next().unwrap_or(argument)
}

/// A whole name so short that inside a text it may mean anything: of an option or a variable it names a secret.
fn is_short_name(name: &str) -> bool {
    let words = words(name);
    matches!(&words[..], [only] if matches!(only.as_str(), "key" | "tokens"))
        || words.last().is_some_and(|word| word == "pin")
}

/// `tokens` may be so many.
fn counts(name: &str) -> bool {
    words(name).last().is_some_and(|word| word == "tokens")
}

fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 15
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"._eEkKmM".contains(&byte))
}

/// The value of a variable, if it is no secret.
#[must_use]
pub fn variable(name: &str, value: &str) -> String {
    if is_secret_name(name) || is_short_name(name) { REDACTED.to_owned() } else { text(value) }
}

/// A text without its secrets.
#[must_use]
pub fn text(text: &str) -> String {
    if let Some(at) = text.find("-----BEGIN") {
        return format!("{}{REDACTED}", self::text(&text[..at]));
    }
    // A whole argument `name=value`: nothing in the value ends it.
    if let Some((name, value)) = text.split_once('=')
        && !value.is_empty()
        && !name.contains(|c: char| c.is_whitespace() || "\"'?&/".contains(c))
        && (is_secret_name(name) || is_short_name(name) && !(counts(name) && is_number(value)))
    {
        return format!("{name}={REDACTED}");
    }
    shapes(&named(&addresses(text)))
}

/// `scheme://user:password@host` without user and password.
fn addresses(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        // A password may hold a slash that was not escaped: the last `@` of the word counts.
        let word = after.find(|c: char| c.is_whitespace() || "\"'<>".contains(c)).unwrap_or(after.len());
        let at_sign = after[..word].rfind('@');
        rest = match at_sign {
            Some(at) => {
                out.push_str(REDACTED);
                &after[at..]
            }
            None => after,
        };
    }
    out.push_str(rest);
    out
}

/// Values that follow their names inside a text: `name=X`, `name: X`, `"name": "X"`, `--name X`, `Bearer X`.
fn named(text: &str) -> String {
    let is_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_name) {
        let length = rest[start..].find(|c: char| !is_name(c)).unwrap_or(rest.len() - start);
        let (head, after) = rest.split_at(start + length);
        let name = &head[start..];
        out.push_str(head);
        rest = after;
        if !is_secret_name(name) {
            continue;
        }
        let takes_blank =
            name.starts_with('-') || SCHEMES[..2].iter().any(|scheme| name.eq_ignore_ascii_case(scheme));
        let Some(gap) = separator(after, takes_blank) else { continue };
        out.push_str(&after[..gap]);
        rest = &after[gap..];
        // `Authorization: Bearer X`: the scheme is no secret, what follows is.
        let scheme = SCHEMES.iter().find(|scheme| {
            rest.get(..scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme))
                && rest[scheme.len()..].starts_with(char::is_whitespace)
        });
        if let Some(scheme) = scheme {
            let skip =
                rest[scheme.len()..].find(|c: char| !c.is_whitespace()).unwrap_or(rest.len() - scheme.len());
            out.push_str(&rest[..scheme.len() + skip]);
            rest = &rest[scheme.len() + skip..];
        }
        let quoted = rest.chars().next().filter(|c| "\"'".contains(*c));
        let end = match quoted {
            Some(quote) => rest[1..].find(quote).map_or(rest.len(), |at| at + 2),
            None => {
                // After a quote that was opened before, the value ends where the quote does.
                let open = after[..gap].chars().rev().find(|c| "\"'".contains(*c));
                match open {
                    Some(quote) => rest.find(quote).unwrap_or(rest.len()),
                    None => {
                        rest.find(|c: char| c.is_whitespace() || "\"'&".contains(c)).unwrap_or(rest.len())
                    }
                }
            }
        };
        if end > 0 {
            out.push_str(REDACTED);
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// How many bytes lie between a name and its value; `None` where no value follows.
fn separator(after: &str, takes_blank: bool) -> Option<usize> {
    let length = after.find(|c: char| !(c.is_whitespace() || "=:\"'])".contains(c))).unwrap_or(after.len());
    let gap = &after[..length];
    let says = gap.contains(['=', ':']) || (takes_blank && gap.starts_with(char::is_whitespace));
    (says && length < after.len()).then_some(length)
}

/// Keys that are told by their looks.
fn shapes(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.+=~".contains(c);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let length = rest[start..].find(|c: char| !is_part(c)).unwrap_or(rest.len() - start);
        let (head, after) = rest.split_at(start + length);
        out.push_str(&head[..start]);
        out.push_str(&looks(&head[start..]));
        rest = after;
    }
    out.push_str(rest);
    out
}

fn looks(word: &str) -> String {
    if word.contains(REDACTED.trim_matches(['[', ']'])) {
        return word.to_owned();
    }
    // Within a word too, after any mark: `run-ghp_…`.
    let inside = |prefix: &&str| {
        word.match_indices(*prefix).map(|(at, _)| at).find(|at| {
            let rest = &word[*at..];
            !word[..*at].ends_with(|c: char| c.is_ascii_alphanumeric())
                && rest.len() >= SHORTEST_ISSUED
                && (*at == 0
                    || prefix.len() > 3
                    || rest[prefix.len()..]
                        .bytes()
                        .any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase()))
        })
    };
    if let Some(at) = ISSUED.iter().filter_map(inside).min() {
        return format!("{}{REDACTED}", &word[..at]);
    }
    for part in word.split(['=', '.', '~']) {
        let issued = |prefix: &str| part.starts_with(prefix) && part.len() >= SHORTEST_ISSUED;
        let is_jwt = word.starts_with("eyJ") && word.contains('.');
        if ISSUED.iter().any(|prefix| issued(prefix)) || is_jwt {
            return match word.find(part).filter(|at| *at > 0 && !is_jwt) {
                Some(at) => format!("{}{REDACTED}", &word[..at]),
                None => REDACTED.to_owned(),
            };
        }
    }
    let mut out = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        let run = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(run);
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        let is_key = run >= LONG_RUN && digits >= 4 && run - digits >= 4;
        out.push_str(if is_key { REDACTED } else { piece });
        let next = after.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(after.len());
        out.push_str(&after[..next]);
        rest = &after[next..];
    }
    out
}

/// What this is called says that its value is a secret.
fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    words.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).map(|at| words[at].as_str());
        let speaks = before.is_some_and(|before| VOCABULARY.contains(&before)) && word == "token";
        let is_key =
            matches!(word.as_str(), "key" | "keys") && before.is_some_and(|before| KEYS.contains(&before));
        let ends = ENDINGS.iter().any(|ending| word.ends_with(ending)) || word.contains("passw");
        !speaks && (WORDS.contains(&word.as_str()) || is_key || ends)
    })
}

/// The words of a name in lower case: `WANDB_API_KEY`, `db.apiKey`, `--api-key`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = c.is_uppercase() && before.is_lowercase();
        if (starts || !c.is_alphanumeric()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "Zq9-s3cr3t/Value+77";

    fn line(text: &str) -> String {
        let arguments: Vec<String> = text.split('|').map(str::to_owned).collect();
        command(&arguments).join("|")
    }

    #[test]
    fn secrets_go_whatever_shape_they_have() {
        let shapes = [
            "--api-key|X",
            "--api-key=X",
            "--api_key=X",
            "--apikey|X",
            "--wandb.api_key=X",
            "model.hub_token=X",
            "HF_TOKEN=X",
            "WANDB_API_KEY=X",
            "AWS_SECRET_ACCESS_KEY=X",
            "+logger.apiKey=X",
            "--password|X",
            "--db-password=X",
            "-password|X",
            "--passwd=X",
            "PGPASSWORD=X",
            "--auth-token|X",
            "--authToken=X",
            "--secret|X",
            "--client-secret=X",
            "--hftoken=X",
            "--private-key|X",
            "--header|Authorization: Bearer X",
            "-H|Authorization: Basic X",
            "-H|X-Api-Key: X",
            "--header|Authorization:|X",
            "--auth|Bearer|X",
            "--cookie=X",
            "--access-key-id=X",
            "--dsn=X",
            "--signature=X",
            "https://user:X@host/path",
            "postgresql://me:X@db:5432/runs",
            "--url=https://X@github.com/a/b",
            "redis://:X@cache",
            "https://host/upload?token=X&part=2",
            "https://host/?a=1&api_key=X",
            "{\"api_key\": \"X\"}",
            "{'password':'X'}",
            "{\"auth\":{\"token\":\"X\"}}",
            "-c|import os; os.environ[\"HF_TOKEN\"]=\"X\"",
            "-c|login(token='X')",
            "-c|export WANDB_API_KEY=X && python train.py",
            "-c|curl --oauth2-bearer X host",
            "-c|python t.py --api-key X --lr 1",
            "-c|curl -H 'Authorization: Bearer X' host",
            "-u|user:X",
            "--user|me:X",
            "--proxy-user|me:X",
            "-----BEGIN PRIVATE KEY-----\nX\n-----END",
            "--key=-----BEGIN RSA PRIVATE KEY-----X",
            "--key|X",
            "--key=X",
            "KEY=X",
            "--pin|X",
            "--user-pin=X",
            "--tokens|X",
            "--tokens=X",
            "--password|--X",
            "--password|-X",
            "--api-key|--X",
            "mysql|-u|me|-pX|runs",
            "/usr/bin/mysqldump|-pX",
            "sudo|mysql|-p|X",
            "sshpass|-pX|ssh|host",
            "sshpass|-p|X|ssh|-p|22|host",
            "redis-cli|-a|X",
            "docker|login|-u|me|-p|X",
            "docker|login|-pX",
            "7z|x|-pX|a.7z",
        ];
        for shape in shapes {
            let found = line(&shape.replace('X', SECRET).replace(&format!("{SECRET}-Api-Key"), "X-Api-Key"));
            assert!(!found.contains("s3cr3t") && !found.contains("Value+77"), "{shape}: {found}");
            assert!(found.contains(REDACTED), "{shape}: {found}");
        }
    }

    #[test]
    fn keys_are_told_by_their_looks() {
        // Made up, in the shapes that issuers give.
        let keys = [
            "hf_AbCdEfGhIjKlMnOpQrStUvWx",
            "sk-proj-Abc123Def456Ghi789",
            "ghp_0123456789abcdefghijklmnopqrstuvwxyz",
            "AKIAIOSFODNN7EXAMPLE",
            "glpat-abcdefghij1234567890",
            "xoxb-123456789012-abcdef",
            "xoxs-123456789012-abcdef",
            "xapp-1-A012345-abcdef",
            "nvapi-abcdefghijklmnop",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
            "0123456789abcdef0123456789abcdef01234567",
        ];
        for key in keys {
            for shape in
                ["X", "--name=X", "--run X", "login X now", "a,X,b", "x=X", "run-X", "a_X", "(X)", "k:X"]
            {
                let found = line(&shape.replace('X', key));
                assert!(!found.contains(key), "{shape}: {found}");
                assert!(found.contains(REDACTED), "{shape}: {found}");
            }
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for kept in [
            "python3|train.py|--lr|0.0003|--max-tokens|4096|--tokenizer|gpt2|--num_tokens=12",
            "--pad_token|<pad>|--eos-token=</s>|--author|me|--passes=3|--keys|a,b|--sort-key|loss",
            "--tokens|4096|--tokens=1e9|--pin-memory|true|--spin|3|sort.key=loss",
            "ssh|-p|22|host",
            "docker|run|-p|80:80|image",
            "train.py|-p|0.5",
            "disk-usage-2024-report|risk_score_v2_final",
            "/data/llama-3-70b-instruct/checkpoint_step_000010000/rank0.pt",
            "https://host:8080/path?step=3",
            "--monkey=1",
            "GPU-6f1c2d3e-1111-2222-3333-444455556666",
            "model.hidden_size=4096",
            "--compass=north",
            "-u|nobody",
            "tcp://10.0.0.1:29500",
        ] {
            assert_eq!(line(kept), kept);
        }
        assert_eq!(variable("NCCL_DEBUG", "INFO"), "INFO");
        assert_eq!(variable("PYTORCH_HUB_TOKEN", "x"), REDACTED);
    }

    #[test]
    fn any_text_is_taken() {
        let odd = [
            "",
            "=",
            "--token",
            "--token=",
            "\"",
            "token:",
            "://@",
            "a://",
            "é=ü",
            "--password|--lr|3",
            "token: 'é",
            "\u{0}=\n",
        ];
        for text in odd {
            let _ = line(text);
        }
        assert_eq!(line("--password|--lr|3"), "--password|[redacted]|3");
    }
}
