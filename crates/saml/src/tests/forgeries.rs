//! Forged responses. Each names the rule that refuses it, and is refused for that rule.

use super::identity_provider::*;
use crate::response::ResponseError;

mod content;
mod encryption;
mod signatures;
mod wrapping;
mod xml;

/// A forged response.
struct Forgery {
    name: String,
    response: String,
    rule: ResponseError,
}

impl Forgery {
    fn new(name: impl Into<String>, response: String, rule: impl Into<ResponseError>) -> Self {
        Self { name: name.into(), response, rule: rule.into() }
    }
}

fn all_forgeries() -> Vec<Forgery> {
    let groups = [
        content::forgeries(),
        signatures::forgeries(),
        wrapping::forgeries(),
        encryption::forgeries(),
        xml::forgeries(),
    ];
    groups.into_iter().flatten().collect()
}

#[test]
fn forged_responses_are_refused_each_for_its_rule() {
    let forgeries = all_forgeries();
    let wrong: Vec<_> = forgeries
        .iter()
        .map(|forgery| (forgery, check(&forgery.response)))
        .filter(|(forgery, result)| result.as_ref().err() != Some(&forgery.rule))
        .map(|(forgery, result)| format!("{}: {result:?}, not {:?}", forgery.name, forgery.rule))
        .collect();
    assert!(wrong.is_empty(), "{} forgeries:\n{}", forgeries.len(), wrong.join("\n"));
    assert!(forgeries.len() >= 150, "{} forgeries", forgeries.len());
}

/// Returns the variants of an error type, one for each rule, from its source: a new rule has no
/// forgery yet.
fn variants(source: &str, error: &str) -> Vec<String> {
    let start = format!("pub enum {error} {{\n");
    let (_, body) = source.split_once(&start).unwrap();
    let (body, _) = body.split_once("\n}").unwrap();
    let names = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    names.map(|line| line.trim_end_matches(',').to_owned()).collect()
}

#[test]
fn every_rule_has_two_forgeries() {
    let scan = variants(include_str!("../xml/scan.rs"), "XmlError");
    let signature = variants(include_str!("../xml/signature.rs"), "XmlSignatureError");
    let decryption = variants(include_str!("../xml/encryption.rs"), "XmlDecryptionError");
    let response = variants(include_str!("../response/error.rs"), "ResponseError");
    let named = |group: &'static str, names: Vec<String>| {
        names.into_iter().map(move |name| format!("{group}({name})"))
    };
    let own = |name: &String| !name.contains('(');
    let rules = named("Xml", scan)
        .chain(named("Signature", signature.into_iter().filter(own).collect()))
        .chain(named("Decryption", decryption.into_iter().filter(own).collect()))
        .chain(response.into_iter().filter(own));
    let forgeries = all_forgeries();
    let count = |rule: &str| forgeries.iter().filter(|f| format!("{:?}", f.rule) == rule).count();
    let rare: Vec<_> = rules
        // `decode_response` refuses it before.
        .filter(|rule| rule != "Encoding" && count(rule) < 2)
        .collect();
    assert!(rare.is_empty(), "rules with fewer than two forgeries: {rare:?}");
}
