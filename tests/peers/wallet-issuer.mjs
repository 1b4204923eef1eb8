// An issuer of PIDs with a test authority, made of libraries: @sd-jwt/sd-jwt-vc, @owf/mdoc, @auth0/mdl, and
// @sd-jwt/jwt-status-list for the list that says which of them are revoked.
import { execFileSync } from 'node:child_process';
import { X509Certificate, createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Document } from '@auth0/mdl';
import { CoseKey, DateOnly, DeviceKey, Issuer, SignatureAlgorithm } from '@owf/mdoc';
import { StatusList, createHeaderAndPayload } from '@sd-jwt/jwt-status-list';
import { SDJwtVcInstance } from '@sd-jwt/sd-jwt-vc';
import { startServer } from './harness.mjs';

export const VCT = 'urn:eudi:pid:1';
export const DOC_TYPE = 'eu.europa.ec.eudi.pid.1';
export const STATUS = { valid: 0, revoked: 1, suspended: 2 };

const now = () => Math.floor(Date.now() / 1000);
const base64url = (value) => Buffer.from(value).toString('base64url');
export const hasher = (data, alg = 'sha-256') => new Uint8Array(createHash(alg.toLowerCase().replace('-', '')).update(Buffer.from(data)).digest());
/** ECDSA as JOSE and COSE write it. */
export const es256 = (key, message) => sign('sha256', Buffer.from(message), { key, dsaEncoding: 'ieee-p1363' });
export const newKey = () => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
export const publicJwk = (key) => createPublicKey(key).export({ format: 'jwk' });
export const privateJwk = (key) => key.export({ format: 'jwk' });
const compactJws = (header, payload, key) => {
  const message = `${base64url(JSON.stringify(header))}.${base64url(JSON.stringify(payload))}`;
  return `${message}.${base64url(es256(key, message))}`;
};

/** The cryptographic functions that @owf/mdoc requires. */
export const mdocContext = {
  crypto: {
    random: (length) => new Uint8Array(randomBytes(length)),
    digest: ({ digestAlgorithm, bytes }) => hasher(bytes, digestAlgorithm),
  },
  cose: {
    sign1: { sign: ({ toBeSigned, key }) => new Uint8Array(es256(createPrivateKey({ key: key.jwk, format: 'jwk' }), toBeSigned)) },
  },
};

/** Certificates by the openssl command: `authority`, and signers below it. */
export class CertificateAuthority {
  #folder = mkdtempSync(path.join(tmpdir(), 'wallet-certificates-'));

