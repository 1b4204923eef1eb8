//! Checks `[traces]` of `passerelle.toml`: where spans are sent, how many logins are
//! sampled, and where trace context is propagated (docs/logs-and-traces.md).

use std::collections::BTreeMap;

use crate::model::TracesConfig;
use passerelle_protocol::ids::Secret;
use passerelle_settings::address::{self, PlainHttp};
use passerelle_settings::{FileCheck, SecretContext, secrets};

/// Headers of each request to the collector, with resolved secrets.
pub type TraceHeaders = BTreeMap<String, Secret<String>>;

/// Checks the table and reads the headers.
pub(crate) fn check_traces(
    check: &mut FileCheck<'_>,
    traces: &TracesConfig,
    context: &SecretContext<'_>,
) -> TraceHeaders {
    let http = PlainHttp::anywhere_if(traces.insecure_http);
    if let Some(endpoint) = &traces.endpoint {
        if let Err(error) = address::parse_url_without_query(endpoint, http) {
            check.add(error.at("traces.endpoint"));
        } else if !cfg!(feature = "otlp") {
            let message = "needs the Cargo feature `otlp`, which this build leaves out";
            let fix = "build the hub with `--features otlp`, or remove the key";
            check.report("traces.endpoint", message, fix);
        }
    }
    check.check_hosts("traces.internal_hosts", &traces.internal_hosts);
    if !(0.0..=1.0).contains(&traces.sample_ratio) {
        check.report(
            "traces.sample_ratio",
            "is not a ratio",
            "write a number from 0 to 1, for example 0.1",
        );
    }
    if traces.service_name.is_empty() {
        check.report("traces.service_name", "is empty", "name this hub, or remove the key");
    }
    if traces.resource.contains_key("service.name") {
        let fix = "use traces.service_name instead";
        check.report("traces.resource", "contains service.name", fix);
    }
    let mut headers = TraceHeaders::new();
    for (name, reference) in &traces.headers {
        let key = format!("traces.headers.{name}");
        if name.is_empty() || !name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            check.report(
                &key,
                "is not a header name",
                "use letters, digits and hyphens, for example Authorization",
            );
            continue;
        }
        match secrets::resolve_secret(check.source, &key, reference, context) {
            Ok(value) if value.reveal().bytes().all(|c| c == b' ' || c.is_ascii_graphic()) => {
                headers.insert(name.clone(), value);
            }
            Ok(_) => check.report(
                &key,
                "references a text that is not a valid header value",
                "use visible ASCII",
            ),
            Err(problem) => check.problems.push(problem),
        }
    }
    headers
}
