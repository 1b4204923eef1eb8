//! The errors of registrations: those that clients read (`Y045`: RFC 7591, RFC 7592), those that
//! operators read (`Y50012`), and that of a client that waits.

passerelle_protocol::error_codes! {
    CLIENT_ID_PENDING = "Y030105" 400 "invalid_request" Info Policy Operator "error-bad-request" "The registration of this client_id waits for the approval of an operator; until then no user can sign in with it.";
    REGISTRATION_METADATA = "Y045001" 400 "invalid_client_metadata" Info Client ServiceProvider "error-bad-request" "A member of the client metadata is not valid.";
    REGISTRATION_REDIRECT_URI = "Y045002" 400 "invalid_redirect_uri" Info Client ServiceProvider "error-bad-request" "A redirect URI of the client metadata is not valid.";
    REGISTRATION_STATEMENT = "Y045003" 400 "invalid_software_statement" Info Client ServiceProvider "error-bad-request" "Software statements are not supported; register without software_statement.";
    REGISTRATION_BODY = "Y045004" 400 "invalid_client_metadata" Info Client ServiceProvider "error-bad-request" "The body must be one JSON object of client metadata, with the content type application/json and at most 32 KiB, in which no member is named twice.";
    INITIAL_TOKEN_MISSING = "Y045010" 401 "invalid_token" Info Client ServiceProvider "error-bad-request" "An initial access token is needed: ask the operator of this hub for one, and send it in the Authorization header as a Bearer token.";
    INITIAL_TOKEN_INVALID = "Y045011" 401 "invalid_token" Warn Client ServiceProvider "error-bad-request" "The initial access token is unknown, has expired or was revoked; ask the operator of this hub for another one.";
    INITIAL_TOKEN_EXHAUSTED = "Y045012" 403 "access_denied" Info Policy ServiceProvider "error-bad-request" "The initial access token allows no more registrations; ask the operator of this hub for another one.";
    REGISTRATIONS_FULL = "Y045013" 503 "temporarily_unavailable" Warn Policy Operator "error-busy" "The hub has as many registrations as its operator allows; try again later, or ask the operator.";
    REGISTRATIONS_LIMITED = "Y045014" 429 "temporarily_unavailable" Warn Client ServiceProvider "error-bad-request" "Too many requests about registrations came from this network in a minute; try again after the time in Retry-After.";
    REGISTRATION_TOKEN_INVALID = "Y045020" 401 "invalid_token" Warn Client ServiceProvider "error-bad-request" "The registration access token is not valid for this client_id; send the newest one in the Authorization header as a Bearer token.";
    REGISTRATION_TOKEN_MISSING = "Y045021" 401 "invalid_token" Info Client ServiceProvider "error-bad-request" "The registration access token is missing; send the newest one in the Authorization header as a Bearer token.";
    REGISTRATION_UNKNOWN = "Y500120" 404 "invalid_request" Info Client Operator "error-not-found" "There is no registration, or no initial access token, of this id.";
    REGISTRATION_REQUEST_MALFORMED = "Y500121" 400 "invalid_request" Info Client Operator "error-bad-request" "The body is not a JSON object of the documented members.";
    TOO_MANY_INITIAL_TOKENS = "Y500122" 409 "invalid_request" Warn Client Operator "error-bad-request" "There are as many initial access tokens as the hub keeps; revoke those that are not needed.";
    REGISTRATION_CHANGED = "Y500123" 409 "invalid_request" Warn Policy Operator "error-bad-request" "The registration is not the one of this fingerprint: its service provider has changed it since it was listed. List the registrations again, check what changed, and send the new fingerprint.";
    REGISTRATION_UNREADABLE = "Y500124" 500 "server_error" Error Hub Operator "error-internal" "The record of the registration is lost or can't be read; remove the registration, and let its service provider register again.";
    REGISTRATION_CONFLICT = "Y500125" 409 "invalid_request" Warn Policy Operator "error-bad-request" "The registration has a name or a host that another service took while it waited. Remove it, or export it and add its file to the service providers.";
}
