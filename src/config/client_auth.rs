//! How a service provider or a data provider proves who it is, as its file gives it (decisions 6, 15).
//!
//! Owns: that the registered method finds what it works with, and nothing that it would never look at. Must not know:
//! what o'clock it is: a secret's dates are judged where it is used.

use super::client_assertions;
use super::client_keys::KeySource;
use super::model::{AuthMethod, ClientSecret, ServiceProvider};
use super::problem::Problem;
use super::secret_rules::Context;
use super::secrets::{self, DatedSecret};
use super::source::Source;
use super::validity::{Standing, Validity, first_beyond};
use crate::env::Timestamp;

/// The current one and the next one.
const VALID_AT_ONCE: usize = 2;

/// Reads the client secrets; those that are refused are left out, which `problems` then tells.
pub fn secrets(
    source: &Source,
    given: &[ClientSecret],
    context: &Context<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<DatedSecret> {
    let mut read = Vec::new();
    for (index, secret) in given.iter().enumerate() {
        match secrets::dated(source, &format!("secrets[{index}]"), secret, context) {
            Ok(secret) => read.push(secret),
            Err(problem) => problems.push(problem),
        }
    }
    let validities: Vec<Validity> = read.iter().map(|secret| secret.validity).collect();
    if first_beyond(VALID_AT_ONCE, &validities).is_some() {
        let mend =
            "keep the current one and the next one, or give the others a not_before or not_after";
        problems.push(source.problem(
            "secrets",
            "holds more than two secrets that are valid at one moment",
            mend,
        ));
    }
    read
}

/// Whether whoever has these secrets could prove nothing at this moment.
pub fn none_valid(secrets: &[DatedSecret], now: Timestamp) -> bool {
    secrets.iter().all(|secret| secret.validity.at(now) != Standing::Valid)
}

/// Holds the registered method against what there is for it.
pub fn check(
    source: &Source,
    file: &ServiceProvider,
    keys: &KeySource,
    problems: &mut Vec<Problem>,
) {
    let mut say =
        |key: &str, what: &str, mend: &str| problems.push(source.problem(key, what, mend));
    match file.token_endpoint_auth_method {
        None | Some(AuthMethod::ClientSecretPost | AuthMethod::ClientSecretBasic) => {
            if file.secrets.is_empty() {
                say(
                    "secrets",
                    "is empty, so that no code could ever be redeemed",
                    "give one or two secrets",
                );
            }
            if file.token_endpoint_auth_signing_alg.is_some() {
                let mend = "remove it, or write token_endpoint_auth_method = \"private_key_jwt\"";
                say(
                    "token_endpoint_auth_signing_alg",
                    "is for client assertions, which this method has none of",
                    mend,
                );
            }
            if file.client_assertion_audiences.is_some() {
                let fix = "remove it, or write token_endpoint_auth_method = \"private_key_jwt\"";
                say(
                    "client_assertion_audiences",
                    "is for client assertions, which this method has none of",
                    fix,
                );
            }
        }
        Some(AuthMethod::PrivateKeyJwt) => {
            if !file.secrets.is_empty() {
                let mend =
                    "remove them, or write token_endpoint_auth_method = \"client_secret_post\"";
                say("secrets", "holds secrets, which private_key_jwt never uses", mend);
            }
            if file.jwks.is_none() && file.jwks_uri.is_none() {
                let mend =
                    "add jwks or jwks_uri with the public keys that its assertions are signed with";
                say(
                    "token_endpoint_auth_method",
                    "is private_key_jwt, but there are no keys to prove a signature with",
                    mend,
                );
            }
            let alg = file.token_endpoint_auth_signing_alg.unwrap_or_default();
            // What is published at a jwks_uri may change; an inline set would never get any better.
            if matches!(keys, KeySource::Inline(keys) if !keys.verification.verifies(alg)) {
                let what = "holds no key for signatures that fits token_endpoint_auth_signing_alg";
                say(
                    "jwks",
                    what,
                    "add one: EC on P-256 for ES256, RSA from 2048 bits for RS256, its use sig or absent",
                );
            }
            if let Some(listed) = &file.client_assertion_audiences {
                client_assertions::check(source, listed, problems);
            }
        }
    }
}
