//! Takes secrets out of command lines and variables before anyone sees them.
//!
//! A value is taken out where its name says what it is (`--api-key X`, `WANDB_API_KEY=X`, `db.password=X`,
//! `"token": "X"`, `Authorization: Bearer X`), where an address carries it (`https://user:X@host`), and where it looks
//! like a key whatever its name (prefixes that issuers give, long runs of letters and digits). Too much taken out is
//! a nuisance, too little a leak: in doubt it goes.

mod looks;
mod names;

use looks::shapes;
use names::{counts, is_secret_name, is_short_name};

/// Stands for what was taken out.
pub(crate) const REDACTED: &str = "[redacted]";

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

#[cfg(test)]
mod tests;
