//! What the demo wallet does with a request: verifies who asks, and presents a document as an
//! SD-JWT VC with key binding (RFC 9901).

use std::time::Duration;

use josekit::jws::{ES256, JwsVerifier as _};
use openssl::x509::X509;
use reqwest::redirect::Policy;
use serde_json::{Map, Value, json};
use url::Url;

use super::credentials::DemoIssuer;
use crate::connectors::DemoPerson;
use passerelle_egress::system_authorities::build_with_system_authorities;
use passerelle_egress::tls_provider::install_tls_provider;
use passerelle_jose::response_key::encrypt_response;
use passerelle_jose::{SigningKey, generate_ephemeral};
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::digest;
use passerelle_protocol::env::Env;

/// Document type of the PID.
const PID: &str = "urn:eudi:pid:1";
const TIME_LIMIT: Duration = Duration::from_secs(6);
/// Names of the places of birth, by the codes of the sandbox's persons.
const PLACES: [(&str, &str); 4] =
    [("75107", "Paris"), ("2A004", "Ajaccio"), ("33063", "Bordeaux"), ("69123", "Lyon")];
/// ISO 3166-1 codes of the countries of birth.
const COUNTRIES: [(&str, &str); 3] = [("99100", "FR"), ("99134", "ES"), ("99341", "SN")];

/// Why the wallet does not answer.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DemoPresentationError {
    #[error("The hub can't be reached, or does not know the request: begin again there.")]
    HubUnreachable,
    #[error("The request is not signed by the certificate that its client_id names.")]
    UnverifiedRequest,
    #[error("The request does not ask for an identity document of the demo.")]
    UnsupportedRequest,
    #[error("The hub refused the answer.")]
    AnswerRefused,
}

/// A request whose sender is verified.
pub(super) struct ValidRequest {
    client_id: String,
    nonce: String,
    response_uri: String,
    key: Map<String, Value>,
    /// Id of the credential query.
    credential: String,
    /// Names of the requested claims.
    pub claims: Vec<String>,
}

impl ValidRequest {
    /// Returns the origin that gets the answer.
    pub(super) fn response_origin(&self) -> &str {
        self.response_uri.split("/api/").next().unwrap_or_default()
    }
}

/// What a presentation is made of.
pub(super) struct PresentationParams<'a> {
    pub issuer: &'a DemoIssuer,
    pub request: &'a ValidRequest,
    pub env: &'a Env,
}

/// HTTP client of the wallet.
pub(super) struct RequestClient(reqwest::Client);

impl RequestClient {
    /// Creates a client.
    ///
    /// # Errors
    /// Returns an error if TLS is not available.
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        install_tls_provider();
        let build = |builder: reqwest::ClientBuilder| {
            builder.no_proxy().redirect(Policy::none()).timeout(TIME_LIMIT).build()
        };
        build_with_system_authorities(build).map(|(client, _)| Self(client))
    }

    /// Fetches a request and verifies its sender.
    ///
    /// # Errors
    /// Any [`DemoPresentationError`] but `AnswerRefused`.
    pub(super) async fn fetch_request(
        &self,
        client_id: &str,
        request_uri: &str,
    ) -> Result<ValidRequest, DemoPresentationError> {
        let response = self.0.get(request_uri).send().await;
        let response = response.and_then(reqwest::Response::error_for_status);
        let response = response.map_err(|_| DemoPresentationError::HubUnreachable)?;
        let jws = response.text().await.map_err(|_| DemoPresentationError::HubUnreachable)?;
        let claims =
            verify_request(&jws, client_id).ok_or(DemoPresentationError::UnverifiedRequest)?;
        read_request(&claims).ok_or(DemoPresentationError::UnsupportedRequest)
    }

    /// Answers a request: with the document of a person, or that the user declines. Returns where
    /// the browser goes.
    ///
    /// # Errors
    /// `AnswerRefused`, `HubUnreachable`.
    pub(super) async fn send_answer(
        &self,
        params: &PresentationParams<'_>,
        person: Option<&DemoPerson>,
    ) -> Result<String, DemoPresentationError> {
        let request = params.request;
        let answer = match person {
            None => json!({ "error": "access_denied" }),
            Some(person) => {
                let presentation = present_document(params, person).await;
                let presentation = presentation.ok_or(DemoPresentationError::UnsupportedRequest)?;
                json!({ "vp_token": { request.credential.as_str(): [presentation] } })
            }
        };
        let jwe = encrypt_response(&request.key, "A256GCM", answer.to_string().as_bytes())
            .map_err(|_| DemoPresentationError::UnsupportedRequest)?;
        let body = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("response", &jwe)
            .finish();
        let form = ("content-type", "application/x-www-form-urlencoded");
        let call = self.0.post(&request.response_uri).header(form.0, form.1).body(body);
        let response = call.send().await.map_err(|_| DemoPresentationError::HubUnreachable)?;
        let response =
            response.error_for_status().map_err(|_| DemoPresentationError::AnswerRefused)?;
        let body = response.text().await.map_err(|_| DemoPresentationError::HubUnreachable)?;
        let body: Value =
            serde_json::from_str(&body).map_err(|_| DemoPresentationError::AnswerRefused)?;
        let uri = body.get("redirect_uri").and_then(Value::as_str);
        let uri = uri.filter(|uri| Url::parse(uri).is_ok());
        uri.map(str::to_owned).ok_or(DemoPresentationError::AnswerRefused)
    }
}

