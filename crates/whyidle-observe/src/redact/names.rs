//! Names that say that their value is a secret.

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

/// What this is called says that its value is a secret.
pub(super) fn is_secret_name(name: &str) -> bool {
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

/// A whole name so short that inside a text it may mean anything: of an option or a variable it names a secret.
pub(super) fn is_short_name(name: &str) -> bool {
    let words = words(name);
    matches!(&words[..], [only] if matches!(only.as_str(), "key" | "tokens"))
        || words.last().is_some_and(|word| word == "pin")
}

/// `tokens` may be so many.
pub(super) fn counts(name: &str) -> bool {
    words(name).last().is_some_and(|word| word == "tokens")
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
