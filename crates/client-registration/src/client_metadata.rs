//! Client metadata of a dynamic registration (RFC 7591 §2; OpenID Connect Dynamic Client
//! Registration 1.0 §2).
//!
//! Responsible for the members that the hub knows, their types and sizes, and the values that
//! concern the protocol alone. The rest is checked as in the file of a service provider. Errors
//! name a member and a rule, never a value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error_codes;
use passerelle_federation::ServiceProvider;
use passerelle_protocol::alg::{AcceptedAlgs, ContentEncryption, SigningAlg, VerificationAlg};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::json;

/// Maximum size of a request body.
pub const MAX_METADATA_BYTES: usize = 32 * 1024;
/// Maximum length of a text.
const MAX_TEXT_CHARS: usize = 2048;
/// Maximum number of texts in a list, of keys, and of translations.
const MAX_LIST_ITEMS: usize = 20;

/// Why metadata is rejected. The description names the member and how to correct it.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("{description}")]
pub struct MetadataError {
    pub code: ErrorCode,
    pub description: String,
}

impl MetadataError {
    /// Creates the error of a member, with the error code that RFC 7591 §3.2.2 has for it.
    pub fn new(member: &str, message: &str, fix: &str) -> Self {
        let code = match member.split(['[', '.']).next() {
            Some("redirect_uris") => error_codes::REGISTRATION_REDIRECT_URI,
            Some("software_statement") => error_codes::REGISTRATION_STATEMENT,
            _ => error_codes::REGISTRATION_METADATA,
        };
        // RFC 7591 §3.2.2: ASCII.
        let ascii = |c: char| match c {
            '"' => '\'',
            '…' => '.',
            c if c.is_ascii() && !c.is_ascii_control() => c,
            _ => '?',
        };
        let description = format!("{member} {message}; {fix}").chars().map(ascii).collect();
        Self { code, description }
    }
}

/// Member with the method of client authentication.
pub const AUTH_METHOD: &str = "token_endpoint_auth_method";
/// Its default (RFC 7591 §2).
pub const DEFAULT_AUTH_METHOD: &str = "client_secret_basic";

/// Type of a member.
#[derive(Clone, Copy)]
enum MemberType {
    Text,
    List,
    Flag,
    Keys,
}

/// The members that have the same name and meaning in the file of a service provider.
const FILE_MEMBERS: &[(&str, MemberType)] = &[
    ("redirect_uris", MemberType::List),
    ("post_logout_redirect_uris", MemberType::List),
    ("backchannel_logout_uri", MemberType::Text),
    ("backchannel_logout_session_required", MemberType::Flag),
    ("default_acr_values", MemberType::List),
    ("require_auth_time", MemberType::Flag),
    ("token_endpoint_auth_method", MemberType::Text),
    ("token_endpoint_auth_signing_alg", MemberType::Text),
    ("id_token_signed_response_alg", MemberType::Text),
    ("id_token_encrypted_response_alg", MemberType::Text),
    ("id_token_encrypted_response_enc", MemberType::Text),
    ("userinfo_signed_response_alg", MemberType::Text),
    ("userinfo_encrypted_response_alg", MemberType::Text),
    ("userinfo_encrypted_response_enc", MemberType::Text),
    ("request_object_signing_alg", MemberType::Text),
    ("require_signed_request_object", MemberType::Flag),
    ("require_pushed_authorization_requests", MemberType::Flag),
    ("authorization_signed_response_alg", MemberType::Text),
    ("authorization_encrypted_response_alg", MemberType::Text),
    ("authorization_encrypted_response_enc", MemberType::Text),
    ("dpop_bound_access_tokens", MemberType::Flag),
    ("tls_client_certificate_bound_access_tokens", MemberType::Flag),
    ("tls_client_auth_subject_dn", MemberType::Text),
    ("tls_client_auth_san_dns", MemberType::Text),
    ("tls_client_auth_san_uri", MemberType::Text),
    ("tls_client_auth_san_ip", MemberType::Text),
    ("tls_client_auth_san_email", MemberType::Text),
    ("jwks_uri", MemberType::Text),
    ("jwks", MemberType::Keys),
];

