//! The audit events of registrations.

use passerelle_audit::{EventKind, ExtensionEvent};

macro_rules! audit_events {
    ($($name:ident = $text:literal [$($field:ident)*] $($unauthenticated:ident)? $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub(crate) const $name: EventKind = EventKind::Extension(&ExtensionEvent {
                name: $text,
                meaning: $meaning,
                fields: &[$(stringify!($field)),*],
                is_unauthenticated: !<[&str]>::is_empty(&[$(stringify!($unauthenticated))?]),
            });
        )*

        /// Every event.
        pub(crate) const ALL: &[EventKind] = &[$($name),*];
    };
}

audit_events! {
    CLIENT_REGISTERED = "client_registered" [sp]
        "A service provider registered itself.";
    CLIENT_UPDATED = "client_updated" [sp]
        "A registered service provider replaced its metadata.";
    CLIENT_DELETED = "client_deleted" [sp]
        "A registered service provider deleted its registration.";
    REGISTRATION_REFUSED = "registration_refused" [code] Unauthenticated
        "A request to register, or about a registration, was refused.";
    CLIENT_DISPLACED = "client_displaced" [sp]
        "A registration that no operator had approved gave its place to a newer one.";
    CLIENT_APPROVED = "client_approved" [sp operator reason]
        "An operator let a registered service provider sign users in.";
    CLIENT_REMOVED = "client_removed" [sp operator reason]
        "An operator refused or revoked a registration.";
    INITIAL_TOKEN_CREATED = "initial_token_created" [operator reason]
        "An operator created an initial access token; `reason` is its purpose.";
    INITIAL_TOKEN_REVOKED = "initial_token_revoked" [operator reason]
        "An operator revoked an initial access token; `reason` is its purpose.";
}
