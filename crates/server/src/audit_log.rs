//! Starts the audit log as configured, and records changes of configuration and keys in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::audit_checkpoints::{compare_with_saved_checkpoint, log_name};
use passerelle_audit::event::{AuditKeyPurpose, ConfigChange};
use passerelle_audit::file::{FileRotation, FileSink, StdoutSink};
use passerelle_audit::recent::RetentionLimits;
use passerelle_audit::settings::AuditSink;
use passerelle_audit::{Audit, AuditError, Event, EventKind, RecentEvents, WriterConfig, writer};
use passerelle_config::LoadedConfig;
use passerelle_config::changes::{self, Changes};
use passerelle_config::config_digest::ConfigDigest;
use passerelle_extension::{AuditRetention, RetentionPeriods};
use passerelle_jose::{Signer, keyfiles};
use passerelle_protocol::env::Env;
use passerelle_store::Store;
use passerelle_telemetry::Metrics;

/// How long events wait to be written together: a crash may lose that much. Nothing waits for the
/// write.
const BATCH_DELAY: Duration = Duration::from_millis(20);

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Starts the audit log.
///
/// # Errors
/// Returns an error if the configured sink can't be used.
pub(super) fn start_audit(
    loaded: &LoadedConfig,
    env: &Env,
    signer: Arc<dyn Signer>,
    metrics: &Arc<Metrics>,
    store: &Arc<dyn Store>,
) -> Result<Audit, AuditError> {
    let settings = &loaded.settings.audit;
    let node = settings.node.clone().unwrap_or_else(host_name);
    let begin = Event::new(EventKind::Start)
        .version(env!("CARGO_PKG_VERSION"))
        .config(&loaded.files.digest());
    let (sink, found, compared): (Box<dyn writer::Sink>, _, _) = match settings.sink {
        AuditSink::Off => return Ok(Audit::off()),
        // Each start begins a chain of its own, so there is none to compare.
        AuditSink::Stdout => (Box::new(StdoutSink), writer::LogEnd::default(), None),
        AuditSink::File => {
            let (size, daily) = (settings.rotate_mb.saturating_mul(1 << 20), settings.rotate_daily);
            let (sink, found) = FileSink::open(
                &settings.path,
                FileRotation {
                    max_bytes: size,
                    daily,
                    keep_files: settings.keep_files,
                    max_age: settings.keep_days.map(|days| DAY * days),
                },
                env.now(),
            )?;
            let compared = compare_with_saved_checkpoint(loaded, env, &node, store, &found);
            (Box::new(sink), found, Some(compared))
        }
    };
    let begin = compared.iter().fold(begin, |begin, compared| {
        begin.last_checkpoint(compared.check, compared.checkpoint_seq)
    });
    let (checkpoint_stores, finding) =
        compared.map(|compared| (compared.stores, compared.finding)).unwrap_or_default();
    let writer_config = WriterConfig {
        env: env.clone(),
        signer,
        metrics: Arc::clone(metrics),
        issuer: loaded.issuer.clone(),
        node,
        when_full: settings.when_full,
        log: log_name(&settings.path),
        checkpoint_stores,
        startup_finding: finding,
        batch_delay: BATCH_DELAY,
    };
    writer::start(sink, found, begin, writer_config)
}

/// Returns the store of recent logins for the admin console; `None` without a token that could
/// read them.
pub(super) fn recent_logins(loaded: &LoadedConfig, env: &Env) -> Option<Arc<RecentEvents>> {
    let access = &loaded.private_access;
    let is_administered =
        loaded.admin_token.is_some() || !access.operators.is_empty() || access.peers.is_some();
    let logins = if is_administered { loaded.settings.limits.remembered_logins } else { 0 };
    (logins > 0).then(|| {
        Arc::new(RecentEvents::new(
            RetentionLimits {
                logins,
                without_login: logins.div_ceil(4),
                max_age: DAY * loaded.settings.limits.remembered_login_days,
            },
            env,
        ))
    })
}

/// Records a configuration reload, with one event for each changed file.
pub(super) fn record_config_changes(audit: &Audit, digest: &ConfigDigest, changes: &Changes) {
    audit.record(|| Event::new(EventKind::ConfigApplied).config(digest));
    let changed = |change: &changes::FileChange| {
        Event::new(EventKind::ConfigChanged).change(match change {
            changes::FileChange::New => ConfigChange::Added,
            changes::FileChange::Removed => ConfigChange::Removed,
            changes::FileChange::Changed(_) => ConfigChange::Changed,
        })
    };
    for (id, change) in &changes.connectors {
        audit.record(|| changed(&change.change).idp(id));
    }
    for (id, change) in &changes.service_providers {
        audit.record(|| changed(&change.change).sp(id));
    }
    for (id, change) in &changes.data_providers {
        audit.record(|| changed(change).dp(id));
    }
    for (file, change) in &changes.languages {
        audit.record(|| changed(change).file(file));
    }
    for (file, is_changed) in
        [("scopes.toml", !changes.scopes.is_empty()), ("notices.toml", !changes.notices.is_empty())]
    {
        if is_changed {
            audit.record(|| {
                Event::new(EventKind::ConfigChanged).change(ConfigChange::Changed).file(file)
            });
        }
    }
}

