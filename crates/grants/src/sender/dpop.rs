//! Decides on DPoP proofs (RFC 9449): whether a proof is for this request, fresh, and used once.
//!
//! Responsible for the claims of a proof, for the hub's nonces, and for the single use of a `jti`
//! over all hubs that share a store. A proof is verified before anything is changed, and its `jti`
//! is recorded only for a client or token that is known to be real: proofs of unauthenticated
//! clients take no room in the store.

mod nonce;

use std::time::Duration;

use serde_json::Value;
use url::Url;

use super::SenderVerifier;
use crate::assertion::read_jti;
use crate::records::dpop_proof_key;
use crate::used_jtis::UsedJti;
pub use nonce::DpopNonces;
use passerelle_federation::ServiceProvider;
use passerelle_jose::dpop_proof::{DpopProof, DpopProofError};
use passerelle_jose::verify::{CLOCK_SKEW_TOLERANCE, Expiry, check_time_claims, numeric_date};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::digest;
use passerelle_protocol::discovery::path;
use passerelle_protocol::env::Timestamp;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::path_normalization::decode_unreserved;
use passerelle_protocol::sender_constraint::DpopHeader;
use passerelle_store::StoreError;

/// How long after its `iat` a proof is accepted.
const MAX_PROOF_AGE: Duration = Duration::from_secs(60);

/// What a proof must be for.
#[derive(Clone, Copy)]
pub(crate) struct ProofTarget<'a> {
    /// Path of the endpoint.
    pub path: &'static str,
    /// The access token that the request uses; `None` where it asks for one.
    pub access_token: Option<&'a str>,
    /// Thumbprint of the only key that may sign it; `None` where the proof chooses the key.
    pub thumbprint: Option<&'a str>,
}

/// A proof that is valid for a request, and not known to be a replay yet.
pub(crate) struct AcceptedProof {
    /// Thumbprint of its key.
    pub thumbprint: String,
    used: UsedJti,
}

impl SenderVerifier {
    /// Validates the claims of a proof for a request of this client, and then its signature, which
    /// costs more than everything else. Changes nothing.
    ///
    /// # Errors
    /// The code of the first rule that the proof breaks.
    pub(crate) fn verify_dpop_proof(
        &self,
        client: &ServiceProvider,
        header: &DpopHeader,
        target: ProofTarget<'_>,
    ) -> Result<AcceptedProof, ErrorCode> {
        let proof = DpopProof::parse(header.proof.reveal()).map_err(DpopProofError::code)?;
        let accepted = self.check_proof_claims(client, &proof, &header.method, target)?;
        proof.verify().map_err(DpopProofError::code)?;
        Ok(accepted)
    }

    fn check_proof_claims(
        &self,
        client: &ServiceProvider,
        proof: &DpopProof<'_>,
        method: &str,
        target: ProofTarget<'_>,
    ) -> Result<AcceptedProof, ErrorCode> {
        let (claims, thumbprint) = (proof.unverified_claims(), proof.thumbprint());
        if client.registration.protection.profile.is_some() && !proof.has_fapi_algorithm() {
            return Err(ErrorCode::DpopProofProfile);
        }
        if target.thumbprint.is_some_and(|expected| thumbprint != expected) {
            return Err(ErrorCode::DpopKeyMismatch);
        }
        let text = |name: &str| claims.get(name).and_then(Value::as_str);
        if text("htm") != Some(method) {
            return Err(ErrorCode::DpopProofMethod);
        }
        if !text("htu").is_some_and(|htu| self.is_endpoint(htu, target.path)) {
            return Err(ErrorCode::DpopProofUri);
        }
        // A proof is for one token: one that was seen elsewhere can't be used with a stolen token.
        if target
            .access_token
            .is_some_and(|token| text("ath") != Some(&digest::sha256_base64url(token)))
        {
            return Err(ErrorCode::DpopProofAccessToken);
        }
        let jti = read_jti(claims).ok_or(ErrorCode::DpopProofJti)?;
        let now = self.core.env.now();
        self.check_dpop_nonce(client, claims.get("nonce"), now)?;
        let issued_at = numeric_date(claims, "iat").ok().flatten();
        let issued_at = issued_at.ok_or(ErrorCode::DpopProofTime)?;
        // RFC 7519 §4.1.4 and §4.1.5: a proof is a JWT, which may also have exp and nbf.
        check_time_claims(claims, Expiry::Optional, now).map_err(|_| ErrorCode::DpopProofTime)?;
        if issued_at + MAX_PROOF_AGE <= now {
            return Err(ErrorCode::DpopProofTime);
        }
        // A store that began empty doesn't know this proof if it was used before: the client is
        // asked for another one.
        if self.used_jtis.may_have_forgotten(issued_at) {
            return Err(ErrorCode::DpopNonceRequired);
        }
        let until = issued_at + MAX_PROOF_AGE + CLOCK_SKEW_TOLERANCE;
        let key = dpop_proof_key(&thumbprint, jti);
        Ok(AcceptedProof { thumbprint, used: UsedJti { key, until } })
    }

    /// Records the `jti` of a proof, so that an intercepted proof can't be replayed on any hub
    /// (RFC 9449 §11.1).
    ///
    /// # Errors
    /// `DpopProofReplayed`, `TooManyDpopProofs`, or the error of the store.
    pub(crate) async fn use_dpop_proof(
        &self,
        client_id: &ClientId,
        proof: &AcceptedProof,
    ) -> Result<(), ErrorCode> {
        let now = self.core.env.now();
        if !self.used_jtis.has_capacity(client_id, now) {
            return Err(ErrorCode::TooManyDpopProofs);
        }
        match self.used_jtis.insert(client_id, &proof.used, Vec::new(), now).await {
            Ok(()) => Ok(()),
            Err(StoreError::Exists) => Err(ErrorCode::DpopProofReplayed),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a nonce for the client's next proof (RFC 9449 §8).
    pub fn dpop_nonce(&self) -> String {
        self.nonces.issue(self.core.env.now())
    }

    fn check_dpop_nonce(
        &self,
        client: &ServiceProvider,
        nonce: Option<&Value>,
        now: Timestamp,
    ) -> Result<(), ErrorCode> {
        let is_good = match nonce {
            None => !client.token_binding.dpop_nonce_required,
            Some(nonce) => nonce.as_str().is_some_and(|nonce| self.nonces.accepts(nonce, now)),
        };
        if is_good { Ok(()) } else { Err(ErrorCode::DpopNonceRequired) }
    }

    /// Returns true if `htu` is the address of an endpoint of this hub: without query and fragment,
    /// after normalization (RFC 9449 §4.3, check 9; RFC 3986 §6.2). The public address counts, not
    /// the one that a proxy calls.
    fn is_endpoint(&self, htu: &str, endpoint: &str) -> bool {
        let normalize = |text: &str| {
            let mut url = Url::parse(text).ok()?;
            let path = decode_unreserved(url.path()).into_owned();
            url.set_path(&path);
            url.set_query(None);
            url.set_fragment(None);
            Some(url)
        };
        let path = endpoint.strip_prefix(path::ISSUER).unwrap_or(endpoint);
        let own = normalize(&format!("{}{path}", self.core.issuer));
        let alias = self.core.certificate_base_url.as_ref();
        let alias = alias.and_then(|base_url| normalize(&format!("{base_url}{endpoint}")));
        normalize(htu).is_some_and(|htu| Some(&htu) == own.as_ref() || Some(&htu) == alias.as_ref())
    }
}
