//! Every dependency may be used on the terms that `deny.toml` lists.

use std::fs;

use crate::layering::metadata;
use crate::support::root;

/// The licences that `deny.toml` allows.
fn allowed() -> Vec<String> {
    let config = fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, list) = config.split_once("allow = [").expect("deny.toml has a list of licences");
    let (list, _) = list.split_once(']').expect("the list ends");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be satisfied by `allowed` alone. `/` is an old way to write `OR`.
fn is_satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let satisfied = alternatives(&mut words, allowed);
    satisfied && words.next().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn alternatives(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut any = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        any |= all(words, allowed);
    }
    any
}

fn all(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut every = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        every &= one(words, allowed);
    }
    every
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let inside = alternatives(words, allowed);
        return words.next_if_eq(&")").is_some() && inside;
    }
    let Some(mut licence) = words.next().map(str::to_owned) else { return false };
    if words.next_if_eq(&"WITH").is_some() {
        licence = format!("{licence} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&licence)
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "Zlib"].map(str::to_owned);
    let satisfied = |expression| is_satisfied(expression, &allowed);
    for good in ["MIT", "GPL-3.0-only OR MIT", "Apache-2.0/MIT", "(MIT OR Apache-2.0) AND Zlib"] {
        assert!(satisfied(good), "{good}");
    }
    assert!(satisfied("GPL-2.0-only OR Apache-2.0 WITH LLVM-exception"));
    for bad in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "(MIT OR Zlib) AND Apache-2.0", "", "MIT)", "(MIT"] {
        assert!(!satisfied(bad), "{bad}");
    }
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    assert!(allowed.iter().any(|licence| licence == "MIT"), "{allowed:?}");
    let metadata = metadata(&[]);
    let packages = metadata["packages"].as_array().unwrap();
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|terms| is_satisfied(terms, &allowed)))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(refused.is_empty(), "not allowed by deny.toml:\n{}", refused.join("\n"));
    assert!(packages.len() > 50, "cargo metadata lists the dependencies");
}

#[test]
fn both_licences_of_this_repository_are_there() {
    for (file, words) in [("LICENSE-APACHE", "Apache License"), ("LICENSE-MIT", "MIT License")] {
        assert!(fs::read_to_string(root().join(file)).unwrap().contains(words), "{file}");
    }
}
