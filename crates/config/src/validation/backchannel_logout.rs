//! Checks where a service provider receives logout tokens (OpenID Connect Back-Channel Logout 1.0
//! §2.2).

use crate::model::ServiceProviderFile;
use passerelle_egress::safe_http_client::{self, AllowedSchemes};
use passerelle_federation::LogoutEndpoint;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{Diagnostic, FileCheck, SourceFile};

const URI: &str = "backchannel_logout_uri";

/// Reads the endpoint. Returns `None` and reports a problem if the hub must not call it.
pub(crate) fn read_logout_endpoint(
    check: &mut FileCheck<'_>,
    file: &ServiceProviderFile,
) -> Option<LogoutEndpoint> {
    let Some(uri) = &file.backchannel_logout_uri else {
        if file.backchannel_logout_session_required {
            check.report(
                "backchannel_logout_session_required",
                "is set, but no logout token is sent",
                format!("remove it, or add {URI}"),
            );
        }
        return None;
    };
    if file.jwks_uri.is_none() {
        check.check_hosts("internal_hosts", &file.internal_hosts);
    }
    check.collect(parse_endpoint(check.source, file, uri))
}

/// Parses the URL. Allows http on loopback, and elsewhere with `insecure_http`.
fn parse_endpoint(
    source: &SourceFile,
    file: &ServiceProviderFile,
    uri: &str,
) -> Result<LogoutEndpoint, Diagnostic> {
    let http = if file.insecure_http { PlainHttp::Anywhere } else { PlainHttp::Loopback };
    let uri =
        address::parse_absolute_url(uri, http).map_err(|error| source.locate(error.at(URI)))?;
    let is_http_allowed = file.insecure_http || address::is_loopback(&uri);
    let schemes =
        if is_http_allowed { AllowedSchemes::HttpAndHttps } else { AllowedSchemes::HttpsOnly };
    let internal_hosts = &file.internal_hosts;
    let is_listed =
        |host: &str| internal_hosts.iter().any(|listed| listed.eq_ignore_ascii_case(host));
    // A name on loopback resolves later; it would fail only at the first logout.
    let is_unlisted_loopback =
        address::is_loopback(&uri) && uri.domain().is_some_and(|name| !is_listed(name));
    let checked = safe_http_client::check_url(schemes, internal_hosts, &uri);
    let error = match checked {
        Err(error) => Some(error.to_string()),
        Ok(()) => is_unlisted_loopback.then(|| "it is on loopback".to_owned()),
    };
    match error {
        Some(error) => {
            let fix =
                "receive logout tokens at a public address, or add the host to internal_hosts";
            Err(source.diagnostic(URI, format!("can't be called: {error}"), fix))
        }
        None => Ok(LogoutEndpoint { uri, schemes, internal_hosts: internal_hosts.clone() }),
    }
}
