//! Signs the authorization request (RFC 9101) and pushes it (RFC 9126), where the connector's file
//! or the identity provider's metadata says so.
//!
//! The browser then carries a reference or a signed object, and can change no parameter.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use openidconnect::HttpRequest;
use serde_json::{Map, Value};
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::client_assertion::assertion_error;
use super::code_exchange::{CallPurpose, assertion_params};
use super::metadata::ResolvedProvider;
use super::settings::{UpstreamAuthMethod, UpstreamFeature};
use super::upstream::Upstream;
use crate::error::ConnectorError;
use passerelle_jose::Signer as _;
use passerelle_jose::relying_party_keys::REQUEST_OBJECT_LIFETIME;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::json;
use passerelle_telemetry::printable_ascii;
use passerelle_telemetry::trace;

/// Maximum length of a `request_uri` in a redirect.
const MAX_REQUEST_URI_CHARS: usize = 2048;

type Pairs = Vec<(String, String)>;

impl Upstream {
    /// Returns the URL of a protected request in place of the plain one.
    ///
    /// # Errors
    /// `IdpAssertion` if no key can sign; an error if the request can't be pushed, or the identity
    /// provider rejects it.
    pub(super) async fn protect_request(
        &self,
        provider: &ResolvedProvider,
        plain: Url,
    ) -> Result<Url, ConnectorError> {
        let kind = &self.kind;
        let is_signed = kind.request_objects.is_used(provider.requires_request_objects);
        let endpoint = match (kind.pushed_authorization_requests, &provider.pushed_request_endpoint)
        {
            (UpstreamFeature::Off, _) | (UpstreamFeature::Auto, None) => None,
            (UpstreamFeature::Auto | UpstreamFeature::On, Some(endpoint)) => Some(endpoint),
            (UpstreamFeature::On, None) => {
                let message = "its metadata has no pushed_authorization_request_endpoint, but pushed_authorization_requests is \"on\"";
                return Err(ConnectorError::new(ErrorCode::IdpDiscovery, message));
            }
        };
        if !is_signed && endpoint.is_none() {
            return Ok(plain);
        }
        let authorization = &provider.authorization_endpoint;
        // The crate appends the parameters to those of the endpoint's own address.
        let own = authorization.query_pairs().count();
        let mut pairs: Pairs = plain.query_pairs().into_owned().skip(own).collect();
        if is_signed {
            pairs = self.sign_request(&pairs, endpoint.is_some()).await?;
        }
        if let Some(endpoint) = endpoint {
            let request_uri = self.push_request(provider, endpoint, pairs).await?;
            pairs = vec![
                ("client_id".to_owned(), kind.client_id.clone()),
                ("request_uri".to_owned(), request_uri),
            ];
        }
        let mut url = authorization.clone();
        url.query_pairs_mut().extend_pairs(&pairs);
        Ok(url)
    }

    /// Returns the parameters of a request with a signed object.
    async fn sign_request(
        &self,
        pairs: &[(String, String)],
        is_pushed: bool,
    ) -> Result<Pairs, ConnectorError> {
        let (kind, now) = (&self.kind, self.env.now());
        let mut claims: Map<String, Value> =
            pairs.iter().map(|(name, value)| (name.clone(), claim_value(name, value))).collect();
        for (name, value) in [
            ("iss", Value::from(kind.client_id.as_str())),
            ("aud", kind.issuer.as_str().into()),
            ("jti", self.env.entropy().token().into()),
            ("iat", now.seconds().into()),
            ("nbf", now.seconds().into()),
            ("exp", (now + REQUEST_OBJECT_LIFETIME).seconds().into()),
        ] {
            claims.insert(name.to_owned(), value);
        }
        let alg = kind.request_object_signing_alg.unwrap_or_default();
        let payload = Value::Object(claims).to_string();
        let keys = self.hub_keys.load_full();
        let object = keys.assertion().sign(alg, "oauth-authz-req+jwt", payload.as_bytes(), now);
        let object = object.await.map_err(|error| assertion_error(&error))?;
        // OpenID Connect Core §6.1 asks for the other two beside the object; a pushed request needs
        // none of them (RFC 9126 §3).
        let beside: &[&str] =
            if is_pushed { &["client_id"] } else { &["client_id", "response_type", "scope"] };
        let kept = pairs.iter().filter(|(name, _)| beside.contains(&name.as_str())).cloned();
        Ok(kept.chain([("request".to_owned(), object)]).collect())
    }

