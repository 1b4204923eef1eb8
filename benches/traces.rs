//! What the spans of one login cost: the eight requests of a login, with as many spans as a real one has, told by the
//! tracer, and written for the collector. `cargo bench --bench traces`. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use passerelle::env::Env;
use passerelle::ids::{ClientId, ConnectorId, SupportId};
use passerelle::protocol::trace_context::TraceContext;
use passerelle::telemetry::Metrics;
use passerelle::telemetry::export::{self, Transport, Undelivered};
use passerelle::telemetry::otlp::Resource;
use passerelle::telemetry::trace::{self, Propagation, Sampling, Tracer};
use tokio::time::Instant;

const LOGINS: u32 = 2_000;
const ROUNDS: usize = 15;

/// Takes bodies and lets them go: the network's cost is the collector's business.
struct Nowhere;

#[async_trait]
impl Transport for Nowhere {
    async fn send(&self, body: Vec<u8>) -> Result<u64, Undelivered> {
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
    /// Authorize, and seven requests that belong to it.
    async fn whole(&self, tracer: &Tracer) {
        let mut authorize = tracer.request(None);
        let context = authorize.run(async { trace::begin_login(&self.support_id) }).await;
        authorize.route("GET", Some("/api/v2/authorize".into()));
        authorize.status(303);
        drop(authorize);
        for calls in [0, 1, 4, 0, 1, 1, 0] {
            self.request(tracer, context.as_ref(), calls).await;
        }
    }

    async fn request(&self, tracer: &Tracer, context: Option<&TraceContext>, calls: usize) {
        let mut request = tracer.request(None);
        let work = async {
            trace::about(&self.support_id, context);
            let mut step = trace::span("login step");
            step.client(&self.client);
            step.run(async {
                for _ in 0..calls {
                    let mut span = trace::span("idp complete");
                    span.connector(&self.connector);
                    span.run(async {
                        let mut call = trace::call("POST");
                        call.host("POST", "idp.example.org", Some(443));
                        call.status(200);
                    })
                    .await;
                }
            })
            .await;
            step.state("away");
        };
        request.run(work).await;
        request.route("POST", Some("/api/v2/interaction/{hash}/provider".into()));
        request.status(303);
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
        println!("off             {:?} a login", measured(&login, &Tracer::off(), None).await);
        for ratio in [0.0, 0.1, 1.0] {
            let env = Env::system();
            let metrics = Arc::new(Metrics::new(env.now()).unwrap());
            let (queue, exporter) =
                export::queue(10_000_000, Resource::default(), Box::new(Nowhere), &metrics);
            let tracer =
                Tracer::new(ratio, Sampling::Ours, Propagation::Nobody, queue.clone(), env);
            let exporting = tokio::spawn(exporter.run());
            println!(
                "sample_ratio {ratio:.1} {:?} a login, export included",
                measured(&login, &tracer, Some(&queue)).await
            );
            exporting.abort();
        }
    });
}

/// The median of the rounds.
async fn measured(login: &Login, tracer: &Tracer, queue: Option<&export::Queue>) -> Duration {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        for _ in 0..LOGINS {
            login.whole(tracer).await;
        }
        if let Some(queue) = queue {
            queue.flush(Duration::from_secs(60)).await;
        }
        rounds.push(began.elapsed() / LOGINS);
    }
    rounds.sort();
    rounds.get(ROUNDS / 2).copied().unwrap_or_default()
}
