//! Decrypts `EncryptedAssertion` and `EncryptedID` (W3C XML Encryption 1.1; SAML V2.0 Core §2.3.4).

use std::fmt::Write as _;

use openssl::encrypt::Decrypter;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::Padding;
use openssl::symm::{Cipher, Crypter, Mode, decrypt_aead};
use passerelle_jose::key_device::OaepHash;

use super::document::{Element, Untrusted, Verified, VerifiedXml, XmlDocument, XmlText};
use super::scan::{Limits, XmlError};
use super::{DSIG, decode_base64, escape_attribute};

const XENC: &str = "http://www.w3.org/2001/04/xmlenc#";
const XENC11: &str = "http://www.w3.org/2009/xmlenc11#";
const GCM_TAG_BYTES: usize = 16;
/// Encrypted keys that are tried: a sender may name several recipients.
const MAX_ENCRYPTED_KEYS: usize = 8;

/// What decrypts ciphertext that a signature covers.
#[derive(Clone, Copy, Default, Debug)]
pub struct ContentDecryption<'a> {
    pub keys: &'a [XmlDecryptionKey],
    /// Accepts AES-CBC beside AES-GCM. Never for what anyone may have changed: the answers to
    /// modified ciphertexts reveal the plaintext (Jager and Somorovsky, 2011).
    pub allow_cbc: bool,
}

/// Error returned for what can't be decrypted. Nothing in it depends on the plaintext.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum XmlDecryptionError {
    #[error("the encrypted element has another form than XML Encryption's")]
    Structure,
    #[error("the content key is not encrypted by a form of RSA-OAEP that the hub accepts")]
    KeyTransport,
    #[error(
        "the content is not encrypted by AES-GCM; AES-CBC needs allow_cbc and a signed message"
    )]
    ContentEncryption,
    #[error("it was encrypted to another key, or changed")]
    Undecryptable,
    #[error("the decrypted element can't be read: {0}")]
    Xml(#[from] XmlError),
}

/// What decrypts the content that identity providers encrypt to the hub.
#[derive(Clone, derive_more::Debug)]
#[debug("XmlDecryptionKey")]
pub struct XmlDecryptionKey(DecryptionSecret);

#[derive(Clone)]
enum DecryptionSecret {
    PrivateKey(PKey<Private>),
    /// A content key that a device decrypted, and its encrypted form.
    ContentKey {
        encrypted: Vec<u8>,
        key: Vec<u8>,
    },
}

impl XmlDecryptionKey {
    /// Takes an RSA key of at least 2,048 bits; `None` for any other.
    pub fn new(key: PKey<Private>) -> Option<Self> {
        let is_accepted = key.id() == Id::RSA && key.bits() >= 2048;
        is_accepted.then_some(Self(DecryptionSecret::PrivateKey(key)))
    }

    /// Takes what a device decrypted of a key of [`encrypted_keys`].
    pub fn from_content_key(encrypted: Vec<u8>, key: Vec<u8>) -> Self {
        Self(DecryptionSecret::ContentKey { encrypted, key })
    }

    fn decrypt(&self, transport: KeyTransport, encrypted: &[u8]) -> Option<Vec<u8>> {
        let private = match &self.0 {
            DecryptionSecret::PrivateKey(private) => private,
            DecryptionSecret::ContentKey { encrypted: own, key } => {
                return (own == encrypted).then(|| key.clone());
            }
        };
        let mut decrypter = Decrypter::new(private).ok()?;
        decrypter.set_rsa_padding(Padding::PKCS1_OAEP).ok()?;
        decrypter.set_rsa_oaep_md(transport.digest).ok()?;
        decrypter.set_rsa_mgf1_md(transport.mask).ok()?;
        let mut key = vec![0; decrypter.decrypt_len(encrypted).ok()?];
        let length = decrypter.decrypt(encrypted, &mut key).ok()?;
        key.truncate(length);
        Some(key)
    }
}

/// A content key that a device must decrypt by RSA-OAEP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EncryptedContentKey {
    /// Hash function of RSA-OAEP and of its mask; `None` for other ones and for two, which no device
    /// decrypts.
    pub hash: Option<OaepHash>,
    pub encrypted: Vec<u8>,
}

/// Returns the encrypted keys of a document, before anything of it is verified.
pub fn encrypted_keys(document: &[u8]) -> Vec<EncryptedContentKey> {
    let Ok(text) = XmlText::read(document, Limits::RESPONSE) else { return Vec::new() };
    let Ok(document) = text.parse() else { return Vec::new() };
    let keys = document.root().descendants_named(XENC, "EncryptedKey").take(MAX_ENCRYPTED_KEYS);
    let read = |key| {
        let KeyTransport { digest, mask } = KeyTransport::read(key).ok()?;
        let hash = match (digest.type_(), mask.type_()) {
            (Nid::SHA1, Nid::SHA1) => Some(OaepHash::Sha1),
            (Nid::SHA256, Nid::SHA256) => Some(OaepHash::Sha256),
            _ => None,
        };
        Some(EncryptedContentKey { hash, encrypted: cipher_value(key, Limits::RESPONSE).ok()? })
    };
    keys.filter_map(read).collect()
}

