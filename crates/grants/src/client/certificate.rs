//! Authenticates clients by the certificate of their TLS connection (RFC 8705 §2).
//!
//! The proxy that ended TLS has verified that the client has the private key. Everything else is
//! verified here: the chain to the operator's authorities and the registered name, or that the
//! certificate is one of the client's own.

use std::sync::Arc;

use super::{ClientAuthError, ClientAuthenticator};
use passerelle_federation::{ClientAuthentication, ServiceProvider};
use passerelle_jose::client_certificate::CertificateName;
use passerelle_jose::untrusted_certificate::parse_untrusted_certificate;
use passerelle_protocol::ids::ClientId;
use passerelle_protocol::sender_constraint::ForwardedCertificate;

impl ClientAuthenticator {
    /// Returns the service provider that this certificate authenticates. A public client has none,
    /// and may show one.
    ///
    /// # Errors
    /// `Unknown`, `OtherMethod`, `CertificateUntrusted`, `CertificateOther`; all are answered
    /// alike.
    pub(super) async fn authenticate_by_certificate(
        &self,
        client_id: &ClientId,
        certificate: &ForwardedCertificate,
    ) -> Result<Arc<ServiceProvider>, ClientAuthError> {
        let client = self.core.federation.load().active_service_provider(client_id).cloned();
        let client = client.ok_or(ClientAuthError::Unknown)?;
        match &client.authentication {
            ClientAuthentication::Public => {}
            ClientAuthentication::TlsCertificate(name) => self.check_issued(certificate, name)?,
            ClientAuthentication::SelfSignedCertificate => {
                self.check_own(&client, certificate).await?;
            }
            ClientAuthentication::SecretPost(_)
            | ClientAuthentication::SecretBasic(_)
            | ClientAuthentication::Secret(_)
            | ClientAuthentication::PrivateKeyJwt(_) => return Err(ClientAuthError::OtherMethod),
        }
        Ok(client)
    }

    fn check_issued(
        &self,
        certificate: &ForwardedCertificate,
        name: &CertificateName,
    ) -> Result<(), ClientAuthError> {
        let certificate = parse_untrusted_certificate(certificate.der());
        let certificate = certificate.map_err(|_| ClientAuthError::CertificateUntrusted)?;
        let now = self.core.env.now();
        // Anyone can make a certificate with any name: a proxy may forward it unverified.
        let authorities = self.certificate_authorities.as_ref();
        if !authorities.is_some_and(|authorities| authorities.has_issued(&certificate, now)) {
            return Err(ClientAuthError::CertificateUntrusted);
        }
        if name.is_in(&certificate) { Ok(()) } else { Err(ClientAuthError::CertificateOther) }
    }

    async fn check_own(
        &self,
        client: &ServiceProvider,
        certificate: &ForwardedCertificate,
    ) -> Result<(), ClientAuthError> {
        let client_id = &client.registration.client_id;
        let keys = self.client_keys.keys(client_id, &client.keys);
        let keys = keys.ok_or(ClientAuthError::CertificateOther)?;
        let thumbprint = certificate.thumbprint();
        if keys.certificates.contains_key(&thumbprint) {
            return Ok(());
        }
        // The client may have changed its certificate since the keys were fetched.
        let newer =
            self.client_keys.refetch_keys(client_id, &client.keys, &keys, &self.core.env).await;
        if newer.certificates.contains_key(&thumbprint) {
            return Ok(());
        }
        Err(ClientAuthError::CertificateOther)
    }
}