/// The other members that the hub knows.
const OTHER_MEMBERS: &[(&str, MemberType)] = &[
    ("client_name", MemberType::Text),
    ("client_uri", MemberType::Text),
    ("scope", MemberType::Text),
    ("grant_types", MemberType::List),
    ("response_types", MemberType::List),
    ("application_type", MemberType::Text),
    ("subject_type", MemberType::Text),
    ("contacts", MemberType::List),
    ("software_id", MemberType::Text),
    ("software_version", MemberType::Text),
];

/// Members whose value the hub can't honour. If it ignored them, the client would expect an effect
/// that they don't have.
const REJECTED_MEMBERS: &[(&str, &str)] = &[
    ("software_statement", "register without it"),
    (
        "sector_identifier_uri",
        "register without it, or ask the operator for a service provider file with a sector; the hub fetches no address of an unapproved client",
    ),
    ("default_max_age", "register without it, and send max_age in each request"),
];

/// The known members of client metadata, with the defaults of RFC 7591 §2.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientMetadata(Map<String, Value>);

/// The members of an update that identify the client (RFC 7592 §2.2).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientIdentification {
    pub client_id: Option<String>,
    pub client_secret: Option<Secret<String>>,
}

impl ClientMetadata {
    /// Parses the body of a request. Unknown members are ignored (RFC 7591 §2), and `null` is an
    /// absent member (RFC 7592 §2.2), as is an empty text, which libraries send for what they don't
    /// set; not that of a name, which users would read.
    ///
    /// # Errors
    /// `REGISTRATION_BODY` if it is not a JSON object; else the error of the first invalid member.
    pub fn parse(body: &[u8]) -> Result<(Self, ClientIdentification), MetadataError> {
        let unreadable = || MetadataError {
            code: error_codes::REGISTRATION_BODY,
            description: error_codes::REGISTRATION_BODY.entry().description.to_owned(),
        };
        let members = json::parse_object(body).map_err(|_| unreadable())?;
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        let identification = ClientIdentification {
            client_id: text("client_id"),
            client_secret: text("client_secret").map(Secret::new),
        };
        let mut known = Map::new();
        let is_absent = |name: &str, value: &Value| {
            value.is_null() || (value == "" && !name.starts_with("client_name"))
        };
        for (name, value) in members.into_iter().filter(|(name, value)| !is_absent(name, value)) {
            if let Some((_, fix)) = REJECTED_MEMBERS.iter().find(|(rejected, _)| *rejected == name)
            {
                return Err(MetadataError::new(&name, "is not supported", fix));
            }
            if let Some(member_type) = find_member_type(&name) {
                check_type(&name, &value, member_type)?;
                known.insert(name, value);
            }
        }
        let names = known.keys().filter(|name| name.starts_with("client_name")).count();
        if names > MAX_LIST_ITEMS {
            let fix = format!("send it in at most {MAX_LIST_ITEMS} languages");
            return Err(MetadataError::new("client_name", "is in too many languages", &fix));
        }
        let mut metadata = Self(known);
        metadata.normalize()?;
        Ok((metadata, identification))
    }

    /// Checks the values that concern the protocol, and adds those of absent members.
    fn normalize(&mut self) -> Result<(), MetadataError> {
        let rejected = |name: &str, listed: &str| {
            let fix = format!("the hub supports {listed}");
            MetadataError::new(name, "contains a value that is not supported", &fix)
        };
        // A client that asks for more gets what the hub has, and reads it in the response (RFC 7591
        // §3.2.1). Refresh tokens are the operator's decision.
        for (name, granted) in [("grant_types", "authorization_code"), ("response_types", "code")] {
            let requested = self.texts(name);
            if !requested.is_empty() && !requested.contains(&granted) {
                return Err(rejected(name, granted));
            }
            self.0.insert(name.to_owned(), Value::from(vec![granted]));
        }
        let application_type = self.text("application_type").unwrap_or("web").to_owned();
        if !matches!(application_type.as_str(), "web" | "native") {
            return Err(rejected("application_type", "web and native"));
        }
        self.0.insert("application_type".to_owned(), Value::String(application_type));
        self.0.insert("subject_type".to_owned(), Value::from("pairwise"));
        self.drop_inapplicable();
        Ok(())
    }

