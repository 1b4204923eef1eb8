//! Verifies a response from a file, for `passerelle check connector --sample`: as at the time and for
//! the request that it names, because it is older than a login.

use std::time::Duration;

use crate::authentication::{claims, out_of_scope_rows, response_error};
use crate::connector::SamlConnector;
use crate::error_codes as codes;
use crate::metadata::IdentityProviderMetadata;
use crate::response::{
    Assertion, ClaimedRequest, ExpectedResponse, check_response, decode_response,
};
use crate::saml_service_provider::SamlServiceProvider;
use passerelle_connector::diagnostic::{CheckDiagnostic, SampleVerification};
use passerelle_connector::dropped_claims::DroppedClaimRow;
use passerelle_connector::error::ConnectorError;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// Between a request and its response: any time does.
const ASSUMED_DELAY: Duration = Duration::from_secs(60);

impl SamlConnector {
    /// Verifies a response: XML, or the field `SAMLResponse` as a browser's tools show it. `None` for
    /// an object of claims.
    pub(crate) async fn verify_response_sample(
        &self,
        sample: &[u8],
        metadata: &IdentityProviderMetadata,
    ) -> Option<SampleVerification> {
        let text = sample.trim_ascii();
        if text.starts_with(b"{") {
            return None;
        }
        let decoded = if text.starts_with(b"<") {
            Ok(text.to_vec())
        } else {
            decode_response(&String::from_utf8_lossy(text))
        };
        let outcome = match decoded {
            Ok(response) => self.check_sample(&response, metadata).await,
            Err(error) => Err(response_error(&error)),
        };
        Some(match outcome {
            Err(error) => SampleVerification::rejected(rejection(&error)),
            Ok((assertion, hub, at)) => {
                let signed = "it is signed, and for this hub at the address that it names";
                let mut diagnostics = vec![CheckDiagnostic::ok("sample", signed)];
                diagnostics.extend(out_of_scope_rows(&assertion).map(|row| {
                    let DroppedClaimRow { claim, problem, fix } = row;
                    CheckDiagnostic::warning("attribute-scope", format!("{claim} {problem}"), fix)
                }));
                let class = assertion.authn_context.clone();
                let values = claims(assertion.clone());
                let proven = self.rules.authentication(assertion, &hub, self.rules.lowest(), at);
                let is_accepted = proven.is_ok();
                diagnostics.push(match proven {
                    Ok(proven) => CheckDiagnostic::ok(
                        "level",
                        format!("{class} proves {}", proven.level.as_str()),
                    ),
                    Err(error) => {
                        let fix = "compare [acr], subject_attribute and name_id_format of the file with the sample";
                        let message = format!("AuthnContextClassRef is {class}: {error}");
                        CheckDiagnostic::error("level", message, fix)
                    }
                });
                SampleVerification { diagnostics, claims: is_accepted.then_some(values) }
            }
        })
    }

    async fn check_sample(
        &self,
        response: &[u8],
        metadata: &IdentityProviderMetadata,
    ) -> Result<(Assertion, SamlServiceProvider, Timestamp), ConnectorError> {
        let claimed = ClaimedRequest::read(response).map_err(|error| response_error(&error))?;
        let hub = self.service_provider(claimed.base_url(&self.id));
        let decryption = self.keys.decryption_keys(response, self.env.now()).await;
        let expected = ExpectedResponse {
            identity_provider: &self.kind.entity_id,
            service_provider: &hub.entity_id,
            consumer_url: &hub.consumer_url,
            request_id: &claimed.request_id,
            requested_at: claimed.issued_at - ASSUMED_DELAY,
            force_authn: false,
            verification_keys: &metadata.signing_keys,
            decryption_keys: &decryption.keys,
            allow_cbc: self.kind.allow_cbc,
            scopes: &metadata.scopes,
        };
        let assertion = check_response(response, &expected, claimed.issued_at)
            .map_err(|error| decryption.response_error(&error))?;
        Ok((assertion, hub, claimed.issued_at))
    }
}

fn rejection(refused: &ConnectorError) -> CheckDiagnostic {
    let fix = match refused.code {
        codes::SAML_SIGNATURE => {
            "get the newest metadata of the identity provider, as it may sign with a new key; copy the response again, as an editor or a mail may have changed it"
        }
        codes::SAML_ENCRYPTION => {
            "give the identity provider the hub's current metadata, and let it encrypt with AES-GCM and RSA-OAEP"
        }
        ErrorCode::KeyDeviceUnavailable => {
            "sign in in a sandbox instead: this command uses no key in a device"
        }
        codes::SAML_OTHER_REQUEST => {
            "compare entity_id and the hub's entity ID with the response, and begin the login at the hub: responses without a request are refused"
        }
        codes::SAML_SUBJECT => "set subject_attribute, or name_id_format",
        codes::SAML_REQUEST_REFUSED | ErrorCode::IdpError => {
            "look into the log of the identity provider: it sent an error"
        }
        _ => {
            "ask the identity provider to follow the Web Browser SSO Profile; docs/errors.md explains the code"
        }
    };
    CheckDiagnostic::error("sample", refused.to_string(), fix)
}
