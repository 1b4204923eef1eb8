//! What a service provider's client assertions (`private_key_jwt`, RFC 7523) must be signed with and say, as its file
//! gives it.
//!
//! Responsible for the vocabulary of `client_assertion_audiences` and its defaults. Knows nothing of signatures or keys.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::model::ServiceProvider;
use super::problem::Problem;
use super::source::Source;
use crate::protocol::alg::SigningAlg;
use crate::protocol::discovery::path;
use crate::protocol::registration::Rules;

/// The greatest distance of `exp` under federation rules: a stolen assertion is soon worth nothing.
const FEDERATION_LONGEST_LIFE: Duration = Duration::from_secs(300);
/// The same under `rules = "openid"`: ten minutes, which pyoidc and idpyoidc write, and a minute for the client's clock.
const OPENID_LONGEST_LIFE: Duration = Duration::from_secs(660);

/// The rules for the client assertions of one service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssertionRules {
    pub alg: SigningAlg,
    pub audiences: AcceptedAudiences,
    /// How far `exp` may lie ahead.
    pub longest_life: Duration,
    /// The service provider's own rules, by which a refusal is worded.
    pub rules: Rules,
}

impl AssertionRules {
    pub(super) fn from_file(file: &ServiceProvider) -> Self {
        Self {
            alg: file.token_endpoint_auth_signing_alg.unwrap_or_default(),
            audiences: AcceptedAudiences::new(
                file.client_assertion_audiences.as_deref(),
                file.rules,
            ),
            longest_life: match file.rules {
                Rules::Federation => FEDERATION_LONGEST_LIFE,
                Rules::Openid => OPENID_LONGEST_LIFE,
            },
            rules: file.rules,
        }
    }
}

/// The values of `aud` that an assertion may carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AcceptedAudiences {
    /// The hub's issuer, as one string: what other servers accept too can be replayed by one of them.
    IssuerAlone,
    /// One of these, as a string or as a list of nothing else (RFC 7519 §4.1.3).
    AnyOf(Vec<Audience>),
}

/// One accepted audience.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Audience {
    Issuer,
    /// Recommended by OpenID Connect Core 1.0 §9, and what most client libraries send, at every endpoint.
    TokenEndpoint,
    /// An absolute address, compared character by character.
    Address(String),
}

impl Audience {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "issuer" => Some(Self::Issuer),
            "token_endpoint" => Some(Self::TokenEndpoint),
            address => Url::parse(address)
                .ok()
                .filter(Url::has_host)
                .map(|_| Self::Address(address.to_owned())),
        }
    }

    fn is(&self, value: &str, issuer: &str) -> bool {
        match self {
            Self::Issuer => value == issuer,
            // The issuer's path begins every endpoint's.
            Self::TokenEndpoint => value
                .strip_prefix(issuer)
                .is_some_and(|rest| path::TOKEN.strip_prefix(path::ISSUER) == Some(rest)),
            Self::Address(address) => value == address,
        }
    }
}

impl AcceptedAudiences {
    fn new(listed: Option<&[String]>, rules: Rules) -> Self {
        match (listed, rules) {
            // What is no audience is a finding of `check`, and keeps the file from being loaded.
            (Some(listed), _) => {
                Self::AnyOf(listed.iter().filter_map(|text| Audience::parse(text)).collect())
            }
            (None, Rules::Federation) => Self::IssuerAlone,
            (None, Rules::Openid) => Self::AnyOf(vec![Audience::Issuer, Audience::TokenEndpoint]),
        }
    }

    /// Returns whether `aud` names this hub and, in a list, nothing else. `issuer` is this hub's.
    #[must_use]
    pub fn accept(&self, aud: &Value, issuer: &str) -> bool {
        let Self::AnyOf(accepted) = self else { return aud.as_str() == Some(issuer) };
        let is_accepted = |value: &Value| {
            value.as_str().is_some_and(|value| accepted.iter().any(|one| one.is(value, issuer)))
        };
        match aud {
            Value::Array(values) => !values.is_empty() && values.iter().all(is_accepted),
            value => is_accepted(value),
        }
    }
}

/// Reports a `client_assertion_audiences` that can't work.
pub(super) fn check(source: &Source, listed: &[String], problems: &mut Vec<Problem>) {
    const KEY: &str = "client_assertion_audiences";
    const VOCABULARY: &str =
        "write \"issuer\", \"token_endpoint\", or an absolute address that begins with https://";
    if listed.is_empty() {
        problems.push(source.problem(
            KEY,
            "is empty, so that no assertion would ever count",
            VOCABULARY,
        ));
    }
    for (index, text) in
        listed.iter().enumerate().filter(|(_, text)| Audience::parse(text).is_none())
    {
        let what = format!("is {text:?}, which is no audience");
        problems.push(source.problem(&format!("{KEY}[{index}]"), &what, VOCABULARY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ISSUER: &str = "https://hub.example/api/v2";
    const TOKEN: &str = "https://hub.example/api/v2/token";

    fn accepted(listed: Option<&[&str]>, rules: Rules) -> impl Fn(Value) -> bool + use<> {
        let listed: Option<Vec<String>> =
            listed.map(|listed| listed.iter().map(|text| (*text).to_owned()).collect());
        let audiences = AcceptedAudiences::new(listed.as_deref(), rules);
        move |aud| audiences.accept(&aud, ISSUER)
    }

    #[test]
    fn federation_rules_accept_the_issuer_as_one_string_alone() {
        let accept = accepted(None, Rules::Federation);
        assert!(accept(json!(ISSUER)));
        for aud in [
            json!(TOKEN),
            json!([ISSUER]),
            json!([ISSUER, TOKEN]),
            json!([]),
            json!(null),
            json!(7),
        ] {
            assert!(!accept(aud.clone()), "{aud}");
        }
    }

    #[test]
    fn openid_rules_accept_the_issuer_and_the_token_endpoint_in_each_shape() {
        let accept = accepted(None, Rules::Openid);
        for aud in [json!(ISSUER), json!(TOKEN), json!([TOKEN]), json!([ISSUER, TOKEN])] {
            assert!(accept(aud.clone()), "{aud}");
        }
        let other = "https://other.example/token";
        for aud in [
            json!(other),
            json!([TOKEN, other]),
            json!([]),
            json!([TOKEN, 7]),
            json!(null),
            json!(format!("{TOKEN}/")),
            json!(format!("{TOKEN}/revocation")),
            json!("https://hub.example"),
            json!({ "aud": TOKEN }),
        ] {
            assert!(!accept(aud.clone()), "{aud}");
        }
    }

    #[test]
    fn a_list_in_the_file_takes_the_place_of_the_default_under_both_rules() {
        let behind_a_proxy = "https://internal.example/api/v2/token";
        for rules in [Rules::Federation, Rules::Openid] {
            let accept = accepted(Some(&["token_endpoint", behind_a_proxy]), rules);
            assert!(
                accept(json!(TOKEN))
                    && accept(json!(behind_a_proxy))
                    && accept(json!([TOKEN, behind_a_proxy]))
            );
            assert!(!accept(json!(ISSUER)));
        }
    }
}
