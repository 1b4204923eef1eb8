//! Every page in every state that was designed, for the tests; also written to `target/pages/` to
//! be looked at.

mod choice;
mod demo_wallet;
mod errors;

use std::time::Duration;

use crate::pages::*;
use crate::pasted_request::PastedRequestError;
pub(crate) use choice::{ProviderFixture, choice_page, search_query};
use choice::{choice_after, choice_with_failures, email_choices, many_provider_choices};
use demo_wallet::demo_wallet_pages;
pub(crate) use errors::error_page;
use errors::error_pages;
use passerelle_federation::identity::Claim;
use passerelle_federation::login::{ClaimsSource, MailPage};
use passerelle_federation::notices::NoticeSeverity;
use passerelle_hub::PasswordNotice;
use passerelle_localization::OperatorText;
use passerelle_protocol::acr::Level;
use passerelle_protocol::authorize::explanation::{
    ParameterExplanation, ParameterStatus, RejectionReason, RequestExplanation, RequestOutcome,
};
use passerelle_protocol::catalogue::ErrorCode;
use passerelle_protocol::env::Timestamp;

const HASH: &str = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";

pub(crate) fn consent_page(question: ConsentMode) -> ConsentPage {
    let claim = |name: Claim, value: &str| ConsentClaim {
        name: name.into(),
        value: Some(value.into()),
        place: (name == Claim::Birthplace).then(|| "Paris 7e Arrondissement".into()),
    };
    ConsentPage {
        interaction: HASH.into(),
        csrf: "c".repeat(43),
        not_me_csrf: "n".repeat(43),
        person: Some("Angela Claire Louise DUBOIS".into()),
        page_digest: "s".repeat(43),
        service: "Mairie de Saint-Étienne".into(),
        provider: "Impôts".into(),
        source: ClaimsSource::Register,
        mode: question,
        offline_access: false,
        claims: vec![
            claim(Claim::GivenName, "Angela Claire Louise"),
            claim(Claim::FamilyName, "DUBOIS"),
            claim(Claim::Birthdate, "1962-08-24"),
            claim(Claim::Gender, "female"),
            claim(Claim::Birthplace, "75107"),
            claim(Claim::Birthcountry, "99100"),
            claim(Claim::PreferredUsername, "MARTIN"),
            claim(Claim::Email, "angela@exemple.fr"),
        ],
    }
}

fn unusual_consent_pages() -> [ConsentPage; 3] {
    let claim = |name: Claim, value: Option<&str>| ConsentClaim {
        name: name.into(),
        value: value.map(Into::into),
        place: None,
    };
    let long = "Wolfeschlegelsteinhausenbergerdorff".repeat(4);
    [
        ConsentPage { claims: Vec::new(), ..consent_page(ConsentMode::Information) },
        ConsentPage {
            source: ClaimsSource::Provider,
            claims: vec![
                claim(Claim::FamilyName, Some(&long)),
                claim(Claim::Birthdate, Some("1962-00-00")),
                claim(Claim::Gender, Some("unspecified")),
                claim(Claim::Birthplace, None),
                claim(Claim::Birthcountry, Some("99139")),
            ],
            ..consent_page(ConsentMode::Consent)
        },
        ConsentPage {
            offline_access: true,
            claims: vec![
                claim(Claim::Gender, Some("male")),
                claim(Claim::Birthdate, Some("1962-08-00")),
            ],
            ..consent_page(ConsentMode::Consent)
        },
    ]
}

