//! Every page in every state that was designed, for the tests; also written to `target/pages/` to
//! be looked at.

use std::sync::Arc;

use crate::actor::{RequestedClaim, WalletLink};
use crate::config::logo::Logo;
use crate::config::model::FooterLink;
use crate::config::model::NoticeSeverity;
use crate::config::provider_display::ProviderDisplay;
use crate::config::support_url::SupportUrlTemplate;
use crate::env::Timestamp;
use crate::identity::Claim;
use crate::protocol::acr::Level;
use crate::protocol::authorize::explanation::{
    ParameterExplanation, ParameterStatus, RejectionReason, RequestExplanation, RequestOutcome,
};
use crate::protocol::catalogue::ErrorCode;
use crate::web::pages::*;
use crate::web::pasted_request::PastedRequestError;

const HASH: &str = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9vYmFyYmE";
const NAMES: [&str; 20] = [
    "Impôts",
    "La Poste",
    "Assurance Maladie",
    "Mutualité agricole",
    "Carte d’identité électronique",
    "Banque du Rhône",
    "Académie de Lyon",
    "Région Bretagne",
    "Ville de Nantes",
    "Ordre des notaires",
    "Caisse d’épargne",
    "Crédit maritime",
    "Université de Lille",
    "Hôpitaux de Paris",
    "Chambre d’agriculture",
    "Barreau de Toulouse",
    "Métropole de Lyon",
    "Département du Nord",
    "Collège de France",
    "École des mines",
];

pub(crate) fn theme() -> PageTheme {
    let link = |french: &str, english: &str, page: &str| FooterLink {
        label: [("fr", french), ("en", english)]
            .map(|(language, text)| (language.to_owned(), text.to_owned()))
            .into(),
        url: format!("https://hub.example/{page}"),
    };
    let footer = vec![
        link("Aide", "Help", "help"),
        link("Accessibilité : non conforme", "Accessibility", "accessibility"),
        link("Données personnelles", "Privacy", "privacy"),
    ];
    let support = "https://hub.example/help?code={code}&number={support_id}&service={service}&account={identity_provider}";
    PageTheme { footer, support: SupportUrlTemplate::parse(support).ok(), ..PageTheme::default() }
}

/// Identity providers of a choice page: some available, some not.
pub(crate) struct ProviderFixture {
    entries: Vec<(String, ProviderDisplay, Option<UnavailableLabel>)>,
    headings: &'static [CategoryHeading<'static>],
    /// The id of one with a warning.
    warned_id: Option<&'static str>,
}

const HEADINGS: [CategoryHeading<'static>; 4] = [
    CategoryHeading { id: "state", name: "Services de l’État" },
    CategoryHeading { id: "bank", name: "Banques" },
    CategoryHeading { id: "health", name: "Santé" },
    CategoryHeading { id: "empty", name: "Personne" },
];

fn shown(name: &str, category: Option<&str>) -> ProviderDisplay {
    ProviderDisplay::new(
        Arc::new([("fr".to_owned(), name.to_owned())].into()),
        category.map(str::to_owned),
        None,
    )
}

impl ProviderFixture {
    pub(crate) fn with_available(count: usize) -> Self {
        let name = |n: usize| match NAMES.get(n) {
            Some(name) => (*name).to_owned(),
            None => format!("{} {}", NAMES[n % NAMES.len()], n / NAMES.len() + 1),
        };
        let entries =
            (0..count).map(|n| (format!("idp-{n}"), shown(&name(n), None), None)).collect();
        Self { entries, headings: &[], warned_id: None }
    }

    /// Assigns them to three categories, one in six to none.
    pub(crate) fn in_categories(mut self) -> Self {
        self.headings = &HEADINGS;
        let categories =
            [Some("state"), Some("bank"), None, Some("state"), Some("health"), Some("unknown")];
        for ((_, entry, _), category) in self.entries.iter_mut().zip(categories.into_iter().cycle())
        {
            entry.category = category.map(str::to_owned);
        }
        self
    }

