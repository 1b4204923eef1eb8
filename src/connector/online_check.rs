//! What the kinds over HTTP share when they are examined: one call, and the words for how it went.
//!
//! Owns: those words. Must not know: which documents there are, or what is in them.

use http::header::ACCEPT;
use openidconnect::{HttpRequest, HttpResponse};

use super::finding::Finding;
use super::{ConnectorFault, connection};
use crate::egress::guard::{CallLimits, Guard, GuardFault};
use crate::env::{Env, Timestamp};
use crate::protocol::catalogue::ErrorCode;

/// The finding about who the hub is to an identity provider.
pub const CLIENT_AUTHENTICATION: &str = "client-authentication";

/// An answer, and when it was asked for and had.
pub struct Told {
    pub answer: HttpResponse,
    pub asked: Timestamp,
    pub had: Timestamp,
}

/// A document, asked for without saying who asks.
///
/// # Errors
/// There is no answer.
pub async fn ask(guard: &Guard, url: &str, env: &Env) -> Result<Told, GuardFault> {
    let request: HttpRequest =
        http::Request::get(url).header(ACCEPT, "application/json").body(Vec::new()).map_err(
            |_| GuardFault::AddressForbidden("the address to call is not an absolute URL".into()),
        )?;
    let asked = env.now();
    let answer = guard.send(request).await?;
    Ok(Told { answer, asked, had: env.now() })
}

/// What the token endpoint made of a code that nobody issued. RFC 6749, 5.2: whoever looks at the code before the client
/// says `invalid_grant` to anybody, but none is known to; so that word means that the client was believed.
pub fn client_authentication(outcome: Result<(), ConnectorFault>, mend: &str) -> Finding {
    const NAME: &str = CLIENT_AUTHENTICATION;
    let Err(fault) = outcome else {
        return Finding::fault(
            NAME,
            "a code that nobody issued was accepted",
            "do not use this identity provider",
        );
    };
    match (fault.code, fault.detail.as_str()) {
        (ErrorCode::IdpClientRefused, _) => {
            Finding::fault(NAME, "it does not believe who we are (invalid_client)", mend)
        }
        // The second is GitHub's, which looks at the client first.
        (
            ErrorCode::IdpCodeRefused,
            said @ ("error=invalid_grant" | "error=bad_verification_code"),
        ) => {
            let said = said.trim_start_matches("error=");
            Finding::ok(
                NAME,
                format!(
                    "it believes who we are: of a made-up code it refuses the code alone ({said})"
                ),
            )
        }
        (ErrorCode::IdpCodeRefused, "error=unauthorized_client") => {
            // Some say so of a client whose proof they don't take.
            let mend = format!("have the grant type authorization_code registered there; {mend}");
            Finding::fault(
                NAME,
                "it does not let us use codes, or does not believe who we are (unauthorized_client)",
                mend,
            )
        }
        (ErrorCode::IdpCodeRefused, said) => {
            let what = format!(
                "whether it believes who we are can't be told: of a made-up code it says {said}"
            );
            Finding::warning(NAME, what, mend)
        }
        _ => of_fault(NAME, &fault),
    }
}

pub fn of_fault(name: &'static str, fault: &ConnectorFault) -> Finding {
    let entry = fault.code.entry();
    Finding::fault(
        name,
        format!("{} ({})", fault.detail, entry.description),
        format!("look up {} in docs/errors.md", entry.code),
    )
}

/// A call that had no answer.
pub fn unreached(name: &'static str, what: &str, fault: &GuardFault) -> Finding {
    match fault {
        GuardFault::AddressForbidden(why) => Finding::fault(
            name,
            format!("{what} is at an address that the hub does not call: {why}"),
            "if the address is meant, name its host in the file's internal_hosts; else ask the identity provider why it leads there",
        ),
        GuardFault::Unreachable { host, why } if why.contains("certificate") => {
            connection::refused_certificate(host, why)
        }
        GuardFault::Unreachable { host, why } => Finding::fault(
            name,
            format!("{what}: {host} can't be reached: {why}"),
            "is the address right, is the identity provider up, and may this machine call it?",
        ),
        GuardFault::Timeout(host) => {
            let mend = "is the identity provider well? A login would wait as long";
            Finding::fault(
                name,
                format!(
                    "{what}: {host} did not answer within {} s",
                    CallLimits::DEFAULT.whole.as_secs()
                ),
                mend,
            )
        }
        GuardFault::TooLarge { host, .. } => Finding::fault(
            name,
            format!("{what}: the answer of {host} is larger than 1 MiB, and was not read on"),
            "is this the right address? Such a document has a few kilobytes",
        ),
    }
}
