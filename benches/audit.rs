//! What the audit log costs: for whoever tells of an event, and as a whole for a login of thirteen events.
//! `cargo bench --bench audit`. Nothing is asserted: read the figures.
#![expect(clippy::unwrap_used, reason = "a measurement that can't be made should stop")]

use std::sync::Arc;
use std::time::Duration;

use passerelle::audit::file::{FileSink, Rotation};
use passerelle::audit::recent::Room;
use passerelle::audit::{Audit, Event, WriterConfig, Name, Recent, WhenFull, writer};
use passerelle::env::Env;
use passerelle::ids::{InteractionHash, SupportId};
use passerelle::protocol::acr::Level;
use passerelle::telemetry::Metrics;
use passerelle::token::Keyring;
use tempfile::TempDir;
use tokio::time::Instant;

const EVENTS: u32 = 130_000;
const AT_ONCE: u32 = 1_000;
const OF_A_LOGIN: u32 = 13;

fn main() {
    let env = Env::system();
    let folder = TempDir::new().unwrap();
    let rotation = Rotation { size: 0, daily: false, keep: None };
    let (sink, found) =
        FileSink::open(&folder.path().join("audit.jsonl"), rotation, env.now()).unwrap();
    let means = WriterConfig {
        signer: Arc::new(Keyring::ephemeral(env.now()).unwrap()),
        metrics: Arc::new(Metrics::new(env.now()).unwrap()),
        issuer: "https://hub.example/api/v2".into(),
        node: "hub-1".into(),
        when_full: WhenFull::GoOn,
        log: String::new(),
        seals: Vec::new(),
        finding: None,
        gather: Duration::ZERO,
        env,
    };
    let audit = writer::start(Box::new(sink), found, Event::of(Name::Start), means).unwrap();
    let (hash, support_id) = (InteractionHash::of_cookie("cookie"), "7K2M9QX4T0BC".into());
    let (sp, idp, subject) = (
        "town-hall".into(),
        "impots".into(),
        "15bL9Q2L_SvjtseReU4OAH9wQjZWNnTem6DfbGtwYJcv1".into(),
    );
    let (mut telling, whole) = (Duration::ZERO, Instant::now());
    for _ in 0..EVENTS / AT_ONCE {
        let began = Instant::now();
        for _ in 0..AT_ONCE {
            audit.tell(|| {
                let issued = Event::of(Name::CodeIssued)
                    .sp(&sp)
                    .idp(&idp)
                    .subject(&subject)
                    .level(Level::Eidas1);
                issued.login(&hash).session("a lineage of 43 characters").support_id(&support_id)
            });
        }
        telling += began.elapsed();
        audit.flush();
    }
    let whole = whole.elapsed();
    remembered();
    println!("told in    {:?} an event", telling / EVENTS);
    println!(
        "written in {:?} an event, {:?} a login of {OF_A_LOGIN}",
        whole / EVENTS,
        whole / EVENTS * OF_A_LOGIN
    );
}

/// What the operator's window costs: the same events, remembered and not written.
fn remembered() {
    let env = Env::system();
    let recent = Arc::new(Recent::new(Room { logins: 20_000, strays: 5_000 }, &env));
    let audit = Audit::off().remembered(&recent);
    let (sp, idp) = ("town-hall".into(), "impots".into());
    let names = [
        Name::AuthorizationReceived,
        Name::ChoiceShown,
        Name::IdpChosen,
        Name::CallbackAccepted,
        Name::CodeIssued,
    ];
    let ids: Vec<SupportId> =
        (0..EVENTS / OF_A_LOGIN).map(|_| SupportId::fresh(env.entropy())).collect();
    let began = Instant::now();
    for id in &ids {
        for step in 0..OF_A_LOGIN as usize {
            let name = names.get(step).copied().unwrap_or(Name::TokenIssued);
            audit.tell(|| Event::of(name).sp(&sp).idp(&idp).level(Level::Eidas1).support_id(id));
        }
    }
    let whole = began.elapsed();
    println!(
        "remembered in {:?} an event, {:?} a login of {OF_A_LOGIN}",
        whole / EVENTS,
        whole / EVENTS * OF_A_LOGIN
    );
}
