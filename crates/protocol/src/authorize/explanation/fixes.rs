//! What the developer changes in each parameter.

use super::displayable::displayable;
use crate::catalogue::{ErrorCode, Param};
use crate::ids::Scope;
use crate::registration::Registration;

/// Returns what the developer changes in a parameter that is accepted with a warning.
pub(super) fn fix_for_warning(param: Param) -> Option<String> {
    let fix = match param {
        Param::CodeChallenge => "switch on PKCE with S256 in the OpenID Connect library",
        Param::State => "send an unguessable state, and compare it when the response arrives",
        Param::Scope => "remove the unknown scopes, or correct their spelling",
        _ => return None,
    };
    Some(fix.to_owned())
}

/// Returns what the developer changes in a rejected parameter.
pub(super) fn fix_for(
    param: Param,
    code: ErrorCode,
    registration: Option<&Registration>,
) -> String {
    if matches!(code, ErrorCode::Repeated(_)) {
        return "send it once: often a library and the application's own code both add it"
            .to_owned();
    }
    let list = |values: Vec<&str>| values.into_iter().map(displayable).collect::<Vec<_>>();
    let fix = match (param, registration) {
        (Param::ClientId, _) if code == ErrorCode::ClientIdInactive => {
            "ask the operator to switch the service provider on"
        }
        (Param::ClientId, _) => {
            "send the client_id of the registration at this hub, in its exact spelling"
        }
        (Param::RedirectUri, Some(registration)) => {
            let registered = registration.redirect_uris.iter().map(String::as_str).collect();
            return format!(
                "send one of the registered addresses, or have this one registered: {}",
                list(registered).join(" ")
            );
        }
        (Param::ResponseType, _) => "send response_type=code",
        (Param::Scope, Some(registration)) => {
            let granted = registration.granted_scopes.iter().map(Scope::as_str).collect();
            return format!(
                "send openid and, of the granted scopes, those that you need: {}",
                list(granted).join(" ")
            );
        }
        (Param::AcrValues, _) => {
            "send a level that this platform accepts; standard and high are two hubs"
        }
        (Param::State | Param::Nonce, _) => {
            "send 43 random base64url characters (32 random bytes); 22 suffice for GET, 32 for POST"
        }
        (Param::Claims, _) => {
            "send one JSON object such as {\"id_token\":{\"amr\":{\"essential\":true}}}"
        }
        (Param::Prompt, _) => {
            "send any of login, consent and select_account, or none alone; or leave it out"
        }
        (Param::ResponseMode, _) => {
            "send query or form_post, or leave it out; a signed mode needs authorization_signed_response_alg in the service provider's file"
        }
        (Param::MaxAge, _) => "send digits only, for example max_age=300",
        (Param::CodeChallenge | Param::CodeChallengeMethod, _) => {
            "send code_challenge (base64url of the SHA-256 of the verifier, without padding) and code_challenge_method=S256"
        }
        (Param::Request | Param::RequestUri | Param::Registration, _) => {
            "send the parameters in the query, without request objects"
        }
        _ => "send a value that the description allows",
    };
    fix.to_owned()
}
