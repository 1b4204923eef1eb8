//! Known secrets and identities, sent through every path; and everything that comes out, searched
//! for them: log lines at TRACE, exported spans, metrics, the audit log, error pages, panics,
//! reports of commands, digests.
//!
//! A process of its own: its log is the process's. The tokens of a real identity provider and of a
//! real register are among the peers (`traces.test.mjs`).

// One of its connectors is a directory.
#[cfg(all(test, feature = "ldap"))]
#[allow(dead_code, reason = "the whole programs' tests use all of it")]
mod flow {
    mod browser;
    mod canary;
    mod federation;
    mod hub;
    mod markup;
    mod service;
}
