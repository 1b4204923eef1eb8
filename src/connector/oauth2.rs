//! The OAuth 2.0 kind: a provider without OpenID Connect, as GitHub (RFC 6749, 4.1; RFC 7636; RFC 9207; RFC 9700).
//!
//! Owns: the way to such a provider and back, and who its userinfo is about. Must not know: service providers, sessions,
//! pages; what the other claims mean.
//!
//! Such a provider returns no ID token. What it says comes over TLS from the endpoints of its file, with the access token
//! that its own code was exchanged for, and nothing of it came through the browser: that is all the proof there is. So
//! there is no `acr` (the level is the file's `assumed_level`, eidas1), and no time of authentication: the parameters that
//! ask for a fresh one are always sent, and the callback's time counts, as with an OpenID Provider without `auth_time`.

mod examine;

use async_trait::async_trait;
use openidconnect::core::CoreClient;
use openidconnect::{
    AuthType, AuthUrl, ClientId, ClientSecret, IssuerUrl, JsonWebKeySet, PkceCodeChallenge,
    PkceCodeVerifier, TokenUrl,
};
use serde_json::{Map, Value};
use url::Url;

use super::code_flow::{self, Client};
use super::finding::{Examination, Finding};
use super::{Connector, ConnectorFault, ConnectorRefused, ConnectorContext};
use crate::assurance::acr::Agreement;
use crate::assurance::amr::Told;
use crate::config::model::ConnectorFile;
use crate::config::oauth2::{Oauth2Kind, SecretMethod};
use crate::egress::authorities::Authorities;
use crate::egress::guard::{Guard, Schemes};
use crate::env::Env;
use crate::ids::{ConnectorId, Secret};
use crate::login::upstream::{Arrival, Attempt, Authentication, Departure, AuthorizationRedirect};
use crate::protocol::catalogue::ErrorCode;
use crate::protocol::json;

/// Bytes of userinfo: as much as a signed one may have.
const LARGEST_USERINFO: usize = 64 * 1024;

/// Characters of a subject (OpenID Connect Core 1.0, 2, allows as many).
const LONGEST_SUBJECT: usize = 255;

pub struct Oauth2Connector {
    id: ConnectorId,
    kind: Oauth2Kind,
    authorization: Url,
    userinfo: Url,
    client: Client,
    env: Env,
    guard: Guard,
    /// The only authorities that its certificate may come from; `None`: those of the machine.
    authorities: Option<Authorities>,
    /// For probes.
    probe_guard: Guard,
    agreement: Agreement,
}

impl Oauth2Connector {
    /// Nothing is called yet, and nothing need be: every address is in the file.
    ///
    /// # Errors
    /// The file can't work; which key, and how to mend it.
    pub fn new(
        id: ConnectorId,
        file: &ConnectorFile,
        kind: &Oauth2Kind,
        client_secret: Option<Secret<String>>,
        means: ConnectorContext,
    ) -> Result<Self, ConnectorRefused> {
        let Some(client_secret) = client_secret else {
            return Err(ConnectorRefused::new(
                "kind.oauth2.client_secret",
                "it is missing; name the secret's file or variable",
            ));
        };
        let schemes = if kind.insecure_http { Schemes::HttpToo } else { Schemes::HttpsOnly };
        let authorities = super::authorities("kind.oauth2.ca", kind.ca.as_deref())?;
        let guard = means.guards.of(schemes, &kind.internal_hosts, authorities.as_ref()).map_err(
            |fault| {
                ConnectorRefused::new(
                    "kind.oauth2",
                    format!("no TLS client can be made; are ca-certificates installed? ({fault})"),
                )
            },
        )?;
        let probe_guard = means
            .guards
            .connecting_anew(schemes, &kind.internal_hosts, authorities.as_ref())
            .map_err(|fault| ConnectorRefused::new("kind.oauth2", fault.to_string()))?;
        let admit = |key: &'static str, text: &str| {
            let url = Url::parse(text)
                .map_err(|_| ConnectorRefused::new(key, "it is not an absolute URL"))?;
            guard.admit(&url).map_err(|fault| ConnectorRefused::new(key, fault.to_string()))?;
            Ok::<_, ConnectorRefused>(url)
        };
        // The browser goes there, not we; the same rules keep it from `javascript:` and plain http.
        let authorization =
            admit("kind.oauth2.endpoints.authorization", &kind.endpoints.authorization)?;
        let token = admit("kind.oauth2.endpoints.token", &kind.endpoints.token)?;
        let userinfo = admit("kind.oauth2.endpoints.userinfo", &kind.endpoints.userinfo)?;
        let issuer = IssuerUrl::new(kind.issuer.clone()).map_err(|_| {
            ConnectorRefused::new("kind.oauth2.issuer", "it is not an absolute URL")
        })?;
        let client = CoreClient::new(
            ClientId::new(kind.client_id.clone()),
            issuer,
            JsonWebKeySet::default(),
        )
        .set_client_secret(ClientSecret::new(client_secret.into_inner()))
        .set_auth_type(match kind.token_endpoint_auth_method {
            SecretMethod::ClientSecretBasic => AuthType::BasicAuth, // RFC 6749, 2.3.1
            SecretMethod::ClientSecretPost => AuthType::RequestBody,
        })
        .set_auth_uri(AuthUrl::from_url(authorization.clone()))
        .set_token_uri(TokenUrl::from_url(token));
        let agreement = super::agreement(file);
        Ok(Self {
            id,
            kind: kind.clone(),
            authorization,
            userinfo,
            client,
            env: means.env,
            guard,
            probe_guard,
            authorities,
            agreement,
        })
    }

    /// Asks for userinfo without a token.
    async fn knock(&self, guard: &Guard) -> Result<(), ConnectorFault> {
        let request = http::Request::get(self.userinfo.as_str()).body(Vec::new());
        let request = request.map_err(|_| {
            ConnectorFault::new(ErrorCode::Internal, "the userinfo address is none")
        })?;
        let answer = guard.send_safe(request).await?;
        match answer.status() {
            status if status.is_server_error() || status == http::StatusCode::TOO_MANY_REQUESTS => {
                Err(ConnectorFault::of_status("userinfo", &answer))
            }
            _ => Ok(()),
        }
    }

    /// The URL for the browser (RFC 6749, 4.1.1; RFC 7636, 4.3). What the endpoint's own query holds stays.
    fn departure_url(&self, departure: &Departure) -> Result<Url, ConnectorFault> {
        // RFC 7636, 4.1. The crate panics on another length.
        if !(43..=128).contains(&departure.verifier.reveal().len()) {
            return Err(ConnectorFault::new(
                ErrorCode::Internal,
                "the hub's own PKCE verifier has a wrong length",
            ));
        }
        let verifier = PkceCodeVerifier::new(departure.verifier.reveal().clone());
        let challenge = PkceCodeChallenge::from_code_verifier_sha256(&verifier);
        let mut url = self.authorization.clone();
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.kind.client_id)
            .append_pair("redirect_uri", &departure.redirect_uri)
            .append_pair("state", &departure.state)
            .append_pair("code_challenge", challenge.as_str())
            .append_pair("code_challenge_method", challenge.method().as_str());
        let scopes: Vec<&str> = self.kind.scopes.iter().map(crate::ids::Scope::as_str).collect();
        if !scopes.is_empty() {
            query.append_pair("scope", &scopes.join(" "));
        }
        query
            .extend_pairs(&self.kind.authorize_params)
            .extend_pairs(&self.kind.reauthentication_params);
        drop(query);
        Ok(url)
    }
}

