//! One HTTP client for all who call by the same rules: each reads the machine's authorities when it is made, which takes
//! milliseconds, and hundreds of identity providers must not take seconds. Connections are kept by host, so that sharing a
//! client shares nothing with another host's.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::authorities::Authorities;
use super::guard::{CallLimits, Guard, GuardFault, Pooling, Schemes, Trust};

/// So many different rules are kept; nobody has more but by changing them again and again.
const KEPT: usize = 64;

type Rules = (Schemes, Vec<String>, Option<Authorities>, Pooling);

/// Guards with the default limits, by their rules. Cheap to clone; all clones share.
#[derive(Clone, Default)]
pub struct Guards(Arc<Mutex<BTreeMap<Rules, Guard>>>);

impl Guards {
    /// As [`Guard::new`]; with `authorities`, a server's certificate may come from these alone.
    ///
    /// # Errors
    /// The TLS library can't be set up.
    pub fn of(
        &self,
        schemes: Schemes,
        internal_hosts: &[String],
        authorities: Option<&Authorities>,
    ) -> Result<Guard, GuardFault> {
        self.get_or_make(schemes, internal_hosts, authorities, Pooling::Reuse)
    }

    /// As [`Guard::connecting_anew`].
    ///
    /// # Errors
    /// The TLS library can't be set up.
    pub fn connecting_anew(
        &self,
        schemes: Schemes,
        internal_hosts: &[String],
        authorities: Option<&Authorities>,
    ) -> Result<Guard, GuardFault> {
        self.get_or_make(schemes, internal_hosts, authorities, Pooling::Fresh)
    }

    fn get_or_make(
        &self,
        schemes: Schemes,
        internal_hosts: &[String],
        authorities: Option<&Authorities>,
        pooling: Pooling,
    ) -> Result<Guard, GuardFault> {
        let rules = (schemes, internal_hosts.to_vec(), authorities.cloned(), pooling);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(guard) = kept.get(&rules) {
            return Ok(guard.clone());
        }
        let trust = Trust { ca: authorities.map(Authorities::pem), identity: None };
        let guard = match pooling {
            Pooling::Reuse => Guard::trusting(schemes, internal_hosts, CallLimits::DEFAULT, trust)?,
            Pooling::Fresh => {
                Guard::connecting_anew(schemes, internal_hosts, CallLimits::DEFAULT, trust)?
            }
        };
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(rules, guard.clone());
        Ok(guard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_shared_by_equal_rules_only() {
        let guards = Guards::default();
        let inside = url::Url::parse("https://10.0.0.1/").unwrap();
        let strict = guards.of(Schemes::HttpsOnly, &[], None).unwrap();
        let lenient = guards.of(Schemes::HttpsOnly, &["10.0.0.1".into()], None).unwrap();
        assert!(strict.admit(&inside).is_err() && lenient.admit(&inside).is_ok());
        guards.of(Schemes::HttpsOnly, &[], None).unwrap();
        assert_eq!(guards.0.lock().unwrap().len(), 2);
    }
}
