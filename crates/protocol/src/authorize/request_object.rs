//! The parameters in a request object (RFC 9101; OpenID Connect Core 1.0 §6.1).
//!
//! Responsible for which claims of a verified object are parameters, and for what an error response
//! may take from an object that is refused: `state` and `response_mode`, within bounds, because the
//! object is no more trustworthy than the query that carried it. Does not verify signatures.

use serde_json::{Map, Value};

use super::{ResponseMode, checks};
use crate::catalogue::{ErrorCode, Param};
use crate::digest;
use crate::json;
use crate::params::Params;
use crate::registration::{ProtocolRules, Registration};

/// Returns the parameters of a verified request object, and those that identity providers may get
/// (`forwarded`). Those in `outer`, beside the object, don't count (RFC 9101 §6.3).
///
/// # Errors
/// `RequestObjectClient` unless its `client_id` is the client's, `RequestObjectNested`,
/// `RequestObjectParameter`; `RequestObjectDiffers` under `rules = "openid"` if the `response_type`
/// beside the object is another (OpenID Connect Core §6.1).
pub fn parameters_of_object(
    claims: &Map<String, Value>,
    outer: &Params,
    registration: &Registration,
    forwarded: &[String],
) -> Result<Params, ErrorCode> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("client_id") != Some(registration.client_id.as_str()) {
        return Err(ErrorCode::RequestObjectClient);
    }
    // RFC 9101 §4
    if [Param::Request, Param::RequestUri].iter().any(|param| claims.contains_key(param.name())) {
        return Err(ErrorCode::RequestObjectNested);
    }
    let response_type = Param::ResponseType.name();
    if registration.rules == ProtocolRules::Openid
        && let (Some(inner), Some(outer)) = (text(response_type), outer.get(response_type))
        && inner != outer
    {
        return Err(ErrorCode::RequestObjectDiffers);
    }
    let sent = Param::AUTHORIZATION
        .iter()
        .filter_map(|param| Some((*param, claims.get(param.name())?)))
        .map(|(param, value)| Ok((param.name().to_owned(), parameter_text(param, value)?)));
    let further =
        forwarded.iter().filter_map(|name| Some(Ok((name.clone(), text(name)?.to_owned()))));
    sent.chain(further).collect::<Result<_, _>>().map(Params::new)
}

/// RFC 9101 §4: numbers and JSON objects are written as such. Only `max_age` is a number: a `state`
/// that is one would come back in another form (RFC 6749 §4.1.2, "exact value").
fn parameter_text(param: Param, value: &Value) -> Result<String, ErrorCode> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if param == Param::MaxAge => Ok(number.to_string()),
        Value::Object(_) if param == Param::Claims => Ok(value.to_string()),
        _ => Err(ErrorCode::RequestObjectParameter),
    }
}

/// Maximum length of a request object that is decoded. Its claims are those of one authorization
/// request.
const MAX_REQUEST_OBJECT_CHARS: usize = 16 * 1024;

/// The two values that decide how and with what an error response is returned.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ReturnParams {
    pub state: Option<String>,
    pub mode: Option<ResponseMode>,
}

impl ReturnParams {
    /// Reads a compact JWS, signed or not (RFC 7515 §3.1). Unreadable values are absent, as is a
    /// `state` that is too long or not printable ASCII.
    pub(super) fn from_request_object(object: &str, registration: &Registration) -> Self {
        Self::read(object, registration).unwrap_or_default()
    }

