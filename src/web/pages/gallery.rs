//! Every page in every state that was designed, for the tests; also written to `target/pages/` to be looked at.

use std::sync::Arc;

use super::*;
use crate::config::logo::Logo;
use crate::config::notices::Severity;
use crate::config::shown::Shown;
use crate::config::theme::FooterLink;
use crate::env::Timestamp;
use crate::protocol::acr::Level;
use crate::protocol::catalogue::ErrorCode;

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

pub(super) fn theme() -> Theme {
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
    Theme { footer, ..Theme::default() }
}

/// Who may be on a choice page: `count` that can be chosen, and whoever can't.
pub(super) struct Crowd {
    entries: Vec<(String, Shown, Option<Refusal>)>,
    headings: &'static [Heading<'static>],
    /// The id of one that had a problem a moment ago.
    troubled: Option<&'static str>,
}

const HEADINGS: [Heading<'static>; 4] = [
    Heading { id: "state", name: "Services de l’État" },
    Heading { id: "bank", name: "Banques" },
    Heading { id: "health", name: "Santé" },
    Heading { id: "empty", name: "Personne" },
];

fn shown(name: &str, category: Option<&str>) -> Shown {
    Shown::new(
        Arc::new([("fr".to_owned(), name.to_owned())].into()),
        category.map(str::to_owned),
        None,
    )
}

impl Crowd {
    pub(super) fn of(count: usize) -> Self {
        let name = |n: usize| match NAMES.get(n) {
            Some(name) => (*name).to_owned(),
            None => format!("{} {}", NAMES[n % NAMES.len()], n / NAMES.len() + 1),
        };
        let entries =
            (0..count).map(|n| (format!("idp-{n}"), shown(&name(n), None), None)).collect();
        Self { entries, headings: &[], troubled: None }
    }

    /// Under three headings, and one in six under none.
    pub(super) fn in_categories(mut self) -> Self {
        self.headings = &HEADINGS;
        let categories = [
            Some("state"),
            Some("bank"),
            None,
            Some("state"),
            Some("health"),
            Some("nobody knows it"),
        ];
        for ((_, entry, _), category) in self.entries.iter_mut().zip(categories.into_iter().cycle())
        {
            entry.category = category.map(str::to_owned);
        }
        self
    }

    pub(super) fn without(mut self, name: &str, refusal: Refusal) -> Self {
        self.entries.push((
            format!("not-{}", self.entries.len()),
            shown(name, None),
            Some(refusal),
        ));
        self
    }

    pub(super) fn arranged(&self, last_used: Option<&str>, asked: &Asked) -> Arrangement {
        let candidates: Vec<Candidate<'_>> = self
            .entries
            .iter()
            .map(|(id, shown, refusal)| Candidate {
                id,
                name: &shown.name["fr"],
                shown,
                refusal: refusal.clone(),
                trouble: self.troubled.filter(|one| one == id).map(|_| Trouble::Recent),
            })
            .collect();
        arrange(&candidates, self.headings, last_used, asked)
    }

    fn page(&self, last_used: Option<&str>, asked: &Asked) -> ChoicePage {
        ChoicePage { arrangement: self.arranged(last_used, asked), ..choice(0) }
    }
}

pub(super) fn search(query: &str) -> Asked {
    Asked { query: Some(query.to_owned()), ..Asked::default() }
}

pub(super) fn choice(count: usize) -> ChoicePage {
    ChoicePage {
        interaction: HASH.into(),
        choose_csrf: "c".repeat(43),
        cancel_csrf: "d".repeat(43),
        forget_csrf: "f".repeat(43),
        service: "Mairie de Saint-Étienne".into(),
        service_logo: None,
        level: Level::Eidas1,
        arrangement: Crowd::of(count).arranged(None, &Asked::default()),
        banner: None,
    }
}

fn troubled_choice() -> ChoicePage {
    let crowd = Crowd { troubled: Some("idp-2"), ..Crowd::of(3) }
        .without("Banque du Rhône", Refusal::TooLow)
        .without("Ordre des notaires", Refusal::NotForThisService)
        .without("Académie de Lyon", Refusal::InTrouble)
        .without("Ville de Nantes", Refusal::Off)
        .without("Hôpitaux de Paris", Refusal::Blocked)
        .without("Région Bretagne", Refusal::Message("Travaux jusqu’à lundi, 8 h.".into()));
    ChoicePage {
        level: Level::Eidas2,
        banner: Some(Banner {
            provider: "La Poste".into(),
            code: ErrorCode::IdpTimeout,
            message: None,
            support_id: "7K3Q9WZX2M4T".into(),
        }),
        ..crowd.page(None, &Asked::default())
    }
}

