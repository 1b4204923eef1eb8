//! Defines which client assertions (`private_key_jwt`, RFC 7523) of a service provider are accepted.
//! Does not verify signatures.

use std::time::Duration;

use serde_json::Value;
use url::Url;

use passerelle_protocol::alg::AcceptedAlgs;
use passerelle_protocol::discovery::path;
use passerelle_protocol::registration::ProtocolRules;

/// Maximum time to `exp` under federation rules, which limits the use of a stolen assertion.
const FEDERATION_MAX_LIFETIME: Duration = Duration::from_secs(300);
/// Maximum time to `exp` under `rules = "openid"`: the ten minutes of pyoidc and idpyoidc, plus one
/// minute of clock skew.
const OPENID_MAX_LIFETIME: Duration = Duration::from_secs(660);

/// The rules for the client assertions of one service provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssertionRules {
    /// Signature algorithms.
    pub algs: AcceptedAlgs,
    /// Accepted audiences.
    pub audiences: AcceptedAudiences,
    /// Maximum time to `exp`.
    pub max_lifetime: Duration,
    /// The service provider's rules, for the error message.
    pub rules: ProtocolRules,
}

impl AssertionRules {
    /// Returns the rules of a service provider under these protocol rules.
    pub const fn new(
        algs: AcceptedAlgs,
        audiences: AcceptedAudiences,
        rules: ProtocolRules,
    ) -> Self {
        let max_lifetime = match rules {
            ProtocolRules::Federation => FEDERATION_MAX_LIFETIME,
            ProtocolRules::Openid => OPENID_MAX_LIFETIME,
        };
        Self { algs, audiences, max_lifetime, rules }
    }
}

/// The values of `aud` that an assertion may carry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AcceptedAudiences {
    /// Only the hub's issuer, as a single string. With several audiences, one of them could replay
    /// the assertion.
    IssuerAlone,
    /// Any of these, as a string or in a list of only these (RFC 7519 §4.1.3).
    AnyOf(Vec<Audience>),
}

/// One accepted audience.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Audience {
    /// The hub's issuer.
    Issuer,
    /// The URL of the token endpoint, recommended by OpenID Connect Core 1.0 §9 and sent by most
    /// client libraries.
    TokenEndpoint,
    /// The URL of the pushed authorization request endpoint (RFC 9126 §2).
    PushedRequestEndpoint,
    /// An absolute URL, compared as a string.
    Address(String),
}

impl Audience {
    /// How to write one.
    pub const VOCABULARY: &str = "write \"issuer\", \"token_endpoint\", \"pushed_authorization_request_endpoint\", or an absolute URL that starts with https://";

    /// Parses a keyword or an absolute URL.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "issuer" => Some(Self::Issuer),
            "token_endpoint" => Some(Self::TokenEndpoint),
            "pushed_authorization_request_endpoint" => Some(Self::PushedRequestEndpoint),
            address => Url::parse(address)
                .ok()
                .filter(Url::has_host)
                .map(|_| Self::Address(address.to_owned())),
        }
    }

    fn matches(&self, value: &str, hub: HubAddresses<'_>) -> bool {
        match self {
            Self::Issuer => value == hub.issuer,
            Self::TokenEndpoint => hub.is_endpoint(value, path::TOKEN),
            Self::PushedRequestEndpoint => hub.is_endpoint(value, path::PUSHED_REQUEST),
            Self::Address(address) => value == address,
        }
    }
}

/// The addresses by which clients know this hub.
#[derive(Clone, Copy, Debug)]
pub struct HubAddresses<'a> {
    /// The issuer.
    pub issuer: &'a str,
    /// Base URL of `mtls_endpoint_aliases` (RFC 8705 §5), if it differs from the issuer's.
    pub certificate_base_url: Option<&'a str>,
}

