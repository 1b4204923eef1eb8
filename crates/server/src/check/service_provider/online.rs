//! Calls the addresses of a service provider's file: its `jwks_uri`, and the servers of its
//! redirect URIs.

use std::collections::BTreeSet;
use std::sync::Arc;

use url::{Origin, Url};

use crate::build_error::BuildError;
use passerelle_config::CheckedServiceProvider;
use passerelle_config::check_context::ServiceProviderDraft;
use passerelle_connector::diagnostic::CheckDiagnostic;
use passerelle_egress::certificate_expiry::{MIN_CERTIFICATE_DAYS, days_left};
use passerelle_egress::safe_http_client::{
    AllowedSchemes, CallLimits, PeerCertificate, SafeHttpClient, TlsOptions,
};
use passerelle_federation::Federation;
use passerelle_federation::client_keys::KeySource;
use passerelle_grants::client_keys::KeyDirectory;
use passerelle_protocol::env::Env;
use passerelle_telemetry::Metrics;

/// Maximum number of servers that are called.
const MAX_SERVERS: usize = 10;

/// Calls the addresses of a file that has no problems.
pub(super) async fn diagnose_online(
    draft: &ServiceProviderDraft,
    federation: Option<&Federation>,
    env: &Env,
) -> Vec<CheckDiagnostic> {
    let client = draft.client.as_ref().filter(|_| draft.problems.is_empty());
    let (Some(client), Some(federation)) = (client, federation) else {
        let message = "no address was called";
        return vec![CheckDiagnostic::error("online", message, "correct the file first")];
    };
    let mut diagnostics: Vec<_> = diagnose_keys(client, federation).await.into_iter().collect();
    for server in tls_servers(client) {
        diagnostics.push(diagnose_server(client, &server, env).await);
    }
    diagnostics
}

/// Fetches `jwks_uri`, and checks that its keys suffice for the registered algorithms.
async fn diagnose_keys(
    client: &CheckedServiceProvider,
    federation: &Federation,
) -> Option<CheckDiagnostic> {
    const NAME: &str = "keys";
    if !matches!(client.service_provider.keys, KeySource::Uri(_)) {
        return None;
    }
    if !client.file.active {
        return Some(CheckDiagnostic::warning(
            NAME,
            "the keys at jwks_uri were not fetched: the service provider is switched off",
            "write active = true to check them",
        ));
    }
    Some(match fetch_keys(federation).await {
        Ok(None) => CheckDiagnostic::ok(NAME, "the keys at jwks_uri are valid"),
        Ok(Some(error)) => CheckDiagnostic::error(
            NAME,
            format!("the keys at jwks_uri can't be used: {error}"),
            "check the address, whether its server is reachable from the hub, and the key set; an internal host must be in internal_hosts",
        ),
        Err(error) => {
            CheckDiagnostic::error(NAME, error.to_string(), "correct jwks_uri in the file")
        }
    })
}

/// Returns why the keys can't be used; `None` if they can.
async fn fetch_keys(federation: &Federation) -> Result<Option<String>, BuildError> {
    let metrics = Arc::new(Metrics::new()?);
    let results =
        KeyDirectory::new(federation, &metrics)?.check_published_keys(federation, &|| {}).await;
    Ok(results.into_iter().find_map(|(_, outcome)| outcome.err()).map(|error| error.to_string()))
}

/// Returns the https servers of the redirect URIs, each once, without paths: a call must not look
/// like a login.
fn tls_servers(client: &CheckedServiceProvider) -> BTreeSet<String> {
    let https = |uri: &String| Url::parse(uri).ok().filter(|url| url.scheme() == "https");
    let origins = client.file.redirect_uris.iter().filter_map(https).map(|url| url.origin());
    origins
        .filter(Origin::is_tuple)
        .map(|origin| origin.ascii_serialization())
        .take(MAX_SERVERS)
        .collect()
}

/// Negotiates TLS with a server. Only browsers need to reach it, so a failure is a warning.
async fn diagnose_server(
    client: &CheckedServiceProvider,
    server: &str,
    env: &Env,
) -> CheckDiagnostic {
    const NAME: &str = "redirect-uri";
    let hosts = &client.file.internal_hosts;
    let http = SafeHttpClient::capturing_certificates(
        AllowedSchemes::HttpsOnly,
        hosts,
        CallLimits::DEFAULT,
        TlsOptions::default(),
    );
    let request = http::Request::get(format!("{server}/")).body(Vec::new());
    let (Ok(http), Ok(request)) = (http, request) else {
        let fix = "check the address";
        return CheckDiagnostic::warning(NAME, format!("{server} can't be called"), fix);
    };
    let response = match http.send(request).await {
        Ok(response) => response,
        Err(error) => {
            let message = format!("{server} was not reached: {error}");
            let fix = "check that browsers reach it with a valid certificate; the hub itself doesn't need to";
            return CheckDiagnostic::warning(NAME, message, fix);
        }
    };
    let certificate = response.extensions().get::<PeerCertificate>();
    match certificate.and_then(|PeerCertificate(der)| days_left(der, env.now())) {
        Some(days) if days < MIN_CERTIFICATE_DAYS => CheckDiagnostic::warning(
            NAME,
            format!("{server} responds; its certificate expires in {days} days"),
            "renew it before it expires, or every login fails",
        ),
        Some(days) => CheckDiagnostic::ok(
            NAME,
            format!("{server} responds; its certificate is valid for {days} more days"),
        ),
        None => CheckDiagnostic::ok(NAME, format!("{server} responds")),
    }
}