/// The choice among many, in every way that it can be seen.
fn choices() -> Vec<(&'static str, ChoicePage)> {
    let whole = Asked::default();
    let category = |id: &str, page| Asked { category: Some(id.into()), page, ..Asked::default() };
    let many = Crowd::of(300).in_categories();
    let closed = (0..40).fold(Crowd::of(2), |crowd, n| {
        crowd.without(&format!("{} {n}", NAMES[n % NAMES.len()]), Refusal::NotForThisService)
    });
    let logo = Logo::new("image/png", b"a picture".to_vec());
    let mut with_logos = Crowd::of(3);
    with_logos.entries[1].1.logo = Some(logo);
    vec![
        ("choice-last-used", Crowd::of(3).page(Some("idp-1"), &whole)),
        ("choice-last-used-alone", Crowd::of(1).page(Some("idp-0"), &whole)),
        ("choice-last-used-300", many.page(Some("idp-7"), &whole)),
        ("choice-categories", Crowd::of(12).in_categories().page(None, &whole)),
        ("choice-categories-300", many.page(None, &whole)),
        ("choice-category", many.page(None, &category("bank", 1))),
        ("choice-category-last", many.page(None, &category("bank", 3))),
        ("choice-300-last", Crowd::of(300).page(None, &Asked { page: 13, ..Asked::default() })),
        ("choice-mostly-closed", closed.page(None, &whole)),
        (
            "choice-logos",
            ChoicePage {
                service_logo: Some("/assets/logo".into()),
                ..with_logos.page(None, &whole)
            },
        ),
        (
            "choice-search",
            ChoicePage { level: Level::Eidas3, ..Crowd::of(20).page(None, &search("  de LY ")) },
        ),
        ("choice-search-300", many.page(Some("idp-7"), &Asked { page: 2, ..search("a") })),
        ("choice-search-none", Crowd::of(20).page(None, &search("<i>zz"))),
    ]
}

pub(super) fn consent(question: Question) -> ConsentPage {
    let claim = |name, value: &str| Claim { name, value: Some(value.into()) };
    ConsentPage {
        interaction: HASH.into(),
        csrf: "c".repeat(43),
        shown: "s".repeat(43),
        service: "Mairie de Saint-Étienne".into(),
        provider: "Impôts".into(),
        source: Source::Register,
        question,
        claims: vec![
            claim(ClaimName::GivenNames, "Angela Claire Louise"),
            claim(ClaimName::FamilyName, "DUBOIS"),
            claim(ClaimName::Birthdate, "1962-08-24"),
            claim(ClaimName::Gender, "female"),
            claim(ClaimName::Birthplace, "75107"),
            claim(ClaimName::Birthcountry, "99100"),
            claim(ClaimName::PreferredUsername, "MARTIN"),
            claim(ClaimName::Email, "angela@exemple.fr"),
        ],
    }
}

fn unusual_consents() -> [ConsentPage; 3] {
    let claim = |name, value: Option<&str>| Claim { name, value: value.map(Into::into) };
    let long = "Wolfeschlegelsteinhausenbergerdorff".repeat(4);
    [
        ConsentPage { claims: Vec::new(), ..consent(Question::Information) },
        ConsentPage {
            source: Source::Provider,
            claims: vec![
                claim(ClaimName::FamilyName, Some(&long)),
                claim(ClaimName::Birthdate, Some("1962-00-00")),
                claim(ClaimName::Gender, Some("unspecified")),
                claim(ClaimName::Birthplace, None),
                claim(ClaimName::Birthcountry, Some("99139")),
            ],
            ..consent(Question::Consent)
        },
        ConsentPage {
            claims: vec![
                claim(ClaimName::Gender, Some("male")),
                claim(ClaimName::Birthdate, Some("1962-08-00")),
            ],
            ..consent(Question::Consent)
        },
    ]
}

/// As the web layer would show this error in the midst of a login.
pub(super) fn error(code: ErrorCode) -> ErrorPage {
    ErrorPage {
        code,
        detail: None,
        service: Some("Mairie de Saint-Étienne".into()),
        provider: None,
        message: None,
        claim: None,
        ways: vec![
            Way::TryAgain { href: format!("/api/v2/interaction/{HASH}") },
            Way::BackToService(Leave::Link {
                href: "https://sp.example/cb?error=access_denied".into(),
            }),
        ],
        support_id: "7K3Q9WZX2M4T".into(),
        at: Timestamp::from_seconds(1_795_228_867),
    }
}

