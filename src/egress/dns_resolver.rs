//! Names are resolved by threads, of which there are few: a name server that hangs over one name must not take them from
//! the others.
//!
//! Owns: how many lookups of one name may be under way. Must not know: which addresses may be called.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Lookups of one name at once.
const PER_NAME: usize = 8;

/// More names than are in use at once; beyond it those that nobody looks up are forgotten.
const NAMES: usize = 1024;

#[derive(Default, Debug)]
pub struct Lookups(Mutex<BTreeMap<String, Arc<Semaphore>>>);

impl Lookups {
    /// The addresses of a name, in the resolver's order. It waits for its turn among the lookups of this name.
    ///
    /// # Errors
    /// The name leads nowhere.
    pub async fn of(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let turn = self.turns(host).acquire_owned().await.map_err(io::Error::other)?;
        let asked = host.to_owned();
        // A task of its own, which goes on when the caller's time is up: the turn is given back with the thread.
        let lookup = tokio::spawn(async move {
            let found = tokio::net::lookup_host((asked.as_str(), 0)).await.map(Iterator::collect);
            drop(turn);
            found
        });
        lookup.await.map_err(io::Error::other)?
    }

    fn turns(&self, host: &str) -> Arc<Semaphore> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= NAMES {
            names.retain(|_, turns| Arc::strong_count(turns) > 1);
        }
        Arc::clone(
            names.entry(host.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(PER_NAME))),
        )
    }
}

#[cfg(test)]
impl Lookups {
    /// As if that many lookups of the name hung.
    pub async fn all_turns(&self, host: &str) -> tokio::sync::OwnedSemaphorePermit {
        self.turns(host).acquire_many_owned(u32::try_from(PER_NAME).unwrap()).await.unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_name_whose_lookups_hang_takes_no_turn_from_another() {
        let lookups = Lookups::default();
        let hanging = lookups.turns("hangs.test");
        let held: Vec<_> = (0..PER_NAME).map(|_| hanging.try_acquire().unwrap()).collect();
        assert!(lookups.turns("hangs.test").try_acquire().is_err());
        assert!(!lookups.of("localhost").await.unwrap().is_empty());
        drop(held);
        assert!(lookups.turns("hangs.test").try_acquire().is_ok());
    }

    #[test]
    fn names_that_nobody_looks_up_are_forgotten() {
        let lookups = Lookups::default();
        let used = lookups.turns("used.test");
        let held = used.try_acquire().unwrap();
        for number in 0..2 * NAMES {
            lookups.turns(&format!("{number}.test"));
        }
        assert!(lookups.0.lock().unwrap().len() <= NAMES);
        let known = lookups.turns("used.test");
        assert_eq!(known.available_permits(), PER_NAME - 1);
        drop(held);
    }
}
