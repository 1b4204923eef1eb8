//! Binds access tokens to the key of their sender, and checks that who presents one has that key:
//! DPoP (RFC 9449) and client certificates (RFC 8705).

mod dpop;

use std::sync::Arc;

pub use self::dpop::DpopNonces;
pub(super) use self::dpop::{AcceptedProof, ProofTarget};
use super::HubCore;
use super::used_jtis::UsedJtis;
use passerelle_federation::ServiceProvider;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::discovery::path;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::sender_constraint::{
    Confirmation, ForwardedCertificate, ProofOfPossession,
};
use passerelle_protocol::userinfo::{PresentedToken, TokenScheme};

/// The key that the sender of a token request has proven to have.
pub(super) enum ProvenSender {
    /// None: the token is a bearer token.
    Unknown,
    Dpop(AcceptedProof),
    Certificate(ForwardedCertificate),
}

impl ProvenSender {
    /// Returns the key that a token of this sender is bound to.
    pub(crate) fn key(&self) -> Option<Confirmation> {
        match self {
            Self::Unknown => None,
            Self::Dpop(proof) => Some(Confirmation::DpopKey(proof.thumbprint.clone())),
            Self::Certificate(certificate) => {
                Some(Confirmation::Certificate(certificate.thumbprint()))
            }
        }
    }
}

/// Verifies that the sender of a request has the key that it claims.
pub struct SenderVerifier {
    pub(super) core: Arc<HubCore>,
    pub(super) used_jtis: Arc<UsedJtis>,
    pub(super) nonces: DpopNonces,
}

impl SenderVerifier {
    /// Verifies a token request's proof of possession of a key. Changes nothing.
    ///
    /// # Errors
    /// `ClientCertificateMissing` or `DpopProofMissing` where the client must bind its tokens; the
    /// codes of a proof.
    pub(super) fn verify_token_sender(
        &self,
        client: &ServiceProvider,
        proof_of_possession: &ProofOfPossession,
    ) -> Result<ProvenSender, ErrorCode> {
        if client.token_binding.certificate_required {
            let certificate = proof_of_possession.certificate.clone();
            let certificate = certificate.ok_or(ErrorCode::ClientCertificateMissing)?;
            return Ok(ProvenSender::Certificate(certificate));
        }
        let target = ProofTarget { path: path::TOKEN, access_token: None, thumbprint: None };
        match &proof_of_possession.dpop {
            Some(header) => self.verify_dpop_proof(client, header, target).map(ProvenSender::Dpop),
            None if client.token_binding.dpop_required => Err(ErrorCode::DpopProofMissing),
            None => Ok(ProvenSender::Unknown),
        }
    }

    /// Returns the key that the access token is bound to, and uses up the proof of it. `dpop_jkt`
    /// is that of the authorization request.
    ///
    /// # Errors
    /// `CodeDpopKey`, `DpopProofReplayed`, `TooManyDpopProofs`, or the error of the store.
    pub(super) async fn bind_to_sender(
        &self,
        client_id: &ClientId,
        dpop_jkt: Option<&str>,
        sender: ProvenSender,
    ) -> Result<Option<Confirmation>, ErrorCode> {
        // RFC 9449 §10: an attacker who injects a stolen code has another key.
        if let Some(jkt) = dpop_jkt
            && !matches!(&sender, ProvenSender::Dpop(proof) if proof.thumbprint == jkt)
        {
            return Err(ErrorCode::CodeDpopKey);
        }
        let Some(key) = sender.key() else { return Ok(None) };
        if let ProvenSender::Dpop(proof) = &sender {
            self.use_dpop_proof(client_id, proof).await?;
        }
        self.core.metrics.record_bound_token(key.method());
        Ok(Some(key))
    }

    /// Checks that who presents a token of this client has the key that it is bound to.
    ///
    /// # Errors
    /// `UnboundTokenAsDpop`, `BoundTokenAsBearer`, `DpopKeyMismatch`, `CertificateMismatch`, the
    /// codes of a proof, or the error of the store.
    pub(super) async fn check_token_sender(
        &self,
        client: &ServiceProvider,
        key: Option<&Confirmation>,
        presented: &PresentedToken,
    ) -> Result<(), ErrorCode> {
        let bound_to = match (key, presented.scheme) {
            (None, TokenScheme::Bearer) => return Ok(()),
            (None | Some(Confirmation::Certificate(_)), TokenScheme::Dpop) => {
                return Err(ErrorCode::UnboundTokenAsDpop);
            }
            // RFC 8705 §3 and RFC 9449 §7.2: a stolen token is worth nothing without its key.
            (Some(Confirmation::Certificate(thumbprint)), TokenScheme::Bearer) => {
                let certificate = presented.proof_of_possession.certificate.as_ref();
                return match certificate.map(ForwardedCertificate::thumbprint) {
                    Some(own) if own == *thumbprint => Ok(()),
                    _ => Err(ErrorCode::CertificateMismatch),
                };
            }
            (Some(Confirmation::DpopKey(_)), TokenScheme::Bearer) => {
                return Err(ErrorCode::BoundTokenAsBearer);
            }
            (Some(Confirmation::DpopKey(thumbprint)), TokenScheme::Dpop) => thumbprint,
        };
        let header =
            presented.proof_of_possession.dpop.as_ref().ok_or(ErrorCode::DpopProofMissing)?;
        let token = presented.token.reveal();
        let target = ProofTarget {
            path: path::USERINFO,
            access_token: Some(token),
            thumbprint: Some(bound_to),
        };
        let proof = self.verify_dpop_proof(client, header, target)?;
        self.use_dpop_proof(&client.registration.client_id, &proof).await
    }
}
