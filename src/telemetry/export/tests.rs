use super::super::trace::{Propagation, Sampling, Tracer};
use super::*;
use crate::env::{Env, HandClock, SeededEntropy, Timestamp};
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::time::Instant;

/// A collector that answers as it was told to, then well for ever; and keeps what it got.
#[derive(Clone, Default)]
struct Collector {
    answers: Arc<Mutex<VecDeque<Result<u64, Undelivered>>>>,
    bodies: Arc<Mutex<Vec<serde_json::Value>>>,
}

#[async_trait]
impl Transport for Collector {
    async fn send(&self, body: Vec<u8>) -> Result<u64, Undelivered> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Ok(0));
        if answer.is_ok() {
            self.bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
        }
        answer
    }
}

impl Collector {
    fn spans(&self) -> usize {
        let spans = |body: &serde_json::Value| {
            body.pointer("/resourceSpans/0/scopeSpans/0/spans").unwrap().as_array().unwrap().len()
        };
        self.bodies.lock().unwrap().iter().map(spans).sum()
    }
}

fn hub(room: usize, collector: &Collector) -> (Tracer, Queue, Exporter, Arc<Metrics>) {
    let env = Env::new(
        Arc::new(HandClock::at(Timestamp::from_seconds(1_800_000_000))),
        Arc::new(SeededEntropy::new(3)),
    );
    let metrics = Arc::new(Metrics::new(env.now()).unwrap());
    let (queue, exporter) = queue(room, Resource::default(), Box::new(collector.clone()), &metrics);
    (
        Tracer::new(1.0, Sampling::Ours, Propagation::Nobody, queue.clone(), env),
        queue,
        exporter,
        metrics,
    )
}

fn count(metrics: &Metrics, outcome: &str) -> usize {
    let line = format!("passerelle_trace_spans_total{{outcome=\"{outcome}\"}} ");
    metrics.render().lines().find_map(|text| text.strip_prefix(&line)?.parse().ok()).unwrap_or(0)
}

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn what_waits_is_sent_in_one_body_after_a_second() {
    let collector = Collector::default();
    let (tracer, _queue, exporter, metrics) = hub(100, &collector);
    tokio::spawn(exporter.run());
    for _ in 0..3 {
        drop(tracer.request(None));
    }
    tokio::time::sleep(GATHER * 2).await;
    let bodies = collector.bodies.lock().unwrap().len();
    assert_eq!((bodies, collector.spans(), count(&metrics, EXPORTED)), (1, 3, 3));
}

#[tokio::test(start_paused = true)]
async fn a_dead_collector_costs_counted_spans_and_keeps_those_that_find_room() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend((0..3).map(|_| Err(Undelivered::ForNow("refused".into()))));
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    for _ in 0..25 {
        drop(tracer.request(None));
    }
    assert_eq!(count(&metrics, NO_ROOM), 15, "no more than the queue holds");
    tokio::spawn(exporter.run());
    tokio::time::sleep(LONGEST_PAUSE).await;
    assert_eq!(
        (collector.spans(), count(&metrics, EXPORTED)),
        (10, 10),
        "and those are sent when it is back"
    );
    drop(tracer.request(None));
    queue.flush(LONG).await;
    assert_eq!(count(&metrics, EXPORTED), 11, "their room is free again");
}

#[tokio::test(start_paused = true)]
async fn an_end_is_not_held_up_by_a_dead_collector() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend((0..1000).map(|_| Err(Undelivered::ForNow("refused".into()))));
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    tokio::spawn(exporter.run());
    drop(tracer.request(None));
    tokio::time::sleep(LONGEST_PAUSE).await;
    let began = Instant::now();
    queue.flush(LONG).await;
    assert!(began.elapsed() < FIRST_PAUSE, "{:?}", began.elapsed());
    assert_eq!(count(&metrics, REFUSED), 1);
}

#[tokio::test(start_paused = true)]
async fn what_a_collector_never_takes_is_let_go_at_once() {
    let collector = Collector::default();
    collector
        .answers
        .lock()
        .unwrap()
        .extend([Err(Undelivered::ForGood("it answered with status 400".into())), Ok(2)]);
    let (tracer, queue, exporter, metrics) = hub(10, &collector);
    tokio::spawn(exporter.run());
    drop(tracer.request(None));
    queue.flush(LONG).await;
    assert_eq!(count(&metrics, REFUSED), 1);
    (0..3).for_each(|_| drop(tracer.request(None)));
    queue.flush(LONG).await;
    assert_eq!(
        (count(&metrics, REFUSED), count(&metrics, EXPORTED)),
        (3, 1),
        "a partial success counts what was not taken"
    );
}

#[tokio::test(start_paused = true)]
async fn a_collector_that_is_down_is_told_of_once() {
    let collector = Collector::default();
    let down = || Err(Undelivered::ForNow("refused".into()));
    collector.answers.lock().unwrap().extend([down(), down(), down(), Ok(0), down()]);
    let (tracer, queue, exporter, _metrics) = hub(10, &collector);
    let lines = crate::telemetry::lines::tests::Lines::default();
    let _listening = tracing::dispatcher::set_default(&lines.dispatch());
    tokio::spawn(exporter.run());
    drop(tracer.request(None));
    tokio::time::sleep(LONGEST_PAUSE).await;
    drop(tracer.request(None));
    queue.flush(LONG).await;
    let messages: Vec<_> =
        lines.json().iter().map(|line| line["level"].as_str().unwrap().to_owned()).collect();
    assert_eq!(messages, ["WARN", "INFO", "WARN"], "down, up again, down again");
}
