//! Defines the checks behind `/readyz`, and what each finds (docs/operating.md).
//!
//! A hub is not ready without a signing key, the store, the blocks, a valid connector or a valid
//! service provider, and during shutdown. Any other problem makes it "degraded": logins continue,
//! and the hub's own error page says more than a load balancer's.

mod unavailable_connectors;

use std::sync::Arc;
use std::time::Duration;

use self::unavailable_connectors::{MAX_NAMES_LISTED, find_unavailable_connectors};
use super::admitting_hubs::AdmittingHubs;
use super::keys::SharedKeys;
use super::reload::Reload;
use passerelle_admin::console::{LoginTrend, StoreUsage};
use passerelle_admin::readiness::Readiness;
use passerelle_grants::HubCore;
use passerelle_grants::backchannel_logout::LogoutNotifier;
use passerelle_hub::Connectors;
use passerelle_hub::hub_clock::{CommonSkew, MAX_CLOCK_SKEW_SECONDS};
use passerelle_hub::logins::Logins;
use passerelle_hub::notices::Notices;
use passerelle_hub::registry::{Blocks, ConnectorRow};
use passerelle_jose::Keyring;
use passerelle_protocol::alg::SigningAlg;
use passerelle_protocol::env::Timestamp;
use passerelle_quota::counter_sync::CounterSync;
use passerelle_register::Register;
use passerelle_store::kind::StoreCheck;
use passerelle_store::{Capacities, RecordKind, Store};
use passerelle_telemetry::CheckFinding;

/// Share of the capacity, in percent, from which the store counts as nearly full.
const NEARLY_FULL_PERCENT: usize = 90;
/// Age from which a signing key should be replaced.
const MAX_SIGNING_KEY_AGE_DAYS: u64 = 365;

/// Interval at which the checks run by themselves, so that the time at which a problem appears is
/// known when nothing requests `/readyz`.
const OBSERVATION_INTERVAL: Duration = Duration::from_secs(5);

/// Sources of the checks. Each answers from memory.
pub(super) struct ReadinessSources {
    pub core: Arc<HubCore>,
    pub store: Arc<dyn Store>,
    pub store_check: StoreCheck,
    pub capacities: Capacities,
    pub keys: SharedKeys,
    pub connectors: Connectors,
    pub blocks: Blocks,
    pub notices: Notices,
    pub register: Option<Arc<dyn Register>>,
    pub reload: Reload,
    pub counter_sync: Option<Arc<CounterSync>>,
    pub logins: Logins,
    pub logout_notifier: Arc<LogoutNotifier>,
    pub admitting_hubs: Arc<AdmittingHubs>,
    /// Found at the start; they stay until the next one.
    pub process_findings: Vec<CheckFinding>,
    pub login_trend: Arc<LoginTrend>,
}

/// Runs the checks at intervals, until the hub has ended.
pub(super) fn observe_problems(readiness: &Arc<Readiness>) {
    let readiness = Arc::downgrade(readiness);
    actix::spawn(async move {
        let mut ticks = tokio::time::interval(OBSERVATION_INTERVAL);
        loop {
            ticks.tick().await;
            let Some(readiness) = readiness.upgrade() else { return };
            let _dated = readiness.report();
        }
    });
}

/// Returns the use of what every login needs.
pub(super) fn store_usage_rows(store: &dyn Store, capacities: &Capacities) -> Vec<StoreUsage> {
    let row = |records: &str, kinds: &[&RecordKind]| {
        let used = kinds.iter().map(|kind| store.count(kind)).sum();
        let capacity = kinds.first().map_or(0, |kind| capacities.for_kind(kind).records);
        StoreUsage { records: records.to_owned(), used, capacity }
    };
    vec![
        row("logins", &[RecordKind::LOGIN]),
        StoreUsage {
            records: "bytes of logins".to_owned(),
            used: store.usage(RecordKind::LOGIN).bytes,
            capacity: capacities.for_kind(RecordKind::LOGIN).bytes,
        },
        row("sessions", &[RecordKind::SESSION]),
        row("codes and tokens", &[RecordKind::CODE, RecordKind::TOKEN]),
    ]
}

