//! Warns about settings for tests that a hub with real users must not have.

use serde_json::{Map, Value};
use url::Url;

use super::data_providers::CheckedDataProvider;
use crate::model::{ServiceProviderFile, Settings};
use passerelle_settings::address::{is_exposed, is_loopback};
use passerelle_settings::{Diagnostic, SourceFile};

const FIX: &str = "never use it in production";

/// Returns the warning about a service provider with plain HTTP.
pub(crate) fn service_provider_warning(
    (source, file): &(SourceFile, ServiceProviderFile),
) -> Option<Diagnostic> {
    let message = "allows authorization codes to be sent without TLS";
    file.insecure_http.then(|| source.diagnostic("insecure_http", message, FIX))
}

/// Returns the warning about a data provider with plain HTTP.
pub(crate) fn data_provider_warning(
    (source, provider): &(SourceFile, CheckedDataProvider),
) -> Option<Diagnostic> {
    let message = "allows its keys to be fetched without TLS";
    provider.file.insecure_http.then(|| source.diagnostic("insecure_http", message, FIX))
}

/// Returns the warnings about the settings file. `register` is the register's table by its kind. A
/// server on this machine needs no TLS.
pub(crate) fn settings_warnings(
    source: &SourceFile,
    settings: &Settings,
    register: &Map<String, Value>,
) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    if settings.sandbox {
        let message = "is on: anyone who reaches this hub can sign in as anyone";
        warnings.push(source.diagnostic("sandbox", message, FIX));
    } else if settings.sandbox_public {
        let message = "has no effect without sandbox, and would allow sandbox = true by mistake";
        warnings.push(source.diagnostic("sandbox_public", message, "remove it"));
    }
    if settings.private.insecure_http && is_exposed(settings.private.listen) {
        let message = "allows operators' tokens to cross the network without TLS";
        let fix = "listen on loopback, or make sure that no one else can read this network (docs/operating.md)";
        warnings.push(source.diagnostic("private.insecure_http", message, fix));
    }
    let traces = &settings.traces;
    if traces.insecure_http && traces.endpoint.as_deref().is_some_and(is_remote) {
        let message = "allows spans and headers to be sent without TLS";
        warnings.push(source.diagnostic("traces.insecure_http", message, FIX));
    }
    for (kind, table) in register {
        let is_on = table.get("insecure_http") == Some(&Value::Bool(true));
        if is_on && table.get("url").and_then(Value::as_str).is_some_and(is_remote) {
            let message = "allows identities to be sent without TLS";
            let key = format!("register.{kind}.insecure_http");
            warnings.push(source.diagnostic(&key, message, FIX));
        }
    }
    warnings
}

fn is_remote(address: &str) -> bool {
    Url::parse(address).is_ok_and(|url| !is_loopback(&url))
}
