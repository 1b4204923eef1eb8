//! Limits failed binds before they are made, per user and network (NIST SP 800-63B §5.2.2).
//!
//! Directories lock an account after a number of wrong passwords, and some ban the client's
//! address, which is the hub's. Five counters of failed binds, each over the window in which the
//! directory counts, prevent both:
//!
//! | counter | limit | purpose |
//! |---|---|---|
//! | account | one less than locks it | no account is locked through the hub |
//! | account, on networks new to it | one less than that | the user keeps one attempt |
//! | account and network new to it | one less again | other networks keep one attempt |
//! | network, users who never signed in there | 20 | no attacker gets the hub banned |
//! | account and network, signed in there | 20 | no attacker does so with their own account |
//!
//! A sign-in does not clear the last one.
//!
//! The network counter does not stop users who signed in from that network, so that attackers
//! behind the same proxy can't lock them out. It does not apply to loopback and private addresses,
//! as such an address may be a proxy's that `trusted_proxies` does not list.
//!
//! Counters are buckets chosen by a keyed hash: no name is stored, and an attacker can't find two
//! names that share one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use passerelle_protocol::client_network::ClientNetwork;
use passerelle_protocol::digest::HmacKey;
use passerelle_protocol::env::{Env, Timestamp};

/// Failed binds from one network: several times what one user needs, and below usual ban limits.
const MAX_FAILURES_PER_NETWORK: usize = 20;
/// Failed binds for one account from one network where it signed in, regardless of sign-ins
/// between.
const MAX_FAILURES_PER_KNOWN_PAIR: usize = 20;
/// Failed binds for one account from one network, even if the directory's limit is higher.
const MAX_FAILURES_PER_PAIR: usize = 5;
/// Buckets per counter. With few, a flood of invented names would make real users wait.
const BUCKETS_PER_COUNTER: u32 = 1 << 20;
/// Number of buckets in use above which expired ones are removed.
const SWEEP_THRESHOLD: usize = 1 << 14;
/// Number of remembered pairs of user and network.
const MAX_KNOWN_NETWORKS: usize = 100_000;
/// How long a pair is remembered after the last sign-in.
const KNOWN_NETWORK_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);

/// Limiter of failed binds at one directory.
pub(crate) struct FailedBindLimiter {
    key: HmacKey,
    limits: Limits,
    window: Duration,
    counts: Mutex<FailureCounts>,
}

#[derive(Clone, Copy)]
struct Limits {
    account: usize,
    unknown_networks: usize,
    pair: usize,
}

#[derive(Default)]
struct FailureCounts {
    /// Times of failed binds by bucket, oldest first.
    failures: HashMap<u32, Vec<Timestamp>>,
    /// Time of the last sign-in, by the keyed hash of user and network.
    known_pairs: HashMap<[u8; 16], Timestamp>,
    swept_at: Timestamp,
}

/// Buckets under which one bind was counted before it was made.
#[derive(Default)]
pub(crate) struct CountedBind {
    counted: Vec<CountedFailure>,
}

struct CountedFailure {
    bucket: u32,
    at: Timestamp,
    limit: usize,
}

#[derive(Clone, Copy)]
#[repr(u32)]
enum CounterKind {
    Account,
    UnknownNetworks,
    Pair,
    Network,
    KnownPair,
}

impl FailedBindLimiter {
    /// Returns a limiter for a directory that locks an account after `lockout_after` wrong
    /// passwords within `window`.
    pub(crate) fn new(lockout_after: u32, window: Duration, env: &Env) -> Self {
        let account = usize::try_from(lockout_after).unwrap_or(usize::MAX).saturating_sub(1).max(1);
        let unknown_networks = account.saturating_sub(1).max(1);
        let pair = unknown_networks.saturating_sub(1).clamp(1, MAX_FAILURES_PER_PAIR);
        let limits = Limits { account, unknown_networks, pair };
        Self {
            key: HmacKey::new(&env.entropy().bits256()),
            limits,
            window,
            counts: Mutex::default(),
        }
    }

    /// Counts a bind from this network as failed, until it is refunded. Does not count users who
    /// signed in from it, whom [`Self::count_user`] limits, or private networks.
    ///
    /// # Errors
    /// Returns the time to wait if there were too many. The bind is then not counted.
    pub(crate) fn count_network(
        &self,
        user: &str,
        network: ClientNetwork,
        now: Timestamp,
        bind: &mut CountedBind,
    ) -> Result<(), Duration> {
        if network.is_private() || self.is_known(user, network, now) {
            return Ok(());
        }
        let bucket = self.bucket(CounterKind::Network, "", Some(network));
        self.count(&[(bucket, MAX_FAILURES_PER_NETWORK)], now, bind)
    }

