//! Requests of service providers and of browsers that they send.

use std::str;
use std::time::Duration;

use url::Url;

use super::sample_keys::{NOW, SampleSigner, public_jwks};
use super::{FuzzFunction, FuzzTarget, split_line, target};
use passerelle_federation::client_assertions::{AcceptedAudiences, AssertionRules, HubAddresses};
use passerelle_federation::testing::samples;
use passerelle_grants::{assertion, request_object};
use passerelle_jose::verify::{VerificationKeys, verify_jws};
use passerelle_protocol::acr::{AcrRegistration, Level, LevelName, Platform};
use passerelle_protocol::alg::VerificationAlg;
use passerelle_protocol::authorize::explanation::{
    ExplanationContext, RequestOutcome, explain_request,
};
use passerelle_protocol::authorize::parameter_source::{
    ParameterSource, reject_unresolved_request,
};
use passerelle_protocol::authorize::pushed;
use passerelle_protocol::authorize::request_object::parameters_of_object;
use passerelle_protocol::authorize::{
    AuthorizationError, AuthorizationRequest, RequestMethod, evaluate_requested_acr,
    validate_request,
};
use passerelle_protocol::catalogue::Param;
use passerelle_protocol::client_auth::read_credentials;
use passerelle_protocol::ids::{ClientId, Scope, Subject};
use passerelle_protocol::introspection::IntrospectionRequest;
use passerelle_protocol::logout::{self, LogoutHint, LogoutRequest};
use passerelle_protocol::params::Params;
use passerelle_protocol::registration::{ClientDirectory, ProtocolRules, Registration};
use passerelle_protocol::token::{RefreshTokenSupport, TokenGrant, TokenRequest};
use passerelle_protocol::userinfo::{TokenScheme, parse_access_token};
use passerelle_protocol::{revocation, token};
use passerelle_web::form;
use passerelle_web::pasted_request::PastedRequest;

pub(super) const TARGETS: &[FuzzTarget] = &[
    target(
        "authorization_query",
        &[
            "crates/protocol/src/authorize.rs",
            "crates/protocol/src/authorize/",
            "crates/protocol/src/params.rs",
            "crates/web/src/form.rs",
        ],
        || authorization(RequestMethod::Get),
    ),
    target(
        "authorization_body",
        &[
            "crates/protocol/src/authorize/",
            "crates/protocol/src/authorize/pushed.rs",
            "crates/web/src/form.rs",
        ],
        || authorization(RequestMethod::Post),
    ),
    target(
        "claims_parameter",
        &["crates/protocol/src/authorize/claims.rs", "crates/protocol/src/json.rs"],
        claims,
    ),
    target(
        "pasted_request",
        &[
            "crates/web/src/pasted_request.rs",
            "crates/protocol/src/authorize/explanation.rs",
            "crates/protocol/src/authorize/explanation/",
        ],
        pasted_request,
    ),
    target(
        "token_request",
        &[
            "crates/protocol/src/token.rs",
            "crates/protocol/src/refresh.rs",
            "crates/protocol/src/revocation.rs",
            "crates/protocol/src/introspection.rs",
            "crates/protocol/src/client_auth.rs",
        ],
        token_request,
    ),
    target("userinfo_headers", &["crates/protocol/src/userinfo.rs"], userinfo_headers),
    target(
        "client_assertion",
        &["crates/grants/src/assertion.rs", "crates/jose/src/verify.rs"],
        client_assertion,
    ),
    target(
        "request_object",
        &["crates/grants/src/request_object.rs", "crates/protocol/src/authorize/request_object.rs"],
        request_object,
    ),
    target("logout_request", &["crates/protocol/src/logout.rs"], logout_request),
];

/// A service provider under each set of rules.
struct SampleClients([Registration; 3]);

impl SampleClients {
    fn new() -> Self {
        let level = LevelName {
            name: "urn:mfa".into(),
            level: Level::Eidas1,
            multi_factor: true,
            mail: false,
        };
        let federation = Registration {
            acr: AcrRegistration {
                level_names: vec![level],
                default_values: vec!["urn:mfa".into()],
            },
            post_logout_redirect_uris: vec!["https://sp.example/out".into()],
            ..samples::registration("sp")
        };
        let openid = Registration {
            client_id: "openid".into(),
            rules: ProtocolRules::Openid,
            ..federation.clone()
        };
        let mut signed = samples::registration("signed");
        signed.protection.request_object_algs = Some(VerificationAlg::ES256.into());
        Self([federation, openid, signed])
    }
}

impl ClientDirectory for SampleClients {
    fn registration(&self, client_id: &str) -> Option<&Registration> {
        self.0.iter().find(|registration| registration.client_id.as_str() == client_id)
    }

    fn is_known_scope(&self, scope: &str, _: ProtocolRules) -> bool {
        ["openid", "email", "profile", "birthdate", "offline_access"].contains(&scope)
    }
}

