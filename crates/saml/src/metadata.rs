//! Reads the metadata of an identity provider (SAML V2.0 Metadata), alone or in an aggregate.
//!
//! Responsible for what of it may be used until when. Does not fetch, cache or refresh.

use std::time::Duration;

use passerelle_protocol::env::Timestamp;

use crate::time::{parse_duration, parse_time};
use crate::xml::{
    DSIG, Element, Limits, VerificationKey, Verified, VerifiedXml, XmlError, XmlSignatureError,
    XmlText, decode_base64,
};
use crate::{MD, SAMLP};

const SHIBMD: &str = "urn:mace:shibboleth:metadata:1.0";
/// Keys of one role that are read.
const MAX_KEYS: usize = 8;
/// Length of a certificate in base64.
const MAX_CERTIFICATE_BYTES: usize = 16 * 1024;

/// Why metadata can't be used.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdentityProviderMetadataError {
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error(transparent)]
    Signature(#[from] XmlSignatureError),
    #[error("it is neither an EntityDescriptor nor an EntitiesDescriptor")]
    NotMetadata,
    #[error("it has no EntityDescriptor with this entityID")]
    UnknownEntity,
    #[error("it has two EntityDescriptors with this entityID")]
    RepeatedEntity,
    #[error("a validUntil or cacheDuration is malformed")]
    Time,
    #[error("its validUntil has passed")]
    Expired,
    #[error("it has no validUntil, or one later than allowed")]
    ValidTooLong,
    #[error("the entity is no identity provider of SAML 2.0, or has several such roles")]
    NotAnIdentityProvider,
    #[error("the identity provider has no usable key that signs")]
    NoSigningKey,
    #[error("the identity provider has no address for requests by redirect or POST")]
    NoSingleSignOnService,
}

/// An address for messages of one binding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SamlEndpoint {
    pub binding: String,
    pub location: String,
    /// Where responses go, if elsewhere.
    pub response_location: Option<String>,
}

/// What the hub uses of an identity provider's metadata.
#[derive(Clone, Debug)]
pub struct IdentityProviderMetadata {
    pub entity_id: String,
    pub valid_until: Option<Timestamp>,
    /// After which time the metadata should be fetched again.
    pub cache_duration: Option<Duration>,
    pub signing_keys: Vec<VerificationKey>,
    /// Keys and certificates that are not used: of other types or sizes, or beyond the eighth.
    pub skipped_keys: usize,
    pub single_sign_on: Vec<SamlEndpoint>,
    pub single_logout: Vec<SamlEndpoint>,
    pub wants_signed_requests: bool,
    /// `shibmd:Scope`, without regular expressions, which are never matched.
    pub scopes: Vec<String>,
}

/// Verifies metadata by keys of the operator.
///
/// # Errors
/// `Xml`, `Signature`, `NotMetadata`.
pub fn verify_metadata(
    metadata: &[u8],
    keys: &[VerificationKey],
) -> Result<VerifiedXml, IdentityProviderMetadataError> {
    let text = XmlText::read(metadata, Limits::METADATA)?;
    let document = text.parse()?;
    let root = document.root();
    if !is_metadata(root) {
        return Err(IdentityProviderMetadataError::NotMetadata);
    }
    Ok(root.verify_signature(keys)?)
}

/// Finds an identity provider in verified metadata.
///
/// `max_validity` demands a `validUntil` that is at most so far away: without it, an attacker who
/// answers instead of the metadata's server can repeat an old document with a key that was revoked.
///
/// # Errors
/// Any [`IdentityProviderMetadataError`].
pub fn find_identity_provider(
    metadata: &VerifiedXml,
    entity_id: &str,
    max_validity: Option<Duration>,
    now: Timestamp,
) -> Result<IdentityProviderMetadata, IdentityProviderMetadataError> {
    use IdentityProviderMetadataError as E;
    let document = metadata.parse()?;
    if !is_metadata(document.root()) {
        return Err(E::NotMetadata);
    }
    let mut entities = document
        .root()
        .descendants_named(MD, "EntityDescriptor")
        .filter(|entity| entity.attribute("entityID") == Some(entity_id));
    let entity = entities.next().ok_or(E::UnknownEntity)?;
    if entities.next().is_some() {
        return Err(E::RepeatedEntity);
    }
    let speaks_saml2 = |role: &Element<'_, Verified>| {
        let protocols = role.attribute("protocolSupportEnumeration").unwrap_or_default();
        protocols.split_ascii_whitespace().any(|protocol| protocol == SAMLP)
    };
    let mut roles = entity.children_named(MD, "IDPSSODescriptor").filter(speaks_saml2);
    let (Some(role), None) = (roles.next(), roles.next()) else {
        return Err(E::NotAnIdentityProvider);
    };
    let (valid_until, cache_duration) = validity(role)?;
    if valid_until.is_some_and(|end| end <= now) {
        return Err(E::Expired);
    }
    if max_validity.is_some_and(|max| valid_until.is_none_or(|end| end > now + max)) {
        return Err(E::ValidTooLong);
    }
    let (signing_keys, skipped_keys) = signing_keys(role)?;
    if signing_keys.is_empty() {
        return Err(E::NoSigningKey);
    }
    let single_sign_on: Vec<_> = endpoints(role, "SingleSignOnService").collect();
    if single_sign_on.is_empty() {
        return Err(E::NoSingleSignOnService);
    }
    let wants_signed_requests =
        matches!(role.attribute("WantAuthnRequestsSigned"), Some("true" | "1"));
    Ok(IdentityProviderMetadata {
        entity_id: entity_id.to_owned(),
        valid_until,
        cache_duration,
        signing_keys,
        skipped_keys,
        single_sign_on,
        single_logout: endpoints(role, "SingleLogoutService").collect(),
        wants_signed_requests,
        scopes: scopes(entity, role)?,
    })
}