fn errors() -> Vec<(&'static str, ErrorPage)> {
    let here = format!("/api/v2/interaction/{HASH}");
    let post = Leave::Post {
        action: "https://sp.example/cb".into(),
        fields: vec![Field::new("error", "access_denied")],
    };
    vec![
        (
            "error-400",
            ErrorPage {
                detail: Some(Detail {
                    code: "Y030012".into(),
                    line: "state is shorter than 32 characters (POST).".into(),
                }),
                service: None,
                ways: vec![],
                ..error(ErrorCode::BadRequest)
            },
        ),
        ("error-404", ErrorPage { service: None, ways: vec![], ..error(ErrorCode::NotFound) }),
        (
            "error-unnamed-service",
            ErrorPage {
                service: None,
                ways: vec![
                    Way::ServiceHome { href: "https://sp.example/".into() },
                    Way::BackToService(Leave::Link { href: "https://sp.example/".into() }),
                ],
                ..error(ErrorCode::LoginExpired)
            },
        ),
        (
            "error-identity",
            ErrorPage {
                provider: Some("Impôts".into()),
                claim: Some(ClaimName::Birthplace),
                ways: vec![
                    Way::OtherProvider { href: here.clone() },
                    Way::BackToService(post.clone()),
                ],
                ..error(ErrorCode::IdentityIncomplete)
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
                ways: vec![Way::OtherProvider { href: here.clone() }, Way::BackToService(post)],
                ..error(ErrorCode::IdpBlocked)
            },
        ),
        (
            "error-lost-cookie",
            ErrorPage { service: None, ways: vec![], ..error(ErrorCode::LoginOtherBrowser) },
        ),
        (
            "error-answer",
            ErrorPage {
                provider: Some("Impôts".into()),
                ways: vec![Way::Continue { href: here.clone() }],
                ..error(ErrorCode::IdpStateUnusable)
            },
        ),
        (
            "error-answer-alone",
            ErrorPage { service: None, ways: vec![], ..error(ErrorCode::IdpStateUnusable) },
        ),
        (
            "error-done",
            ErrorPage { ways: vec![Way::Continue { href: here }], ..error(ErrorCode::AlreadyDone) },
        ),
    ]
}

fn progress(stage: Stage) -> ProgressPage {
    let ways = vec![Way::Continue { href: format!("/api/v2/interaction/{HASH}") }];
    ProgressPage { service: "Mairie de Saint-Étienne".into(), stage, ways }
}

fn sandbox() -> SandboxPage {
    let pick = |id: &str, label: &str, hint: Option<&str>, is_picked| Pick {
        id: id.into(),
        label: label.into(),
        hint: hint.map(Into::into),
        is_picked,
    };
    SandboxPage {
        provider: "Compte d’essai A".into(),
        action: "/sandbox/login".into(),
        hidden: vec![Field::new("csrf", "c")],
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
            pick("pwd", "Mot de passe", None, true),
            pick("otp", "Code à usage unique", None, false),
        ],
        failures: vec![
            pick("none", "Rien : tout va bien", None, true),
            pick("denied", "La personne refuse", None, false),
        ],
    }
}

fn sign_in(trouble: Option<SignInTrouble>) -> SignInPage {
    SignInPage {
        provider: "Annuaire de la ville".into(),
        service: "Mairie de Saint-Étienne".into(),
        action: "/connectors/town/login".into(),
        hidden: vec![Field::new("state", "\"><script>"), Field::new("csrf", "c")],
        username: trouble.as_ref().map(|_| "a\"ngela".to_owned()).unwrap_or_default(),
        trouble,
        back: format!("/api/v2/interaction/{HASH}"),
    }
}

fn demo_signed_in(level: Level) -> DemoSignedIn {
    let fact = |name: &str, value: &str| Fact { name: name.into(), value: value.into() };
    let seal = "{\n  \"alg\": \"ECDH-ES\",\n  \"cty\": \"JWT\",\n  \"enc\": \"A256GCM\",\n  \"kid\": \"s1\"\n}";
    let token = |payload: String| TokenParts {
        seal: (level > Level::Eidas1).then(|| seal.into()),
        header: "{\n  \"alg\": \"ES256\",\n  \"kid\": \"k1\",\n  \"typ\": \"JWT\"\n}".into(),
        payload,
    };
    DemoSignedIn {
        level,
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
        data_provider: Some("{\n  \"active\": true,\n  \"aud\": \"demo-data\"\n}".into()),
        token_answer: format!(
            "{{\n  \"access_token\": \"{HASH}\",\n  \"token_type\": \"Bearer\",\n  \"expires_in\": 60\n}}"
        ),
    }
}