/// Builds the checks behind `/readyz`.
#[expect(clippy::too_many_lines, reason = "a list: one entry for each check")]
pub(super) fn build_readiness(sources: ReadinessSources) -> Readiness {
    let ReadinessSources {
        core,
        store,
        store_check,
        capacities,
        keys,
        connectors,
        blocks,
        notices,
        register,
        reload,
        counter_sync,
        logins: running_logins,
        logout_notifier,
        admitting_hubs,
        process_findings,
        login_trend,
    } = sources;
    let (federation, services) = (core.federation.clone(), core.federation.clone());
    let has_client_registration = core.dynamic_clients.get().is_some();
    let (refusing, logins) = (Arc::clone(&core), Arc::clone(&core));
    let (others, filled) = (Arc::clone(&admitting_hubs), Arc::clone(&store));
    let devices = keys.devices.clone();
    let admitted = capacities.clone();
    let (ring, env, key_env) = (Arc::clone(&keys.ring), core.env.clone(), core.env.clone());
    let (block_warnings, outbound, clock, config) =
        (blocks.clone(), connectors.clone(), connectors.clone(), reload.clone());
    let (certificates, certificate_env) = (reload.clone(), core.env.clone());
    Readiness::new(&core.env, login_trend)
        .with_check("keys", move || {
            let (ring, now) = (ring.load(), env.now());
            devices.not_ready_reason(&ring, now).or_else(|| check_signing_keys(&ring, now))
        })
        .with_check("store", move || {
            let error = store_check().err()?;
            let fix = "start its server, or restore the network to it; the hub checks again each second (docs/runbooks.md, PasserelleStoreFails)";
            Some(CheckFinding::new(format!("the store can't be used: {error}"), fix).with_kind("store"))
        })
        .with_check("blocks", move || blocks.not_ready_reason())
        .with_degradation_check("blocks", move || block_warnings.warning().into_iter().collect())
        .with_degradation_check("notices", move || notices.warning().into_iter().collect())
        .with_degradation_check("store", move || {
            let unauthenticated = running_logins.most_of_one_network();
            store_usage_rows(store.as_ref(), &capacities)
                .iter()
                .filter_map(|row| find_nearly_full(row, unauthenticated))
                .collect()
        })
        .with_degradation_check("keys", move || {
            let (ring, now) = (keys.ring.load(), key_env.now());
            let old_keys = find_old_keys(&ring, now);
            let devices = keys.devices.device_findings(&ring, now);
            let rotation = keys.rotation_error.load_full().map(|error| CheckFinding::clone(&error));
            keys.finding().into_iter().chain(rotation).chain(devices).chain(old_keys).collect()
        })
        .with_check("config", move || config.not_ready_reason())
        .with_degradation_check("config", move || {
            let is_empty = federation.load().service_providers().next().is_none();
            let missing = (is_empty && !has_client_registration).then(no_service_provider);
            reload.findings().into_iter().chain(missing).collect()
        })
        .with_degradation_check("certificates", move || {
            certificates.certificate_findings(certificate_env.now())
        })
        .with_degradation_check("logout_tokens", move || {
            logout_notifier.warning().into_iter().collect()
        })
        .with_degradation_check("connectors", move || {
            find_unavailable_connectors(&connectors.overview(), &services.load())
        })
        .with_degradation_check("egress", move || outbound.outbound_warning().into_iter().collect())
        .with_degradation_check("register", move || {
            register.as_ref().and_then(|register| register.warning()).into_iter().collect()
        })
        .with_degradation_check("audit", move || core.audit.warnings())
        .with_check("logins", move || {
            refusing.audit.admission_problem().filter(|_| others.has_other())
        })
        .with_degradation_check("logins", move || {
            let audit = logins.audit.admission_problem().filter(|_| !admitting_hubs.has_other());
            let rows = store_usage_rows(filled.as_ref(), &admitted);
            audit.into_iter().chain(rows.iter().filter_map(find_full)).collect()
        })
        .with_degradation_check("limits", move || {
            counter_sync.as_ref().and_then(|sync| sync.warning()).into_iter().collect()
        })
        .with_degradation_check("process", move || process_findings.clone())
        .with_degradation_check("clock", move || {
            find_clock_skew(&clock.overview(), clock.common_clock_skew())
        })
}

