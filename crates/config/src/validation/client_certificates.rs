//! Checks the settings of client certificates (RFC 8705): those of the hub, and those of a service
//! provider.

use super::declarations::Declarations;
use crate::model::ServiceProviderFile;
use passerelle_jose::client_certificate::{
    CertificateAuthorities, CertificateName, DistinguishedName,
};
use passerelle_protocol::client_auth::AuthMethod;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{FileCheck, SecretContext};
use passerelle_web::public_listener_settings::{ClientCertificatesConfig, PublicListener};

/// Which client certificates a hub gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CertificateSource {
    /// None.
    #[default]
    None,
    /// Certificates that no authority vouches for.
    SelfSigned,
    /// Those of the operator's authorities, too.
    Authorities,
}

impl CertificateSource {
    /// Returns what the public listener gets.
    pub fn from_listener(public: &PublicListener) -> Self {
        match &public.client_certificates {
            None => Self::None,
            Some(ClientCertificatesConfig { ca: None, .. }) => Self::SelfSigned,
            Some(ClientCertificatesConfig { ca: Some(_), .. }) => Self::Authorities,
        }
    }
}

/// Checks `[public.client_certificates]`.
pub(crate) fn check_hub_certificates(
    check: &mut FileCheck<'_>,
    public: &PublicListener,
    context: &SecretContext<'_>,
) {
    let Some(certificates) = &public.client_certificates else { return };
    let mut check = check.table("public.client_certificates");
    if public.trusted_proxies.is_empty() {
        let message = "has no effect without trusted_proxies: anyone could send the header";
        check.report("", message, "add trusted_proxies with the networks of the load balancers");
    }
    let header = certificates.header.as_str();
    let is_name = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    if header.is_empty() || !header.bytes().all(is_name) {
        let fix = "use a-z, 0-9 and -, for example client-cert";
        check.report("header", "is not the name of a header in lower case", fix);
    }
    if let Some(ca) = &certificates.ca
        && let Err(error) = CertificateAuthorities::read(&context.folder.join(ca))
    {
        let message = format!("names no usable file: {error}");
        check.report("ca", &message, "write the authorities' certificates into it, in PEM");
    }
    if let Some(base_url) = &certificates.base_url {
        let url = address::parse_absolute_url(base_url, PlainHttp::Loopback);
        match url {
            Ok(url) if url.origin().ascii_serialization() == *base_url => {}
            Ok(_) => {
                let fix = "write scheme, host and port only, in lower case";
                check.report("base_url", "is not a base URL without a path", fix);
            }
            Err(error) => check.add(error.at("base_url")),
        }
    }
}

/// Returns what the proxies must do so that no client can forge a certificate; `None` if the hub
/// gets no certificates.
pub(crate) fn proxy_duty(public: &PublicListener) -> Option<String> {
    let ClientCertificatesConfig { header, base_url, .. } = public.client_certificates.as_ref()?;
    let elsewhere = match base_url {
        Some(base_url) => format!(
            "They ask for certificates at {base_url}, and the hub ignores the header at other hosts."
        ),
        None => {
            "Without public.client_certificates.base_url they ask every browser for a certificate."
                .to_owned()
        }
    };
    Some(format!(
        "the proxies of public.trusted_proxies must replace or remove the header `{header}` in each request: otherwise a client authenticates with any certificate that it knows. {elsewhere} (docs/sender-constrained-tokens.md)"
    ))
}

/// Returns the one name that the file registers for its certificate; `None` without one, with
/// several, or with an unreadable one.
pub(crate) fn registered_name(file: &ServiceProviderFile) -> Option<CertificateName> {
    let subject = file.tls_client_auth_subject_dn.as_deref();
    let mut names = [
        subject.and_then(DistinguishedName::parse).map(CertificateName::SubjectDn),
        file.tls_client_auth_san_dns.clone().map(CertificateName::Dns),
        file.tls_client_auth_san_uri.clone().map(CertificateName::Uri),
        file.tls_client_auth_san_ip.map(CertificateName::Ip),
        file.tls_client_auth_san_email.clone().map(CertificateName::Email),
    ]
    .into_iter()
    .flatten();
    let name = names.next();
    name.filter(|_| names.next().is_none())
}

/// Checks what a service provider's file says of certificates. Without `declarations` the hub's own
/// settings are unreadable, and unknown.
pub(crate) fn check_client_certificates(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
    declarations: Option<&Declarations>,
) {
    if file.dpop_bound_access_tokens && file.tls_client_certificate_bound_access_tokens {
        let message =
            "binds tokens to a certificate, but dpop_bound_access_tokens binds them to another key";
        check.report(
            "tls_client_certificate_bound_access_tokens",
            message,
            "remove one of the two",
        );
    }
    let method = file.token_endpoint_auth_method;
    if method == Some(AuthMethod::TlsClientAuth) && registered_name(file).is_none() {
        let message =
            "is tls_client_auth, but the file has not exactly one name of its certificate";
        let fix = "add one of tls_client_auth_subject_dn (CN=shop,O=Example), tls_client_auth_san_dns, tls_client_auth_san_uri, tls_client_auth_san_ip and tls_client_auth_san_email";
        check.report("token_endpoint_auth_method", message, fix);
    }
    if method != Some(AuthMethod::TlsClientAuth) {
        let keys = [
            ("tls_client_auth_subject_dn", file.tls_client_auth_subject_dn.is_some()),
            ("tls_client_auth_san_dns", file.tls_client_auth_san_dns.is_some()),
            ("tls_client_auth_san_uri", file.tls_client_auth_san_uri.is_some()),
            ("tls_client_auth_san_ip", file.tls_client_auth_san_ip.is_some()),
            ("tls_client_auth_san_email", file.tls_client_auth_san_email.is_some()),
        ];
        let fix = "remove it, or write token_endpoint_auth_method = \"tls_client_auth\"";
        check.report_each_set(keys, "applies to tls_client_auth only", fix);
    }
    let Some(gets) = declarations.map(|declarations| declarations.client_certificates) else {
        return;
    };
    let (key, needs) = match method {
        Some(AuthMethod::TlsClientAuth) => {
            ("token_endpoint_auth_method", CertificateSource::Authorities)
        }
        Some(AuthMethod::SelfSignedTlsClientAuth) => {
            ("token_endpoint_auth_method", CertificateSource::SelfSigned)
        }
        _ if file.tls_client_certificate_bound_access_tokens => {
            ("tls_client_certificate_bound_access_tokens", CertificateSource::SelfSigned)
        }
        _ => return,
    };
    if gets == CertificateSource::None {
        let message = "needs client certificates, but the hub gets none";
        check.report(key, message, "add [public.client_certificates] to passerelle.toml");
    } else if needs == CertificateSource::Authorities && gets != needs {
        let message = "is tls_client_auth, but the hub has no authorities for it";
        check.report(key, message, "add ca to [public.client_certificates] of passerelle.toml");
    }
}

#[cfg(test)]
mod tests;
