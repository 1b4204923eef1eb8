//! Further parameters of authorization requests that the hub sends on to an identity provider.

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use passerelle_protocol::authorize::AuthorizationRequest;
use passerelle_protocol::catalogue::Param;

/// Memory of one compiled pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// The parameters that an identity provider gets from service providers, by name.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ForwardedParams(Arc<BTreeMap<String, ForwardedParamRule>>);

/// Which values of a parameter are sent on.
#[derive(Clone, Debug)]
pub struct ForwardedParamRule {
    pattern: Regex,
    max_chars: usize,
}

impl PartialEq for ForwardedParamRule {
    fn eq(&self, other: &Self) -> bool {
        (self.pattern.as_str(), self.max_chars) == (other.pattern.as_str(), other.max_chars)
    }
}

impl ForwardedParamRule {
    /// Creates a rule from a regular expression that must match the whole value, in a time linear
    /// in its length.
    ///
    /// # Errors
    /// The pattern is malformed or too large.
    pub fn new(pattern: &str, max_chars: usize) -> Result<Self, regex::Error> {
        // Alone first: `a)|(b` would otherwise end the group, and match parts of a value.
        let compile = |text: &str| RegexBuilder::new(text).size_limit(MAX_PATTERN_BYTES).build();
        compile(pattern)?;
        Ok(Self { pattern: compile(&format!(r"\A(?:{pattern})\z"))?, max_chars })
    }

    /// Returns why the value is not sent on, if it is not.
    fn refusal(&self, value: &str) -> Option<&'static str> {
        if value.chars().count() > self.max_chars {
            Some("size")
        } else if value.contains(char::is_control) {
            Some("characters")
        } else {
            (!self.pattern.is_match(value)).then_some("pattern")
        }
    }
}

impl ForwardedParams {
    /// Creates the table of an identity provider.
    pub fn new(rules: impl IntoIterator<Item = (String, ForwardedParamRule)>) -> Self {
        Self(Arc::new(rules.into_iter().collect()))
    }

    /// Returns the names of the parameters.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.0.keys()
    }

    /// Returns the parameters of the request that the identity provider gets. Calls `on_dropped`
    /// with the name of each other one that it has a rule for, and the reason.
    pub fn select(
        &self,
        request: &AuthorizationRequest,
        mut on_dropped: impl FnMut(&str, &'static str),
    ) -> BTreeMap<String, String> {
        let sent = |name: &String| match &request.login_hint {
            Some(hint) if name == Param::LoginHint.name() => Some(hint.reveal()),
            _ => request.forwarded.as_ref()?.reveal().get(name),
        };
        let mut selected = BTreeMap::new();
        for (name, rule) in &*self.0 {
            let Some(value) = sent(name) else { continue };
            match rule.refusal(value) {
                None => {
                    selected.insert(name.clone(), value.clone());
                }
                Some(reason) => on_dropped(name, reason),
            }
        }
        selected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_matched_as_a_whole() {
        for (pattern, value, refusal) in [
            ("[0-9]{14}", "12345678901234", None),
            ("[0-9]{14}", "123456789012345", Some("pattern")),
            ("[0-9]{4}", "1234\n", Some("characters")),
            ("a|b", "b", None),
            ("a|b", "ab", Some("pattern")),
            ("(?m)^a$", "a", None),
            ("(?s).*", "a\0b", Some("characters")),
            (".*", &"é".repeat(20), None),
            (".*", &"a".repeat(21), Some("size")),
        ] {
            let rule = ForwardedParamRule::new(pattern, 20).unwrap();
            assert_eq!(rule.refusal(value), refusal, "{pattern} {value:?}");
        }
        for malformed in ["(", "a)|(b", "[0-9]{9999}{9999}", r"(\w{500}){500}"] {
            assert!(ForwardedParamRule::new(malformed, 20).is_err(), "{malformed}");
        }
    }
}