    pub(crate) fn with_unavailable(mut self, name: &str, label: UnavailableLabel) -> Self {
        self.entries.push((format!("not-{}", self.entries.len()), shown(name, None), Some(label)));
        self
    }

    pub(crate) fn list(&self, last_used: Option<&str>, query: &ListQuery) -> ProviderList {
        let candidates: Vec<ProviderCandidate<'_>> = self
            .entries
            .iter()
            .map(|(id, shown, label)| ProviderCandidate {
                id,
                name: &shown.name["fr"],
                shown,
                unavailable_label: label.clone(),
                warning: self
                    .warned_id
                    .filter(|one| one == id)
                    .map(|_| ProviderWarning::RecentFailure),
            })
            .collect();
        build_provider_list(&candidates, self.headings, last_used, query)
    }

    fn choice_page(&self, last_used: Option<&str>, query: &ListQuery) -> ChoicePage {
        ChoicePage { list: self.list(last_used, query), ..choice_page(0) }
    }
}

pub(crate) fn search_query(query: &str) -> ListQuery {
    ListQuery { query: Some(query.to_owned()), ..ListQuery::default() }
}

pub(crate) fn choice_page(count: usize) -> ChoicePage {
    ChoicePage {
        interaction: HASH.into(),
        choose_csrf: "c".repeat(43),
        cancel_csrf: "d".repeat(43),
        forget_csrf: Some("f".repeat(43)),
        service: "Mairie de Saint-Étienne".into(),
        service_logo: None,
        level: Level::Eidas1,
        list: ProviderFixture::with_available(count).list(None, &ListQuery::default()),
        banner: None,
        email: None,
        no_account: Some(NoAccountAdvice {
            text: "Vous pouvez créer une identité numérique gratuitement, ou venir à la mairie."
                .into(),
            link: Some("https://hub.example/accounts".into()),
        }),
    }
}

/// Choice pages that know an e-mail address, or ask for one.
fn email_choices() -> Vec<(&'static str, ChoicePage)> {
    let question = |is_malformed, last_used| {
        let list = ProviderFixture::with_available(3).list(last_used, &ListQuery::default());
        ChoicePage {
            email: Some(EmailSearch::Question { csrf: "e".repeat(43), is_malformed }),
            list: ProviderList {
                last_used: list.last_used,
                total: list.total,
                ..ProviderList::default()
            },
            ..choice_page(0)
        }
    };
    let with = |email, page| ChoicePage { email: Some(email), ..page };
    let domain = || "education.example.org".to_owned();
    vec![
        ("choice-email", question(false, None)),
        ("choice-email-malformed", question(true, None)),
        ("choice-email-last-used", question(false, Some("idp-1"))),
        (
            "choice-email-failed",
            ChoicePage { banner: choice_with_failures().banner, ..question(false, None) },
        ),
        ("choice-email-found", with(EmailSearch::Found { domain: domain() }, choice_page(2))),
        ("choice-email-unknown", with(EmailSearch::Unknown { domain: domain() }, choice_page(4))),
        ("choice-email-list", with(EmailSearch::List, choice_page(20))),
    ]
}

fn choice_with_failures() -> ChoicePage {
    let providers =
        ProviderFixture { warned_id: Some("idp-2"), ..ProviderFixture::with_available(3) }
            .with_unavailable("Banque du Rhône", UnavailableLabel::LevelTooLow)
            .with_unavailable("Ordre des notaires", UnavailableLabel::NotForThisService)
            .with_unavailable("Académie de Lyon", UnavailableLabel::Failing)
            .with_unavailable("Ville de Nantes", UnavailableLabel::Off)
            .with_unavailable("Hôpitaux de Paris", UnavailableLabel::Blocked)
            .with_unavailable(
                "Région Bretagne",
                UnavailableLabel::Message("Travaux jusqu’à lundi, 8 h.".into()),
            );
    ChoicePage {
        level: Level::Eidas2,
        banner: Some(FailureBanner {
            provider: "La Poste".into(),
            code: ErrorCode::IdpTimeout,
            message: None,
            support_id: "7K3Q9WZX2M4T".into(),
        }),
        ..providers.choice_page(None, &ListQuery::default())
    }
}