    /// Counts a bind of this user from this network as failed, until it is refunded.
    ///
    /// # Errors
    /// Returns the time to wait if there were too many. The bind is then not counted.
    pub(crate) fn count_user(
        &self,
        user: &str,
        network: ClientNetwork,
        now: Timestamp,
        bind: &mut CountedBind,
    ) -> Result<(), Duration> {
        let account = (self.bucket(CounterKind::Account, user, None), self.limits.account);
        if self.is_known(user, network, now) {
            let known_pair = (
                self.bucket(CounterKind::KnownPair, user, Some(network)),
                MAX_FAILURES_PER_KNOWN_PAIR,
            );
            return self.count(&[account, known_pair], now, bind);
        }
        let unknown_networks =
            (self.bucket(CounterKind::UnknownNetworks, user, None), self.limits.unknown_networks);
        let pair = (self.bucket(CounterKind::Pair, user, Some(network)), self.limits.pair);
        self.count(&[account, unknown_networks, pair], now, bind)
    }

    /// Refunds a bind that did not fail.
    pub(crate) fn refund(&self, bind: &CountedBind) {
        self.refund_below(u32::MAX, bind);
    }

    /// Refunds a bind that the directory does not count as a wrong password, in the counters of the
    /// account. Those of the network go on, so that such responses allow no endless guesses.
    pub(crate) fn refund_account(&self, bind: &CountedBind) {
        self.refund_below(CounterKind::Pair as u32 * BUCKETS_PER_COUNTER, bind);
    }

    fn refund_below(&self, end: u32, bind: &CountedBind) {
        let mut counts = self.counts();
        for CountedFailure { bucket, at, .. } in
            bind.counted.iter().filter(|counted| counted.bucket < end)
        {
            let Some(failures) = counts.failures.get_mut(bucket) else { continue };
            if let Some(index) = failures.iter().rposition(|failed_at| failed_at == at) {
                failures.remove(index);
            }
        }
    }

    /// Returns how many more binds like this one may fail before the next one is refused.
    pub(crate) fn attempts_left(&self, bind: &CountedBind, now: Timestamp) -> usize {
        let counts = self.counts();
        let left = |CountedFailure { bucket, limit, .. }: &CountedFailure| {
            let failures = counts.failures.get(bucket).map(Vec::as_slice).unwrap_or_default();
            let recent = failures.iter().filter(|at| **at + self.window > now).count();
            limit.saturating_sub(recent)
        };
        bind.counted.iter().map(left).min().unwrap_or(usize::MAX)
    }

    /// Records a sign-in of a user, known by each of these names, from this network. Clears the
    /// failures of the account, as the directory does. The first sign-in within the window also
    /// removes one failure of the network; more would allow endless guesses between sign-ins.
    pub(crate) fn record_success(
        &self,
        users: &[&str],
        network: ClientNetwork,
        now: Timestamp,
        bind: &CountedBind,
    ) {
        self.refund(bind);
        let mut counts = self.counts();
        let keys: Vec<_> = users.iter().map(|user| self.known_pair_key(user, network)).collect();
        let signed_in_at = keys.iter().filter_map(|key| counts.known_pairs.get(key)).max();
        let is_first_in_window = signed_in_at.is_none_or(|at| *at + self.window <= now);
        for user in users {
            counts.failures.remove(&self.bucket(CounterKind::Account, user, None));
            counts.failures.remove(&self.bucket(CounterKind::UnknownNetworks, user, None));
            counts.failures.remove(&self.bucket(CounterKind::Pair, user, Some(network)));
        }
        if counts.known_pairs.len() + users.len() > MAX_KNOWN_NETWORKS {
            counts.known_pairs.retain(|_, at| now.since(*at) < KNOWN_NETWORK_LIFETIME);
        }
        // All names or none: a spelling known without its entry would have its own limit.
        if counts.known_pairs.len() + keys.len() <= MAX_KNOWN_NETWORKS
            || keys.iter().all(|key| counts.known_pairs.contains_key(key))
        {
            counts.known_pairs.extend(keys.into_iter().map(|key| (key, now)));
            let network_failures =
                counts.failures.get_mut(&self.bucket(CounterKind::Network, "", Some(network)));
            if let Some(failures) = network_failures.filter(|_| is_first_in_window) {
                failures.pop();
            }
        }
    }