impl HubAddresses<'_> {
    /// Returns true if `value` is the URL of this endpoint, whose path starts with the issuer's, or
    /// its alias for client certificates.
    fn is_endpoint(self, value: &str, path: &str) -> bool {
        let is_own = |rest| path.strip_prefix(path::ISSUER) == Some(rest);
        let alias = self.certificate_base_url.and_then(|base_url| value.strip_prefix(base_url));
        value.strip_prefix(self.issuer).is_some_and(is_own) || alias == Some(path)
    }
}

impl AcceptedAudiences {
    /// Returns the listed audiences, or the default of the rules.
    pub fn new(listed: Option<&[String]>, rules: ProtocolRules) -> Self {
        match (listed, rules) {
            // Invalid entries are reported by `check_audiences`, so the file is not loaded.
            (Some(listed), _) => {
                Self::AnyOf(listed.iter().filter_map(|text| Audience::parse(text)).collect())
            }
            (None, ProtocolRules::Federation) => Self::IssuerAlone,
            (None, ProtocolRules::Openid) => Self::AnyOf(vec![
                Audience::Issuer,
                Audience::TokenEndpoint,
                Audience::PushedRequestEndpoint,
            ]),
        }
    }

    /// Returns true if `aud` contains accepted audiences only.
    pub fn accepts(&self, aud: &Value, hub: HubAddresses<'_>) -> bool {
        let Self::AnyOf(accepted) = self else { return aud.as_str() == Some(hub.issuer) };
        let is_accepted = |value: &Value| {
            value.as_str().is_some_and(|value| accepted.iter().any(|one| one.matches(value, hub)))
        };
        match aud {
            Value::Array(values) => !values.is_empty() && values.iter().all(is_accepted),
            value => is_accepted(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ISSUER: &str = "https://hub.example/api/v2";
    const TOKEN: &str = "https://hub.example/api/v2/token";
    const PUSHED: &str = "https://hub.example/api/v2/par";
    const CERTIFICATES: &str = "https://certificates.hub.example";
    const ALIAS: &str = "https://certificates.hub.example/api/v2/token";

    fn audience_check(
        listed: Option<&[&str]>,
        rules: ProtocolRules,
    ) -> impl Fn(Value) -> bool + use<> {
        let listed: Option<Vec<String>> =
            listed.map(|listed| listed.iter().map(|text| (*text).to_owned()).collect());
        let audiences = AcceptedAudiences::new(listed.as_deref(), rules);
        let hub = HubAddresses { issuer: ISSUER, certificate_base_url: Some(CERTIFICATES) };
        move |aud| audiences.accepts(&aud, hub)
    }

    #[test]
    fn federation_rules_accept_the_issuer_as_one_string_alone() {
        let accept = audience_check(None, ProtocolRules::Federation);
        assert!(accept(json!(ISSUER)));
        for aud in [
            json!(TOKEN),
            json!(ALIAS),
            json!(PUSHED),
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
    fn openid_rules_accept_the_issuer_and_both_endpoints_in_each_shape() {
        let accept = audience_check(None, ProtocolRules::Openid);
        for aud in [
            json!(ISSUER),
            json!(TOKEN),
            json!(ALIAS),
            json!("https://certificates.hub.example/api/v2/par"),
            json!(PUSHED),
            json!([TOKEN]),
            json!([ISSUER, TOKEN, PUSHED]),
        ] {
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
            json!(format!("{ALIAS}/")),
            json!("https://certificates.hub.example"),
            json!("https://certificates.hub.example.evil.example/api/v2/token"),
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
        for rules in [ProtocolRules::Federation, ProtocolRules::Openid] {
            let accept = audience_check(Some(&["token_endpoint", behind_a_proxy]), rules);
            assert!(
                accept(json!(TOKEN))
                    && accept(json!(behind_a_proxy))
                    && accept(json!([TOKEN, behind_a_proxy]))
            );
            assert!(!accept(json!(ISSUER)));
        }
    }
}