impl Element<'_, Verified> {
    /// Decrypts what a signature covers as ciphertext, so that the plaintext is verified too.
    ///
    /// # Errors
    /// Any [`XmlDecryptionError`].
    pub fn decrypt_verified(
        self,
        decryption: ContentDecryption<'_>,
    ) -> Result<VerifiedXml, XmlDecryptionError> {
        let plaintext = decrypt_element(self, decryption)?;
        let plaintext = with_namespaces_around(self, plaintext)?;
        Ok(VerifiedXml::from_verified_bytes(&plaintext, *self.limits)?)
    }
}

impl Element<'_, Untrusted> {
    /// Decrypts what anyone may have encrypted to the hub's public key. Only AES-GCM.
    ///
    /// # Errors
    /// Any [`XmlDecryptionError`].
    pub fn decrypt_untrusted(
        self,
        keys: &[XmlDecryptionKey],
    ) -> Result<XmlText, XmlDecryptionError> {
        let plaintext = decrypt_element(self, ContentDecryption { keys, allow_cbc: false })?;
        let plaintext = with_namespaces_around(self, plaintext)?;
        Ok(XmlText::read(&plaintext, *self.limits)?)
    }
}

fn decrypt_element<T>(
    encrypted: Element<'_, T>,
    ContentDecryption { keys, allow_cbc }: ContentDecryption<'_>,
) -> Result<Vec<u8>, XmlDecryptionError> {
    use XmlDecryptionError as E;
    let data = encrypted.child(XENC, "EncryptedData")?.ok_or(E::Structure)?;
    let cipher = ContentCipher::from_uri(method(data)?.0).ok_or(E::ContentEncryption)?;
    if !cipher.is_authenticated && !allow_cbc {
        return Err(E::ContentEncryption);
    }
    let content = cipher_value(data, *encrypted.limits)?;
    let key_info = data.child(DSIG, "KeyInfo")?;
    // Beside the data, or in its `KeyInfo` (SAML V2.0 Core §2.2.4).
    let inside = key_info.into_iter().flat_map(|info| info.children_named(XENC, "EncryptedKey"));
    let encrypted_keys: Vec<_> = inside
        .chain(encrypted.children_named(XENC, "EncryptedKey"))
        .take(MAX_ENCRYPTED_KEYS)
        .map(|key| Ok((KeyTransport::read(key)?, cipher_value(key, *encrypted.limits)?)))
        .collect::<Result<_, E>>()?;
    let content_keys = encrypted_keys.iter().flat_map(|(transport, encrypted_key)| {
        keys.iter().filter_map(|key| key.decrypt(*transport, encrypted_key))
    });
    content_keys
        .filter(|key| key.len() == cipher.cipher.key_len())
        .find_map(|key| cipher.decrypt(&key, &content))
        .ok_or(E::Undecryptable)
}