    /// Pushes a request, and returns its `request_uri`.
    async fn push_request(
        &self,
        provider: &ResolvedProvider,
        endpoint: &Url,
        mut pairs: Pairs,
    ) -> Result<String, ConnectorError> {
        let mut request = http::Request::post(endpoint.as_str())
            .header(ACCEPT, "application/json")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded");
        let secret = self.client_secret.as_ref().map(|secret| secret.reveal().as_str());
        match (self.kind.token_endpoint_auth_method, secret) {
            (UpstreamAuthMethod::ClientSecretPost, Some(secret)) => {
                pairs.push(("client_secret".to_owned(), secret.to_owned()));
            }
            (UpstreamAuthMethod::ClientSecretBasic, Some(secret)) => {
                request = request.header(AUTHORIZATION, basic(&self.kind.client_id, secret));
            }
            _ => {
                let assertion = self.sign_client_assertion(&provider.token_endpoint).await?;
                let params = assertion_params(assertion).into_iter();
                pairs.extend(params.map(|(name, value)| (name.to_owned(), value)));
            }
        }
        let body = Serializer::new(String::new()).extend_pairs(&pairs).finish();
        let request: HttpRequest = request.body(body.into_bytes()).map_err(|_| {
            ConnectorError::new(ErrorCode::Internal, "the pushed request can't be built")
        })?;
        let http = self.authenticating_http(provider, CallPurpose::Login);
        let response = trace::start_span("idp push").run(http.send(request)).await?;
        match response.status().as_u16() {
            200 | 201 => read_request_uri(response.body()),
            400..=428 => Err(push_error(response.body())),
            _ => Err(ConnectorError::unexpected_status(
                "the pushed authorization request endpoint",
                &response,
            )),
        }
    }
}

/// RFC 9101 §4: numbers and objects are written as such.
fn claim_value(name: &str, value: &str) -> Value {
    let parsed = match name {
        "max_age" => value.parse::<u64>().ok().map(Value::from),
        "claims" => json::parse_object(value.as_bytes()).ok().map(Value::Object),
        _ => None,
    };
    parsed.unwrap_or_else(|| value.into())
}

/// RFC 6749 §2.3.1: both halves are form-encoded.
fn basic(client_id: &str, secret: &str) -> String {
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let both = format!("{}:{}", encoded(client_id), encoded(secret));
    format!("Basic {}", STANDARD.encode(both))
}

/// Reads the response of RFC 9126 §2.2.
fn read_request_uri(body: &[u8]) -> Result<String, ConnectorError> {
    let members = json::parse_object(body).ok();
    let uri = members.as_ref().and_then(|members| members.get("request_uri")?.as_str());
    let is_acceptable = |uri: &&str| {
        (1..=MAX_REQUEST_URI_CHARS).contains(&uri.len())
            && uri.bytes().all(|byte| byte.is_ascii_graphic())
    };
    uri.filter(is_acceptable).map(str::to_owned).ok_or_else(|| {
        let message = "the response to the pushed request has no request_uri of printable ASCII";
        ConnectorError::new(ErrorCode::IdpPushAnswer, message)
    })
}

fn push_error(body: &[u8]) -> ConnectorError {
    let members = json::parse_object(body).unwrap_or_default();
    let member = |name: &str| members.get(name).and_then(Value::as_str).unwrap_or_default();
    let (error, description) = (member("error"), member("error_description"));
    let code = if error == "invalid_client" {
        ErrorCode::IdpClientRefused
    } else {
        ErrorCode::IdpPushRefused
    };
    let detail =
        format!("error={} {}", printable_ascii(error, 64), printable_ascii(description, 200));
    ConnectorError::new(code, detail)
}