/// The choice page after the user stopped, or said that the displayed person is another one.
fn choice_after(code: ErrorCode) -> ChoicePage {
    let banner = FailureBanner {
        provider: "La Poste".into(),
        code,
        message: None,
        support_id: "7K3Q9WZX2M4T".into(),
    };
    ChoicePage { banner: Some(banner), ..choice_page(3) }
}

/// Choice pages with many providers, in every state.
fn many_provider_choices() -> Vec<(&'static str, ChoicePage)> {
    let whole = ListQuery::default();
    let category =
        |id: &str, page| ListQuery { category: Some(id.into()), page, ..ListQuery::default() };
    let many = ProviderFixture::with_available(300).in_categories();
    let closed = (0..40).fold(ProviderFixture::with_available(2), |providers, n| {
        providers.with_unavailable(
            &format!("{} {n}", NAMES[n % NAMES.len()]),
            UnavailableLabel::NotForThisService,
        )
    });
    let logo = Logo::new("image/png", b"a picture".to_vec());
    let mut with_logos = ProviderFixture::with_available(3);
    with_logos.entries[1].1.logo = Some(logo);
    vec![
        ("choice-last-used", ProviderFixture::with_available(3).choice_page(Some("idp-1"), &whole)),
        (
            "choice-last-used-alone",
            ProviderFixture::with_available(1).choice_page(Some("idp-0"), &whole),
        ),
        ("choice-last-used-300", many.choice_page(Some("idp-7"), &whole)),
        (
            "choice-categories",
            ProviderFixture::with_available(12).in_categories().choice_page(None, &whole),
        ),
        ("choice-categories-300", many.choice_page(None, &whole)),
        ("choice-category", many.choice_page(None, &category("bank", 1))),
        ("choice-category-last", many.choice_page(None, &category("bank", 3))),
        (
            "choice-300-last",
            ProviderFixture::with_available(300)
                .choice_page(None, &ListQuery { page: 13, ..ListQuery::default() }),
        ),
        ("choice-mostly-closed", closed.choice_page(None, &whole)),
        (
            "choice-logos",
            ChoicePage {
                service_logo: Some("/assets/logo".into()),
                ..with_logos.choice_page(None, &whole)
            },
        ),
        (
            "choice-search",
            ChoicePage {
                level: Level::Eidas3,
                ..ProviderFixture::with_available(20).choice_page(None, &search_query("  de LY "))
            },
        ),
        (
            "choice-search-300",
            many.choice_page(Some("idp-7"), &ListQuery { page: 2, ..search_query("a") }),
        ),
        (
            "choice-search-none",
            ProviderFixture::with_available(20).choice_page(None, &search_query("<i>zz")),
        ),
    ]
}

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
        source: ClaimSource::Register,
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
            source: ClaimSource::Provider,
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

fn error_pages() -> Vec<(&'static str, ErrorPage)> {
    let here = format!("/api/v2/interaction/{HASH}");
    let post = ServiceReturn::Post {
        action: "https://sp.example/cb".into(),
        fields: vec![HiddenField::new("error", "access_denied")],
    };
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
                    PageAction::OtherProvider { href: here.clone() },
                    PageAction::BackToService(post.clone()),
                ],
                ..error_page(ErrorCode::IdentityIncomplete)
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

fn open_wallet_page() -> OpenWalletPage {
    let claim = |name: &str, is_optional| RequestedClaim { name: name.into(), is_optional };
    let link = |name: Option<&str>, url: &str| WalletLink {
        name: name.map(str::to_owned),
        url: url.into(),
    };
    OpenWalletPage {
        provider: "Portefeuille européen".into(),
        logo: None,
        service: "Mairie de Saint-Étienne".into(),
        claims: vec![
            claim("given_name", false),
            claim("birth_family_name", false),
            claim("/place_of_birth/locality", false),
            claim("/place_of_birth/country", false),
            claim("personal_administrative_number", false),
            claim("<script>", false),
            claim("nationalities", true),
        ],
        links: vec![
            link(None, "openid4vp://?client_id=x509_hash%3Aabc&request_uri=https%3A%2F%2Fhub"),
            link(Some("Wallet \"<b>"), "https://wallet.example/authorize?client_id=a&b=c"),
        ],
        digital_credentials: None,
        other_device_url: Some("/connectors/eudi/wallet/other-device?state=s".into()),
        back_url: format!("/api/v2/interaction/{HASH}"),
    }
}