    fn read(object: &str, registration: &Registration) -> Option<Self> {
        if object.len() > MAX_REQUEST_OBJECT_CHARS {
            return None;
        }
        let mut parts = object.split('.');
        let (Some(_header), Some(payload), Some(_signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let claims = json::parse_object(&digest::from_base64url(payload)?).ok()?;
        let text =
            |name: &str| claims.get(name).and_then(Value::as_str).filter(|value| !value.is_empty());
        Some(Self {
            state: checks::STATE.check_optional(text("state")).ok().flatten().map(str::to_owned),
            mode: text("response_mode").and_then(|mode| ResponseMode::parse(mode, registration)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::samples::registration;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(claims: &str) -> String {
        format!(
            "{}.{}.",
            digest::base64url(br#"{"alg":"none"}"#),
            digest::base64url(claims.as_bytes())
        )
    }

    fn read_params(object: &str) -> ReturnParams {
        ReturnParams::from_request_object(object, &registration("sp"))
    }

    #[test]
    fn state_and_response_mode_are_read_and_nothing_else() {
        let claims = json!({ "state": "s", "response_mode": "form_post", "redirect_uri": "https://evil.example/", "nonce": 1 });
        let read = read_params(&object(&claims.to_string()));
        assert_eq!(
            read,
            ReturnParams { state: Some("s".into()), mode: Some(ResponseMode::FormPost) }
        );
    }

    #[test]
    fn unreadable_or_oversized_members_are_absent() {
        let long = json!({ "state": "x".repeat(4097), "response_mode": "form_post" }).to_string();
        assert_eq!(read_params(&object(&long)).state, None);
        assert_eq!(read_params(&object(&long)).mode, Some(ResponseMode::FormPost));
        let deep = format!("{}{}", "{\"a\":".repeat(500), "}".repeat(500));
        let huge = json!({ "state": "s", "more": "x".repeat(20_000) }).to_string();
        for unreadable in [
            "e30.",
            "..",
            "a.b",
            "a.b.c.d.e",
            &object("[]"),
            &object(&deep),
            &object(&huge),
            &object(r#"{"state":"a","state":"b"}"#),
            &object(r#"{"state":7,"response_mode":["form_post"]}"#),
            &object(r#"{"state":"line\nend","response_mode":"fragment"}"#),
            &object(r#"{"state":"","response_mode":""}"#),
        ] {
            assert_eq!(read_params(unreadable), ReturnParams::default(), "{unreadable:.80}");
        }
    }

    proptest! {
        #[test]
        fn no_request_object_causes_a_panic_or_a_value_that_a_url_can_not_carry(object in "\\PC{0,200}", claims in "\\PC{0,200}") {
            for text in [object, self::object(&claims)] {
                let read = read_params(&text);
                prop_assert!(read.state.is_none_or(|state| state.len() <= 4096 && state.bytes().all(|byte| (0x20..0x7f).contains(&byte))));
            }
        }
    }

    fn claims(more: Value) -> Map<String, Value> {
        let mut claims = json!({
            "iss": "sp", "aud": "hub", "exp": 1, "jti": "j", "client_id": "sp", "response_type": "code",
            "scope": "openid", "max_age": 60, "claims": { "id_token": { "amr": null } }, "other": [1],
        });
        for (name, value) in more.as_object().unwrap() {
            claims[name] = value.clone();
        }
        claims.as_object().unwrap().clone()
    }

    #[test]
    fn the_parameters_are_those_of_the_object_alone() {
        let outer =
            Params::decode(b"client_id=sp&scope=openid+email&state=outer&response_type=token");
        let params =
            parameters_of_object(&claims(json!({})), &outer, &registration("sp"), &[]).unwrap();
        let read = |name| params.get(name);
        assert_eq!(read("scope"), Some("openid"));
        assert_eq!(read("max_age"), Some("60"));
        assert_eq!(read("claims"), Some(r#"{"id_token":{"amr":null}}"#));
        assert_eq!(read("state"), None, "mixing parameters of both is what an attacker does");
        for jwt_claim in ["iss", "aud", "exp", "jti", "other"] {
            assert_eq!(read(jwt_claim), None, "{jwt_claim}");
        }
    }

    #[test]
    fn an_object_of_another_client_or_with_another_object_is_refused() {
        for (more, code) in [
            (json!({ "client_id": "other" }), ErrorCode::RequestObjectClient),
            (json!({ "client_id": 7 }), ErrorCode::RequestObjectClient),
            (json!({ "request": "a.b.c" }), ErrorCode::RequestObjectNested),
            (json!({ "request_uri": "https://evil.example/" }), ErrorCode::RequestObjectNested),
            (json!({ "scope": ["openid"] }), ErrorCode::RequestObjectParameter),
            (json!({ "state": null }), ErrorCode::RequestObjectParameter),
            (json!({ "state": {} }), ErrorCode::RequestObjectParameter),
            (json!({ "state": 1.50 }), ErrorCode::RequestObjectParameter),
            (json!({ "nonce": 7 }), ErrorCode::RequestObjectParameter),
        ] {
            let read = parameters_of_object(
                &claims(more.clone()),
                &Params::default(),
                &registration("sp"),
                &[],
            );
            assert_eq!(read.unwrap_err(), code, "{more}");
        }
    }

    /// OpenID Connect Core §6.1
    #[test]
    fn under_openid_rules_the_response_type_beside_the_object_must_be_the_same() {
        let openid = Registration { rules: ProtocolRules::Openid, ..registration("sp") };
        let read = |outer: &str| {
            parameters_of_object(
                &claims(json!({})),
                &Params::decode(outer.as_bytes()),
                &openid,
                &[],
            )
        };
        assert!(read("response_type=code").is_ok() && read("").is_ok());
        assert_eq!(read("response_type=token").unwrap_err(), ErrorCode::RequestObjectDiffers);
    }
}