    /// Removes the members that concern another method of authentication than that of the client,
    /// or another endpoint than it has: libraries send all that they know.
    fn drop_inapplicable(&mut self) {
        let method = self.text(AUTH_METHOD).unwrap_or(DEFAULT_AUTH_METHOD).to_owned();
        let has_logout = self.0.contains_key("backchannel_logout_uri");
        self.0.retain(|name, _| match name.as_str() {
            "token_endpoint_auth_signing_alg" => method == "private_key_jwt",
            "backchannel_logout_session_required" => has_logout,
            name => !name.starts_with("tls_client_auth_") || method == "tls_client_auth",
        });
    }

    /// Returns the members.
    pub const fn members(&self) -> &Map<String, Value> {
        &self.0
    }

    /// Returns the members with the names and meanings of a service provider's file, except
    /// `jwks`.
    pub fn file_members(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let names = FILE_MEMBERS.iter().map(|(name, _)| *name).filter(|name| *name != "jwks");
        names.filter_map(|name| Some((name, self.0.get(name)?)))
    }

    /// Returns the keys of `jwks`.
    pub fn keys(&self) -> Option<&Value> {
        self.0.get("jwks")?.get("keys")
    }

    /// Returns the text of a member.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns the texts of a member; empty if it is absent.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        let list = self.0.get(name).and_then(Value::as_array).map(Vec::as_slice);
        list.unwrap_or_default().iter().filter_map(Value::as_str).collect()
    }

    /// Sets a member to what was registered instead of what was sent (RFC 7591 §3.2.1).
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// Registers what is in force for absent members: the default algorithms, and what a security
    /// profile switches on (RFC 7591 §3.2.1).
    pub(super) fn complete(&mut self, service: &ServiceProvider) {
        let protection = &service.registration.protection;
        let algorithms = [
            ("id_token_signed_response_alg", Some(service.id_token_signed_response_alg.as_str())),
            (
                "userinfo_signed_response_alg",
                service.userinfo_signed_response_alg.map(SigningAlg::as_str),
            ),
            (
                "request_object_signing_alg",
                protection
                    .request_object_algs
                    .and_then(AcceptedAlgs::only)
                    .map(VerificationAlg::as_str),
            ),
            ("authorization_signed_response_alg", protection.response_alg.map(SigningAlg::as_str)),
        ];
        // Another default than that of OpenID Connect Dynamic Client Registration 1.0 §2 and JARM §3.
        let content = ContentEncryption::default().as_str();
        let encrypted = [
            ("id_token_encrypted_response", service.encryption.id_token),
            ("userinfo_encrypted_response", service.encryption.userinfo),
            ("authorization_encrypted_response", protection.response_encryption),
        ];
        for (name, alg) in encrypted {
            if let Some(alg) = alg {
                self.set(&format!("{name}_alg"), Value::from(alg.as_str()));
                self.set(&format!("{name}_enc"), Value::from(content));
            }
        }
        for (name, alg) in algorithms {
            if let Some(alg) = alg {
                self.set(name, Value::from(alg));
            }
        }
        let switches = [
            ("require_auth_time", service.registration.require_auth_time),
            ("require_pushed_authorization_requests", protection.require_pushed),
            ("require_signed_request_object", protection.require_request_object),
            ("dpop_bound_access_tokens", service.token_binding.dpop_required),
        ];
        for (name, _) in switches.into_iter().filter(|(_, is_on)| *is_on) {
            self.set(name, Value::Bool(true));
        }
    }

    /// Returns the names shown to users, by language. `client_name` without a tag counts as
    /// English where that is absent.
    pub fn names(&self) -> BTreeMap<String, String> {
        let mut names = BTreeMap::new();
        for (name, value) in &self.0 {
            if let (Some(tag), Some(text)) = (name.strip_prefix("client_name#"), value.as_str()) {
                let language = tag.split('-').next().unwrap_or(tag).to_ascii_lowercase();
                names.entry(language).or_insert_with(|| text.to_owned());
            }
        }
        if let Some(text) = self.text("client_name") {
            names.entry("en".to_owned()).or_insert_with(|| text.to_owned());
        }
        names
    }

    /// Leaves the authentication method out where it is the default and `current` leaves it out: a
    /// client that sends back what it received changes nothing.
    pub fn keep_default_method(&mut self, current: &Self) {
        if self.text(AUTH_METHOD) == Some(DEFAULT_AUTH_METHOD)
            && current.text(AUTH_METHOD).is_none()
        {
            self.0.remove(AUTH_METHOD);
        }
    }

    /// Returns true if the hub would call an address of the client.
    pub fn has_called_addresses(&self) -> bool {
        ["jwks_uri", "backchannel_logout_uri"].iter().any(|name| self.0.contains_key(*name))
    }

    /// Returns true if the method of client authentication is a client secret.
    pub fn needs_secret(&self) -> bool {
        let method = self.text(AUTH_METHOD).unwrap_or(DEFAULT_AUTH_METHOD);
        matches!(method, "client_secret_basic" | "client_secret_post")
    }
}

