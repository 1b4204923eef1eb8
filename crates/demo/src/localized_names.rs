//! The names of the demo in the ten languages of the pages.

/// A text in the languages `ar`, `de`, `en`, `es`, `fr`, `it`, `nl`, `pl`, `pt` and `ro`.
pub(crate) struct LocalizedName([&'static str; 10]);

const LANGUAGES: [&str; 10] = ["ar", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ro"];

impl LocalizedName {
    /// Returns the table for a file: `{ ar = "…", … }`.
    pub(crate) fn to_toml(&self) -> String {
        let entries = LANGUAGES.iter().zip(self.0);
        let entries = entries.map(|(language, text)| format!("{language} = \"{text}\""));
        format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
    }

    /// Returns the text in a language of the pages.
    #[cfg(feature = "saml")]
    pub(crate) fn text(&self, language: &str) -> &'static str {
        let mut texts = LANGUAGES.iter().zip(self.0);
        texts.find(|(one, _)| **one == language).map_or("", |(_, text)| text)
    }
}

pub(crate) const AMANDIER: LocalizedName = LocalizedName([
    "حساب Amandier",
    "Amandier-Konto",
    "Amandier account",
    "Cuenta Amandier",
    "Compte Amandier",
    "Account Amandier",
    "Amandier-account",
    "Konto Amandier",
    "Conta Amandier",
    "Cont Amandier",
]);

pub(crate) const BELVEDERE: LocalizedName = LocalizedName([
    "هوية Belvedere",
    "Belvedere-Identität",
    "Belvedere identity",
    "Identidad Belvedere",
    "Identité Belvédère",
    "Identità Belvedere",
    "Belvedere-identiteit",
    "Tożsamość Belvedere",
    "Identidade Belvedere",
    "Identitate Belvedere",
]);

pub(crate) const DONJON: LocalizedName = LocalizedName([
    "هوية Donjon",
    "Donjon-Identität",
    "Donjon identity",
    "Identidad Donjon",
    "Identité Donjon",
    "Identità Donjon",
    "Donjon-identiteit",
    "Tożsamość Donjon",
    "Identidade Donjon",
    "Identitate Donjon",
]);

pub(crate) const CASSIS: LocalizedName = LocalizedName([
    "حساب Cassis",
    "Cassis-Konto",
    "Cassis account",
    "Cuenta Cassis",
    "Compte Cassis",
    "Account Cassis",
    "Cassis-account",
    "Konto Cassis",
    "Conta Cassis",
    "Cont Cassis",
]);

pub(crate) const CASSIS_BLOCK: LocalizedName = LocalizedName([
    "مغلق للصيانة حتى إشعار آخر.",
    "Wegen Wartung bis auf Weiteres geschlossen.",
    "Closed for maintenance until further notice.",
    "Cerrado por mantenimiento hasta nuevo aviso.",
    "Fermé pour travaux jusqu’à nouvel ordre.",
    "Chiuso per manutenzione fino a nuovo avviso.",
    "Wegens onderhoud gesloten tot nader bericht.",
    "Nieczynne do odwołania z powodu prac konserwacyjnych.",
    "Encerrado para manutenção até novo aviso.",
    "Închis pentru întreținere până la o nouă înștiințare.",
]);

#[cfg(feature = "saml")]
pub(crate) const ERABLE: LocalizedName = LocalizedName([
    "جامعة Erable (SAML)",
    "Universität Erable (SAML)",
    "Erable University (SAML)",
    "Universidad Erable (SAML)",
    "Université Érable (SAML)",
    "Università Erable (SAML)",
    "Universiteit Erable (SAML)",
    "Uniwersytet Erable (SAML)",
    "Universidade Erable (SAML)",
    "Universitatea Erable (SAML)",
]);

pub(crate) const WALLET: LocalizedName = LocalizedName([
    "محفظة تجريبية",
    "Demo-Wallet",
    "Demo wallet",
    "Cartera de demostración",
    "Portefeuille de démonstration",
    "Portafoglio dimostrativo",
    "Demowallet",
    "Portfel demonstracyjny",
    "Carteira de demonstração",
    "Portofel demonstrativ",
]);

pub(crate) const SERVICE: LocalizedName = LocalizedName([
    "الخدمة التجريبية",
    "Der Demodienst",
    "The demo service",
    "El servicio de demostración",
    "Le service de démonstration",
    "Il servizio dimostrativo",
    "De demodienst",
    "Usługa demonstracyjna",
    "O serviço de demonstração",
    "Serviciul demonstrativ",
]);

pub(crate) const CONSENT_SERVICE: LocalizedName = LocalizedName([
    "الخدمة التجريبية مع الموافقة",
    "Der Demodienst mit Zustimmung",
    "The demo service with consent",
    "El servicio de demostración con consentimiento",
    "Le service de démonstration avec consentement",
    "Il servizio dimostrativo con consenso",
    "De demodienst met toestemming",
    "Usługa demonstracyjna ze zgodą",
    "O serviço de demonstração com consentimento",
    "Serviciul demonstrativ cu acord",
]);

pub(crate) const HUB: LocalizedName = LocalizedName([
    "منصة الدخول التجريبية",
    "Der Demo-Hub",
    "The demo hub",
    "El hub de demostración",
    "Le concentrateur de démonstration",
    "L’hub dimostrativo",
    "De demohub",
    "Hub demonstracyjny",
    "O hub de demonstração",
    "Hubul demonstrativ",
]);

pub(crate) const DATA: LocalizedName = LocalizedName([
    "البيانات التجريبية",
    "Die Demodaten",
    "The demo data",
    "Los datos de demostración",
    "Les données de démonstration",
    "I dati dimostrativi",
    "De demogegevens",
    "Dane demonstracyjne",
    "Os dados de demonstração",
    "Datele demonstrative",
]);

pub(crate) const SINGLE_PAGE_APPLICATION: LocalizedName = LocalizedName([
    "تطبيقي ذو الصفحة الواحدة",
    "Meine Single-Page-Anwendung",
    "My single-page application",
    "Mi aplicación de una página",
    "Mon application d’une page",
    "La mia applicazione a pagina singola",
    "Mijn applicatie van één pagina",
    "Moja aplikacja jednostronicowa",
    "A minha aplicação de página única",
    "Aplicația mea de o pagină",
]);

pub(crate) const APPLICATION: LocalizedName = LocalizedName([
    "تطبيقي",
    "Meine Anwendung",
    "My application",
    "Mi aplicación",
    "Mon application",
    "La mia applicazione",
    "Mijn applicatie",
    "Moja aplikacja",
    "A minha aplicação",
    "Aplicația mea",
]);

#[cfg(test)]
mod tests {
    use super::LANGUAGES;
    use passerelle_localization::Languages;

    #[test]
    fn the_languages_are_those_of_the_pages() {
        let built_in = Languages::built_in();
        assert!(LANGUAGES.into_iter().eq(built_in.locales().map(|locale| locale.tag())));
    }
}