fn sandbox_page() -> SandboxPage {
    let pick = |id: &str, label: &str, hint: Option<&str>, is_picked| SandboxOption {
        id: id.into(),
        label: label.into(),
        value: None,
        hint: hint.map(Into::into),
        is_selected: is_picked,
    };
    let method = |id: &str, label: &str, is_picked| SandboxOption {
        value: Some(id.into()),
        ..pick(id, label, None, is_picked)
    };
    SandboxPage {
        provider: "Compte d’essai A".into(),
        action: "/sandbox/login".into(),
        hidden: vec![HiddenField::new("csrf", "c")],
        persons: vec![
            pick(
                "angela",
                "Angela Claire Louise DUBOIS",
                Some("née le 24 août 1962 à Paris"),
                true,
            ),
            pick("jean", "Jean MARTIN", Some("date de naissance présumée"), false),
            pick("mei", "Mei LIN", Some("née à l’étranger"), false),
        ],
        levels: vec![
            pick("eidas1", "eidas1", None, true),
            pick("eidas2", "eidas2", None, false),
            pick("eidas3", "eidas3", None, false),
        ],
        methods: vec![
            method("pwd", "Mot de passe", true),
            method("otp", "Code à usage unique", false),
        ],
        failures: vec![
            pick("none", "Rien : tout va bien", None, true),
            pick("denied", "La personne refuse", None, false),
        ],
    }
}

fn diagnosed_request() -> DiagnosticsPage {
    let parameter = |name: &str, status, message: &str| ParameterExplanation {
        name: name.into(),
        sent: Some("https://bakery.example/\"><script>alert(1)</script>".into()),
        status,
        message: message.into(),
        code: Some("Y030203"),
        fix: Some("send one of the registered addresses".into()),
    };
    let reason = RejectionReason(ErrorCode::RedirectUriNotRegistered);
    DiagnosticsPage::Explained(DiagnosedRequest {
        explanation: RequestExplanation {
            outcome: RequestOutcome::ErrorPage(reason),
            parameters: vec![
                parameter("redirect_uri", ParameterStatus::Rejected, "it is not registered"),
                parameter("scope", ParameterStatus::Accepted, "openid releases sub"),
            ],
        },
        expected_endpoint: Some("https://hub.example/api/v2/authorize".into()),
    })
}

fn sign_in_page(trouble: Option<SignInError>) -> SignInPage {
    SignInPage {
        provider: "Annuaire de la ville".into(),
        logo: Some("/assets/idp/town?v=1".into()),
        forgotten_password_url: Some("https://hub.example/password".into()),
        service: "Mairie de Saint-Étienne".into(),
        action: "/connectors/town/login".into(),
        hidden: vec![HiddenField::new("state", "\"><script>"), HiddenField::new("csrf", "c")],
        username: trouble.as_ref().map(|_| "a\"ngela".to_owned()).unwrap_or_default(),
        error: trouble,
        back_url: format!("/api/v2/interaction/{HASH}"),
    }
}

fn demo_signed_in(level: Level) -> DemoSignedIn {
    let fact = |name: &str, value: &str| NamedValue { name: name.into(), value: value.into() };
    let jwe_header = "{\n  \"alg\": \"ECDH-ES\",\n  \"cty\": \"JWT\",\n  \"enc\": \"A256GCM\",\n  \"kid\": \"s1\"\n}";
    let token = |payload: String| TokenParts {
        jwe_header: (level > Level::Eidas1).then(|| jwe_header.into()),
        header: "{\n  \"alg\": \"ES256\",\n  \"kid\": \"k1\",\n  \"typ\": \"JWT\"\n}".into(),
        payload,
    };
    DemoSignedIn {
        sign_in: DemoSignIn::at_level(level),
        methods: vec!["pwd".into(), "hwk".into(), "passerelle".into()],
        claims: vec![
            fact("given_name", "Angela Claire Louise"),
            fact("family_name", "DUBOIS"),
            fact("birthdate", "1962-08-24"),
        ],
        id_token: token(format!(
            "{{\n  \"iss\": \"https://hub.example/api/v2\",\n  \"sub\": \"{HASH}v1\",\n  \"acr\": \"{}\"\n}}",
            level.as_str()
        )),
        userinfo: token(format!(
            "{{\n  \"sub\": \"{HASH}v1\",\n  \"given_name\": \"Angela Claire Louise\"\n}}"
        )),
        introspection: Some("{\n  \"active\": true,\n  \"aud\": \"demo-data\"\n}".into()),
        token_response: format!(
            "{{\n  \"access_token\": \"{HASH}\",\n  \"token_type\": \"Bearer\",\n  \"expires_in\": 60\n}}"
        ),
    }
}