fn find_member_type(name: &str) -> Option<MemberType> {
    let plain = if name.starts_with("client_name#") { "client_name" } else { name };
    let mut all = FILE_MEMBERS.iter().chain(OTHER_MEMBERS);
    all.find(|(known, _)| *known == plain).map(|(_, member_type)| *member_type)
}

fn check_type(name: &str, value: &Value, member_type: MemberType) -> Result<(), MetadataError> {
    let is_text = |value: &Value| {
        value.as_str().is_some_and(|text| {
            (1..=MAX_TEXT_CHARS).contains(&text.chars().count())
                && !text.chars().any(char::is_control)
        })
    };
    let is_list = |value: Option<&Value>, is_item: &dyn Fn(&Value) -> bool| {
        let items = value.and_then(Value::as_array);
        items.is_some_and(|items| items.len() <= MAX_LIST_ITEMS && items.iter().all(is_item))
    };
    let (holds, fix) = match member_type {
        MemberType::Text => (is_text(value), "send a text of 1 to 2048 printable characters"),
        MemberType::List => (
            is_list(Some(value), &is_text),
            "send an array of at most 20 texts of 1 to 2048 printable characters",
        ),
        MemberType::Flag => (value.is_boolean(), "send true or false"),
        MemberType::Keys => (
            is_list(value.get("keys"), &Value::is_object),
            "send an object with an array keys of at most 20 public keys (RFC 7517)",
        ),
    };
    let member = if name.contains('#') { "client_name" } else { name };
    if holds { Ok(()) } else { Err(MetadataError::new(member, "has the wrong type", fix)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(value: &Value) -> Result<ClientMetadata, MetadataError> {
        ClientMetadata::parse(value.to_string().as_bytes()).map(|(metadata, _)| metadata)
    }

    #[test]
    fn absent_members_have_the_defaults_of_the_standard() {
        let sent = json!({ "redirect_uris": ["https://a.example/cb"], "client_uri": null, "x": 1 });
        let metadata = parse(&sent).unwrap();
        let expected = json!({
            "redirect_uris": ["https://a.example/cb"],
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
            "application_type": "web",
            "subject_type": "pairwise",
        });
        assert_eq!(Value::Object(metadata.members().clone()), expected);
        assert!(metadata.needs_secret(), "the default method is a secret");
    }

    #[test]
    fn each_error_names_its_member_and_a_correction() {
        let rows = [
            (
                json!({ "redirect_uris": "https://a.example/" }),
                "invalid_redirect_uri",
                "redirect_uris",
            ),
            (json!({ "redirect_uris": [1] }), "invalid_redirect_uri", "redirect_uris"),
            (json!({ "client_name": "a\nb" }), "invalid_client_metadata", "client_name"),
            (json!({ "client_name#fr": "" }), "invalid_client_metadata", "client_name"),
            (json!({ "grant_types": ["implicit"] }), "invalid_client_metadata", "grant_types"),
            (
                json!({ "response_types": ["id_token", "code token"] }),
                "invalid_client_metadata",
                "response_types",
            ),
            (json!({ "application_type": "tv" }), "invalid_client_metadata", "application_type"),
            (json!({ "jwks": { "keys": "k" } }), "invalid_client_metadata", "jwks"),
            (json!({ "dpop_bound_access_tokens": "yes" }), "invalid_client_metadata", "dpop_bound"),
            (
                json!({ "software_statement": "e30" }),
                "invalid_software_statement",
                "software_statement",
            ),
            (
                json!({ "sector_identifier_uri": "https://a.example" }),
                "invalid_client_metadata",
                "sector_identifier_uri",
            ),
            (json!({ "default_max_age": 60 }), "invalid_client_metadata", "default_max_age"),
            (json!({ "contacts": vec!["a"; 21] }), "invalid_client_metadata", "contacts"),
        ];
        for (sent, error, member) in rows {
            let found = parse(&sent).unwrap_err();
            assert_eq!(found.code.entry().oauth, error, "{sent}");
            assert!(found.description.starts_with(member), "{}", found.description);
            assert!(found.description.contains("; "), "{}", found.description);
        }
        for body in ["[]", "{", "{\"a\":1,\"a\":2}", ""] {
            let error = ClientMetadata::parse(body.as_bytes()).unwrap_err();
            assert_eq!(error.code, error_codes::REGISTRATION_BODY);
        }
    }

    /// Attack: a value of the request becomes part of the answer or of the log.
    #[test]
    fn no_error_repeats_what_was_sent() {
        let marker = "zq-marker";
        for name in ["redirect_uris", "client_name", "jwks", "grant_types", "software_statement"] {
            let error = parse(&json!({ name: { marker: marker } })).unwrap_err();
            assert!(!error.description.contains(marker), "{}", error.description);
        }
        assert!(MetadataError::new("jwks", "\"é…\"\n", "x").description.is_ascii());
    }

    /// Attack: thousands of names make each comparison with those of others slow.
    #[test]
    fn names_in_more_languages_than_people_read_are_refused() {
        let names = |count: usize| {
            let name = |n: usize| (format!("client_name#x{n}"), Value::from("Shop"));
            let mut sent: Map<String, Value> = (0..count).map(name).collect();
            sent.insert("redirect_uris".into(), json!(["https://a.example/cb"]));
            parse(&Value::Object(sent))
        };
        assert!(names(MAX_LIST_ITEMS).is_ok());
        assert!(names(MAX_LIST_ITEMS + 1).unwrap_err().description.starts_with("client_name"));
    }

    /// RFC 7591 §3.2.1: the response says what was registered instead.
    #[test]
    fn a_client_that_asks_for_more_than_the_hub_has_gets_what_the_hub_has() {
        let sent = json!({
            "redirect_uris": ["https://a.example/cb"],
            "grant_types": ["authorization_code", "refresh_token", "implicit", "urn:x:grant"],
            "response_types": ["code", "code id_token", "none"],
            "subject_type": "public",
            "token_endpoint_auth_method": "client_secret_post",
            "token_endpoint_auth_signing_alg": "RS256",
            "tls_client_auth_subject_dn": "CN=a",
            "backchannel_logout_session_required": true,
        });
        let expected = json!({
            "redirect_uris": ["https://a.example/cb"],
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
            "application_type": "web",
            "subject_type": "pairwise",
            "token_endpoint_auth_method": "client_secret_post",
        });
        assert_eq!(Value::Object(parse(&sent).unwrap().members().clone()), expected);
    }

    #[test]
    fn names_have_a_language_each() {
        let sent = json!({ "client_name": "Bakery", "client_name#fr-CA": "Boulangerie" });
        let names = parse(&sent).unwrap().names();
        assert_eq!(names["en"], "Bakery");
        assert_eq!(names["fr"], "Boulangerie");
    }
}