fn is_metadata<T>(root: Element<'_, T>) -> bool {
    root.is(MD, "EntityDescriptor") || root.is(MD, "EntitiesDescriptor")
}

/// Returns the earliest `validUntil` and the shortest `cacheDuration` of an element and of those
/// around it.
fn validity(
    role: Element<'_, Verified>,
) -> Result<(Option<Timestamp>, Option<Duration>), IdentityProviderMetadataError> {
    let mut valid_until: Option<Timestamp> = None;
    let mut cache_duration: Option<Duration> = None;
    for element in std::iter::successors(Some(role), |element| element.parent()) {
        if let Some(text) = element.attribute("validUntil") {
            let end = parse_time(text).ok_or(IdentityProviderMetadataError::Time)?;
            valid_until = Some(valid_until.map_or(end, |earlier| earlier.min(end)));
        }
        if let Some(text) = element.attribute("cacheDuration") {
            let duration = parse_duration(text).ok_or(IdentityProviderMetadataError::Time)?;
            cache_duration = Some(cache_duration.map_or(duration, |short| short.min(duration)));
        }
    }
    Ok((valid_until, cache_duration))
}

/// Returns the keys that sign, and the number of those that can't be used: one bad certificate must
/// not stop a rollover.
fn signing_keys(
    role: Element<'_, Verified>,
) -> Result<(Vec<VerificationKey>, usize), IdentityProviderMetadataError> {
    let mut keys = Vec::new();
    let mut skipped = 0;
    let signs = |key: &Element<'_, Verified>| key.attribute("use").is_none_or(|u| u == "signing");
    for descriptor in role.children_named(MD, "KeyDescriptor").filter(signs) {
        let certificates = descriptor
            .children_named(DSIG, "KeyInfo")
            .flat_map(|info| info.children_named(DSIG, "X509Data"))
            .flat_map(|data| data.children_named(DSIG, "X509Certificate"));
        for certificate in certificates {
            let der = decode_base64(certificate.text()?, MAX_CERTIFICATE_BYTES);
            match der.map(|der| VerificationKey::from_certificate(&der)) {
                Some(Ok(key)) if keys.len() < MAX_KEYS => keys.push(key),
                _ => skipped += 1,
            }
        }
    }
    Ok((keys, skipped))
}

fn endpoints(role: Element<'_, Verified>, name: &str) -> impl Iterator<Item = SamlEndpoint> {
    role.children_named(MD, name).filter_map(|service| {
        let binding = service.attribute("Binding")?;
        let location = service.attribute("Location").filter(|location| is_http(location))?;
        let response_location = service.attribute("ResponseLocation").filter(|l| is_http(l));
        [crate::HTTP_POST, crate::HTTP_REDIRECT].contains(&binding).then(|| SamlEndpoint {
            binding: binding.to_owned(),
            location: location.to_owned(),
            response_location: response_location.map(str::to_owned),
        })
    })
}

/// Returns false for addresses that a browser must not be sent to, such as `javascript:`.
fn is_http(location: &str) -> bool {
    url::Url::parse(location).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

/// Scopes stand in the extensions of the role or of the entity.
fn scopes(
    entity: Element<'_, Verified>,
    role: Element<'_, Verified>,
) -> Result<Vec<String>, IdentityProviderMetadataError> {
    let scopes = [entity, role]
        .into_iter()
        .flat_map(|element| element.children_named(MD, "Extensions"))
        .flat_map(|extensions| extensions.children_named(SHIBMD, "Scope"));
    let is_literal =
        |scope: &Element<'_, Verified>| !matches!(scope.attribute("regexp"), Some("true" | "1"));
    let literal = scopes.filter(is_literal).map(Element::text);
    Ok(literal
        .map(|scope| scope.map(|scope| scope.trim_ascii().to_owned()))
        .collect::<Result<_, _>>()?)
}