#[async_trait]
impl Connector for Oauth2Connector {
    async fn begin(&self, departure: Departure) -> Result<AuthorizationRedirect, ConnectorFault> {
        Ok(AuthorizationRedirect {
            url: self.departure_url(&departure)?.into(),
            issuer: self.kind.issuer.clone(),
            client_id: self.kind.client_id.clone(),
            token_endpoint: self.kind.endpoints.token.clone(),
            iss_expected: self.kind.endpoints.iss_parameter,
        })
    }

    async fn complete(
        &self,
        attempt: Attempt,
        arrival: Arrival,
    ) -> Result<Authentication, ConnectorFault> {
        let code =
            code_flow::judge_arrival(&self.kind.issuer, &self.kind.client_id, &attempt, arrival)?;
        let granted =
            code_flow::redeem(&self.client, &self.guard, code, &attempt, Vec::new()).await?;
        let auth_time = self.env.now();
        let body = code_flow::userinfo(
            &self.userinfo,
            "application/json",
            &granted.access_token,
            &self.guard,
        )
        .await?;
        let claims = person(&body)?;
        let upstream_subject = subject(&claims, &self.kind.subject_claim)?;
        let judged = self.agreement.judge(None, self.agreement.to_ask(attempt.level));
        Ok(Authentication {
            connector: self.id.clone(),
            upstream_subject,
            level: judged.map_err(|fault| ConnectorFault::new(fault.code(), fault.to_string()))?,
            amr: Told::Nothing,
            auth_time,
            claims,
            id_token: None,
        })
    }

    /// There is nothing to fetch ahead, neither metadata nor keys; whether anybody is there can be seen all the same:
    /// without a token userinfo is refused, and a refusal is an answer.
    async fn warm(&self) -> Result<(), ConnectorFault> {
        self.knock(&self.guard).await
    }

    async fn probe(&self) -> Result<(), ConnectorFault> {
        self.knock(&self.probe_guard).await
    }

    async fn probe_login(&self, redirect_uri: &str) -> Result<(), ConnectorFault> {
        code_flow::redeem_made_up_code(
            &self.client,
            &self.probe_guard,
            redirect_uri,
            &self.env,
            Vec::new(),
        )
        .await
    }

    async fn examine(&self, examination: &Examination) -> Vec<Finding> {
        examine::examine(self, examination).await
    }
}

fn person(body: &[u8]) -> Result<Map<String, Value>, ConnectorFault> {
    if body.len() > LARGEST_USERINFO {
        return Err(ConnectorFault::new(ErrorCode::UserinfoMalformed, "it is longer than 64 KiB"));
    }
    json::parse_object(body).map_err(|_| {
        ConnectorFault::new(
            ErrorCode::UserinfoMalformed,
            "it is not a JSON object without repeated members",
        )
    })
}

/// Who it is about. Whoever has no subject of their own would be everybody else who has none.
fn subject(claims: &Map<String, Value>, claim: &str) -> Result<Secret<String>, ConnectorFault> {
    let text = match claims.get(claim) {
        Some(Value::String(text)) => Some(text.clone()),
        // Only a whole number is written in one way.
        Some(Value::Number(number)) if number.is_i64() || number.is_u64() => {
            Some(number.to_string())
        }
        _ => None,
    };
    match text.filter(|text| !text.trim().is_empty() && text.chars().count() <= LONGEST_SUBJECT) {
        Some(text) => Ok(Secret::new(text)),
        None => {
            let why = format!(
                "{claim} is missing, empty, too long, or neither text nor a whole number; is it the right claim?"
            );
            Err(ConnectorFault::new(ErrorCode::UserinfoSubjectMissing, why))
        }
    }
}

#[cfg(test)]
mod tests;
