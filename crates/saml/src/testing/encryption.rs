//! Encrypts an assertion as identity providers do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use openssl::encrypt::Encrypter;
use openssl::hash::MessageDigest;
use openssl::pkey::{HasPublic, PKeyRef};
use openssl::rsa::Padding;
use openssl::symm::{Cipher, encrypt, encrypt_aead};

/// How the content is encrypted.
pub struct Encryption {
    pub cipher: &'static str,
    pub transport: &'static str,
    /// Parameters inside the `EncryptionMethod` of the key.
    pub parameters: &'static str,
    pub padding: Padding,
    pub digest: fn() -> MessageDigest,
    pub mask_digest: fn() -> MessageDigest,
}

pub const GCM: Encryption = Encryption {
    cipher: "http://www.w3.org/2009/xmlenc11#aes256-gcm",
    transport: "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    parameters: "",
    padding: Padding::PKCS1_OAEP,
    digest: MessageDigest::sha1,
    mask_digest: MessageDigest::sha1,
};

pub const CBC: Encryption =
    Encryption { cipher: "http://www.w3.org/2001/04/xmlenc#aes256-cbc", ..GCM };

/// RSA-OAEP with SHA-256 for both parts.
pub const SHA256_OAEP: Encryption = Encryption {
    transport: "http://www.w3.org/2009/xmlenc11#rsa-oaep",
    parameters: concat!(
        r#"<ds:DigestMethod xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>"#,
        r#"<xenc11:MGF xmlns:xenc11="http://www.w3.org/2009/xmlenc11#" Algorithm="http://www.w3.org/2009/xmlenc11#mgf1sha256"/>"#
    ),
    digest: MessageDigest::sha256,
    mask_digest: MessageDigest::sha256,
    ..GCM
};

/// RSA-OAEP with SHA-256, and SHA-1 for the mask, which Java uses by default.
pub const SHA256_MGF1P: Encryption = Encryption {
    parameters: r#"<ds:DigestMethod xmlns:ds="http://www.w3.org/2000/09/xmldsig#" Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>"#,
    digest: MessageDigest::sha256,
    ..GCM
};

/// Encrypts an element to this key, as `EncryptedAssertion` or `EncryptedID`.
pub fn encrypted_to(
    recipient: &PKeyRef<impl HasPublic>,
    name: &str,
    plaintext: &str,
    encryption: &Encryption,
) -> String {
    let key = [7; 32];
    let mut content = vec![9; 12];
    if encryption.cipher.ends_with("gcm") {
        let mut tag = [0; 16];
        let cipher = Cipher::aes_256_gcm();
        let iv = content.clone();
        content.extend(
            encrypt_aead(cipher, &key, Some(&iv), &[], plaintext.as_bytes(), &mut tag).unwrap(),
        );
        content.extend(tag);
    } else {
        content = vec![9; 16];
        let iv = content.clone();
        // Arbitrary bytes before their number (XML Encryption 1.1 §5.2.1). OpenSSL appends a block.
        let padding = 16 - plaintext.len() % 16;
        let mut padded = plaintext.as_bytes().to_vec();
        padded.resize(plaintext.len() + padding - 1, 0xa5);
        padded.push(u8::try_from(padding).unwrap());
        let ciphertext = encrypt(Cipher::aes_256_cbc(), &key, Some(&iv), &padded).unwrap();
        content.extend(&ciphertext[..padded.len()]);
    }
    let mut encrypter = Encrypter::new(recipient).unwrap();
    encrypter.set_rsa_padding(encryption.padding).unwrap();
    if encryption.padding == Padding::PKCS1_OAEP {
        encrypter.set_rsa_oaep_md((encryption.digest)()).unwrap();
        encrypter.set_rsa_mgf1_md((encryption.mask_digest)()).unwrap();
    }
    let mut encrypted_key = vec![0; encrypter.encrypt_len(&key).unwrap()];
    let length = encrypter.encrypt(&key, &mut encrypted_key).unwrap();
    encrypted_key.truncate(length);
    format!(
        concat!(
            r#"<saml:{name} xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"><xenc:EncryptedData xmlns:xenc="http://www.w3.org/2001/04/xmlenc#" Type="http://www.w3.org/2001/04/xmlenc#Element">"#,
            r#"<xenc:EncryptionMethod Algorithm="{cipher}"/><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><xenc:EncryptedKey>"#,
            r#"<xenc:EncryptionMethod Algorithm="{transport}">{parameters}</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>{key}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo>"#,
            r#"<xenc:CipherData><xenc:CipherValue>{content}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData></saml:{name}>"#
        ),
        name = name,
        cipher = encryption.cipher,
        transport = encryption.transport,
        parameters = encryption.parameters,
        key = STANDARD.encode(encrypted_key),
        content = STANDARD.encode(content),
    )
}
