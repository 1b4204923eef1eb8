//! Where codes of the hub's own login pages wait: among the records of its store, whichever that is.
//!
//! Connectors are built, and checked, before a store is opened; until then there is none to keep a code.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;

use crate::connector::one_time::{CodeFault, CodeStore};
use crate::env::Timestamp;
use crate::store::{Draft, Key, Kind, Store, StoreFault, Taken};

/// A used code is remembered for so long: a call to the store that is made once more must find its own work.
const SPENT: Duration = Duration::from_secs(10);

#[derive(Clone, Default)]
pub(super) struct Codes(Arc<OnceLock<Arc<dyn Store>>>);

impl Codes {
    /// From now on codes wait there. Once is enough.
    pub fn wait_in(&self, store: &Arc<dyn Store>) {
        let _there_is_one = self.0.set(Arc::clone(store));
    }

    fn store(&self) -> Result<&dyn Store, CodeFault> {
        self.0
            .get()
            .map(Arc::as_ref)
            .ok_or_else(|| CodeFault::Away("the hub has not begun".to_owned()))
    }
}

#[async_trait]
impl CodeStore for Codes {
    async fn keep(
        &self,
        name: &str,
        value: Vec<u8>,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), CodeFault> {
        let draft =
            Draft { value, expires_at: until, unread_until: None, families: Arc::default() };
        self.store()?.insert(key(name), draft, now).await.map(drop).map_err(fault)
    }

    async fn take(&self, name: &str, now: Timestamp) -> Result<Option<Vec<u8>>, CodeFault> {
        match self.store()?.take(&key(name), Vec::new(), now + SPENT, now).await.map_err(fault)? {
            Taken::Won(record) => Ok(Some(record.value.to_vec())),
            Taken::Spent(_) | Taken::Gone => Ok(None),
        }
    }
}

fn key(name: &str) -> Key {
    Key { kind: Kind::OwnCode, name: name.into() }
}

fn fault(fault: StoreFault) -> CodeFault {
    match fault {
        StoreFault::Full => CodeFault::Full,
        StoreFault::Unavailable(why) => CodeFault::Away(why),
        // Names are hashes of 256 fresh bits.
        StoreFault::Exists | StoreFault::Revoked => CodeFault::Away(fault.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;
    use crate::store::conformance::{ROOMY, at};
    use crate::store::memory::MemoryStore;

    fn opened(own_codes: usize) -> Codes {
        let codes = Codes::default();
        let store: Arc<dyn Store> =
            Arc::new(MemoryStore::new(crate::store::Capacities { own_codes, ..ROOMY }));
        codes.wait_in(&store);
        codes
    }

    #[tokio::test]
    async fn a_code_that_comes_to_two_nodes_at_once_is_used_at_one() {
        let codes = opened(1000);
        for round in 0..500 {
            let name = round.to_string();
            codes.keep(&name, b"angela".to_vec(), at(60), at(0)).await.unwrap();
            let start = Arc::new(Barrier::new(2));
            let taking = || {
                let (codes, name, runtime) =
                    (codes.clone(), name.clone(), tokio::runtime::Handle::current());
                let start = Arc::clone(&start);
                tokio::task::spawn_blocking(move || {
                    start.wait();
                    runtime.block_on(codes.take(&name, at(1))).unwrap()
                })
            };
            let (one, other) = (taking(), taking());
            let won = [one.await.unwrap(), other.await.unwrap()].into_iter().flatten().count();
            assert_eq!(won, 1, "round {round}");
        }
    }

    #[tokio::test]
    async fn where_no_code_can_be_kept_it_is_said_and_codes_that_nobody_fetches_take_no_memory_without_end()
     {
        let away = Codes::default();
        assert!(matches!(away.keep("a", Vec::new(), at(60), at(0)).await, Err(CodeFault::Away(_))));
        assert!(matches!(away.take("a", at(0)).await, Err(CodeFault::Away(_))));
        let codes = opened(1);
        codes.keep("a", Vec::new(), at(60), at(0)).await.unwrap();
        assert_eq!(codes.keep("b", Vec::new(), at(60), at(1)).await, Err(CodeFault::Full));
        assert_eq!(codes.take("a", at(1)).await, Ok(Some(Vec::new())));
        assert_eq!(
            codes.keep("b", Vec::new(), at(71), at(11)).await,
            Ok(()),
            "its place is free again"
        );
        assert_eq!(codes.take("b", at(71)).await, Ok(None), "a minute is over");
    }
}