/// Verifies a request object with the certificate in it, which `client_id` names by its hash
/// (OpenID4VP 1.0 §5.9.3).
fn verify_request(jws: &str, client_id: &str) -> Option<Value> {
    let (input, signature) = jws.rsplit_once('.')?;
    let (header, payload) = input.split_once('.')?;
    let parse = |part: &str| serde_json::from_slice::<Value>(&digest::from_base64url(part)?).ok();
    let header = parse(header)?;
    let leaf = header.get("x5c")?.get(0)?.as_str()?;
    let der = openssl::base64::decode_block(leaf).ok()?;
    let hash = format!("x509_hash:{}", digest::base64url(&digest::sha256(&der)));
    let is_typed = header.get("typ")? == "oauth-authz-req+jwt" && header.get("alg")? == "ES256";
    let key = X509::from_der(&der).ok()?.public_key().ok()?.public_key_to_der().ok()?;
    let verifier = ES256.verifier_from_der(key).ok()?;
    verifier.verify(input.as_bytes(), &digest::from_base64url(signature)?).ok()?;
    let claims = parse(payload)?;
    let is_named = hash == client_id && claims.get("client_id")? == client_id;
    (is_typed && is_named).then_some(claims)
}

fn read_request(claims: &Value) -> Option<ValidRequest> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).map(str::to_owned);
    let credentials = claims.get("dcql_query")?.get("credentials")?.as_array()?;
    let query =
        credentials.iter().find(|query| query.get("format").is_some_and(|f| f == "dc+sd-jwt"))?;
    let top_level = |claim: &Value| claim.get("path")?.get(0)?.as_str().map(str::to_owned);
    let mut names: Vec<String> =
        query.get("claims")?.as_array()?.iter().filter_map(top_level).collect();
    let mut known = std::collections::BTreeSet::new();
    names.retain(|name| known.insert(name.clone()));
    Some(ValidRequest {
        client_id: text("client_id")?,
        nonce: text("nonce")?,
        response_uri: text("response_uri")?,
        key: claims.get("client_metadata")?.get("jwks")?.get("keys")?.get(0)?.as_object()?.clone(),
        credential: query.get("id")?.as_str()?.to_owned(),
        claims: names,
    })
}

/// Issues a document for a new key of the holder, and presents the requested claims.
async fn present_document(params: &PresentationParams<'_>, person: &DemoPerson) -> Option<String> {
    let PresentationParams { issuer, request, env } = params;
    let now = env.now();
    let holder = SigningKey::parse(&generate_ephemeral(SigningAlg::ES256).ok()?, now, now).ok()?;
    let disclosures = pid_claims(person).into_iter().map(|(name, value)| {
        let disclosure = json!([env.entropy().token(), name, value]).to_string();
        (name, digest::base64url(disclosure.as_bytes()))
    });
    let disclosures: Vec<(String, String)> = disclosures.collect();
    let digests: Vec<_> =
        disclosures.iter().map(|(_, one)| digest::sha256_base64url(one)).collect();
    let holder_jwk: Value = serde_json::from_str(holder.public_jwk()).ok()?;
    let payload = json!({
        "vct": PID, "iat": now.seconds(), "exp": now.seconds() + 24 * 3600,
        "_sd_alg": "sha-256", "_sd": digests, "cnf": { "jwk": holder_jwk },
    });
    let mut sd_jwt = issuer.signer.sign("dc+sd-jwt", &payload).ok()? + "~";
    for (_, disclosure) in disclosures.iter().filter(|(name, _)| request.claims.contains(name)) {
        sd_jwt.push_str(disclosure);
        sd_jwt.push('~');
    }
    let binding = json!({
        "aud": request.client_id, "nonce": request.nonce, "iat": now.seconds(),
        "sd_hash": digest::sha256_base64url(&sd_jwt),
    });
    let binding = digest::base64url(binding.to_string().as_bytes());
    let input = format!("{}.{binding}", holder.header("kb+jwt"));
    let signature = digest::base64url(&holder.sign(input.as_bytes()).await.ok()?);
    Some(format!("{sd_jwt}{input}.{signature}"))
}

/// Returns the claims of a person's PID (PID rulebook §4).
fn pid_claims(person: &DemoPerson) -> Vec<(String, Value)> {
    let named = |table: &[(&str, &'static str)], code: &Option<String>| {
        let code = code.as_deref()?;
        table.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
    };
    let sex = person.gender.as_deref().and_then(|gender| match gender {
        "male" => Some(1),
        "female" => Some(2),
        _ => None,
    });
    let mut birth = Map::new();
    for (name, value) in [
        ("country", named(&COUNTRIES, &person.birthcountry)),
        ("locality", named(&PLACES, &person.birthplace)),
    ] {
        birth.extend(value.map(|value| (name.to_owned(), value.into())));
    }
    let claims = [
        ("given_name", person.given_name.clone().map(Value::from)),
        (
            "family_name",
            person
                .preferred_username
                .as_ref()
                .or(person.family_name.as_ref())
                .map(|name| name.as_str().into()),
        ),
        ("birth_family_name", person.family_name.clone().map(Value::from)),
        ("birthdate", person.birthdate.clone().map(Value::from)),
        ("place_of_birth", Some(Value::Object(birth))),
        ("nationalities", Some(json!(["FR"]))),
        ("sex", sex.map(Value::from)),
        ("email", person.email.clone().map(Value::from)),
        ("personal_administrative_number", Some(format!("demo-{}", person.id).into())),
        ("issuing_country", Some("FR".into())),
        ("issuing_authority", Some("Make-believe".into())),
    ];
    claims.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
