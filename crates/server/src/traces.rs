//! Traces of the hub: the tracer, and the export of its spans to the configured collector.

#[cfg(feature = "otlp")]
mod collector;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::build_error::BuildError;
use passerelle_config::LoadedConfig;
use passerelle_protocol::env::Env;
use passerelle_telemetry::Metrics;
use passerelle_telemetry::trace::Tracer;

/// Tracer and exporter, not started. The default records no spans.
#[derive(Default)]
pub(super) struct TraceExport {
    pub tracer: Tracer,
    /// Sends the spans to the collector.
    export: Option<BoxFuture<'static, ()>>,
}

/// Prepares the export of traces.
///
/// # Errors
/// Returns an error if the collector can't be called as configured.
#[cfg(feature = "otlp")]
pub(super) fn prepare_traces(
    loaded: &LoadedConfig,
    env: &Env,
    metrics: &Arc<Metrics>,
) -> Result<TraceExport, BuildError> {
    let Some(endpoint) = &loaded.settings.traces.endpoint else {
        return Ok(TraceExport::default());
    };
    let (tracer, exporter) =
        collector::prepare_export(endpoint, loaded, env, metrics).map_err(BuildError::Traces)?;
    Ok(TraceExport { tracer, export: Some(Box::pin(exporter.run())) })
}

/// Records no spans: the check of the files has rejected a collector in a build without `otlp`.
#[cfg(not(feature = "otlp"))]
#[expect(clippy::unnecessary_wraps, reason = "the other form can fail")]
pub(super) fn prepare_traces(
    _: &LoadedConfig,
    _: &Env,
    _: &Arc<Metrics>,
) -> Result<TraceExport, BuildError> {
    Ok(TraceExport::default())
}

impl TraceExport {
    /// Starts the export. Returns the tracer, to be flushed at shutdown.
    pub(crate) fn start_export(self) -> Tracer {
        if let Some(export) = self.export {
            actix::spawn(export);
        }
        self.tracer
    }
}
