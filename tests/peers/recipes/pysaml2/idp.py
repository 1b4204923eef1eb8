"""An identity provider by pysaml2, whose signatures are xmlsec1's: idp.py PORT KEY CERTIFICATE SP_METADATA

Its entity ID and metadata are http://localhost:PORT/metadata. Everyone who comes is Jane. It reads the metadata of the service provider
when the first request comes, and demands that requests are signed.
"""
import sys
from datetime import datetime, timezone
from html import escape
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT
from saml2.assertion import Policy
from saml2.authn_context import PASSWORDPROTECTEDTRANSPORT
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.saml import NAME_FORMAT_URI, NAMEID_FORMAT_PERSISTENT, NameID
from saml2.server import Server

port, key, certificate, sp_metadata = sys.argv[1:]
BASE = f"http://localhost:{port}"
JANE = {"displayName": ["Jane Doe"], "givenName": ["Jane"], "sn": ["Doe"], "mail": ["jane@example.org"]}
SIGN = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
DIGEST = "http://www.w3.org/2001/04/xmlenc#sha256"


def configuration(**more):
    return IdPConfig().load({
        "entityid": f"{BASE}/metadata", "key_file": key, "cert_file": certificate, "allow_unknown_attributes": True,
        "service": {"idp": {
            "endpoints": {
                "single_sign_on_service": [(f"{BASE}/sso", BINDING_HTTP_REDIRECT), (f"{BASE}/sso", BINDING_HTTP_POST)],
                "single_logout_service": [(f"{BASE}/slo", BINDING_HTTP_REDIRECT)],
            },
            "name_id_format": [NAMEID_FORMAT_PERSISTENT], "want_authn_requests_signed": True,
            "policy": {"default": {"lifetime": {"minutes": 5}, "attribute_restrictions": None, "name_form": NAME_FORMAT_URI}},
        }},
        **more,
    })


def describe(services):
    """Prints the organization and the contacts of the service providers."""
    for service in services.keys():
        contacts = [
            f", {one['contact_type']} {one['given_name']['text']} {one['sur_name']['text']} {one['email_address'][0]['text']} {one['telephone_number'][0]['text']}"
            for one in services[service].get("contact_person", [])
        ]
        print("service", (services.name(service, "fr") or "") + "".join(contacts), flush=True)


class Handler(BaseHTTPRequestHandler):
    idp = None

    def answer(self, body, status=200, **headers):
        body = body.encode()
        self.send_response(status)
        for name, value in {"content-type": "text/html; charset=utf-8", "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urlsplit(self.path)
        if url.path == "/metadata":
            return self.answer(str(entity_descriptor(configuration())), content_type="application/samlmetadata+xml")
        self.message(url.path, {name: values[0] for name, values in parse_qs(url.query).items()}, BINDING_HTTP_REDIRECT)

    def do_POST(self):
        form = self.rfile.read(int(self.headers["content-length"])).decode()
        self.message(urlsplit(self.path).path, {name: values[0] for name, values in parse_qs(form).items()}, BINDING_HTTP_POST)

    def message(self, path, fields, binding):
        if Handler.idp is None:
            Handler.idp = Server(config=configuration(metadata={"local": [sp_metadata]}))
            describe(Handler.idp.metadata)
        idp = Handler.idp
        detached = {name: fields.get(key) for name, key in {"relay_state": "RelayState", "sigalg": "SigAlg", "signature": "Signature"}.items()} if binding == BINDING_HTTP_REDIRECT else {}
        if path == "/sso":
            request = idp.parse_authn_request(fields["SAMLRequest"], binding, **detached).message
            arguments = idp.response_args(request, bindings=[BINDING_HTTP_POST])
            requested = request.requested_authn_context
            context = requested.authn_context_class_ref[0].text if requested else PASSWORDPROTECTEDTRANSPORT
            response = idp.create_authn_response(
                JANE, userid="jane", authn={"class_ref": context, "authn_instant": int(datetime.now(timezone.utc).timestamp()), "authn_auth": ""},
                name_id=NameID(text="pysaml2-jane", format=NAMEID_FORMAT_PERSISTENT), sign_assertion=True, sign_response=True,
                sign_alg=SIGN, digest_alg=DIGEST, **arguments,
            )
            http = idp.apply_binding(arguments["binding"], str(response), arguments["destination"], fields.get("RelayState", ""), response=True)
            return self.answer(http["data"])
        if path == "/slo" and "SAMLRequest" in fields:
            request = idp.parse_logout_request(fields["SAMLRequest"], binding, **detached).message
            print("logout", request.name_id.text, flush=True)
            response = idp.create_logout_response(request, [BINDING_HTTP_REDIRECT])
            _, destination = idp.pick_binding("single_logout_service", [BINDING_HTTP_REDIRECT], "spsso", request)
            http = idp.apply_binding(BINDING_HTTP_REDIRECT, str(response), destination, fields.get("RelayState", ""), response=True, sign=True, sigalg=SIGN)
            return self.answer("", 303, location=dict(http["headers"])["Location"])
        self.answer(escape(path), 404)


HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