fn log_out(service: Option<String>, provider: Option<String>) -> LogOutPage {
    let fields = vec![Field::new("csrf", "t0ken"), Field::new("state", "\"><script>")];
    LogOutPage {
        fields,
        service: service.map(|name| (name, "https://sp.example/".into())),
        provider,
    }
}

fn notices() -> [Notice; 2] {
    let text = "Maintenance prévue ce soir de 22 h à 23 h.".to_owned();
    let link = Some("https://hub.example/status".to_owned());
    [
        Notice { text: text.clone(), severity: Severity::Warning, link },
        Notice { text, severity: Severity::Info, link: None },
    ]
}

/// Every page and state, by name.
pub(super) fn all(chrome: &Chrome<'_>) -> Vec<(String, String)> {
    let mut pages: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, html| pages.push((name.to_owned(), html));
    for count in [0, 1, 3, 20, 300] {
        add(&format!("choice-{count}"), choice(count).render(chrome));
    }
    add("choice-troubled", troubled_choice().render(chrome));
    let said = notices();
    let told = Chrome { notices: &said, ..*chrome };
    add("notices-choice", choice(3).render(&told));
    add("notices-consent", consent(Question::Information).render(&told));
    add("notices-sign-in", sign_in(None).render(&told));
    add("notices-error", error(ErrorCode::IdpTimeout).render(&told));
    for (name, page) in choices() {
        add(name, page.render(chrome));
    }
    add("consent-information", consent(Question::Information).render(chrome));
    add("consent-question", consent(Question::Consent).render(chrome));
    for (n, page) in unusual_consents().iter().enumerate() {
        add(&format!("consent-unusual-{n}"), page.render(chrome));
    }
    for (name, page) in errors() {
        add(name, page.render(chrome));
    }
    for code in ErrorCode::ALL {
        add(&format!("error-{}", code.entry().code), error(*code).render(chrome));
    }
    let provider = || "Impôts".to_owned();
    let stages = [
        Stage::Choosing,
        Stage::Away { provider: provider() },
        Stage::Checking { provider: provider() },
        Stage::Consent,
    ];
    for (n, stage) in stages.into_iter().enumerate() {
        add(&format!("progress-{n}"), progress(stage).render(chrome));
    }
    let fields = vec![Field::new("code", "abc"), Field::new("state", "\"><script>")];
    let service = "Mairie de Saint-Étienne".to_owned();
    add(
        "form-post",
        FormPostPage { action: "https://sp.example/cb".into(), fields, service: service.clone() }
            .render(chrome),
    );
    add("log-out", log_out(None, Some(provider())).render(chrome));
    add("log-out-nobody", log_out(None, None).render(chrome));
    add("log-out-asked", log_out(Some(service.clone()), Some(provider())).render(chrome));
    add("logged-out", LoggedOutPage::default().render(chrome));
    let way = Some(Way::BackToService(Leave::Link { href: "https://sp.example/".into() }));
    add(
        "logged-out-back",
        LoggedOutPage { service: Some(service), way, unreached: Some(provider()) }.render(chrome),
    );
    add("sandbox", sandbox().render(chrome));
    let down = SignInTrouble::Failed {
        code: ErrorCode::IdpUnreachable,
        support_id: "7K3Q9WZX2M4T".into(),
    };
    let troubles = [
        SignInTrouble::Empty,
        SignInTrouble::Wrong,
        SignInTrouble::Wait { minutes: 1 },
        SignInTrouble::Wait { minutes: 3 },
        down,
    ];
    for (n, trouble) in std::iter::once(None).chain(troubles.map(Some)).enumerate() {
        add(&format!("sign-in-{n}"), sign_in(trouble).render(chrome));
    }
    add("demo-signed-out", DemoSignedOut.render(chrome));
    add("demo-signed-in", demo_signed_in(Level::Eidas1).render(chrome));
    add("demo-signed-in-sealed", demo_signed_in(Level::Eidas2).render(chrome));
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
