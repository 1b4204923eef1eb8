//! Reads the `request` parameter (OpenID Connect Core 1.0 §6.1), which the hub rejects, for the
//! values that its error response needs.
//!
//! Reads only `state` and `response_mode`, within bounds. The object is no more trustworthy than
//! the query that carried it.

use serde_json::Value;

use super::{ResponseMode, checks};
use crate::digest;
use crate::protocol::json;

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
    pub(super) fn from_request_object(object: &str) -> Self {
        Self::read(object).unwrap_or_default()
    }

    fn read(object: &str) -> Option<Self> {
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
            mode: text("response_mode").and_then(ResponseMode::parse),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn object(claims: &str) -> String {
        format!(
            "{}.{}.",
            digest::base64url(br#"{"alg":"none"}"#),
            digest::base64url(claims.as_bytes())
        )
    }

    #[test]
    fn state_and_response_mode_are_read_and_nothing_else() {
        let claims = json!({ "state": "s", "response_mode": "form_post", "redirect_uri": "https://evil.example/", "nonce": 1 });
        let read = ReturnParams::from_request_object(&object(&claims.to_string()));
        assert_eq!(
            read,
            ReturnParams { state: Some("s".into()), mode: Some(ResponseMode::FormPost) }
        );
    }

    #[test]
    fn what_is_unreadable_or_beyond_a_bound_is_absent() {
        let long = json!({ "state": "x".repeat(1025), "response_mode": "form_post" }).to_string();
        assert_eq!(ReturnParams::from_request_object(&object(&long)).state, None);
        assert_eq!(
            ReturnParams::from_request_object(&object(&long)).mode,
            Some(ResponseMode::FormPost)
        );
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
            assert_eq!(
                ReturnParams::from_request_object(unreadable),
                ReturnParams::default(),
                "{unreadable:.80}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_object_makes_it_panic_or_lends_what_an_address_can_not_carry(object in "\\PC{0,200}", claims in "\\PC{0,200}") {
            for text in [object, self::object(&claims)] {
                let read = ReturnParams::from_request_object(&text);
                prop_assert!(read.state.is_none_or(|state| state.len() <= 1024 && state.bytes().all(|byte| (0x20..0x7f).contains(&byte))));
            }
        }
    }
}
