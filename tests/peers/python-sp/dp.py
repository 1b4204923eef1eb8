"""A data provider that shares no code with the hub: the parts of sp.py, and RFC 9701.

    dp.py    reads its registration and a token as JSON from standard input, prints the verified introspection response

It verifies every value: RFC 9701, 5; RFC 8725, 3.11 (explicit typing).
"""

import json
import sys
import time

from jwcrypto import jwk, jws

from sp import TOLERANCE, VerificationError, call, require, discover, decrypt_token


def verify_introspection_response(token, published, registered):
    """Verifies signature, type, issuer and audience of a JWT. Returns the introspection response inside."""
    if registered.get("encryption_alg"):
        token, _ = decrypt_token(token, registered)
    require(token.count(".") == 2, "there is exactly one JWS inside")
    alg = registered.get("signing_alg", "ES256")
    signed = jws.JWS()
    signed.allowed_algs = [alg]
    signed.deserialize(token)
    header = signed.jose_header
    require(header.get("alg") == alg, "the JWS has the registered alg")
    require(header.get("typ") == "token-introspection+jwt", "the JWS is an introspection answer and no other token")
    fitting = [key for key in published["keys"] if key.get("kid") == header.get("kid")]
    require(len(fitting) == 1, "kid names one published key")
    require(fitting[0]["use"] == "sig" and fitting[0]["alg"] == alg, "that key is for such signatures")
    signed.verify(jwk.JWK(**fitting[0]), alg=alg)
    claims = json.loads(signed.payload)
    require(set(claims) == {"iss", "aud", "iat", "token_introspection"}, "the payload has exactly its four members")
    require(claims["iss"] == registered["issuer"], "iss is the issuer")
    require(claims["aud"] == registered["client_id"], "aud is ours, and a string")
    require(isinstance(claims["iat"], int) and abs(claims["iat"] - time.time()) < TOLERANCE, "iat is now")
    return claims["token_introspection"]


def introspect(registered):
    metadata, published = discover(registered["issuer"])
    alg = registered.get("signing_alg", "ES256")
    require(alg in metadata["introspection_signing_alg_values_supported"], "the hub says that it signs so")
    media_type, body = call(metadata["introspection_endpoint"], {
        "client_id": registered["client_id"], "client_secret": registered["client_secret"], "token": registered["token"],
    })
    require(media_type == "application/token-introspection+jwt", "the answer is typed as RFC 9701 says")
    return verify_introspection_response(body.decode(), published, registered)


if __name__ == "__main__":
    try:
        print(json.dumps(introspect(json.load(sys.stdin))))
    except VerificationError as refusal:
        sys.exit(f"refused: {refusal}")