/// Signing algorithms for which a key must exist.
const SIGNING_ALGS: [SigningAlg; 2] = [SigningAlg::ES256, SigningAlg::RS256];

fn check_signing_keys(ring: &Keyring, now: Timestamp) -> Option<CheckFinding> {
    let missing: Vec<&str> = SIGNING_ALGS
        .into_iter()
        .filter(|alg| ring.current(*alg, now).is_none())
        .map(SigningAlg::as_str)
        .collect();
    (!missing.is_empty()).then(|| {
        CheckFinding::new(
            format!("no {} key can sign now", missing.join(" and ")),
            "see `passerelle keys list`, and check this machine's clock",
        )
    })
}

fn no_service_provider() -> CheckFinding {
    CheckFinding::no_login_admitted(
        "there is no service provider",
        "add a file to service-providers/; no restart is needed",
    )
}

fn find_old_keys(ring: &Keyring, now: Timestamp) -> Vec<CheckFinding> {
    let old =
        ring.current_keys(now).filter(|key| ring.successor(key).is_none()).filter_map(|key| {
            let days = now.since(key.signs_from).as_secs() / 86_400;
            (days >= MAX_SIGNING_KEY_AGE_DAYS).then(|| {
                let alg = key.alg.as_str();
                CheckFinding::new(
                    format!("the {alg} key has signed for {days} days and has no successor"),
                    "run `passerelle keys rotate`, which needs no restart",
                )
                .with_kind(alg)
            })
        });
    old.collect()
}

fn find_nearly_full(row: &StoreUsage, of_one_network: usize) -> Option<CheckFinding> {
    let is_nearly_full = row.percent_used() >= NEARLY_FULL_PERCENT && row.used < row.capacity;
    is_nearly_full.then(|| {
        let StoreUsage { records, used, capacity } = row;
        let what = format!("{used} of at most {capacity} {records} are stored");
        let finding = match describe_flood(row, of_one_network) {
            Some(flood) => CheckFinding::new(
                format!("{what}, because {flood}; it gets no more, and users of other networks can still sign in"),
                "if it is no proxy of yours (public.trusted_proxies), limit its requests there or by quotas.requests_per_network (docs/limits.md)",
            ),
            None => CheckFinding::new(
                format!("{what}; beyond that, new ones are rejected"),
                capacity_fix(row),
            ),
        };
        finding.with_kind(records.as_str())
    })
}

/// Returns which flood of requests fills this pool: logins of one network, if they are more than half
/// of all.
fn describe_flood(row: &StoreUsage, of_one_network: usize) -> Option<String> {
    let is_flood = row.records == "logins" && of_one_network * 2 > row.used;
    is_flood.then(|| format!("one network has begun {of_one_network} without an authentication"))
}

/// Reports a pool without which no login can begin or end.
fn find_full(row: &StoreUsage) -> Option<CheckFinding> {
    (row.used >= row.capacity).then(|| {
        let StoreUsage { records, capacity, .. } = row;
        let reason = format!("the store is full, with {capacity} {records}");
        CheckFinding::no_login_admitted(reason, capacity_fix(row))
    })
}

fn capacity_fix(row: &StoreUsage) -> String {
    let key = match row.records.as_str() {
        "logins" => "limits.logins",
        "bytes of logins" => "limits.login_bytes",
        "sessions" => "limits.sessions",
        _ => "limits.grants",
    };
    format!("raise {key} if memory allows, or find the source of the load")
}