fn authorization(method: RequestMethod) -> FuzzFunction {
    let clients = SampleClients::new();
    Box::new(move |data| {
        let Ok(params) = form::parse_pairs(data) else { return false };
        if params.check_readable(Param::AUTHORIZATION).is_err() {
            return false;
        }
        let accepted = [Platform::Standard, Platform::High]
            .map(|platform| check_authorization(&params, method, platform, &clients));
        let pushed = pushed::parse_request(Some(FORM), &[], params);
        if let Ok(pushed) = pushed {
            let params = pushed.authorization_params(&ClientId::new("sp"), &[]);
            check_authorization(&params, method, Platform::Standard, &clients);
        }
        accepted.contains(&true)
    })
}

/// RFC 9700 §4.11: an answer, good or bad, is only sent to a registered redirect URI.
fn check_authorization(
    params: &Params,
    method: RequestMethod,
    platform: Platform,
    clients: &SampleClients,
) -> bool {
    let outcome = validate_request(params, method, platform, samples::ISSUER, clients);
    let redirect = match &outcome {
        Ok(request) => {
            check_accepted(request, params, clients);
            &request.redirect
        }
        Err(AuthorizationError::Redirect(redirect, _)) => redirect,
        Err(AuthorizationError::Page(_)) => return false,
    };
    assert_eq!(redirect.redirect_uri(), samples::SP_CALLBACK, "an open redirector");
    for registration in &clients.0 {
        let source = ParameterSource::find(params, registration.protection);
        if let Err(code) = source {
            let error = reject_unresolved_request(params, method, samples::ISSUER, clients, code);
            if let AuthorizationError::Redirect(redirect, _) = error {
                assert_eq!(redirect.redirect_uri(), samples::SP_CALLBACK, "an open redirector");
            }
        }
    }
    outcome.is_ok()
}

/// A request that passed holds nothing that was not sent, and nothing that is not granted.
fn check_accepted(request: &AuthorizationRequest, params: &Params, clients: &SampleClients) {
    let registration = clients.registration(request.client_id.as_str()).unwrap();
    assert_eq!(params.get("client_id"), Some(request.client_id.as_str()));
    assert!(registration.active && registration.grants_scopes(&request.scopes));
    assert_eq!(request.scopes.first(), Some(&Scope::from("openid")));
    assert_eq!(request.check_registration(Some(registration)), Ok(()));
    if let Some(nonce) = &request.nonce {
        assert_eq!(params.get("nonce"), Some(nonce.reveal().as_str()));
    }
    let stored = serde_json::to_vec(request).unwrap();
    let loaded: AuthorizationRequest = serde_json::from_slice(&stored).unwrap();
    assert_eq!(&loaded, request, "the store's format changes the request");
}

fn claims() -> FuzzFunction {
    let clients = SampleClients::new();
    Box::new(move |data| {
        let (acr_values, claims) = split_line(data);
        let (Ok(acr_values), Ok(claims)) = (str::from_utf8(acr_values), str::from_utf8(claims))
        else {
            return false;
        };
        let mut accepted = false;
        for registration in &clients.0 {
            for platform in [Platform::Standard, Platform::High] {
                let requested = evaluate_requested_acr(
                    acr_values,
                    Some(claims),
                    registration.rules,
                    &registration.acr,
                    platform,
                );
                if let Ok(requested) = requested {
                    let _ = requested.level_names().count();
                    let _ = requested.accepts_level(Level::Eidas1);
                    accepted = true;
                }
            }
        }
        accepted
    })
}

fn pasted_request() -> FuzzFunction {
    let clients = SampleClients::new();
    Box::new(move |data| {
        let Ok(text) = str::from_utf8(data) else { return false };
        let Ok(pasted) = PastedRequest::parse(text) else { return false };
        let _ = pasted.client_id();
        let _ = pasted.expected_endpoint(samples::ISSUER);
        let Ok(url) = Url::parse(text) else { return false };
        let params = Params::decode(url.query().unwrap_or_default().as_bytes());
        let context = ExplanationContext {
            platform: Platform::Standard,
            issuer: samples::ISSUER,
            directory: &clients,
            scope_claims: &|_, _| vec!["email".to_owned()],
            idp_unavailable_reason: &|_, _, _| None,
        };
        let explained = explain_request(&params, RequestMethod::Get, &context);
        let validated = validate_request(
            &params,
            RequestMethod::Get,
            Platform::Standard,
            samples::ISSUER,
            &clients,
        );
        if explained.outcome == RequestOutcome::Accepted {
            assert!(validated.is_ok(), "an explanation accepts what is rejected");
        }
        explained.outcome == RequestOutcome::Accepted
    })
}

const FORM: &str = "application/x-www-form-urlencoded";

/// `Authorization` headers, each a line that begins with a colon; the rest is the body.
fn split_headers(data: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let (mut headers, mut rest) = (Vec::new(), data);
    while let Some(line) = rest.strip_prefix(b":") {
        let (header, after) = split_line(line);
        headers.push(header);
        rest = after;
    }
    (headers, rest)
}

