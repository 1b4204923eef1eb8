//! Resolves host names with a limit of concurrent lookups per name.
//!
//! Lookups block threads, of which there are few: without the limit, a name server that hangs for
//! one name would stop the lookups of all others. Independent of which addresses may be called.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Concurrent lookups of one name.
const MAX_LOOKUPS_PER_NAME: usize = 8;

/// Number of tracked names beyond which names without a running lookup are removed.
const MAX_TRACKED_NAMES: usize = 1024;

/// DNS resolver with a limit of concurrent lookups per name.
#[derive(Default, Debug)]
pub(crate) struct DnsResolver(Mutex<BTreeMap<String, Arc<Semaphore>>>);

impl DnsResolver {
    /// Returns the addresses of a name, in the order of the system's resolver. Waits for a permit
    /// if too many lookups of the name are running.
    ///
    /// # Errors
    /// Returns the resolver's error if the name has no address.
    pub(crate) async fn resolve(&self, host: &str) -> io::Result<Vec<SocketAddr>> {
        let permit = self.permits(host).acquire_owned().await.map_err(io::Error::other)?;
        let name = host.to_owned();
        // A separate task continues when the caller times out, so the permit is held as long as the
        // thread.
        let lookup = tokio::spawn(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await.map(Iterator::collect);
            drop(permit);
            found
        });
        lookup.await.map_err(io::Error::other)?
    }

    fn permits(&self, host: &str) -> Arc<Semaphore> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if names.len() >= MAX_TRACKED_NAMES {
            names.retain(|_, permits| Arc::strong_count(permits) > 1);
        }
        Arc::clone(
            names
                .entry(host.to_owned())
                .or_insert_with(|| Arc::new(Semaphore::new(MAX_LOOKUPS_PER_NAME))),
        )
    }
}

#[cfg(test)]
impl DnsResolver {
    /// Takes all permits of a name, as if its lookups hung.
    pub(crate) async fn all_permits(&self, host: &str) -> tokio::sync::OwnedSemaphorePermit {
        self.permits(host)
            .acquire_many_owned(u32::try_from(MAX_LOOKUPS_PER_NAME).unwrap())
            .await
            .unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn hanging_lookups_of_one_name_do_not_block_another() {
        let resolver = DnsResolver::default();
        let hanging = resolver.permits("hangs.test");
        let held: Vec<_> =
            (0..MAX_LOOKUPS_PER_NAME).map(|_| hanging.try_acquire().unwrap()).collect();
        assert!(resolver.permits("hangs.test").try_acquire().is_err());
        assert!(!resolver.resolve("localhost").await.unwrap().is_empty());
        drop(held);
        assert!(resolver.permits("hangs.test").try_acquire().is_ok());
    }

    #[test]
    fn names_without_a_running_lookup_are_removed() {
        let resolver = DnsResolver::default();
        let used = resolver.permits("used.test");
        let held = used.try_acquire().unwrap();
        for number in 0..2 * MAX_TRACKED_NAMES {
            resolver.permits(&format!("{number}.test"));
        }
        assert!(resolver.0.lock().unwrap().len() <= MAX_TRACKED_NAMES);
        let known = resolver.permits("used.test");
        assert_eq!(known.available_permits(), MAX_LOOKUPS_PER_NAME - 1);
        drop(held);
    }
}