fn confirm_log_out_page(
    service: Option<OperatorText>,
    provider: Option<OperatorText>,
) -> ConfirmLogOutPage {
    let fields = vec![HiddenField::new("csrf", "t0ken"), HiddenField::new("state", "\"><script>")];
    ConfirmLogOutPage {
        fields,
        service: service.map(|name| (name, "https://sp.example/".into())),
        provider,
    }
}

fn notices() -> [DisplayedNotice; 2] {
    let text = OperatorText::from("Maintenance prévue ce soir de 22 h à 23 h.");
    let link = Some("https://hub.example/status".to_owned());
    [
        DisplayedNotice { text: text.clone(), severity: NoticeSeverity::Warning, link },
        DisplayedNotice { text, severity: NoticeSeverity::Info, link: None },
    ]
}

/// Returns every page and state, by name.
pub(crate) fn all_pages(chrome: &PageChrome<'_>) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, html| pages.push((name.to_owned(), html));
    for count in [0, 1, 3, 20, 300] {
        add(&format!("choice-{count}"), choice_page(count).render(chrome));
    }
    add("choice-troubled", choice_with_failures().render(chrome));
    add("choice-stopped", choice_after(ErrorCode::IdpDenied).render(chrome));
    add("choice-less-safe", choice_after(ErrorCode::AcrTooLow).render(chrome));
    add("choice-not-me", choice_after(ErrorCode::UserCancelled).render(chrome));
    let shown_notices = notices();
    let with_notices = PageChrome { notices: &shown_notices, ..*chrome };
    add("notices-choice", choice_page(3).render(&with_notices));
    add("notices-consent", consent_page(ConsentMode::Information).render(&with_notices));
    add("notices-sign-in", sign_in_page(None).render(&with_notices));
    add("notices-error", error_page(ErrorCode::IdpTimeout).render(&with_notices));
    for (name, page) in many_provider_choices().into_iter().chain(email_choices()) {
        add(name, page.render(chrome));
    }
    add("consent-information", consent_page(ConsentMode::Information).render(chrome));
    add("consent-question", consent_page(ConsentMode::Consent).render(chrome));
    for (n, page) in unusual_consent_pages().iter().enumerate() {
        add(&format!("consent-unusual-{n}"), page.render(chrome));
    }
    for (name, page) in error_pages() {
        add(name, page.render(chrome));
    }
    for code in &ErrorCode::all() {
        add(&format!("error-{}", code.entry().code), error_page(*code).render(chrome));
    }
    let provider = || OperatorText::from("Impôts");
    let fields = vec![HiddenField::new("code", "abc"), HiddenField::new("state", "\"><script>")];
    let service = OperatorText::from("Mairie de Saint-Étienne");
    add(
        "form-post",
        FormPostPage { action: "https://sp.example/cb".into(), fields, service: service.clone() }
            .render(chrome),
    );
    add("log-out", confirm_log_out_page(None, Some(provider())).render(chrome));
    add("log-out-no-session", confirm_log_out_page(None, None).render(chrome));
    add(
        "log-out-requested",
        confirm_log_out_page(Some(service.clone()), Some(provider())).render(chrome),
    );
    add("landing", LandingPage.render(chrome));
    add("logged-out", LoggedOutPage::default().render(chrome));
    let action =
        Some(PageAction::BackToService(ServiceReturn::Link { href: "https://sp.example/".into() }));
    add(
        "logged-out-back",
        LoggedOutPage {
            service: Some(service),
            action,
            ended_provider: None,
            unreached_provider: Some(provider()),
            services: vec![
                ("Port de Saint-Malo".into(), "https://sp.example/port".into()),
                ("Université de Lille".into(), "https://sp.example/lille".into()),
            ],
        }
        .render(chrome),
    );
    for (name, page) in demo_wallet_pages(chrome) {
        add(name, page);
    }
    add("sandbox", sandbox_page().render(chrome));
    add("diagnostics", DiagnosticsPage::Form.render(chrome));
    add(
        "diagnostics-unreadable",
        DiagnosticsPage::Unreadable(PastedRequestError::NotUrl).render(chrome),
    );
    add("diagnostics-rejected", diagnosed_request().render(chrome));
    for (name, code) in
        [("code", ErrorCode::CodeVerifier), ("client", ErrorCode::ClientOtherMethod)]
    {
        let page = TokenDiagnosticPage {
            code,
            client_id: Some("<script>".into()),
            registered_auth_methods: Some("client_secret_post".into()),
            reason: (code == ErrorCode::ClientOtherMethod).then(|| {
                "the client used another method than its registered token_endpoint_auth_method"
                    .into()
            }),
            at: Timestamp::from_seconds(1_790_000_000),
        };
        add(&format!("token-diagnostic-{name}"), page.render(chrome));
    }
    for error in ["invalid_request", "invalid_client", "invalid_grant", "unsupported_grant_type"] {
        let documentation = Some("https://hub.example/documentation".to_owned());
        let page = OauthErrorPage::for_error(error, documentation);
        add(&format!("oauth-{error}"), page.map(|page| page.render(chrome)).unwrap_or_default());
    }
    let down =
        SignInError::Failed { code: ErrorCode::IdpUnreachable, support_id: "7K3Q9WZX2M4T".into() };
    let refused = SignInError::Failed {
        code: ErrorCode::PasswordChangeRequired,
        support_id: "7K3Q9WZX2M4T".into(),
    };
    let troubles = [
        SignInError::MissingField,
        SignInError::WrongCredentials { is_last_attempt_next: false },
        SignInError::WrongCredentials { is_last_attempt_next: true },
        SignInError::Wait { minutes: 1 },
        SignInError::Wait { minutes: 3 },
        down,
        refused,
    ];
    for (n, trouble) in std::iter::once(None).chain(troubles.map(Some)).enumerate() {
        add(&format!("sign-in-{n}"), sign_in_page(trouble).render(chrome));
    }
    let notices = [
        PasswordNotice::MustChange,
        PasswordNotice::SignInsLeft(2),
        PasswordNotice::ExpiresIn(Duration::from_secs(5 * 86_400)),
    ];
    for (n, notice) in notices.into_iter().enumerate() {
        let page = PasswordNoticePage {
            notice,
            provider: "Annuaire de la ville".into(),
            change_url: Some("https://hub.example/password".into()),
            continue_url: "/api/v2/callback/town?code=c&state=\"><script>".into(),
        };
        add(&format!("password-notice-{n}"), page.render(chrome));
    }
    for (name, tries_left, is_expired, resend_after) in [
        ("mail-code", 5, false, 60),
        ("mail-code-resend", 5, false, 0),
        ("mail-code-wrong", 4, false, 20),
        ("mail-code-last", 1, false, 0),
        ("mail-code-expired", 5, true, 0),
    ] {
        let mail = MailPage {
            masked_address: "a***@e***".into(),
            tries_left,
            is_wrong: tries_left < 5,
            is_expired,
            resend_after,
        };
        let page = MailCodePage {
            action: format!("/api/v2/interaction/{HASH}/mail"),
            csrf: "c".repeat(43),
            service: "Mairie de Saint-Étienne".into(),
            mail,
        };
        add(name, page.render(chrome));
    }
    add("demo-start", DemoStart.render(chrome));
    add("demo-signed-out", DemoSignedOut { hub_confirmed: true }.render(chrome));
    add("demo-signed-out-unknown", DemoSignedOut { hub_confirmed: false }.render(chrome));
    add("demo-signed-in", demo_signed_in(Level::Eidas1).render(chrome));
    add("demo-signed-in-encrypted", demo_signed_in(Level::Eidas2).render(chrome));
    let description = Some("The user's authentication was aborted.".to_owned());
    add(
        "demo-error",
        DemoError::Returned { error: "access_denied".into(), description }.render(chrome),
    );
    add(
        "demo-refused",
        DemoError::Refused { reason: "The ID token names another issuer.".into() }.render(chrome),
    );
    pages
}