/// Keys by purpose and kid, and whether each is in use.
pub(super) type KeyStates = BTreeMap<(keyfiles::KeyPurpose, String), bool>;

/// Records keys that were added, activated or removed since `before`.
pub(super) fn record_key_changes(audit: &Audit, before: &KeyStates, now: &KeyStates) {
    let record = |event: EventKind, (purpose, kid): &(keyfiles::KeyPurpose, String)| {
        audit.record(|| {
            let purpose = match purpose {
                keyfiles::KeyPurpose::Tokens => AuditKeyPurpose::Tokens,
                keyfiles::KeyPurpose::Assertion => AuditKeyPurpose::Assertion,
                keyfiles::KeyPurpose::Encryption => AuditKeyPurpose::Encryption,
            };
            Event::new(event).key(kid, purpose)
        });
    };
    for (key, in_use) in now {
        if !before.contains_key(key) {
            record(EventKind::KeyAdded, key);
        }
        if *in_use && before.get(key) != Some(&true) {
            record(EventKind::KeyActivated, key);
        }
    }
    for key in before.keys().filter(|key| !now.contains_key(*key)) {
        record(EventKind::KeyRemoved, key);
    }
}

/// Returns how long the settings let the hub keep data of persons.
pub(super) fn retention_periods(loaded: &LoadedConfig) -> RetentionPeriods {
    let settings = &loaded.settings;
    let (audit, limits) = (&settings.audit, &settings.limits);
    RetentionPeriods {
        login: settings.lifetimes.login(settings.platform),
        remembered_logins: DAY * limits.remembered_login_days,
        audit_log: match (audit.sink, audit.keep_days) {
            (AuditSink::Off, _) => AuditRetention::Off,
            (AuditSink::File, Some(days)) => AuditRetention::Limited(DAY * days),
            (AuditSink::File, None) | (AuditSink::Stdout, _) => AuditRetention::Unlimited,
        },
        extensions: loaded
            .extensions
            .iter()
            .filter_map(|extension| (extension.kept_data)(loaded.extension_table(extension)?))
            .collect(),
        has_register: loaded.register.is_some(),
    }
}

pub(super) fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim_ascii().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "hub".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_audit::testing::memory_sink::MemorySink;
    use passerelle_jose::Keyring;
    use serde_json::Value;

    fn key_states(of: &[(keyfiles::KeyPurpose, &str, bool)]) -> KeyStates {
        of.iter().map(|(purpose, kid, in_use)| ((*purpose, (*kid).to_owned()), *in_use)).collect()
    }

    #[test]
    fn a_rotation_is_recorded_key_by_key() {
        let env = Env::system();
        let now = env.now();
        let memory = MemorySink::default();
        let writer_config = WriterConfig {
            env,
            signer: Arc::new(Keyring::ephemeral(now).unwrap()),
            metrics: Arc::new(Metrics::new().unwrap()),
            issuer: "https://hub.example/api/v2".to_owned(),
            node: "one".to_owned(),
            when_full: passerelle_audit::WhenFull::Stop,
            log: String::new(),
            checkpoint_stores: Vec::new(),
            startup_finding: None,
            batch_delay: Duration::ZERO,
        };
        let audit = writer::start(
            Box::new(memory.clone()),
            writer::LogEnd::default(),
            Event::new(EventKind::Start),
            writer_config,
        )
        .unwrap();
        use keyfiles::KeyPurpose::{Encryption, Tokens};
        let steps = [
            key_states(&[(Tokens, "old", true), (Encryption, "enc", true)]),
            key_states(&[(Tokens, "old", true), (Tokens, "new", false), (Encryption, "enc", true)]),
            key_states(&[(Tokens, "old", false), (Tokens, "new", true), (Encryption, "enc", true)]),
            key_states(&[(Tokens, "new", true)]),
            key_states(&[(Tokens, "new", true)]),
        ];
        steps.windows(2).for_each(|step| record_key_changes(&audit, &step[0], &step[1]));
        audit.flush();
        let recorded: Vec<[String; 3]> = memory
            .text()
            .lines()
            .skip(2)
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| {
                ["event", "kid", "purpose"].map(|field| line[field].as_str().unwrap().to_owned())
            })
            .collect();
        let wanted = [
            ["key_added", "new", "tokens"],
            ["key_activated", "new", "tokens"],
            ["key_removed", "old", "tokens"],
            ["key_removed", "enc", "encryption"],
        ];
        assert_eq!(
            recorded.iter().collect::<std::collections::BTreeSet<_>>(),
            wanted.map(|row| row.map(str::to_owned)).iter().collect()
        );
        assert_eq!(recorded.len(), wanted.len());
    }
}
