//! Codes of our own, for the kinds whose login page is the hub's: what was proven there waits for its callback, as behind
//! any identity provider's authorization code (RFC 6749, 4.1.2; RFC 9700, 4.5).
//!
//! Owns: that a code works once, within its minute, for the attempt it was made for. Must not know: what it stands for.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::env::{Env, Timestamp};

const LIFE: Duration = Duration::from_secs(60);
const MOST: usize = 10_000;

/// No code is made while this many wait: try again in a minute.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
#[error("too many codes wait to be used")]
pub struct Full;

pub struct OneTimeCodes<T> {
    waiting: Mutex<HashMap<String, Waiting<T>>>,
}

struct Waiting<T> {
    state: String,
    since: Timestamp,
    value: T,
}

impl<T> OneTimeCodes<T> {
    pub fn new() -> Self {
        Self { waiting: Mutex::default() }
    }

    /// Keeps a value under a fresh code, for the attempt with this `state`.
    ///
    /// # Errors
    /// `Full`; nothing is kept.
    pub fn keep(&self, state: &str, value: T, env: &Env) -> Result<String, Full> {
        let now = env.now();
        let mut waiting = self.waiting();
        waiting.retain(|_, other| now.since(other.since) < LIFE);
        if waiting.len() >= MOST {
            return Err(Full);
        }
        let code = env.entropy().token();
        waiting.insert(code.clone(), Waiting { state: state.to_owned(), since: now, value });
        Ok(code)
    }

    /// Takes what a code stands for; whatever it was worth, it is worth nothing afterwards.
    pub fn take(&self, code: &str, state: &str, now: Timestamp) -> Option<T> {
        let found = self.waiting().remove(code)?;
        (now.since(found.since) < LIFE && found.state == state).then_some(found.value)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiting<T>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{HandClock, SeededEntropy};
    use std::sync::Arc;

    #[test]
    fn a_code_works_once_in_its_minute_for_its_own_attempt() {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let codes = OneTimeCodes::new();
        let code = codes.keep("s1", 1, &env).unwrap();
        assert_eq!(codes.take("guess", "s1", env.now()), None);
        assert_eq!((codes.take(&code, "s1", env.now()), codes.take(&code, "s1", env.now())), (Some(1), None));
        let stolen = codes.keep("s1", 2, &env).unwrap();
        assert_eq!((codes.take(&stolen, "s2", env.now()), codes.take(&stolen, "s1", env.now())), (None, None));
        let late = codes.keep("s1", 3, &env).unwrap();
        clock.advance(LIFE);
        assert_eq!(codes.take(&late, "s1", env.now()), None);
    }

    #[test]
    fn codes_that_nobody_fetches_take_no_memory_without_end() {
        let clock = Arc::new(HandClock::at(Timestamp::from_seconds(1000)));
        let env = Env::new(Arc::clone(&clock) as _, Arc::new(SeededEntropy::new(1)));
        let codes = OneTimeCodes::new();
        for _ in 0..MOST {
            codes.keep("s", (), &env).unwrap();
        }
        assert_eq!(codes.keep("s", (), &env), Err(Full));
        clock.advance(LIFE);
        assert!(codes.keep("s", (), &env).is_ok());
        assert_eq!(codes.waiting().len(), 1);
    }
}
