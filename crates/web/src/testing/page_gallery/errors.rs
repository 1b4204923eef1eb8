//! Error pages, with every way on that they offer.

use super::HASH;
use crate::pages::*;
use passerelle_federation::identity::Claim;
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

/// Returns the page for an error in the middle of a login.
pub(crate) fn error_page(code: ErrorCode) -> ErrorPage {
    ErrorPage {
        code,
        detail: None,
        service: Some("Mairie de Saint-Étienne".into()),
        provider: None,
        message: None,
        claim: None,
        retry_after: matches!(code.entry().status, 429 | 503).then_some(5),
        actions: vec![
            PageAction::TryAgain { href: format!("/api/v2/interaction/{HASH}") },
            PageAction::BackToService(ServiceReturn::Link {
                href: "https://sp.example/cb?error=access_denied".into(),
            }),
        ],
        support_id: "7K3Q9WZX2M4T".into(),
        at: Timestamp::from_seconds(1_795_228_867),
    }
}

pub(super) fn error_pages() -> Vec<(&'static str, ErrorPage)> {
    let here = format!("/api/v2/interaction/{HASH}");
    let form = PostForm {
        action: "https://sp.example/cb".into(),
        fields: vec![HiddenField::new("error", "access_denied")],
    };
    let post = ServiceReturn::Post(form.clone());
    vec![
        (
            "error-400",
            ErrorPage {
                detail: Some(ErrorDetail {
                    code: "Y030012".into(),
                    description: "state is shorter than 32 characters (POST).".into(),
                }),
                service: None,
                actions: vec![],
                ..error_page(ErrorCode::BadRequest)
            },
        ),
        (
            "error-404",
            ErrorPage { service: None, actions: vec![], ..error_page(ErrorCode::NotFound) },
        ),
        (
            "error-unnamed-service",
            ErrorPage {
                service: None,
                actions: vec![
                    PageAction::ServiceHome { href: "https://sp.example/".into() },
                    PageAction::BackToService(ServiceReturn::Link {
                        href: "https://sp.example/".into(),
                    }),
                ],
                ..error_page(ErrorCode::LoginExpired)
            },
        ),
        (
            "error-identity",
            ErrorPage {
                provider: Some("Impôts".into()),
                claim: Some(Claim::Birthplace.into()),
                actions: vec![
                    PageAction::OtherAccount(form.clone()),
                    PageAction::BackToService(post.clone()),
                ],
                ..error_page(ErrorCode::IdentityIncomplete)
            },
        ),
        (
            "error-register",
            ErrorPage {
                provider: Some("Impôts".into()),
                actions: vec![
                    PageAction::OtherAccount(form.clone()),
                    PageAction::BackToService(post.clone()),
                ],
                ..error_page(ErrorCode::RegisterNotFound)
            },
        ),
        (
            "error-register-unavailable",
            ErrorPage {
                provider: Some("Impôts".into()),
                retry_after: None,
                actions: vec![
                    PageAction::SignInAgain(form),
                    PageAction::BackToService(post.clone()),
                ],
                ..error_page(ErrorCode::RegisterUnavailable)
            },
        ),
        (
            "error-other-tab",
            ErrorPage {
                actions: vec![PageAction::Continue { href: here.clone() }],
                ..error_page(ErrorCode::StepOutOfOrder)
            },
        ),
        (
            "error-outage",
            ErrorPage {
                actions: vec![
                    PageAction::TryAgain { href: "/api/v2/authorize?client_id=sp".into() },
                    PageAction::ServiceHome { href: "https://sp.example/".into() },
                ],
                ..error_page(ErrorCode::AuditUnwritable)
            },
        ),
        (
            "error-blocked",
            ErrorPage {
                provider: Some("Impôts".into()),
                message: Some(
                    "Ce compte est en travaux jusqu’à lundi, 8 h. Vos données sont en sécurité."
                        .into(),
                ),
                actions: vec![
                    PageAction::OtherProvider { href: here.clone() },
                    PageAction::BackToService(post),
                ],
                ..error_page(ErrorCode::IdpBlocked)
            },
        ),
        (
            "error-wait",
            ErrorPage {
                retry_after: Some(12),
                actions: vec![
                    PageAction::TryAgain { href: "/api/v2/authorize?client_id=sp".into() },
                    PageAction::ServiceHome { href: "https://sp.example/".into() },
                ],
                ..error_page(ErrorCode::NetworkLimited)
            },
        ),
        (
            "error-lost-cookie",
            ErrorPage {
                service: None,
                actions: vec![],
                ..error_page(ErrorCode::LoginOtherBrowser)
            },
        ),
        (
            "error-repeated-cookie",
            ErrorPage { service: None, actions: vec![], ..error_page(ErrorCode::RepeatedCookie) },
        ),
        (
            "error-answer",
            ErrorPage {
                provider: Some("Impôts".into()),
                actions: vec![PageAction::Continue { href: here.clone() }],
                ..error_page(ErrorCode::IdpStateUnusable)
            },
        ),
        (
            "error-answer-alone",
            ErrorPage { service: None, actions: vec![], ..error_page(ErrorCode::IdpStateUnusable) },
        ),
        (
            "error-done",
            ErrorPage {
                actions: vec![PageAction::Continue { href: here }],
                ..error_page(ErrorCode::AlreadyDone)
            },
        ),
    ]
}
