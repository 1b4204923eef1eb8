//! Where a running hub keeps what it must know again: its store, and what it remembers for the operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::audit::Recent;
use crate::audit::recent::Room;
use crate::config::Loaded;
use crate::env::Env;
use crate::store::memory::MemoryStore;
use crate::store::metered::{self, MeteredStore};
use crate::store::{Capacities, Key, Kind, Store};
use crate::telemetry::Metrics;

/// Logout records wait for a browser to come back from an identity provider; far fewer than sessions.
const LOGOUTS: usize = 50_000;
/// Logout requests that came by POST wait for one redirect. Anybody with an ID token can send them, so they have places
/// of their own; whoever finds none goes on without.
const PARKED: usize = 10_000;

/// How often a store that is away is asked again.
const STORE_ROUND: Duration = Duration::from_secs(1);

/// Nobody can look without a token, so nothing is remembered without one.
pub(super) fn recent(loaded: &Loaded, env: &Env) -> Option<Arc<Recent>> {
    let logins = loaded.admin_token.as_ref().map_or(0, |_| loaded.settings.limits.remembered_logins);
    (logins > 0).then(|| Arc::new(Recent::new(Room { logins, strays: logins.div_ceil(4) }, env)))
}

/// With the word whether it answered when it was last asked.
pub(super) fn store(loaded: &Loaded, metrics: &Arc<Metrics>, env: &Env) -> (Arc<dyn Store>, Arc<AtomicBool>) {
    let limits = &loaded.settings.limits;
    let capacities = Capacities {
        logins: limits.logins,
        sessions: limits.sessions,
        grants: limits.grants,
        logouts: LOGOUTS,
        parked: PARKED,
        // A code is redeemed with one assertion at most, and an assertion is kept for minutes, as a code's tombstone is.
        assertions: limits.grants,
    };
    let store = MeteredStore::new(Arc::new(MemoryStore::new(capacities)), metrics);
    let away = store.away();
    let store: Arc<dyn Store> = Arc::new(store);
    let counted = Arc::downgrade(&store);
    metrics.sample_with(move |metrics| {
        if let Some(store) = counted.upgrade() {
            metered::report_records(store.as_ref(), &capacities, metrics);
        }
    });
    actix::spawn(look_again(Arc::clone(&store), Arc::clone(&away), env.clone()));
    (store, away)
}

/// While the store does not answer nobody may be sent here who would find out that it is back.
async fn look_again(store: Arc<dyn Store>, is_away: Arc<AtomicBool>, env: Env) {
    let nothing = Key { kind: Kind::Login, name: Arc::from("") };
    loop {
        tokio::time::sleep(STORE_ROUND).await;
        if is_away.load(Ordering::Relaxed) {
            // What came of it is seen by the flag.
            let _seen = store.load(&nothing, env.now()).await;
        }
    }
}