/// Reports clock skew. With a `common` one this machine's clock is wrong; otherwise those of the
/// identity providers are.
fn find_clock_skew(rows: &[ConnectorRow], common: Option<CommonSkew>) -> Vec<CheckFinding> {
    let known: Vec<(&str, i64)> = rows
        .iter()
        .filter_map(|row| Some((row.id.as_str(), row.health.as_ref()?.skew_seconds?)))
        .collect();
    let apart: Vec<_> =
        known.iter().filter(|(_, skew)| skew.unsigned_abs() > MAX_CLOCK_SKEW_SECONDS).collect();
    if let Some(CommonSkew { providers, seconds }) = common {
        let what = format!(
            "this hub's clock is wrong, and logins fail: the clocks of {providers} of {} identity providers differ from it by about {seconds:+} s or more",
            known.len()
        );
        let finding = CheckFinding::new(what, "set this machine's clock (NTP)");
        return vec![finding.with_kind("this hub's clock")];
    }
    let describe = |(id, skew): &&(&str, i64)| {
        CheckFinding::new(
            format!("the clock of {id} differs from this machine's by {skew:+} s"),
            "inform its operators, or set this machine's clock",
        )
        .with_kind(*id)
    };
    apart.iter().take(MAX_NAMES_LISTED).map(describe).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use passerelle_connector::MeasuredSkew;
    use passerelle_egress::circuit_breaker::CircuitState;
    use passerelle_federation::assurance::Level;
    use passerelle_federation::identity::scopes::ScopeTable;
    use passerelle_federation::{Federation, UnavailableDisplay};
    use passerelle_hub::registry::{ConnectorState, HealthRow, UnreachableRow};

    fn no_services() -> Federation {
        Federation::new([], ScopeTable::default(), UnavailableDisplay::Disabled)
    }

    fn row(id: &str, state: ConnectorState, skew_seconds: Option<i64>) -> ConnectorRow {
        let health = HealthRow {
            circuit: CircuitState::Closed,
            failure_ratio: 0.0,
            p99_seconds: None,
            median_seconds: None,
            reasons: Vec::new(),
            unreachable: None,
            skew_seconds,
        };
        ConnectorRow {
            id: id.into(),
            name: BTreeMap::new(),
            state,
            lowest: Level::Eidas1,
            highest: Level::Eidas2,
            blocks: Vec::new(),
            dropped_claims: Vec::new(),
            health: Some(health),
            invalid_file: None,
        }
    }

    #[test]
    fn unavailable_connectors_are_counted_and_named() {
        let rows = [
            row("a", ConnectorState::Available, None),
            row("b", ConnectorState::Down, None),
            row("c", ConnectorState::Down, None),
        ];
        let findings = find_unavailable_connectors(&rows, &no_services());
        assert!(
            findings.len() == 1
                && findings[0].message == "2 of 3 identity providers are down: b, c"
                && findings[0].identity_providers == ["b".into(), "c".into()],
            "{findings:?}"
        );
        assert_eq!(find_unavailable_connectors(&rows[..1], &no_services()), []);
        let disabled = row("a", ConnectorState::Disabled, None);
        let findings = find_unavailable_connectors(&[disabled], &no_services());
        assert!(findings[0].message.contains("no connector is enabled"), "{findings:?}");
    }

    #[test]
    fn identity_providers_are_reported_by_state_and_cause_those_that_are_down_first() {
        let unreachable = |id, state| {
            let mut row = row(id, state, None);
            row.health.as_mut().unwrap().unreachable = Some(UnreachableRow {
                since: "2026-11-23T03:00:00Z".to_owned(),
                code: "Y020003".to_owned(),
                reason: "The identity provider can't be reached.".to_owned(),
            });
            row
        };
        let mut slow = row("d", ConnectorState::Degraded, None);
        slow.health.as_mut().unwrap().reasons = vec![("Y020002".to_owned(), 7)];
        let rows = [
            unreachable("a", ConnectorState::Degraded),
            unreachable("b", ConnectorState::Down),
            unreachable("c", ConnectorState::Degraded),
            slow,
        ];
        let findings = find_unavailable_connectors(&rows, &no_services());
        let starts = [
            "1 of 4 identity providers is down: b. Y020003: ",
            "1 of 4 identity providers is degraded: d. Y020002: ",
            "2 of 4 identity providers are degraded: a, c. Y020003: ",
        ];
        assert_eq!(findings.len(), starts.len(), "{findings:?}");
        for (finding, start) in findings.iter().zip(starts) {
            assert!(finding.message.starts_with(start), "{finding:?}");
        }
    }

    #[test]
    fn an_identity_provider_that_answers_slowly_is_reported_after_those_that_fail() {
        let mut slow = row("a", ConnectorState::Available, None);
        slow.health.as_mut().unwrap().median_seconds = Some(4.1);
        let mut quick = row("b", ConnectorState::Available, None);
        quick.health.as_mut().unwrap().median_seconds = Some(0.3);
        let rows = [slow.clone(), quick, row("c", ConnectorState::Down, None)];
        let findings = find_unavailable_connectors(&rows, &no_services());
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(
            findings[1].message.starts_with("1 of 3 identity providers is slow: a. ")
                && findings[1].identity_providers == ["a".into()],
            "{findings:?}"
        );
        slow.state = ConnectorState::Down;
        let findings = find_unavailable_connectors(&[slow], &no_services());
        assert_eq!(findings.len(), 1, "what is down is not slow: {findings:?}");
    }

    #[test]
    fn a_flood_of_one_network_is_named_where_it_fills_the_store() {
        let row = |records: &str| StoreUsage { records: records.into(), used: 95, capacity: 100 };
        let message = |records, of_one_network| {
            find_nearly_full(&row(records), of_one_network).unwrap().message
        };
        let flood = message("logins", 80);
        assert!(flood.contains("because one network has begun 80 without"), "{flood}");
        // Others fill the store: logins with an authentication, or of several networks.
        for of_one_network in [0, 1, 45] {
            let crowd = message("logins", of_one_network);
            assert!(crowd.contains("beyond that, new ones are rejected"), "{crowd}");
        }
        assert!(!message("sessions", 80).contains("network"));
    }

    #[test]
    fn one_skewed_clock_is_its_owners_and_a_majority_means_our_own() {
        let findings = |skews: &[i64]| -> Vec<CheckFinding> {
            let ids = ["a", "b", "c", "d"];
            let rows: Vec<_> = ids
                .iter()
                .zip(skews)
                .map(|(id, skew)| row(id, ConnectorState::Available, Some(*skew)))
                .collect();
            let stated =
                |seconds: &i64| MeasuredSkew { seconds: *seconds, certificate_limit: None };
            let stated: Vec<_> = skews.iter().map(stated).collect();
            find_clock_skew(&rows, CommonSkew::from_skews(&stated))
        };
        assert_eq!(findings(&[0, 30, -30]), []);
        assert!(
            findings(&[0, 31, 0])[0]
                .message
                .starts_with("the clock of b differs from this machine's by +31 s")
        );
        assert!(
            findings(&[-300])[0]
                .message
                .starts_with("the clock of a differs from this machine's by -300 s")
        );
        let own = &findings(&[3600, 3601, 0])[0].message;
        assert!(
            own.starts_with("this hub's clock is wrong")
                && own.contains("2 of 3")
                && own.contains("+3601 s"),
            "{own}"
        );
        assert_eq!(findings(&[90, -90, 0, 0]).len(), 2);
    }

    #[test]
    fn a_store_is_reported_before_it_is_full() {
        let row = |held| StoreUsage { records: "sessions".into(), used: held, capacity: 1000 };
        assert_eq!(find_nearly_full(&row(899), 0), None);
        assert!(
            find_nearly_full(&row(900), 0)
                .is_some_and(|finding| finding.message.contains("900 of at most 1000")
                    && finding.fix.contains("limits.sessions"))
        );
    }
}