    /// Returns whether this user signed in from this network in the last 30 days.
    pub(crate) fn is_known(&self, user: &str, network: ClientNetwork, now: Timestamp) -> bool {
        let signed_in_at =
            self.counts().known_pairs.get(&self.known_pair_key(user, network)).copied();
        signed_in_at.is_some_and(|at| now.since(at) < KNOWN_NETWORK_LIFETIME)
    }

    /// Counts in all of the buckets, or in none.
    fn count(
        &self,
        buckets: &[(u32, usize)],
        now: Timestamp,
        bind: &mut CountedBind,
    ) -> Result<(), Duration> {
        let mut counts = self.counts();
        counts.sweep(self.window, now);
        let wait = |(bucket, limit): &(u32, usize)| {
            let failures = counts.failures.get(bucket)?;
            let recent = failures.iter().filter(|at| **at + self.window > now).count();
            // This failure must expire before another fits.
            let last = failures.len().checked_sub(*limit).filter(|_| recent >= *limit)?;
            failures.get(last).map(|at| (*at + self.window).since(now))
        };
        if let Some(wait) = buckets.iter().filter_map(wait).max() {
            return Err(wait);
        }
        for (bucket, limit) in buckets {
            let failures = counts.failures.entry(*bucket).or_default();
            failures.retain(|at| *at + self.window > now);
            failures.push(now);
            bind.counted.push(CountedFailure { bucket: *bucket, at: now, limit: *limit });
        }
        Ok(())
    }

    fn bucket(&self, count: CounterKind, user: &str, network: Option<ClientNetwork>) -> u32 {
        let [a, b, c, d, ..] = self.tag(count as u8, user, network);
        u32::from_be_bytes([a, b, c, d]) % BUCKETS_PER_COUNTER + count as u32 * BUCKETS_PER_COUNTER
    }

    fn known_pair_key(&self, user: &str, network: ClientNetwork) -> [u8; 16] {
        let mut key = [0; 16];
        key.iter_mut()
            .zip(self.tag(u8::MAX, user, Some(network)))
            .for_each(|(byte, tag_byte)| *byte = tag_byte);
        key
    }

    fn tag(&self, what: u8, user: &str, network: Option<ClientNetwork>) -> [u8; 32] {
        let network = network
            .map(passerelle_protocol::client_network::ClientNetwork::octets)
            .unwrap_or_default();
        self.key.tag(&[&[what], network.as_slice(), user.as_bytes()].concat())
    }