fn token_request() -> FuzzFunction {
    Box::new(|data| {
        let (authorization, body) = split_headers(data);
        let Ok(body) = form::parse_pairs(body) else { return false };
        let parse = |support| token::parse_request(Some(FORM), &authorization, &body, support);
        let code = parse(RefreshTokenSupport::Off);
        if let Ok(request) = &code {
            assert_eq!(body.get("grant_type"), Some("authorization_code"));
            assert!(request.credentials.claimed_client().is_none_or(|id| !id.as_str().is_empty()));
        }
        if let Ok(TokenRequest { grant: TokenGrant::RefreshToken(grant), .. }) =
            parse(RefreshTokenSupport::On)
        {
            assert!(grant.scope.iter().all(|scope| !scope.is_empty()));
        }
        let _ = revocation::parse_request(&authorization, &body);
        let introspection = IntrospectionRequest::read(&authorization, &body);
        // R204: a secret in a header is never one of a data provider.
        assert!(authorization.is_empty() || introspection.secret.is_err());
        let _ = read_credentials(&body, &authorization);
        code.is_ok()
    })
}

fn userinfo_headers() -> FuzzFunction {
    Box::new(|data| {
        let (authorization, body) = split_headers(data);
        let (query, body) = split_line(body);
        let (Ok(query), Ok(body)) = (form::parse_pairs(query), form::parse_pairs(body)) else {
            return false;
        };
        let _ = TokenScheme::from_authorization(&authorization);
        let mut accepted = false;
        for body in [None, Some(&body)] {
            if let Ok(presented) = parse_access_token(&authorization, &query, body) {
                let token = presented.token.reveal();
                // RFC 6750 §2.1, b64token
                assert!(!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic()));
                assert!(!query.contains("access_token"), "a token in the address");
                accepted = true;
            }
        }
        accepted
    })
}

fn client_assertion() -> FuzzFunction {
    let (signer, jwks) = (SampleSigner::new(), public_jwks());
    let keys = VerificationKeys::from_client_jwks(&jwks).unwrap();
    let client = ClientId::new("sp");
    let rules = AssertionRules {
        algs: VerificationAlg::ES256.into(),
        audiences: AcceptedAudiences::IssuerAlone,
        max_lifetime: Duration::from_secs(300),
        rules: ProtocolRules::Federation,
    };
    let hub = HubAddresses { issuer: samples::ISSUER, certificate_base_url: None };
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let Ok(jws) = verify_jws(&compact, VerificationAlg::ES256, &keys) else { return false };
        let accepted = assertion::validate_assertion(&jws, &client, &rules, hub, NOW);
        if let Ok(accepted) = &accepted {
            assert_eq!(jws.claims["iss"], "sp");
            assert_eq!(jws.claims["sub"], "sp");
            assert_eq!(jws.claims["aud"], samples::ISSUER);
            assert!(!accepted.jti.is_empty());
            let longest = NOW + rules.max_lifetime + Duration::from_secs(61);
            assert!(NOW < accepted.until && accepted.until <= longest);
        }
        accepted.is_ok()
    })
}

fn request_object() -> FuzzFunction {
    let (signer, jwks, clients) = (SampleSigner::new(), public_jwks(), SampleClients::new());
    let keys = VerificationKeys::from_client_jwks(&jwks).unwrap();
    Box::new(move |data| {
        let Some(compact) = signer.token(data) else { return false };
        let Ok(jws) = verify_jws(&compact, VerificationAlg::ES256, &keys) else { return false };
        let mut accepted = false;
        for registration in &clients.0 {
            let checked = request_object::check_claims(&jws, registration, samples::ISSUER, NOW);
            let outer = Params::new(Vec::new());
            let Ok(params) = parameters_of_object(&jws.claims, &outer, registration, &[]) else {
                continue;
            };
            assert!(!params.contains("request") && !params.contains("request_uri"));
            if checked.is_ok() {
                assert_eq!(jws.claims["iss"], registration.client_id.as_str());
                accepted |=
                    check_authorization(&params, RequestMethod::Get, Platform::Standard, &clients);
            }
        }
        accepted
    })
}

fn logout_request() -> FuzzFunction {
    let clients = SampleClients::new();
    Box::new(move |data| {
        let Ok(params) = form::parse_pairs(data) else { return false };
        let hint = |hint: &str| {
            Ok(LogoutHint { audience: ClientId::new(hint), user: Subject::new("pairwise") })
        };
        let Ok(request) = logout::validate_request(&params, &clients, hint) else { return false };
        if let LogoutRequest::Named { hint, return_to: Some(back) } = request {
            let registration = clients.registration(hint.audience.as_str()).unwrap();
            let location = back.location();
            let uris = &registration.post_logout_redirect_uris;
            assert!(uris.iter().any(|uri| location.starts_with(uri)), "an open redirector");
        }
        true
    })
}
