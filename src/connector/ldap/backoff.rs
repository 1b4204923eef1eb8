//! How often a directory is asked to judge a password (NIST SP 800-63B §5.2.2): decided before the bind, by person and
//! network together.
//!
//! Directories lock an account after some wrong passwords, by anyone, and some ban the address that they came from:
//! the hub's. Five counts of failed binds, each within the time in which the directory counts, keep both from happening:
//!
//! | count | bound | so that |
//! |---|---|---|
//! | account | one less than locks it | no account is locked through the hub |
//! | account, from networks where it never signed in | one less than that | strangers leave its person a try |
//! | account and network, never signed in there | one less again | one network leaves the others a try |
//! | network, of persons who never signed in there | 20 | one person does not get the hub's address banned |
//! | account and network, signed in there; a sign-in does not clear it | 20 | nor by wrong passwords for their own account |
//!
//! The network's count does not stop persons who signed in there: strangers behind the same proxy must not close a directory
//! to them. Nor does it apply to loopback and private addresses: one of them can stand for everyone, when it is a proxy's that
//! `trusted_proxies` does not name.
//!
//! Counts are kept by buckets that a keyed hash chooses: no name is kept, and no outsider can find two names that share one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::client_network::ClientNetwork;
use crate::digest::HmacKey;
use crate::env::{Env, Timestamp};

/// Failed binds of one network: a multiple of what one person needs, and few of what a ban is for.
const MAX_PER_NETWORK: usize = 20;
/// Failed binds for one account from one network where it signed in, however many sign-ins come between them.
const MAX_PER_KNOWN_PAIR: usize = 20;
/// Failed binds for one account from one network, however high the directory's own limit is.
const MAX_PER_PAIR: usize = 5;
/// Buckets of each count. With few, a flood of made-up names would make real persons wait.
const BUCKETS: u32 = 1 << 20;
/// Counts beyond which those that are over are removed.
const SWEEP_AT: usize = 1 << 14;
/// Networks of persons that are remembered, and for how long after the last sign-in there.
const MAX_KNOWN: usize = 100_000;
const KNOWN_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

pub struct Backoff {
    key: HmacKey,
    limits: Limits,
    window: Duration,
    counts: Mutex<Counts>,
}

#[derive(Clone, Copy)]
struct Limits {
    account: usize,
    strangers: usize,
    pair: usize,
}

#[derive(Default)]
struct Counts {
    /// When binds have failed, the oldest first, by bucket.
    failures: HashMap<u32, Vec<Timestamp>>,
    /// When a person signed in from a network, by the keyed hash of both.
    known: HashMap<[u8; 16], Timestamp>,
    swept_at: Timestamp,
}

/// What one bind was counted under, before it is made.
#[derive(Default)]
pub struct Attempt {
    counted: Vec<(u32, Timestamp)>,
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum Count {
    Account,
    Strangers,
    Pair,
    Network,
    KnownPair,
}

impl Backoff {
    /// `lockout_after` wrong passwords within `window` lock an account in the directory.
    pub fn new(lockout_after: u32, window: Duration, env: &Env) -> Self {
        let account = usize::try_from(lockout_after).unwrap_or(usize::MAX).saturating_sub(1).max(1);
        let strangers = account.saturating_sub(1).max(1);
        let pair = strangers.saturating_sub(1).clamp(1, MAX_PER_PAIR);
        let limits = Limits { account, strangers, pair };
        Self {
            key: HmacKey::new(&env.entropy().bits256()),
            limits,
            window,
            counts: Mutex::default(),
        }
    }

    /// Counts a bind of this network as failed, until it is given back. Counts nothing for a person who signed in from there,
    /// whose binds [`Self::count_person`] bounds, nor from a private network.
    ///
    /// # Errors
    /// There were too many: how long to wait. Nothing is counted then.
    pub fn count_network(
        &self,
        person: &str,
        network: ClientNetwork,
        now: Timestamp,
        attempt: &mut Attempt,
    ) -> Result<(), Duration> {
        if network.is_private() || self.is_known(person, network, now) {
            return Ok(());
        }
        let bucket = self.bucket(Count::Network, "", Some(network));
        self.count(&[(bucket, MAX_PER_NETWORK)], now, attempt)
    }

    /// Counts a bind as this person, from this network, as failed, until it is given back.
    ///
    /// # Errors
    /// There were too many: how long to wait. Nothing is counted then.
    pub fn count_person(
        &self,
        person: &str,
        network: ClientNetwork,
        now: Timestamp,
        attempt: &mut Attempt,
    ) -> Result<(), Duration> {
        let account = (self.bucket(Count::Account, person, None), self.limits.account);
        if self.is_known(person, network, now) {
            let known_pair =
                (self.bucket(Count::KnownPair, person, Some(network)), MAX_PER_KNOWN_PAIR);
            return self.count(&[account, known_pair], now, attempt);
        }
        let strangers = (self.bucket(Count::Strangers, person, None), self.limits.strangers);
        let pair = (self.bucket(Count::Pair, person, Some(network)), self.limits.pair);
        self.count(&[account, strangers, pair], now, attempt)
    }