    fn counts(&self) -> MutexGuard<'_, FailureCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureCounts {
    fn sweep(&mut self, window: Duration, now: Timestamp) {
        if self.failures.len() < SWEEP_THRESHOLD || now.since(self.swept_at) < window / 4 {
            return;
        }
        self.swept_at = now;
        self.failures.retain(|_, failures| failures.last().is_some_and(|at| *at + window > now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use passerelle_protocol::testing::env::{ManualClock, SeededEntropy};
    use std::sync::Arc;

    const WINDOW: Duration = Duration::from_secs(900);
    const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

    fn limiter(lockout_after: u32) -> FailedBindLimiter {
        let env = Env::new(Arc::new(ManualClock::default()), Arc::new(SeededEntropy::new(1)));
        FailedBindLimiter::new(lockout_after, WINDOW, &env)
    }

    fn network(number: u8) -> ClientNetwork {
        ClientNetwork::containing([198, 51, number, 7].into())
    }

    /// Returns how many of `tries` failed binds are allowed.
    fn failed(
        limiter: &FailedBindLimiter,
        user: &str,
        from: u8,
        tries: usize,
        now: Timestamp,
    ) -> usize {
        let count = |_: &usize| {
            limiter.count_user(user, network(from), now, &mut CountedBind::default()).is_ok()
        };
        (0..tries).filter(count).count()
    }

    fn signs_in(limiter: &FailedBindLimiter, user: &str, from: u8, now: Timestamp) -> bool {
        let mut bind = CountedBind::default();
        let counted = limiter.count_user(user, network(from), now, &mut bind);
        counted.map(|()| limiter.record_success(&[user], network(from), now, &bind)).is_ok()
    }

    #[test]
    fn a_stranger_on_one_network_does_not_lock_out_the_user_elsewhere() {
        let limiter = limiter(5);
        let mut now = NOW;
        for _ in 0..200 {
            failed(&limiter, "ada", 1, 100, now);
            now = now + WINDOW / 10;
        }
        failed(&limiter, "ada", 1, 100, now);
        assert!(!signs_in(&limiter, "ada", 1, now), "on the network of the stranger");
        assert!(signs_in(&limiter, "ada", 2, now), "but allowed on another network");
    }

    #[test]
    fn attackers_on_all_networks_lock_no_account_and_leave_the_user_an_attempt() {
        for lockout_after in [3, 5, 10, 50] {
            let limiter = limiter(lockout_after);
            assert!(signs_in(&limiter, "ada", 0, NOW));
            let mut failures: Vec<Timestamp> = Vec::new();
            let mut now = NOW;
            for _ in 0..300 {
                let allowed: usize =
                    (1..=255).map(|from| failed(&limiter, "ada", from, 20, now)).sum();
                failures.extend(std::iter::repeat_n(now, allowed));
                let in_window = failures.iter().filter(|at| **at + WINDOW > now).count();
                assert!(
                    in_window < lockout_after as usize - 1 || lockout_after == 3,
                    "{in_window} of {lockout_after}"
                );
                assert!(in_window < lockout_after as usize);
                now = now + WINDOW / 30;
            }
            assert!(signs_in(&limiter, "ada", 0, now), "{lockout_after}");
        }
    }

    #[test]
    fn an_account_is_not_locked_from_where_it_signs_in_either() {
        let limiter = limiter(5);
        assert!(signs_in(&limiter, "ada", 0, NOW));
        assert_eq!(failed(&limiter, "ada", 0, 100, NOW), 4);
        let waited = limiter.count_user("ada", network(0), NOW, &mut CountedBind::default());
        assert_eq!(waited, Err(WINDOW));
        assert_eq!(
            failed(&limiter, "ada", 0, 100, NOW + WINDOW),
            4,
            "after the directory's window"
        );
    }

    #[test]
    fn one_attacker_with_many_names_does_not_get_the_hub_banned() {
        let limiter = limiter(5);
        let mut binds: Vec<CountedBind> = Vec::new();
        for _ in 0..100 {
            let mut bind = CountedBind::default();
            if limiter.count_network("invented", network(1), NOW, &mut bind).is_ok() {
                binds.push(bind);
            }
        }
        assert_eq!(binds.len(), MAX_FAILURES_PER_NETWORK);
        assert!(
            limiter.count_network("invented", network(2), NOW, &mut CountedBind::default()).is_ok()
        );
        // Behind a shared network, each user who signs in allows another user's mistake.
        limiter.record_success(&["ada"], network(1), NOW, &binds.remove(0));
        let is_counted = |_: &usize| {
            limiter.count_network("invented", network(1), NOW, &mut CountedBind::default()).is_ok()
        };
        let room = (0..9).filter(is_counted).count();
        assert_eq!(room, 2);
    }

    #[test]
    fn the_number_of_attempts_left_is_that_of_the_strictest_counter() {
        let limiter = limiter(10);
        for left in [4, 3, 2, 1, 0] {
            let mut bind = CountedBind::default();
            limiter.count_user("ada", network(1), NOW, &mut bind).unwrap();
            assert_eq!(limiter.attempts_left(&bind, NOW), left);
        }
        let mut elsewhere = CountedBind::default();
        limiter.count_user("ada", network(2), NOW, &mut elsewhere).unwrap();
        assert_eq!(limiter.attempts_left(&elsewhere, NOW), 2, "of 8 on all new networks");
    }

    #[test]
    fn a_bind_that_did_not_fail_is_refunded() {
        let limiter = limiter(5);
        for _ in 0..100 {
            let mut bind = CountedBind::default();
            limiter.count_network("invented", network(1), NOW, &mut bind).unwrap();
            limiter.count_user("ada", network(1), NOW, &mut bind).unwrap();
            limiter.refund(&bind);
        }
        assert_eq!(failed(&limiter, "ada", 1, 9, NOW), 2);
    }

    #[test]
    fn a_flood_of_invented_names_delays_almost_no_one_and_uses_bounded_memory() {
        let limiter = limiter(5);
        for name in 0..50_000 {
            failed(&limiter, &format!("invented {name}"), 1, 1, NOW);
        }
        let waiting = (0..1000)
            .filter(|name| failed(&limiter, &format!("real {name}"), 2, 1, NOW) == 0)
            .count();
        assert!(waiting < 20, "{waiting} of 1000");
        failed(&limiter, "ada", 1, 1, NOW + 2 * WINDOW);
        assert!(limiter.counts().failures.len() < 10);
    }
}
