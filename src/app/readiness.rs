//! What `/readyz` says: every check of this hub, and which of them keep it from being served (docs/operating.md).
//!
//! Not ready is what another node may do better: no key, no store, going down. All else only degrades: whoever has a login
//! under way here is served to its end, and a page of ours says more than a load balancer's.

use std::sync::Arc;

use arc_swap::ArcSwap;

use super::keys::SharedKeys;
use super::reload::Reload;
use super::store::Complaint;
use crate::actor::Connectors;
use crate::actor::blocks::Blocks;
use crate::actor::registry::{Circuit, ConnectorRow, ConnectorState};
use crate::audit::Audit;
use crate::config::Loaded;
use crate::env::Env;
use crate::protocol::alg::SigningAlg;
use crate::quota::exchange::Exchange;
use crate::register::Register;
use crate::store::{Kind, Store};
use crate::token::Keyring;
use crate::web::private::Readiness;
use crate::web::window::StoreRow;

/// Of its places; beyond it there is little time left.
const NEARLY_FULL: usize = 90;
/// Seconds by which two clocks may differ before tokens begin to be refused for it.
const CLOCKS_APART: u64 = 30;
/// After so long a signing key should have been changed.
const KEY_LIFE_DAYS: u64 = 365;
/// Names that are written out.
const NAMED: usize = 10;

/// What the checks look at. Each knows already: none waits.
pub(super) struct Looked {
    pub env: Env,
    pub store: Arc<dyn Store>,
    pub complaint: Complaint,
    pub places: Places,
    pub keys: SharedKeys,
    pub connectors: Connectors,
    pub blocks: Blocks,
    pub register: Option<Arc<dyn Register>>,
    pub reload: Reload,
    pub audit: Audit,
    pub exchange: Option<Arc<Exchange>>,
}

/// Of the store's records.
#[derive(Clone, Copy)]
pub(super) struct Places {
    logins: usize,
    login_bytes: usize,
    sessions: usize,
    grants: usize,
}

impl Places {
    pub fn of(loaded: &Loaded) -> Self {
        let limits = &loaded.settings.limits;
        Self {
            logins: limits.logins,
            login_bytes: limits.login_bytes(),
            sessions: limits.sessions,
            grants: limits.grants,
        }
    }

    pub fn rows(self, store: &dyn Store) -> Vec<StoreRow> {
        let row = |records: &str, kinds: &[Kind], places| {
            let held = kinds.iter().map(|kind| store.count(*kind)).sum();
            StoreRow { records: records.to_owned(), held, places }
        };
        vec![
            row("logins", &[Kind::Login], self.logins),
            StoreRow {
                records: "bytes of logins".to_owned(),
                held: store.usage(Kind::Login).bytes,
                places: self.login_bytes,
            },
            row("sessions", &[Kind::Session], self.sessions),
            row("codes and tokens", &[Kind::Code, Kind::Token], self.grants),
        ]
    }
}

pub(super) fn readiness(looked: Looked) -> Readiness {
    let Looked {
        env,
        store,
        complaint,
        places,
        keys,
        connectors,
        blocks,
        register,
        reload,
        audit,
        exchange,
    } = looked;
    let known = blocks.clone();
    let ring = Arc::clone(&keys.ring);
    let (now, clock, aged) = (env.clone(), connectors.clone(), (Arc::clone(&ring), env));
    let way_out = connectors.clone();
    Readiness::default()
        .with("keys", move || keys_sign(&ring, &now))
        .with("store", complaint)
        .with("blocks", move || blocks.unread().map_or(Ok(()), Err))
        .with_detail("blocks", move || known.complaint().into_iter().collect())
        .with_detail("store", move || {
            places.rows(store.as_ref()).iter().filter_map(nearly_full).collect()
        })
        .with_detail("keys", move || {
            keys.complaint().into_iter().chain(old_keys(&aged.0.load(), &aged.1)).collect()
        })
        .with_detail("config", move || reload.complaints())
        .with_detail("connectors", move || connectors_down(&connectors.overview()))
        .with_detail("way_out", move || way_out.way_out_complaint().into_iter().collect())
        .with_detail("register", move || {
            register.as_ref().and_then(|register| register.complaint()).into_iter().collect()
        })
        .with_detail("audit", move || audit.complaints())
        .with_detail("limits", move || {
            exchange.as_ref().map(|exchange| exchange.complaints()).unwrap_or_default()
        })
        .with_detail("clock", move || clocks_apart(&clock.overview()))
}

fn keys_sign(ring: &ArcSwap<Keyring>, env: &Env) -> Result<(), String> {
    let (ring, now) = (ring.load(), env.now());
    let missing: Vec<&str> = [SigningAlg::ES256, SigningAlg::RS256]
        .into_iter()
        .filter(|alg| ring.current(*alg, now).is_none())
        .map(SigningAlg::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "no key signs by {} now; mend: see `passerelle keys list`, and this machine's clock",
        missing.join(" and ")
    ))
}

fn old_keys(ring: &Keyring, env: &Env) -> Vec<String> {
    let now = env.now();
    let current =
        [SigningAlg::ES256, SigningAlg::RS256].into_iter().filter_map(|alg| ring.current(alg, now));
    let old = current.filter(|key| ring.successor(key).is_none()).filter_map(|key| {
        let days = now.since(key.signs_from).as_secs() / 86_400;
        (days >= KEY_LIFE_DAYS).then(|| {
            let alg = key.alg.as_str();
            format!(
                "the {alg} key signs for {days} days, and none follows it; mend: `passerelle keys rotate`, which needs no restart"
            )
        })
    });
    old.collect()
}

