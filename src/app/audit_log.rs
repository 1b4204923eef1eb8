//! The audit log of a running hub: its sink by the settings, its first line, and what it is told of files and keys.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::seals::compare_with_kept;
use crate::audit::event::{Change, Purpose};
use crate::audit::file::{FileSink, Rotation, Stdout};
use crate::audit::recent::Room;
use crate::audit::{Audit, AuditFault, Event, WriterConfig, Name, Recent, writer};
use crate::config::Loaded;
use crate::config::audit::AuditSink;
use crate::config::changes::{self, Changes};
use crate::config::outline::Outline;
use crate::env::Env;
use crate::store::Store;
use crate::telemetry::Metrics;
use crate::token::{Signer, keyfiles};

/// What a crash may cost, and how many events share one write. No person and no program waits for it.
const GATHER: Duration = Duration::from_millis(20);

/// # Errors
/// The log can't be begun where the settings want it.
pub(super) fn begin(
    loaded: &Loaded,
    env: &Env,
    signer: Arc<dyn Signer>,
    metrics: &Arc<Metrics>,
    store: &Arc<dyn Store>,
) -> Result<Audit, AuditFault> {
    let settings = &loaded.settings.audit;
    let node = settings.node.clone().unwrap_or_else(machine);
    let begin =
        Event::of(Name::Start).version(env!("CARGO_PKG_VERSION")).config(&loaded.files.outline());
    let (sink, found, compared): (Box<dyn writer::Sink>, _, _) = match settings.sink {
        AuditSink::Off => return Ok(Audit::off()),
        // A chain of its own for each start: there is none to compare.
        AuditSink::Stdout => (Box::new(Stdout), writer::Found::default(), None),
        AuditSink::File => {
            let (size, daily) = (settings.rotate_mb.saturating_mul(1 << 20), settings.rotate_daily);
            let (sink, found) = FileSink::open(
                &settings.path,
                Rotation { size, daily, keep: settings.keep },
                env.now(),
            )?;
            let compared = compare_with_kept(loaded, env, &node, store, &found);
            (Box::new(sink), found, Some(compared))
        }
    };
    let begin = compared
        .iter()
        .fold(begin, |begin, compared| begin.last_seal(compared.check, compared.sealed));
    let (seals, finding) =
        compared.map(|compared| (compared.places, compared.finding)).unwrap_or_default();
    let means = WriterConfig {
        env: env.clone(),
        signer,
        metrics: Arc::clone(metrics),
        issuer: loaded.issuer.clone(),
        node,
        when_full: settings.when_full,
        log: settings.path.display().to_string(),
        seals,
        finding,
        gather: GATHER,
    };
    writer::start(sink, found, begin, means)
}

/// What the operator's window shows of logins. Nobody can look without a token, so nothing is remembered without one.
pub(super) fn recent(loaded: &Loaded, env: &Env) -> Option<Arc<Recent>> {
    let logins =
        loaded.admin_token.as_ref().map_or(0, |_| loaded.settings.limits.remembered_logins);
    (logins > 0).then(|| Arc::new(Recent::new(Room { logins, strays: logins.div_ceil(4) }, env)))
}

/// What a reload has put to use, a line for each file.
pub(super) fn applied(audit: &Audit, outline: &Outline, changes: &Changes) {
    audit.tell(|| Event::of(Name::ConfigApplied).config(outline));
    let changed = |change: &changes::Change| {
        Event::of(Name::ConfigChanged).change(match change {
            changes::Change::New => Change::Added,
            changes::Change::Gone => Change::Removed,
            changes::Change::Changed(_) => Change::Changed,
        })
    };
    for (id, change) in &changes.connectors {
        audit.tell(|| changed(&change.change).idp(id));
    }
    for (id, change) in &changes.service_providers {
        audit.tell(|| changed(&change.change).sp(id));
    }
    for (id, change) in &changes.data_providers {
        audit.tell(|| changed(change).dp(id));
    }
    for (file, is_changed) in
        [("scopes.toml", !changes.scopes.is_empty()), ("notices.toml", !changes.notices.is_empty())]
    {
        if is_changed {
            audit.tell(|| Event::of(Name::ConfigChanged).change(Change::Changed).file(file));
        }
    }
}

/// Keys by purpose and kid, and whether it is their turn.
pub(super) type Turns = BTreeMap<(keyfiles::Purpose, String), bool>;

/// What has become of the keys since `before`.
pub(super) fn keys(audit: &Audit, before: &Turns, now: &Turns) {
    let tell = |name: Name, (purpose, kid): &(keyfiles::Purpose, String)| {
        audit.tell(|| {
            let purpose = match purpose {
                keyfiles::Purpose::Tokens => Purpose::Tokens,
                keyfiles::Purpose::Assertion => Purpose::Assertion,
                keyfiles::Purpose::Encryption => Purpose::Encryption,
            };
            Event::of(name).key(kid, purpose)
        });
    };
    for (key, in_use) in now {
        if !before.contains_key(key) {
            tell(Name::KeyAdded, key);
        }
        if *in_use && before.get(key) != Some(&true) {
            tell(Name::KeyInUse, key);
        }
    }
    for key in before.keys().filter(|key| !now.contains_key(*key)) {
        tell(Name::KeyRemoved, key);
    }
}

fn machine() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "hub".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::memory::Memory;
    use crate::token::Keyring;
    use serde_json::Value;

    fn turns(of: &[(keyfiles::Purpose, &str, bool)]) -> Turns {
        of.iter().map(|(purpose, kid, in_use)| ((*purpose, (*kid).to_owned()), *in_use)).collect()
    }

    #[test]
    fn a_rotation_is_told_key_by_key() {
        let env = Env::system();
        let now = env.now();
        let memory = Memory::default();
        let means = WriterConfig {
            env,
            signer: Arc::new(Keyring::ephemeral(now).unwrap()),
            metrics: Arc::new(Metrics::new(now).unwrap()),
            issuer: "https://hub.example/api/v2".to_owned(),
            node: "one".to_owned(),
            when_full: crate::audit::WhenFull::Stop,
            log: String::new(),
            seals: Vec::new(),
            finding: None,
            gather: Duration::ZERO,
        };
        let audit = writer::start(
            Box::new(memory.clone()),
            writer::Found::default(),
            Event::of(Name::Start),
            means,
        )
        .unwrap();
        use keyfiles::Purpose::{Encryption, Tokens};
        let steps = [
            turns(&[(Tokens, "old", true), (Encryption, "sealed", true)]),
            turns(&[(Tokens, "old", true), (Tokens, "new", false), (Encryption, "sealed", true)]),
            turns(&[(Tokens, "old", false), (Tokens, "new", true), (Encryption, "sealed", true)]),
            turns(&[(Tokens, "new", true)]),
            turns(&[(Tokens, "new", true)]),
        ];
        steps.windows(2).for_each(|step| keys(&audit, &step[0], &step[1]));
        audit.flush();
        let told: Vec<[String; 3]> = memory
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
            ["key_in_use", "new", "tokens"],
            ["key_removed", "old", "tokens"],
            ["key_removed", "sealed", "encryption"],
        ];
        assert_eq!(
            told.iter().collect::<std::collections::BTreeSet<_>>(),
            wanted.map(|row| row.map(str::to_owned)).iter().collect()
        );
        assert_eq!(told.len(), wanted.len());
    }
}
