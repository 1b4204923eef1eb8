//! Finds malformed members of a configuration document (OpenID Connect Discovery 1.0 §3; RFC 8414
//! §2). A login needs few of them: any other that is malformed counts as absent, and is reported.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use url::Url;

use passerelle_protocol::json::ObjectWithoutRepeated;
use passerelle_telemetry::printable_ascii;

/// Repeated members that a message names.
const MAX_NAMED_REPEATED: usize = 10;

/// A fault of a configuration document that ends no login.
#[derive(Clone, PartialEq, Eq, Debug, derive_more::Display)]
pub enum MalformedMember {
    /// A member of another type than the standards define.
    #[display("{name} is {found}, not {shape}")]
    Type {
        name: &'static str,
        /// What the value is, never the value.
        found: &'static str,
        shape: Shape,
    },
    /// Members that occur more than once, as a text.
    #[display("{_0} repeated")]
    Repeated(String),
}

impl MalformedMember {
    /// Returns what would repair it.
    pub fn fix(&self) -> String {
        match self {
            Self::Type { name, shape, .. } => {
                format!("ask the identity provider to publish {name} as {shape}, or to omit it")
            }
            Self::Repeated(_) => {
                "ask the identity provider to publish each member once (RFC 8259 §4)".to_owned()
            }
        }
    }

    /// Returns the label of a metric.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Type { name, .. } => name,
            Self::Repeated(_) => "repeated",
        }
    }
}

/// Type of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, derive_more::Display)]
pub enum Shape {
    #[display("an absolute URL")]
    Url,
    #[display("a list of strings")]
    List,
    #[display("true or false")]
    Boolean,
    #[display("an object")]
    Object,
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Url, Value::String(text)) => Url::parse(text).is_ok(),
            (Self::List, Value::Array(items)) => items.iter().all(Value::is_string),
            (Self::Boolean, Value::Bool(_)) | (Self::Object, Value::Object(_)) => true,
            _ => false,
        }
    }
}

/// The members whose types the standards define.
const MEMBERS: &[(Shape, &[&str])] = &[
    (
        Shape::Url,
        &[
            "authorization_endpoint",
            "token_endpoint",
            "userinfo_endpoint",
            "jwks_uri",
            "end_session_endpoint",
            "pushed_authorization_request_endpoint",
            "registration_endpoint",
            "introspection_endpoint",
            "revocation_endpoint",
            "device_authorization_endpoint",
            "backchannel_authentication_endpoint",
            "check_session_iframe",
            "op_policy_uri",
            "op_tos_uri",
            "service_documentation",
        ],
    ),
    (
        Shape::List,
        &[
            "scopes_supported",
            "response_types_supported",
            "response_modes_supported",
            "grant_types_supported",
            "acr_values_supported",
            "subject_types_supported",
            "id_token_signing_alg_values_supported",
            "id_token_encryption_alg_values_supported",
            "id_token_encryption_enc_values_supported",
            "userinfo_signing_alg_values_supported",
            "userinfo_encryption_alg_values_supported",
            "userinfo_encryption_enc_values_supported",
            "request_object_signing_alg_values_supported",
            "request_object_encryption_alg_values_supported",
            "request_object_encryption_enc_values_supported",
            "authorization_signing_alg_values_supported",
            "authorization_encryption_alg_values_supported",
            "authorization_encryption_enc_values_supported",
            "token_endpoint_auth_methods_supported",
            "token_endpoint_auth_signing_alg_values_supported",
            "dpop_signing_alg_values_supported",
            "code_challenge_methods_supported",
            "prompt_values_supported",
            "display_values_supported",
            "claim_types_supported",
            "claims_supported",
            "claims_locales_supported",
            "ui_locales_supported",
        ],
    ),
    (
        Shape::Boolean,
        &[
            "claims_parameter_supported",
            "request_parameter_supported",
            "request_uri_parameter_supported",
            "require_request_uri_registration",
            "require_pushed_authorization_requests",
            "require_signed_request_object",
            "tls_client_certificate_bound_access_tokens",
            "authorization_response_iss_parameter_supported",
            "frontchannel_logout_supported",
            "frontchannel_logout_session_supported",
            "backchannel_logout_supported",
            "backchannel_logout_session_supported",
        ],
    ),
    (Shape::Object, &["mtls_endpoint_aliases"]),
];

/// Returns the malformed and the repeated members of a configuration document.
pub(super) fn find_malformed_members(document: &ObjectWithoutRepeated) -> Vec<MalformedMember> {
    let malformed = |shape: Shape, name: &'static str| {
        let value = document.members.get(name).filter(|value| !shape.fits(value))?;
        Some(MalformedMember::Type { name, found: describe_json(value), shape })
    };
    let repeated = (!document.repeated.is_empty())
        .then(|| MalformedMember::Repeated(format_repeated(&document.repeated)));
    MEMBERS
        .iter()
        .flat_map(|(shape, names)| names.iter().filter_map(|name| malformed(*shape, name)))
        .chain(repeated)
        .collect()
}

/// Returns the names of repeated members for a message, from their JSON Pointers.
pub(super) fn format_repeated(pointers: &BTreeSet<String>) -> String {
    let named = pointers.iter().take(MAX_NAMED_REPEATED);
    let named: Vec<String> =
        named.map(|pointer| printable_ascii(pointer.trim_start_matches('/'), 64)).collect();
    match pointers.len().saturating_sub(MAX_NAMED_REPEATED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns a needed member that is a URL.
///
/// # Errors
/// Returns what is wrong with it.
pub(super) fn needed_url<'a>(
    members: &'a Map<String, Value>,
    name: &str,
) -> Result<&'a str, String> {
    match members.get(name) {
        None => Err(format!("it has no {name}, which logins need")),
        Some(Value::String(text)) if Url::parse(text).is_ok() => Ok(text),
        Some(value) => {
            let found = describe_json(value);
            Err(format!("its {name} is {found}, not an absolute URL, and logins need it"))
        }
    }
}

/// Returns a member that is a URL; `None` if it is absent or malformed.
pub(super) fn optional_url<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    needed_url(members, name).ok()
}

/// Returns what a JSON value is, without the value.
fn describe_json(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(text) if text.is_empty() => "an empty string",
        Value::String(_) => "a string",
        Value::Array(items) if items.iter().all(Value::is_string) => "a list",
        Value::Array(_) => "a list of other values than strings",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::json;

    #[test]
    fn malformed_members_are_named_with_their_type_and_without_their_value() {
        let document = br#"{
            "issuer": "https://idp.example", "op_policy_uri": "", "service_documentation": "TBD",
            "scopes_supported": "openid email", "claims_supported": ["sub", 1], "userinfo_endpoint": null,
            "claims_parameter_supported": "true", "mtls_endpoint_aliases": [], "jwks_uri": "https://idp.example/jwks",
            "unknown_member": 7, "ui_locales_supported": [], "unknown_member": 7, "x": [{ "y": 1, "y": 2 }]
        }"#;
        let document = json::parse_object_without_repeated(document).unwrap();
        let found: Vec<String> =
            find_malformed_members(&document).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "userinfo_endpoint is null, not an absolute URL",
                "op_policy_uri is an empty string, not an absolute URL",
                "service_documentation is a string, not an absolute URL",
                "scopes_supported is a string, not a list of strings",
                "claims_supported is a list of other values than strings, not a list of strings",
                "claims_parameter_supported is a string, not true or false",
                "mtls_endpoint_aliases is a list, not an object",
                "unknown_member, x/0/y repeated",
            ]
        );
    }
}
