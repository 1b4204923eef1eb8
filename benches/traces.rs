//! Measures the cost of the spans of one login: its eight requests with as many spans as a real
//! login has, recorded and encoded for the collector.
//!
//! `cargo bench --bench traces`. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{ClientId, ConnectorId, SupportId};
use passerelle_protocol::trace_context::TraceContext;
use passerelle_telemetry::Metrics;
use passerelle_telemetry::export::{ExportError, SpanTransport, span_queue};
use passerelle_telemetry::trace::{self, Propagation, Sampling, Tracer};
use tokio::time::Instant;

const LOGINS: u32 = 2_000;
const ROUNDS: usize = 15;

/// Transport that drops bodies: the cost of the network is not measured.
struct NullTransport;

#[async_trait]
impl SpanTransport for NullTransport {
    async fn send(&self, body: Vec<u8>) -> Result<usize, ExportError> {
        std::hint::black_box(body);
        Ok(0)
    }
}

struct Login {
    support_id: SupportId,
    client: ClientId,
    connector: ConnectorId,
}

impl Login {
    /// Runs the authorization request and seven further requests.
    async fn run(&self, tracer: &Tracer) {
        let mut authorize = tracer.start_request(None);
        let context = authorize.run(async { trace::start_login_trace(&self.support_id) }).await;
        authorize.set_route("GET", Some("/api/v2/authorize".into()));
        authorize.set_status(303);
        drop(authorize);
        for calls in [0, 1, 4, 0, 1, 1, 0] {
            self.request(tracer, context.as_ref(), calls).await;
        }
    }

    async fn request(&self, tracer: &Tracer, context: Option<&TraceContext>, calls: usize) {
        let mut request = tracer.start_request(None);
        let work = async {
            trace::attach_login(&self.support_id, context);
            let mut step = trace::start_span("login step");
            step.set_client(&self.client);
            step.run(async {
                for _ in 0..calls {
                    let mut span = trace::start_span("idp complete");
                    span.set_connector(&self.connector);
                    span.run(async {
                        let mut call = trace::start_call("POST");
                        call.set_server("POST", "idp.example.org", Some(443));
                        call.set_status(200);
                    })
                    .await;
                }
            })
            .await;
            step.set_login_state("away");
        };
        request.run(work).await;
        request.set_route("POST", Some("/api/v2/interaction/{hash}/provider".into()));
        request.set_status(303);
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let login = Login {
        support_id: "7K2M9QX4T0BC".into(),
        client: "town-hall".into(),
        connector: "impots".into(),
    };
    runtime.block_on(async {
        println!(
            "off             {:?} per login",
            median_duration(&login, &Tracer::disabled()).await
        );
        for ratio in [0.0, 0.1, 1.0] {
            let env = Env::system();
            let metrics = Arc::new(Metrics::new().unwrap());
            let (queue, exporter) =
                span_queue(10_000_000, Vec::new(), Box::new(NullTransport), &metrics);
            let tracer = Tracer::new(ratio, Sampling::HubRatio, Propagation::Disabled, queue, env);
            let exporting = tokio::spawn(exporter.run());
            println!(
                "sample_ratio {ratio:.1} {:?} per login, export included",
                median_duration(&login, &tracer).await
            );
            exporting.abort();
        }
    });
}

/// Returns the median of the rounds.
async fn median_duration(login: &Login, tracer: &Tracer) -> Duration {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..LOGINS {
            login.run(tracer).await;
        }
        tracer.flush(Duration::from_secs(60)).await;
        rounds.push(began.elapsed() / LOGINS);
    }
    rounds.sort();
    rounds.get(ROUNDS / 2).copied().unwrap_or_default()
}
