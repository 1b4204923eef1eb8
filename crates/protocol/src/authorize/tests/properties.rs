//! Properties of any request.

use proptest::prelude::*;

use super::super::*;
use super::{CALLBACK, ISSUER, READ, STATE, directory, validate, with};
use crate::acr::Platform;

/// Any of the known parameters, with values that are often valid.
fn any_params() -> impl Strategy<Value = Vec<(String, String)>> {
    let value = prop_oneof![
        Just(String::new()),
        Just("sp".to_owned()),
        Just(CALLBACK.to_owned()),
        Just("code".to_owned()),
        Just("openid email".to_owned()),
        Just(STATE.repeat(2)),
        "\\PC{0,40}",
        any::<String>(),
    ];
    proptest::collection::vec(
        (
            prop_oneof![4 => proptest::sample::select(READ).prop_map(str::to_owned), 1 => any::<String>()],
            value,
        ),
        0..12,
    )
}

fn any_form() -> impl Strategy<Value = (RequestMethod, Platform)> {
    let forms = proptest::sample::select(&[RequestMethod::Get, RequestMethod::Post][..]);
    (forms, proptest::sample::select(&[Platform::Standard, Platform::High][..]))
}

proptest! {
    /// No open redirector for any request.
    #[test]
    fn a_redirect_is_always_to_a_registered_uri(changes in any_params(), from_good in any::<bool>(), (form, platform) in any_form()) {
        let mut pairs = changes;
        if from_good {
            let taken: Vec<_> = pairs.iter().map(|(name, _)| name.clone()).collect();
            let good = with(&[("state", &STATE.repeat(2)), ("nonce", &STATE.repeat(2))]);
            pairs.extend(good.pairs().iter().filter(|(name, _)| !taken.contains(name)).cloned());
        }
        let redirect = match validate(&Params::new(pairs), form, platform) {
            Ok(request) => request.redirect,
            Err(AuthorizationError::Redirect(redirect, _)) => redirect,
            Err(AuthorizationError::Page(_)) => return Ok(()),
        };
        prop_assert!(directory().0[0].redirect_uris.iter().any(|uri| uri == redirect.redirect_uri()));
    }

    #[test]
    fn state_and_nonce_come_back_byte_for_byte(state in "[ -~]{32,200}", nonce in "[ -~]{32,200}", code in "[A-Za-z0-9_-]{43}") {
        let params = with(&[("state", &state), ("nonce", &nonce)]);
        let request = validate(&params, RequestMethod::Post, Platform::Standard).unwrap();
        prop_assert_eq!(request.nonce.map(Secret::into_inner), Some(nonce));
        let AuthorizationResponse::Redirect { location } = request.redirect.code_response(&code) else { panic!() };
        let query = location.strip_prefix("https://sp.example/cb?").unwrap();
        let back: Vec<_> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let expected = [("tenant", "1"), ("code", &code), ("state", &state), ("iss", ISSUER)];
        prop_assert_eq!(back, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
