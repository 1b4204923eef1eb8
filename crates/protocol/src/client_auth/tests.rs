//! Which credentials a request offers, and which requests are malformed.

use super::*;
use crate::error_response::ErrorResponse;
use proptest::prelude::*;
use serde_json::json;

fn offered(body: &str, headers: &[&str]) -> Result<Credentials, ErrorCode> {
    let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
    read_credentials(&Params::decode(body.as_bytes()), &headers)
}

fn refusal(body: &str, headers: &[&str]) -> ErrorCode {
    offered(body, headers).unwrap_err()
}

fn basic_header(both: &str) -> String {
    format!("Basic {}", STANDARD.encode(both))
}

/// A token of this issuer with an invalid signature.
fn assertion_from(issuer: &str) -> String {
    let part = |value: Value| digest::base64url(value.to_string().as_bytes());
    format!("{}.{}.c2ln", part(json!({ "alg": "ES256" })), part(json!({ "iss": issuer })))
}

fn by_assertion(assertion: &str) -> String {
    let pairs =
        [("client_assertion_type", JWT_BEARER_ASSERTION_TYPE), ("client_assertion", assertion)];
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

#[test]
fn each_method_is_known_by_what_it_sends() {
    let Ok(Credentials::SecretPost { client_id, secret }) =
        offered("client_id=sp&client_secret=s+3", &[])
    else {
        panic!()
    };
    assert_eq!((client_id.as_str(), secret.reveal().as_str()), ("sp", "s 3"));
    for body in ["", "client_id=sp", "client_secret="] {
        let Ok(Credentials::SecretBasic { client_id, secret }) =
            offered(body, &[&basic_header("sp:s3")])
        else {
            panic!()
        };
        assert_eq!((client_id.as_str(), secret.reveal().as_str()), ("sp", "s3"));
    }
    for id in ["", "&client_id=sp"] {
        let body = format!("{}{id}", by_assertion(&assertion_from("sp")));
        let Ok(Credentials::Assertion { claimed, .. }) = offered(&body, &[]) else { panic!() };
        assert_eq!(claimed.unwrap().as_str(), "sp");
    }
}

/// RFC 6749 §2.3.1 and its appendix B: a `:` in an id, a `+` or `%` in a secret survive.
#[test]
fn both_halves_of_the_header_are_form_decoded() {
    for (both, id, expected) in [
        ("s%70:a+b%2Bc%25", "sp", "a b+c%"),
        ("a%3Ab:c:d", "a:b", "c:d"),
        ("sp:", "sp", ""),
        ("sp:%C3%A9=", "sp", "é="),
        ("sp:not%encoded", "sp", "not%encoded"),
    ] {
        let Ok(Credentials::SecretBasic { client_id, secret }) =
            offered("", &[&basic_header(both)])
        else {
            panic!("{both}")
        };
        assert_eq!((client_id.as_str(), secret.reveal().as_str()), (id, expected), "{both}");
    }
    let lower = basic_header("sp:s").replace("Basic ", "bAsIc  ");
    assert!(
        matches!(offered("", &[&lower]), Ok(Credentials::SecretBasic { .. })),
        "the scheme's case is ignored, RFC 9110 §11.1"
    );
}

#[test]
fn a_header_that_can_not_be_read_looks_like_a_wrong_secret() {
    let not_text = format!("Basic {}", STANDARD.encode(b"sp:\xff"));
    for header in [
        "Basic",
        "Basic !",
        "Bearer x",
        "",
        &basic_header("sp"),
        &basic_header(":s"),
        &basic_header("sp&x:s"),
        &basic_header("sp:s&x"),
        &not_text,
    ] {
        assert_eq!(
            refusal("client_id=other", &[header]),
            ErrorCode::ClientHeaderMalformed,
            "{header}"
        );
    }
    let wrong_secret = ErrorResponse::for_client(
        ErrorCode::ClientAuthentication,
        crate::error_response::AuthLocation::Header,
    );
    assert_eq!(
        ErrorResponse::for_client(
            ErrorCode::ClientHeaderMalformed,
            crate::error_response::AuthLocation::Header
        ),
        wrong_secret
    );
}

#[test]
fn no_method_is_named_by_the_parameter_that_is_missing() {
    for (body, code) in [
        ("", ErrorCode::Missing(RequiredParam::TokenClientId)),
        ("client_secret=s", ErrorCode::Missing(RequiredParam::TokenClientId)),
        (
            "client_id=sp&client_assertion=j",
            ErrorCode::Missing(RequiredParam::TokenClientAssertionType),
        ),
        (
            "client_id=sp&client_assertion_type=t",
            ErrorCode::Missing(RequiredParam::TokenClientAssertion),
        ),
    ] {
        assert_eq!(refusal(body, &[]), code, "{body}");
        assert_eq!((code.entry().status, code.entry().oauth), (400, "invalid_request"));
    }
    for (code, name) in [
        (ErrorCode::Missing(RequiredParam::TokenClientAssertionType), "client_assertion_type "),
        (ErrorCode::Missing(RequiredParam::TokenClientAssertion), "client_assertion "),
    ] {
        assert!(code.entry().description.contains(name));
    }
}

#[test]
fn an_id_alone_is_what_a_public_client_sends() {
    for body in ["client_id=sp", "client_id=sp&client_secret="] {
        let Ok(Credentials::Public { client_id }) = offered(body, &[]) else { panic!() };
        assert_eq!(client_id.as_str(), "sp");
    }
}

#[test]
fn two_methods_at_once_are_refused() {
    let header = basic_header("sp:s");
    let jwt = by_assertion(&assertion_from("sp"));
    for (body, headers) in [
        ("client_id=sp&client_secret=s", vec![header.as_str()]),
        (&format!("client_id=sp&client_secret=s&{jwt}"), vec![]),
        ("client_id=sp&client_secret=s&client_assertion_type=t", vec![]),
        (&jwt, vec![&header]),
        ("", vec![&header, &header]),
    ] {
        assert_eq!(refusal(body, &headers), ErrorCode::TokenTwoMethods, "{body} {headers:?}");
    }
}

#[test]
fn ids_that_differ_are_refused() {
    assert_eq!(
        refusal("client_id=sp", &[&basic_header("other:s")]),
        ErrorCode::TokenClientIdDiffers
    );
    let body = format!("{}&client_id=other", by_assertion(&assertion_from("sp")));
    assert_eq!(refusal(&body, &[]), ErrorCode::TokenClientIdDiffers);
}

#[test]
fn another_kind_of_assertion_is_an_unsupported_method() {
    let saml = by_assertion(&assertion_from("sp")).replace("jwt-bearer", "saml2-bearer");
    assert_eq!(refusal(&saml, &[]), ErrorCode::ClientAssertionTypeUnsupported);
    assert_eq!(
        ErrorResponse::from(ErrorCode::ClientAssertionTypeUnsupported),
        ErrorResponse::from(ErrorCode::ClientAuthentication)
    );
}

#[test]
fn an_assertion_that_can_not_be_read_claims_no_client() {
    for assertion in ["j", "a.b.c", "..", "a.e30.c", &assertion_from("sp").replace('.', "")] {
        let Ok(Credentials::Assertion { claimed, .. }) = offered(&by_assertion(assertion), &[])
        else {
            panic!()
        };
        assert_eq!(claimed, None, "{assertion}");
    }
}

#[test]
fn nothing_offered_is_printed() {
    let header = basic_header("sp:s3cret");
    for (body, headers) in
        [("client_id=sp&client_secret=s3cret", vec![]), ("", vec![header.as_str()])]
    {
        let printed = format!("{:?}", offered(body, &headers).unwrap());
        assert!(!printed.contains("s3cret"), "{printed}");
    }
    let assertion = assertion_from("sp");
    let printed = format!("{:?}", offered(&by_assertion(&assertion), &[]).unwrap());
    assert!(!printed.contains(&assertion));
}

proptest! {
    #[test]
    fn form_encoded_credentials_are_decoded(id in "[!-~]{1,40}", secret in "\\PC{0,40}") {
        let encoded = |text: &str| url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        let header = basic_header(&format!("{}:{}", encoded(&id), encoded(&secret)));
        let Ok(Credentials::SecretBasic { client_id, secret: read }) = offered("", &[&header]) else { panic!() };
        prop_assert_eq!((client_id.as_str(), read.reveal().as_str()), (id.as_str(), secret.as_str()));
    }
}
