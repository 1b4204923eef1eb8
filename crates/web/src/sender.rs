//! Reads what a request proves possession of a key with: the `DPoP` header (RFC 9449 §4.1), and the
//! client certificate that a trusted proxy forwards (RFC 9440).

use super::request_context::RequestContext;
use passerelle_grants::error::GrantError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::ids::Secret;
use passerelle_protocol::sender_constraint::{DpopHeader, MAX_DPOP_PROOF_BYTES, ProofOfPossession};

/// Name of the header of a proof.
pub(super) const DPOP: &str = "dpop";
/// Name of the header of a nonce for the next proof.
pub(super) const DPOP_NONCE: &str = "dpop-nonce";

/// Reads the request's proof of possession of a key.
///
/// # Errors
/// `DpopProofRepeated` for two headers, because a proxy and the hub could use different ones;
/// `DpopProofMalformed` for a header that can't be a proof; `ClientCertificateMalformed`, with the
/// format that the proxy sends as its reason.
pub(super) fn read_proof_of_possession(
    context: &RequestContext,
) -> Result<ProofOfPossession, GrantError> {
    let request = &context.request;
    let mut headers = request.headers().get_all(DPOP);
    let dpop = match (headers.next(), headers.next()) {
        (None, _) => None,
        (Some(_), Some(_)) => return Err(ErrorCode::DpopProofRepeated.into()),
        (Some(header), None) => {
            let text = header.to_str().ok().filter(|text| text.len() <= MAX_DPOP_PROOF_BYTES);
            let proof = Secret::new(text.ok_or(ErrorCode::DpopProofMalformed)?.to_owned());
            Some(DpopHeader { proof, method: request.method().to_string() })
        }
    };
    let certificate = context.hub.proxies.client_certificate(request).map_err(|error| {
        let reason = Some(error.to_string());
        GrantError { reason, ..ErrorCode::ClientCertificateMalformed.into() }
    })?;
    Ok(ProofOfPossession { dpop, certificate })
}
