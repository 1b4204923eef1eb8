//! Measures the cost of the audit log: for the caller that records an event, and in total for a
//! login of thirteen events.
//!
//! `cargo bench --bench audit`. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::sync::Arc;
use std::time::Duration;

use passerelle_audit::file::{FileRotation, FileSink};
use passerelle_audit::recent::RetentionLimits;
use passerelle_audit::{Audit, Event, EventKind, RecentEvents, WhenFull, WriterConfig, writer};
use passerelle_jose::Keyring;
use passerelle_protocol::acr::Level;
use passerelle_protocol::env::Env;
use passerelle_protocol::ids::{InteractionHash, SupportId};
use passerelle_telemetry::Metrics;
use tempfile::TempDir;
use tokio::time::Instant;

const EVENTS: u32 = 130_000;
const EVENTS_PER_FLUSH: u32 = 1_000;
const EVENTS_PER_LOGIN: u32 = 13;

fn main() {
    let env = Env::system();
    let folder = TempDir::new().unwrap();
    let rotation = FileRotation { max_bytes: 0, daily: false, keep_files: None, max_age: None };
    let (sink, found) =
        FileSink::open(&folder.path().join("audit.jsonl"), rotation, env.now()).unwrap();
    let config = WriterConfig {
        signer: Arc::new(Keyring::ephemeral(env.now()).unwrap()),
        metrics: Arc::new(Metrics::new().unwrap()),
        issuer: "https://hub.example/api/v2".into(),
        node: "hub-1".into(),
        when_full: WhenFull::GoOn,
        log: String::new(),
        checkpoint_stores: Vec::new(),
        startup_finding: None,
        batch_delay: Duration::ZERO,
        env,
    };
    let audit = writer::start(Box::new(sink), found, Event::new(EventKind::Start), config).unwrap();
    let (hash, support_id) = (InteractionHash::from_cookie("cookie"), "7K2M9QX4T0BC".into());
    let (sp, idp, subject) = (
        "town-hall".into(),
        "impots".into(),
        "15bL9Q2L_SvjtseReU4OAH9wQjZWNnTem6DfbGtwYJcv1".into(),
    );
    let (mut recording, whole) = (Duration::ZERO, Instant::now());
    for _ in 0..EVENTS / EVENTS_PER_FLUSH {
        let began = Instant::now();
        for _ in 0..EVENTS_PER_FLUSH {
            audit.record(|| {
                let issued = Event::new(EventKind::CodeIssued)
                    .sp(&sp)
                    .idp(&idp)
                    .subject(&subject)
                    .level(Level::Eidas1);
                issued.login(&hash).session("a lineage of 43 characters").support_id(&support_id)
            });
        }
        recording += began.elapsed();
        audit.flush();
    }
    let whole = whole.elapsed();
    measure_recent_events();
    println!("recorded in {:?} per event", recording / EVENTS);
    println!(
        "written in  {:?} per event, {:?} per login of {EVENTS_PER_LOGIN}",
        whole / EVENTS,
        whole / EVENTS * EVENTS_PER_LOGIN
    );
}

/// Measures the recent events of the operator console: the same events, kept but not written.
fn measure_recent_events() {
    let env = Env::system();
    let max_age = Duration::from_secs(30 * 24 * 3600);
    let limits = RetentionLimits { logins: 20_000, without_login: 5_000, max_age };
    let recent = Arc::new(RecentEvents::new(limits, &env));
    let audit = Audit::off().with_recent(&recent);
    let (sp, idp) = ("town-hall".into(), "impots".into());
    let names = [
        EventKind::AuthorizationReceived,
        EventKind::ChoiceShown,
        EventKind::IdpChosen,
        EventKind::CallbackAccepted,
        EventKind::CodeIssued,
    ];
    let ids: Vec<SupportId> =
        (0..EVENTS / EVENTS_PER_LOGIN).map(|_| SupportId::generate(env.entropy())).collect();
    let began = Instant::now();
    for id in &ids {
        for step in 0..EVENTS_PER_LOGIN as usize {
            let name = names.get(step).copied().unwrap_or(EventKind::TokenIssued);
            audit.record(|| Event::new(name).sp(&sp).idp(&idp).level(Level::Eidas1).support_id(id));
        }
    }
    let whole = began.elapsed();
    println!(
        "kept in     {:?} per event, {:?} per login of {EVENTS_PER_LOGIN}",
        whole / EVENTS,
        whole / EVENTS * EVENTS_PER_LOGIN
    );
}