    /// Takes back what was counted: no bind has failed.
    pub fn give_back(&self, attempt: &Attempt) {
        let mut counts = self.counts();
        for (bucket, at) in &attempt.counted {
            let Some(failures) = counts.failures.get_mut(bucket) else { continue };
            if let Some(index) = failures.iter().rposition(|failed_at| failed_at == at) {
                failures.remove(index);
            }
        }
    }

    /// Notes that this person, by each of these names, has signed in from this network. The directory forgets the wrong
    /// passwords of before, and so does this. The first sign-in of the person there within the window also clears one failure
    /// of the network, which may be that of many persons; more would let sign-ins alternate with guesses without end.
    pub fn succeed(
        &self,
        persons: &[&str],
        network: ClientNetwork,
        now: Timestamp,
        attempt: &Attempt,
    ) {
        self.give_back(attempt);
        let mut counts = self.counts();
        let keys: Vec<_> = persons.iter().map(|person| self.known_key(person, network)).collect();
        let signed_in_at = keys.iter().filter_map(|key| counts.known.get(key)).max();
        let is_first_in_window = signed_in_at.is_none_or(|at| *at + self.window <= now);
        for person in persons {
            counts.failures.remove(&self.bucket(Count::Account, person, None));
            counts.failures.remove(&self.bucket(Count::Strangers, person, None));
            counts.failures.remove(&self.bucket(Count::Pair, person, Some(network)));
        }
        if counts.known.len() + persons.len() > MAX_KNOWN {
            counts.known.retain(|_, at| now.since(*at) < KNOWN_FOR);
        }
        // All names or none: a spelling that is known without its entry would have a bound of its own.
        if counts.known.len() + keys.len() <= MAX_KNOWN
            || keys.iter().all(|key| counts.known.contains_key(key))
        {
            counts.known.extend(keys.into_iter().map(|key| (key, now)));
            let of_network =
                counts.failures.get_mut(&self.bucket(Count::Network, "", Some(network)));
            if let Some(failures) = of_network.filter(|_| is_first_in_window) {
                failures.pop();
            }
        }
    }

    /// Returns whether this person signed in from this network in the last 30 days.
    fn is_known(&self, person: &str, network: ClientNetwork, now: Timestamp) -> bool {
        let signed_in_at = self.counts().known.get(&self.known_key(person, network)).copied();
        signed_in_at.is_some_and(|at| now.since(at) < KNOWN_FOR)
    }

    /// In each of the buckets, or in none.
    fn count(
        &self,
        buckets: &[(u32, usize)],
        now: Timestamp,
        attempt: &mut Attempt,
    ) -> Result<(), Duration> {
        let mut counts = self.counts();
        counts.sweep(self.window, now);
        let wait = |(bucket, limit): &(u32, usize)| {
            let failures = counts.failures.get(bucket)?;
            let recent = failures.iter().filter(|at| **at + self.window > now).count();
            // So many of the oldest must be over before another fits.
            let last = failures.len().checked_sub(*limit).filter(|_| recent >= *limit)?;
            failures.get(last).map(|at| (*at + self.window).since(now))
        };
        if let Some(wait) = buckets.iter().filter_map(wait).max() {
            return Err(wait);
        }
        for (bucket, _) in buckets {
            let failures = counts.failures.entry(*bucket).or_default();
            failures.retain(|at| *at + self.window > now);
            failures.push(now);
            attempt.counted.push((*bucket, now));
        }
        Ok(())
    }

    fn bucket(&self, count: Count, person: &str, network: Option<ClientNetwork>) -> u32 {
        let [a, b, c, d, ..] = self.tag(count as u8, person, network);
        u32::from_be_bytes([a, b, c, d]) % BUCKETS + count as u32 * BUCKETS
    }

    fn known_key(&self, person: &str, network: ClientNetwork) -> [u8; 16] {
        let mut key = [0; 16];
        key.iter_mut()
            .zip(self.tag(u8::MAX, person, Some(network)))
            .for_each(|(byte, of_tag)| *byte = of_tag);
        key
    }