fn wallet_pages(chrome: &PageChrome<'_>) -> Vec<(&'static str, String)> {
    let open = open_wallet_page();
    let with_api = OpenWalletPage {
        digital_credentials: Some(DigitalCredentialsForm {
            request: "e30.e30.\"><script>".into(),
            action: "/connectors/eudi/wallet/digital-credential".into(),
            hidden: vec![HiddenField::new("state", "\"><script>"), HiddenField::new("csrf", "c")],
        }),
        ..open.clone()
    };
    let scan = |error| {
        let page = OtherDevicePage {
            service: "Mairie de Saint-Étienne".into(),
            qr: QrImage { size: 21, path: "M0 0h7v7h-7zM14 0h7v7h-7z".into() },
            action: "/connectors/eudi/wallet/other-device".into(),
            hidden: vec![HiddenField::new("state", "\"><script>"), HiddenField::new("csrf", "c")],
            error,
            back_url: format!("/api/v2/interaction/{HASH}"),
        };
        page.render(chrome)
    };
    let code = ConfirmationCodePage { service: "Mairie <b>".into(), code: "048213".into() };
    let demo = DemoWalletPage {
        verifier: "http://localhost:9500".into(),
        claims: vec!["given_name".into(), "<b>".into()],
        persons: vec![NamedValue { name: "angela".into(), value: "Angela DUBOIS".into() }],
        request: "\"><script>".into(),
    };
    let failed = DemoWalletError { reason: "The hub <b> refused the answer.".into() };
    vec![
        ("wallet", open.render(chrome)),
        ("wallet-api", with_api.render(chrome)),
        ("wallet-other-device", scan(None)),
        ("wallet-waiting", scan(Some(WalletCodeError::Waiting))),
        ("wallet-wrong-code", scan(Some(WalletCodeError::Wrong))),
        ("wallet-exhausted", scan(Some(WalletCodeError::Exhausted))),
        ("wallet-code", code.render(chrome)),
        ("wallet-demo", demo.render(chrome)),
        ("wallet-demo-error", failed.render(chrome)),
    ]
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

fn confirm_log_out_page(service: Option<String>, provider: Option<String>) -> ConfirmLogOutPage {
    let fields = vec![HiddenField::new("csrf", "t0ken"), HiddenField::new("state", "\"><script>")];
    ConfirmLogOutPage {
        fields,
        service: service.map(|name| (name, "https://sp.example/".into())),
        provider,
    }
}

fn notices() -> [DisplayedNotice; 2] {
    let text = "Maintenance prévue ce soir de 22 h à 23 h.".to_owned();
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
    for code in ErrorCode::ALL {
        add(&format!("error-{}", code.entry().code), error_page(*code).render(chrome));
    }
    let provider = || "Impôts".to_owned();
    let fields = vec![HiddenField::new("code", "abc"), HiddenField::new("state", "\"><script>")];
    let service = "Mairie de Saint-Étienne".to_owned();
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
            services: vec!["Port de Saint-Malo".into(), "Université de Lille".into()],
        }
        .render(chrome),
    );
    for (name, page) in wallet_pages(chrome) {
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
    let troubles = [
        SignInError::MissingField,
        SignInError::WrongCredentials,
        SignInError::Wait { minutes: 1 },
        SignInError::Wait { minutes: 3 },
        down,
    ];
    for (n, trouble) in std::iter::once(None).chain(troubles.map(Some)).enumerate() {
        add(&format!("sign-in-{n}"), sign_in_page(trouble).render(chrome));
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