  constructor(name) {
    this.#openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'ca.key', '-out', 'ca.pem',
      '-subj', `/C=FR/CN=${name}`, '-days', '10', '-addext', 'basicConstraints=critical,CA:TRUE,pathlen:0', '-addext', 'keyUsage=critical,keyCertSign,cRLSign');
    this.pem = this.#read('ca.pem');
  }

  #openssl(...args) { return execFileSync('openssl', args, { cwd: this.#folder, stdio: 'pipe' }); }
  #read(name) { return readFileSync(path.join(this.#folder, name), 'utf8'); }

  /** { key, keyPem, pem, der } of a new signer. purpose: its extended key usage. */
  issue(name, purpose) {
    writeFileSync(path.join(this.#folder, 'ext'), `basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=critical,${purpose}\nauthorityKeyIdentifier=keyid\nsubjectAltName=DNS:localhost\n`);
    this.#openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'leaf.key', '-out', 'leaf.csr', '-subj', `/C=FR/CN=${name}`);
    this.#openssl('x509', '-req', '-in', 'leaf.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '5', '-extfile', 'ext', '-out', 'leaf.pem');
    const [pem, keyPem] = [this.#read('leaf.pem'), this.#read('leaf.key')];
    return { pem, keyPem, key: createPrivateKey(keyPem), der: this.#openssl('x509', '-in', 'leaf.pem', '-outform', 'DER') };
  }

  remove() { rmSync(this.#folder, { recursive: true, force: true }); }
}

/** The connector of all tests with wallets, in parts: its mapping, and the PID as SD-JWT VC and as mdoc. */
const fixture = (name) => readFileSync(path.resolve(import.meta.dirname, '../fixtures/openid4vp', name), 'utf8');
const [CONNECTOR, SD_JWT] = fixture('connector.toml').split(/(?=\[\[kind\.openid4vp\.credentials\]\])/);
export const CREDENTIALS = { sdJwt: SD_JWT, mdoc: fixture('mdoc-credential.toml') };
/** A connector's file. more: keys of its table. */
export const connectorFile = (id, credentials, more = '') => [
  CONNECTOR.replace('en = "Wallet"', `en = "Wallet ${id}"`).replace('connectors/wallet/', `connectors/${id}/`),
  'insecure_http = true', 'internal_hosts = ["localhost", "127.0.0.1"]', more, credentials,
].join('\n');

/** Angela's PID, in the names of each format. */
export const SD_JWT_CLAIMS = {
  given_name: 'Angela Claire Louise', family_name: 'Martin', birth_family_name: 'Dubois', birthdate: '1962-08-24', sex: 2,
  place_of_birth: { locality: 'Paris 7e', country: 'FR' }, nationalities: ['FR', 'DE'],
  personal_administrative_number: '2620875107001', issuing_country: 'FR', email: 'angela@people.example',
};
/** What is in the credential and never asked for is kept by the wallet: portrait and email. */
export const mdocElements = (dateOnly) => ({
  given_name: 'Angela Claire Louise', family_name: 'Martin', family_name_birth: 'Dubois', birth_date: dateOnly('1962-08-24'), sex: 2,
  place_of_birth: { locality: 'Paris 7e', country: 'FR' }, nationality: ['FR', 'DE'],
  personal_administrative_number: '2620875107001', issuing_country: 'FR', portrait: new Uint8Array(3000).fill(7),
});

export class PidIssuer {
  /** An issuer below a new authority, with a server for its status list. */
  static async start() {
    const issuer = new PidIssuer();
    issuer.statuses = new StatusList(new Array(64).fill(0), 2);
    issuer.server = await startServer((request, response) => {
      issuer.fetches += 1;
      response.setHeader('content-type', 'application/statuslist+jwt').end(issuer.statusListToken());
    });
    issuer.statusUri = `http://localhost:${issuer.server.port}/statuses/1`;
    return issuer;
  }

  constructor() {
    this.authority = new CertificateAuthority('PID authority');
    Object.assign(this, this.authority.issue('PID issuer', '1.0.18013.5.1.2'));
    this.fetches = 0;
    this.nextIndex = 0;
  }

  async stop() { await this.server.close(); this.authority.remove(); }

  /** The key identifier of its authority: SHA-1 of the public key (RFC 5280 §4.2.1.2). */
  get authorityKeyIdentifier() {
    const spki = new X509Certificate(this.authority.pem).publicKey.export({ type: 'spki', format: 'der' });
    return createHash('sha1').update(spki.subarray(-65)).digest('base64url');
  }

  get x5c() { return [this.der.toString('base64')]; }

  /** A new entry of the status list. */
  entry(status) {
    this.nextIndex += 1;
    this.statuses.setStatus(this.nextIndex, STATUS[status]);
    return { status_list: { idx: this.nextIndex, uri: this.statusUri } };
  }

  statusListToken() {
    const { header, payload } = createHeaderAndPayload(
      this.statuses, { sub: this.statusUri, iat: now(), exp: now() + 60, ttl: 0 }, { alg: 'ES256', typ: 'statuslist+jwt', x5c: this.x5c },
    );
    return compactJws(header, payload, this.key);
  }

  /** An SD-JWT VC bound to the holder's key. */
  async sdJwtVc(holder, { status = 'valid', claims = SD_JWT_CLAIMS } = {}) {
    const library = new SDJwtVcInstance({
      hasher, hashAlg: 'sha-256', signAlg: 'ES256', saltGenerator: (length) => randomBytes(length).toString('base64url'),
      signer: (message) => base64url(es256(this.key, message)),
    });
    const { place_of_birth: place, nationalities, ...flat } = claims;
    return library.issue(
      { vct: VCT, iat: now() - 10, exp: now() + 86_400, cnf: { jwk: publicJwk(holder) }, status: this.entry(status), place_of_birth: place, nationalities, ...flat },
      { _sd: [...Object.keys(flat), 'nationalities'], _sd_decoy: 3, place_of_birth: { _sd: Object.keys(place) }, nationalities: { _sd: [0, 1] } },
      { header: { x5c: this.x5c } },
    );
  }

  /** `IssuerSigned` of an mdoc, by @owf/mdoc. */
  async mdoc(holder) {
    const dates = { signed: new Date(now() * 1000), validFrom: new Date(now() * 1000), validUntil: new Date((now() + 86_400) * 1000) };
    return new Issuer(DOC_TYPE, mdocContext)
      .addIssuerNamespace(DOC_TYPE, mdocElements((text) => new DateOnly(text)))
      .sign({
        signingKey: CoseKey.fromJwk(privateJwk(this.key)), algorithm: SignatureAlgorithm.ES256, digestAlgorithm: 'SHA-256', validityInfo: dates,
        deviceKeyInfo: { deviceKey: DeviceKey.fromJwk(publicJwk(holder)) }, certificates: [new Uint8Array(this.der)],
      });
  }

  /** The same mdoc by @auth0/mdl. Without a kid it would write `undefined`, which is no key identifier (RFC 9052 §3.1). */
  async otherMdoc(holder) {
    const document = new Document(DOC_TYPE)
      .addIssuerNameSpace(DOC_TYPE, mdocElements((text) => text))
      .useDigestAlgorithm('SHA-512')
      .addValidityInfo({ signed: new Date(now() * 1000), validUntil: new Date((now() + 86_400) * 1000) })
      .addDeviceKeyInfo({ deviceKey: publicJwk(holder) });
    return document.sign({ issuerPrivateKey: { ...privateJwk(this.key), alg: 'ES256', kid: 'issuer' }, issuerCertificate: this.pem, alg: 'ES256' });
  }
}
