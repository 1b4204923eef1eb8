"""A wallet in Python: the reference implementation of SD-JWT (sd_jwt), pymdoccbor with pycose, and jwcrypto.

Reads one JSON object from standard input, answers the request of its link, and writes what the hub says.
"""

import hashlib
import json
import sys
from base64 import b64decode, urlsafe_b64encode
from datetime import datetime, timedelta, timezone
from time import time
from urllib.parse import parse_qs, urlsplit

import cbor2
import requests
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from jwcrypto import jwe, jwk, jws
from pycose.headers import Algorithm
from pycose.keys import EC2Key
from pycose.messages import Sign1Message
from pymdoccbor.mdoc.issuer import MdocCborIssuer
from sd_jwt.common import SDObj
from sd_jwt.holder import SDJWTHolder
from sd_jwt.issuer import SDJWTIssuer

DOC_TYPE = "eu.europa.ec.eudi.pid.1"


def b64(data):
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def fetch_request(link, authority):
    """Fetches the request, and verifies its certificate, its signature and its client_id."""
    params = {name: values[0] for name, values in parse_qs(urlsplit(link).query).items()}
    nonce = b64(hashlib.sha256(str(time()).encode()).digest())
    response = requests.post(params["request_uri"], data={"wallet_nonce": nonce}, timeout=10)
    response.raise_for_status()
    assert response.headers["content-type"] == "application/oauth-authz-req+jwt"
    token = jws.JWS()
    token.deserialize(response.text)
    header = json.loads(token.objects["protected"])
    assert header["typ"] == "oauth-authz-req+jwt" and header["alg"] == "ES256"
    leaf = x509.load_der_x509_certificate(b64decode(header["x5c"][0]))
    leaf.verify_directly_issued_by(authority)
    token.verify(jwk.JWK.from_pyca(leaf.public_key()))
    request = json.loads(token.payload)
    digest = hashlib.sha256(leaf.public_bytes(serialization.Encoding.DER)).digest()
    assert request["client_id"] == params["client_id"] == f"x509_hash:{b64(digest)}"
    assert request["wallet_nonce"] == nonce and request["response_mode"] == "direct_post.jwt"
    return request


def present_sd_jwt(claims, status, issuer, holder, query, request):
    """Issues an SD-JWT VC whose claims are all disclosable, nested ones too, and presents what the query asks for."""
    hidden = {SDObj(name): value for name, value in claims.items()}
    place = {SDObj(name): value for name, value in claims["place_of_birth"].items()}
    hidden = {name: place if name.value == "place_of_birth" else value for name, value in hidden.items()}
    now = int(time())
    payload = {"vct": "urn:eudi:pid:1", "iat": now, "exp": now + 3600, "status": {"status_list": status}, **hidden}
    header = {"typ": "dc+sd-jwt", "x5c": issuer["x5c"]}
    issued = SDJWTIssuer(payload, issuer["jwk"], holder, add_decoy_claims=True, extra_header_parameters=header)
    disclosed = {}
    for claim in query["claims"]:
        level = disclosed
        for part in claim["path"][:-1]:
            level = level.setdefault(part, {})
        level[claim["path"][-1]] = True
    wallet = SDJWTHolder(issued.sd_jwt_issuance)
    wallet.create_presentation(disclosed, request["nonce"], request["client_id"], holder)
    return wallet.sd_jwt_presentation


def cose_key(key):
    numbers = key.private_numbers()
    x, y = (part.to_bytes(32, "big") for part in (numbers.public_numbers.x, numbers.public_numbers.y))
    return EC2Key(crv="P_256", x=x, y=y, d=numbers.private_value.to_bytes(32, "big"), optional_params={"ALG": "ES256"})


def present_mdoc(elements, status, issuer, holder, query, request):
    """Issues an mdoc, and presents the elements that the query asks for."""
    today = datetime.now(timezone.utc)
    validity = {"issuance_date": f"{today:%Y-%m-%d}", "expiry_date": f"{today + timedelta(days=2):%Y-%m-%d}"}
    library = MdocCborIssuer(private_key=cose_key(issuer["key"]), alg="ES256")
    device = holder["key"].public_key().public_numbers()
    device_key = {1: 2, -1: 1, -2: device.x.to_bytes(32, "big"), -3: device.y.to_bytes(32, "big")}
    response = library.new(
        doctype=DOC_TYPE, data={DOC_TYPE: elements}, validity=validity, devicekeyinfo=device_key,
        x509_chain=[issuer["certificate"]], revocation={"status_list": status},
    )
    asked = {claim["path"][1] for claim in query["claims"]}
    document = response["documents"][0]
    items = document["issuerSigned"]["nameSpaces"][DOC_TYPE]
    document["issuerSigned"]["nameSpaces"][DOC_TYPE] = [
        item for item in items if cbor2.loads(item.value)["elementIdentifier"] in asked
    ]
    key = jwk.JWK(**request["client_metadata"]["jwks"]["keys"][0])
    thumbprint = key.thumbprint()
    thumbprint = jws.base64url_decode(thumbprint)
    info = cbor2.dumps([request["client_id"], request["nonce"], thumbprint, request["response_uri"]])
    transcript = [None, None, ["OpenID4VPHandover", hashlib.sha256(info).digest()]]
    name_spaces = cbor2.CBORTag(24, cbor2.dumps({}))
    authentication = cbor2.dumps(["DeviceAuthentication", transcript, DOC_TYPE, name_spaces])
    detached = cbor2.dumps(cbor2.CBORTag(24, authentication))
    signature = Sign1Message(phdr={Algorithm: "ES256"}, payload=detached, key=cose_key(holder["key"]))
    parts = cbor2.loads(signature.encode(tag=False))
    document["deviceSigned"] = {
        "nameSpaces": name_spaces,
        "deviceAuth": {"deviceSignature": [parts[0], parts[1], None, parts[3]]},
    }
    return b64(cbor2.dumps(response))


def main():
    asked = json.load(sys.stdin)
    authority = x509.load_pem_x509_certificate(asked["access_authority"].encode())
    request = fetch_request(asked["link"], authority)
    certificate = x509.load_pem_x509_certificate(asked["issuer_certificate"].encode())
    key = serialization.load_pem_private_key(asked["issuer_key"].encode(), None)
    query = next(one for one in request["dcql_query"]["credentials"] if one["format"] == asked["format"])
    holder = jwk.JWK.generate(kty="EC", crv="P-256")
    if asked["format"] == "dc+sd-jwt":
        issuer = {"jwk": jwk.JWK.from_pyca(key), "x5c": asked["x5c"]}
        presentation = present_sd_jwt(asked["claims"], asked["status"], issuer, holder, query, request)
    else:
        issuer = {"key": key, "certificate": certificate}
        device = {"key": holder.get_op_key("sign")}
        presentation = present_mdoc(asked["claims"], asked["status"], issuer, device, query, request)
    public = request["client_metadata"]["jwks"]["keys"][0]
    token = jwe.JWE(
        json.dumps({"vp_token": {query["id"]: [presentation]}}),
        recipient=jwk.JWK(**public),
        protected=json.dumps({"alg": "ECDH-ES", "enc": asked["enc"], "kid": public["kid"]}),
    )
    response = requests.post(request["response_uri"], data={"response": token.serialize(compact=True)}, timeout=10)
    print(json.dumps({"status": response.status_code, **response.json()}))


main()