    fn tag(&self, what: u8, person: &str, network: Option<ClientNetwork>) -> [u8; 32] {
        let network = network.map(|network| network.octets()).unwrap_or_default();
        self.key.tag(&[&[what], network.as_slice(), person.as_bytes()].concat())
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn sweep(&mut self, window: Duration, now: Timestamp) {
        if self.failures.len() < SWEEP_AT || now.since(self.swept_at) < window / 4 {
            return;
        }
        self.swept_at = now;
        self.failures.retain(|_, failures| failures.last().is_some_and(|at| *at + window > now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};
    use std::sync::Arc;

    const WINDOW: Duration = Duration::from_secs(900);
    const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

    fn backoff(lockout_after: u32) -> Backoff {
        let env = Env::new(Arc::new(HandClock::default()), Arc::new(SeededEntropy::new(1)));
        Backoff::new(lockout_after, WINDOW, &env)
    }

    fn network(number: u8) -> ClientNetwork {
        ClientNetwork::containing([198, 51, number, 7].into())
    }

    /// Failed binds that are let through, of so many tries.
    fn failed(backoff: &Backoff, person: &str, from: u8, tries: usize, now: Timestamp) -> usize {
        let count = |_: &usize| {
            backoff.count_person(person, network(from), now, &mut Attempt::default()).is_ok()
        };
        (0..tries).filter(count).count()
    }

    fn signs_in(backoff: &Backoff, person: &str, from: u8, now: Timestamp) -> bool {
        let mut attempt = Attempt::default();
        let counted = backoff.count_person(person, network(from), now, &mut attempt);
        counted.map(|()| backoff.succeed(&[person], network(from), now, &attempt)).is_ok()
    }

    #[test]
    fn a_stranger_from_one_network_keeps_its_person_out_from_nowhere_else() {
        let backoff = backoff(5);
        let mut now = NOW;
        for _ in 0..200 {
            failed(&backoff, "ada", 1, 100, now);
            now = now + WINDOW / 10;
        }
        failed(&backoff, "ada", 1, 100, now);
        assert!(!signs_in(&backoff, "ada", 1, now), "where the stranger is");
        assert!(signs_in(&backoff, "ada", 2, now), "and from a network that is new to her");
    }

    #[test]
    fn strangers_from_every_network_lock_no_account_and_leave_its_person_a_try_where_she_signed_in()
    {
        for lockout_after in [3, 5, 10, 50] {
            let backoff = backoff(lockout_after);
            assert!(signs_in(&backoff, "ada", 0, NOW));
            let mut failures: Vec<Timestamp> = Vec::new();
            let mut now = NOW;
            for _ in 0..300 {
                let let_through: usize =
                    (1..=255).map(|from| failed(&backoff, "ada", from, 20, now)).sum();
                failures.extend(std::iter::repeat_n(now, let_through));
                let in_window = failures.iter().filter(|at| **at + WINDOW > now).count();
                assert!(
                    in_window < lockout_after as usize - 1 || lockout_after == 3,
                    "{in_window} of {lockout_after}"
                );
                assert!(in_window < lockout_after as usize);
                now = now + WINDOW / 30;
            }
            assert!(signs_in(&backoff, "ada", 0, now), "{lockout_after}");
        }
    }

    #[test]
    fn an_account_is_not_locked_from_where_it_signs_in_either() {
        let backoff = backoff(5);
        assert!(signs_in(&backoff, "ada", 0, NOW));
        assert_eq!(failed(&backoff, "ada", 0, 100, NOW), 4);
        let waited = backoff.count_person("ada", network(0), NOW, &mut Attempt::default());
        assert_eq!(waited, Err(WINDOW));
        assert_eq!(failed(&backoff, "ada", 0, 100, NOW + WINDOW), 4, "as the directory forgets");
    }

    #[test]
    fn one_person_with_many_names_does_not_get_the_hub_banned() {
        let backoff = backoff(5);
        let mut attempts: Vec<Attempt> = Vec::new();
        for _ in 0..100 {
            let mut attempt = Attempt::default();
            if backoff.count_network("made up", network(1), NOW, &mut attempt).is_ok() {
                attempts.push(attempt);
            }
        }
        assert_eq!(attempts.len(), MAX_PER_NETWORK);
        assert!(backoff.count_network("made up", network(2), NOW, &mut Attempt::default()).is_ok());
        // Where many persons are behind one network, each that signs in makes room for another's mistake.
        backoff.succeed(&["ada"], network(1), NOW, &attempts.remove(0));
        let is_counted = |_: &usize| {
            backoff.count_network("made up", network(1), NOW, &mut Attempt::default()).is_ok()
        };
        let room = (0..9).filter(is_counted).count();
        assert_eq!(room, 2);
    }

    #[test]
    fn a_bind_that_did_not_fail_is_given_back() {
        let backoff = backoff(5);
        for _ in 0..100 {
            let mut attempt = Attempt::default();
            backoff.count_network("made up", network(1), NOW, &mut attempt).unwrap();
            backoff.count_person("ada", network(1), NOW, &mut attempt).unwrap();
            backoff.give_back(&attempt);
        }
        assert_eq!(failed(&backoff, "ada", 1, 9, NOW), 2);
    }

    #[test]
    fn a_flood_of_made_up_names_makes_hardly_anybody_wait_and_takes_no_memory_without_end() {
        let backoff = backoff(5);
        for name in 0..50_000 {
            failed(&backoff, &format!("made up {name}"), 1, 1, NOW);
        }
        let waiting = (0..1000)
            .filter(|name| failed(&backoff, &format!("real {name}"), 2, 1, NOW) == 0)
            .count();
        assert!(waiting < 20, "{waiting} of 1000");
        failed(&backoff, "ada", 1, 1, NOW + 2 * WINDOW);
        assert!(backoff.counts().failures.len() < 10);
    }
}
