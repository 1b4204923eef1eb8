//! Forged responses. Each names the rule that refuses it, and is refused for that rule.

use std::collections::BTreeMap;

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

#[test]
fn forged_responses_are_refused_each_for_its_rule() {
    let mut forgeries = content::forgeries();
    forgeries.extend(signatures::forgeries());
    forgeries.extend(wrapping::forgeries());
    forgeries.extend(encryption::forgeries());
    forgeries.extend(xml::forgeries());
    let mut wrong = Vec::new();
    let mut by_rule: BTreeMap<String, usize> = BTreeMap::new();
    for forgery in &forgeries {
        let result = check(&forgery.response);
        if result.as_ref().err() != Some(&forgery.rule) {
            wrong.push(format!("{}: {:?}, not {:?}", forgery.name, result, forgery.rule));
        }
        *by_rule.entry(format!("{:?}", forgery.rule)).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{} forgeries:\n{}", forgeries.len(), wrong.join("\n"));
    let rare: Vec<_> = by_rule.iter().filter(|(_, count)| **count < 2).collect();
    assert!(rare.is_empty(), "rules with fewer than two forgeries: {rare:?}");
    assert!(forgeries.len() >= 150, "{} forgeries", forgeries.len());
    assert!(by_rule.len() >= 55, "{} rules: {by_rule:?}", by_rule.len());
}
