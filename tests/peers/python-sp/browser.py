"""A browser made of the standard library: cookies, redirects and forms."""

import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request
from html.parser import HTMLParser


class Page:
    def __init__(self, url, status, html):
        self.url, self.status, self.html = url, status, html
        parser = _Forms()
        parser.feed(html)
        self.forms = parser.forms


class _Forms(HTMLParser):
    """Collects the forms of a page: action, method, fields and buttons."""

    def __init__(self):
        super().__init__()
        self.forms, self.inside = [], False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            self.inside = True
            self.forms.append({"action": attrs.get("action"), "method": attrs.get("method", "get"), "fields": [], "buttons": []})
        elif not self.inside:
            return
        elif tag == "button":
            self.forms[-1]["buttons"].append((attrs.get("name"), attrs.get("value")))
        elif tag == "input" and attrs.get("name"):
            kind = attrs.get("type", "text")
            if kind not in ("radio", "checkbox", "submit") or "checked" in attrs:
                self.forms[-1]["fields"].append((attrs["name"], attrs.get("value", "")))

    def handle_endtag(self, tag):
        if tag == "form":
            self.inside = False


class _Arrived(Exception):
    """Raised at a redirect to the address where the browser stops. The browser does not request it."""

    def __init__(self, url):
        super().__init__(url)
        self.url = url


class _Redirects(urllib.request.HTTPRedirectHandler):
    def __init__(self, stop_at):
        self.stop_at = stop_at

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        if newurl.startswith(self.stop_at):
            raise _Arrived(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Browser:
    """Follows redirects until `stop_at`, the redirect URI of the service provider."""

    def __init__(self, stop_at):
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        no_proxy = urllib.request.ProxyHandler({})
        self.opener = urllib.request.build_opener(no_proxy, jar, _Redirects(stop_at))
        self.opener.addheaders = [("Accept", "text/html"), ("Accept-Language", "en")]

    def open(self, url, form=None):
        """Returns a page, or the URL of the redirect to the service provider as a string."""
        body = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            with self.opener.open(url, body, timeout=20) as answer:
                return Page(answer.geturl(), answer.status, answer.read().decode())
        except _Arrived as arrived:
            return arrived.url
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{error.code} at {url.split('?')[0]}: {error.read().decode()[:2000]}") from error

    def submit(self, page, ending="", **values):
        """Submits the first form whose action has this ending. `values` replace its fields."""
        for form in page.forms:
            address = urllib.parse.urljoin(page.url, form["action"] or page.url)
            if address.endswith(ending):
                return self.open(address, {**dict(form["fields"]), **values})
        raise SystemExit(f"no form towards …{ending} on {page.url}: {page.html[:2000]}")