fn nearly_full(row: &StoreRow) -> Option<String> {
    let key = match row.records.as_str() {
        "logins" => "limits.logins",
        "bytes of logins" => "limits.login_bytes",
        "sessions" => "limits.sessions",
        _ => "limits.grants",
    };
    (row.percent() >= NEARLY_FULL).then(|| {
        let StoreRow { records, held, places } = row;
        format!(
            "{held} of {places} places for {records} are taken, and beyond them new ones are refused; \
             mend: raise {key} if memory allows, or find out who begins so many"
        )
    })
}

fn connectors_down(rows: &[ConnectorRow]) -> Vec<String> {
    let on: Vec<&ConnectorRow> =
        rows.iter().filter(|row| row.state == ConnectorState::On).collect();
    let is_down = |row: &&&ConnectorRow| {
        row.health.as_ref().is_some_and(|health| health.circuit != Circuit::Closed)
    };
    let down: Vec<&str> = on.iter().filter(is_down).map(|row| row.id.as_str()).collect();
    let mut told = Vec::new();
    if on.is_empty() {
        told.push(
            "no connector is on, so that nobody can log in; mend: see `passerelle idp list`"
                .to_owned(),
        );
    }
    if !down.is_empty() {
        let named = down.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        let more = down.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        told.push(format!(
            "{} of {} identity providers are down: {named}{more}; \
             mend: tell their operators; the hub tries again by itself (docs/identity-provider-health.md)",
            down.len(),
            on.len()
        ));
    }
    told
}

/// One clock that is away is its owner's; most of them are ours.
fn clocks_apart(rows: &[ConnectorRow]) -> Vec<String> {
    let known: Vec<(&str, i64)> = rows
        .iter()
        .filter_map(|row| Some((row.id.as_str(), row.health.as_ref()?.skew_seconds?)))
        .collect();
    let apart: Vec<_> =
        known.iter().filter(|(_, skew)| skew.unsigned_abs() > CLOCKS_APART).collect();
    let ahead = apart.iter().filter(|(_, skew)| *skew > 0).count();
    let agree = ahead.max(apart.len() - ahead);
    if known.len() > 1 && agree * 2 > known.len() {
        let what = format!(
            "the clocks of {agree} of {} identity providers differ from this machine's in the same way",
            known.len()
        );
        return vec![format!("{what}; mend: set this machine's clock (NTP)")];
    }
    let told = |(id, skew): &&(&str, i64)| {
        format!(
            "the clock of {id} is {skew:+} s away from this machine's; mend: tell its operators, or set this machine's clock"
        )
    };
    apart.iter().take(NAMED).map(told).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::actor::registry::HealthRow;
    use crate::assurance::Level;

    fn row(id: &str, circuit: Circuit, skew_seconds: Option<i64>) -> ConnectorRow {
        let health = HealthRow {
            circuit,
            failure_ratio: 0.0,
            p99_seconds: None,
            reasons: Vec::new(),
            skew_seconds,
        };
        ConnectorRow {
            id: id.into(),
            name: BTreeMap::new(),
            state: ConnectorState::On,
            lowest: Level::Eidas1,
            highest: Level::Eidas2,
            blocks: Vec::new(),
            health: Some(health),
        }
    }

    #[test]
    fn what_is_down_is_counted_and_named() {
        let rows = [
            row("a", Circuit::Closed, None),
            row("b", Circuit::Open, None),
            row("c", Circuit::HalfOpen, None),
        ];
        let told = connectors_down(&rows);
        assert!(
            told.len() == 1
                && told[0].starts_with("2 of 3 identity providers are down: b, c; mend: "),
            "{told:?}"
        );
        assert_eq!(connectors_down(&rows[..1]), [] as [String; 0]);
        let off = ConnectorRow { state: ConnectorState::Off, ..row("a", Circuit::Open, None) };
        assert!(connectors_down(&[off])[0].starts_with("no connector is on"));
    }

    #[test]
    fn one_clock_that_is_away_is_its_own_and_most_of_them_are_ours() {
        let of = |skews: &[i64]| -> Vec<String> {
            let ids = ["a", "b", "c", "d"];
            clocks_apart(
                &ids.iter()
                    .zip(skews)
                    .map(|(id, skew)| row(id, Circuit::Closed, Some(*skew)))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(of(&[0, 30, -30]), [] as [String; 0]);
        assert!(of(&[0, 31, 0])[0].starts_with("the clock of b is +31 s away"));
        assert!(of(&[-300])[0].starts_with("the clock of a is -300 s away"));
        assert!(of(&[90, 91, 0])[0].starts_with("the clocks of 2 of 3"));
        assert_eq!(of(&[90, -90, 0, 0]).len(), 2);
    }

    #[test]
    fn a_shelf_is_told_of_before_it_is_full() {
        let row = |held| StoreRow { records: "sessions".into(), held, places: 1000 };
        assert_eq!(nearly_full(&row(899)), None);
        assert!(
            nearly_full(&row(900)).is_some_and(
                |told| told.contains("900 of 1000") && told.contains("limits.sessions")
            )
        );
    }
}