/// Adds the namespaces around the ciphertext to a plaintext that can't be read without: it stood
/// there when it was encrypted (XML Encryption 1.1 §4.5). A signature in it covers those that it uses.
fn with_namespaces_around<T>(
    encrypted: Element<'_, T>,
    plaintext: Vec<u8>,
) -> Result<Vec<u8>, XmlError> {
    let text = XmlText::read(&plaintext, *encrypted.limits)?;
    let has_namespace =
        |document: XmlDocument<'_, Untrusted>| document.root().namespace().is_some();
    if text.parse().is_ok_and(has_namespace) {
        return Ok(plaintext);
    }
    // What is no element at all, the parser refuses.
    let Some((before, rest)) = text.as_str().split_once('<') else { return Ok(plaintext) };
    let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
    let (name, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let mut completed = format!("{before}<{name}");
    for namespace in encrypted.node.namespaces() {
        let declaration = match namespace.name() {
            None if name.contains(':') => continue,
            None => "xmlns=".to_owned(),
            Some("xml") => continue,
            Some(prefix) => format!("xmlns:{prefix}="),
        };
        if namespace.name().is_none() || !rest.contains(&declaration) {
            let _ = write!(completed, " {declaration}\"{}\"", escape_attribute(namespace.uri()));
        }
    }
    completed.push_str(rest);
    Ok(completed.into_bytes())
}

/// How the content's key was encrypted.
#[derive(Clone, Copy)]
struct KeyTransport {
    digest: MessageDigest,
    mask: MessageDigest,
}

impl KeyTransport {
    /// SHA-1 is accepted here: OAEP needs no resistance to collisions, and it is what peers send
    /// (XML Encryption 1.1 §5.5.2).
    fn read<T>(encrypted_key: Element<'_, T>) -> Result<Self, XmlDecryptionError> {
        use XmlDecryptionError::KeyTransport as Refused;
        let (uri, method) = method(encrypted_key)?;
        let is_mgf1p = uri.strip_prefix(XENC) == Some("rsa-oaep-mgf1p");
        if !is_mgf1p && uri.strip_prefix(XENC11) != Some("rsa-oaep") {
            return Err(Refused);
        }
        if method.child(XENC, "OAEPparams")?.is_some() {
            return Err(Refused);
        }
        let digest = method.child(DSIG, "DigestMethod")?;
        let digest = digest.map_or(Some("sha1"), |digest| fragment(digest)).unwrap_or_default();
        let mask = method.child(XENC11, "MGF")?;
        let mask = mask.map_or(Some("mgf1sha1"), |mask| fragment(mask)).unwrap_or_default();
        if is_mgf1p && mask != "mgf1sha1" {
            return Err(Refused);
        }
        let mask = mask.strip_prefix("mgf1").ok_or(Refused)?;
        Ok(Self {
            digest: oaep_digest(digest).ok_or(Refused)?,
            mask: oaep_digest(mask).ok_or(Refused)?,
        })
    }
}

fn oaep_digest(name: &str) -> Option<MessageDigest> {
    match name {
        "sha1" => Some(MessageDigest::sha1()),
        "sha256" => Some(MessageDigest::sha256()),
        "sha384" => Some(MessageDigest::sha384()),
        "sha512" => Some(MessageDigest::sha512()),
        _ => None,
    }
}

/// How the content was encrypted.
struct ContentCipher {
    cipher: Cipher,
    /// AES-GCM, not AES-CBC.
    is_authenticated: bool,
}

impl ContentCipher {
    fn from_uri(uri: &str) -> Option<Self> {
        let (cipher, is_authenticated) = match uri.strip_prefix(XENC11).or(uri.strip_prefix(XENC))?
        {
            "aes128-gcm" => (Cipher::aes_128_gcm(), true),
            "aes192-gcm" => (Cipher::aes_192_gcm(), true),
            "aes256-gcm" => (Cipher::aes_256_gcm(), true),
            "aes128-cbc" => (Cipher::aes_128_cbc(), false),
            "aes192-cbc" => (Cipher::aes_192_cbc(), false),
            "aes256-cbc" => (Cipher::aes_256_cbc(), false),
            _ => return None,
        };
        Some(Self { cipher, is_authenticated })
    }

    fn decrypt(&self, key: &[u8], content: &[u8]) -> Option<Vec<u8>> {
        let (iv, content) = content.split_at_checked(self.cipher.iv_len()?)?;
        if !self.is_authenticated {
            return self.decrypt_cbc(key, iv, content);
        }
        let (content, tag) = content.split_at_checked(content.len().checked_sub(GCM_TAG_BYTES)?)?;
        decrypt_aead(self.cipher, key, Some(iv), &[], content, tag).ok()
    }

    /// The last byte is the length of the padding, whose other bytes are arbitrary, unlike in PKCS #7
    /// (XML Encryption 1.1 §5.2.1).
    fn decrypt_cbc(&self, key: &[u8], iv: &[u8], content: &[u8]) -> Option<Vec<u8>> {
        let block = self.cipher.block_size();
        if content.is_empty() || !content.len().is_multiple_of(block) {
            return None;
        }
        let mut crypter = Crypter::new(self.cipher, Mode::Decrypt, key, Some(iv)).ok()?;
        crypter.pad(false);
        let mut plaintext = vec![0; content.len() + block];
        let length = crypter.update(content, &mut plaintext).ok()?;
        plaintext.truncate(length);
        let padding = plaintext.last().copied().map(usize::from)?;
        let end = length.checked_sub(padding).filter(|_| (1..=block).contains(&padding))?;
        plaintext.truncate(end);
        Some(plaintext)
    }
}

fn method<T>(encrypted: Element<'_, T>) -> Result<(&str, Element<'_, T>), XmlDecryptionError> {
    let method = encrypted.child(XENC, "EncryptionMethod")?.ok_or(XmlDecryptionError::Structure)?;
    Ok((method.attribute("Algorithm").ok_or(XmlDecryptionError::Structure)?, method))
}

fn cipher_value<T>(
    encrypted: Element<'_, T>,
    limits: Limits,
) -> Result<Vec<u8>, XmlDecryptionError> {
    let data = encrypted.child(XENC, "CipherData")?.ok_or(XmlDecryptionError::Structure)?;
    let value = data.child(XENC, "CipherValue")?.ok_or(XmlDecryptionError::Structure)?;
    decode_base64(value.text()?, limits.bytes).ok_or(XmlDecryptionError::Structure)
}

fn fragment<T>(method: Element<'_, T>) -> Option<&str> {
    method.attribute("Algorithm")?.rsplit_once('#').map(|(_, name)| name)
}
